//! The scenarios that are kept under names. Several pages may keep them at once, and none overwrites what another has kept.

use super::{Branch, Change, Session};

/// The longest name, in characters.
pub const MOST_OF_A_NAME: usize = 80;

impl Session {
    /// The scenarios that are kept, by their names.
    pub fn shelf(&self) -> &[Branch] {
        &self.shelf
    }

    /// Puts kept scenarios in place, as the browser brings them back.
    pub fn set_shelf(&mut self, shelf: Vec<Branch>) {
        self.shelf = shelf;
        crate::sorted::sort_by_key(&mut self.shelf, |kept| kept.name.clone());
        self.shelved = self.shelved_with(&self.text());
    }

    /// The name under which what is open is kept, and whether it has been changed since; `None`: it is not kept.
    pub fn kept_as(&self) -> Option<(&str, bool)> {
        let kept = self.shelved.as_ref()?;
        let is_there = self.shelf.iter().any(|other| other.name == kept.name);
        is_there.then(|| (kept.name.as_str(), kept.text != self.edited_text()))
    }

    /// The scenario that is kept with this very text.
    pub(super) fn shelved_with(&self, text: &str) -> Option<Branch> {
        self.shelf.iter().find(|kept| kept.text == text).cloned()
    }

    /// Keeps a text under a name: what is open, or another (`text`), which never takes the place of one that is there. What is kept
    /// under that name already is replaced where it is what was opened here, and else it stays under a name beside it.
    pub(super) fn keep_under(
        &mut self,
        name: &str,
        text: Option<String>,
    ) -> Result<Option<String>, String> {
        let name = checked(name)?;
        let is_open = text.is_none();
        let cursor = if is_open { self.cursor } else { 0 };
        let text = text.unwrap_or_else(|| self.edited_text());
        let there = self.shelf.iter().find(|kept| kept.name == name).cloned();
        let own = self.shelved.as_ref().filter(|_| is_open);
        let is_known = there.as_ref().is_none_or(|there| {
            there.text == text || own.is_some_and(|own| own.text == there.text)
        });
        let mut kept = Branch {
            name: name.clone(),
            text,
            cursor,
            born: 0,
        };
        let mut said = format!("Kept as “{name}”");
        let mut changes = Vec::new();
        match there {
            Some(there) if !is_known => {
                let beside = self.free_name(&name);
                if is_open {
                    said += &format!("; what was kept so is “{beside}” now");
                    let moved = Branch {
                        name: beside,
                        ..there.clone()
                    };
                    changes.push((None, Some(moved)));
                    changes.push((Some(there), Some(kept.clone())));
                } else {
                    said = format!("Kept as “{beside}”");
                    kept.name = beside;
                    changes.push((None, Some(kept.clone())));
                }
            }
            there => changes.push((there, Some(kept.clone()))),
        }
        self.change_shelf(changes);
        if is_open {
            self.shelved = Some(kept);
        }
        Ok(Some(said))
    }

    /// Gives a kept scenario another name.
    pub(super) fn rename_kept(&mut self, name: &str, to: &str) -> Result<Option<String>, String> {
        let to = checked(to)?;
        if to == name {
            return Ok(None);
        }
        if self.shelf.iter().any(|kept| kept.name == to) {
            return Err(format!("another scenario is called “{to}”"));
        }
        let kept = self.kept_named(name)?;
        let renamed = Branch {
            name: to.clone(),
            ..kept.clone()
        };
        if let Some(own) = self.shelved.as_mut().filter(|own| own.name == name) {
            own.name.clone_from(&to);
        }
        self.change_shelf(vec![(Some(kept), Some(renamed))]);
        Ok(Some(format!("“{name}” is called “{to}” now")))
    }

    /// Forgets a kept scenario.
    pub(super) fn delete_kept(&mut self, name: &str) -> Result<Option<String>, String> {
        let kept = self.kept_named(name)?;
        self.change_shelf(vec![(Some(kept), None)]);
        Ok(Some(format!("“{name}” is deleted; Undo brings it back")))
    }

    fn kept_named(&self, name: &str) -> Result<Branch, String> {
        let kept = self.shelf.iter().find(|kept| kept.name == name);
        kept.cloned()
            .ok_or_else(|| "there is no such scenario".to_string())
    }

    fn free_name(&self, name: &str) -> String {
        let is_taken = |name: &str| self.shelf.iter().any(|kept| kept.name == name);
        super::free(name.to_string(), &is_taken)
    }

    fn change_shelf(&mut self, changes: Vec<(Option<Branch>, Option<Branch>)>) {
        for (before, after) in &changes {
            self.swap_kept(before.as_ref(), after.as_ref());
        }
        self.remember(Change::Shelf(changes));
    }

    /// Puts one scenario in the place of another, as a change or its undoing does.
    pub(super) fn swap_kept(&mut self, before: Option<&Branch>, after: Option<&Branch>) {
        if let Some(before) = before {
            self.shelf.retain(|kept| kept.name != before.name);
        }
        if let Some(after) = after {
            self.shelf.retain(|kept| kept.name != after.name);
            self.shelf.push(after.clone());
        }
        crate::sorted::sort_by_key(&mut self.shelf, |kept| kept.name.clone());
        self.revision += 1;
    }

    /// Brings together what is kept here with what another page has kept meanwhile (`theirs`), where both began with `base`. What
    /// only one of them changed is as that one has it; where both did, ours goes under a name beside theirs; and what one deleted
    /// stays where the other changed it.
    pub fn merge_shelf(&mut self, base: &[Branch], theirs: &[Branch]) {
        fn named<'a>(all: &'a [Branch], name: &str) -> Option<&'a Branch> {
            all.iter().find(|kept| kept.name == name)
        }
        let mut merged: Vec<Branch> = Vec::new();
        let mut beside = Vec::new();
        for their in theirs {
            match (named(&self.shelf, &their.name), named(base, &their.name)) {
                (Some(own), before) if own != their => {
                    if before == Some(their) {
                        merged.push(own.clone());
                        continue;
                    }
                    if before != Some(own) {
                        beside.push(own.clone());
                    }
                    merged.push(their.clone());
                }
                (None, before) if before == Some(their) => {}
                _ => merged.push(their.clone()),
            }
        }
        for own in &self.shelf {
            if named(theirs, &own.name).is_none() && named(base, &own.name) != Some(own) {
                merged.push(own.clone());
            }
        }
        self.shelf = merged;
        for mut own in beside {
            let name = self.free_name(&own.name);
            if let Some(open) = self.shelved.as_mut().filter(|open| open.name == own.name) {
                open.name.clone_from(&name);
            }
            own.name = name;
            self.shelf.push(own);
        }
        crate::sorted::sort_by_key(&mut self.shelf, |kept| kept.name.clone());
        self.revision += 1;
    }
}

/// A name without blanks around it, where it can be one.
pub(super) fn checked(name: &str) -> Result<String, String> {
    let name = name.trim();
    match name.chars().count() {
        0 => {
            Err("a name is missing: letters, digits, whatever tells it from the others".to_string())
        }
        1..=MOST_OF_A_NAME => Ok(name.to_string()),
        _ => Err(format!(
            "the name is too long: at most {MOST_OF_A_NAME} characters"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Branch, Msg, Notice, Session};

    fn kept(name: &str, text: &str) -> Branch {
        Branch {
            name: name.to_string(),
            text: text.to_string(),
            cursor: 0,
            born: 0,
        }
    }

    fn names(session: &Session) -> Vec<&str> {
        session
            .shelf()
            .iter()
            .map(|kept| kept.name.as_str())
            .collect()
    }

    fn keep(session: &mut Session, name: &str) -> Vec<Notice> {
        session.update(Msg::Keep {
            name: name.to_string(),
            text: None,
        })
    }

    #[test]
    fn what_is_open_is_kept_under_a_name_and_replaces_what_it_was() {
        let mut session = Session::new("client A\n", None).unwrap();
        assert_eq!(session.kept_as(), None);
        keep(&mut session, " mine ");
        assert_eq!(session.kept_as(), Some(("mine", false)));
        session.update(Msg::Edit("client A, B\n".to_string()));
        assert_eq!(session.kept_as(), Some(("mine", true)));
        keep(&mut session, "mine");
        assert_eq!(session.shelf(), [kept("mine", "client A, B\n")]);
        session.update(Msg::Undo);
        assert_eq!(session.shelf(), [kept("mine", "client A\n")]);
        session.update(Msg::Redo);
        session.update(Msg::DeleteKept("mine".to_string()));
        assert_eq!(names(&session), Vec::<&str>::new());
        session.update(Msg::Undo);
        assert_eq!(session.shelf(), [kept("mine", "client A, B\n")]);
    }

    #[test]
    fn nothing_that_is_kept_is_overwritten_by_another_text() {
        let mut session = Session::new("client A\n", None).unwrap();
        session.set_shelf(vec![kept("b", "client X\n"), kept("a", "client Y\n")]);
        assert_eq!(names(&session), ["a", "b"]);
        let said = keep(&mut session, "b");
        assert_eq!(
            said,
            [Notice::Said(
                "Kept as “b”; what was kept so is “b (2)” now".to_string()
            )]
        );
        assert_eq!(
            session.shelf()[1..],
            [kept("b", "client A\n"), kept("b (2)", "client X\n")]
        );
        // A file goes beside it.
        let text = Some("client Z\n".to_string());
        session.update(Msg::Keep {
            name: "b".to_string(),
            text,
        });
        assert_eq!(names(&session), ["a", "b", "b (2)", "b (3)"]);
        // The same text is kept once under a name.
        let text = Some("client Y\n".to_string());
        session.update(Msg::Keep {
            name: "a".to_string(),
            text,
        });
        assert_eq!(names(&session), ["a", "b", "b (2)", "b (3)"]);
    }

    #[test]
    fn names_are_there_once_and_are_names() {
        let mut session = Session::new("client A\n", None).unwrap();
        session.set_shelf(vec![kept("a", "client X\n"), kept("b", "client Y\n")]);
        let mut rename = |to: &str| {
            let told = session.update(Msg::RenameKept {
                name: "a".to_string(),
                to: to.to_string(),
            });
            told.into_iter().map(Notice::into_words).collect::<String>()
        };
        assert_eq!(rename("b"), "another scenario is called “b”");
        assert_eq!(
            rename("  "),
            "a name is missing: letters, digits, whatever tells it from the others"
        );
        assert_eq!(
            rename(&"x".repeat(81)),
            "the name is too long: at most 80 characters"
        );
        assert_eq!(rename("c"), "“a” is called “c” now");
        assert_eq!(names(&session), ["b", "c"]);
        session.update(Msg::Undo);
        assert_eq!(names(&session), ["a", "b"]);
    }

    #[test]
    fn what_is_opened_is_known_by_its_text() {
        let mut session = Session::new("client A\n", None).unwrap();
        session.set_shelf(vec![kept("x", "client X\n")]);
        session.update(Msg::Open {
            text: "client X\n".to_string(),
            cursor: None,
        });
        assert_eq!(session.kept_as(), Some(("x", false)));
        session.update(Msg::Undo);
        assert_eq!(session.kept_as(), None);
    }

    #[test]
    fn two_pages_keep_what_each_of_them_has_kept() {
        let base = [
            kept("a", "1\n"),
            kept("b", "1\n"),
            kept("c", "1\n"),
            kept("d", "1\n"),
        ];
        let check = |own: &[Branch], theirs: &[Branch], expected: &[Branch]| {
            let mut session = Session::new("", None).unwrap();
            session.set_shelf(own.to_vec());
            session.merge_shelf(&base, theirs);
            assert_eq!(session.shelf(), expected);
        };
        let [a, b, c, d] = base.clone();
        let all = &base;
        check(all, all, all);
        // Each adds one, changes one and deletes one.
        let own = [kept("a", "own\n"), b.clone(), d.clone(), kept("e", "own\n")];
        let theirs = [
            a.clone(),
            kept("b", "theirs\n"),
            c.clone(),
            kept("f", "theirs\n"),
        ];
        let both = [
            kept("a", "own\n"),
            kept("b", "theirs\n"),
            kept("e", "own\n"),
            kept("f", "theirs\n"),
        ];
        check(&own, &theirs, &both);
        // Both change the same one, or one deletes what the other changes.
        let own = [kept("a", "own\n"), b.clone(), c.clone(), kept("d", "own\n")];
        let theirs = [kept("a", "theirs\n"), b.clone(), c.clone()];
        let both = [
            kept("a", "theirs\n"),
            kept("a (2)", "own\n"),
            b,
            c,
            kept("d", "own\n"),
        ];
        check(&own, &theirs, &both);
    }
}

//! The branches as a tree: which schedule parts from which, where, and what differs at their ends.

use super::{Branch, Session, read_document};
use crate::property::{Property, Verdict};
use crate::scenario::found::is_found;

/// A branch in its place of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its place among the kept branches; `None`: it is what is open.
    pub place: Option<usize>,
    /// What it is called.
    pub name: String,
    /// How many branches it hangs on.
    pub depth: usize,
    /// How many actions its schedule has.
    pub actions: usize,
    /// Where it parts from the branch that it hangs on; `None`: it hangs on none.
    pub parts: Option<Parting>,
}

/// Where two schedules part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// How many actions they have in common.
    pub after: usize,
    /// The next action of each, as it is written; `None`: it ends there.
    pub next: [Option<String>; 2],
}

/// What is open beside a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Where their schedules part.
    pub parting: Parting,
    /// Whether what stands before the schedules differs, too.
    pub differs_before: bool,
    /// The verdicts at the ends of both: of what is open first.
    pub verdicts: Vec<(Property, [Verdict; 2])>,
}

/// A text with what the tree is made of.
struct Grown {
    place: Option<usize>,
    name: String,
    born: u64,
    title: String,
    /// What stands before the schedule, without the title.
    setup: Vec<String>,
    schedule: Vec<String>,
}

impl Grown {
    /// Whether the two are of one tree: they have one title, or a search found the other one's schedule for this one's clients.
    fn is_kin_of(&self, found: &Grown) -> bool {
        self.title == found.title || is_found(&found.title) && self.setup == found.setup
    }
}

impl Session {
    /// The kept branches and what is open, each under the one that it parts from: of those of the same title that are older, the one
    /// with which its schedule has the most actions in common. The oldest of a title comes first.
    pub fn tree(&self) -> Vec<Leaf> {
        let kept = self.branches.iter().enumerate();
        let mut all: Vec<Grown> = kept
            .map(|(place, branch)| grown(Some(place), branch))
            .collect();
        all.push(grown(None, &self.as_branch()));
        crate::sorted::sort_by_key(&mut all, |it| (it.born, it.place.is_none()));
        let parents: Vec<Option<(usize, usize)>> = (0..all.len())
            .map(|place| {
                let one = &all[place];
                let older = all[..place]
                    .iter()
                    .enumerate()
                    .filter(|(_, it)| it.is_kin_of(one));
                let common = older.map(|(of, it)| (of, in_common(&it.schedule, &one.schedule)));
                // Of several that are as near the oldest.
                common.rev().max_by_key(|(_, common)| *common)
            })
            .collect();
        let mut leaves = Vec::new();
        for (place, parent) in parents.iter().enumerate() {
            if parent.is_none() {
                hang(&all, &parents, place, 0, &mut leaves);
            }
        }
        leaves
    }

    /// What is open beside a kept branch.
    ///
    /// # Errors
    /// There is no such branch, or its text does not parse.
    pub fn beside(&self, place: usize) -> Result<Beside, String> {
        let branch = self.branches.get(place).ok_or("there is no such branch")?;
        let other = Session::new(&branch.text, None).map_err(|errors| super::first(&errors))?;
        let own = Session::new(&self.text(), None).map_err(|errors| super::first(&errors))?;
        let lines = |session: &Session| -> Vec<String> {
            session.document.schedule().map(str::to_string).collect()
        };
        let verdicts = own.verdicts().into_iter().zip(other.verdicts());
        Ok(Beside {
            parting: parting(&lines(&own), &lines(&other)),
            differs_before: before_schedule(&own.text()) != before_schedule(&other.text()),
            verdicts: verdicts
                .map(|((property, own), (_, other))| (property, [own, other]))
                .collect(),
        })
    }

    /// What is open, as it would be kept.
    pub fn as_branch(&self) -> Branch {
        Branch {
            name: self.name.clone().unwrap_or_else(|| self.title()),
            text: self.text(),
            cursor: self.cursor,
            born: self.born,
        }
    }
}

fn before_schedule(text: &str) -> &str {
    text.split("\nschedule").next().unwrap_or("")
}

fn grown(place: Option<usize>, branch: &Branch) -> Grown {
    let document = read_document(&branch.text);
    let schedule = document.iter().flat_map(|document| document.schedule());
    Grown {
        place,
        name: branch.name.clone(),
        born: branch.born,
        title: branch
            .text
            .lines()
            .next()
            .unwrap_or("")
            .trim_start_matches(['#', ' '])
            .to_string(),
        setup: before_schedule(&branch.text)
            .lines()
            .skip_while(|line| line.starts_with('#'))
            .map(str::to_string)
            .collect(),
        schedule: schedule.map(str::to_string).collect(),
    }
}

fn in_common(one: &[String], other: &[String]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

fn parting(one: &[String], other: &[String]) -> Parting {
    let after = in_common(one, other);
    Parting {
        after,
        next: [one.get(after).cloned(), other.get(after).cloned()],
    }
}

/// Puts a branch and then those that hang on it into the list.
fn hang(
    all: &[Grown],
    parents: &[Option<(usize, usize)>],
    place: usize,
    depth: usize,
    leaves: &mut Vec<Leaf>,
) {
    let one = &all[place];
    leaves.push(Leaf {
        place: one.place,
        name: one.name.clone(),
        depth,
        actions: one.schedule.len(),
        parts: parents[place].map(|(parent, _)| parting(&all[parent].schedule, &one.schedule)),
    });
    for (child, parent) in parents.iter().enumerate() {
        if parent.is_some_and(|(parent, _)| parent == place) {
            hang(all, parents, child, depth + 1, leaves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Msg, Session};
    use super::*;
    use crate::scenario::library::story_named;
    use crate::sim::action::{Action, ClientId};

    const A: ClientId = ClientId(0);
    const B: ClientId = ClientId(1);

    /// The tree, a line for each leaf: how deep, how many actions, after how many it parts and with what.
    fn drawn(session: &Session) -> Vec<String> {
        let leaves = session.tree().into_iter();
        let draw = |leaf: Leaf| {
            let parts = leaf.parts.map(|parts| {
                format!(
                    " after {}: {}",
                    parts.after,
                    parts.next[1].clone().unwrap_or_default()
                )
            });
            let open = if leaf.place.is_none() { "*" } else { "" };
            format!(
                "{}{}{open}{}",
                "-".repeat(leaf.depth),
                leaf.actions,
                parts.unwrap_or_default()
            )
        };
        leaves.map(draw).collect()
    }

    #[test]
    fn each_branch_hangs_on_the_one_that_it_parts_from() {
        let mut session =
            Session::new(story_named("07a-split-acquire").unwrap().text, Some(7)).unwrap();
        assert_eq!(drawn(&session), ["12*"]);
        session.update(Msg::Act(Action::Crash { client: B }));
        assert_eq!(drawn(&session), ["12", "-8* after 7: crash B"]);
        session.update(Msg::GoTo(3));
        session.update(Msg::Act(Action::Crash { client: A }));
        assert_eq!(
            drawn(&session),
            ["12", "-8 after 7: crash B", "-4* after 3: crash A"]
        );
        // A branch of a branch, and then of the oldest again.
        session.update(Msg::SwitchBranch(1));
        session.update(Msg::GoTo(usize::MAX));
        session.update(Msg::Act(Action::Restart { client: B }));
        session.update(Msg::GoTo(8));
        session.update(Msg::Act(Action::Advance { milliseconds: 5 }));
        let tree = [
            "12",
            "-9 after 7: crash B",
            "--9* after 8: clock +5ms",
            "-4 after 3: crash A",
        ];
        assert_eq!(drawn(&session), tree);
        // Another title is another tree.
        session.update(Msg::Open {
            text: "# Other\nclient A\n".to_string(),
            cursor: None,
        });
        assert_eq!(drawn(&session)[4], "0*");
        assert_eq!(drawn(&session).len(), 5);
    }

    #[test]
    fn a_branch_keeps_its_name_wherever_it_is() {
        let mut session =
            Session::new(story_named("07a-split-acquire").unwrap().text, Some(7)).unwrap();
        session.update(Msg::Act(Action::Crash { client: B }));
        let name = |place, name: &str| Msg::NameBranch {
            place,
            name: name.to_string(),
        };
        session.update(name(None, "B crashes"));
        session.update(name(Some(0), "as told"));
        let names = |session: &Session| -> Vec<String> {
            session.tree().into_iter().map(|leaf| leaf.name).collect()
        };
        assert_eq!(names(&session), ["as told", "B crashes"]);
        session.update(Msg::SwitchBranch(0));
        assert_eq!(names(&session), ["as told", "B crashes"]);
        assert_eq!(session.tree()[0].place, None);
        session.update(Msg::Undo);
        assert_eq!(session.tree()[1].place, None);
        assert_eq!(names(&session), ["as told", "B crashes"]);
        session.update(Msg::Undo);
        session.update(Msg::Undo);
        assert_ne!(names(&session), ["as told", "B crashes"]);
        session.update(Msg::Redo);
        session.update(Msg::Redo);
        assert_eq!(names(&session), ["as told", "B crashes"]);
        // The name stays with what was left.
        session.update(Msg::GoTo(2));
        session.update(Msg::Act(Action::Crash { client: A }));
        assert!(
            session
                .branches()
                .iter()
                .any(|branch| branch.name == "B crashes")
        );
    }

    #[test]
    fn two_branches_are_compared_where_they_part_and_at_their_ends() {
        let mut session =
            Session::new(story_named("07a-split-acquire").unwrap().text, Some(7)).unwrap();
        session.update(Msg::Act(Action::Crash { client: A }));
        let beside = session.beside(0).unwrap();
        assert_eq!(beside.parting.after, 7);
        assert_eq!(
            beside.parting.next,
            [Some("crash A".to_string()), Some("A token".to_string())]
        );
        assert!(!beside.differs_before);
        let (_, [own, other]) = beside
            .verdicts
            .iter()
            .find(|(property, _)| *property == Property::NoStaleWrite)
            .unwrap();
        assert!(matches!(own, Verdict::NotTested { .. }), "{own:?}");
        assert!(matches!(other, Verdict::Broken(_)), "{other:?}");
        assert!(session.beside(1).is_err());
    }
}

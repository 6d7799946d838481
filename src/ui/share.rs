//! The link, the files, the address, and what is kept over a reload: how a text leaves the page and comes back.

use super::view::*;

use super::browser::{self, Kept, Timer};
use super::controls::{Button, fresh_id};
use super::desk::{Desk, Over};
use crate::link::{self, Opened};
use crate::scenario::library::{self, Story};
use crate::session::{Branch, Msg, Notice, Session};
use crate::words;

/// From so many characters a link is too long for many a chat, and the file is offered first.
const LONG_LINK: usize = 2000;

/// The most bytes of a text whose link is written into the address; a larger one is kept in the browser alone.
const MOST_BYTES_IN_ADDRESS: usize = 60_000;

/// How long after an action the address and the storage are written, at most once in this time.
const ONCE_A_SECOND: i32 = 1000;

/// From this width of the window what a story teaches stands beside its title, in pixels (style/layout.css).
const LESSON_FROM: f64 = 1280.0;

/// The story that a first visit opens on.
const FIRST_STORY: &str = "07a-split-acquire";

/// The extension of scenario files.
pub const EXTENSION: &str = ".latchkey";

/// The link's fragment for what is shown, without the `#`.
fn fragment_of(session: &Session) -> String {
    link::encode(&session.text(), session.cursor())
        .trim_start_matches('#')
        .to_string()
}

/// The address of the whole page with this session's link.
pub fn address_of(session: &Session) -> String {
    browser::address_with(&fragment_of(session)).replacen("?embed", "", 1)
}

/// The markup that shows the session within another page.
pub fn embedding(session: &Session) -> String {
    let address = address_of(session).replacen('#', "?embed#", 1);
    "<iframe src=\"".to_string()
        + &address
        + "\" width=\"720\" height=\"560\" title=\"Latchkey\"></iframe>"
}

/// Copies the link; a long one opens the dialog, which offers the file first.
pub fn share(desk: Desk) {
    let fragment = desk.look(fragment_of);
    match fragment.len() < LONG_LINK {
        true => copy_link(desk, fragment),
        false => desk.over.set(Some(Over::Share)),
    }
}

fn copy_link(desk: Desk, fragment: String) {
    let address = browser::address_with(&fragment);
    let length = address.chars().count();
    browser::copy(address, move |copied| match copied {
        true => desk.say("Link copied: ".to_string() + &length.to_string() + " characters"),
        false => desk.over.set(Some(Over::Share)),
    });
}

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let fragment = desk.look(fragment_of);
    let save = Button::new("Save the file")
        .icon("save")
        .primary(true)
        .label("Save the text as a file")
        .does(move || save_file(desk));
    let id = fresh_id();
    let address = browser::address_with(&fragment);
    let note = words::count(address.chars().count(), "character", "characters");
    let is_long = fragment.len() >= LONG_LINK;
    let advice = if is_long {
        ": longer than many a chat or mail lets through. The file is safer."
    } else {
        "."
    };
    let copied = address.clone();
    let copy = Button::new("Copy the link").icon("share").does(move || {
        let address = copied.clone();
        browser::copy(address, move |copied| match copied {
            true => desk.say("Link copied"),
            false => desk.refuse(
                "The browser did not let the page copy: select the link and copy it by hand",
            ),
        });
    });
    view! {
        <p class="help__lead">
            "The link holds the whole text and where the cursor stands. Nothing leaves your browser until you send it to somebody."
        </p>
        <div class="share__row">
            {save.draw(desk)}
            <span class="share__note">"a text of a few lines that "<code>"latchkey check"</code>" runs as a test"</span>
        </div>
        <label class="share__note" for=id.clone()>"The link, "{note}{advice}</label>
        <input class="field share__link" id=id readonly value=address on:focus=select_all />
        <div class="share__row">{copy.draw(desk)}</div>
        {super::export::view(desk)}
    }
    .into_any()
}

fn select_all(event: web_sys::FocusEvent) {
    event_target::<web_sys::HtmlInputElement>(&event).select();
}

/// Saves the text as a file that is named after its title.
pub fn save_file(desk: Desk) {
    let name = desk.look(|session| file_name(&session.title(), EXTENSION));
    save_as(desk, &name, &desk.look(Session::edited_text));
}

/// Saves a text as a file of this name.
pub fn save_as(desk: Desk, name: &str, text: &str) {
    match browser::save_file(name, text) {
        true => desk.say("Saved as ".to_string() + name),
        false => desk.refuse("The browser did not let the page save a file"),
    }
}

/// `A stalls: between SET and INCR` becomes `a-stalls-between-set-and-incr.latchkey`.
pub fn file_name(title: &str, end: &str) -> String {
    let mut name = String::new();
    for letter in title.chars() {
        // Of the letters beyond ASCII all but punctuation and signs.
        let stays = letter.is_ascii_alphanumeric()
            || letter >= '\u{c0}' && !('\u{2000}'..'\u{2c00}').contains(&letter);
        match stays {
            true => name.push(letter.to_ascii_lowercase()),
            false if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            false => {}
        }
        if name.len() >= 48 {
            break;
        }
    }
    name.trim_end_matches('-').to_string() + end
}

/// Opens a file that was chosen or dropped.
pub fn open_file(desk: Desk, file: web_sys::File) {
    let name = file.name();
    browser::read_file(file, move |text| match text {
        Ok(text) => open_text(desk, &text, None, Some(name)),
        Err(why) => desk.refuse(why),
    });
}

/// Keeps each of these files under its name.
pub fn import(desk: Desk, files: web_sys::FileList) {
    for file in (0..files.length()).filter_map(|place| files.get(place)) {
        let name = file.name();
        let name = name.strip_suffix(EXTENSION).unwrap_or(&name).to_string();
        browser::read_file(file, move |text| match text {
            Ok(text) => desk.send(Msg::Keep {
                name,
                text: Some(text),
            }),
            Err(why) => desk.refuse(why),
        });
    }
}

/// Opens a scenario that is kept under a name.
pub fn open_kept(desk: Desk, text: &str, cursor: usize) {
    open_text(desk, text, Some(cursor), None);
}

/// Opens a story of the library.
pub fn open_story(desk: Desk, story: &'static Story) {
    // At its beginning, so that there is something to play.
    open_text(desk, story.text, Some(0), None);
    if browser::window_size().0 < LESSON_FROM {
        super::header::tell_lesson(desk);
    }
}

/// Opens an empty page, or one that begins with this text.
pub fn open_new(desk: Desk, text: &str) {
    open_text(desk, text, None, None);
}

/// Opens another text beside what is there, with an entry of its own in the browser's history. One that does not parse is shown
/// in the editor with its errors.
fn open_text(desk: Desk, text: &str, cursor: Option<usize>, named: Option<String>) {
    desk.playing.set(false);
    desk.over.set(None);
    let said = desk.said.with_untracked(|said| said.number);
    desk.send(Msg::Open {
        text: text.to_string(),
        cursor,
    });
    let is_open = desk.look(|session| session.text().trim_end() == text.trim_end());
    if !is_open {
        // What was there is kept; the text stands in the editor, and every error beside its line.
        desk.send(Msg::Edit(text.to_string()));
        desk.dock.set(super::desk::Dock::Text);
        desk.tab.set(super::desk::Tab::Text);
        let name = named.unwrap_or_else(|| "The text".to_string());
        return desk.refuse(name + " does not parse: its errors stand under the text. The page stays on what was open.");
    }
    if !desk
        .said
        .with_untracked(|now| now.aloud && now.number > said)
    {
        desk.say("Open: ".to_string() + &desk.look(Session::title));
    }
    write_address(desk, true);
}

/// Opens a kept branch; what is open takes its place.
pub fn switch_branch(desk: Desk, place: usize) {
    desk.playing.set(false);
    desk.send(Msg::SwitchBranch(place));
    desk.over.set(None);
    write_address(desk, true);
}

/// What belongs into the address: the link, or nothing where it would be too large for one.
fn fragment_for_address(session: &Session) -> String {
    match session.document().bytes() <= MOST_BYTES_IN_ADDRESS {
        true => fragment_of(session),
        false => String::new(),
    }
}

fn write_address(desk: Desk, new_entry: bool) {
    if desk.embedded {
        return;
    }
    let fragment = desk.look(fragment_for_address);
    if fragment != browser::fragment() {
        browser::write_address(&fragment, new_entry);
    }
    browser::set_title(&(desk.look(Session::title) + " · Latchkey"));
}

/// What another tab's work is called among the branches.
const OF_ANOTHER_TAB: &str = "The work of another tab";

fn keep(desk: Desk) {
    if desk.embedded {
        return;
    }
    if let Some(theirs) = browser::kept_by_another_tab() {
        let mut branches = theirs.branches;
        if !is_in_library(&theirs.text) {
            branches.push(Branch {
                name: OF_ANOTHER_TAB.to_string(),
                text: theirs.text,
                cursor: theirs.cursor,
                born: 0,
            });
        }
        desk.session.update(|session| session.keep_others(branches));
    }
    let kept = desk.look(|session| Kept {
        text: session.text(),
        draft: session.draft().map(str::to_string),
        cursor: session.cursor(),
        branches: session.branches().to_vec(),
        branch: {
            let (name, born) = session.own_branch();
            (name.to_string(), born)
        },
    });
    let shelf = keep_shelf(desk);
    let trouble = browser::keep(&kept).and(shelf).err().unwrap_or_default();
    if desk.not_kept.with_untracked(|before| *before != trouble) {
        if !trouble.is_empty() {
            desk.refuse(
                "Your work is not kept over a reload: ".to_string()
                    + &trouble
                    + ". Save it as a file, or copy the link.",
            );
        }
        desk.not_kept.set(trouble);
    }
}

/// Brings together the scenarios that are kept here with those that other tabs have kept meanwhile, and keeps both.
fn keep_shelf(desk: Desk) -> Result<(), String> {
    let theirs = browser::shelf();
    let base = desk.shelf.get_untracked();
    if theirs != base {
        let merge = |session: &mut Session| session.merge_shelf(&base, &theirs);
        desk.session.update(merge);
    }
    let own = desk.look(|session| session.shelf().to_vec());
    let kept = match own == theirs {
        true => Ok(()),
        false => browser::keep_shelf(&own),
    };
    desk.shelf.set(if kept.is_ok() { own } else { theirs });
    kept
}

/// Writes the address and keeps the work, at most once a second while somebody acts, and opens what Back, Forward and links
/// bring.
pub fn follow(desk: Desk) {
    let revision = desk.read(Session::revision);
    let timer = Timer::new();
    effect_with_last(move |before: Option<u64>| {
        let revision = revision.get();
        if before.is_some() {
            timer.unless_set(ONCE_A_SECOND, move || {
                keep(desk);
                write_address(desk, false);
            });
        }
        revision
    });
    browser::on_leave(move || {
        keep(desk);
        let next = timer.is_set().then(|| desk.look(fragment_for_address));
        browser::leave_behind(next.as_deref());
    });
    browser::on_address(move || {
        // What was about to be written must not take the place of an address that is explained.
        if timer.is_set() {
            timer.clear();
            keep(desk);
        }
        open_address(desk);
    });
    browser::on_drop(move |files| match files.get(0) {
        Some(file) if files.length() == 1 => open_file(desk, file),
        _ => import(desk, files),
    });
    browser::on_storage(move || {
        if !desk.embedded {
            // Whatever the browser refuses now is told when there is something to keep.
            let _ = keep_shelf(desk);
        }
    });
    browser::on_print(move |begins| desk.whole.set(begins));
}

/// Opens what the address holds, beside what is open.
fn open_address(desk: Desk) {
    let fragment = browser::fragment();
    if fragment.is_empty() || desk.look(fragment_of) == fragment {
        return;
    }
    match link::decode(&fragment) {
        Ok(Opened { text, cursor }) => {
            desk.playing.set(false);
            desk.send(Msg::Open {
                text,
                cursor: Some(cursor),
            });
            browser::set_title(&(desk.look(Session::title) + " · Latchkey"));
        }
        Err(error) => desk.refuse(
            "This link cannot be opened: ".to_string()
                + &error.to_string()
                + ". What was open stays.",
        ),
    }
}

/// What the page begins with: the link, else the work that was kept, else the first story; what to tell about it;
/// and whether it is the first story.
pub fn begin() -> (Session, Vec<Notice>, bool) {
    let mut told = Vec::new();
    browser::catch_up();
    let kept = browser::kept().filter(|_| !browser::is_embedded());
    let stopped = browser::it_stopped();
    let linked = match browser::fragment() {
        fragment if fragment.is_empty() => None,
        fragment => match open_link(&fragment) {
            Ok(session) => Some(session),
            Err(why) => {
                let why = "This link cannot be opened: ".to_string() + &why;
                told.push(Notice::Refused(why));
                None
            }
        },
    };
    let own = match (&kept, stopped) {
        (Some(kept), false) => Session::new(&kept.text, Some(kept.cursor)).ok(),
        _ => None,
    };
    let same = linked
        .as_ref()
        .zip(own.as_ref())
        .is_some_and(|(linked, own)| linked.text() == own.text());
    let mut branches = kept
        .as_ref()
        .map(|kept| kept.branches.clone())
        .unwrap_or_default();
    let has_linked = linked.is_some() && !same;
    if let Some(kept) = &kept
        && (has_linked || own.is_none())
        && !kept.text.trim().is_empty()
        && !is_in_library(&kept.text)
        && !branches.iter().any(|branch| branch.text == kept.text)
    {
        let name = if stopped {
            "Work at which the page stopped"
        } else {
            "Your work before the link"
        };
        let next = branches.iter().map(|branch| branch.born + 1).max();
        branches.push(Branch {
            name: name.to_string(),
            text: kept.draft.clone().unwrap_or_else(|| kept.text.clone()),
            cursor: kept.cursor,
            born: next.unwrap_or(1),
        });
        let kept = match stopped {
            true => "The page had stopped: the work that it stopped at is kept under Branches",
            false => "Your earlier work is kept under Branches",
        };
        told.push(Notice::Said(kept.to_string()));
    }
    let chosen = linked.or(own);
    let is_first = chosen.is_none();
    let mut session = chosen.unwrap_or_else(first_session);
    session.set_branches(branches);
    if let Some(kept) = kept
        .as_ref()
        .filter(|kept| kept.text == session.text() && kept.branch.1 > 0)
    {
        session.be_branch(&kept.branch.0, kept.branch.1);
    }
    session.set_shelf(browser::shelf());
    if let Some(draft) = kept
        .and_then(|kept| kept.draft)
        .filter(|_| !has_linked && !stopped)
    {
        session.update(Msg::Edit(draft));
    }
    (session, told, is_first)
}

fn open_link(fragment: &str) -> Result<Session, String> {
    let Opened { text, cursor } = link::decode(fragment).map_err(|error| error.to_string())?;
    Session::new(&text, Some(cursor)).map_err(|errors| {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        "its text does not parse, ".to_string() + &first
    })
}

fn is_in_library(text: &str) -> bool {
    let mut all = library::stories().iter().chain(library::challenges());
    all.any(|story| story.text == text)
}

fn first_session() -> Session {
    let text = library::story_named(FIRST_STORY).map_or("", |story| story.text);
    let session = Session::new(text, None).or_else(|_| Session::new("", None));
    let mut session = session.expect("the empty text parses");
    if let Some(action) = session.claims_broken_at() {
        session.update(Msg::GoTo(action));
    }
    session
}

#[cfg(test)]
mod tests {
    use super::{EXTENSION, file_name};

    #[test]
    fn files_are_named_after_their_titles() {
        assert_eq!(
            file_name("A stalls: between SET and INCR", EXTENSION),
            "a-stalls-between-set-and-incr.latchkey"
        );
        assert_eq!(file_name("…", EXTENSION), ".latchkey");
        assert_eq!(file_name("Größe 10 %", EXTENSION), "größe-10.latchkey");
    }
}

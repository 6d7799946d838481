//! The command palette: everything that the page can do, found by its name.

use super::choices::{Choice, Choices};
use super::desk::{Desk, Dock, Over, Tab};
use super::view::*;
use super::{browser, console, picture, share, transport};
use crate::scenario::library::{self, Story};
use crate::session::{Branch, Msg, Session, fit};

/// What a name stands for.
#[derive(Clone)]
enum Doing {
    Session(Msg),
    Page(fn(Desk)),
    Story(&'static Story),
    Kept(Branch),
}

/// A name, the key that does the same, and what it does.
type Named = (&'static str, &'static str, fn(Desk));

/// What the page does beside the session.
const PAGE: [Named; 24] = [
    ("Play, or stop playing", "Space", transport::toggle_play),
    ("Find a failing schedule", "F", |desk| {
        open(desk, Over::Search)
    }),
    ("Scenarios: keep, import, open a story", "L", |desk| {
        open(desk, Over::Library)
    }),
    ("Compare with another fence or protocol", "V", |desk| {
        open(desk, Over::Compare)
    }),
    ("Branches", "", |desk| open(desk, Over::Branches)),
    ("Copy the link", "", share::share),
    ("Save, export, embed", "", |desk| open(desk, Over::Share)),
    ("Save the text as a file", "", share::save_file),
    ("New: an empty page", "", |desk| share::open_new(desk, "")),
    ("Keys and marks", "?", |desk| open(desk, Over::Help)),
    ("Go to the clients", "A", |desk| {
        go(desk, None, Tab::Clients, "clients-body")
    }),
    ("Go to the picture", "I", picture::go),
    ("Go to the servers", "E", |desk| {
        go(desk, None, Tab::Servers, "servers-body")
    }),
    ("Go to the properties", "O", |desk| {
        go(
            desk,
            Some(Dock::Properties),
            Tab::Servers,
            "properties-body",
        )
    }),
    ("Go to the text", "T", |desk| {
        go(desk, Some(Dock::Text), Tab::Text, "text-area")
    }),
    ("Go to the console", "N", |desk| {
        go(desk, Some(Dock::Consoles), Tab::Text, console::FIELD)
    }),
    ("The picture as a table", "B", |desk| {
        open(desk, Over::Table)
    }),
    ("Picture: larger", "+", |desk| picture::zoom(desk, 5, 4)),
    ("Picture: smaller", "-", |desk| picture::zoom(desk, 4, 5)),
    ("Picture: as much as fits", "0", picture::fit),
    ("Theme: light", "", |desk| desk.choose_theme("light")),
    ("Theme: dark", "", |desk| desk.choose_theme("dark")),
    ("Theme: as the system has it", "", |desk| {
        desk.choose_theme("")
    }),
    (
        "Tell what this text teaches",
        "",
        super::header::tell_lesson,
    ),
];

fn open(desk: Desk, over: Over) {
    desk.over.set(Some(over));
}

/// Shows a panel, and puts the focus on the element with this id in it.
fn go(desk: Desk, dock: Option<Dock>, tab: Tab, id: &'static str) {
    if let Some(dock) = dock {
        desk.dock.set(dock);
    }
    desk.tab.set(tab);
    request_animation_frame(move || browser::focus(id));
}

/// The keys of what has one, each with its name.
pub fn keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    let named = PAGE.iter().filter(|(_, key, _)| !key.is_empty());
    named.map(|(name, key, _)| (*key, *name))
}

/// Does what this key stands for; whether it stands for something.
pub fn press(desk: Desk, key: &str) -> bool {
    let key = if key == " " { "Space" } else { key };
    let named = PAGE
        .iter()
        .find(|(_, own, _)| own.eq_ignore_ascii_case(key));
    named.map(|(.., does)| does(desk)).is_some()
}

/// Everything that has a name, in the order in which it is shown.
fn everything(session: &Session) -> Vec<(Choice, Doing)> {
    let choice = |text: String, note: &str, why_not: Option<String>| Choice {
        text,
        note: note.to_string(),
        why_not: why_not.unwrap_or_default(),
    };
    let offers = session.offers().into_iter().map(|offer| {
        let why_not = offer.why_not;
        (
            choice(offer.name, offer.key, why_not),
            Doing::Session(offer.msg),
        )
    });
    let page = PAGE
        .iter()
        .map(|(name, key, does)| (choice(name.to_string(), key, None), Doing::Page(*does)));
    let stories = library::stories().iter().map(|story| (story, "story"));
    let challenges = library::challenges()
        .iter()
        .map(|story| (story, "challenge"));
    let stories = stories
        .chain(challenges)
        .map(|(story, kind)| (choice(story.title.clone(), kind, None), Doing::Story(story)));
    let kept = session.shelf().iter().map(|kept| {
        (
            choice(kept.name.clone(), "kept", None),
            Doing::Kept(kept.clone()),
        )
    });
    offers.chain(page).chain(kept).chain(stories).collect()
}

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let all = StoredValue::new(desk.look(everything));
    let shown = RwSignal::new(Vec::<usize>::new());
    let list = Choices::new("palette-choices");
    let seek = move |typed: &str| {
        let (places, choices) = all.with_value(|all| {
            let ranked = all.iter().enumerate();
            let mut ranked: Vec<(usize, usize)> = ranked
                .filter_map(|(place, (choice, _))| Some((fit(&choice.text, typed)?, place)))
                .collect();
            crate::sorted::sort(&mut ranked);
            let places: Vec<usize> = ranked.into_iter().map(|(_, place)| place).collect();
            let choices = places.iter().filter_map(|place| all.get(*place));
            let choices: Vec<Choice> = choices.map(|(choice, _)| choice.clone()).collect();
            (places, choices)
        });
        shown.set(places);
        list.offer(choices, true);
    };
    seek("");
    let take = move |place: usize| {
        let place = shown.with_untracked(|shown| shown.get(place).copied());
        let taken = place.and_then(|place| all.with_value(|all| all.get(place).cloned()));
        if let Some((choice, doing)) = taken {
            does(desk, &choice.why_not, doing);
        }
    };
    let key = move |event: web_sys::KeyboardEvent| {
        match (event.key().as_str(), list.active()) {
            ("ArrowDown", _) => list.move_by(1),
            ("ArrowUp", _) => list.move_by(-1),
            ("Enter", Some(active)) if !event.is_composing() => take(active),
            _ => return,
        }
        event.prevent_default();
    };
    request_animation_frame(|| browser::focus("palette-field"));
    let nothing = move || {
        let is_empty = shown.with(Vec::is_empty);
        is_empty.then(|| view! { <p class="empty">"Nothing that can be done has all these words in its name."</p> })
    };
    view! {
        <label class="hidden-but-read" for="palette-field">"What to do"</label>
        <input
            class="field stories__filter"
            id="palette-field"
            role="combobox"
            aria-expanded=move || shown.with(|shown| if shown.is_empty() { "false" } else { "true" })
            aria-controls="palette-choices"
            aria-autocomplete="list"
            aria-activedescendant=move || list.active_id()
            placeholder="What to do: step A, crash, next deadline, Redlock, dark …"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            on:input=move |event| seek(&event_target_value(&event))
            on:keydown=key
        />
        <div class="palette">{list.draw("What can be done", take)}</div>
        {nothing}
    }
    .into_any()
}

/// Does what was chosen, or says why it is not possible now.
fn does(desk: Desk, why_not: &str, doing: Doing) {
    if !why_not.is_empty() {
        return desk.refuse(desk.sentence(why_not));
    }
    desk.over.set(None);
    match doing {
        Doing::Session(msg) => desk.send(msg),
        Doing::Page(does) => does(desk),
        Doing::Story(story) => share::open_story(desk, story),
        Doing::Kept(kept) => share::open_kept(desk, &kept.text, kept.cursor),
    }
}

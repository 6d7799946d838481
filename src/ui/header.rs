//! The top of the page: the story, what it teaches, undo and redo, new, branches, share, the theme.

use super::view::*;

use super::controls::{Button, icon, prose};
use super::desk::{Desk, Over};
use super::share;
use crate::session::{Msg, Session, Standing};
use crate::words;

/// The top of the page.
pub fn header(desk: Desk) -> AnyView {
    let title = desk.read(Session::title);
    let standing = desk.read(Session::standing);
    let lesson = desk.read(lesson_of);
    view! {
        <header class="masthead">
            <h1 class="wordmark">
                <svg class="wordmark__key" viewBox="0 0 34 20" aria-hidden="true">
                    <circle cx="8" cy="10" r="6" />
                    <path d="M14 10h18v6M26 10v5" />
                </svg>
                "Latchkey"
            </h1>
            <div class="masthead__story">
                <button
                    type="button"
                    class="button masthead__title"
                    aria-haspopup="dialog"
                    title="Choose a story of the library"
                    on:click=move |_| desk.over.set(Some(Over::Library))
                >
                    {icon("library")}
                    <span class="masthead__name">{move || title.get()}</span>
                    {move || mark(standing.get()).map(|mark| view! { <span class="chip">{mark}</span> })}
                </button>
                <button
                    type="button"
                    class="masthead__lesson"
                    title="Read all of it over the picture"
                    on:click=move |_| tell_lesson(desk)
                >
                    {icon("text")}<span class="masthead__words">{move || prose(&lesson.get())}</span>
                </button>
            </div>
            {if desk.embedded { full_page(desk) } else { tools(desk) }}
        </header>
    }
}

/// From a page within another one to the whole page.
fn full_page(desk: Desk) -> AnyView {
    Button::new("Open in Latchkey")
        .icon("share")
        .label("Open this in a tab of its own, with all panels")
        .does(move || {
            let _ = window().open_with_url_and_target(&desk.look(share::address_of), "_blank");
        })
        .draw(desk)
}

/// What stands beside the title of a text that is not what the title was written for.
fn mark(standing: Standing) -> Option<&'static str> {
    match standing {
        Standing::Itself => None,
        Standing::Changed => Some("changed"),
        Standing::Branch { .. } => Some("a branch"),
        Standing::Found => Some("found"),
    }
}

/// Tells all of what the text teaches, over the picture.
pub fn tell_lesson(desk: Desk) {
    super::guide::tell(desk, desk.look(lesson_of));
}

fn lesson_of(session: &Session) -> String {
    let description = || session.reading().description.clone();
    lesson_now(session.standing()).unwrap_or_else(description)
}

/// What stands in place of a description that speaks of another schedule.
fn lesson_now(standing: Standing) -> Option<String> {
    match standing {
        Standing::Itself | Standing::Changed | Standing::Found => None,
        Standing::Branch { after: 0 } => {
            Some("Another schedule than the one of this title.".into())
        }
        Standing::Branch { after } => {
            let actions = words::count(after, "action", "actions");
            Some("Goes another way than this title’s schedule after ".to_string() + &actions + ".")
        }
    }
}

fn tools(desk: Desk) -> AnyView {
    let can = desk.read(|session| (session.can_undo(), session.can_redo()));
    let branches = desk.read(|session| session.branches().len());
    let steps = move || {
        let (can_undo, can_redo) = can.get();
        let undo = Button::icon_only("undo", "Undo (U)")
            .class("button--quiet")
            .unless((!can_undo).then(|| "Nothing to undo".to_string()))
            .sends(desk, Msg::Undo);
        let redo = Button::icon_only("redo", "Redo (R)")
            .class("button--quiet")
            .unless((!can_redo).then(|| "Nothing to do again".to_string()))
            .sends(desk, Msg::Redo);
        view! { {undo.draw(desk)} {redo.draw(desk)} }
    };
    let kept = move || {
        let count = branches.get();
        let words = if count == 0 {
            "Branches".to_string()
        } else {
            "Branches ".to_string() + &count.to_string()
        };
        Button::new(words)
            .icon("branch")
            .label("What was kept when you acted in the past or opened something else")
            .class("button--quiet")
            .does(move || desk.over.set(Some(Over::Branches)))
            .draw(desk)
    };
    let new = Button::new("New")
        .icon("new")
        .label("An empty page, to build your own")
        .does(move || share::open_new(desk, ""));
    let share = Button::new("Share")
        .icon("share")
        .label("Copy the link to this")
        .does(move || share::share(desk));
    let export = Button::icon_only("save", "Save, export, embed")
        .class("button--quiet")
        .does(move || desk.over.set(Some(Over::Share)));
    let palette = Button::icon_only("command", "Do it by name (Ctrl+K)")
        .class("button--quiet")
        .does(move || desk.over.set(Some(Over::Palette)));
    let help = Button::icon_only("keys", "Keys and marks (?)")
        .class("button--quiet masthead__help")
        .does(move || desk.over.set(Some(Over::Help)));
    // On a phone what is seldom wanted unfolds below, and folds again once something of it is chosen.
    let is_unfolded = RwSignal::new(false);
    let unfold = move || {
        Button::icon_only("more", "More: new, share, export, keys, theme")
            .class("button--quiet masthead__unfold")
            .pressed(is_unfolded.get())
            .does(move || is_unfolded.update(|it| *it = !*it))
            .draw(desk)
    };
    view! {
        <div class="masthead__tools">
            {steps} {unfold}
            <div
                class="masthead__more"
                data-unfolded=move || is_unfolded.get().then_some("")
                on:click=move |_| is_unfolded.set(false)
            >
                <span class="masthead__rule"></span>
                {kept} {new.draw(desk)} {share.draw(desk)} {export.draw(desk)}
                <span class="masthead__rule"></span>
                {palette.draw(desk)} {help.draw(desk)}
                {themes(desk)}
            </div>
        </div>
    }
    .into_any()
}

fn themes(desk: Desk) -> AnyView {
    let theme = desk.theme;
    let choice = move |value: &'static str, words: &'static str| {
        let choose = move |_| desk.choose_theme(value);
        view! {
            <label class="segments__choice">
                <input
                    type="radio"
                    name="theme"
                    value=value
                    prop:checked=move || theme.with(|theme| theme == value)
                    on:change=choose
                />
                <span>{words}</span>
            </label>
        }
        .into_any()
    };
    view! {
        <fieldset class="segments masthead__theme">
            <legend class="hidden-but-read">"Theme"</legend>
            {choice("light", "Light")} {choice("dark", "Dark")} {choice("", "Auto")}
        </fieldset>
    }
    .into_any()
}

//! The scenarios that are kept in this browser under names.

use super::controls::{Button, Key, fresh_id, list, named};
use super::desk::Desk;
use super::share;
use super::view::*;
use crate::session::{Branch, MOST_OF_A_NAME, Msg};
use crate::words;

/// What the dialog shows of them, above the stories.
pub fn view(desk: Desk) -> AnyView {
    let shelf = desk.items(|session| {
        let own = session
            .kept_as()
            .map(|(name, is_changed)| (name.to_string(), is_changed));
        let state = |kept: &Branch| match &own {
            Some((name, is_changed)) if *name == kept.name => Some(*is_changed),
            _ => None,
        };
        let kept = session.shelf().iter().enumerate();
        kept.map(|(place, kept)| (place as Key, (kept.clone(), state(kept))))
            .collect::<Vec<_>>()
    });
    let suggested = desk.look(|session| match session.kept_as() {
        Some((name, _)) => name.to_string(),
        None => session.title(),
    });
    let field = NodeRef::<web_sys::HtmlInputElement>::new();
    let keep = move || {
        if let Some(field) = field.get_untracked() {
            desk.send(Msg::Keep {
                name: field.value(),
                text: None,
            });
        }
    };
    let files = NodeRef::<web_sys::HtmlInputElement>::new();
    let chosen = move |_| {
        if let Some(input) = files.get_untracked() {
            if let Some(list) = input.files() {
                share::import(desk, list);
            }
            input.set_value("");
        }
    };
    let choose = move || {
        if let Some(input) = files.get_untracked() {
            input.click();
        }
    };
    let import = Button::new("Import files")
        .label("Import files: each is kept under its name")
        .does(choose);
    let id = fresh_id();
    let count = move || shelf.count();
    view! {
        <section class="shelf" aria-label="Kept in this browser">
            <form class="shelf__form" on:submit=move |event| { event.prevent_default(); keep() }>
                <label class="shelf__label" for=id.clone()>"Keep what is open as"</label>
                <input class="field shelf__name" id=id node_ref=field value=words::shortened(&suggested, MOST_OF_A_NAME - 1) maxlength=MOST_OF_A_NAME autocomplete="off" />
                {Button::new("Keep").label("Keep it in this browser under this name").does(keep).draw(desk)}
                {import.draw(desk)}
                <input class="hidden-but-read" type="file" multiple tabindex="-1" aria-hidden="true" accept=".latchkey,text/plain" node_ref=files on:change=chosen />
            </form>
            <ul class="branches" data-count=count>{list(shelf, move |(kept, state)| draw(desk, kept, state))}</ul>
        </section>
    }
    .into_any()
}

fn draw(desk: Desk, kept: Branch, state: Option<bool>) -> AnyView {
    let Branch {
        name, text, cursor, ..
    } = kept;
    let lines = words::count(text.lines().count(), "line", "lines");
    let note = lines + ", " + &words::count(cursor, "action", "actions") + " played";
    let mark = state.map(|is_changed| if is_changed { "open, changed" } else { "open" });
    let mark = mark.map(|mark| view! { <span class="chip">{mark}</span> });
    let say = |what: &str| what.to_string() + " “" + &name + "”";
    let (file, whole) = (share::file_name(&name, share::EXTENSION), text.clone());
    let open = Button::new("Open")
        .label(say("Open"))
        .does(move || share::open_kept(desk, &text, cursor));
    let export = Button::icon_only("save", say("Save as a file:"))
        .class("button--quiet")
        .does(move || share::save_as(desk, &file, &whole));
    let delete = Button::new("Delete")
        .label(say("Delete"))
        .class("button--quiet")
        .sends(desk, Msg::DeleteKept(name.clone()));
    let old = name.clone();
    let rename = move |to| {
        desk.send(Msg::RenameKept {
            name: old.clone(),
            to,
        });
    };
    view! {
        <li class="branch">
            <span class="branch__name">{named(desk, name, None, rename)}{mark}</span>
            <span class="branch__note">{note}</span>
            <span class="branch__tools">{open.draw(desk)}{export.draw(desk)}{delete.draw(desk)}</span>
        </li>
    }
    .into_any()
}

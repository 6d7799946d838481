//! The kept branches: what was left when somebody acted in the past or opened something else.

use super::view::*;

use super::controls::{Button, Key, list};
use super::desk::Desk;
use super::share;
use crate::session::{Branch, Msg};
use crate::words;

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let branches = desk.read(|session| {
        let branches = session.branches().iter().enumerate().rev();
        branches
            .map(|(place, branch)| (place as Key, (place, branch.clone())))
            .collect::<Vec<_>>()
    });
    let hint = move || {
        branches.with(Vec::is_empty).then(|| {
            view! {
                <p class="empty">
                    "None yet. When you act in the past, or open another text over changed work, what was there is kept here, the newest first."
                </p>
            }
        })
    };
    view! {
        {hint}
        <ul class="branches">{list(branches, move |(place, branch)| draw(desk, place, branch))}</ul>
    }
    .into_any()
}

fn draw(desk: Desk, place: usize, branch: Branch) -> AnyView {
    let Branch { name, text, cursor } = branch;
    let note = words::count(text.lines().count(), "line", "lines")
        + ", "
        + &words::count(cursor, "action", "actions")
        + " played";
    let open = Button::new("Open")
        .label("Open “".to_string() + &name + "”; what is open now takes its place here")
        .does(move || share::switch_branch(desk, place));
    let delete = Button::new("Delete")
        .label("Forget “".to_string() + &name + "”")
        .class("button--quiet")
        .sends(desk, Msg::DeleteBranch(place));
    view! {
        <li class="branch">
            <span class="branch__name">{name}</span>
            <span class="branch__note">{note}</span>
            <span class="branch__tools">{open.draw(desk)}{delete.draw(desk)}</span>
        </li>
    }
    .into_any()
}

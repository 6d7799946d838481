//! What lies over the page, one at a time: the library, sharing, the branches, the keys.

use super::view::*;

use super::browser;
use super::controls::Button;
use super::desk::{Desk, Over};
use super::{branches, compare, help, library, notices, palette, picture, search, share};

/// The one dialog of the page. What is told while it is open stands within it: a browser draws nothing else above it.
pub fn over_page(desk: Desk) -> AnyView {
    let dialog = NodeRef::<web_sys::HtmlDialogElement>::new();
    let body = NodeRef::<web_sys::HtmlDivElement>::new();
    effect(move || {
        let over = desk.over.get();
        if let Some(dialog) = dialog.get() {
            browser::show_dialog(&dialog, over.is_some());
        }
        // It would stay as far down as the dialog before was scrolled.
        if let Some(body) = body.get() {
            body.set_scroll_top(0);
        }
    });
    let close = move || desk.over.set(None);
    // A click beside the dialog meets the dialog itself, one within it meets something that it holds.
    let beside = move |event: web_sys::MouseEvent| {
        let is_beside = event
            .target()
            .zip(dialog.get_untracked())
            .is_some_and(|(target, dialog)| target == ****dialog);
        if is_beside {
            close();
        }
    };
    let title = move || match desk.over.get() {
        Some(Over::Library) => "Scenarios",
        Some(Over::Share) => "Share",
        Some(Over::Branches) => "Branches",
        Some(Over::Search) => "Find a failing schedule",
        Some(Over::Compare) => "The same schedule, side by side",
        Some(Over::Help) => "Keys and marks",
        Some(Over::Palette) => "Do it by name",
        Some(Over::Table) => "The picture as a table",
        None => "",
    };
    let content = move || match desk.over.get() {
        Some(Over::Library) => library::view(desk),
        Some(Over::Share) => share::view(desk),
        Some(Over::Branches) => branches::view(desk),
        Some(Over::Search) => search::view(desk),
        Some(Over::Compare) => compare::view(desk),
        Some(Over::Help) => help::view(),
        Some(Over::Palette) => palette::view(desk),
        Some(Over::Table) => picture::as_table(desk),
        None => ().into_any(),
    };
    view! {
        <dialog class="over" node_ref=dialog aria-labelledby="h-over" on:close=move |_| close() on:click=beside>
            <div class="over__sheet">
                <header class="panel__head">
                    <h2 class="panel__title" id="h-over">{title}</h2>
                    <span class="panel__tools">
                        {Button::icon_only("cross", "Close").class("button--quiet").does(close).draw(desk)}
                    </span>
                </header>
                <div class="over__body" tabindex="0" node_ref=body>{content}</div>
                {notices::notice(desk)}
            </div>
        </dialog>
    }
}

//! What the page tells: the status line, and for a while a notice over the page.

use super::view::*;

use super::browser::Timer;
use super::controls::{Button, icon};
use super::desk::Desk;

/// How long a notice stays, in milliseconds: one that refuses something longer.
const STAYS: i32 = 4000;
const REFUSAL_STAYS: i32 = 8000;

/// The status line: what happened last, and whether the work is kept.
pub fn status(desk: Desk) -> AnyView {
    let kept = move || {
        desk.not_kept.with(|why| {
            if why.is_empty() {
                "Kept in this browser"
            } else {
                "Not kept over a reload"
            }
        })
    };
    let title = move || {
        desk.not_kept
            .with(|why| (!why.is_empty()).then(|| why.clone()))
    };
    let class = move || {
        desk.not_kept.with(|why| {
            if why.is_empty() {
                "status__kept"
            } else {
                "status__kept status__kept--not"
            }
        })
    };
    view! {
        <section class="status" aria-label="Status">
            <span class="status__said" role="status">{move || desk.said.with(|said| said.words.clone())}</span>
            <span class=class title=title>{kept}</span>
        </section>
    }
}

/// The notice over the page; it goes by itself, and at once when it is closed.
pub fn notice(desk: Desk) -> AnyView {
    let shown = RwSignal::new(false);
    let timer = Timer::new();
    effect_with_last(move |before: Option<u64>| {
        let (number, aloud, refused) = desk
            .said
            .with(|said| (said.number, said.aloud, said.refused));
        if before.is_some_and(|before| before != number) {
            shown.set(aloud);
            timer.set(if refused { REFUSAL_STAYS } else { STAYS }, move || {
                shown.set(false)
            });
        }
        number
    });
    let draw = move || {
        shown.get().then(|| {
            let said = desk.said.get();
            let (class, sign) = match said.refused {
                true => ("notice notice--refused", "rejected"),
                false => ("notice", "accepted"),
            };
            let close = Button::icon_only("cross", "Close")
                .class("button--quiet button--small")
                .does(move || shown.set(false));
            view! { <div class=class>{icon(sign)}<span>{said.words}</span>{close.draw(desk)}</div> }
        })
    };
    view! { <section class="notices" aria-label="Notices">{draw}</section> }
}

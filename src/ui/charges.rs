//! The card gateway's charges.

use super::view::*;

use super::controls::{Key, icon, list};
use super::desk::Desk;
use crate::session::Session;
use crate::sim::gateway::{Charge, Gateway};
use crate::words;

/// The most charges that are shown; the latest of them.
const MOST_CHARGES: usize = 50;

/// The gateway's part of the servers; nothing while no protocol charges and nothing was charged.
pub fn charges(desk: Desk) -> AnyView {
    let charges = desk.items(charges_of);
    let note = desk.read(note_of);
    let has_some = move || charges.count() > 0;
    view! {
        <section class="server" aria-labelledby="h-charges">
            <header class="server__head">
                <h3 class="server__title" id="h-charges">"Charges"</h3>
                <span class="server__note">{move || note.get()}</span>
            </header>
            <ol class="charges" aria-hidden=move || (!has_some()).then_some("true")>{list(charges, draw)}</ol>
        </section>
    }
}

fn note_of(session: &Session) -> String {
    let charges = session.world().gateway.charges();
    let refunded = charges.iter().filter(|charge| charge.refunded).count();
    match (charges.len(), refunded) {
        (0, _) => "none".to_string(),
        (all, 0) => words::count(all, "charge", "charges"),
        (all, refunded) => {
            words::count(all, "charge", "charges") + ", " + &refunded.to_string() + " refunded"
        }
    }
}

fn charges_of(session: &Session) -> Vec<(Key, (usize, Charge))> {
    let charges = session.world().gateway.charges();
    let first = charges.len().saturating_sub(MOST_CHARGES);
    let shown = charges.iter().enumerate().skip(first);
    shown
        .map(|(place, charge)| (place as u64, (place, charge.clone())))
        .collect()
}

fn draw((place, charge): (usize, Charge)) -> AnyView {
    let key = charge.idempotency_key.map(|key| {
        view! { <span class="charge__key" title="idempotency key">"key "{key}</span> }
    });
    let refunded = charge.refunded.then(|| {
        view! { <span class="chip chip--done">{icon("undo")}"refunded"</span> }
    });
    view! {
        <li class="charge">
            <span class="charge__name">{Gateway::name_of(place)}</span>
            <span class="charge__order">{charge.order}</span>
            {key}
            <span class="charge__amount">{charge.amount}</span>
            {refunded}
        </li>
    }
    .into_any()
}

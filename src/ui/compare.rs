//! The schedule beside itself with one thing changed: which replies differ, where the two part, and what is so at the end.

use super::view::*;

use super::controls::{Button, fresh_id};
use super::desk::Desk;
use crate::compare::{Change, Comparison, MOST_COMPARED, Row, Side, compare};
use crate::session::Msg;
use crate::words;

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let (text, changes) = desk.look(|session| {
        let text = session.text();
        let changes = Change::all(&text, session.reading());
        (text, changes)
    });
    if changes.is_empty() {
        return view! {
            <p class="empty">
                "There is nothing to change here: no statement of a protocol compares a watched fence column with a variable, and no protocol of \
                 the text or of the library is like one that somebody runs."
            </p>
        }
        .into_any();
    }
    let chosen = RwSignal::new(0);
    let options = changes.iter().enumerate().map(|(place, change)| {
        let words = words::sentence(&with_its_rival(change, &changes));
        view! { <option value=place.to_string() selected=place == 0>{words}</option> }
    });
    let options = options.collect_view();
    let choose = move |event| chosen.set(event_target_value(&event).parse().unwrap_or_default());
    let show = move || {
        let change = changes.get(chosen.get())?;
        Some(match compare(&text, change) {
            Ok(comparison) => draw(desk, change, comparison),
            Err(errors) => {
                let why = errors.first().map(ToString::to_string).unwrap_or_default();
                view! { <p class="search__said">"With this change the text cannot be read: "{why}</p> }.into_any()
            }
        })
    };
    let id = fresh_id();
    view! {
        <div class="search__goal">
            <label class="share__note" for=id.clone()>"Beside the schedule as it is, the same one with"</label>
            <select class="select" id=id on:change=choose>{options}</select>
        </div>
        <div aria-live="polite">{show}</div>
    }
    .into_any()
}

/// What is changed, and in place of what where several protocols could be replaced.
fn with_its_rival(change: &Change, all: &[Change]) -> String {
    let replaced = |change: &Change| match change {
        Change::Protocol { from, .. } => Some(from.clone()),
        Change::Fence { .. } => None,
    };
    let own = replaced(change);
    let others = all.iter().any(|other| {
        let other = replaced(other);
        other.is_some() && other != own
    });
    match own.filter(|_| others) {
        Some(from) => change.in_words() + " in place of " + &from,
        None => change.in_words(),
    }
}

fn draw(desk: Desk, change: &Change, comparison: Comparison) -> AnyView {
    let Comparison {
        rows,
        parts_at,
        parts_in,
        ends,
        not_compared,
        text,
    } = comparison;
    let parting = parts_at.and_then(|place| rows.get(place)).cloned();
    let cursor = parting.as_ref().map(|row| row.played[1]);
    let open = Button::new("Open it")
        .label(
            "Open the other one as a scenario of its own; what is open is kept if it was changed",
        )
        .primary(true)
        .does(move || {
            desk.over.set(None);
            let text = text.clone();
            desk.send(Msg::Open { text, cursor });
        });
    let rows = rows.into_iter().enumerate();
    let rows = rows.map(|(place, row)| draw_row(row, parts_at == Some(place)));
    let rows = rows.collect_view();
    let cut = (not_compared > 0).then(|| {
        view! { <p class="share__note">"Only the first "{MOST_COMPARED}" actions are compared."</p> }
    });
    view! {
        <p class="search__result">{said(desk, parting, &parts_in)}</p>
        <div class="rows__scroll">
            <table class="rows compare">
                <thead><tr>
                    <th scope="col">"Schedule"</th>
                    <th scope="col">"As it is"</th>
                    <th scope="col">{words::sentence(&change.in_words())}</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {cut}
        {draw_ends(ends)}
        <div class="share__row">{open.draw(desk)}</div>
    }
    .into_any()
}

/// Where the two part, with a way there.
fn said(desk: Desk, parting: Option<Row>, parts_in: &[&'static str]) -> AnyView {
    let Some(row) = parting else {
        return "They never part: the rows, the charges, the locks and the beliefs stay the same."
            .into_any();
    };
    let place = row.played[0];
    let go = move |_| {
        desk.over.set(None);
        desk.send(Msg::GoTo(place));
    };
    let what = parts_in.join(" and ");
    view! {
        <span>
            "They part at "
            <button type="button" class="link" title="Close this, and move the cursor there" on:click=go>
                "action "{place}", "<code>{row.line}</code>
            </button>
            ": from there "{what}" are not the same."
        </span>
    }
    .into_any()
}

fn draw_row(row: Row, parts: bool) -> AnyView {
    let class = match (parts, row.differs()) {
        (true, _) => "compare__parts",
        (false, true) => "compare__differs",
        (false, false) => "",
    };
    let sides = row.sides.into_iter().map(draw_side).collect_view();
    let mark = parts.then(|| view! { <span class="chip">"they part"</span> });
    view! { <tr class=class><th scope="row">{row.line}{mark}</th>{sides}</tr> }.into_any()
}

fn draw_side(side: Side) -> AnyView {
    let (class, words) = match side {
        Side::Done(reply) => ("", reply),
        Side::LeftOut(why) => ("compare__left-out", why),
        Side::Absent => ("compare__left-out", "not in this protocol".to_string()),
    };
    view! { <td class=class>{words}</td> }.into_any()
}

/// What is so at the end and differs.
fn draw_ends(ends: Vec<[Option<String>; 2]>) -> Option<AnyView> {
    (!ends.is_empty()).then(|| {
        let rows = ends.into_iter().map(|sides| {
            let cells = sides.into_iter().map(|side| view! { <td>{side}</td> });
            view! { <tr>{cells.collect_view()}</tr> }
        });
        view! {
            <h3 class="help__title">"At the end"</h3>
            <div class="rows__scroll">
                <table class="rows compare">
                    <thead class="hidden-but-read"><tr><th scope="col">"As it is"</th><th scope="col">"Changed"</th></tr></thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
        }
        .into_any()
    })
}

//! The properties: each sentence with its verdict and the reason, and what differs from what the text expects.

use super::view::*;

use super::controls::{Items, Key, icon, list, prose, verdict};
use super::desk::Desk;
use crate::property::{Break, Property, Verdict};
use crate::scenario::check::Difference;
use crate::session::{Mismatch, Msg, Session};
use crate::words;

/// The most replies that are shown that differ.
const MOST_MISMATCHES: usize = 20;

/// The panel of properties.
pub fn properties(desk: Desk) -> AnyView {
    let rows = desk.read(rows_of);
    let mismatches = desk.items(mismatches_of);
    let unmet = Items::new(move || desk.unmet.with(|unmet| unmet_of(unmet)));
    view! {
        <section class="properties panel" id="dock-properties" role="tabpanel" aria-label="Properties">
            <header class="panel__head panel__head--undocked"><h2 class="panel__title">"Properties"</h2>{tally(desk)}</header>
            <div class="panel__body" id="properties-body" tabindex="0">
                <ul>{list(mismatches, move |row| draw_mismatch(desk, row))}</ul>
                <ul>{list_of(desk, rows, 0)}</ul>
                <ul>{list(unmet, move |row| draw_unmet(desk, row))}</ul>
                {folded(desk, rows, 1, "accepted", " hold")}
                {folded(desk, rows, 2, "untested", " not tested")}
            </div>
        </section>
    }
}

type Rows = Memo<Vec<(Key, Row)>>;

/// Those with this rank.
fn list_of(desk: Desk, rows: Rows, rank_of: u8) -> AnyView {
    let those = Items::new(move || {
        let mut rows = rows.get();
        rows.retain(|(_, row)| rank(&row.verdict) == rank_of);
        rows
    });
    list(those, move |row| draw(desk, row))
}

/// Those with this rank behind their count, until somebody unfolds them: what is broken comes first, and whole.
fn folded(desk: Desk, rows: Rows, rank_of: u8, sign: &'static str, word: &'static str) -> AnyView {
    let count = move || {
        rows.with(|rows| {
            let those = rows.iter().filter(|(_, row)| rank(&row.verdict) == rank_of);
            one_count("tally", sign, those.count(), word.to_string())
        })
    };
    let is_unfolded = RwSignal::new(false);
    let unfolded = move || is_unfolded.get().then_some("");
    let expanded = move || if is_unfolded.get() { "true" } else { "false" };
    view! {
        <button
            type="button"
            class="properties__fold"
            aria-expanded=expanded
            on:click=move |_| is_unfolded.update(|it| *it = !*it)
        >
            {icon("forward")} {count}
        </button>
        <ul class="properties__folded" data-unfolded=unfolded>{list_of(desk, rows, rank_of)}</ul>
    }
    .into_any()
}

/// How many properties are broken, hold, and have not been put to the test. Where all that is broken is what nobody claims, as no lock
/// with a deadline can promise it, the count is no alarm: the others may all be right.
pub fn tally(desk: Desk) -> AnyView {
    let counts = desk.read(|session| {
        let mut counts = [0; 4];
        for (property, verdict) in session.verdicts() {
            counts[rank(&verdict) as usize] += 1;
            if rank(&verdict) == 0 && claim_of(session, property) == UNCLAIMED {
                counts[3] += 1;
            }
        }
        counts
    });
    let show = move || {
        let [broken, hold, untested, unclaimed] = counts.get();
        let words = match unclaimed {
            0 => " broken".to_string(),
            count => " broken (".to_string() + &count.to_string() + " unclaimed)",
        };
        let class = match broken > unclaimed {
            true => "tally tally--broken",
            false => "tally tally--untested",
        };
        view! {
            {one_count(class, "rejected", broken, words)}
            {one_count("tally tally--holds", "accepted", hold, " hold".to_string())}
            {one_count("tally tally--untested", "untested", untested, " not tested".to_string())}
        }
    };
    view! { <span class="picture__verdicts">{show}</span> }
}

fn one_count(class: &'static str, sign: &'static str, count: usize, word: String) -> AnyView {
    view! { <span class=class>{icon(sign)}{count}<span class="tally__word">{word}</span></span> }
        .into_any()
}

#[derive(Clone, PartialEq)]
struct Row {
    property: Property,
    verdict: Verdict,
    claim: &'static str,
}

fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Broken(_) => 0,
        Verdict::Holds { .. } => 1,
        Verdict::NotTested { .. } => 2,
    }
}

fn rows_of(session: &Session) -> Vec<(Key, Row)> {
    let mut rows: Vec<Row> = session
        .verdicts()
        .into_iter()
        .map(|(property, verdict)| Row {
            property,
            verdict,
            claim: claim_of(session, property),
        })
        .collect();
    crate::sorted::sort_by_key(&mut rows, |row| {
        (rank(&row.verdict), row.claim == UNCLAIMED)
    });
    rows.into_iter()
        .map(|row| (row.property as u64, row))
        .collect()
}

/// What is said of a property that no lock with a deadline can promise, unless somebody does.
const UNCLAIMED: &str = "unclaimed: no lock with a deadline can promise it";

/// Whether a protocol that somebody runs claims the property.
fn claim_of(session: &Session, property: Property) -> &'static str {
    match session.setup() {
        setup if property.is_claimed(setup) => "claimed",
        setup if property.is_unclaimed(setup) => UNCLAIMED,
        _ => "",
    }
}

fn draw(desk: Desk, row: Row) -> AnyView {
    let Row {
        property,
        verdict: found,
        claim,
    } = row;
    let (class, mark, why, broken) = match found {
        Verdict::Broken(found) => (
            if claim == UNCLAIMED {
                "property property--unclaimed"
            } else {
                "property property--broken"
            },
            verdict("rejected", "broken".to_string()),
            found.because.clone(),
            Some(found),
        ),
        Verdict::Holds { because } => (
            "property property--holds",
            verdict("accepted", "holds".to_string()),
            because,
            None,
        ),
        Verdict::NotTested { needs } => (
            "property property--untested",
            verdict("untested", "not tested".to_string()),
            needs,
            None,
        ),
    };
    let claim =
        (!claim.is_empty()).then(|| view! { " "<span class="property__claim">{claim}</span> });
    let title = (class == "property property--untested").then_some("not yet put to the test");
    view! {
        <li class=class>
            <span title=title>{mark}</span>
            <span class="property__name">{words::sentence(property.sentence())}{claim}</span>
            <p class="property__why">{prose(&desk.sentence(&why))}{broken.map(|found| causes(desk, found))}</p>
        </li>
    }
    .into_any()
}

/// ` action 9 · Why?`, which walks from the causes to that action.
fn causes(desk: Desk, found: Break) -> AnyView {
    let action = found.action;
    view! {
        {go_to(desk, action)}" · "
        <button type="button" class="link" title="Walk from its causes to this" on:click=move |_| super::guide::why(desk, &found)>"Why?"</button>
    }
}

/// ` action 9`, which moves the cursor to after it.
fn go_to(desk: Desk, action: usize) -> AnyView {
    let label = "Move the cursor to action ".to_string() + &(action + 1).to_string();
    view! {
        " "
        <button type="button" class="link" title=label on:click=move |_| desk.send(Msg::GoTo(action + 1))>
            "action "{action + 1}
        </button>
    }
    .into_any()
}

fn mismatches_of(session: &Session) -> Vec<(Key, Mismatch)> {
    let differing = session.mismatches().iter().take(MOST_MISMATCHES);
    differing
        .map(|mismatch| (mismatch.action as u64, mismatch.clone()))
        .collect()
}

fn draw_mismatch(desk: Desk, mismatch: Mismatch) -> AnyView {
    let Mismatch {
        action,
        expected,
        got,
    } = mismatch;
    let name = match expected.as_str() {
        "" => "The action was not possible".to_string(),
        _ => "The reply differs from the text".to_string(),
    };
    let why = match expected.as_str() {
        "" => desk.sentence(&got),
        expected => "The text expects ".to_string() + expected + ", the reply is " + &got,
    };
    view! {
        <li class="property property--broken">
            {verdict("rejected", "differs".to_string())}
            <span class="property__name">{name}</span>
            <p class="property__why">{why}{go_to(desk, action)}</p>
        </li>
    }
    .into_any()
}

/// An expectation that is not met: its line, what is expected, what is so.
fn unmet_of(unmet: &[Difference]) -> Vec<(Key, (usize, String, String))> {
    unmet
        .iter()
        .map(|unmet| {
            (
                unmet.line as Key,
                (unmet.line, unmet.expected.clone(), unmet.got.clone()),
            )
        })
        .collect()
}

fn draw_unmet(desk: Desk, (line, expected, got): (usize, String, String)) -> AnyView {
    let show = move |_| super::text::show_line(desk, line);
    view! {
        <li class="property property--broken">
            {verdict("rejected", "not met".to_string())}
            <span class="property__name">"An expectation of the text is not met"</span>
            <p class="property__why">
                "Expected: "<code>{expected}</code>". It is: "<code>{got}</code>". "
                <button type="button" class="link" on:click=show>"line "{line}</button>
            </p>
        </li>
    }
    .into_any()
}

//! The ledger: every write on a watched table, accepted or rejected, by which of its conditions, and why in words.

use super::view::*;

use super::browser;
use super::controls::{Key, badge_of, icon, list, prose, token, verdict};
use super::desk::Desk;
use crate::property::{JudgedCondition, LedgerEntry, Reason};
use crate::session::{Msg, Session};
use crate::sim::action::{Action, Who};
use crate::words;

/// The most writes that are shown; the latest of them.
const MOST_WRITES: usize = 100;

/// The ledger's part of the servers.
pub fn ledger(desk: Desk) -> AnyView {
    let sum = desk.read(sum_of);
    let writes = desk.items(writes_of);
    let note = move || sum.get().in_words();
    let now = desk.read(|session| {
        let last = session.ledger_backwards().next();
        let is_now = last.is_some_and(|write| write.action + 1 == session.cursor());
        is_now.then(|| session.cursor())
    });
    effect(move || {
        desk.tab.get();
        if now.get().is_some() {
            request_animation_frame(|| browser::bring_up("write-now"));
        }
    });
    let more = move || {
        let earlier = sum.with(|sum| sum.all().saturating_sub(MOST_WRITES));
        (earlier > 0).then(|| {
            let words = words::count(earlier, "earlier write is", "earlier writes are");
            view! { <p class="empty">{words}" not shown: move the cursor back to see them."</p> }
        })
    };
    let hint = move || {
        (sum.with(Sum::all) == 0).then(|| {
            view! { <p class="empty">"Writes to a watched table appear here, each with its verdict."</p> }
        })
    };
    view! {
        <section class="server" aria-labelledby="h-writes">
            <header class="server__head">
                <h3 class="server__title" id="h-writes">"Writes"</h3>
                <span class="server__note">{note}</span>
            </header>
            {more}
            <ol class="ledger">{list(writes, move |row| draw(desk, row))}</ol>
            {hint}
        </section>
    }
}

/// How many writes there are of each kind.
#[derive(Clone, Copy, Default, PartialEq)]
struct Sum {
    accepted: usize,
    accepted_stale: usize,
    rejected: usize,
    /// Answered with an error: no condition looked at the row.
    failed: usize,
}

impl Sum {
    fn all(&self) -> usize {
        self.accepted + self.rejected + self.failed
    }

    fn in_words(self) -> String {
        let mut parts = Vec::new();
        if self.accepted > 0 {
            parts.push(self.accepted.to_string() + " accepted");
        }
        if self.accepted_stale > 0 {
            parts.push(self.accepted_stale.to_string() + " of them stale");
        }
        if self.rejected > 0 {
            parts.push(self.rejected.to_string() + " rejected");
        }
        if self.failed > 0 {
            parts.push(self.failed.to_string() + " failed");
        }
        parts.join(", ")
    }
}

fn sum_of(session: &Session) -> Sum {
    let mut sum = Sum::default();
    for write in session.ledger_backwards() {
        match (write.accepted, write.stale) {
            (true, stale) => {
                sum.accepted += 1;
                sum.accepted_stale += usize::from(stale);
            }
            (false, _) if has_failed(write) => sum.failed += 1,
            (false, _) => sum.rejected += 1,
        }
    }
    sum
}

#[derive(Clone, PartialEq)]
struct Row {
    entry: LedgerEntry,
    name: String,
    statement: String,
    /// Whether it is what the action before the cursor wrote.
    is_now: bool,
}

fn writes_of(session: &Session) -> Vec<(Key, Row)> {
    let latest: Vec<&LedgerEntry> = session.ledger_backwards().take(MOST_WRITES).collect();
    let mut rows: Vec<(Key, Row)> = Vec::new();
    for entry in latest.into_iter().rev() {
        let same = rows
            .iter()
            .rev()
            .take_while(|(_, row)| row.entry.action == entry.action)
            .count();
        let key = (entry.action as u64) << 16 | same as u64;
        rows.push((key, row_of(session, entry)));
    }
    rows
}

fn row_of(session: &Session, entry: &LedgerEntry) -> Row {
    let name = match entry.who {
        Who::Client(client) => session.client_name(client).to_string(),
        Who::Operator => "operator".to_string(),
    };
    let statement = label_of(session, entry).unwrap_or_else(|| "console".to_string());
    Row {
        entry: entry.clone(),
        name,
        statement,
        is_now: entry.action + 1 == session.cursor(),
    }
}

/// The label of the step that wrote: the writer's latest request, which may have waited until somebody else acted. `None`: it was typed
/// at a console.
fn label_of(session: &Session, entry: &LedgerEntry) -> Option<String> {
    let Who::Client(writer) = entry.who else {
        return None;
    };
    let entries = session.timeline().entries();
    let played = entries.get(..=entry.action)?.iter().rev();
    let step = played
        .map(|played| &played.action)
        .find_map(|action| match action {
            Action::Step { client, step }
            | Action::LoseReply { client, step }
            | Action::Delay { client, step, .. }
            | Action::Deliver { client, step }
                if *client == writer =>
            {
                Some(Some(*step))
            }
            Action::Command { who, .. } if *who == entry.who => Some(None),
            _ => None,
        })??;
    let protocol = session.protocol_of(writer)?;
    Some(protocol.steps.get(step)?.label.clone())
}

fn draw(desk: Desk, row: Row) -> AnyView {
    let Row {
        entry,
        name,
        statement,
        is_now,
    } = row;
    let class = match entry.accepted && entry.stale {
        true => "write write--stale",
        false => "write",
    };
    let go = entry.action + 1;
    let label = "Move the cursor to action ".to_string() + &go.to_string();
    let shown_token = entry.token.map(|number| token(&number.to_string()));
    view! {
        <li class=class id=is_now.then_some("write-now") aria-current=is_now.then_some("true")>
            <button type="button" class="write__at link" title=label.clone() aria-label=label on:click=move |_| desk.send(Msg::GoTo(go))>
                {go}
            </button>
            <span class="write__who" title=name.clone()>
                {badge_of(entry.who, &name)}<span class="write__statement">{statement}</span>{shown_token}
            </span>
            <span></span>
            {verdict_of(&entry)}
            <span class="write__conditions">{entry.conditions.iter().map(condition).collect_view()}</span>
            <p class="write__why">{prose(&desk.sentence(&entry.because))}</p>
        </li>
    }
    .into_any()
}

fn verdict_of(entry: &LedgerEntry) -> AnyView {
    match (entry.accepted, entry.stale) {
        (true, true) => verdict("stale", "stale, accepted".to_string()),
        (true, false) => verdict("accepted", "accepted".to_string()),
        (false, _) if has_failed(entry) => verdict("untested", "failed".to_string()),
        (false, stale) => {
            let reasons: Vec<&str> = entry.reasons.iter().map(reason_in_words).collect();
            let mut words = "rejected".to_string();
            if !reasons.is_empty() {
                words += ": ";
                words += &reasons.join(", ");
            }
            if stale {
                words += ", stale";
            }
            verdict("rejected", words)
        }
    }
}

/// Whether the database answered with an error, and so no condition was looked at.
fn has_failed(entry: &LedgerEntry) -> bool {
    matches!(entry.reasons.as_slice(), [Reason::Error(_)])
}

fn reason_in_words(reason: &Reason) -> &str {
    match reason {
        Reason::NoStock => "no stock",
        Reason::Fenced => "fenced",
        Reason::NoSuchRow => "no such row",
        Reason::Condition(_) => "condition",
        Reason::Error(_) => "error",
    }
}

fn condition(judged: &JudgedCondition) -> AnyView {
    let (class, sign, word) = match judged.outcome {
        Some(true) => ("condition condition--true", "tick", "true: "),
        Some(false) => ("condition condition--false", "cross", "false: "),
        None => ("condition condition--false", "untested", "NULL: "),
    };
    let text = judged.text.clone();
    let stood = (!judged.stood.is_empty()).then(|| {
        let stood = " was ".to_string() + &judged.stood;
        view! { <i>{stood}</i> }
    });
    view! { <span class=class>{icon(sign)}{super::controls::hidden(word)}{text}{stood}</span> }
        .into_any()
}

//! The few words that stand beside each part and each row.

use crate::property::Reason;
use crate::sim::action::{Action, ClientId, ClockOf, LatchPoint, Who};
use crate::sim::database::{RowFact, WriteFact};
use crate::sim::event::{BeliefEnd, Server};
use crate::sim::setup::Setup;
use crate::sim::store::KeyState;
use crate::timeline::Entry;
use crate::words::{seconds, sentence_of};

use super::part::{KeyMark, LatchChange, LeaseEnd, WriteVerdict};

/// How many characters of a reply or a value are drawn.
const MOST_CHARACTERS: usize = 24;

/// Thousandths as a percentage.
pub(super) fn percent(permille: u32) -> String {
    match permille % 10 {
        0 => format!("{}%", permille / 10),
        tenths => format!("{}.{tenths}%", permille / 10),
    }
}

/// The text, or its beginning and an ellipsis, on one line.
pub(super) fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.len() == text.len() && text.chars().nth(MOST_CHARACTERS).is_none() {
        return text.to_string();
    }
    let begin: String = line.chars().take(MOST_CHARACTERS - 1).collect();
    begin + "…"
}

/// A request in a few words: `SET NX`, `EVAL unlock`, `UPDATE`, `CHARGE order-1`.
pub(super) fn request(server: Server, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some(first) = words.first() else {
        return "SQL".to_string();
    };
    let name = first.to_ascii_uppercase();
    let further: Vec<&str> = match (server, name.as_str()) {
        (Server::Store(_), "SET") => {
            let options = words.iter().skip(3).filter(|word| {
                ["NX", "XX", "GET"]
                    .iter()
                    .any(|o| word.eq_ignore_ascii_case(o))
            });
            options.copied().collect()
        }
        (Server::Store(_), "SCRIPT" | "EVAL" | "EVALSHA" | "EVAL_RO" | "EVALSHA_RO" | "FCALL")
        | (Server::Gateway, _) => words.get(1).copied().into_iter().collect(),
        (Server::Database, "SELECT") if text.to_ascii_uppercase().contains("FOR UPDATE") => {
            vec!["FOR UPDATE"]
        }
        _ => Vec::new(),
    };
    let all: Vec<&str> = std::iter::once(name.as_str()).chain(further).collect();
    short(&all.join(" "))
}

/// What a key holds, in a few words.
pub(super) fn value_in_short(state: &KeyState) -> String {
    match state.value.as_string() {
        Some(bytes) => short(&String::from_utf8_lossy(bytes)),
        None => state.value.type_name().to_string(),
    }
}

pub(super) fn key(key: &str, how: KeyMark, value: Option<&str>) -> String {
    match (how, value) {
        (KeyMark::Preset, Some(value)) => format!("{key} is {value}"),
        (KeyMark::Written, Some(value)) => format!("{key} set to {value}"),
        (KeyMark::Preset | KeyMark::Written, None) => format!("{key} deleted"),
        (KeyMark::Lapsed, _) => format!("{key} lapsed"),
        (KeyMark::ClockJumped, _) => format!("{key} lapsed"),
        (KeyMark::Expired, _) => format!("{key} expired now"),
        (KeyMark::Wiped, _) => format!("{key} wiped"),
        (KeyMark::Evicted, _) => format!("{key} evicted"),
        (KeyMark::DataLost, _) => format!("{key} lost"),
        (KeyMark::Replicated, Some(value)) => format!("{key} is {value}"),
        (KeyMark::Replicated, None) => format!("{key} deleted"),
    }
}

pub(super) fn lease_end(setup: &Setup, how: LeaseEnd, at: u64) -> String {
    match how {
        LeaseEnd::Released => "released".to_string(),
        // A key goes one millisecond after its deadline, and the deadline is what people speak of.
        LeaseEnd::Lapsed => format!("lapsed {}", seconds(at.saturating_sub(1))),
        LeaseEnd::ClockJumped => "lapsed by its clock".to_string(),
        LeaseEnd::Expired => "expired now".to_string(),
        LeaseEnd::Wiped => "wiped".to_string(),
        LeaseEnd::Evicted => "evicted".to_string(),
        LeaseEnd::DataLost => "lost".to_string(),
        LeaseEnd::Replicated => "no more".to_string(),
        LeaseEnd::DeletedBy(who) => format!("deleted by {}", somebody(setup, who)),
        LeaseEnd::OverwrittenBy(who) => format!("overwritten by {}", somebody(setup, who)),
    }
}

pub(super) fn belief_end(why: BeliefEnd) -> &'static str {
    match why {
        BeliefEnd::Released => "gives it up",
        BeliefEnd::Lost => "learns of the loss",
        BeliefEnd::RunEnded => "run ends",
        BeliefEnd::Crashed => "forgets",
        BeliefEnd::Renewed => "renews",
    }
}

pub(super) fn verdict(verdict: &WriteVerdict) -> String {
    match verdict {
        WriteVerdict::Accepted => "accepted".to_string(),
        WriteVerdict::StaleAccepted => "STALE write accepted".to_string(),
        WriteVerdict::Rejected(reasons) => reasons_in_short(reasons),
        WriteVerdict::StaleRejected(reasons) => format!("stale, {}", reasons_in_short(reasons)),
        WriteVerdict::Unjudged => "writes".to_string(),
    }
}

fn reasons_in_short(reasons: &[Reason]) -> String {
    let words: Vec<String> = reasons
        .iter()
        .map(|reason| match reason {
            Reason::NoStock => "no stock".to_string(),
            Reason::Fenced => "fenced".to_string(),
            Reason::NoSuchRow => "no such row".to_string(),
            Reason::Condition(text) | Reason::Error(text) => short(text),
        })
        .collect();
    if words.is_empty() {
        "rejected".to_string()
    } else {
        words.join(", ")
    }
}

pub(super) fn latch(
    setup: &Setup,
    client: ClientId,
    at: LatchPoint,
    change: LatchChange,
) -> String {
    let point = point(setup, client, at);
    match change {
        LatchChange::Set => format!("latch {point}"),
        LatchChange::Removed => format!("no latch {point}"),
        LatchChange::Opened => "resumed".to_string(),
    }
}

pub(super) fn point(setup: &Setup, client: ClientId, at: LatchPoint) -> String {
    match at {
        LatchPoint::Before(step) => format!("before {}", label(setup, client, step)),
        LatchPoint::After(step) => format!("after {}", label(setup, client, step)),
    }
}

pub(super) fn client(setup: &Setup, client: ClientId) -> &str {
    setup
        .clients
        .get(client.0)
        .map_or("?", |client| client.name.as_str())
}

pub(super) fn label(setup: &Setup, client: ClientId, step: usize) -> &str {
    let protocol = setup
        .clients
        .get(client.0)
        .and_then(|client| setup.protocols.get(client.protocol?));
    protocol
        .and_then(|protocol| protocol.steps.get(step))
        .map_or("?", |step| step.label.as_str())
}

/// Whether any of these steps puts right what the run has done; a release alone only tidies up.
pub(super) fn compensates(setup: &Setup, client: ClientId, steps: &[usize]) -> bool {
    let protocol = setup
        .clients
        .get(client.0)
        .and_then(|client| setup.protocols.get(client.protocol?));
    protocol.is_some_and(|protocol| {
        let steps = steps.iter().filter_map(|step| protocol.steps.get(*step));
        steps.into_iter().any(|step| step.compensation)
    })
}

pub(super) fn somebody(setup: &Setup, who: Who) -> &str {
    match who {
        Who::Client(id) => client(setup, id),
        Who::Operator => "the operator",
    }
}

/// What the watched columns of a row came to: of all rows that the write looked at, or of those that matched, as the ledger has so
/// many.
pub(super) fn details(setup: &Setup, write: &WriteFact, place: usize, of: usize) -> Vec<String> {
    let is_meant = |row: &&RowFact| row.matched || write.rows.len() <= of;
    let row = write.rows.iter().filter(is_meant).nth(place);
    row.map_or(Vec::new(), |row| changes(setup, &write.table, row))
}

/// What a write did to the watched columns of a row: `qty 10 → 9`, or `qty 10` where it is as it was.
fn changes(setup: &Setup, table: &str, row: &RowFact) -> Vec<String> {
    let watched = setup
        .watches
        .iter()
        .flat_map(|watch| [&watch.fence, &watch.stock])
        .flatten();
    let mut columns: Vec<&str> = watched
        .filter(|column| column.table.eq_ignore_ascii_case(table))
        .map(|column| column.column.as_str())
        .collect();
    columns.dedup();
    let of = |column: &str| match (row.before(column), row.after(column)) {
        (Some(before), Some(after)) if before == after => Some(format!("{column} {after}")),
        (Some(before), Some(after)) => Some(format!("{column} {before} → {after}")),
        (None, Some(after)) => Some(format!("{column} {after}")),
        (Some(before), None) => Some(format!("{column} was {before}")),
        (None, None) => None,
    };
    columns
        .into_iter()
        .filter_map(of)
        .map(|text| short(&text))
        .collect()
}

/// What a write that is not judged is labelled with.
pub(super) fn unjudged_in_short(write: &WriteFact) -> String {
    match changed(write) {
        0 => "0 rows".to_string(),
        _ => format!("writes {}", write.table),
    }
}

fn changed(write: &WriteFact) -> usize {
    write.rows.iter().filter(|row| row.changed).count()
}

pub(super) fn rows_in_words(rows: usize) -> String {
    match rows {
        1 => "1 row".to_string(),
        rows => format!("{rows} rows"),
    }
}

pub(super) fn unjudged(setup: &Setup, who: Who, write: &WriteFact) -> String {
    let changed = changed(write);
    let rows = rows_in_words(changed);
    let when = match changed {
        _ if !write.transaction => "",
        0 => "",
        1 => ", which counts once it is committed",
        _ => ", which count once they are committed",
    };
    format!(
        "{} wrote {rows} of {}{when}.",
        sentence_of(setup, somebody(setup, who)),
        write.table
    )
}

/// Who acts, where it is somebody.
pub(super) fn actor(action: &Action) -> Option<Who> {
    match action {
        Action::Step { client, .. }
        | Action::Pause { client, .. }
        | Action::Resume { client, .. }
        | Action::Crash { client }
        | Action::Restart { client }
        | Action::ClockJump {
            clock: ClockOf::Client(client),
            ..
        }
        | Action::ClockRate { client, .. }
        | Action::LoseRequest { client, .. }
        | Action::Delay { client, .. }
        | Action::Deliver { client, .. }
        | Action::LoseReply { client, .. } => Some(Who::Client(*client)),
        Action::Command { who, .. } => Some(*who),
        Action::Advance { .. }
        | Action::AdvanceToNextDeadline
        | Action::ClockJump { .. }
        | Action::Evict { .. }
        | Action::CrashServer { .. }
        | Action::RestartServer { .. }
        | Action::Replicate { .. }
        | Action::Failover { .. }
        | Action::ExpireNow { .. }
        | Action::Wipe { .. } => None,
    }
}

/// An action and its reply in a few words: `A acquire, reply OK`.
pub(super) fn action(setup: &Setup, entry: &Entry) -> String {
    let mut words = crate::scenario::print_action(setup, &entry.action);
    match (entry.refusal(), entry.reply_in_short()) {
        (Some(why), _) => words += &format!(": not possible, {why}"),
        (None, Some(reply)) => words += &format!(", reply {}", short(&reply)),
        (None, None) => {}
    }
    words
}

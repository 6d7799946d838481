//! Commands that wait: for an element in a list or sorted set, or for replicas.
//!
//! A wait ends when a key that it names comes into being with something to pop, when its timeout
//! has passed (by the rule for deadlines: at 0 it still waits, one millisecond later it ends), or
//! when the connection goes. Who has waited longest on a key is served first.

use std::sync::Arc;

use super::call::{Answer, Call, Instead, count};
use super::expiry;
use super::long_double::{self, Parsed};
use super::number;
use super::reply::Reply;
use super::run::Run;
use super::table;
use super::value::{Bytes, Value};
use super::{Cause, ConnectionId, Store, StoreFact, lists, replication, sorted_sets};

/// What ends a wait.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    keys: Vec<Bytes>,
    /// Milliseconds; `None` without end.
    timeout: Option<u64>,
}

impl Waiting {
    /// The connection waits for one of the keys; within a script or EXEC it must not, and the reply
    /// is nil at once.
    pub(super) fn for_keys(run: &Run<'_>, keys: &[Vec<u8>], timeout: Option<u64>) -> Answer {
        if run.depth > 0 {
            return Ok(Reply::Nil);
        }
        let keys = keys.iter().map(|key| Bytes::from(key.as_slice())).collect();
        Err(Instead::Wait(Waiting { keys, timeout }))
    }

    /// The connection waits for replicas.
    pub(super) fn for_replicas(timeout: Option<u64>) -> Answer {
        Err(Instead::Wait(Waiting {
            keys: Vec::new(),
            timeout,
        }))
    }
}

/// A command that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wait {
    pub(super) connection: ConnectionId,
    pub(super) argv: Vec<Vec<u8>>,
    /// Milliseconds until it ends without success; `None` without end.
    pub(super) remaining: Option<u64>,
    keys: Vec<Bytes>,
}

impl Wait {
    pub(super) fn waits_for(&self, key: &[u8]) -> bool {
        self.keys.iter().any(|wanted| wanted[..] == *key)
    }
}

/// The command waits from now on.
pub(super) fn begin(run: &mut Run<'_>, call: &Call<'_>, waiting: Waiting) {
    let wait = Wait {
        connection: run.connection,
        argv: call.argv.to_vec(),
        remaining: waiting.timeout,
        keys: waiting.keys,
    };
    Arc::make_mut(&mut run.store.waits).push(wait);
}

/// The commands whose timeout will have passed in `ms` milliseconds, with what remains of it.
pub(super) fn ending(store: &Store, ms: u64) -> Vec<(u64, ConnectionId)> {
    let ends = |wait: &Wait| {
        Some((
            wait.remaining
                .filter(|remaining| expiry::after(*remaining, ms).is_none())?,
            wait.connection,
        ))
    };
    store.waits.iter().filter_map(ends).collect()
}

/// Lets time pass for the commands that go on waiting.
pub(super) fn pass(store: &mut Store, ms: u64) {
    if ms == 0 || store.waits.iter().all(|wait| wait.remaining.is_none()) {
        return;
    }
    for wait in Arc::make_mut(&mut store.waits) {
        wait.remaining = wait
            .remaining
            .and_then(|remaining| expiry::after(remaining, ms));
    }
}

/// Gives every command that waits with a timeout longer to wait.
pub(super) fn prolong(store: &mut Store, ms: u64) {
    if store.waits.iter().any(|wait| wait.remaining.is_some()) {
        for wait in Arc::make_mut(&mut store.waits) {
            wait.remaining = wait.remaining.map(|remaining| remaining.saturating_add(ms));
        }
    }
}

/// A wait ends because its time is over.
pub(super) fn time_out(run: &mut Run<'_>, connection: ConnectionId) {
    let Some(wait) = take(run.store, connection) else {
        return;
    };
    // Only WAIT, which waits for no key, has something to say even then.
    let reply = if wait.keys.is_empty() {
        count(replication::acknowledged(run.store, connection))
    } else {
        Reply::Nil
    };
    answer(run, wait, reply);
}

/// Serves the WAITs that have what they wait for.
pub(super) fn serve_acknowledged(run: &mut Run<'_>) {
    let waiting: Vec<(ConnectionId, i64)> = run
        .store
        .waits
        .iter()
        .filter(|wait| wait.keys.is_empty())
        .map(|wait| {
            let wanted = wait
                .argv
                .get(1)
                .and_then(|text| number::parse_integer(text));
            (wait.connection, wanted.unwrap_or(0))
        })
        .collect();
    for (connection, wanted) in waiting {
        let have = replication::acknowledged(run.store, connection);
        if i64::try_from(have).is_ok_and(|have| have >= wanted)
            && let Some(wait) = take(run.store, connection)
        {
            answer(run, wait, count(have));
        }
    }
}

/// Ends every wait with an error.
pub(super) fn interrupt_all(run: &mut Run<'_>, error: &str) {
    for connection in run.store.waiting() {
        if let Some(wait) = take(run.store, connection) {
            answer(run, wait, Reply::Error(error.to_owned()));
        }
    }
}

fn take(store: &mut Store, connection: ConnectionId) -> Option<Wait> {
    let at = store
        .waits
        .iter()
        .position(|wait| wait.connection == connection)?;
    Some(Arc::make_mut(&mut store.waits).remove(at))
}

fn answer(run: &mut Run<'_>, wait: Wait, reply: Reply) {
    let Wait {
        connection, argv, ..
    } = wait;
    run.output.replies.push((connection, reply.clone()));
    run.tell(StoreFact::Command {
        connection,
        depth: 0,
        argv,
        reply,
    });
}

/// Serves the commands that wait for the keys that came into being, after the command that made
/// them; serving a BLMOVE may make another.
pub(super) fn serve_ready(run: &mut Run<'_>) {
    while !run.ready.is_empty() {
        for key in std::mem::take(&mut run.ready) {
            let waiting: Vec<ConnectionId> = run
                .store
                .waits
                .iter()
                .filter(|wait| wait.waits_for(&key))
                .map(|wait| wait.connection)
                .collect();
            for connection in waiting {
                serve(run, connection, &key);
            }
        }
    }
}

/// Serves one command that waits for this key, if the key has something for it.
fn serve(run: &mut Run<'_>, connection: ConnectionId, key: &[u8]) {
    let Some(wait) = run
        .store
        .waits
        .iter()
        .find(|wait| wait.connection == connection)
        .cloned()
    else {
        return;
    };
    let Some(command) = wait.argv.first().and_then(|name| table::find_command(name)) else {
        return;
    };
    let of_sorted_sets = command.name.starts_with("BZ");
    match run.value(key) {
        Some(Value::List(_)) if !of_sorted_sets => {}
        Some(Value::SortedSet(_)) if of_sorted_sets => {}
        _ => return,
    }
    run.cause = Cause::Command(command.name);
    let call = Call {
        command,
        argv: &wait.argv,
    };
    let answered = if of_sorted_sets {
        sorted_sets::serve(run, &call, key)
    } else {
        lists::serve(run, &call, key)
    };
    let reply = match answered {
        Ok(reply) => reply,
        Err(Instead::Error(text)) => Reply::Error(text.into_owned()),
        Err(Instead::Wait(_) | Instead::Several(_)) => return,
    };
    if let Some(wait) = take(run.store, connection) {
        answer(run, wait, reply);
    }
}

/// A timeout in seconds with a fraction, as the blocking commands take it, in milliseconds rounded
/// up; `None` for 0, which is without end. One that is too large is, by the way that Redis 7.0
/// converts it, negative.
pub(super) fn seconds(call: &Call<'_>, at: usize) -> Result<Option<u64>, Instead> {
    match long_double::parse(call.arg(at)) {
        Some(Parsed::Finite(seconds)) => timeout(seconds.thousandfold_ceiling().unwrap_or(-1)),
        Some(Parsed::Infinite { .. }) => timeout(-1),
        None => Err("ERR timeout is not a float or out of range".into()),
    }
}

/// A timeout in whole milliseconds, as WAIT takes it.
pub(super) fn milliseconds(call: &Call<'_>, at: usize) -> Result<Option<u64>, Instead> {
    let number = number::parse_integer(call.arg(at));
    timeout(number.ok_or("ERR timeout is not an integer or out of range")?)
}

fn timeout(ms: i64) -> Result<Option<u64>, Instead> {
    let ms = u64::try_from(ms).map_err(|_| "ERR timeout is negative")?;
    Ok((ms > 0).then_some(ms))
}

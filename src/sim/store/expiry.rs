//! Deadlines: the one rule by which time passes, and the commands that set and read them.
//!
//! A deadline is kept as the milliseconds that remain. At 0 the key is still there; one millisecond
//! later it is gone, for everybody and at once. Setting a deadline that is not in the future deletes.

use super::blocking;
use super::call::{Answer, Call, Instead, NO_SUCH_KEY, on_one_line, shown};
use super::keyspace::KeyState;
use super::reply::Reply;
use super::run::Run;
use super::value::Bytes;
use super::{Cause, StoreFact};

/// What remains of a deadline after `ms` milliseconds; `None` when it has passed.
///
/// ```text
/// remaining 1000, 1000 ms pass: 0, still there
/// remaining 1000, 1001 ms pass: gone
/// ```
pub(super) fn after(remaining: u64, ms: u64) -> Option<u64> {
    remaining.checked_sub(ms)
}

/// The server's clock jumps: forward, what it passes by lapses or ends; backward, all have longer.
pub(super) fn clock_jumps(run: &mut Run<'_>, ms: i64) {
    let distance = ms.unsigned_abs();
    if ms >= 0 {
        return elapse(run, distance, Cause::ClockJump);
    }
    run.store
        .keyspace
        .shift(&|remaining| remaining.saturating_add(distance));
    blocking::prolong(run.store, distance);
}

/// Lets time pass: keys lapse and blocked commands end in the order of their deadlines, keys first
/// and in byte order, then commands in the order in which they came.
pub(super) fn elapse(run: &mut Run<'_>, ms: u64, cause: Cause) {
    enum Due {
        Key(Bytes),
        Wait(super::ConnectionId),
    }
    let keys = run
        .store
        .keyspace
        .lapsing(ms)
        .into_iter()
        .map(|(remaining, key)| (remaining, Due::Key(key)));
    let waits = blocking::ending(run.store, ms)
        .into_iter()
        .map(|(remaining, connection)| (remaining, Due::Wait(connection)));
    let mut due: Vec<(u64, Due)> = keys.chain(waits).collect();
    crate::sorted::sort_by(&mut due, &mut |a, b| a.0.cmp(&b.0));
    for (_, due) in due {
        match due {
            Due::Key(key) => lapse(run, &key, cause),
            Due::Wait(connection) => blocking::time_out(run, connection),
        }
    }
    run.store.keyspace.pass(ms);
    blocking::pass(run.store, ms);
}

/// The key goes because its deadline has passed; what it was just before, nothing remaining, is told.
fn lapse(run: &mut Run<'_>, key: &[u8], cause: Cause) {
    run.change(key, None, cause);
    if let (
        Cause::Lapse,
        Some(StoreFact::Key {
            before: Some(before),
            ..
        }),
    ) = (cause, run.output.facts.last_mut())
    {
        before.remaining = Some(0);
    }
}

/// A key's deadline passes now.
pub(super) fn expire_now(run: &mut Run<'_>, key: &[u8]) {
    run.output.refused = match run.state(key) {
        None => Some("there is no such key"),
        Some(KeyState {
            remaining: None, ..
        }) => Some("the key has no deadline"),
        Some(_) => None,
    };
    if run.output.refused.is_none() {
        lapse(run, key, Cause::ExpiredNow);
    }
}

/// How a command names a time: from now or since the Unix epoch, in seconds or milliseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    UnixSeconds,
    UnixMilliseconds,
}

impl Unit {
    fn in_seconds(self) -> bool {
        matches!(self, Unit::Seconds | Unit::UnixSeconds)
    }

    fn since_epoch(self) -> bool {
        matches!(self, Unit::UnixSeconds | Unit::UnixMilliseconds)
    }

    /// The unit that an option such as EX names.
    pub(super) fn of_option(word: &[u8]) -> Option<Unit> {
        let units = [
            ("EX", Unit::Seconds),
            ("PX", Unit::Milliseconds),
            ("EXAT", Unit::UnixSeconds),
            ("PXAT", Unit::UnixMilliseconds),
        ];
        units
            .iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, unit)| *unit)
    }
}

/// The wall clock as Redis has it, in signed milliseconds.
fn wall_clock(run: &Run<'_>) -> i64 {
    i64::try_from(run.now).unwrap_or(i64::MAX)
}

/// A time to live as SET and GETEX take it (`getExpireMillisecondsOrReply`): positive and without
/// overflow. Gives the Unix time in milliseconds.
pub(super) fn positive_deadline(
    run: &Run<'_>,
    call: &Call<'_>,
    at: usize,
    unit: Unit,
) -> Result<i64, Instead> {
    let amount = call.integer(at)?;
    let scale = if unit.in_seconds() { 1000 } else { 1 };
    let base = if unit.since_epoch() {
        0
    } else {
        wall_clock(run)
    };
    let deadline = amount
        .checked_mul(scale)
        .filter(|ms| *ms > 0)
        .and_then(|ms| ms.checked_add(base));
    deadline.ok_or_else(|| call.invalid_expire())
}

/// What remains until a Unix time; `None` when it has passed.
pub(super) fn remaining_until(run: &Run<'_>, deadline: i64) -> Option<u64> {
    u64::try_from(i128::from(deadline) - i128::from(run.now)).ok()
}

/// Whether a deadline is not in the future, so that setting it deletes.
pub(super) fn is_over(run: &Run<'_>, deadline: i64) -> bool {
    deadline <= wall_clock(run)
}

pub(super) fn expire(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_deadline(run, call, Unit::Seconds)
}

pub(super) fn pexpire(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_deadline(run, call, Unit::Milliseconds)
}

pub(super) fn expireat(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_deadline(run, call, Unit::UnixSeconds)
}

pub(super) fn pexpireat(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_deadline(run, call, Unit::UnixMilliseconds)
}

#[derive(Default)]
struct Conditions {
    without: bool,
    with: bool,
    greater: bool,
    less: bool,
}

fn conditions(call: &Call<'_>) -> Result<Conditions, Instead> {
    let mut conditions = Conditions::default();
    for option in call.from(3) {
        match option.to_ascii_uppercase().as_slice() {
            b"NX" => conditions.without = true,
            b"XX" => conditions.with = true,
            b"GT" => conditions.greater = true,
            b"LT" => conditions.less = true,
            _ => {
                let text = format!("ERR Unsupported option {}", shown(option, usize::MAX));
                return Err(on_one_line(&text).into());
            }
        }
    }
    if conditions.without && (conditions.with || conditions.greater || conditions.less) {
        return Err("ERR NX and XX, GT or LT options at the same time are not compatible".into());
    }
    if conditions.greater && conditions.less {
        return Err("ERR GT and LT options at the same time are not compatible".into());
    }
    Ok(conditions)
}

fn set_deadline(run: &mut Run<'_>, call: &Call<'_>, unit: Unit) -> Answer {
    let key = call.arg(1);
    let conditions = conditions(call)?;
    let scale = if unit.in_seconds() { 1000 } else { 1 };
    let base = if unit.since_epoch() {
        0
    } else {
        wall_clock(run)
    };
    let deadline = call
        .integer(2)?
        .checked_mul(scale)
        .and_then(|ms| ms.checked_add(base));
    let deadline = deadline.ok_or_else(|| call.invalid_expire())?;
    let Some(state) = run.state(key).cloned() else {
        return Ok(Reply::Integer(0));
    };
    let current = state
        .remaining
        .map(|remaining| i128::from(remaining) + i128::from(run.now));
    let wanted = i128::from(deadline);
    let unwanted = (conditions.without && current.is_some())
        || (conditions.with && current.is_none())
        || (conditions.greater && current.is_none_or(|current| wanted <= current))
        || (conditions.less && current.is_some_and(|current| wanted >= current));
    if unwanted {
        return Ok(Reply::Integer(0));
    }
    if is_over(run, deadline) {
        run.remove(key);
    } else {
        let remaining = remaining_until(run, deadline);
        run.set(key, state.value, remaining);
    }
    Ok(Reply::Integer(1))
}

pub(super) fn persist(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let key = call.arg(1);
    match run.state(key).cloned() {
        Some(KeyState {
            value,
            remaining: Some(_),
        }) => {
            run.set(key, value, None);
            Ok(Reply::Integer(1))
        }
        _ => Ok(Reply::Integer(0)),
    }
}

pub(super) fn ttl(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    read_deadline(run, call, |remaining, _| {
        remaining.saturating_add(500) / 1000
    })
}

pub(super) fn pttl(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    read_deadline(run, call, |remaining, _| remaining)
}

pub(super) fn expiretime(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    read_deadline(run, call, |remaining, now| {
        remaining.saturating_add(now).saturating_add(500) / 1000
    })
}

pub(super) fn pexpiretime(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    read_deadline(run, call, u64::saturating_add)
}

/// -2 without the key, -1 without a deadline, else what is made of the remaining time and now.
fn read_deadline(run: &Run<'_>, call: &Call<'_>, shown: fn(u64, u64) -> u64) -> Answer {
    Ok(Reply::Integer(match run.state(call.arg(1)) {
        None => -2,
        Some(KeyState {
            remaining: None, ..
        }) => -1,
        Some(KeyState {
            remaining: Some(remaining),
            ..
        }) => i64::try_from(shown(*remaining, run.now)).unwrap_or(i64::MAX),
    }))
}

/// The state of a key that a command gives a deadline: gone when that has passed already.
pub(super) fn state_until(
    run: &Run<'_>,
    value: super::Value,
    deadline: Option<i64>,
) -> Option<KeyState> {
    match deadline {
        None => Some(KeyState {
            value,
            remaining: None,
        }),
        Some(deadline) => remaining_until(run, deadline).map(|remaining| KeyState {
            value,
            remaining: Some(remaining),
        }),
    }
}

/// The error of a key that must exist.
pub(super) fn existing<'r>(run: &'r Run<'_>, key: &[u8]) -> Result<&'r KeyState, Instead> {
    run.state(key).ok_or_else(|| NO_SUCH_KEY.into())
}

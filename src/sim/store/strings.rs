//! Strings: SET and GET with all their options, counters, and the commands for parts of a string.

use super::call::{
    Answer, Call, Instead, NOT_A_FLOAT, NOT_AN_INTEGER, OVERFLOW, SYNTAX, count, range,
};
use super::expiry::{self, Unit};
use super::long_double::{self, LongDouble, Parsed};
use super::number;
use super::reply::Reply;
use super::run::Run;
use super::value::Value;

/// The longest string (Redis: `proto-max-bulk-len`, 512 mebibytes by default).
const LONGEST: usize = 1 << 20;
const TOO_LONG: &str = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";

/// The options of SET and GETEX (`parseExtendedStringArgumentsOrReply`).
#[derive(Default)]
struct Options {
    if_absent: bool,
    if_present: bool,
    get: bool,
    keep_deadline: bool,
    persist: bool,
    /// The unit of the deadline, and where its amount stands.
    deadline: Option<(Unit, usize)>,
}

impl Options {
    fn parse(call: &Call<'_>, first: usize, of_set: bool) -> Result<Options, Instead> {
        let mut options = Options::default();
        let mut at = first;
        while at < call.len() {
            let word = call.arg(at).to_ascii_uppercase();
            let timeless = options.deadline.is_none();
            match word.as_slice() {
                b"NX" if of_set && !options.if_present => options.if_absent = true,
                b"XX" if of_set && !options.if_absent => options.if_present = true,
                b"GET" if of_set => options.get = true,
                b"KEEPTTL" if of_set && timeless => options.keep_deadline = true,
                b"PERSIST" if !of_set && timeless => options.persist = true,
                _ => {
                    let unit = Unit::of_option(&word)
                        .filter(|unit| options.takes(*unit) && at + 1 < call.len());
                    options.deadline = Some((unit.ok_or(SYNTAX)?, at + 1));
                    at += 1;
                }
            }
            at += 1;
        }
        Ok(options)
    }

    fn takes(&self, unit: Unit) -> bool {
        !self.keep_deadline
            && !self.persist
            && self.deadline.is_none_or(|(earlier, _)| earlier == unit)
    }

    fn deadline(&self, run: &Run<'_>, call: &Call<'_>) -> Result<Option<i64>, Instead> {
        self.deadline
            .map(|(unit, at)| expiry::positive_deadline(run, call, at, unit))
            .transpose()
    }
}

fn get_string(run: &Run<'_>, key: &[u8]) -> Answer {
    Ok(run.string(key)?.map_or(Reply::Nil, Reply::bulk))
}

/// The bytes of the string at a key, none where there is no key.
fn bytes_at(run: &Run<'_>, key: &[u8]) -> Result<Vec<u8>, Instead> {
    Ok(run
        .string(key)?
        .map_or_else(Vec::new, |bytes| bytes.to_vec()))
}

pub(super) fn set(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let key = call.arg(1);
    let options = Options::parse(call, 3, true)?;
    let deadline = options.deadline(run, call)?;
    let old = if options.get {
        Some(get_string(run, key)?)
    } else {
        None
    };
    let found = run.exists(key);
    if (options.if_absent && found) || (options.if_present && !found) {
        return Ok(old.unwrap_or(Reply::Nil));
    }
    let value = Value::string(call.arg(2));
    if options.keep_deadline {
        run.save(key, value);
    } else {
        set_until(run, key, value, deadline);
    }
    Ok(old.unwrap_or_else(Reply::ok))
}

/// Writes a string that lives until a Unix time; one that has passed takes the key away, and touches
/// it even if it was not there.
fn set_until(run: &mut Run<'_>, key: &[u8], value: Value, deadline: Option<i64>) {
    let state = expiry::state_until(run, value, deadline);
    run.touch(key);
    run.change(key, state, run.cause);
}

pub(super) fn setnx(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let absent = !run.exists(call.arg(1));
    if absent {
        run.set(call.arg(1), Value::string(call.arg(2)), None);
    }
    Ok(Reply::yes(absent))
}

pub(super) fn setex(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_for(run, call, Unit::Seconds)
}

pub(super) fn psetex(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_for(run, call, Unit::Milliseconds)
}

fn set_for(run: &mut Run<'_>, call: &Call<'_>, unit: Unit) -> Answer {
    let deadline = expiry::positive_deadline(run, call, 2, unit)?;
    set_until(run, call.arg(1), Value::string(call.arg(3)), Some(deadline));
    Ok(Reply::ok())
}

pub(super) fn get(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    get_string(run, call.arg(1))
}

pub(super) fn getset(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let old = get_string(run, call.arg(1))?;
    run.set(call.arg(1), Value::string(call.arg(2)), None);
    Ok(old)
}

pub(super) fn getdel(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let old = get_string(run, call.arg(1))?;
    run.remove(call.arg(1));
    Ok(old)
}

pub(super) fn getex(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let key = call.arg(1);
    let options = Options::parse(call, 2, false)?;
    let Some(bytes) = run.string(key)?.cloned() else {
        return Ok(Reply::Nil);
    };
    let deadline = options.deadline(run, call)?;
    let reply = Reply::bulk(&bytes);
    match (deadline, options.deadline) {
        (Some(deadline), Some((Unit::UnixSeconds | Unit::UnixMilliseconds, _)))
            if expiry::is_over(run, deadline) =>
        {
            run.remove(key);
        }
        (Some(deadline), _) => {
            let remaining = expiry::remaining_until(run, deadline);
            run.set(key, Value::String(bytes), remaining);
        }
        (None, _) if options.persist && run.remaining(key).is_some() => {
            run.set(key, Value::String(bytes), None)
        }
        _ => {}
    }
    Ok(reply)
}

pub(super) fn strlen(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(
        run.string(call.arg(1))?.map_or(0, |bytes| bytes.len()),
    ))
}

pub(super) fn append(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let mut bytes = bytes_at(run, call.arg(1))?;
    if bytes.len() + call.arg(2).len() > LONGEST {
        return Err(TOO_LONG.into());
    }
    bytes.extend_from_slice(call.arg(2));
    run.save(call.arg(1), Value::string(&bytes));
    Ok(count(bytes.len()))
}

pub(super) fn setrange(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let offset = call.integer(2)?;
    if offset < 0 {
        return Err("ERR offset is out of range".into());
    }
    let patch = call.arg(3);
    let mut bytes = bytes_at(run, call.arg(1))?;
    if patch.is_empty() {
        return Ok(count(bytes.len()));
    }
    let end = usize::try_from(offset)
        .ok()
        .and_then(|offset| offset.checked_add(patch.len()));
    let end = end.filter(|end| *end <= LONGEST).ok_or(TOO_LONG)?;
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[end - patch.len()..end].copy_from_slice(patch);
    run.save(call.arg(1), Value::string(&bytes));
    Ok(count(bytes.len()))
}

pub(super) fn getrange(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let bytes = bytes_at(run, call.arg(1))?;
    if start < 0 && stop < 0 && start > stop {
        return Ok(Reply::bulk(""));
    }
    // Unlike elsewhere, an end before the beginning still takes in the first byte.
    let stop = if stop < 0 {
        stop.saturating_add(i64::try_from(bytes.len()).unwrap_or(0))
            .max(0)
    } else {
        stop
    };
    Ok(Reply::bulk(&bytes[range(start, stop, bytes.len())]))
}

pub(super) fn mget(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let one = |key: &Vec<u8>| {
        run.value(key)
            .and_then(Value::as_string)
            .map_or(Reply::Nil, Reply::bulk)
    };
    Ok(Reply::Array(call.from(1).iter().map(one).collect()))
}

pub(super) fn mset(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len().is_multiple_of(2) {
        return Err(call.wrong_arity());
    }
    for (key, value) in call.pairs(1) {
        run.set(key, Value::string(value), None);
    }
    Ok(Reply::ok())
}

pub(super) fn msetnx(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() % 2 == 1 && call.pairs(1).any(|(key, _)| run.exists(key)) {
        return Ok(Reply::Integer(0));
    }
    mset(run, call)?;
    Ok(Reply::Integer(1))
}

pub(super) fn incr(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    add(run, call, 1)
}

pub(super) fn decr(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    add(run, call, -1)
}

pub(super) fn incrby(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    add(run, call, call.integer(2)?)
}

pub(super) fn decrby(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let amount = call
        .integer(2)?
        .checked_neg()
        .ok_or("ERR decrement would overflow")?;
    add(run, call, amount)
}

fn add(run: &mut Run<'_>, call: &Call<'_>, amount: i64) -> Answer {
    let old = match run.string(call.arg(1))? {
        Some(bytes) => number::parse_integer(bytes).ok_or(NOT_AN_INTEGER)?,
        None => 0,
    };
    let new = old.checked_add(amount).ok_or(OVERFLOW)?;
    run.save(call.arg(1), Value::string(new.to_string()));
    Ok(Reply::Integer(new))
}

pub(super) fn incrbyfloat(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let old = run.string(call.arg(1))?.map_or(&b"0"[..], |bytes| bytes);
    let sum = add_floats(old, NOT_A_FLOAT, call.arg(2))?;
    run.save(call.arg(1), Value::string(&sum));
    Ok(Reply::bulk(sum))
}

/// The sum as INCRBYFLOAT and HINCRBYFLOAT print it; the error is that of an old value which is no
/// number.
pub(super) fn add_floats(
    old: &[u8],
    error: &'static str,
    amount: &[u8],
) -> Result<String, Instead> {
    let old = long_double::parse(old).ok_or(error)?;
    let amount = long_double::parse(amount).ok_or(NOT_A_FLOAT)?;
    let sum = match (old, amount) {
        (Parsed::Finite(old), Parsed::Finite(amount)) => old.add(amount),
        _ => None,
    };
    sum.map(LongDouble::print)
        .ok_or_else(|| "ERR increment would produce NaN or Infinity".into())
}

//! Commands for keys of any type.

use super::call::{Answer, Call, SYNTAX, count};
use super::expiry;
use super::glob;
use super::reply::Reply;
use super::run::Run;
use super::value::{Bytes, Value};

pub(super) fn del(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(
        call.from(1).iter().filter(|key| run.remove(key)).count(),
    ))
}

/// EXISTS and TOUCH: a key that is named twice counts twice.
pub(super) fn exists(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(
        call.from(1).iter().filter(|key| run.exists(key)).count(),
    ))
}

pub(super) fn type_of(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(Reply::Status(
        run.value(call.arg(1))
            .map_or("none", Value::type_name)
            .to_owned(),
    ))
}

pub(super) fn rename(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (from, to) = (call.arg(1), call.arg(2));
    let state = expiry::existing(run, from)?.clone();
    if from != to {
        // A waiting command is woken by a key that comes into being, so the old one goes first; as
        // one fact, because nobody ever sees the key away.
        let replaces = run.exists(to);
        run.change(to, Some(state), run.cause);
        if replaces {
            run.note_ready(to);
        }
        run.remove(from);
    }
    Ok(Reply::ok())
}

pub(super) fn renamenx(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    expiry::existing(run, call.arg(1))?;
    if run.exists(call.arg(2)) {
        return Ok(Reply::Integer(0));
    }
    rename(run, call)?;
    Ok(Reply::Integer(1))
}

pub(super) fn copy(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (from, to) = (call.arg(1), call.arg(2));
    let mut replace = false;
    let mut other_database = false;
    let mut at = 3;
    while at < call.len() {
        if call.is(at, "REPLACE") {
            replace = true;
        } else if call.is(at, "DB") && at + 1 < call.len() {
            at += 1;
            match call.short_integer(at)? {
                0 => {}
                1..=15 => other_database = true,
                _ => return Err("ERR DB index is out of range".into()),
            }
        } else {
            return Err(SYNTAX.into());
        }
        at += 1;
    }
    if other_database {
        return Err("ERR Latchkey's store has only database 0".into());
    }
    if from == to {
        return Err("ERR source and destination objects are the same".into());
    }
    let Some(state) = run.state(from).cloned() else {
        return Ok(Reply::Integer(0));
    };
    let replaces = run.exists(to);
    if replaces && !replace {
        return Ok(Reply::Integer(0));
    }
    run.change(to, Some(state), run.cause);
    if replaces {
        run.note_ready(to);
    }
    Ok(Reply::Integer(1))
}

pub(super) fn keys(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let pattern = call.arg(1);
    let wanted = |key: &&Bytes| pattern == b"*" || glob::matches(pattern, key);
    Ok(Reply::Array(
        run.store
            .keyspace
            .iter()
            .map(|(key, _)| key)
            .filter(wanted)
            .map(Reply::bulk)
            .collect(),
    ))
}

pub(super) fn dbsize(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    Ok(count(run.store.keyspace.len()))
}

/// RANDOMKEY: the first key in byte order.
pub(super) fn randomkey(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    Ok(run
        .store
        .keyspace
        .iter()
        .next()
        .map_or(Reply::Nil, |(key, _)| Reply::bulk(key)))
}

/// FLUSHALL and FLUSHDB.
pub(super) fn flush(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() > 2 || (call.len() == 2 && !call.is(1, "SYNC") && !call.is(1, "ASYNC")) {
        return Err(SYNTAX.into());
    }
    let keys: Vec<Bytes> = run
        .store
        .keyspace
        .iter()
        .map(|(key, _)| key.clone())
        .collect();
    for key in keys {
        run.remove(&key);
    }
    Ok(Reply::ok())
}

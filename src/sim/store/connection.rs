//! What the store knows of a connection, and the commands that are about the connection or the
//! server rather than about keys.

use super::blocking::Waiting;
use super::call::{Answer, Call, count};
use super::ordered::Ascending;
use super::replication;
use super::reply::Reply;
use super::run::Run;
use super::transactions::Queue;

/// One connection's state; a fresh one is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Connection {
    /// The commands since MULTI.
    pub(super) queue: Option<Queue>,
    pub(super) watched: Ascending<Vec<u8>>,
    /// Whether a watched key was written since.
    pub(super) touched: bool,
    pub(super) channels: Ascending<Vec<u8>>,
    /// In the order in which they came.
    pub(super) patterns: Vec<Vec<u8>>,
    name: Vec<u8>,
}

impl Connection {
    pub(super) fn is_fresh(&self) -> bool {
        *self == Connection::default()
    }

    pub(super) fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }
}

/// A container such as SCRIPT without a subcommand; its arity asks for one, so this never answers.
pub(super) fn container(_: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Err(call.wrong_arity())
}

pub(super) fn ping(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() > 2 {
        return Err(call.wrong_arity());
    }
    let subscribed = run
        .connection_state()
        .is_some_and(|state| state.subscriptions() > 0);
    Ok(match (subscribed, call.len()) {
        (true, _) => Reply::Array(vec![Reply::bulk("pong"), Reply::bulk(call.arg(1))]),
        (false, 1) => Reply::Status("PONG".to_owned()),
        (false, _) => Reply::bulk(call.arg(1)),
    })
}

pub(super) fn echo(_: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(Reply::bulk(call.arg(1)))
}

pub(super) fn time(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    let (seconds, micros) = (run.now / 1000, run.now % 1000 * 1000);
    Ok(Reply::Array(vec![
        Reply::bulk(seconds.to_string()),
        Reply::bulk(micros.to_string()),
    ]))
}

pub(super) fn select(_: &mut Run<'_>, call: &Call<'_>) -> Answer {
    match call.short_integer(1)? {
        0 => Ok(Reply::ok()),
        1..=15 => Err("ERR Latchkey's store has only database 0".into()),
        _ => Err("ERR DB index is out of range".into()),
    }
}

pub(super) fn quit(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    run.store.disconnect(run.connection);
    Ok(Reply::ok())
}

pub(super) fn reset(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    run.store.disconnect(run.connection);
    Ok(Reply::Status("RESET".to_owned()))
}

/// WAIT: how many replicas have all that was written until the connection's last command; it waits until these are as many as it
/// asks for.
pub(super) fn wait(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if run.store.is_replica() {
        return Err("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.".into());
    }
    let replicas = call.integer(1)?;
    let timeout = super::blocking::milliseconds(call, 2)?;
    // Redis keeps the number of a waiting command in 32 bits; a larger one is cut.
    let have = replication::acknowledged(run.store, run.connection);
    let is_enough = i32::try_from(have).is_ok_and(|have| have >= replicas as i32);
    if replicas <= 0 || is_enough || run.depth > 0 {
        return Ok(count(have));
    }
    Waiting::for_replicas(timeout)
}

pub(super) fn client_id(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    Ok(Reply::Integer(i64::from(run.connection.0) + 1))
}

pub(super) fn client_getname(run: &mut Run<'_>, _: &Call<'_>) -> Answer {
    let name = run.connection_state().map(|state| &state.name);
    Ok(name
        .filter(|name| !name.is_empty())
        .map_or(Reply::Nil, Reply::bulk))
}

pub(super) fn client_setname(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if !call.arg(2).iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Err(
            "ERR Client names cannot contain spaces, newlines or special characters.".into(),
        );
    }
    run.store.connection(run.connection).name = call.arg(2).to_vec();
    Ok(Reply::ok())
}

//! The Redis-like store: what Redis 7.0 answers, byte for byte, as a pure value.
//!
//! A [`Store`] changes only by [`Store::apply`]: a command of a connection, time that passes, a
//! connection that goes, a key that is lost. What comes back are the replies and, in the order in
//! which they happened, the facts: keys that changed and commands that ran. The way of a command:
//!
//! ```text
//! StoreInput ── dispatch ── table ── handler (one file per data type) ── run ── keyspace
//!                  │                     │                                │
//!            transactions            scripting                    facts, watchers, waits
//! ```
//!
//! Time within the store is only what is left: every deadline is kept as remaining milliseconds and
//! [`expiry`] has the one rule by which it passes.
//!
//! ```text
//! SET k v PX 1000      PTTL 1000        PTTL 0, still there      gone
//! ──┼──────────────────────┼────────────────┼──────────────────────┼──▶
//!   0                      0              1000                   1001
//! ```
//!
//! Departures from Redis 7.0.15, all on purpose:
//! - Where Redis goes by the order of a hash table with a random seed (KEYS, SMEMBERS, large hashes),
//!   the order here is that of the bytes; where it draws at random (RANDOMKEY, SPOP, SRANDMEMBER,
//!   HRANDFIELD, ZRANDMEMBER), the first in that order is drawn.
//! - Keys go in the very millisecond in which they lapse, so DBSIZE never counts lapsed ones.
//! - A string holds at most a mebibyte (Redis: 512), the whole store four; beyond that it answers as
//!   Redis does at its limits (`proto-max-bulk-len`, `maxmemory`).
//! - One database; SELECT knows 0 to 15 by name and refuses all but 0.
//! - Some commands of Redis are not there; they say so instead of "unknown command".

mod arguments;
mod blocking;
mod call;
mod connection;
mod dispatch;
mod expiry;
mod glob;
mod hashes;
mod keys;
mod keyspace;
mod lists;
mod long_double;
pub mod lua;
mod number;
mod ordered;
mod publish;
pub mod replication;
pub mod reply;
mod run;
mod scan;
mod scripting;
mod sets;
mod sha1;
mod sorted_sets;
mod strings;
mod table;
mod transactions;
mod value;

use std::sync::Arc;

use super::ConnectionId;
use blocking::Wait;
use connection::Connection;
use keyspace::Keyspace;
use reply::Reply;
use run::Run;
use scripting::Scripts;

pub use arguments::{Argument, ArgumentError, quote_argument, split_arguments};
pub use dispatch::why_never;
pub use hashes::Hash;
pub use keyspace::KeyState;
pub use lists::List;
pub use sets::Set;
pub use sorted_sets::{Score, SortedSet};
pub use table::{Command, all_commands, command_of, find_command, left_out};
pub use value::{Bytes, Value};

/// One server with its keys, connections, blocked commands and script cache.
///
/// Two stores are equal when no further input can tell them apart; a clone shares what it holds and
/// copies on the first write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Store {
    keyspace: Keyspace,
    /// Only connections that differ from a fresh one, in the order of their ids.
    connections: Arc<Vec<(ConnectionId, Connection)>>,
    /// The blocked commands, the one that has waited longest first.
    waits: Arc<Vec<Wait>>,
    scripts: Scripts,
    /// How far the server's wall clock is ahead of the right time, in milliseconds.
    clock: i64,
    /// Whether it takes no writes but from its primary.
    is_replica: bool,
    /// Whether it has crashed, and answers nobody.
    is_down: bool,
    replication: Arc<replication::Replication>,
}

/// What can happen to a store.
#[derive(Clone, Copy, Debug)]
pub enum StoreInput<'a> {
    /// Time passes: lapses keys, ends blocked waits.
    Elapse {
        /// Milliseconds.
        ms: u64,
    },
    /// The server's wall clock jumps. Deadlines are times by this clock, also those that PX set, and so are the timeouts of
    /// blocked commands: forward, they come nearer and keys lapse; backward, they move away.
    ClockJump {
        /// Milliseconds; forward where positive.
        ms: i64,
    },
    /// One command of one connection.
    Command {
        /// The connection that sends it.
        connection: ConnectionId,
        /// The name of the command and its arguments.
        argv: &'a [Vec<u8>],
        /// The right time in milliseconds since the Unix epoch, from which the server's clock may have jumped away; only
        /// TIME, EXPIREAT, SET EXAT and the like read it.
        now: u64,
    },
    /// The connection is gone: its MULTI queue, WATCHes, subscriptions and blocked command go.
    Disconnect {
        /// The connection that goes.
        connection: ConnectionId,
    },
    /// A client has given a connection up while a request is under way on it: what the server knows of the connection goes on under
    /// another number.
    LeaveBehind {
        /// The connection that the client gives up.
        connection: ConnectionId,
        /// Its number from now on, which nobody has.
        left: ConnectionId,
    },
    /// The server crashes: every connection and the script cache are gone, and keys are only what is on its disk.
    Crash,
    /// The server starts again.
    Restart {
        /// Whether its disk has all that it had written, as with `appendfsync always`; otherwise it comes back empty.
        keeps_data: bool,
    },
    /// It is the primary of these replicas from now on, which have all that it has.
    Lead {
        /// Numbers for them.
        replicas: &'a [usize],
    },
    /// It is a replica from now on, and takes no writes from anybody else.
    Follow,
    /// A replica becomes as its primary is (a full synchronisation).
    Synchronise {
        /// The primary.
        primary: &'a Store,
    },
    /// A replica receives what its primary did.
    Replicate {
        /// One entry of the primary's log.
        effects: &'a replication::Effects,
        /// How far the primary's clock is ahead of this one, in milliseconds.
        ahead: i64,
    },
    /// A primary learns how much more of its log a replica has.
    Acknowledge {
        /// Which replica.
        replica: usize,
        /// How many entries.
        entries: usize,
    },
    /// A primary learns that a replica is gone.
    Lose {
        /// Which replica.
        replica: usize,
    },
    /// A key is evicted, as `maxmemory-policy` says when memory is full.
    Evict {
        /// The key; where it does not exist, nothing happens and [`StoreOutput::refused`] says so.
        key: &'a [u8],
    },
    /// A key's deadline passes now, however far away it was.
    ExpireNow {
        /// The key; without a deadline, nothing happens and [`StoreOutput::refused`] says so.
        key: &'a [u8],
    },
    /// The key is lost (eviction, failover, operator).
    Wipe {
        /// The key; where it does not exist, nothing happens and [`StoreOutput::refused`] says so.
        key: &'a [u8],
    },
}

/// What came of one input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StoreOutput {
    /// The replies in the order in which they were sent, also those to other connections: published
    /// messages and the ends of their blocked commands.
    pub replies: Vec<(ConnectionId, Reply)>,
    /// What happened, in order; the key facts of a command stand before its command fact.
    pub facts: Vec<StoreFact>,
    /// Why nothing happened, where the input could not be applied.
    pub refused: Option<&'static str>,
}

/// Something that happened in the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StoreFact {
    /// A command was answered.
    Command {
        /// The connection that sent it.
        connection: ConnectionId,
        /// 0 when it was sent as such; one more for each script or EXEC that it ran within.
        depth: u8,
        /// The name and the arguments as sent.
        argv: Vec<Vec<u8>>,
        /// The reply; the last one, of a command with several.
        reply: Reply,
    },
    /// A key was written: value or deadline, also when both are as before.
    Key {
        /// The key.
        key: Vec<u8>,
        /// What it held before; `None` when it was not there.
        before: Option<KeyState>,
        /// What it holds now; `None` when it is gone.
        after: Option<KeyState>,
        /// Why.
        cause: Cause,
    },
    /// A message was published.
    Published {
        /// The channel.
        channel: Vec<u8>,
        /// The message.
        message: Vec<u8>,
        /// How many connections received it.
        receivers: usize,
    },
    /// A script wrote to the server's log with redis.log.
    Log {
        /// 0 debug, 1 verbose, 2 notice, 3 warning.
        level: i64,
        /// The text.
        message: Vec<u8>,
    },
}

/// Why a key changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A command wrote it; the name in upper case.
    Command(&'static str),
    /// Its deadline passed.
    Lapse,
    /// Its deadline passed as the server's clock jumped forward.
    ClockJump,
    /// Its deadline was made to pass, by [`StoreInput::ExpireNow`].
    ExpiredNow,
    /// It was lost, by [`StoreInput::Wipe`].
    Wiped,
    /// It was evicted.
    Evicted,
    /// The server came back without its data.
    DataLost,
    /// The primary had written it.
    Replicated,
}

/// The digest by which EVALSHA names a script: SHA-1 of its text as 40 hexadecimal digits in lower case (Redis documentation, "Scripting
/// with Lua").
pub fn script_sha1(source: &[u8]) -> String {
    sha1::hex_digest(source)
}

impl Store {
    /// Applies one input; the same store and input give the same store and output, always.
    pub fn apply(&mut self, input: StoreInput<'_>) -> StoreOutput {
        let mut output = StoreOutput::default();
        match input {
            StoreInput::Elapse { ms } => {
                replication::pass(self, ms);
                let mut run = Run::new(self, &mut output);
                expiry::elapse(&mut run, ms, Cause::Lapse);
                replication::log(&mut run, None);
            }
            StoreInput::ClockJump { ms } => {
                self.clock += ms;
                replication::shift(self, &|remaining| remaining.checked_add_signed(-ms));
                let mut run = Run::new(self, &mut output);
                expiry::clock_jumps(&mut run, ms);
                replication::log(&mut run, None);
            }
            StoreInput::Command {
                connection,
                argv,
                now,
            } => {
                let mut run = Run::new(self, &mut output);
                run.connection = connection;
                run.now = now.saturating_add_signed(run.store.clock);
                dispatch::command(&mut run, argv);
                blocking::serve_ready(&mut run);
                replication::log(&mut run, Some(connection));
            }
            StoreInput::Crash => self.crash(),
            StoreInput::Restart { keeps_data } => {
                self.is_down = false;
                if !keeps_data {
                    let mut run = Run::new(self, &mut output);
                    let keys: Vec<Vec<u8>> =
                        run.store.keys().map(|(key, _)| key.to_vec()).collect();
                    for key in keys {
                        run.change(&key, None, Cause::DataLost);
                    }
                    replication::log(&mut run, None);
                }
            }
            StoreInput::Lead { replicas } => replication::lead(self, replicas),
            StoreInput::Follow => replication::follow(&mut Run::new(self, &mut output)),
            StoreInput::Synchronise { primary } => {
                replication::synchronise(&mut Run::new(self, &mut output), primary);
            }
            StoreInput::Replicate { effects, ahead } => {
                replication::replicate(&mut Run::new(self, &mut output), effects, ahead);
            }
            StoreInput::Acknowledge { replica, entries } => {
                replication::acknowledge(&mut Run::new(self, &mut output), replica, entries);
            }
            StoreInput::Lose { replica } => replication::lose(self, replica),
            StoreInput::Disconnect { connection } => self.disconnect(connection),
            StoreInput::LeaveBehind { connection, left } => self.leave_behind(connection, left),
            StoreInput::ExpireNow { key } => {
                let mut run = Run::new(self, &mut output);
                expiry::expire_now(&mut run, key);
                replication::log(&mut run, None);
            }
            StoreInput::Wipe { key } => self.remove(key, Cause::Wiped, &mut output),
            StoreInput::Evict { key } => self.remove(key, Cause::Evicted, &mut output),
        }
        self.forget_fresh_connections();
        output
    }

    fn remove(&mut self, key: &[u8], cause: Cause, output: &mut StoreOutput) {
        let mut run = Run::new(self, output);
        let was_there = run.change(key, None, cause);
        replication::log(&mut run, None);
        if !was_there {
            output.refused = Some("there is no such key");
        }
    }

    fn crash(&mut self) {
        self.is_down = true;
        self.connections = Arc::default();
        self.waits = Arc::default();
        self.scripts = Scripts::default();
    }

    /// Whether it has crashed, and answers nobody.
    pub fn is_down(&self) -> bool {
        self.is_down
    }

    /// The connections whose commands wait, the one that has waited longest first.
    pub fn waiting(&self) -> Vec<ConnectionId> {
        self.waits.iter().map(|wait| wait.connection).collect()
    }

    /// The command that the connection waits in, with its arguments; `None`: it does not wait.
    pub fn waits_in(&self, connection: ConnectionId) -> Option<&[Vec<u8>]> {
        let mut waits = self.waits.iter();
        let wait = waits.find(|wait| wait.connection == connection)?;
        Some(&wait.argv)
    }

    /// How far its wall clock is ahead of the right time, in milliseconds.
    pub fn clock(&self) -> i64 {
        self.clock
    }

    /// Forgets how far its clock has jumped: for a search through a scenario in which nothing reads it, so that stores that nothing can
    /// tell apart are equal.
    pub fn forget_clock(&mut self) {
        self.clock = 0;
    }

    /// Every key and its state, in byte order.
    pub fn keys(&self) -> impl Iterator<Item = (&[u8], KeyState)> {
        self.keyspace
            .iter()
            .map(|(key, state)| (&key[..], state.clone()))
    }

    /// The state of one key; `None` where it does not exist.
    pub fn get(&self, key: &[u8]) -> Option<KeyState> {
        self.keyspace.get(key).cloned()
    }

    /// The store with other names in its strings: a string that `rename` knows is replaced. `None` where that is not all that there
    /// is to it: a name is a key or within a collection, a connection has a transaction, a subscription or a wait, or there are
    /// replicas.
    pub fn renamed(&self, rename: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Store> {
        let is_alone = *self.replication == replication::Replication::default();
        if !self.connections.is_empty() || !self.waits.is_empty() || !is_alone {
            return None;
        }
        let mut store = self.clone();
        for (key, state) in self.keyspace.iter() {
            let renamed = state.value.as_string().and_then(rename);
            let is_within = state.value.as_string().is_none()
                && state
                    .value
                    .parts()
                    .iter()
                    .any(|part| rename(part).is_some());
            if is_within || rename(key).is_some() {
                return None;
            }
            if let Some(renamed) = renamed {
                let state = KeyState {
                    value: Value::string(renamed),
                    remaining: state.remaining,
                };
                store.keyspace.replace(key, Some(state));
            }
        }
        Some(store)
    }

    /// The smallest remaining time in milliseconds, of keys and of blocked commands; when one more
    /// than that has passed, something lapses.
    pub fn next_deadline(&self) -> Option<u64> {
        let waits = self.waits.iter().filter_map(|wait| wait.remaining).min();
        self.keyspace.next_deadline().into_iter().chain(waits).min()
    }

    /// Whether any command waits.
    pub fn has_waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// The blocked command of a connection, as it was sent; `None` where it waits for nothing.
    pub fn blocked(&self, connection: ConnectionId) -> Option<&[Vec<u8>]> {
        self.waits
            .iter()
            .find(|wait| wait.connection == connection)
            .map(|wait| &wait.argv[..])
    }

    /// The commands that a connection has queued since MULTI; `None` outside of a transaction.
    pub fn queued(&self, connection: ConnectionId) -> Option<&[Vec<Vec<u8>>]> {
        self.connection_state(connection)?
            .queue
            .as_ref()
            .map(|queue| &queue.commands[..])
    }

    /// The keys that a connection watches, and whether one of them has been touched since.
    pub fn watched(&self, connection: ConnectionId) -> (Vec<&[u8]>, bool) {
        match self.connection_state(connection) {
            Some(state) => (
                state.watched.iter().map(Vec::as_slice).collect(),
                state.touched,
            ),
            None => (Vec::new(), false),
        }
    }

    fn disconnect(&mut self, connection: ConnectionId) {
        if self.connection_state(connection).is_some() {
            Arc::make_mut(&mut self.connections).retain(|(id, _)| *id != connection);
        }
        if self.waits.iter().any(|wait| wait.connection == connection) {
            Arc::make_mut(&mut self.waits).retain(|wait| wait.connection != connection);
        }
    }

    fn leave_behind(&mut self, connection: ConnectionId, left: ConnectionId) {
        if let Ok(place) = self.connection_place(connection) {
            let connections = Arc::make_mut(&mut self.connections);
            let (_, state) = connections.remove(place);
            let place = connections.partition_point(|(id, _)| *id < left);
            connections.insert(place, (left, state));
        }
        if self.waits.iter().any(|wait| wait.connection == connection) {
            for wait in Arc::make_mut(&mut self.waits) {
                if wait.connection == connection {
                    wait.connection = left;
                }
            }
        }
    }

    fn connection_place(&self, connection: ConnectionId) -> Result<usize, usize> {
        self.connections
            .binary_search_by(|(id, _)| id.cmp(&connection))
    }

    fn connection_state(&self, connection: ConnectionId) -> Option<&Connection> {
        let place = self.connection_place(connection).ok()?;
        self.connections.get(place).map(|(_, state)| state)
    }

    fn connection(&mut self, connection: ConnectionId) -> &mut Connection {
        let place = self.connection_place(connection);
        let connections = Arc::make_mut(&mut self.connections);
        if let Err(place) = place {
            connections.insert(place, (connection, Connection::default()));
        }
        let (Ok(place) | Err(place)) = place;
        &mut connections[place].1
    }

    fn forget_fresh_connections(&mut self) {
        if self
            .connections
            .iter()
            .any(|(_, connection)| connection.is_fresh())
        {
            Arc::make_mut(&mut self.connections).retain(|(_, connection)| !connection.is_fresh());
        }
    }
}

#[cfg(test)]
mod tests;

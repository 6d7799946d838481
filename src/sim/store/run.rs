//! One input on its way through the store: every read and every write of a key passes here.
//!
//! [`Run::change`] is the only place that writes a key. It records the fact, tells the connections
//! that watch the key, and notes the key for those that wait for it.

use std::sync::Arc;

use super::call::{Instead, WRONG_TYPE};
use super::hashes::Hash;
use super::keyspace::KeyState;
use super::lists::List;
use super::reply::Reply;
use super::sets::Set;
use super::sorted_sets::SortedSet;
use super::value::{Bytes, Value};
use super::{Cause, ConnectionId, Store, StoreFact, StoreOutput};

/// The store's `maxmemory`.
const MEMORY: usize = 4 << 20;

/// How much one input may tell in all: the facts of a script's commands keep every version of a key
/// and every reply.
const TOLD: usize = 32 << 20;

pub(super) struct Run<'a> {
    pub(super) store: &'a mut Store,
    pub(super) output: &'a mut StoreOutput,
    pub(super) connection: ConnectionId,
    pub(super) now: u64,
    /// The command that runs, for the facts of the keys it writes.
    pub(super) cause: Cause,
    /// How many scripts and EXECs the command runs within.
    pub(super) depth: u8,
    /// Keys that came into being and that a blocked command may wait for, oldest first.
    pub(super) ready: Vec<Bytes>,
    told: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(store: &'a mut Store, output: &'a mut StoreOutput) -> Run<'a> {
        Run {
            store,
            output,
            connection: ConnectionId(0),
            now: 0,
            cause: Cause::Lapse,
            depth: 0,
            ready: Vec::new(),
            told: 0,
        }
    }

    /// Whether the store holds more than it may.
    pub(super) fn memory_is_full(&self) -> bool {
        self.store.keyspace.used() > MEMORY
    }

    /// Whether this input has told more than one may; then it runs no further commands.
    pub(super) fn told_too_much(&self) -> bool {
        self.told > TOLD
    }

    /// Records something that happened.
    pub(super) fn tell(&mut self, fact: StoreFact) {
        // More than it takes, because the command took time, too.
        const FACT: usize = 1024;
        self.told += FACT
            + match &fact {
                StoreFact::Command { argv, reply, .. } => {
                    argv.iter().map(|text| 24 + text.len()).sum::<usize>() + cost(reply)
                }
                StoreFact::Key { key, after, .. } => {
                    key.len() + after.as_ref().map_or(0, |state| state.value.cost())
                }
                StoreFact::Published {
                    channel, message, ..
                } => channel.len() + message.len(),
                StoreFact::Log { message, .. } => message.len(),
            };
        self.output.facts.push(fact);
    }

    pub(super) fn state(&self, key: &[u8]) -> Option<&KeyState> {
        self.store.keyspace.get(key)
    }

    pub(super) fn exists(&self, key: &[u8]) -> bool {
        self.state(key).is_some()
    }

    pub(super) fn value(&self, key: &[u8]) -> Option<&Value> {
        self.state(key).map(|state| &state.value)
    }

    pub(super) fn remaining(&self, key: &[u8]) -> Option<u64> {
        self.state(key)?.remaining
    }

    pub(super) fn string(&self, key: &[u8]) -> Result<Option<&Bytes>, Instead> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn list(&self, key: &[u8]) -> Result<Option<&Arc<List>>, Instead> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::List(list)) => Ok(Some(list)),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn hash(&self, key: &[u8]) -> Result<Option<&Arc<Hash>>, Instead> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Hash(hash)) => Ok(Some(hash)),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn set_members(&self, key: &[u8]) -> Result<Option<&Arc<Set>>, Instead> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Set(set)) => Ok(Some(set)),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn sorted_set(&self, key: &[u8]) -> Result<Option<&Arc<SortedSet>>, Instead> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::SortedSet(set)) => Ok(Some(set)),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    /// Writes a key with this deadline, in milliseconds from now.
    pub(super) fn set(&mut self, key: &[u8], value: Value, remaining: Option<u64>) {
        self.change(key, Some(KeyState { value, remaining }), self.cause);
    }

    /// Writes a key's value and leaves its deadline; a value with nothing left in it takes the key
    /// away.
    pub(super) fn save(&mut self, key: &[u8], value: Value) {
        if value.is_empty() {
            self.remove(key);
        } else {
            let remaining = self.remaining(key);
            self.set(key, value, remaining);
        }
    }

    /// Takes a key away and says whether it was there.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        self.change(key, None, self.cause)
    }

    /// Puts the key in this state and says whether there is anything to tell.
    pub(super) fn change(&mut self, key: &[u8], after: Option<KeyState>, cause: Cause) -> bool {
        let before = self.store.keyspace.replace(key, after.clone());
        if before.is_none()
            && matches!(
                after,
                Some(KeyState {
                    value: Value::List(_) | Value::SortedSet(_),
                    ..
                })
            )
        {
            self.note_ready(key);
        }
        let changed = before.is_some() || after.is_some();
        if changed {
            self.touch(key);
            self.tell(StoreFact::Key {
                key: key.to_vec(),
                before,
                after,
                cause,
            });
        }
        changed
    }

    /// What is known of the connection; `None` while it is as fresh.
    pub(super) fn connection_state(&self) -> Option<&super::Connection> {
        self.store.connection_state(self.connection)
    }

    /// Marks the connections that watch the key: their EXEC will not run.
    pub(super) fn touch(&mut self, key: &[u8]) {
        let watches = |connection: &super::Connection| {
            !connection.touched && connection.watched.contains(key)
        };
        if !self
            .store
            .connections
            .iter()
            .any(|(_, connection)| watches(connection))
        {
            return;
        }
        for (_, connection) in Arc::make_mut(&mut self.store.connections) {
            connection.touched |= connection.watched.contains(key);
        }
    }

    /// Notes a key that came into being for the commands that wait for it.
    pub(super) fn note_ready(&mut self, key: &[u8]) {
        if self.store.waits.iter().any(|wait| wait.waits_for(key))
            && !self.ready.iter().any(|ready| ready[..] == *key)
        {
            self.ready.push(Bytes::from(key));
        }
    }
}

/// About how many bytes a reply takes.
fn cost(reply: &Reply) -> usize {
    const REPLY: usize = 32;
    REPLY
        + match reply {
            Reply::Status(text) | Reply::Error(text) => text.len(),
            Reply::Bulk(bytes) => bytes.len(),
            Reply::Integer(_) | Reply::Nil => 0,
            Reply::Array(items) => items.iter().map(cost).sum(),
        }
}

//! What a primary has written and its replicas have not: the log, and what WAIT counts.
//!
//! Replication is asynchronous (Redis documentation, "Redis replication"): the primary answers at once, and what the command wrote
//! follows later. Here it follows when an action says so. What is sent are effects, as Redis sends them: the keys that a command or a
//! script wrote, with their deadlines, and the deletion of keys that lapsed.
//!
//! ```text
//! log      [SET a] [INCR b] [DEL a]
//!             ▲        ▲
//! replica 1 ──┘        └── the last command of connection 7
//! ```
//!
//! A connection waits for the log as it was after its last command, whether that wrote or not (`c->woff`).

use std::sync::Arc;

use super::blocking;
use super::expiry;
use super::keyspace::KeyState;
use super::run::Run;
use super::{Cause, ConnectionId, Store, StoreFact};

/// What one command, or time, did to keys: one entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Effects {
    /// Whose command it was; `None`: time or an action.
    pub origin: Option<ConnectionId>,
    /// The keys in the order in which they were written; `None`: deleted. Deadlines as what is left of them by the primary's clock.
    keys: Vec<(Vec<u8>, Option<KeyState>)>,
}

/// What a primary knows of its replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Replication {
    /// What some replica lacks, the oldest first.
    log: Vec<Effects>,
    /// The replicas.
    replicas: Vec<Replica>,
    /// Connections that have sent a command since the beginning of the log, and how long the log was after their last one.
    marks: Vec<(ConnectionId, usize)>,
}

/// What a primary knows of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Replica {
    number: usize,
    /// How much of the log it has.
    has: usize,
    /// Whether it is there: one that has crashed counts for no WAIT until it has synchronised again.
    is_connected: bool,
}

impl Replication {
    fn replica(&mut self, replica: usize) -> Option<&mut Replica> {
        self.replicas
            .iter_mut()
            .find(|other| other.number == replica)
    }

    /// Forgets what all replicas have.
    fn trim(&mut self) {
        let common = self.replicas.iter().map(|replica| replica.has).min();
        let common = common.unwrap_or(self.log.len());
        self.log.drain(..common.min(self.log.len()));
        for replica in &mut self.replicas {
            replica.has -= common;
        }
        self.marks.retain_mut(|(_, mark)| {
            *mark = mark.saturating_sub(common);
            *mark > 0
        });
    }
}

impl Store {
    /// What this replica of the store has not yet, the oldest first.
    pub fn lacking(&self, replica: usize) -> &[Effects] {
        let replication = &self.replication;
        let known = replication
            .replicas
            .iter()
            .find(|other| other.number == replica);
        known.map_or(&[], |known| replication.log.get(known.has..).unwrap_or(&[]))
    }

    /// Whether this replica of the store has gone since it last heard of it.
    pub fn has_lost(&self, replica: usize) -> bool {
        let is_lost = |other: &&Replica| other.number == replica && !other.is_connected;
        self.replication
            .replicas
            .iter()
            .any(|other| is_lost(&other))
    }

    /// Whether it takes no writes but from its primary.
    pub fn is_replica(&self) -> bool {
        self.is_replica
    }
}

/// Notes what an input wrote. After a command, its connection waits for all that has been written until then.
pub(super) fn log(run: &mut Run<'_>, origin: Option<ConnectionId>) {
    if run.store.replication.replicas.is_empty() {
        return;
    }
    let keys: Vec<(Vec<u8>, Option<KeyState>)> = run
        .output
        .facts
        .iter()
        .filter_map(|fact| match fact {
            StoreFact::Key { key, after, .. } => Some((key.clone(), after.clone())),
            _ => None,
        })
        .collect();
    let replication = &mut run.store.replication;
    if keys.is_empty() && (origin.is_none() || replication.log.is_empty()) {
        return;
    }
    let replication = Arc::make_mut(replication);
    if !keys.is_empty() {
        replication.log.push(Effects { origin, keys });
    }
    let Some(origin) = origin else { return };
    let is_waiting = run.store.waits.iter().any(|wait| wait.connection == origin);
    if !is_waiting {
        let end = replication.log.len();
        replication.marks.retain(|(other, _)| *other != origin);
        replication.marks.push((origin, end));
        crate::sorted::sort(&mut replication.marks);
    }
}

/// How many replicas have all that a connection waits for.
pub(super) fn acknowledged(store: &Store, connection: ConnectionId) -> usize {
    let replication = &store.replication;
    let mark = replication
        .marks
        .iter()
        .find(|(other, _)| *other == connection);
    let mark = mark.map_or(0, |(_, mark)| *mark);
    let has_it = |replica: &&Replica| replica.is_connected && replica.has >= mark;
    replication.replicas.iter().filter(has_it).count()
}

/// A replica has received so many more entries of the log.
pub(super) fn acknowledge(run: &mut Run<'_>, replica: usize, entries: usize) {
    let replication = Arc::make_mut(&mut run.store.replication);
    let end = replication.log.len();
    if let Some(replica) = replication.replica(replica) {
        replica.has = (replica.has + entries).min(end);
        replica.is_connected = true;
    }
    blocking::serve_acknowledged(run);
    Arc::make_mut(&mut run.store.replication).trim();
}

/// A replica is gone.
pub(super) fn lose(store: &mut Store, replica: usize) {
    if let Some(replica) = Arc::make_mut(&mut store.replication).replica(replica) {
        replica.is_connected = false;
    }
}

/// Does what a primary did. Deadlines are times by the primary's clock, which may be ahead of this one's by `ahead` milliseconds.
pub(super) fn replicate(run: &mut Run<'_>, effects: &Effects, ahead: i64) {
    for (key, after) in &effects.keys {
        write(run, key, after.clone(), ahead);
    }
}

fn write(run: &mut Run<'_>, key: &[u8], after: Option<KeyState>, ahead: i64) {
    let after = after.and_then(|mut state| {
        if let Some(remaining) = state.remaining {
            state.remaining = Some(remaining.checked_add_signed(ahead)?);
        }
        Some(state)
    });
    if run.state(key) != after.as_ref() {
        run.change(key, after, Cause::Replicated);
    }
}

/// Becomes as its primary is.
pub(super) fn synchronise(run: &mut Run<'_>, primary: &Store) {
    let ahead = primary.clock - run.store.clock;
    let own: Vec<Vec<u8>> = run.store.keys().map(|(key, _)| key.to_vec()).collect();
    for key in own {
        if primary.keyspace.get(&key).is_none() {
            write(run, &key, None, ahead);
        }
    }
    for (key, state) in primary.keys() {
        write(run, key, Some(state), ahead);
    }
}

/// Becomes the primary of these replicas, which have all that it has.
pub(super) fn lead(store: &mut Store, replicas: &[usize]) {
    store.is_replica = false;
    store.replication = Arc::new(Replication {
        replicas: replicas
            .iter()
            .map(|number| Replica {
                number: *number,
                has: 0,
                is_connected: true,
            })
            .collect(),
        ..Replication::default()
    });
}

/// Becomes a replica: who waits is told so, as `disconnectOrRedirectAllBlockedClients` does.
pub(super) fn follow(run: &mut Run<'_>) {
    run.store.is_replica = true;
    run.store.replication = Arc::default();
    blocking::interrupt_all(
        run,
        "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
    );
}

/// Lets time pass for what is in the log: a key whose deadline has passed is gone by the time that it arrives.
pub(super) fn shift(store: &mut Store, after: &dyn Fn(u64) -> Option<u64>) {
    let has_deadline = |(_, state): &(Vec<u8>, Option<KeyState>)| {
        state
            .as_ref()
            .is_some_and(|state| state.remaining.is_some())
    };
    let log = &store.replication.log;
    if !log.iter().any(|entry| entry.keys.iter().any(has_deadline)) {
        return;
    }
    let log = &mut Arc::make_mut(&mut store.replication).log;
    for (_, state) in log.iter_mut().flat_map(|entry| &mut entry.keys) {
        if let Some(remaining) = state.as_ref().and_then(|state| state.remaining) {
            match (after(remaining), &mut *state) {
                (Some(left), Some(state)) => state.remaining = Some(left),
                _ => *state = None,
            }
        }
    }
}

/// Lets milliseconds pass for what is in the log.
pub(super) fn pass(store: &mut Store, ms: u64) {
    shift(store, &|remaining| expiry::after(remaining, ms));
}

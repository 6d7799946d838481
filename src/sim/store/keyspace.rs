//! The keys: what each holds and how long it has left, and how much memory all of them take.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::expiry;
use super::value::{Bytes, Value};

/// What a user can see of one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyState {
    /// The value; a clone shares the contents.
    pub value: Value,
    /// Milliseconds until the deadline, as PTTL prints them (at 0 the key is still there); `None`
    /// without a deadline.
    pub remaining: Option<u64>,
}

/// All keys in byte order; cheap to clone, copied on the first write after that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Keyspace {
    keys: Arc<BTreeMap<Bytes, KeyState>>,
    /// The cost of all keys and values, always the sum over `keys`.
    used: usize,
}

impl Keyspace {
    pub(super) fn get(&self, key: &[u8]) -> Option<&KeyState> {
        self.keys.get(key)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// All keys, in byte order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Bytes, &KeyState)> {
        self.keys.iter()
    }

    /// Puts the key's state in place, or takes the key away, and gives back the state before.
    pub(super) fn replace(&mut self, key: &[u8], after: Option<KeyState>) -> Option<KeyState> {
        if after.is_none() && !self.keys.contains_key(key) {
            return None;
        }
        let added = after.as_ref().map_or(0, |state| cost(key, state));
        let keys = Arc::make_mut(&mut self.keys);
        let before = match after {
            Some(state) => keys.insert(Bytes::from(key), state),
            None => keys.remove(key),
        };
        let removed = before.as_ref().map_or(0, |state| cost(key, state));
        self.used = self.used - removed + added;
        before
    }

    /// The smallest remaining time of all keys.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        self.keys.values().filter_map(|state| state.remaining).min()
    }

    /// The keys whose deadline lies behind when `ms` milliseconds have passed, with their remaining
    /// time now, in byte order.
    pub(super) fn lapsing(&self, ms: u64) -> Vec<(u64, Bytes)> {
        self.keys
            .iter()
            .filter_map(|(key, state)| Some((state.remaining?, key.clone())))
            .filter(|(remaining, _)| expiry::after(*remaining, ms).is_none())
            .collect()
    }

    /// Lets `ms` milliseconds pass for the keys that live on.
    pub(super) fn pass(&mut self, ms: u64) {
        if ms > 0 {
            self.shift(&|remaining| expiry::after(remaining, ms).unwrap_or(0));
        }
    }

    /// Gives every key that has a deadline another one.
    pub(super) fn shift(&mut self, after: &dyn Fn(u64) -> u64) {
        if self.next_deadline().is_none() {
            return;
        }
        for state in Arc::make_mut(&mut self.keys).values_mut() {
            state.remaining = state.remaining.map(after);
        }
    }
}

fn cost(key: &[u8], state: &KeyState) -> usize {
    const ENTRY: usize = 64;
    ENTRY + key.len() + state.value.cost()
}

//! What a key can hold: one variant per data type, each cheap to clone.

use std::sync::Arc;

use super::hashes::Hash;
use super::lists::List;
use super::sets::Set;
use super::sorted_sets::SortedSet;

/// A string of any bytes, shared between the worlds that hold it.
pub type Bytes = Arc<[u8]>;

/// The value of a key; a clone shares the contents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A string, as SET makes it.
    String(Bytes),
    /// A list, head first.
    List(Arc<List>),
    /// A hash of fields and values.
    Hash(Arc<Hash>),
    /// A set of members.
    Set(Arc<Set>),
    /// A sorted set of members with scores.
    SortedSet(Arc<SortedSet>),
}

impl Value {
    /// A string value with a copy of these bytes.
    pub fn string(bytes: impl AsRef<[u8]>) -> Value {
        Value::String(Arc::from(bytes.as_ref()))
    }

    /// The bytes of a string; `None` for every other type.
    pub fn as_string(&self) -> Option<&[u8]> {
        match self {
            Value::String(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The type's name as the command TYPE prints it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::String(_) => "string",
            Value::List(_) => "list",
            Value::Hash(_) => "hash",
            Value::Set(_) => "set",
            Value::SortedSet(_) => "zset",
        }
    }

    /// The parts of the value in the order in which the store shows them: the string itself; a
    /// list's elements; a hash's fields and values in turn; a set's members; a sorted set's members
    /// and scores in turn.
    pub fn parts(&self) -> Vec<Bytes> {
        match self {
            Value::String(bytes) => vec![bytes.clone()],
            Value::List(list) => list.iter().cloned().collect(),
            Value::Hash(hash) => hash
                .iter()
                .flat_map(|(field, value)| [field.clone(), value.clone()])
                .collect(),
            Value::Set(set) => set.members(),
            Value::SortedSet(set) => set
                .iter()
                .flat_map(|(score, member)| [member.clone(), score.print().into()])
                .collect(),
        }
    }

    /// Whether nothing is left, so that the key must go; a string may be empty and stay.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Value::String(_) => false,
            Value::List(list) => list.is_empty(),
            Value::Hash(hash) => hash.is_empty(),
            Value::Set(set) => set.is_empty(),
            Value::SortedSet(set) => set.is_empty(),
        }
    }

    /// About how many bytes the value takes, for the store's memory limit.
    pub(super) fn cost(&self) -> usize {
        const PART: usize = 16;
        match self {
            Value::String(bytes) => bytes.len(),
            Value::List(list) => list.iter().map(|element| PART + element.len()).sum(),
            Value::Hash(hash) => hash
                .iter()
                .map(|(field, value)| 2 * PART + field.len() + value.len())
                .sum(),
            Value::Set(set) => set.cost(),
            Value::SortedSet(set) => set.iter().map(|(_, member)| 2 * PART + member.len()).sum(),
        }
    }
}

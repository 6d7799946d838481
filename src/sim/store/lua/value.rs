//! What a variable can hold: small, copied values; everything with identity lives in the [heap](super::heap)
//! and is named by its number there.

/// A string's number in the heap together with its hash, so that a table finds its place without the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Str {
    pub id: u32,
    pub hash: u32,
}

/// One Lua value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Nil,
    Boolean(bool),
    /// `cjson.null`: the only light userdata that Redis hands out.
    Null,
    Number(f64),
    String(Str),
    Table(u32),
    Function(u32),
    Thread(u32),
    /// The key of a table entry that was emptied and whose key has been collected since: it matches
    /// nothing, and only keeps `next` going.
    Dead(u32),
}

impl Value {
    pub fn is_nil(self) -> bool {
        matches!(self, Value::Nil)
    }

    /// Everything but nil and false.
    pub fn truthy(self) -> bool {
        !matches!(self, Value::Nil | Value::Boolean(false))
    }

    /// Equal without asking a metamethod.
    pub fn raw_equals(self, other: Value) -> bool {
        match (self, other) {
            (Value::Nil, Value::Nil) | (Value::Null, Value::Null) => true,
            (Value::Boolean(a), Value::Boolean(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::String(a), Value::String(b)) => a.id == b.id,
            (Value::Table(a), Value::Table(b))
            | (Value::Function(a), Value::Function(b))
            | (Value::Thread(a), Value::Thread(b)) => a == b,
            _ => false,
        }
    }

    /// The type's name as `type` gives it.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Nil | Value::Dead(_) => "nil",
            Value::Boolean(_) => "boolean",
            Value::Null => "userdata",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Table(_) => "table",
            Value::Function(_) => "function",
            Value::Thread(_) => "thread",
        }
    }

    /// The number in the heap, for what can be collected.
    pub fn collectable(self) -> Option<u32> {
        match self {
            Value::String(s) => Some(s.id),
            Value::Table(id) | Value::Function(id) | Value::Thread(id) => Some(id),
            _ => None,
        }
    }
}

/// Lua 5.1's hash of a string; as Redis builds it, every byte of a long one is looked at.
pub(super) fn hash_bytes(bytes: &[u8]) -> u32 {
    let mut hash = bytes.len() as u32;
    for byte in bytes.iter().rev() {
        let mixed = (hash << 5)
            .wrapping_add(hash >> 2)
            .wrapping_add(u32::from(*byte));
        hash ^= mixed;
    }
    hash
}

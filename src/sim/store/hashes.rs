//! Hashes: fields and values.
//!
//! A small hash keeps its fields in the order in which they came, as Redis's listpack does; one with
//! more than 512 fields, or with a field or value of more than 64 bytes, becomes a hash table and
//! stays one: then the order is that of the bytes (in Redis, of a random seed).

use std::sync::Arc;

use super::call::{Answer, Call, Instead, NOT_A_FLOAT, OVERFLOW, SYNTAX, count};
use super::long_double::{self, Parsed};
use super::number;
use super::reply::Reply;
use super::run::Run;
use super::strings::add_floats;
use super::value::{Bytes, Value};

/// Redis's `hash-max-listpack-entries` and `hash-max-listpack-value`.
const PACKED_FIELDS: usize = 512;
const PACKED_BYTES: usize = 64;

/// A hash's fields and values, in the order in which the store shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hash {
    fields: Vec<(Bytes, Bytes)>,
    /// Whether it has become a hash table; then the fields are in byte order.
    table: bool,
}

impl Hash {
    /// Fields and values, in the order in which HGETALL shows them.
    pub fn iter(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        self.fields.iter().map(|(field, value)| (field, value))
    }

    /// The value of a field.
    pub fn get(&self, field: &[u8]) -> Option<&Bytes> {
        self.place(field)
            .ok()
            .and_then(|at| self.fields.get(at))
            .map(|(_, value)| value)
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are no fields; such a hash is never kept.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(super) fn is_packed(&self) -> bool {
        !self.table
    }

    /// Where the field stands, or where it would go.
    fn place(&self, field: &[u8]) -> Result<usize, usize> {
        if self.table {
            return self
                .fields
                .binary_search_by(|(known, _)| known[..].cmp(field));
        }
        self.fields
            .iter()
            .position(|(known, _)| known[..] == *field)
            .ok_or(self.fields.len())
    }

    /// Sets a field and says whether it is new.
    fn set(&mut self, field: &[u8], value: &[u8]) -> bool {
        let place = self.place(field);
        match place {
            Ok(at) => self.fields[at].1 = Bytes::from(value),
            Err(at) => self
                .fields
                .insert(at, (Bytes::from(field), Bytes::from(value))),
        }
        if self.fields.len() > PACKED_FIELDS {
            self.become_table();
        }
        place.is_err()
    }

    fn remove(&mut self, field: &[u8]) -> bool {
        let place = self.place(field);
        if let Ok(at) = place {
            self.fields.remove(at);
        }
        place.is_ok()
    }

    fn become_table(&mut self) {
        if !self.table {
            self.table = true;
            crate::sorted::sort_by(&mut self.fields, &mut |a, b| a.0.cmp(&b.0));
        }
    }

    /// Becomes a table when one of these is too long to be packed (`hashTypeTryConversion`).
    fn make_room_for(&mut self, texts: &[Vec<u8>]) {
        if texts.iter().any(|text| text.len() > PACKED_BYTES) {
            self.become_table();
        }
    }
}

const NOT_AN_INTEGER_IN_HASH: &str = "ERR hash value is not an integer";
const NOT_A_FLOAT_IN_HASH: &str = "ERR hash value is not a float";

/// The hash at a key, to be changed and saved; an empty one where there is no key.
fn taken(run: &Run<'_>, key: &[u8]) -> Result<Arc<Hash>, Instead> {
    Ok(run.hash(key)?.cloned().unwrap_or_default())
}

/// What a function makes of the hash at a key; an empty array where there is no key.
fn listed(run: &Run<'_>, call: &Call<'_>, made: fn(&Hash) -> Vec<&Bytes>) -> Answer {
    let hash = run.hash(call.arg(1))?;
    Ok(Reply::Array(hash.map_or_else(Vec::new, |hash| {
        made(hash).into_iter().map(Reply::bulk).collect()
    })))
}

fn field(run: &Run<'_>, call: &Call<'_>) -> Result<Option<Bytes>, Instead> {
    Ok(run
        .hash(call.arg(1))?
        .and_then(|hash| hash.get(call.arg(2)))
        .cloned())
}

/// Sets pairs from the third argument on and gives the number of new fields.
fn set_pairs(run: &mut Run<'_>, call: &Call<'_>) -> Result<usize, Instead> {
    if call.len() % 2 == 1 {
        return Err(call.wrong_arity());
    }
    let mut hash = taken(run, call.arg(1))?;
    let fields = Arc::make_mut(&mut hash);
    fields.make_room_for(call.from(2));
    let new = call
        .pairs(2)
        .filter(|(field, value)| fields.set(field, value))
        .count();
    run.save(call.arg(1), Value::Hash(hash));
    Ok(new)
}

pub(super) fn hset(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_pairs(run, call).map(count)
}

pub(super) fn hmset(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    set_pairs(run, call).map(|_| Reply::ok())
}

pub(super) fn hsetnx(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if field(run, call)?.is_some() {
        return Ok(Reply::Integer(0));
    }
    set_pairs(run, call).map(count)
}

pub(super) fn hget(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(field(run, call)?.map_or(Reply::Nil, Reply::bulk))
}

pub(super) fn hmget(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let hash = run.hash(call.arg(1))?;
    let value = |field: &Vec<u8>| {
        hash.and_then(|hash| hash.get(field))
            .map_or(Reply::Nil, Reply::bulk)
    };
    Ok(Reply::Array(call.from(2).iter().map(value).collect()))
}

pub(super) fn hdel(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let mut hash = taken(run, call.arg(1))?;
    let fields = Arc::make_mut(&mut hash);
    let gone = call
        .from(2)
        .iter()
        .filter(|field| fields.remove(field))
        .count();
    if gone > 0 {
        run.save(call.arg(1), Value::Hash(hash));
    }
    Ok(count(gone))
}

pub(super) fn hlen(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(run.hash(call.arg(1))?.map_or(0, |hash| hash.len())))
}

pub(super) fn hstrlen(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(field(run, call)?.map_or(0, |value| value.len())))
}

pub(super) fn hexists(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(Reply::yes(field(run, call)?.is_some()))
}

pub(super) fn hkeys(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    listed(run, call, |hash| {
        hash.iter().map(|(field, _)| field).collect()
    })
}

pub(super) fn hvals(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    listed(run, call, |hash| {
        hash.iter().map(|(_, value)| value).collect()
    })
}

pub(super) fn hgetall(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    listed(run, call, |hash| {
        hash.iter()
            .flat_map(|(field, value)| [field, value])
            .collect()
    })
}

pub(super) fn hincrby(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let amount = call.integer(3)?;
    let old = match field(run, call)? {
        Some(value) => number::parse_integer(&value).ok_or(NOT_AN_INTEGER_IN_HASH)?,
        None => 0,
    };
    let new = old.checked_add(amount).ok_or(OVERFLOW)?;
    set_one(run, call, &new.to_string())?;
    Ok(Reply::Integer(new))
}

pub(super) fn hincrbyfloat(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    // Unlike INCRBYFLOAT, it looks at the amount before the key.
    match long_double::parse(call.arg(3)) {
        None => return Err(NOT_A_FLOAT.into()),
        Some(Parsed::Infinite { .. }) => return Err("ERR value is NaN or Infinity".into()),
        Some(Parsed::Finite(_)) => {}
    }
    let old = field(run, call)?;
    let sum = add_floats(
        old.as_deref().unwrap_or(b"0"),
        NOT_A_FLOAT_IN_HASH,
        call.arg(3),
    )?;
    set_one(run, call, &sum)?;
    Ok(Reply::bulk(sum))
}

/// Sets the field that the second argument names.
fn set_one(run: &mut Run<'_>, call: &Call<'_>, value: &str) -> Result<(), Instead> {
    let mut hash = taken(run, call.arg(1))?;
    let fields = Arc::make_mut(&mut hash);
    if call.arg(2).len() > PACKED_BYTES || value.len() > PACKED_BYTES {
        fields.become_table();
    }
    fields.set(call.arg(2), value.as_bytes());
    run.save(call.arg(1), Value::Hash(hash));
    Ok(())
}

/// HRANDFIELD: the first fields, over and over where the count is negative.
pub(super) fn hrandfield(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() < 3 {
        let first = run.hash(call.arg(1))?.and_then(|hash| hash.iter().next());
        return Ok(first.map_or(Reply::Nil, |(field, _)| Reply::bulk(field)));
    }
    let wanted = call.negatable(2)?;
    if call.len() > 4 || (call.len() == 4 && !call.is(3, "WITHVALUES")) {
        return Err(SYNTAX.into());
    }
    let with_values = call.len() == 4;
    let fields: Vec<(Bytes, Bytes)> = run
        .hash(call.arg(1))?
        .map_or_else(Vec::new, |hash| hash.fields.clone());
    let drawn = super::sets::draw(&fields, wanted, with_values)?;
    let shown = |(field, value): (Bytes, Bytes)| {
        if with_values {
            vec![Reply::bulk(field), Reply::bulk(value)]
        } else {
            vec![Reply::bulk(field)]
        }
    };
    Ok(Reply::Array(drawn.into_iter().flat_map(shown).collect()))
}

//! Sets: members without order.
//!
//! A set of up to 512 integers keeps them by size, as Redis's intset does; any other set is a hash
//! table and stays one, and its order is that of the bytes (in Redis, of a random seed).

use std::sync::Arc;

use super::call::{Answer, Call, Instead, SYNTAX, at_most, count};
use super::number;
use super::ordered::Ascending;
use super::reply::Reply;
use super::run::Run;
use super::value::{Bytes, Value};

/// Redis's `set-max-intset-entries`.
const PACKED_MEMBERS: usize = 512;

/// A set's members, in the order in which the store shows them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Set(Members);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Members {
    Integers(Ascending<i64>),
    Table(Ascending<Bytes>),
}

impl Default for Set {
    fn default() -> Set {
        Set(Members::Integers(Ascending::default()))
    }
}

impl Set {
    /// The members, in the order in which SMEMBERS shows them.
    pub fn members(&self) -> Vec<Bytes> {
        match &self.0 {
            Members::Integers(integers) => integers
                .iter()
                .map(|integer| Bytes::from(integer.to_string().as_bytes()))
                .collect(),
            Members::Table(table) => table.iter().cloned().collect(),
        }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Members::Integers(integers) => integers.len(),
            Members::Table(table) => table.len(),
        }
    }

    /// Whether there are no members; such a set is never kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this is a member.
    pub fn contains(&self, member: &[u8]) -> bool {
        match &self.0 {
            Members::Integers(integers) => {
                number::parse_integer(member).is_some_and(|integer| integers.contains(&integer))
            }
            Members::Table(table) => table.contains(member),
        }
    }

    /// Adds a member and says whether it is new.
    fn insert(&mut self, member: &[u8]) -> bool {
        if let (Members::Integers(integers), Some(integer)) =
            (&mut self.0, number::parse_integer(member))
        {
            let new = integers.insert::<i64>(integer);
            if integers.len() > PACKED_MEMBERS {
                self.table();
            }
            return new;
        }
        self.table().insert::<[u8]>(Bytes::from(member))
    }

    fn remove(&mut self, member: &[u8]) -> bool {
        match &mut self.0 {
            Members::Integers(integers) => {
                number::parse_integer(member).is_some_and(|integer| integers.remove(&integer))
            }
            Members::Table(table) => table.remove(member),
        }
    }

    /// The members as a hash table, which the set becomes if it is none.
    fn table(&mut self) -> &mut Ascending<Bytes> {
        if self.is_packed() {
            let mut table = Ascending::default();
            for member in self.members() {
                table.insert::<[u8]>(member);
            }
            self.0 = Members::Table(table);
        }
        match &mut self.0 {
            Members::Table(table) => table,
            Members::Integers(_) => unreachable!("the set has just become a hash table"),
        }
    }

    pub(super) fn is_packed(&self) -> bool {
        matches!(self.0, Members::Integers(_))
    }

    pub(super) fn cost(&self) -> usize {
        match &self.0 {
            Members::Integers(integers) => integers.len() * 16,
            Members::Table(table) => table.iter().map(|member| 16 + member.len()).sum(),
        }
    }
}

/// The set at a key, to be changed and saved; an empty one where there is no key.
fn taken(run: &Run<'_>, key: &[u8]) -> Result<Arc<Set>, Instead> {
    Ok(run.set_members(key)?.cloned().unwrap_or_default())
}

fn array(members: &[Bytes]) -> Reply {
    Reply::Array(members.iter().map(Reply::bulk).collect())
}

/// Applies a change to the set at a key for each member from the second argument on, and saves the
/// set if there was any; gives how many there were.
fn change_each(run: &mut Run<'_>, call: &Call<'_>, change: fn(&mut Set, &[u8]) -> bool) -> Answer {
    let mut set = taken(run, call.arg(1))?;
    let members = Arc::make_mut(&mut set);
    let changed = call
        .from(2)
        .iter()
        .filter(|member| change(members, member))
        .count();
    if changed > 0 {
        run.save(call.arg(1), Value::Set(set));
    }
    Ok(count(changed))
}

pub(super) fn sadd(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    change_each(run, call, Set::insert)
}

pub(super) fn srem(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    change_each(run, call, Set::remove)
}

pub(super) fn scard(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(taken(run, call.arg(1))?.len()))
}

pub(super) fn smembers(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(array(&taken(run, call.arg(1))?.members()))
}

pub(super) fn sismember(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(Reply::yes(taken(run, call.arg(1))?.contains(call.arg(2))))
}

pub(super) fn smismember(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let set = taken(run, call.arg(1))?;
    Ok(Reply::Array(
        call.from(2)
            .iter()
            .map(|member| Reply::yes(set.contains(member)))
            .collect(),
    ))
}

pub(super) fn smove(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (source, destination, member) = (call.arg(1), call.arg(2), call.arg(3));
    if !run.exists(source) {
        return Ok(Reply::Integer(0));
    }
    let mut from = taken(run, source)?;
    let mut to = taken(run, destination)?;
    if source == destination {
        return Ok(Reply::yes(from.contains(member)));
    }
    if !Arc::make_mut(&mut from).remove(member) {
        return Ok(Reply::Integer(0));
    }
    run.save(source, Value::Set(from));
    if Arc::make_mut(&mut to).insert(member) {
        run.save(destination, Value::Set(to));
    }
    Ok(Reply::Integer(1))
}

/// SPOP: the first members.
pub(super) fn spop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() > 3 {
        return Err(SYNTAX.into());
    }
    let wanted = if call.len() == 3 {
        Some(call.not_negative(2)?)
    } else {
        None
    };
    let mut set = taken(run, call.arg(1))?;
    let number = at_most(wanted.unwrap_or(1));
    let mut popped = set.members();
    popped.truncate(number);
    if !popped.is_empty() {
        let members = Arc::make_mut(&mut set);
        for member in &popped {
            members.remove(member);
        }
        run.save(call.arg(1), Value::Set(set));
    }
    Ok(match wanted {
        Some(_) => array(&popped),
        None => popped.first().map_or(Reply::Nil, Reply::bulk),
    })
}

/// SRANDMEMBER: the first members, over and over where the count is negative.
pub(super) fn srandmember(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() > 3 {
        return Err(SYNTAX.into());
    }
    if call.len() == 2 {
        return Ok(taken(run, call.arg(1))?
            .members()
            .first()
            .map_or(Reply::Nil, Reply::bulk));
    }
    let wanted = call.negatable(2)?;
    Ok(array(&draw(
        &taken(run, call.arg(1))?.members(),
        wanted,
        false,
    )?))
}

/// The most elements that one reply repeats.
const MOST_DRAWN: u64 = 100_000;

/// Draws elements: for a positive number the first ones, each once; for a negative one that many,
/// from the first to the last and over again.
pub(super) fn draw<T: Clone>(
    elements: &[T],
    wanted: i64,
    in_pairs: bool,
) -> Result<Vec<T>, Instead> {
    if in_pairs && !(-(i64::MAX / 2)..=i64::MAX / 2).contains(&wanted) {
        return Err("ERR value is out of range".into());
    }
    let number = wanted.unsigned_abs();
    if wanted < 0 && number > MOST_DRAWN && !elements.is_empty() {
        return Err("ERR value is out of range".into());
    }
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    Ok(if wanted < 0 {
        elements.iter().cycle().take(number).cloned().collect()
    } else {
        elements.iter().take(number).cloned().collect()
    })
}

/// A way to make one set of several.
type Combination = fn(&[Arc<Set>]) -> Set;

fn intersection(sets: &[Arc<Set>]) -> Set {
    let mut result = Set::default();
    let smallest = sets
        .iter()
        .min_by_key(|set| set.len())
        .map_or_else(Vec::new, |set| set.members());
    for member in smallest
        .iter()
        .filter(|member| sets.iter().all(|set| set.contains(member)))
    {
        result.insert(member);
    }
    result
}

fn union(sets: &[Arc<Set>]) -> Set {
    let mut result = Set::default();
    for member in sets.iter().flat_map(|set| set.members()) {
        result.insert(&member);
    }
    result
}

fn difference(sets: &[Arc<Set>]) -> Set {
    let mut result = Set::default();
    if let Some((first, others)) = sets.split_first() {
        for member in first
            .members()
            .iter()
            .filter(|member| !others.iter().any(|set| set.contains(member)))
        {
            result.insert(member);
        }
    }
    result
}

fn combine(run: &Run<'_>, keys: &[Vec<u8>], combination: Combination) -> Result<Set, Instead> {
    let sets: Vec<Arc<Set>> = keys
        .iter()
        .map(|key| taken(run, key))
        .collect::<Result<_, _>>()?;
    Ok(combination(&sets))
}

fn show(run: &Run<'_>, call: &Call<'_>, combination: Combination) -> Answer {
    Ok(array(&combine(run, call.from(1), combination)?.members()))
}

fn store(run: &mut Run<'_>, call: &Call<'_>, combination: Combination) -> Answer {
    let result = combine(run, call.from(2), combination)?;
    let length = result.len();
    if result.is_empty() {
        run.remove(call.arg(1));
    } else {
        run.set(call.arg(1), Value::Set(Arc::new(result)), None);
    }
    Ok(count(length))
}

pub(super) fn sinter(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show(run, call, intersection)
}

pub(super) fn sunion(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show(run, call, union)
}

pub(super) fn sdiff(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show(run, call, difference)
}

pub(super) fn sinterstore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    store(run, call, intersection)
}

pub(super) fn sunionstore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    store(run, call, union)
}

pub(super) fn sdiffstore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    store(run, call, difference)
}

pub(super) fn sintercard(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (keys, limit) = cardinality_arguments(call)?;
    let length = combine(run, keys, intersection)?.len();
    Ok(count(limit.map_or(length, |limit| length.min(limit))))
}

/// The keys and the limit of SINTERCARD and ZINTERCARD.
pub(super) fn cardinality_arguments<'a>(
    call: &Call<'a>,
) -> Result<(&'a [Vec<u8>], Option<usize>), Instead> {
    let number = call.integer_within(1, 1, i64::MAX, "ERR numkeys should be greater than 0")?;
    let after = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_add(2))
        .filter(|after| *after <= call.len());
    let after = after.ok_or("ERR Number of keys can't be greater than number of args")?;
    let mut limit = 0;
    let mut at = after;
    while at < call.len() {
        if !call.is(at, "LIMIT") || at + 1 >= call.len() {
            return Err(SYNTAX.into());
        }
        limit = call.integer_within(at + 1, 0, i64::MAX, "ERR LIMIT can't be negative")?;
        at += 2;
    }
    let limit = at_most(limit);
    Ok((
        call.argv.get(2..after).unwrap_or(&[]),
        (limit > 0).then_some(limit),
    ))
}

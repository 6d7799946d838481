//! Lists: elements in order, pushed and popped at both ends.

use std::collections::VecDeque;
use std::collections::vec_deque;
use std::sync::Arc;

use super::blocking::{self, Waiting};
use super::call::{Answer, Call, Instead, NO_SUCH_KEY, SYNTAX, at_most, count, index, range};
use super::reply::Reply;
use super::run::Run;
use super::value::{Bytes, Value};

/// A list's elements, head first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct List(VecDeque<Bytes>);

impl List {
    /// The elements, head first.
    pub fn iter(&self) -> vec_deque::Iter<'_, Bytes> {
        self.0.iter()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements; such a list is never kept.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, end: End, element: Bytes) {
        match end {
            End::Left => self.0.push_front(element),
            End::Right => self.0.push_back(element),
        }
    }

    fn pop(&mut self, end: End) -> Option<Bytes> {
        match end {
            End::Left => self.0.pop_front(),
            End::Right => self.0.pop_back(),
        }
    }

    /// The place that an index names, negative from the tail.
    fn place(&self, at: i64) -> Option<usize> {
        let length = i64::try_from(self.0.len()).ok()?;
        let place = if at < 0 { at.checked_add(length)? } else { at };
        (0..length).contains(&place).then_some(index(place))
    }
}

/// One end of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Left,
    Right,
}

fn end(call: &Call<'_>, at: usize) -> Result<End, Instead> {
    if call.is(at, "LEFT") {
        Ok(End::Left)
    } else if call.is(at, "RIGHT") {
        Ok(End::Right)
    } else {
        Err(SYNTAX.into())
    }
}

/// The list at a key, to be changed and saved; an empty one where there is no key.
fn taken(run: &Run<'_>, key: &[u8]) -> Result<Arc<List>, Instead> {
    Ok(run.list(key)?.cloned().unwrap_or_default())
}

/// Changes the list at a key by a function that says how often it changed something, and saves it if
/// it did.
fn change<F: FnOnce(&mut List) -> usize>(
    run: &mut Run<'_>,
    key: &[u8],
    function: F,
) -> Result<usize, Instead> {
    let mut list = taken(run, key)?;
    let changed = function(Arc::make_mut(&mut list));
    if changed > 0 {
        run.save(key, Value::List(list));
    }
    Ok(changed)
}

pub(super) fn lpush(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    push(run, call, End::Left, false)
}

pub(super) fn rpush(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    push(run, call, End::Right, false)
}

pub(super) fn lpushx(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    push(run, call, End::Left, true)
}

pub(super) fn rpushx(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    push(run, call, End::Right, true)
}

fn push(run: &mut Run<'_>, call: &Call<'_>, end: End, only_existing: bool) -> Answer {
    let mut list = taken(run, call.arg(1))?;
    if only_existing && list.is_empty() {
        return Ok(Reply::Integer(0));
    }
    let elements = Arc::make_mut(&mut list);
    for element in call.from(2) {
        elements.push(end, Bytes::from(element.as_slice()));
    }
    let length = elements.len();
    run.save(call.arg(1), Value::List(list));
    Ok(count(length))
}

pub(super) fn lpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    pop(run, call, End::Left)
}

pub(super) fn rpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    pop(run, call, End::Right)
}

fn pop(run: &mut Run<'_>, call: &Call<'_>, end: End) -> Answer {
    if call.len() > 3 {
        return Err(call.wrong_arity());
    }
    let wanted = if call.len() == 3 {
        Some(call.not_negative(2)?)
    } else {
        None
    };
    if run.list(call.arg(1))?.is_none() {
        return Ok(Reply::Nil);
    }
    let popped = pop_some(run, call.arg(1), end, wanted.unwrap_or(1))?;
    match wanted {
        Some(_) => Ok(Reply::Array(popped)),
        None => Ok(popped.into_iter().next().unwrap_or(Reply::Nil)),
    }
}

/// Takes up to a number of elements off one end.
fn pop_some(run: &mut Run<'_>, key: &[u8], end: End, wanted: i64) -> Result<Vec<Reply>, Instead> {
    let mut popped = Vec::new();
    change(run, key, |list| {
        let number = list.len().min(at_most(wanted));
        popped.extend((0..number).filter_map(|_| list.pop(end)).map(Reply::bulk));
        number
    })?;
    Ok(popped)
}

pub(super) fn llen(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(run.list(call.arg(1))?.map_or(0, |list| list.len())))
}

pub(super) fn lindex(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let Some(list) = run.list(call.arg(1))? else {
        return Ok(Reply::Nil);
    };
    let place = list.place(call.integer(2)?);
    Ok(place
        .and_then(|place| list.0.get(place))
        .map_or(Reply::Nil, Reply::bulk))
}

pub(super) fn lrange(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let list = taken(run, call.arg(1))?;
    Ok(Reply::Array(
        list.0
            .range(range(start, stop, list.len()))
            .map(Reply::bulk)
            .collect(),
    ))
}

pub(super) fn ltrim(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    if let Some(list) = run.list(call.arg(1))? {
        let kept = list
            .0
            .range(range(start, stop, list.len()))
            .cloned()
            .collect();
        run.save(call.arg(1), Value::List(Arc::new(List(kept))));
    }
    Ok(Reply::ok())
}

pub(super) fn lset(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let mut list = run.list(call.arg(1))?.cloned().ok_or(NO_SUCH_KEY)?;
    let place = list
        .place(call.integer(2)?)
        .ok_or("ERR index out of range")?;
    Arc::make_mut(&mut list).0[place] = Bytes::from(call.arg(3));
    run.save(call.arg(1), Value::List(list));
    Ok(Reply::ok())
}

pub(super) fn linsert(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let after = call.is(2, "AFTER");
    if !after && !call.is(2, "BEFORE") {
        return Err(SYNTAX.into());
    }
    let mut list = taken(run, call.arg(1))?;
    if list.is_empty() {
        return Ok(Reply::Integer(0));
    }
    let Some(pivot) = list.iter().position(|element| element[..] == *call.arg(3)) else {
        return Ok(Reply::Integer(-1));
    };
    let elements = Arc::make_mut(&mut list);
    elements
        .0
        .insert(pivot + usize::from(after), Bytes::from(call.arg(4)));
    let length = elements.len();
    run.save(call.arg(1), Value::List(list));
    Ok(count(length))
}

pub(super) fn lrem(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let wanted = call.integer(2)?;
    let removed = change(run, call.arg(1), |list| {
        let most = if wanted == 0 {
            usize::MAX
        } else {
            at_most(wanted.saturating_abs())
        };
        let mut places: Vec<usize> = list
            .iter()
            .enumerate()
            .filter(|(_, element)| element[..] == *call.arg(3))
            .map(|(place, _)| place)
            .collect();
        if wanted < 0 {
            places.reverse();
        }
        places.truncate(most);
        if wanted < 0 {
            places.reverse();
        }
        let mut place = 0;
        list.0.retain(|_| {
            place += 1;
            places.binary_search(&(place - 1)).is_err()
        });
        places.len()
    })?;
    Ok(count(removed))
}

/// What LPOS looks for beside the element.
struct Search {
    /// Which match is the first to be told; negative from the tail.
    rank: i64,
    /// How many matches are told, 0 for all; without it, one and not as an array.
    wanted: Option<i64>,
    /// How many elements are compared, 0 for all.
    compared: i64,
}

impl Search {
    fn parse(call: &Call<'_>) -> Result<Search, Instead> {
        let mut search = Search {
            rank: 1,
            wanted: None,
            compared: 0,
        };
        let mut at = 3;
        while at < call.len() {
            if at + 1 >= call.len() {
                return Err(SYNTAX.into());
            }
            if call.is(at, "RANK") {
                search.rank = call.integer(at + 1)?;
                if search.rank == 0 {
                    return Err("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list".into());
                }
            } else if call.is(at, "COUNT") {
                let error = "ERR COUNT can't be negative";
                search.wanted = Some(call.integer_within(at + 1, 0, i64::MAX, error)?);
            } else if call.is(at, "MAXLEN") {
                let error = "ERR MAXLEN can't be negative";
                search.compared = call.integer_within(at + 1, 0, i64::MAX, error)?;
            } else {
                return Err(SYNTAX.into());
            }
            at += 2;
        }
        Ok(search)
    }

    /// The places of the element, in the order of the search.
    fn places(&self, list: &List, element: &[u8]) -> Vec<usize> {
        let all = |number: i64| {
            if number == 0 {
                usize::MAX
            } else {
                at_most(number)
            }
        };
        // Redis turns the sign of the lowest integer in vain; it then skips nothing.
        let skipped = self.rank.checked_abs().map_or(0, |rank| at_most(rank - 1));
        let length = list.len();
        (0..length)
            .map(|step| {
                if self.rank > 0 {
                    step
                } else {
                    length - 1 - step
                }
            })
            .take(all(self.compared))
            .filter(|place| {
                list.0
                    .get(*place)
                    .is_some_and(|known| known[..] == *element)
            })
            .skip(skipped)
            .take(all(self.wanted.unwrap_or(1)))
            .collect()
    }
}

pub(super) fn lpos(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let search = Search::parse(call)?;
    let list = taken(run, call.arg(1))?;
    let mut found = search.places(&list, call.arg(2)).into_iter().map(count);
    Ok(match search.wanted {
        Some(_) => Reply::Array(found.collect()),
        None => found.next().unwrap_or(Reply::Nil),
    })
}

pub(super) fn lmove(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (from, to) = (end(call, 3)?, end(call, 4)?);
    Ok(move_one(run, call.arg(1), call.arg(2), from, to)?.unwrap_or(Reply::Nil))
}

pub(super) fn rpoplpush(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(move_one(run, call.arg(1), call.arg(2), End::Right, End::Left)?.unwrap_or(Reply::Nil))
}

/// Moves an element from one list to another; `None` where there is none to move.
fn move_one(
    run: &mut Run<'_>,
    source: &[u8],
    destination: &[u8],
    from: End,
    to: End,
) -> Result<Option<Reply>, Instead> {
    let Some(mut list) = run.list(source)?.cloned() else {
        return Ok(None);
    };
    run.list(destination)?;
    let Some(element) = Arc::make_mut(&mut list).pop(from) else {
        return Ok(None);
    };
    let reply = Reply::bulk(&element);
    if source == destination {
        Arc::make_mut(&mut list).push(to, element);
        run.save(source, Value::List(list));
        return Ok(Some(reply));
    }
    let mut other = taken(run, destination)?;
    Arc::make_mut(&mut other).push(to, element);
    run.save(destination, Value::List(other));
    run.save(source, Value::List(list));
    Ok(Some(reply))
}

/// What LMPOP and BLMPOP take: keys, the end, and how many elements.
struct PopMany<'a> {
    keys: &'a [Vec<u8>],
    end: End,
    number: i64,
}

fn pop_many<'a>(call: &Call<'a>, at: usize) -> Result<PopMany<'a>, Instead> {
    let (keys, place) = call.counted_keys(at)?;
    Ok(PopMany {
        keys,
        end: end(call, place)?,
        number: call.pop_count(place + 1)?,
    })
}

pub(super) fn lmpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let many = pop_many(call, 1)?;
    Ok(pop_first_of(run, &many)?.unwrap_or(Reply::Nil))
}

fn pop_first_of(run: &mut Run<'_>, many: &PopMany<'_>) -> Result<Option<Reply>, Instead> {
    for key in many.keys {
        if run.list(key)?.is_some() {
            return key_and_popped(run, key, many).map(Some);
        }
    }
    Ok(None)
}

fn key_and_popped(run: &mut Run<'_>, key: &[u8], many: &PopMany<'_>) -> Answer {
    let popped = pop_some(run, key, many.end, many.number)?;
    Ok(Reply::Array(vec![Reply::bulk(key), Reply::Array(popped)]))
}

pub(super) fn blmpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let many = pop_many(call, 2)?;
    let timeout = blocking::seconds(call, 1)?;
    match pop_first_of(run, &many)? {
        Some(reply) => Ok(reply),
        None => Waiting::for_keys(run, many.keys, timeout),
    }
}

pub(super) fn blpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    blocking_pop(run, call, End::Left)
}

pub(super) fn brpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    blocking_pop(run, call, End::Right)
}

fn blocking_pop(run: &mut Run<'_>, call: &Call<'_>, end: End) -> Answer {
    let (keys, timeout) = call.keys_and_timeout()?;
    for key in keys {
        if run.list(key)?.is_some() {
            return pop_with_key(run, key, end);
        }
    }
    Waiting::for_keys(run, keys, timeout)
}

fn pop_with_key(run: &mut Run<'_>, key: &[u8], end: End) -> Answer {
    let mut reply = vec![Reply::bulk(key)];
    reply.extend(pop_some(run, key, end, 1)?);
    Ok(Reply::Array(reply))
}

pub(super) fn blmove(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (from, to) = (end(call, 3)?, end(call, 4)?);
    blocking_move(run, call, from, to, 5)
}

pub(super) fn brpoplpush(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    blocking_move(run, call, End::Right, End::Left, 3)
}

fn blocking_move(
    run: &mut Run<'_>,
    call: &Call<'_>,
    from: End,
    to: End,
    timeout_at: usize,
) -> Answer {
    let timeout = blocking::seconds(call, timeout_at)?;
    match move_one(run, call.arg(1), call.arg(2), from, to)? {
        Some(reply) => Ok(reply),
        None => Waiting::for_keys(run, &call.argv[1..2], timeout),
    }
}

/// Serves a blocked command from a key that holds a list.
pub(super) fn serve(run: &mut Run<'_>, call: &Call<'_>, key: &[u8]) -> Answer {
    match call.command.name {
        "BLPOP" => pop_with_key(run, key, End::Left),
        "BRPOP" => pop_with_key(run, key, End::Right),
        "BLMPOP" => key_and_popped(run, key, &pop_many(call, 2)?),
        "BLMOVE" => Ok(
            move_one(run, key, call.arg(2), end(call, 3)?, end(call, 4)?)?.unwrap_or(Reply::Nil),
        ),
        _ => Ok(move_one(run, key, call.arg(2), End::Right, End::Left)?.unwrap_or(Reply::Nil)),
    }
}

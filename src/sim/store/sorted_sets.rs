//! Sorted sets: members with scores, in the order of the scores and then of the bytes.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::blocking::{self, Waiting};
use super::call::{Answer, Call, Instead, NOT_A_FLOAT, SYNTAX, WRONG_TYPE, at_most, count, range};
use super::number;
use super::reply::Reply;
use super::run::Run;
use super::sets::draw;
use super::value::{Bytes, Value};

/// Redis's `zset-max-listpack-entries` and `zset-max-listpack-value`.
const PACKED_MEMBERS: usize = 128;
const PACKED_BYTES: usize = 64;

/// A score: a double that is never NaN.
#[derive(Clone, Copy, Debug)]
pub struct Score(f64);

impl Score {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The score as ZSCORE prints it, with 17 digits where needed.
    pub fn print(self) -> Vec<u8> {
        number::print_double(self.0).into_bytes()
    }

    fn reply(self) -> Reply {
        Reply::Bulk(self.print())
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Score) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Score {}

impl std::hash::Hash for Score {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A sorted set's members and scores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SortedSet {
    /// In order.
    members: Vec<(Score, Bytes)>,
    /// Whether it has become a skip list; Redis shows that in ZSCAN.
    large: bool,
}

impl SortedSet {
    /// Scores and members, the lowest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Score, &Bytes)> {
        self.members.iter().map(|(score, member)| (*score, member))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members; such a set is never kept.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The score of a member.
    pub fn score(&self, member: &[u8]) -> Option<Score> {
        self.rank(member)
            .and_then(|rank| self.members.get(rank))
            .map(|(score, _)| *score)
    }

    pub(super) fn is_packed(&self) -> bool {
        !self.large
    }

    fn rank(&self, member: &[u8]) -> Option<usize> {
        self.members
            .iter()
            .position(|(_, known)| known[..] == *member)
    }

    /// Gives a member a score, whatever it had.
    fn set(&mut self, score: f64, member: &[u8]) {
        self.remove(member);
        self.large |= self.members.len() >= PACKED_MEMBERS || member.len() > PACKED_BYTES;
        // Packed, a whole score is an integer, and -0 is 0.
        let score = if self.large { score } else { score + 0.0 };
        let order = |(known, name): &(Score, Bytes)| {
            compare(known.0, score).then_with(|| name[..].cmp(member))
        };
        let place = self
            .members
            .binary_search_by(order)
            .unwrap_or_else(|place| place);
        self.members
            .insert(place, (Score(score), Bytes::from(member)));
    }

    fn remove(&mut self, member: &[u8]) -> bool {
        let rank = self.rank(member);
        if let Some(rank) = rank {
            self.members.remove(rank);
        }
        rank.is_some()
    }
}

fn compare(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// The sorted set at a key, to be changed and saved; an empty one where there is no key.
fn taken(run: &Run<'_>, key: &[u8]) -> Result<Arc<SortedSet>, Instead> {
    Ok(run.sorted_set(key)?.cloned().unwrap_or_default())
}

fn save(run: &mut Run<'_>, key: &[u8], set: Arc<SortedSet>) {
    run.save(key, Value::SortedSet(set));
}

/// What ZADD's options say about existing members, new ones and the reply.
#[derive(Default)]
struct Adding {
    only_new: bool,
    only_existing: bool,
    only_greater: bool,
    only_less: bool,
    count_changed: bool,
    increment: bool,
}

impl Adding {
    /// Reads the options and gives the place of the first score.
    fn parse(call: &Call<'_>, increment: bool) -> Result<(Adding, usize), Instead> {
        let mut adding = Adding {
            increment,
            ..Adding::default()
        };
        let mut at = 2;
        while at < call.len() {
            match call.arg(at).to_ascii_uppercase().as_slice() {
                b"NX" => adding.only_new = true,
                b"XX" => adding.only_existing = true,
                b"GT" => adding.only_greater = true,
                b"LT" => adding.only_less = true,
                b"CH" => adding.count_changed = true,
                b"INCR" => adding.increment = true,
                _ => break,
            }
            at += 1;
        }
        let left = call.len() - at;
        if left == 0 || !left.is_multiple_of(2) {
            return Err(SYNTAX.into());
        }
        if adding.only_new && adding.only_existing {
            return Err("ERR XX and NX options at the same time are not compatible".into());
        }
        let conditions = [adding.only_new, adding.only_greater, adding.only_less];
        if conditions.iter().filter(|condition| **condition).count() > 1 {
            return Err("ERR GT, LT, and/or NX options at the same time are not compatible".into());
        }
        if adding.increment && left > 2 {
            return Err("ERR INCR option supports a single increment-element pair".into());
        }
        Ok((adding, at))
    }

    /// Adds one member; `None` where the conditions forbid it, else its score now and what happened.
    fn add(
        &self,
        set: &mut SortedSet,
        score: f64,
        member: &[u8],
    ) -> Result<Option<(f64, Added)>, Instead> {
        let Some(Score(current)) = set.score(member) else {
            if self.only_existing {
                return Ok(None);
            }
            set.set(score, member);
            return Ok(Some((score, Added::New)));
        };
        if self.only_new {
            return Ok(None);
        }
        let score = if self.increment {
            current + score
        } else {
            score
        };
        if score.is_nan() {
            return Err("ERR resulting score is not a number (NaN)".into());
        }
        if (self.only_less && score >= current) || (self.only_greater && score <= current) {
            return Ok(None);
        }
        if score == current {
            return Ok(Some((score, Added::Unchanged)));
        }
        set.set(score, member);
        Ok(Some((score, Added::Updated)))
    }
}

#[derive(PartialEq, Eq)]
enum Added {
    New,
    Updated,
    Unchanged,
}

pub(super) fn zadd(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    add_members(run, call, false)
}

pub(super) fn zincrby(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    add_members(run, call, true)
}

fn add_members(run: &mut Run<'_>, call: &Call<'_>, increment: bool) -> Answer {
    let (adding, first) = Adding::parse(call, increment)?;
    let score = |(score, member)| Ok((number::parse_double(score).ok_or(NOT_A_FLOAT)?, member));
    let pairs: Vec<(f64, &[u8])> = call
        .pairs(first)
        .map(score)
        .collect::<Result<_, Instead>>()?;
    let mut set = taken(run, call.arg(1))?;
    let members = Arc::make_mut(&mut set);
    let (mut new, mut updated, mut last) = (0, 0, None);
    for (score, member) in pairs {
        let added = adding.add(members, score, member)?;
        new += usize::from(matches!(added, Some((_, Added::New))));
        updated += usize::from(matches!(added, Some((_, Added::Updated))));
        last = added.map(|(score, _)| Score(score));
    }
    if new + updated > 0 {
        save(run, call.arg(1), set);
    }
    Ok(match adding.increment {
        true => last.map_or(Reply::Nil, Score::reply),
        false => count(if adding.count_changed {
            new + updated
        } else {
            new
        }),
    })
}

pub(super) fn zrem(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let mut set = taken(run, call.arg(1))?;
    let members = Arc::make_mut(&mut set);
    let gone = call
        .from(2)
        .iter()
        .filter(|member| members.remove(member))
        .count();
    if gone > 0 {
        save(run, call.arg(1), set);
    }
    Ok(count(gone))
}

pub(super) fn zcard(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(count(taken(run, call.arg(1))?.len()))
}

pub(super) fn zscore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    Ok(taken(run, call.arg(1))?
        .score(call.arg(2))
        .map_or(Reply::Nil, Score::reply))
}

pub(super) fn zmscore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let set = taken(run, call.arg(1))?;
    let score = |member: &Vec<u8>| set.score(member).map_or(Reply::Nil, Score::reply);
    Ok(Reply::Array(call.from(2).iter().map(score).collect()))
}

pub(super) fn zrank(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let set = taken(run, call.arg(1))?;
    Ok(set.rank(call.arg(2)).map_or(Reply::Nil, count))
}

pub(super) fn zrevrank(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let set = taken(run, call.arg(1))?;
    Ok(set
        .rank(call.arg(2))
        .map_or(Reply::Nil, |rank| count(set.len() - 1 - rank)))
}

/// By what a range selects members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Bytes,
}

/// What a range selects, its bounds read.
enum Selection<'a> {
    Ranks(i64, i64),
    Scores(ScoreBound, ScoreBound),
    Bytes(BytesBound<'a>, BytesBound<'a>),
}

#[derive(Clone, Copy)]
struct ScoreBound {
    score: f64,
    exclusive: bool,
}

#[derive(Clone, Copy)]
enum BytesBound<'a> {
    Lowest,
    Highest,
    At { bytes: &'a [u8], exclusive: bool },
}

fn score_bound(text: &[u8]) -> Result<ScoreBound, Instead> {
    let exclusive = text.first() == Some(&b'(');
    let score = number::parse_bound(if exclusive { &text[1..] } else { text });
    Ok(ScoreBound {
        score: score.ok_or("ERR min or max is not a float")?,
        exclusive,
    })
}

fn bytes_bound(text: &[u8]) -> Result<BytesBound<'_>, Instead> {
    match text {
        b"-" => Ok(BytesBound::Lowest),
        b"+" => Ok(BytesBound::Highest),
        [mark @ (b'[' | b'('), bytes @ ..] => Ok(BytesBound::At {
            bytes,
            exclusive: *mark == b'(',
        }),
        _ => Err("ERR min or max not valid string range item".into()),
    }
}

impl BytesBound<'_> {
    /// Whether a member lies at or above this lower bound.
    fn is_below(self, member: &[u8]) -> bool {
        match self {
            BytesBound::Lowest => true,
            BytesBound::Highest => false,
            BytesBound::At { bytes, exclusive } => {
                if exclusive {
                    member > bytes
                } else {
                    member >= bytes
                }
            }
        }
    }

    /// Whether a member lies at or below this upper bound.
    fn is_above(self, member: &[u8]) -> bool {
        match self {
            BytesBound::Lowest => false,
            BytesBound::Highest => true,
            BytesBound::At { bytes, exclusive } => {
                if exclusive {
                    member < bytes
                } else {
                    member <= bytes
                }
            }
        }
    }
}

/// Which of the selected members are wanted, as LIMIT says.
#[derive(Clone, Copy)]
struct Window {
    offset: usize,
    limit: usize,
}

/// All of them.
const ALL: Window = Window {
    offset: 0,
    limit: usize::MAX,
};

impl<'a> Selection<'a> {
    fn parse(call: &Call<'a>, by: By, low: usize, high: usize) -> Result<Selection<'a>, Instead> {
        Ok(match by {
            By::Rank => Selection::Ranks(call.integer(low)?, call.integer(high)?),
            By::Score => {
                Selection::Scores(score_bound(call.arg(low))?, score_bound(call.arg(high))?)
            }
            By::Bytes => {
                Selection::Bytes(bytes_bound(call.arg(low))?, bytes_bound(call.arg(high))?)
            }
        })
    }

    /// The places that it selects, of those the window; with the order turned round, both begin at
    /// the end of the set.
    fn places(&self, set: &SortedSet, reverse: bool, window: Window) -> Range<usize> {
        let length = set.len();
        let turned = |places: Range<usize>| length - places.end..length - places.start;
        let places = match self {
            Selection::Ranks(start, stop) => range(*start, *stop, length),
            _ if reverse => {
                let members: Vec<&(Score, Bytes)> = set.members.iter().rev().collect();
                let near = |member: &(Score, Bytes)| self.extends_to(member.0, &member.1);
                let far = |member: &(Score, Bytes)| self.reaches(member.0, &member.1);
                self.between(&members, &near, &far, window)
            }
            _ => {
                let members: Vec<&(Score, Bytes)> = set.members.iter().collect();
                let near = |member: &(Score, Bytes)| self.reaches(member.0, &member.1);
                let far = |member: &(Score, Bytes)| self.extends_to(member.0, &member.1);
                self.between(&members, &near, &far, window)
            }
        };
        if reverse { turned(places) } else { places }
    }

    /// The places from the first member within the near bound, skipping the window's offset, to the
    /// first one beyond the far bound.
    ///
    /// Where members of different scores are selected by their bytes, they are in no order; this is
    /// then what Redis shows of a small set.
    fn between(
        &self,
        members: &[&(Score, Bytes)],
        near: &dyn Fn(&(Score, Bytes)) -> bool,
        far: &dyn Fn(&(Score, Bytes)) -> bool,
        window: Window,
    ) -> Range<usize> {
        let outermost = members.last().is_some_and(|last| near(last))
            && members.first().is_some_and(|first| far(first));
        let first = members
            .iter()
            .position(|member| near(member))
            .filter(|_| outermost && !self.is_empty());
        let Some(first) =
            first.filter(|first| members.get(*first).is_some_and(|member| far(member)))
        else {
            return 0..0;
        };
        let start = first.saturating_add(window.offset).min(members.len());
        let number = members[start..]
            .iter()
            .take(window.limit)
            .take_while(|member| far(member))
            .count();
        start..start + number
    }

    /// Whether the bounds leave nothing between them.
    fn is_empty(&self) -> bool {
        match self {
            Selection::Ranks(..) => false,
            Selection::Scores(low, high) => {
                low.score > high.score
                    || (low.score == high.score && (low.exclusive || high.exclusive))
            }
            Selection::Bytes(
                BytesBound::At {
                    bytes: low,
                    exclusive,
                },
                BytesBound::At {
                    bytes: high,
                    exclusive: other,
                },
            ) => low > high || (low == high && (*exclusive || *other)),
            Selection::Bytes(low, high) => {
                matches!(low, BytesBound::Highest) && !matches!(high, BytesBound::Highest)
                    || matches!(high, BytesBound::Lowest) && !matches!(low, BytesBound::Lowest)
            }
        }
    }

    /// Whether a member lies within the lower bound.
    fn reaches(&self, score: Score, member: &[u8]) -> bool {
        match self {
            Selection::Ranks(..) => true,
            Selection::Scores(low, _) if low.exclusive => score.0 > low.score,
            Selection::Scores(low, _) => score.0 >= low.score,
            Selection::Bytes(low, _) => low.is_below(member),
        }
    }

    /// Whether a member lies within the upper bound.
    fn extends_to(&self, score: Score, member: &[u8]) -> bool {
        match self {
            Selection::Ranks(..) => true,
            Selection::Scores(_, high) if high.exclusive => score.0 < high.score,
            Selection::Scores(_, high) => score.0 <= high.score,
            Selection::Bytes(_, high) => high.is_above(member),
        }
    }
}

/// A form of ZRANGE: what it has fixed that ZRANGE takes as an option.
struct Form {
    /// Where the key stands.
    key: usize,
    by: Option<By>,
    reverse: Option<bool>,
    stores: bool,
}

/// Reads the options and gives the members that a form of ZRANGE selects, in order, and whether the
/// scores are wanted with them.
fn select(
    run: &Run<'_>,
    call: &Call<'_>,
    form: &Form,
) -> Result<(Vec<(Score, Bytes)>, bool), Instead> {
    let (mut by, mut reverse) = (form.by, form.reverse);
    let (mut offset, mut limit, mut with_scores) = (0, -1, false);
    let mut at = form.key + 3;
    while at < call.len() {
        match call.arg(at).to_ascii_uppercase().as_slice() {
            b"WITHSCORES" if !form.stores => with_scores = true,
            b"LIMIT" if at + 2 < call.len() => {
                offset = call.integer(at + 1)?;
                limit = call.integer(at + 2)?;
                at += 2;
            }
            b"REV" if form.reverse.is_none() => reverse = Some(true),
            b"BYLEX" if by.is_none() => by = Some(By::Bytes),
            b"BYSCORE" if by.is_none() => by = Some(By::Score),
            _ => return Err(SYNTAX.into()),
        }
        at += 1;
    }
    let (by, reverse) = (by.unwrap_or(By::Rank), reverse.unwrap_or(false));
    if limit != -1 && by == By::Rank {
        return Err(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
                .into(),
        );
    }
    if with_scores && by == By::Bytes {
        return Err("ERR syntax error, WITHSCORES not supported in combination with BYLEX".into());
    }
    let turned = reverse && by != By::Rank;
    let (low, high) = if turned {
        (form.key + 2, form.key + 1)
    } else {
        (form.key + 1, form.key + 2)
    };
    let selection = Selection::parse(call, by, low, high)?;
    let set = taken(run, call.arg(form.key))?;
    let window = Window {
        offset: at_most(offset),
        limit: at_most(limit),
    };
    let places = selection.places(&set, reverse, window);
    let mut selected = set.members.get(places).unwrap_or(&[]).to_vec();
    if reverse {
        selected.reverse();
    }
    Ok((selected, with_scores))
}

/// Members as a reply, each followed by its score if that is wanted.
fn listed(members: Vec<(Score, Bytes)>, with_scores: bool) -> Reply {
    let mut items = Vec::new();
    for (score, member) in members {
        items.push(Reply::bulk(member));
        if with_scores {
            items.push(score.reply());
        }
    }
    Reply::Array(items)
}

fn show_range(run: &Run<'_>, call: &Call<'_>, by: Option<By>, reverse: Option<bool>) -> Answer {
    let (members, with_scores) = select(
        run,
        call,
        &Form {
            key: 1,
            by,
            reverse,
            stores: false,
        },
    )?;
    Ok(listed(members, with_scores))
}

pub(super) fn zrange(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_range(run, call, None, None)
}

pub(super) fn zrevrange(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_range(run, call, Some(By::Rank), Some(true))
}

pub(super) fn zrangebyscore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_range(run, call, Some(By::Score), Some(false))
}

pub(super) fn zrevrangebyscore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_range(run, call, Some(By::Score), Some(true))
}

pub(super) fn zrangebylex(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_range(run, call, Some(By::Bytes), Some(false))
}

pub(super) fn zrevrangebylex(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_range(run, call, Some(By::Bytes), Some(true))
}

pub(super) fn zrangestore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let (members, _) = select(
        run,
        call,
        &Form {
            key: 2,
            by: None,
            reverse: None,
            stores: true,
        },
    )?;
    Ok(store(run, call.arg(1), members))
}

/// Stores a result in place of whatever the key held; without members the key goes.
fn store(run: &mut Run<'_>, key: &[u8], members: Vec<(Score, Bytes)>) -> Reply {
    let long = members
        .iter()
        .any(|(_, member)| member.len() > PACKED_BYTES);
    let large = long || members.len() > PACKED_MEMBERS;
    let mut set = SortedSet {
        members: Vec::new(),
        large,
    };
    for (score, member) in &members {
        set.set(score.0, member);
    }
    if set.is_empty() {
        run.remove(key);
    } else {
        run.set(key, Value::SortedSet(Arc::new(set)), None);
    }
    count(members.len())
}

pub(super) fn zcount(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    count_range(run, call, By::Score)
}

pub(super) fn zlexcount(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    count_range(run, call, By::Bytes)
}

fn count_range(run: &Run<'_>, call: &Call<'_>, by: By) -> Answer {
    let selection = Selection::parse(call, by, 2, 3)?;
    Ok(count(
        selection
            .places(&*taken(run, call.arg(1))?, false, ALL)
            .len(),
    ))
}

pub(super) fn zremrangebyrank(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    remove_range(run, call, By::Rank)
}

pub(super) fn zremrangebyscore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    remove_range(run, call, By::Score)
}

pub(super) fn zremrangebylex(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    remove_range(run, call, By::Bytes)
}

fn remove_range(run: &mut Run<'_>, call: &Call<'_>, by: By) -> Answer {
    let selection = Selection::parse(call, by, 2, 3)?;
    let mut set = taken(run, call.arg(1))?;
    let places = selection.places(&set, false, ALL);
    let gone = places.len();
    if gone > 0 {
        Arc::make_mut(&mut set).members.drain(places);
        save(run, call.arg(1), set);
    }
    Ok(count(gone))
}

/// Takes up to a number of members off the low or the high end.
fn pop_some(
    run: &mut Run<'_>,
    key: &[u8],
    highest: bool,
    wanted: i64,
) -> Result<Vec<(Score, Bytes)>, Instead> {
    let mut set = taken(run, key)?;
    let number = at_most(wanted).min(set.len());
    if number == 0 {
        return Ok(Vec::new());
    }
    let members = &mut Arc::make_mut(&mut set).members;
    let places = if highest {
        members.len() - number..members.len()
    } else {
        0..number
    };
    let mut popped: Vec<(Score, Bytes)> = members.drain(places).collect();
    if highest {
        popped.reverse();
    }
    save(run, key, set);
    Ok(popped)
}

pub(super) fn zpopmin(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    pop(run, call, false)
}

pub(super) fn zpopmax(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    pop(run, call, true)
}

fn pop(run: &mut Run<'_>, call: &Call<'_>, highest: bool) -> Answer {
    if call.len() > 3 {
        return Err(SYNTAX.into());
    }
    let wanted = if call.len() == 3 {
        call.not_negative(2)?
    } else {
        1
    };
    Ok(listed(pop_some(run, call.arg(1), highest, wanted)?, true))
}

/// What ZMPOP and BZMPOP take: keys, the end, and how many members.
struct PopMany<'a> {
    keys: &'a [Vec<u8>],
    highest: bool,
    number: i64,
}

fn pop_many<'a>(call: &Call<'a>, at: usize) -> Result<PopMany<'a>, Instead> {
    let (keys, place) = call.counted_keys(at)?;
    let highest = call.is(place, "MAX");
    if !highest && !call.is(place, "MIN") {
        return Err(SYNTAX.into());
    }
    Ok(PopMany {
        keys,
        highest,
        number: call.pop_count(place + 1)?,
    })
}

fn pop_first_of(run: &mut Run<'_>, many: &PopMany<'_>) -> Result<Option<Reply>, Instead> {
    for key in many.keys {
        if run.sorted_set(key)?.is_some() {
            return key_and_popped(run, key, many).map(Some);
        }
    }
    Ok(None)
}

fn key_and_popped(run: &mut Run<'_>, key: &[u8], many: &PopMany<'_>) -> Answer {
    let popped = pop_some(run, key, many.highest, many.number)?;
    let pairs = popped
        .into_iter()
        .map(|pair| listed(vec![pair], true))
        .collect();
    Ok(Reply::Array(vec![Reply::bulk(key), Reply::Array(pairs)]))
}

pub(super) fn zmpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let many = pop_many(call, 1)?;
    Ok(pop_first_of(run, &many)?.unwrap_or(Reply::Nil))
}

pub(super) fn bzmpop(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let many = pop_many(call, 2)?;
    let timeout = blocking::seconds(call, 1)?;
    match pop_first_of(run, &many)? {
        Some(reply) => Ok(reply),
        None => Waiting::for_keys(run, many.keys, timeout),
    }
}

pub(super) fn bzpopmin(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    blocking_pop(run, call, false)
}

pub(super) fn bzpopmax(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    blocking_pop(run, call, true)
}

fn blocking_pop(run: &mut Run<'_>, call: &Call<'_>, highest: bool) -> Answer {
    let (keys, timeout) = call.keys_and_timeout()?;
    for key in keys {
        if run.sorted_set(key)?.is_some() {
            return pop_with_key(run, key, highest);
        }
    }
    Waiting::for_keys(run, keys, timeout)
}

fn pop_with_key(run: &mut Run<'_>, key: &[u8], highest: bool) -> Answer {
    let mut reply = vec![Reply::bulk(key)];
    for (score, member) in pop_some(run, key, highest, 1)? {
        reply.extend([Reply::bulk(member), score.reply()]);
    }
    Ok(Reply::Array(reply))
}

/// Serves a blocked command from a key that holds a sorted set.
pub(super) fn serve(run: &mut Run<'_>, call: &Call<'_>, key: &[u8]) -> Answer {
    match call.command.name {
        "BZPOPMIN" => pop_with_key(run, key, false),
        "BZPOPMAX" => pop_with_key(run, key, true),
        _ => key_and_popped(run, key, &pop_many(call, 2)?),
    }
}

/// How several sets become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combination {
    Union,
    Intersection,
    Difference,
}

/// What is made of the scores of one member.
type Aggregate = fn(f64, f64) -> f64;

/// The sum; of opposite infinities, 0.
fn sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.is_nan() { 0.0 } else { sum }
}

fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

fn greater(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// One input of a combination: a sorted set, or a set whose members all have the score 1.
struct Source {
    set: SortedSet,
    weight: f64,
}

impl Source {
    /// The weighted score; of an infinite one with the weight 0, 0.
    fn weighted(&self, score: Score) -> f64 {
        let weighted = score.0 * self.weight;
        if weighted.is_nan() { 0.0 } else { weighted }
    }
}

/// What a combination is for, which decides its options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Show,
    Store,
    Count,
}

struct Combined {
    members: Vec<(Score, Bytes)>,
    with_scores: bool,
    limit: i64,
}

fn combine(
    run: &Run<'_>,
    call: &Call<'_>,
    at: usize,
    combination: Combination,
    purpose: Use,
) -> Result<Combined, Instead> {
    let (mut sources, end) = sources(run, call, at)?;
    let mut options = CombinationOptions {
        aggregate: sum,
        with_scores: false,
        limit: 0,
    };
    let weighable = combination != Combination::Difference && purpose != Use::Count;
    options.parse(call, end, &mut sources, weighable, purpose)?;
    if combination != Combination::Difference {
        // Redis goes from the smallest set to the largest, which decides how sums are rounded.
        crate::sorted::sort_by(&mut sources, &mut |a, b| a.set.len().cmp(&b.set.len()));
    }
    let members = result(&sources, combination, options.aggregate).members;
    Ok(Combined {
        members,
        with_scores: options.with_scores,
        limit: options.limit,
    })
}

/// The sets whose number stands at this place, and the place after them.
fn sources(run: &Run<'_>, call: &Call<'_>, at: usize) -> Result<(Vec<Source>, usize), Instead> {
    let number = call.integer(at)?;
    if number < 1 {
        let name = call.command.shown_name();
        return Err(format!("ERR at least 1 input key is needed for '{name}' command").into());
    }
    let first = at + 1;
    let end = at_most(number)
        .checked_add(first)
        .filter(|end| *end <= call.len())
        .ok_or(SYNTAX)?;
    let keys = call.argv.get(first..end).unwrap_or(&[]);
    Ok((
        keys.iter()
            .map(|key| source(run, key))
            .collect::<Result<_, _>>()?,
        end,
    ))
}

struct CombinationOptions {
    aggregate: Aggregate,
    with_scores: bool,
    limit: i64,
}

impl CombinationOptions {
    /// Reads the options from this place on; the weights go to the sources.
    fn parse(
        &mut self,
        call: &Call<'_>,
        mut at: usize,
        sources: &mut [Source],
        weighable: bool,
        purpose: Use,
    ) -> Result<(), Instead> {
        while at < call.len() {
            let left = call.len() - at;
            if weighable && call.is(at, "WEIGHTS") && left > sources.len() {
                for source in sources.iter_mut() {
                    at += 1;
                    let weight = number::parse_double(call.arg(at));
                    source.weight = weight.ok_or("ERR weight value is not a float")?;
                }
            } else if weighable && call.is(at, "AGGREGATE") && left >= 2 {
                at += 1;
                self.aggregate = aggregate(call.arg(at))?;
            } else if purpose == Use::Show && call.is(at, "WITHSCORES") {
                self.with_scores = true;
            } else if purpose == Use::Count && call.is(at, "LIMIT") && left >= 2 {
                at += 1;
                self.limit = call.integer_within(at, 0, i64::MAX, "ERR LIMIT can't be negative")?;
            } else {
                return Err(SYNTAX.into());
            }
            at += 1;
        }
        Ok(())
    }
}

fn aggregate(name: &[u8]) -> Result<Aggregate, Instead> {
    match name.to_ascii_uppercase().as_slice() {
        b"SUM" => Ok(sum),
        b"MIN" => Ok(lesser),
        b"MAX" => Ok(greater),
        _ => Err(SYNTAX.into()),
    }
}

fn source(run: &Run<'_>, key: &[u8]) -> Result<Source, Instead> {
    let mut set = SortedSet::default();
    match run.value(key) {
        None => {}
        Some(Value::SortedSet(sorted)) => set = SortedSet::clone(sorted),
        // All scores are equal and the members are distinct: sorting them is all there is to do.
        Some(Value::Set(plain)) => {
            set.members = plain
                .members()
                .into_iter()
                .map(|member| (Score(1.0), member))
                .collect();
            crate::sorted::sort_by(&mut set.members, &mut |a, b| a.1.cmp(&b.1));
        }
        Some(_) => return Err(WRONG_TYPE.into()),
    }
    Ok(Source { set, weight: 1.0 })
}

fn result(sources: &[Source], combination: Combination, aggregate: Aggregate) -> SortedSet {
    // Redis gathers the result in a skip list, in which -0 is kept.
    let mut result = SortedSet {
        members: Vec::new(),
        large: true,
    };
    let Some((first, others)) = sources.split_first() else {
        return result;
    };
    match combination {
        Combination::Union => {
            for source in sources {
                for (score, member) in source.set.iter() {
                    let weighted = source.weighted(score);
                    let total = result
                        .score(member)
                        .map_or(weighted, |known| aggregate(known.0, weighted));
                    result.set(total, member);
                }
            }
        }
        Combination::Intersection => {
            for (score, member) in first.set.iter() {
                // Only of the first set's scores does Redis make 0 where they are not numbers.
                let start = Some(first.weighted(score));
                let total = others.iter().fold(start, |total, other| {
                    Some(aggregate(total?, other.set.score(member)?.0 * other.weight))
                });
                if let Some(total) = total {
                    result.set(total, member);
                }
            }
        }
        Combination::Difference => {
            for (score, member) in first
                .set
                .iter()
                .filter(|(_, member)| others.iter().all(|other| other.set.rank(member).is_none()))
            {
                result.set(score.0, member);
            }
        }
    }
    result
}

fn show_combined(run: &Run<'_>, call: &Call<'_>, combination: Combination) -> Answer {
    let combined = combine(run, call, 1, combination, Use::Show)?;
    Ok(listed(combined.members, combined.with_scores))
}

fn store_combined(run: &mut Run<'_>, call: &Call<'_>, combination: Combination) -> Answer {
    let combined = combine(run, call, 2, combination, Use::Store)?;
    Ok(store(run, call.arg(1), combined.members))
}

pub(super) fn zunion(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_combined(run, call, Combination::Union)
}

pub(super) fn zinter(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_combined(run, call, Combination::Intersection)
}

pub(super) fn zdiff(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    show_combined(run, call, Combination::Difference)
}

pub(super) fn zunionstore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    store_combined(run, call, Combination::Union)
}

pub(super) fn zinterstore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    store_combined(run, call, Combination::Intersection)
}

pub(super) fn zdiffstore(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    store_combined(run, call, Combination::Difference)
}

pub(super) fn zintercard(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let combined = combine(run, call, 1, Combination::Intersection, Use::Count)?;
    let limit = usize::try_from(combined.limit)
        .ok()
        .filter(|limit| *limit > 0)
        .unwrap_or(usize::MAX);
    Ok(count(combined.members.len().min(limit)))
}

/// ZRANDMEMBER: the first members, over and over where the count is negative.
pub(super) fn zrandmember(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() < 3 {
        let set = taken(run, call.arg(1))?;
        return Ok(set
            .members
            .first()
            .map_or(Reply::Nil, |(_, member)| Reply::bulk(member)));
    }
    let wanted = call.negatable(2)?;
    let with_scores = call.len() == 4 && call.is(3, "WITHSCORES");
    if call.len() > 3 && !with_scores {
        return Err(SYNTAX.into());
    }
    Ok(listed(
        draw(&taken(run, call.arg(1))?.members, wanted, with_scores)?,
        with_scores,
    ))
}

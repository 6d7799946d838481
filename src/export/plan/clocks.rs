//! Time and clocks: no server's clock can be moved, so its deadlines are.

use std::collections::BTreeSet;

use crate::export::Refusal;
use crate::scenario::Reading;
use crate::sim::action::{Action, ClockOf, ServerId, Who};
use crate::sim::client::OwnClock;
use crate::sim::client::protocol::Request;
use crate::sim::event::{Answer, Fact};
use crate::sim::store::Cause;
use crate::sim::store::reply::Reply;
use crate::sim::time::{START_OF_WALL_CLOCK, in_words};
use crate::sim::world::World;
use crate::timeline::{Entry, Timeline};

use super::schedule::Builder;
use super::{Key, Move};

/// The key by which scripts that read the time are told how far the schedule has moved the clock.
pub(crate) const CLOCK_KEY: &str = "clock:ahead";

/// A key that is still there is not brought nearer to its deadline than this, in milliseconds: it must not lapse by itself.
pub(super) const NEAREST: u64 = 1000;

/// Stands before a script that reads the time where the schedule moves the clock.
pub(crate) const CLOCK_IN_SCRIPTS: &str = "\
-- Only in this test: no server's clock can be moved, so TIME is read with what the schedule has moved it by.
local server = redis
local redis = setmetatable({
  call = function(command, ...)
    local reply = server.call(command, ...)
    if string.lower(command) == 'time' then
      local now = reply[1] * 1000 + math.floor(reply[2] / 1000) + (server.call('GET', 'clock:ahead') or 0)
      return {tostring(math.floor(now / 1000)), tostring(now % 1000 * 1000)}
    end
    return reply
  end,
}, {__index = server})
";

impl<'a> Builder<'a> {
    /// A clock jumps: a client's own, a server's, or the database's.
    pub(super) fn jump(
        &mut self,
        place: usize,
        entry: &'a Entry,
        clock: ClockOf,
        milliseconds: i64,
    ) -> Result<(), Refusal> {
        match clock {
            ClockOf::Client(client) => self.own[client.0].moved += milliseconds,
            ClockOf::Database => {
                self.database_now += milliseconds;
            }
            ClockOf::Server(server) => {
                if self.script_clock && self.plan.servers.len() > 1 {
                    return self.refused(
                        place,
                        "scripts read the time of one server, and only that one's clock jumps",
                    );
                }
                let mut moves = self.lapses(entry);
                moves.extend(self.ages(place, Some(server)));
                if self.script_clock {
                    moves.push(Move::Ahead(milliseconds));
                }
                if moves.is_empty() {
                    return Ok(());
                }
                let name = self.setup.server_name(server);
                let (how, direction) = match milliseconds {
                    ..0 => ("every deadline is so much further away", "back"),
                    _ => (
                        "what lapses by that expires at once, and every other deadline comes so much nearer",
                        "forward",
                    ),
                };
                let by = in_words(milliseconds.unsigned_abs());
                let remark = format!(
                    "The clock of {name} jumps {direction} by {by}: in place of that, {how}."
                );
                moves.insert(0, Move::Remark(remark));
                self.act(
                    Who::Operator,
                    moves,
                    format!("the clock of {name} has jumped"),
                );
            }
        }
        Ok(())
    }

    /// The keys whose deadline has passed by this action.
    pub(super) fn lapses(&self, entry: &Entry) -> Vec<Move<'a>> {
        let lapses = entry.events.iter().filter_map(|event| match &event.fact {
            Fact::KeyChanged {
                server,
                key,
                cause: Cause::Lapse | Cause::ClockJump,
                ..
            } => Some(Move::Lapse(self.at(*server, key))),
            _ => None,
        });
        lapses.collect()
    }

    /// What is left to the keys with a deadline after this action, on one server or on all: of those that somebody looks at, or
    /// that are there in the end.
    pub(super) fn ages(&self, place: usize, only: Option<ServerId>) -> Vec<Move<'a>> {
        if !self.ages && self.lasting.is_empty() {
            return Vec::new();
        }
        let world = self.timeline.moment(place + 1).world;
        let mut ages = Vec::new();
        for (server, store) in world.stores.iter().enumerate() {
            let server = ServerId(server);
            if only.is_some_and(|only| only != server) {
                continue;
            }
            for (key, state) in store.keys() {
                if !self.ages && !self.lasting.contains(&Key::on(server, key)) {
                    continue;
                }
                let remaining = state.remaining.map(|remaining| remaining.max(NEAREST));
                ages.extend(remaining.map(|remaining| Move::Age(self.at(server, key), remaining)));
            }
        }
        ages
    }

    pub(super) fn time(&mut self, place: usize, entry: &'a Entry) {
        let mut passed = 0;
        let mut phrase = "time has passed".to_owned();
        for event in &entry.events {
            match &event.fact {
                Fact::TimePassed { milliseconds } => passed += milliseconds,
                Fact::KeyChanged {
                    key,
                    cause: Cause::Lapse,
                    ..
                } => phrase = self.lapsed(key),
                _ => {}
            }
        }
        let whole = i64::try_from(passed).unwrap_or(i64::MAX);
        self.database_now += whole;
        for own in &mut self.own {
            own.moved += i64::try_from(own.clock.pass(passed)).unwrap_or(i64::MAX);
            own.passed += passed;
        }
        let mut moves = self.lapses(entry);
        moves.extend(self.ages(place, None));
        if self.script_clock && passed > 0 {
            moves.push(Move::Ahead(whole));
        }
        if !moves.is_empty() {
            moves.insert(0, Move::Remark(later(passed, &moves)));
            self.act(Who::Operator, moves, phrase);
        }
    }

    /// What somebody's connection to the database has to be told of the clock.
    pub(super) fn catch_up(&mut self, who: Who, request: &Request) -> Vec<Move<'a>> {
        if !matches!(request, Request::Database(_)) {
            return Vec::new();
        }
        let place = match who {
            Who::Client(client) => client.0,
            Who::Operator => self.setup.clients.len(),
        };
        let is_first = self.told[place].is_none();
        let is_told = self.told[place].replace(self.database_now) == Some(self.database_now);
        match self.database_clock && !is_told {
            true => vec![Move::DatabaseClock {
                now: self.database_now,
                is_first,
            }],
            false => Vec::new(),
        }
    }

    pub(super) fn lapsed(&self, key: &[u8]) -> String {
        format!("{} has lapsed", self.thing(key))
    }
}

pub(crate) fn reads_time(source: &str) -> bool {
    let source = source.to_ascii_lowercase();
    source.contains("'time'") || source.contains("\"time\"")
}

/// A client's own clock, and how far it has gone on since the client did something.
#[derive(Clone, Copy, Default)]
pub(super) struct OwnTime {
    pub(super) clock: OwnClock,
    /// By itself, in milliseconds; negative where it was set back.
    pub(super) moved: i64,
    /// By a clock that is right.
    pub(super) passed: u64,
}

/// What the operator does in place of waiting.
pub(super) fn later(passed: u64, moves: &[Move<'_>]) -> String {
    let lapses = moves.iter().any(|act| matches!(act, Move::Lapse(_)));
    let ages = moves.iter().any(|act| matches!(act, Move::Age(..)));
    let how = match (lapses, ages) {
        (true, true) => {
            "instead of waiting, what lapses by then expires at once, and the rest comes so much nearer to it"
        }
        (true, false) => "instead of waiting, what lapses by then expires at once",
        (false, true) => "instead of waiting, every deadline comes so much nearer",
        (false, false) => "instead of waiting, scripts read another time",
    };
    format!("{} later: {how}.", in_words(passed))
}

/// The keys with a deadline.
pub(super) fn lasting(world: &World) -> Vec<Key> {
    let mut keys = Vec::new();
    for (server, store) in world.stores.iter().enumerate() {
        let lasting = store.keys().filter(|(_, state)| state.remaining.is_some());
        keys.extend(lasting.map(|(key, _)| Key::on(ServerId(server), key)));
    }
    keys
}

/// Whether a statement asks what time it is.
pub(crate) fn reads_database_clock(reading: &Reading) -> bool {
    reading.requests().any(|request| match request {
        Request::Database(Ok(statement)) => {
            let source = statement.source().to_ascii_lowercase();
            let mut words =
                source.split(|other: char| !other.is_ascii_alphanumeric() && other != '_');
            words.any(|word| {
                [
                    "now",
                    "unix_timestamp",
                    "current_timestamp",
                    "curdate",
                    "curtime",
                    "localtime",
                    "utc_timestamp",
                ]
                .contains(&word)
            })
        }
        _ => false,
    })
}

/// Whether an answer of Redis has a time of day in it, in seconds or in milliseconds.
pub(super) fn tells_the_time(answer: &Answer) -> bool {
    const YEARS: i64 = 10 * 365 * 24 * 60 * 60;
    let is_time = |number: i64| {
        let start = i64::try_from(START_OF_WALL_CLOCK).unwrap_or(i64::MAX);
        (number - start / 1000).abs() < YEARS || (number - start).abs() < YEARS * 1000
    };
    match answer {
        Answer::Store(Reply::Integer(number)) => is_time(*number),
        Answer::Store(Reply::Bulk(bytes)) => {
            let digits = String::from_utf8_lossy(bytes);
            digits.parse().is_ok_and(is_time)
        }
        Answer::Store(Reply::Array(items)) => {
            let mut items = items.iter().cloned();
            items.any(|item| tells_the_time(&Answer::Store(item)))
        }
        _ => false,
    }
}

/// The places in the schedule whose replies are others when every action takes a few milliseconds.
pub(crate) fn depends_on_time(reading: &Reading, timeline: &Timeline) -> BTreeSet<usize> {
    let mut slow = Timeline::new(reading.setup.clone());
    let mut loose = BTreeSet::new();
    for (place, entry) in timeline.entries().iter().enumerate() {
        slow.push(Action::Advance { milliseconds: 3 });
        let reply = slow.push(entry.action.clone()).reply_in_short();
        if reply != entry.reply_in_short() {
            loose.insert(place);
        }
    }
    loose
}

/// The words of all that is sent, in lower case.
pub(super) fn words_of_requests(reading: &Reading) -> BTreeSet<String> {
    let setup = &reading.setup;
    let mut texts: Vec<String> = setup
        .scripts
        .values()
        .map(|source| String::from_utf8_lossy(source).into_owned())
        .collect();
    texts.extend(
        setup
            .protocols
            .iter()
            .flat_map(|protocol| &protocol.steps)
            .flat_map(|step| step.source.iter().cloned()),
    );
    for line in &reading.schedule {
        if let Action::Command { source, .. } = &line.action {
            texts.push(source.clone());
        }
    }
    let words = texts
        .iter()
        .flat_map(|text| text.split(|other: char| !other.is_ascii_alphanumeric() && other != '_'));
    words.map(str::to_ascii_lowercase).collect()
}

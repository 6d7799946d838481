//! Who does what and waits for whom: a schedule as parts that run side by side, in no language yet.
//!
//! ```text
//! A acquire          client A        operator              client B
//! clock +10001ms     acquire
//! B acquire          ─ open ─────►   wait
//! A token                            PEXPIRE lock 0
//!                                    ─ open ────────────►  wait
//!                    wait ◄──────────────────── open ────  acquire
//!                    token
//! ```
//!
//! Steps of one client follow one another by themselves; wherever the schedule goes on with somebody else there is one latch,
//! named after what it waits for.

use std::collections::BTreeSet;

use crate::link;
use crate::scenario::Reading;
use crate::sim::action::{Action, ClientId, ServerId, Who};
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{SqlReply, Statement, Value as SqlValue};
use crate::sim::event::{Answer, Fact, Value};
use crate::sim::setup::Setup;
use crate::sim::store::reply::Reply;
use crate::sim::store::{Cause, Value as StoreValue};
use crate::sim::time::in_words;
use crate::sim::world::World;
use crate::sorted::SortedMap;
use crate::timeline::{Entry, Timeline};

use super::Refusal;
use super::claim::{Claim, Evidence, claims};
use super::request::Call;
use super::routine::Routine;
use super::words::done;

/// The key by which scripts that read the time are told how far the schedule has moved the clock.
pub(crate) const CLOCK_KEY: &str = "clock:ahead";

/// What somebody is called who is no client.
pub(super) const OPERATOR: &str = "operator";

/// A key that is still there is not brought nearer to its deadline than this, in milliseconds: it must not lapse by itself.
const NEAREST: u64 = 1000;

/// Everything that a test needs to know, in no language yet.
pub(super) struct Plan<'a> {
    /// What stands before the schedule.
    pub setup: &'a Setup,
    /// The statements that stand before the schedule.
    pub statements: Vec<Statement>,
    /// The first line of the text.
    pub title: String,
    /// What follows it.
    pub description: &'a str,
    /// The share link.
    pub link: String,
    /// The scripts that are sent, as they are sent.
    pub scripts: Vec<(String, String)>,
    /// The protocols that the schedule runs.
    pub routines: Vec<Routine<'a>>,
    /// Who takes part: clients in their order, and the operator.
    pub parts: Vec<Part<'a>>,
    /// The latches, each by what it waits for.
    pub latches: Vec<String>,
    /// The replies, in the schedule's order.
    pub seen: Vec<Seen<'a>>,
    /// Every key that is there at any time.
    pub keys: Vec<Vec<u8>>,
    /// Every table that is there at any time.
    pub tables: Vec<String>,
    /// What the schedule says of the properties.
    pub claims: Vec<Claim>,
    /// The rows at the end, by table.
    pub rows: Vec<FinalRows>,
    /// The keys at the end; `None`: it is gone.
    pub final_keys: Vec<(Vec<u8>, Option<FinalKey>)>,
    /// The charges at the end: order, amount, whether it was refunded.
    pub charges: Vec<(String, u64, bool)>,
    /// Whether Redis takes part.
    pub store: bool,
    /// Whether the database takes part.
    pub database: bool,
    /// Whether the card gateway takes part.
    pub gateway: bool,
    /// Whether sales are noted.
    pub sells: bool,
}

/// A client, or the operator.
pub(super) struct Part<'a> {
    /// The client's name, or `operator`.
    pub name: &'a str,
    /// What is done, in order.
    pub moves: Vec<Move<'a>>,
}

impl Part<'_> {
    /// Whether this is not a client.
    pub fn is_operator(&self) -> bool {
        self.name == OPERATOR
    }
}

/// One thing that somebody does.
pub(super) enum Move<'a> {
    /// Begins an attempt of the protocol at this place in `routines`.
    Run {
        /// Which.
        routine: usize,
        /// What `me` is.
        me: String,
        /// The client's parameters.
        parameters: &'a SortedMap<String, Value>,
    },
    /// Sends the request of the next step and sees the reply.
    Step(&'a str),
    /// Sends the request of the next step; the reply waits.
    Send(&'a str),
    /// Sees the reply that has waited.
    See(&'a str),
    /// Sends what is typed at a console.
    Ask {
        /// As it is typed.
        source: &'a str,
        /// With values in place of variables.
        request: Request,
        /// The place in `seen`.
        seen: usize,
    },
    /// Waits for a latch.
    Wait(usize),
    /// Opens a latch.
    Open(usize),
    /// Time passes beyond a key's deadline.
    Lapse(Vec<u8>),
    /// Time passes, and so much remains of a key's.
    Age(Vec<u8>, u64),
    /// Time passes for scripts that read it.
    Ahead(u64),
    /// Time passes for the connection's statements that read it.
    DatabaseClock(u64),
    /// A key is lost.
    Wipe(Vec<u8>),
    /// The client is gone, and its connections with it.
    Crash,
    /// The client comes back, with new connections.
    Restart,
    /// Looks whether a key is there.
    LookForKey(Vec<u8>),
    /// Looks how long a key will be there.
    LookForDeadline(Vec<u8>),
    /// What happens, in words.
    Remark(String),
}

/// A reply that somebody got.
pub(super) struct Seen<'a> {
    /// Who.
    pub who: &'a str,
    /// The step's label, or what was typed.
    pub what: &'a str,
    /// What came.
    pub answer: &'a Answer,
    /// Whether it depends on how much time passes meanwhile.
    pub is_loose: bool,
    /// What it is like.
    pub shape: super::routine::Shape,
}

/// A table's rows at the end.
pub(super) struct FinalRows {
    /// The table.
    pub table: String,
    /// The columns of its primary key.
    pub order: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<SqlValue>>,
}

/// A key's value and its deadline at the end.
pub(super) struct FinalKey {
    /// The value.
    pub value: StoreValue,
    /// Milliseconds that remain.
    pub remaining: Option<u64>,
}

impl<'a> Plan<'a> {
    /// The plan for a scenario whose schedule has been played.
    ///
    /// # Errors
    /// What no test against real servers can do.
    pub fn new(
        text: &str,
        reading: &'a Reading,
        timeline: &'a Timeline,
    ) -> Result<Plan<'a>, Refusal> {
        let setup: &Setup = &reading.setup;
        if timeline.moment(0).world.stores.len() > 1 {
            return Err(Refusal(
                "a test has one Redis, and this scenario has several".to_owned(),
            ));
        }
        let mut builder = Builder::new(reading, timeline);
        for (place, entry) in timeline.entries().iter().enumerate() {
            builder.entry(place, entry)?;
        }
        let mut plan = builder.plan;
        plan.link = link::encode(text, reading.schedule.len());
        plan.parts.retain(|part| !part.moves.is_empty());
        let sent = setup
            .protocols
            .iter()
            .flat_map(|protocol| &protocol.steps)
            .map(|step| &step.request);
        let names: BTreeSet<String> = sent
            .chain(plan.asked())
            .flat_map(scripts_of)
            .cloned()
            .collect();
        let moves_clock = plan
            .parts
            .iter()
            .flat_map(|part| &part.moves)
            .any(|act| matches!(act, Move::Ahead(_)));
        for name in names {
            let source = String::from_utf8_lossy(&setup.scripts[&name]).into_owned();
            let source = if moves_clock && reads_time(&source) {
                format!("{CLOCK_IN_SCRIPTS}{source}")
            } else {
                source
            };
            plan.scripts.push((name, source));
        }
        if moves_clock {
            plan.keys.push(CLOCK_KEY.as_bytes().to_vec());
        }
        for (place, is_asked) in plan.servers_asked().into_iter().enumerate() {
            *[&mut plan.store, &mut plan.database, &mut plan.gateway][place] = is_asked;
        }
        plan.store |= !plan.keys.is_empty();
        plan.database |= !setup.statements.is_empty();
        plan.sells &= plan.routines.iter().any(|routine| routine.sells);
        plan.end(&timeline.moment(timeline.len()).world);
        Ok(plan)
    }

    /// The first line of the text, or what a test without one is called.
    pub fn title(&self) -> &str {
        match self.title.as_str() {
            "" => "A schedule of lock clients",
            title => title,
        }
    }

    /// Whether a row that is expected holds a number with digits behind the point.
    pub fn has_decimals(&self) -> bool {
        let seen = self.seen.iter().filter_map(|seen| match seen.answer {
            Answer::Database(SqlReply::Rows { rows, .. }) => Some(rows),
            _ => None,
        });
        let ends = self.rows.iter().map(|table| &table.rows);
        let is_decimal =
            |value: &SqlValue| matches!(value, SqlValue::Decimal(number) if number.scale() > 0);
        let mut rows = seen.chain(ends).flatten();
        rows.any(|row| row.iter().any(is_decimal))
    }

    /// Whether something that is expected is a list.
    pub fn has_lists(&self) -> bool {
        let is_list = |answer: &Answer| {
            matches!(
                answer,
                Answer::Store(Reply::Array(_)) | Answer::Database(SqlReply::Rows { .. })
            )
        };
        let keys = self.final_keys.iter().filter_map(|(_, key)| key.as_ref());
        let mut values = keys.map(|key| &key.value);
        self.seen.iter().any(|seen| is_list(seen.answer))
            || values.any(|value| !matches!(value, StoreValue::String(_)))
    }

    /// Whether a request is of this kind.
    pub fn calls(&self, wanted: &dyn Fn(&Call<'_>) -> bool) -> bool {
        let is_wanted = |request: &Request| wanted(&Call::of(request));
        let mut routines = self.routines.iter();
        routines.any(|routine| routine.sends(&|send| is_wanted(&send.step.request)))
            || self.asked().any(is_wanted)
    }

    /// Whether somebody looks at something in between.
    pub fn looks(&self, wanted: fn(&Move<'_>) -> bool) -> bool {
        self.parts.iter().flat_map(|part| &part.moves).any(wanted)
    }

    fn asked(&self) -> impl Iterator<Item = &Request> {
        self.parts
            .iter()
            .flat_map(|part| &part.moves)
            .filter_map(|act| match act {
                Move::Ask { request, .. } => Some(request),
                _ => None,
            })
    }

    /// Whether Redis, the database and the gateway are asked for anything.
    fn servers_asked(&self) -> [bool; 3] {
        let asks = |wanted: fn(&Request) -> bool| self.asked().any(wanted);
        [
            self.routines.iter().any(|routine| routine.store)
                || asks(|request| matches!(request, Request::Store(..))),
            self.routines.iter().any(|routine| routine.database)
                || asks(|request| matches!(request, Request::Database(_))),
            self.routines.iter().any(|routine| routine.gateway)
                || asks(|request| matches!(request, Request::Gateway(_))),
        ]
    }

    fn end(&mut self, world: &World) {
        for table in world.database.tables() {
            self.rows.push(FinalRows {
                table: table.name().to_owned(),
                order: table.primary_key().into_iter().map(str::to_owned).collect(),
                rows: table.rows().map(|row| row.values().to_vec()).collect(),
            });
        }
        for key in self
            .keys
            .iter()
            .filter(|key| key.as_slice() != CLOCK_KEY.as_bytes())
        {
            let state = world.store(ServerId::FIRST).get(key).map(|state| FinalKey {
                value: state.value,
                remaining: state.remaining.map(|remaining| remaining.max(NEAREST)),
            });
            self.final_keys.push((key.clone(), state));
        }
        for charge in world.gateway.charges() {
            self.charges
                .push((charge.order.clone(), charge.amount, charge.refunded));
        }
    }
}

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

pub(crate) fn reads_time(source: &str) -> bool {
    let source = source.to_ascii_lowercase();
    source.contains("'time'") || source.contains("\"time\"")
}

/// The scripts that a request sends.
fn scripts_of(request: &Request) -> Vec<&String> {
    let Request::Store(_, arguments) = request else {
        return Vec::new();
    };
    let scripts = arguments.iter().filter_map(|argument| match argument {
        Argument::ScriptSource(name) => Some(name),
        _ => None,
    });
    scripts.collect()
}

struct Builder<'a> {
    reading: &'a Reading,
    setup: &'a Setup,
    timeline: &'a Timeline,
    plan: Plan<'a>,
    /// Who did something last, and what a latch that waits for it is called.
    last: Option<(Who, String)>,
    /// How many attempts each client has begun, and in which the plan has it.
    attempts: Vec<(usize, usize)>,
    /// What the clock has moved and a client's connection to the database does not know.
    behind: Vec<u64>,
    /// The replies that depend on time.
    loose: BTreeSet<usize>,
    ages: bool,
    script_clock: bool,
    database_clock: bool,
}

impl<'a> Builder<'a> {
    fn new(reading: &'a Reading, timeline: &'a Timeline) -> Builder<'a> {
        let setup: &Setup = &reading.setup;
        let mut parts: Vec<Part<'a>> = Vec::new();
        for client in &setup.clients {
            parts.push(Part {
                name: &client.name,
                moves: Vec::new(),
            });
        }
        parts.push(Part {
            name: OPERATOR,
            moves: Vec::new(),
        });
        let start = timeline.moment(0).world;
        let mut keys: Vec<Vec<u8>> = start
            .store(ServerId::FIRST)
            .keys()
            .map(|(key, _)| key.to_vec())
            .collect();
        for event in timeline.entries().iter().flat_map(|entry| &entry.events) {
            if let Fact::KeyChanged { key, .. } = &event.fact {
                keys.push(key.clone());
            }
        }
        crate::sorted::sort(&mut keys);
        keys.dedup();
        let end = timeline.moment(timeline.len()).world;
        let mut tables: Vec<String> = start
            .database
            .tables()
            .chain(end.database.tables())
            .map(|table| table.name().to_owned())
            .collect();
        crate::sorted::sort(&mut tables);
        tables.dedup();
        let claims = claims(setup, timeline);
        let counts_sales = |claim: &Claim| {
            matches!(
                claim.evidence,
                Evidence::ShrunkBySales(..) | Evidence::PaidIsSold | Evidence::SoldIsPaid
            )
        };
        let sells = claims.iter().any(counts_sales);
        let plan = Plan {
            setup,
            statements: setup.statements.iter().map(tidy).collect(),
            title: reading.title.clone(),
            description: &reading.description,
            link: String::new(),
            scripts: Vec::new(),
            routines: Vec::new(),
            parts,
            latches: Vec::new(),
            seen: Vec::new(),
            keys,
            tables,
            claims,
            rows: Vec::new(),
            final_keys: Vec::new(),
            charges: Vec::new(),
            store: false,
            database: false,
            gateway: false,
            sells,
        };
        let words = words_of_requests(reading);
        Builder {
            reading,
            setup,
            timeline,
            plan,
            last: None,
            attempts: vec![(1, 0); setup.clients.len()],
            behind: vec![0; setup.clients.len() + 1],
            loose: depends_on_time(reading, timeline),
            ages: [
                "ttl",
                "pttl",
                "gt",
                "lt",
                "keepttl",
                "expiretime",
                "pexpiretime",
            ]
            .iter()
            .any(|word| words.contains(*word)),
            script_clock: setup
                .scripts
                .values()
                .any(|source| reads_time(&String::from_utf8_lossy(source))),
            database_clock: reads_database_clock(reading),
        }
    }

    fn refused<T>(&self, place: usize, why: &str) -> Result<T, Refusal> {
        let line = self.reading.schedule.get(place).map_or(0, |line| line.line);
        Err(Refusal(format!("line {line}: {why}")))
    }

    fn entry(&mut self, place: usize, entry: &'a Entry) -> Result<(), Refusal> {
        if let Some(why) = entry.refusal() {
            return self.refused(place, &format!("this is not possible: {why}"));
        }
        if entry.waits() {
            return self.refused(place, "a request that waits for somebody else would hold up its client's whole part of the test");
        }
        match &entry.action {
            Action::Step { client, step } => self.step(place, entry, *client, *step)?,
            Action::Command {
                who,
                source,
                request,
            } => self.ask(place, entry, *who, source, request)?,
            Action::LoseRequest { .. }
            | Action::Delay { .. }
            | Action::Deliver { .. }
            | Action::LoseReply { .. } => {
                return self.refused(
                    place,
                    "no client library loses or delays a message on purpose",
                );
            }
            Action::Crash { client } => {
                let phrase = format!("{} has crashed", self.setup.clients[client.0].name);
                self.act(Who::Client(*client), vec![Move::Crash], phrase);
                self.attempts[client.0].1 = 0;
            }
            Action::Restart { client } => {
                let phrase = format!("{} has come back", self.setup.clients[client.0].name);
                self.act(Who::Client(*client), vec![Move::Restart], phrase);
            }
            Action::Advance { .. } | Action::AdvanceToNextDeadline => self.time(place, entry),
            Action::ExpireNow { key, .. } => self.act(
                Who::Operator,
                vec![Move::Lapse(key.clone())],
                self.lapsed(key),
            ),
            Action::Wipe { key, .. } | Action::Evict { key, .. } => {
                let phrase = format!("{} is gone", self.thing(key));
                self.act(Who::Operator, vec![Move::Wipe(key.clone())], phrase);
            }
            Action::ClockJump { .. } | Action::ClockRate { .. } => {
                return self.refused(place, "no real clock can be made to go wrong from a test");
            }
            Action::CrashServer { .. }
            | Action::RestartServer { .. }
            | Action::Replicate { .. }
            | Action::Failover { .. } => {
                return self.refused(place, "no test can make a real server do that");
            }
            Action::Pause { .. } | Action::Resume { .. } => {}
        }
        for event in &entry.events {
            match &event.fact {
                Fact::Started { client, .. } => self.attempts[client.0].0 += 1,
                Fact::Saw { client, step, .. } if !is_step_of(&entry.action, *client) => {
                    let label = self.label(*client, *step);
                    let phrase = format!(
                        "{} has seen the reply to {label}",
                        self.setup.clients[client.0].name
                    );
                    if !matches!(self.request(*client, *step), Request::Sleep(_)) {
                        self.act(Who::Client(*client), vec![Move::See(label)], phrase);
                    }
                }
                _ => {}
            }
        }
        self.look(place);
        Ok(())
    }

    fn label(&self, client: ClientId, step: usize) -> &'a str {
        let protocol = self.setup.clients[client.0]
            .protocol
            .and_then(|place| self.setup.protocols.get(place));
        protocol
            .and_then(|protocol| protocol.steps.get(step))
            .map_or("", |step| &step.label)
    }

    fn request(&self, client: ClientId, step: usize) -> &'a Request {
        let protocol = self.setup.clients[client.0].protocol.unwrap_or_default();
        &self.setup.protocols[protocol].steps[step].request
    }

    /// Somebody does something; whoever comes next waits for it.
    fn act(&mut self, who: Who, moves: Vec<Move<'a>>, phrase: String) {
        if let Some((before, waited_for)) = self.last.take()
            && before != who
        {
            let latch = self.plan.latches.len();
            let name = self.fresh(waited_for);
            self.plan.latches.push(name);
            self.part(before).push(Move::Open(latch));
            self.part(who).push(Move::Wait(latch));
        }
        self.part(who).extend(moves);
        self.last = Some((who, phrase));
    }

    fn part(&mut self, who: Who) -> &mut Vec<Move<'a>> {
        let place = match who {
            Who::Client(client) => client.0,
            Who::Operator => self.setup.clients.len(),
        };
        &mut self.plan.parts[place].moves
    }

    /// A latch's name that no other one has.
    fn fresh(&self, name: String) -> String {
        let times = |count: usize| match count {
            0 => name.clone(),
            1 => format!("{name} again"),
            2 => format!("{name} a third time"),
            more => format!("{name} a {}th time", more + 1),
        };
        (0..)
            .map(times)
            .find(|name| !self.plan.latches.contains(name))
            .unwrap_or_default()
    }

    fn step(
        &mut self,
        place: usize,
        entry: &'a Entry,
        client: ClientId,
        step: usize,
    ) -> Result<(), Refusal> {
        let who = Who::Client(client);
        let declaration = &self.setup.clients[client.0];
        let label = self.label(client, step);
        if matches!(self.request(client, step), Request::Sleep(_)) {
            return Ok(());
        }
        let Some(answer) = entry.answer() else {
            return self.refused(place, "this step was not sent");
        };
        let routine = self.routine(declaration.protocol.unwrap_or_default())?;
        let mut moves = Vec::new();
        let (attempt, planned) = self.attempts[client.0];
        if planned != attempt {
            let me = crate::sim::client::name_in_attempt(self.setup, client, attempt as u32);
            moves.push(Move::Run {
                routine,
                me,
                parameters: &declaration.parameters,
            });
            self.attempts[client.0].1 = attempt;
        }
        moves.extend(self.catch_up(who));
        let sees = entry.events.iter().any(
            |event| matches!(event.fact, Fact::Saw { client: seeing, .. } if seeing == client),
        );
        moves.push(if sees {
            Move::Step(label)
        } else {
            Move::Send(label)
        });
        let name = &declaration.name;
        let phrase = done(label).map_or_else(
            || format!("{name} has done {label}"),
            |done| format!("{name} has {done}"),
        );
        let shape = self.plan.routines[routine].shape_of(label);
        self.plan.seen.push(Seen {
            who: name,
            what: label,
            answer,
            is_loose: self.loose.contains(&place),
            shape,
        });
        self.act(who, moves, phrase);
        Ok(())
    }

    /// The place of a protocol among the routines.
    fn routine(&mut self, protocol: usize) -> Result<usize, Refusal> {
        let wanted = &self.setup.protocols[protocol];
        let known = self
            .plan
            .routines
            .iter()
            .position(|routine| std::ptr::eq(routine.protocol, wanted));
        if let Some(place) = known {
            return Ok(place);
        }
        self.plan.routines.push(Routine::new(
            self.setup,
            self.timeline,
            protocol,
            self.plan.sells,
        )?);
        Ok(self.plan.routines.len() - 1)
    }

    fn ask(
        &mut self,
        place: usize,
        entry: &'a Entry,
        who: Who,
        source: &'a str,
        request: &Request,
    ) -> Result<(), Refusal> {
        let Some(answer) = entry.answer() else {
            return self.refused(place, "this was not sent");
        };
        if matches!(request, Request::CheckDeadline(_) | Request::Sleep(_)) {
            return self.refused(place, "this asks no server");
        }
        let name = match who {
            Who::Client(client) => &self.setup.clients[client.0].name,
            Who::Operator => OPERATOR,
        };
        let request = match who {
            Who::Client(client) => with_values(
                request,
                &self.timeline.moment(place).world.clients[client.0].variables,
            ),
            Who::Operator => request.clone(),
        };
        let verb = source
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let mut moves = self.catch_up(who);
        moves.push(Move::Ask {
            source,
            request,
            seen: self.plan.seen.len(),
        });
        let shape = super::routine::shape_of(answer);
        self.plan.seen.push(Seen {
            who: name,
            what: source,
            answer,
            is_loose: self.loose.contains(&place),
            shape,
        });
        self.act(who, moves, format!("{name} has run {verb}"));
        Ok(())
    }

    /// What somebody's connection to the database has to be told of the clock.
    fn catch_up(&mut self, who: Who) -> Vec<Move<'a>> {
        let place = match who {
            Who::Client(client) => client.0,
            Who::Operator => self.setup.clients.len(),
        };
        let behind = std::mem::take(&mut self.behind[place]);
        if behind > 0 && self.database_clock {
            vec![Move::DatabaseClock(behind)]
        } else {
            Vec::new()
        }
    }

    fn time(&mut self, place: usize, entry: &'a Entry) {
        let mut passed = 0;
        let mut moves = Vec::new();
        let mut phrase = "time has passed".to_owned();
        for event in &entry.events {
            match &event.fact {
                Fact::TimePassed { milliseconds } => passed += milliseconds,
                Fact::KeyChanged {
                    key,
                    cause: Cause::Lapse,
                    ..
                } => {
                    phrase = self.lapsed(key);
                    moves.push(Move::Lapse(key.clone()));
                }
                _ => {}
            }
        }
        self.behind.iter_mut().for_each(|behind| *behind += passed);
        if self.ages {
            for (key, state) in self
                .timeline
                .moment(place + 1)
                .world
                .store(ServerId::FIRST)
                .keys()
            {
                moves.extend(
                    state
                        .remaining
                        .map(|remaining| Move::Age(key.to_vec(), remaining.max(NEAREST))),
                );
            }
        }
        if self.script_clock && passed > 0 {
            moves.push(Move::Ahead(passed));
        }
        if !moves.is_empty() {
            moves.insert(0, Move::Remark(later(passed, &moves)));
            self.act(Who::Operator, moves, phrase);
        }
    }

    fn lapsed(&self, key: &[u8]) -> String {
        format!("{} has lapsed", self.thing(key))
    }

    /// The key's part where it is the only one that plays it, else the key.
    fn thing(&self, key: &[u8]) -> String {
        let watches = &self.setup.watches;
        let only = watches.len() == 1;
        match watches.iter().find(|watch| {
            watch.lock.as_deref() == Some(key) || watch.counter.as_deref() == Some(key)
        }) {
            Some(watch) if only && watch.lock.as_deref() == Some(key) => "lease".to_owned(),
            Some(_) if only => "counter".to_owned(),
            _ => String::from_utf8_lossy(key).into_owned(),
        }
    }

    /// What a property needs to know of this moment.
    fn look(&mut self, place: usize) {
        let Some((who, _)) = self.last else { return };
        let looks: Vec<(Vec<u8>, bool)> = self
            .plan
            .claims
            .iter()
            .flat_map(|claim| claim.looks_at(place))
            .collect();
        for (key, wants_deadline) in looks {
            self.part(who).push(match wants_deadline {
                true => Move::LookForDeadline(key),
                false => Move::LookForKey(key),
            });
        }
    }
}

/// What the operator does in place of waiting.
fn later(passed: u64, moves: &[Move<'_>]) -> String {
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

fn is_step_of(action: &Action, of: ClientId) -> bool {
    matches!(action, Action::Step { client, .. } if *client == of)
}

/// The words of all that is sent, in lower case.
fn words_of_requests(reading: &Reading) -> BTreeSet<String> {
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

/// A table's row as one would write it: its parenthesis closes where it ends.
fn tidy(statement: &Statement) -> Statement {
    let source = statement.source();
    let whole = source.strip_suffix("\n)").map(|row| format!("{row})"));
    whole
        .and_then(|source| Statement::parse(&source).ok())
        .unwrap_or_else(|| statement.clone())
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

/// A console's request with the client's values in place of its variables.
fn with_values(request: &Request, values: &SortedMap<String, Value>) -> Request {
    let fill = |arguments: &[Argument]| {
        let filled = arguments.iter().map(|argument| match argument {
            Argument::Variable(name) => values
                .get(name)
                .map_or_else(|| argument.clone(), super::routine::argument_of),
            other => other.clone(),
        });
        filled.collect::<Vec<_>>()
    };
    match request {
        Request::Store(server, arguments) => Request::Store(*server, fill(arguments)),
        Request::Gateway(arguments) => Request::Gateway(fill(arguments)),
        Request::Database(Ok(statement)) => {
            let parameters: Vec<(String, SqlValue)> = values
                .iter()
                .map(|(name, value)| (name.clone(), SqlValue::from(value.clone())))
                .collect();
            Request::Database(Statement::parse(&statement.text_with(&parameters)))
        }
        other => other.clone(),
    }
}

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

use std::collections::{BTreeMap, BTreeSet};

use crate::link;
use crate::scenario::Reading;
use crate::sim::action::{Action, ClientId, ClockOf, Leg, ServerId, Who};
use crate::sim::client::OwnClock;
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{SqlReply, Statement, Value as SqlValue};
use crate::sim::event::{Answer, Fact, Value};
use crate::sim::setup::{ServerDeclaration, Setup};
use crate::sim::store::reply::Reply;
use crate::sim::store::{Cause, KeyState, Value as StoreValue};
use crate::sim::time::{START_OF_WALL_CLOCK, in_words};
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
    /// The scripts that are sent.
    pub scripts: Vec<Script>,
    /// The protocols that the schedule runs.
    pub routines: Vec<Routine<'a>>,
    /// What the connections to Redis servers are called, in the order of the text.
    pub servers: Vec<String>,
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
    pub final_keys: Vec<(Key, Option<FinalKey>)>,
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

/// A key on one of the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The server's place.
    pub server: usize,
    /// The key.
    pub key: Vec<u8>,
}

impl Key {
    /// A key of this server.
    pub fn on(server: ServerId, key: &[u8]) -> Key {
        Key {
            server: server.0,
            key: key.to_vec(),
        }
    }
}

/// A script that is sent.
pub(super) struct Script {
    /// The scenario's name for it.
    pub name: String,
    /// What the name is made of that it has in the test.
    pub spoken: String,
    /// As it is sent.
    pub source: String,
}

/// A client, or the operator.
pub(super) struct Part<'a> {
    /// The client's name, or `operator`.
    pub name: &'a str,
    /// What the name is made of that it has in the test.
    pub spoken: String,
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
    /// The request of the next step gets lost.
    Lose(&'a str),
    /// The request of the next step stays under way.
    Delay(&'a str),
    /// A request that has been under way comes to its server; the reply waits.
    Deliver {
        /// The step.
        label: &'a str,
        /// With values in place of variables.
        request: Request,
        /// What the reply is like.
        shape: super::routine::Shape,
        /// Whether the client has given up before.
        is_late: bool,
    },
    /// The client waits no longer for the reply.
    GiveUp(&'a str),
    /// The request of the next step finds its server down.
    FindDown(&'a str),
    /// Sends the request of the next step, which waits for somebody else.
    Start(&'a str, Waits),
    /// Sends what is typed at a console, which waits for somebody else.
    StartAsking {
        /// As it is typed.
        source: &'a str,
        /// With values in place of variables.
        request: Request,
        /// What the reply is like.
        shape: super::routine::Shape,
        /// Where it waits.
        at: Waits,
    },
    /// The reply to a request that has waited comes.
    Hear(&'a str),
    /// The client waits for a message of a channel, and none has come.
    Listen(&'a str, Vec<u8>),
    /// The request of the next step is answered by the schedule: no server of the test could.
    Told(&'a str, &'a Answer),
    /// The client's own clock goes on by so many milliseconds, or back.
    Clock(i64),
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
    Lapse(Key),
    /// Time passes, and so much remains of a key's.
    Age(Key, u64),
    /// Time passes for scripts that read it.
    Ahead(i64),
    /// What time it is for the connection's statements that read it.
    DatabaseClock {
        /// Milliseconds since 1970.
        now: i64,
        /// Whether the connection has not been told of any time before.
        is_first: bool,
    },
    /// A key is lost.
    Wipe(Key),
    /// Redis is told something by whoever looks after it.
    Tell(Request),
    /// The client is gone, and its connections with it.
    Crash,
    /// The client comes back, with new connections.
    Restart,
    /// Looks whether a key is there.
    LookForKey(Key),
    /// Looks how long a key will be there.
    LookForDeadline(Key),
    /// What happens, in words.
    Remark(String),
}

/// Where a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// At the Redis server at this place.
    Redis(usize),
    /// At the database.
    Database,
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
        let mut builder = Builder::new(reading, timeline);
        for (place, entry) in timeline.entries().iter().enumerate() {
            builder.entry(place, entry)?;
        }
        let places = builder.places;
        let mut plan = builder.plan;
        plan.link = link::encode(text, reading.schedule.len());
        plan.parts.retain(|part| !part.moves.is_empty());
        if plan.parts.is_empty() {
            return Err(Refusal(
                "the schedule does nothing that a test could do".to_owned(),
            ));
        }
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
            plan.scripts.push(Script {
                spoken: name.clone(),
                name,
                source,
            });
        }
        if moves_clock {
            plan.keys.push(CLOCK_KEY.as_bytes().to_vec());
        }
        for (place, is_asked) in plan.servers_asked().into_iter().enumerate() {
            *[&mut plan.store, &mut plan.database, &mut plan.gateway][place] = is_asked;
        }
        plan.store |= !plan.keys.is_empty() || plan.listens();
        plan.database |= !setup.statements.is_empty();
        plan.sells &= plan.routines.iter().any(|routine| routine.sells);
        plan.end(&timeline.moment(timeline.len()).world, &places);
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
        self.has_values(&|value| matches!(value, SqlValue::Decimal(number) if number.scale() > 0))
    }

    fn has_values(&self, wanted: &dyn Fn(&SqlValue) -> bool) -> bool {
        let seen = self.seen.iter().filter_map(|seen| match seen.answer {
            Answer::Database(SqlReply::Rows { rows, .. }) => Some(rows),
            _ => None,
        });
        let ends = self.rows.iter().map(|table| &table.rows);
        let mut rows = seen.chain(ends).flatten();
        rows.any(|row| row.iter().any(wanted))
    }

    /// Whether a row that is expected holds a time of day.
    pub fn has_times(&self) -> bool {
        self.has_values(&|value| matches!(value, SqlValue::DateTime(_)))
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

    /// Whether a script is named by its digest.
    pub fn sends_digests(&self) -> bool {
        let by_digest = |argument: &Argument| matches!(argument, Argument::ScriptSha(_));
        self.calls(&|call| match call {
            Call::Command(_, arguments) => arguments.iter().any(by_digest),
            _ => false,
        })
    }

    /// Whether somebody subscribes to a channel, or waits for a message.
    pub fn listens(&self) -> bool {
        self.calls(&|call| matches!(call, Call::Subscribe(..) | Call::Await(_)))
    }

    /// Whether somebody's request waits for somebody else.
    pub fn waits(&self) -> bool {
        self.looks(|act| matches!(act, Move::Start(..) | Move::StartAsking { .. }))
    }

    /// Whether a protocol does.
    pub fn protocols_listen(&self) -> bool {
        self.routines.iter().any(|routine| routine.listens)
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
                Move::Ask { request, .. } | Move::StartAsking { request, .. } => Some(request),
                _ => None,
            })
    }

    /// Whether Redis, the database and the gateway are asked for anything.
    fn servers_asked(&self) -> [bool; 3] {
        let asks = |wanted: fn(&Request) -> bool| self.asked().any(wanted);
        [
            self.routines
                .iter()
                .any(|routine| !routine.stores.is_empty())
                || asks(|request| matches!(request, Request::Store(..))),
            self.routines.iter().any(|routine| routine.database)
                || asks(|request| matches!(request, Request::Database(_))),
            self.routines.iter().any(|routine| routine.gateway)
                || asks(|request| matches!(request, Request::Gateway(_))),
        ]
    }

    fn end(&mut self, world: &World, places: &[usize]) {
        for table in world.database.tables() {
            self.rows.push(FinalRows {
                table: table.name().to_owned(),
                order: table.primary_key().into_iter().map(str::to_owned).collect(),
                rows: table.rows().map(|row| row.values().to_vec()).collect(),
            });
        }
        for (server, store) in places.iter().zip(&world.stores) {
            for key in &self.keys {
                let state = store.get(key).map(|state| FinalKey {
                    value: state.value,
                    remaining: state.remaining.map(|remaining| remaining.max(NEAREST)),
                });
                let key = key.clone();
                if key != CLOCK_KEY.as_bytes() {
                    let server = *server;
                    self.final_keys.push((Key { server, key }, state));
                }
            }
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
        Argument::ScriptSource(name) | Argument::ScriptSha(name) => Some(name),
        _ => None,
    });
    scripts.collect()
}

/// A client's own clock, and how far it has gone on since the client did something.
#[derive(Clone, Copy, Default)]
struct OwnTime {
    clock: OwnClock,
    /// By itself, in milliseconds; negative where it was set back.
    moved: i64,
    /// By a clock that is right.
    passed: u64,
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
    /// The database's clock, in milliseconds since 1970, and what each part's connection was told of it.
    database_now: i64,
    told: Vec<Option<i64>>,
    /// How each client's own clock goes.
    own: Vec<OwnTime>,
    /// The clients whose request waits, and what it is called.
    blocked: BTreeMap<usize, &'a str>,
    /// The clients who have a request under way, and in which place of the schedule they have sent it.
    under_way: BTreeMap<usize, usize>,
    /// At which place the connections are behind which each server is, which changes when a replica takes over.
    places: Vec<usize>,
    /// The replies that depend on time.
    loose: BTreeSet<usize>,
    /// Whether somebody looks at times to live.
    ages: bool,
    /// The keys that have a deadline in the end.
    lasting: Vec<Key>,
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
                spoken: client.name.clone(),
                moves: Vec::new(),
            });
        }
        parts.push(Part {
            name: OPERATOR,
            spoken: OPERATOR.to_owned(),
            moves: Vec::new(),
        });
        let start = timeline.moment(0).world;
        let stores = start.stores.iter();
        let mut keys: Vec<Vec<u8>> = stores
            .flat_map(|store| store.keys())
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
            servers: names_of_servers(setup),
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
            database_now: i64::try_from(START_OF_WALL_CLOCK).unwrap_or(i64::MAX),
            told: vec![None; setup.clients.len() + 1],
            own: vec![OwnTime::default(); setup.clients.len()],
            blocked: BTreeMap::new(),
            under_way: BTreeMap::new(),
            places: (0..setup.server_count()).collect(),
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
            lasting: lasting(&end),
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
            return self.waits(place, &entry.action);
        }
        match &entry.action {
            Action::Step { client, step }
            | Action::LoseRequest { client, step }
            | Action::LoseReply { client, step }
            | Action::Delay { client, step, .. }
            | Action::Deliver { client, step } => self.step(place, entry, *client, *step)?,
            Action::Command {
                who,
                source,
                request,
            } => self.ask(place, entry, *who, source, request)?,
            Action::Crash { client } => {
                self.told[client.0] = None;
                let phrase = format!("{} has crashed", self.setup.clients[client.0].name);
                self.act(Who::Client(*client), vec![Move::Crash], phrase);
                self.attempts[client.0].1 = 0;
                self.under_way.remove(&client.0);
            }
            Action::Restart { client } => {
                let phrase = format!("{} has come back", self.setup.clients[client.0].name);
                self.act(Who::Client(*client), vec![Move::Restart], phrase);
            }
            Action::Advance { .. } | Action::AdvanceToNextDeadline => self.time(place, entry),
            Action::ExpireNow { server, key } => {
                let lapse = Move::Lapse(self.at(*server, key));
                self.act(Who::Operator, vec![lapse], self.lapsed(key));
            }
            Action::Wipe { server, key } | Action::Evict { server, key } => {
                let phrase = format!("{} is gone", self.thing(key));
                let wipe = Move::Wipe(self.at(*server, key));
                self.act(Who::Operator, vec![wipe], phrase);
            }
            Action::ClockJump {
                clock,
                milliseconds,
            } => self.jump(place, entry, *clock, *milliseconds)?,
            Action::ClockRate { client, permille } => {
                self.own[client.0].clock.permille = *permille;
            }
            Action::CrashServer { server } => self.crash(place, *server)?,
            Action::RestartServer { server, keeps_data } => {
                self.restart(place, *server, *keeps_data);
            }
            Action::Replicate { to, .. } => self.replicate(place, *to),
            Action::Failover { to } => self.fail_over(place, entry, *to)?,
            Action::Pause { .. } | Action::Resume { .. } => {}
        }
        self.hear(place, entry);
        for event in &entry.events {
            match &event.fact {
                Fact::Started { client, .. } => self.attempts[client.0].0 += 1,
                Fact::Saw {
                    client,
                    step,
                    answer,
                    clause,
                } if !is_step_of(&entry.action, *client) => {
                    self.sees(place, *client, *step, answer, *clause)?;
                }
                _ => {}
            }
        }
        self.look(place);
        Ok(())
    }

    /// A client's request is not answered at once.
    fn waits(&mut self, place: usize, action: &'a Action) -> Result<(), Refusal> {
        let (client, step) = match action {
            Action::Step { client, step } => (*client, *step),
            Action::Command {
                who: Who::Client(client),
                source,
                request,
            } => return self.waits_at_console(place, *client, source, request),
            _ => return self.refused(place, "what waits here is no client's request"),
        };
        let who = Who::Client(client);
        let request = self.request(client, step);
        let (name, label) = (&self.setup.clients[client.0].name, self.label(client, step));
        let routine = self.setup.clients[client.0].protocol.unwrap_or_default();
        let routine = self.routine(routine)?;
        let mut moves = self.run(client, routine, request);
        if let Request::Await(channel) = request {
            let values = &self.timeline.moment(place).world.clients[client.0].variables;
            let channel = match channel {
                Argument::Literal(channel) => channel.clone(),
                Argument::Variable(variable) => match values.get(variable) {
                    Some(Value::Text(channel)) => channel.clone(),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            moves.push(Move::Listen(label, channel));
        } else if !waits_for_replicas(request) {
            self.is_answered_later(place, who)?;
            moves.push(Move::Start(label, self.where_it_waits(request)));
            self.blocked.insert(client.0, label);
        }
        if !moves.is_empty() {
            self.act(who, moves, format!("{name} waits at {label}"));
        }
        Ok(())
    }

    fn waits_at_console(
        &mut self,
        place: usize,
        client: ClientId,
        source: &'a str,
        request: &Request,
    ) -> Result<(), Refusal> {
        let who = Who::Client(client);
        let answer = self.is_answered_later(place, who)?;
        let world = self.timeline.moment(place).world;
        let request = with_values(request, &world.clients[client.0].variables);
        let mut moves = self.catch_up(who, &request);
        moves.push(Move::StartAsking {
            source,
            at: self.where_it_waits(&request),
            shape: super::routine::shape_of(answer),
            request,
        });
        self.blocked.insert(client.0, source);
        let name = &self.setup.clients[client.0].name;
        self.act(who, moves, format!("{name} waits"));
        Ok(())
    }

    fn where_it_waits(&self, request: &Request) -> Waits {
        match request {
            Request::Store(server, _) => {
                let server = server.map_or(0, |server| server.0);
                Waits::Redis(self.places.get(server).copied().unwrap_or_default())
            }
            _ => Waits::Database,
        }
    }

    /// The answer that a request that waits gets later on, through what somebody else does.
    fn is_answered_later(&self, place: usize, who: Who) -> Result<&'a Answer, Refusal> {
        for entry in &self.timeline.entries()[place + 1..] {
            if matches!(entry.action, Action::Crash { client } if Who::Client(client) == who) {
                break;
            }
            let answer = entry.events.iter().find_map(|event| match &event.fact {
                Fact::Answered {
                    who: asking,
                    answer,
                    ..
                } if *asking == who => Some(answer),
                _ => None,
            });
            let takes_time = matches!(
                entry.action,
                Action::Advance { .. } | Action::AdvanceToNextDeadline
            );
            match answer {
                Some(_) if is_of_server(&entry.action) => {
                    return self.refused(place, "this waits until a server crashes or another takes over, which no server of a test does");
                }
                Some(_) if takes_time => {
                    return self.refused(
                        place,
                        "this waits until its time is over, and a real server takes that long",
                    );
                }
                Some(answer) => return Ok(answer),
                None => {}
            }
        }
        self.refused(place, "this waits, and nobody ends it")
    }

    /// The replies that come to others by what somebody has done.
    fn hear(&mut self, place: usize, entry: &'a Entry) {
        for event in &entry.events {
            let Fact::Answered {
                who: Who::Client(client),
                step,
                answer,
                ..
            } = &event.fact
            else {
                continue;
            };
            let Some(what) = self.blocked.remove(&client.0) else {
                continue;
            };
            let name = &self.setup.clients[client.0].name;
            let routine = self.setup.clients[client.0]
                .protocol
                .filter(|_| step.is_some())
                .and_then(|protocol| self.routine(protocol).ok());
            let shape = match routine {
                Some(routine) => self.plan.routines[routine].shape_of(what),
                None => super::routine::shape_of(answer),
            };
            self.plan.seen.push(Seen {
                who: name,
                what,
                answer,
                is_loose: self.loose.contains(&place),
                shape,
            });
            let phrase = format!("{name} has heard");
            self.act(Who::Client(*client), vec![Move::Hear(what)], phrase);
        }
    }

    /// A client sees the reply to an earlier request, or that there will be none.
    fn sees(
        &mut self,
        place: usize,
        client: ClientId,
        step: usize,
        answer: &'a Answer,
        clause: Option<usize>,
    ) -> Result<(), Refusal> {
        let (name, label) = (&self.setup.clients[client.0].name, self.label(client, step));
        if matches!(self.request(client, step), Request::Sleep(_)) {
            return Ok(());
        }
        if *answer != Answer::Lost {
            let phrase = format!("{name} has seen the reply to {label}");
            let request = self.request(client, step);
            let act = match request {
                Request::Await(_) => {
                    self.plan.seen.push(Seen {
                        who: name,
                        what: label,
                        answer,
                        is_loose: false,
                        shape: super::routine::Shape::Plain,
                    });
                    Move::Step(label)
                }
                _ if waits_for_replicas(request) => Move::Told(label, answer),
                _ => Move::See(label),
            };
            self.act(Who::Client(client), vec![act], phrase);
            return Ok(());
        }
        let moves = self.gives_up(place, client, step, clause)?;
        if !moves.is_empty() {
            let phrase = format!("{name} has given up {label}");
            self.act(Who::Client(client), moves, phrase);
        }
        Ok(())
    }

    /// What a client does who learns that no reply will come. Its connection is another one then, which makes a difference where
    /// something was begun on it.
    fn gives_up(
        &self,
        place: usize,
        client: ClientId,
        step: usize,
        clause: Option<usize>,
    ) -> Result<Vec<Move<'a>>, Refusal> {
        if self.blocked.contains_key(&client.0) {
            return self.refused(
                place,
                "who gives up while a server has the request waiting leaves it there",
            );
        }
        let listens = matches!(self.request(client, step), Request::Await(_));
        if !listens && self.begins_something(Who::Client(client)) {
            return self.refused(place, "who gives up waiting gets a new connection, and what was begun on the old one would go on in a test");
        }
        Ok(match clause {
            Some(_) => vec![Move::GiveUp(self.label(client, step))],
            None => Vec::new(),
        })
    }

    /// Whether somebody sends what a connection remembers: transactions, watched keys, locks and settings of a session.
    fn begins_something(&self, who: Who) -> bool {
        const REMEMBERED: [&str; 8] = [
            "multi",
            "watch",
            "begin",
            "start",
            "get_lock",
            "autocommit",
            "subscribe",
            "psubscribe",
        ];
        let mut sources: Vec<&str> = Vec::new();
        if let Who::Client(client) = who {
            let steps = self.setup.steps_of(client).iter();
            sources.extend(steps.flat_map(|step| &step.source).map(String::as_str));
        }
        for line in &self.reading.schedule {
            if let Action::Command {
                who: typing,
                source,
                ..
            } = &line.action
                && *typing == who
            {
                sources.push(source);
            }
        }
        let words = sources.iter().flat_map(|text| {
            text.split(|other: char| !other.is_ascii_alphanumeric() && other != '_')
        });
        let mut words = words.map(str::to_ascii_lowercase);
        words.any(|word| REMEMBERED.contains(&word.as_str()))
    }

    /// A clock jumps: a client's own, a server's, or the database's.
    fn jump(
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

    /// A server is down from now on. In the test it goes on, and nobody asks it.
    fn crash(&mut self, place: usize, server: ServerId) -> Result<(), Refusal> {
        let clients = (0..self.setup.clients.len()).map(|client| Who::Client(ClientId(client)));
        let mut everybody = clients.chain([Who::Operator]);
        if everybody.any(|who| self.begins_something(who)) {
            return self.refused(
                place,
                "a crash closes connections, and what was begun on them would go on in a test",
            );
        }
        let by_digest = |request: &Request| match request {
            Request::Store(_, arguments) => arguments
                .iter()
                .any(|argument| matches!(argument, Argument::ScriptSha(_))),
            _ => false,
        };
        if self.reading.requests().any(by_digest) {
            return self.refused(
                place,
                "a server forgets its scripts when it crashes, and a test's server keeps them",
            );
        }
        let name = self.setup.server_name(server);
        let remark = format!("{name} crashes: in this test, nobody asks it from now on.");
        self.act(
            Who::Operator,
            vec![Move::Remark(remark)],
            format!("{name} has crashed"),
        );
        Ok(())
    }

    /// A server is there again, without the keys that it has lost; a replica is as its primary is.
    fn restart(&mut self, place: usize, server: ServerId, keeps_data: bool) {
        let name = self.setup.server_name(server);
        let after = self.timeline.moment(place + 1).world;
        let remark = match (after.store(server).is_replica(), keeps_data) {
            (true, _) => {
                format!("{name} is there again, as a replica, and has what its primary has.")
            }
            (false, true) => format!("{name} is there again."),
            (false, false) => format!("{name} is there again, without its data."),
        };
        let places = self.places.clone();
        let mut moves = self.as_it_becomes(place, &places);
        moves.insert(0, Move::Remark(remark));
        self.act(Who::Operator, moves, format!("{name} has come back"));
    }

    /// A key where the connections find it.
    fn at(&self, server: ServerId, key: &[u8]) -> Key {
        Key {
            server: self.places.get(server.0).copied().unwrap_or_default(),
            key: key.to_vec(),
        }
    }

    /// A replica receives what its primary has done.
    fn replicate(&mut self, place: usize, to: ServerId) {
        let name = self.setup.server_name(to);
        let places = self.places.clone();
        let mut moves = self.as_it_becomes(place, &places);
        let remark = format!("{name} receives what its primary has done.");
        moves.insert(0, Move::Remark(remark));
        self.act(Who::Operator, moves, format!("{name} has caught up"));
    }

    /// A replica takes over: what it has is what the primary's connections find.
    fn fail_over(&mut self, place: usize, entry: &Entry, to: ServerId) -> Result<(), Refusal> {
        let group = self.setup.group_of(to);
        let names_it = |request: &Request| match request {
            Request::Store(Some(server), _) => self.setup.group_of(*server) == group,
            _ => false,
        };
        let protocols = self.setup.protocols.iter();
        let mut steps = protocols.flat_map(|protocol| &protocol.steps);
        if steps.any(|step| names_it(&step.request)) {
            return self.refused(
                place,
                "a protocol names one of the servers that change places",
            );
        }
        let from = entry.events.iter().find_map(|event| match &event.fact {
            Fact::FailedOver { from, .. } => Some(*from),
            _ => None,
        });
        let from = from.unwrap_or(to);
        let mut places = self.places.clone();
        places.swap(from.0, to.0);
        let mut moves = self.as_it_becomes(place, &places);
        let (name, before) = (self.setup.server_name(to), self.setup.server_name(from));
        let [primary, replica] = [to, from].map(|server| &self.plan.servers[places[server.0]]);
        let remark = format!(
            "{name} takes over: the connections to the {primary} find from now on what it has, and those to {replica} what {before} has."
        );
        self.places = places;
        moves.insert(0, Move::Remark(remark));
        self.act(Who::Operator, moves, format!("{name} has taken over"));
        Ok(())
    }

    /// What makes the keys behind each connection what they are after an action, where the servers are at these places then.
    fn as_it_becomes(&self, place: usize, places: &[usize]) -> Vec<Move<'a>> {
        let before = self.timeline.moment(place).world;
        let after = self.timeline.moment(place + 1).world;
        let mut moves = Vec::new();
        for at in 0..places.len() {
            let server_at = |places: &[usize]| places.iter().position(|other| *other == at);
            let (Some(old), Some(new)) = (server_at(&self.places), server_at(places)) else {
                continue;
            };
            for key in &self.plan.keys {
                let is = before.store(ServerId(old)).get(key);
                let becomes = after.store(ServerId(new)).get(key);
                if is != becomes {
                    let words = becomes.map_or_else(Vec::new, |state| made(key, &state));
                    let is_there = is.is_some() && words.len() != 1;
                    let delete = is_there.then(|| vec![b"DEL".to_vec(), key.clone()]);
                    let tell = |words: Vec<Vec<u8>>| {
                        let words = words.into_iter().map(Argument::Literal).collect();
                        Move::Tell(Request::Store(Some(ServerId(at)), words))
                    };
                    moves.extend(delete.into_iter().chain(words).map(tell));
                }
            }
        }
        moves
    }

    /// The keys whose deadline has passed by this action.
    fn lapses(&self, entry: &Entry) -> Vec<Move<'a>> {
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
    fn ages(&self, place: usize, only: Option<ServerId>) -> Vec<Move<'a>> {
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
        let routine = self.routine(declaration.protocol.unwrap_or_default())?;
        let mut moves = self.run(client, routine, self.request(client, step));
        let is_told = waits_for_replicas(self.request(client, step));
        let listens = matches!(self.request(client, step), Request::Await(_));
        let mut answered = None;
        let mut is_down = false;
        for event in &entry.events {
            match &event.fact {
                Fact::RequestLost { .. } if self.under_way.remove(&client.0).is_some() => {}
                Fact::RequestLost { .. } => moves.push(Move::Lose(label)),
                Fact::Delayed {
                    leg: Leg::Request, ..
                } => {
                    if self.under_way.insert(client.0, place).is_some() {
                        return self.refused(place, "two requests of one client are under way");
                    }
                    moves.push(Move::Delay(label));
                }
                Fact::Unreachable { who: asking, .. } if *asking == who => is_down = true,
                Fact::Arrived { late, .. } => {
                    let sent = self.under_way.remove(&client.0).unwrap_or(place);
                    let world = self.timeline.moment(sent).world;
                    let values = &world.clients[client.0].variables;
                    moves.push(Move::Deliver {
                        label,
                        request: with_values(self.request(client, step), values),
                        shape: self.plan.routines[routine].shape_of(label),
                        is_late: *late,
                    });
                }
                Fact::Answered {
                    who: asking,
                    answer,
                    ..
                } if *asking == who && !is_told => {
                    answered = Some(answer);
                    if !matches!(moves.last(), Some(Move::Deliver { .. })) {
                        moves.push(Move::Send(label));
                    }
                }
                Fact::AnsweredNobody { answer, .. } => answered = Some(answer),
                Fact::Saw {
                    client: seeing,
                    answer,
                    clause,
                    ..
                } if *seeing == client => match answer {
                    Answer::Lost if is_down && clause.is_some() => {
                        moves.push(Move::FindDown(label));
                    }
                    Answer::Lost => moves.extend(self.gives_up(place, client, step, *clause)?),
                    _ if is_told => moves.push(Move::Told(label, answer)),
                    _ if listens => {
                        moves.push(Move::Step(label));
                        answered = Some(answer);
                    }
                    _ if matches!(moves.last(), Some(Move::Send(_))) => {
                        moves.pop();
                        moves.push(Move::Step(label));
                    }
                    _ => moves.push(Move::See(label)),
                },
                _ => {}
            }
        }
        if moves.is_empty() {
            return Ok(());
        }
        let name = &declaration.name;
        let phrase = match (moves.last(), done(label)) {
            (Some(Move::FindDown(_)), _) => format!("{name} has found a server down"),
            (Some(Move::GiveUp(_)), _) => format!("{name} has given up {label}"),
            (Some(Move::Lose(_) | Move::Delay(_)), _) => format!("{name} has sent {label}"),
            (Some(Move::Deliver { .. }), _) => format!("{label} of {name} has arrived"),
            (_, Some(done)) => format!("{name} has {done}"),
            (_, None) => format!("{name} has done {label}"),
        };
        if let Some(answer) = answered {
            if tells_the_time(answer) && self.loose.contains(&place) {
                return self.refused(place, "this reply tells the time of a real clock");
            }
            if asks_for_replicas(self.request(client, step), answer) {
                return self.refused(place, "this asks what only a replica or its primary knows, and a test's servers are neither");
            }
            let shape = self.plan.routines[routine].shape_of(label);
            self.plan.seen.push(Seen {
                who: name,
                what: label,
                answer,
                // A client's own clock goes on in steps.
                is_loose: self.loose.contains(&place) && !matches!(answer, Answer::Client(_)),
                shape,
            });
        }
        self.act(who, moves, phrase);
        Ok(())
    }

    /// What comes before a client's request: the beginning of an attempt, and what has become of clocks.
    fn run(&mut self, client: ClientId, routine: usize, request: &Request) -> Vec<Move<'a>> {
        let mut moves = Vec::new();
        let (attempt, planned) = self.attempts[client.0];
        if planned != attempt {
            let me = crate::sim::client::name_in_attempt(self.setup, client, attempt as u32);
            moves.push(Move::Run {
                routine,
                me,
                parameters: &self.setup.clients[client.0].parameters,
            });
            self.attempts[client.0].1 = attempt;
        }
        moves.extend(self.catch_up(Who::Client(client), request));
        let own = &mut self.own[client.0];
        let (moved, passed) = (
            std::mem::take(&mut own.moved),
            std::mem::take(&mut own.passed),
        );
        if self.plan.routines[routine].clock {
            if moved != i64::try_from(passed).unwrap_or(i64::MAX) {
                let passed = in_words(passed);
                let remark =
                    format!("{passed} have passed; by the client's own clock it is this much.");
                moves.push(Move::Remark(remark));
            }
            if moved != 0 {
                moves.push(Move::Clock(moved));
            }
        }
        moves
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
        if matches!(request, Request::Store(_, words) if !super::routine::subscribes_plainly(words))
        {
            return self.refused(
                place,
                "this subscribes by a pattern, or to several channels at once",
            );
        }
        let name: &'a str = match who {
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
        let request = match request {
            Request::Store(Some(server), arguments) => {
                let place = self.places.get(server.0).copied().unwrap_or_default();
                Request::Store(Some(ServerId(place)), arguments)
            }
            other => other,
        };
        let verb = source
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let is_time = tells_the_time(answer) && self.loose.contains(&place);
        if is_time || asks_for_replicas(&request, answer) {
            if !is_time && self.begins_something(who) {
                return self.refused(place, "a replica refuses this, and what was begun on the connection would go on in a test");
            }
            let why = match is_time {
                true => "it tells the time of a real clock",
                false => "in this test no server is the replica of another",
            };
            let remark = format!("{source} is left out: {why}.");
            self.act(
                who,
                vec![Move::Remark(remark)],
                format!("{name} has run {verb}"),
            );
            return Ok(());
        }
        let mut moves = self.catch_up(who, &request);
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
    fn catch_up(&mut self, who: Who, request: &Request) -> Vec<Move<'a>> {
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

    fn time(&mut self, place: usize, entry: &'a Entry) {
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
        let looks: Vec<(Key, bool)> = self
            .plan
            .claims
            .iter()
            .flat_map(|claim| claim.looks_at(place))
            .collect();
        for (key, wants_deadline) in looks {
            let key = self.at(ServerId(key.server), &key.key);
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

/// The keys with a deadline.
fn lasting(world: &World) -> Vec<Key> {
    let mut keys = Vec::new();
    for (server, store) in world.stores.iter().enumerate() {
        let lasting = store.keys().filter(|(_, state)| state.remaining.is_some());
        keys.extend(lasting.map(|(key, _)| Key::on(ServerId(server), key)));
    }
    keys
}

/// The commands that make a key what it is, where it is not there.
fn made(key: &[u8], state: &KeyState) -> Vec<Vec<Vec<u8>>> {
    let remaining = state.remaining.map(|remaining| remaining.max(NEAREST));
    let remaining = remaining.map(|remaining| remaining.to_string().into_bytes());
    let parts = state.value.parts().into_iter().map(|part| part.to_vec());
    let command = match &state.value {
        StoreValue::String(value) => {
            let mut words = vec![b"SET".to_vec(), key.to_vec(), value.to_vec()];
            words.extend(
                remaining
                    .into_iter()
                    .flat_map(|left| [b"PX".to_vec(), left]),
            );
            return vec![words];
        }
        StoreValue::List(_) => "RPUSH",
        StoreValue::Hash(_) => "HSET",
        StoreValue::Set(_) => "SADD",
        StoreValue::SortedSet(_) => "ZADD",
    };
    let mut words = vec![command.as_bytes().to_vec(), key.to_vec()];
    match &state.value {
        StoreValue::SortedSet(_) => {
            let parts: Vec<Vec<u8>> = parts.collect();
            words.extend(parts.chunks(2).flat_map(|pair| pair.iter().rev().cloned()));
        }
        _ => words.extend(parts),
    }
    let mut commands = vec![words];
    commands.extend(remaining.map(|left| vec![b"PEXPIRE".to_vec(), key.to_vec(), left]));
    commands
}

/// What the connections to Redis servers are called.
fn names_of_servers(setup: &Setup) -> Vec<String> {
    match setup.servers.as_slice() {
        [] | [_] => vec!["redis".to_owned()],
        servers => servers
            .iter()
            .enumerate()
            .map(|(place, server)| {
                let replicates =
                    |other: &ServerDeclaration| other.replica_of == Some(ServerId(place));
                let groups = servers.iter().filter(|server| server.replica_of.is_none());
                match (servers.iter().any(replicates), groups.count()) {
                    (true, 1) => "primary".to_owned(),
                    _ => server.name.clone(),
                }
            })
            .collect(),
    }
}

fn is_step_of(action: &Action, of: ClientId) -> bool {
    matches!(
        action,
        Action::Step { client, .. }
        | Action::LoseRequest { client, .. }
        | Action::LoseReply { client, .. }
        | Action::Delay { client, .. }
        | Action::Deliver { client, .. } if *client == of
    )
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

/// Whether an action is about what becomes of a server.
fn is_of_server(action: &Action) -> bool {
    use Action::{CrashServer, Failover, Replicate, RestartServer};
    matches!(
        action,
        CrashServer { .. } | RestartServer { .. } | Replicate { .. } | Failover { .. }
    )
}

/// Whether a request asks how many replicas have what was written: in a test, no server is the replica of another.
fn waits_for_replicas(request: &Request) -> bool {
    match request {
        Request::Store(_, arguments) => {
            matches!(arguments.first(), Some(Argument::Literal(word)) if word.eq_ignore_ascii_case(b"WAIT"))
        }
        _ => false,
    }
}

/// Whether a request is answered as only a replica or its primary does.
fn asks_for_replicas(request: &Request, answer: &Answer) -> bool {
    let is_refused =
        matches!(answer, Answer::Store(Reply::Error(error)) if error.starts_with("READONLY"));
    is_refused || waits_for_replicas(request)
}

/// Whether an answer of Redis has a time of day in it, in seconds or in milliseconds.
fn tells_the_time(answer: &Answer) -> bool {
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

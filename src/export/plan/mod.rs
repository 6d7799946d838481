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

mod clocks;
mod failures;
mod schedule;
mod waiting;

use std::collections::BTreeSet;

use crate::export::claim::Claim;
use crate::export::request::Call;
use crate::export::routine::Routine;
use crate::export::{Refusal, routine};
use crate::link;
use crate::scenario::Reading;
use crate::sim::action::ServerId;
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{SqlReply, Statement, Value as SqlValue};
use crate::sim::event::{Answer, Value};
use crate::sim::setup::Setup;
use crate::sim::store::Value as StoreValue;
use crate::sim::store::reply::Reply;
use crate::sim::world::World;
use crate::sorted::SortedMap;
use crate::timeline::Timeline;

use clocks::NEAREST;
use schedule::Builder;

pub(crate) use clocks::{CLOCK_IN_SCRIPTS, CLOCK_KEY, reads_time};
#[cfg(feature = "servers")]
pub(crate) use clocks::{depends_on_time, reads_database_clock};

/// What somebody is called who is no client.
pub(super) const OPERATOR: &str = "operator";

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
        shape: routine::Shape,
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
        shape: routine::Shape,
        /// Where it waits.
        at: Waits,
    },
    /// The reply to a request that has waited comes.
    Hear(&'a str),
    /// What has waited is given up: the client crashes, or the schedule is over.
    Withdraw(&'a str, Waits),
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
    /// The connection waits for a lock so long and no longer: the database's variable.
    LockWaitTimeout(&'static str),
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
    pub shape: routine::Shape,
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
        builder.withdraw_all();
        builder.stay_connected();
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

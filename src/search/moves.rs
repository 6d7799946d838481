//! What can be chosen in a world: a client's next step, time, or a fault. A move is one or more actions of the ordinary schedule.
//!
//! To add a fault: a budget in [`Budget`], a kind here, and its actions in [`Rules::actions`].

use std::sync::Arc;

use super::bounds::{Bounds, Budget};
use crate::sim::action::{Action, ClientId, ClockOf, Leg, ServerId, Who};
use crate::sim::client::Place;
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{SqlReply, Statement, Value};
use crate::sim::event::{Answer, Event, Fact};
use crate::sim::setup::{ClientDeclaration, Setup};
use crate::sim::step::step;
use crate::sim::store::quote_argument;
use crate::sim::world::World;

/// Milliseconds by which the first shift makes deadlines differ; each further one halves them.
const FIRST_GAP: u64 = 1024;

/// How many deadlines a shift or a jump looks at, the nearest first.
const MOST_DEADLINES: usize = 4;

/// Milliseconds by which a clock jumps where no deadline says how far: an hour, as when somebody mistakes the time zone. It is longer
/// than leases are.
const JUMP: i64 = 3_600_000;

/// One choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A client's next step.
    Step(usize),
    /// A client's next step, whose reply is lost.
    Lose(usize),
    /// A client's next step, whose request is lost.
    LoseRequest(usize),
    /// A client's next step, whose request stays under way.
    DelayRequest(usize),
    /// A client's next step, whose reply stays under way.
    DelayReply(usize),
    /// A client that was paused goes on.
    Resume(usize),
    /// A message that is under way arrives.
    Deliver(usize),
    /// A client crashes.
    Crash(usize),
    /// A crashed client starts again.
    Restart(usize),
    /// Time passes the next deadline; with 1, only to the next end of a belief.
    Time(usize),
    /// Time moves a little, and then a client does a step that starts a timer: client * 16 + choice.
    Shift(usize),
    /// The deadline of one of the keys passes at once.
    Expire(usize),
    /// One of the keys is lost.
    Wipe(usize),
    /// The operator reads the largest token of a watch line.
    ReseedRead(usize),
    /// The operator puts it into the counter.
    ReseedWrite,
    /// One of the keys is evicted.
    Evict(usize),
    /// A server crashes.
    CrashServer(usize),
    /// A crashed server starts again: server * 2, and 1 more without its data.
    RestartServer(usize),
    /// A replica receives one command more.
    Replicate(usize),
    /// A replica becomes the primary.
    Failover(usize),
    /// A clock jumps: clock * [`JUMPS`] + choice.
    Jump(usize),
}

/// Choices of one shift.
pub(super) const SHIFTS: usize = 4 * MOST_DEADLINES;

/// Choices of one jump: back, or forward past one of the deadlines.
pub(super) const JUMPS: usize = 1 + MOST_DEADLINES;

impl Move {
    /// The move as a small number.
    pub fn code(self) -> u16 {
        let (kind, index) = match self {
            Move::Step(index) => (0, index),
            Move::Lose(index) => (1, index),
            Move::Resume(index) => (2, index),
            Move::Crash(index) => (3, index),
            Move::Restart(index) => (4, index),
            Move::Time(index) => (5, index),
            Move::Shift(index) => (6, index),
            Move::Expire(index) => (7, index),
            Move::Wipe(index) => (8, index),
            Move::ReseedRead(index) => (9, index),
            Move::ReseedWrite => (10, 0),
            Move::Deliver(index) => (11, index),
            Move::LoseRequest(index) => (12, index),
            Move::DelayRequest(index) => (13, index),
            Move::DelayReply(index) => (14, index),
            Move::Evict(index) => (15, index),
            Move::CrashServer(index) => (16, index),
            Move::RestartServer(index) => (17, index),
            Move::Replicate(index) => (18, index),
            Move::Failover(index) => (19, index),
            Move::Jump(index) => (20, index),
        };
        kind << 10 | index as u16
    }

    /// The client whose doing it is.
    pub fn client(self) -> Option<usize> {
        match self {
            Move::Step(client)
            | Move::Lose(client)
            | Move::LoseRequest(client)
            | Move::DelayRequest(client)
            | Move::DelayReply(client)
            | Move::Resume(client) => Some(client),
            Move::Shift(index) => Some(index / SHIFTS),
            _ => None,
        }
    }

    /// What it costs, where that does not depend on the world.
    pub fn budget(self) -> Option<Budget> {
        match self {
            Move::Step(_)
            | Move::Resume(_)
            | Move::Deliver(_)
            | Move::Time(_)
            | Move::Replicate(_)
            | Move::ReseedWrite => None,
            Move::Evict(_) => Some(Budget::Evictions),
            Move::CrashServer(_) => Some(Budget::ServerCrashes),
            Move::RestartServer(_) => Some(Budget::ServerRestarts),
            Move::Failover(_) => Some(Budget::Failovers),
            Move::Jump(_) => Some(Budget::ClockJumps),
            Move::Lose(_) => Some(Budget::LostReplies),
            Move::LoseRequest(_) => Some(Budget::LostRequests),
            Move::DelayRequest(_) => Some(Budget::LateRequests),
            Move::DelayReply(_) => Some(Budget::LateReplies),
            Move::Crash(_) => Some(Budget::Crashes),
            Move::Restart(_) => Some(Budget::Restarts),
            Move::Shift(_) => Some(Budget::Shifts),
            Move::Expire(_) => Some(Budget::Expiries),
            Move::Wipe(_) => Some(Budget::Wipes),
            Move::ReseedRead(_) => Some(Budget::Reseeds),
        }
    }
}

/// What the operator has read and not yet put back: the watch line, and the value.
pub(super) type Operator = Option<(usize, i64)>;

/// What moves mean in a scenario.
pub(super) struct Rules {
    pub setup: Arc<Setup>,
    /// The keys that may expire at once.
    pub expiring: Vec<Vec<u8>>,
    /// The keys that may be lost.
    pub wiped: Vec<Vec<u8>>,
    /// The keys that may be evicted.
    pub evicted: Vec<Vec<u8>>,
    /// Watch lines whose counter may be seeded anew, and the question to the table.
    reseeds: Vec<(usize, String, Statement)>,
    /// Whether a protocol looks at its own clock.
    pub checks_beliefs: bool,
    /// The clocks by which something goes.
    pub clocks: Vec<ClockOf>,
}

impl Rules {
    /// The rules of a scenario, in which something reads a server's time of day or nothing does.
    pub fn new(setup: Arc<Setup>, bounds: &Bounds, reads_clock: bool) -> Rules {
        let locks = || setup.watches.iter().filter_map(|watch| watch.lock.clone());
        let counters = || {
            let watches = setup.watches.iter();
            watches.filter_map(|watch| watch.counter.clone())
        };
        let keys = |budget: Budget, all: Vec<Vec<u8>>| match bounds.keys(budget) {
            [] => {
                let mut keys: Vec<Vec<u8>> = Vec::new();
                for key in all {
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                }
                keys
            }
            said => said.to_vec(),
        };
        let reseeds = setup
            .watches
            .iter()
            .enumerate()
            .filter_map(|(place, watch)| {
                let fence = watch.counter.as_ref().and(watch.fence.as_ref())?;
                let text = format!("SELECT MAX({}) FROM {}", fence.column, fence.table);
                let statement = Statement::parse(&text).ok()?;
                Some((place, text, statement))
            });
        let steps = setup.protocols.iter().flat_map(|protocol| &protocol.steps);
        let checks_beliefs = steps
            .into_iter()
            .any(|step| matches!(step.request, Request::CheckDeadline(_)));
        Rules {
            expiring: keys(Budget::Expiries, locks().collect()),
            wiped: keys(Budget::Wipes, locks().chain(counters()).collect()),
            evicted: keys(Budget::Evictions, locks().chain(counters()).collect()),
            reseeds: reseeds.collect(),
            checks_beliefs,
            clocks: clocks_of(&setup, reads_clock),
            setup,
        }
    }

    /// How many watch lines have a counter that can be seeded anew.
    pub fn reseeds(&self) -> usize {
        self.reseeds.len()
    }

    /// Whether the scenario has anything to which this could happen.
    pub fn can_happen(&self, budget: Budget) -> bool {
        match budget {
            Budget::Expiries => !self.expiring.is_empty(),
            Budget::Wipes | Budget::Evictions => !self.wiped.is_empty(),
            Budget::Reseeds => !self.reseeds.is_empty(),
            Budget::Failovers => self.setup.server_count() > 1,
            _ => true,
        }
    }

    /// Whether the request goes to a server, so that its reply can be lost.
    pub fn is_sent(&self, client: usize, step: usize) -> bool {
        let request = self.request(client, step);
        !matches!(
            request,
            None | Some(
                Request::CheckDeadline(_)
                    | Request::Quorum { .. }
                    | Request::Await(_)
                    | Request::Sleep(_)
            )
        )
    }

    /// The request of a client's step.
    pub fn request(&self, client: usize, step: usize) -> Option<&Request> {
        let protocol = self.setup.clients.get(client)?.protocol?;
        let step = self.setup.protocols.get(protocol)?.steps.get(step)?;
        Some(&step.request)
    }

    /// The actions that make up a move in this world; `None` where it is not possible. `shifts` is how many shifts there
    /// have been.
    pub fn actions(
        &self,
        chosen: Move,
        world: &World,
        operator: Operator,
        shifts: u32,
    ) -> Option<Vec<Action>> {
        let action = match chosen {
            Move::Step(client) => self.step(client, world)?,
            Move::Lose(client) => {
                let (client, step) = self.sent_step(client, world)?;
                Action::LoseReply { client, step }
            }
            Move::LoseRequest(client) => {
                let (client, step) = self.sent_step(client, world)?;
                Action::LoseRequest { client, step }
            }
            Move::DelayRequest(client) => {
                let (client, step) = self.sent_step(client, world)?;
                let leg = Leg::Request;
                Action::Delay { client, step, leg }
            }
            Move::DelayReply(client) => {
                let (client, step) = self.sent_step(client, world)?;
                let leg = Leg::Reply;
                Action::Delay { client, step, leg }
            }
            Move::Resume(client) => Action::Resume {
                client: ClientId(client),
                at: None,
            },
            Move::Deliver(place) => {
                let message = world.network.get(place)?;
                let (client, step) = (message.client, message.step);
                Action::Deliver { client, step }
            }
            Move::Crash(client) => Action::Crash {
                client: ClientId(client),
            },
            Move::Restart(client) => Action::Restart {
                client: ClientId(client),
            },
            Move::Time(0) => Action::Advance {
                milliseconds: world.next_deadline()?,
            },
            Move::Time(_) => Action::Advance {
                milliseconds: next_end_of_belief(world)?,
            },
            Move::Shift(index) => {
                return self.shift(index / SHIFTS, index % SHIFTS, world, shifts);
            }
            Move::Expire(place) => {
                let (server, key) = on_server(&self.expiring, place)?;
                Action::ExpireNow { server, key }
            }
            Move::Wipe(place) => {
                let (server, key) = on_server(&self.wiped, place)?;
                Action::Wipe { server, key }
            }
            Move::Evict(place) => {
                let (server, key) = on_server(&self.evicted, place)?;
                Action::Evict { server, key }
            }
            Move::CrashServer(server) => Action::CrashServer {
                server: ServerId(server),
            },
            Move::RestartServer(place) => Action::RestartServer {
                server: ServerId(place / 2),
                keeps_data: place % 2 == 0,
            },
            Move::Replicate(server) => Action::Replicate {
                to: ServerId(server),
                commands: Some(1),
            },
            Move::Failover(server) => Action::Failover {
                to: ServerId(server),
            },
            Move::Jump(index) => self.jump(index, world)?,
            Move::ReseedRead(_) | Move::ReseedWrite => self.command_of_reseed(chosen, operator)?,
        };
        Some(vec![action])
    }

    /// What the operator types in a reseed.
    fn command_of_reseed(&self, chosen: Move, operator: Operator) -> Option<Action> {
        let (source, request) = match chosen {
            Move::ReseedRead(place) => {
                let (_, text, statement) =
                    self.reseeds.get(place).filter(|_| operator.is_none())?;
                (text.clone(), Request::Database(Ok(statement.clone())))
            }
            Move::ReseedWrite => {
                let (place, value) = operator?;
                let watch = self.reseeds.get(place).map(|(watch, ..)| *watch)?;
                let counter = self.setup.watches.get(watch)?.counter.as_ref()?;
                let words = [
                    b"SET".to_vec(),
                    counter.clone(),
                    value.to_string().into_bytes(),
                ];
                let source: Vec<String> = words.iter().map(|word| quote_argument(word)).collect();
                let words = words.into_iter().map(Argument::Literal).collect();
                (source.join(" "), Request::Store(None, words))
            }
            _ => return None,
        };
        Some(Action::Command {
            who: Who::Operator,
            source,
            request,
        })
    }

    /// The move of a reseed that a typed command is, after what the operator has read; other commands are none.
    pub fn reseed(&self, action: &Action, operator: Operator) -> Option<Move> {
        let typed = request_of_operator(action)?;
        let reads = (0..self.reseeds()).map(Move::ReseedRead);
        let mut moves = reads.chain(std::iter::once(Move::ReseedWrite));
        moves.find(|chosen| {
            let command = self.command_of_reseed(*chosen, operator);
            command.as_ref().and_then(request_of_operator) == Some(typed)
        })
    }

    /// A client's next step, where its request goes to a server.
    fn sent_step(&self, client: usize, world: &World) -> Option<(ClientId, usize)> {
        match self.step(client, world)? {
            Action::Step { client, step } if self.is_sent(client.0, step) => Some((client, step)),
            _ => None,
        }
    }

    fn step(&self, client: usize, world: &World) -> Option<Action> {
        let state = world.clients.get(client)?;
        match state.place {
            Place::Ready { step } if state.paused_at().is_none() && !state.console_waits => {
                Some(Action::Step {
                    client: ClientId(client),
                    step,
                })
            }
            _ => None,
        }
    }

    /// A clock goes back so far that no deadline of before is near any more, or forward: a server's just past one of its deadlines,
    /// the nearest first, another past all that anybody waits for.
    fn jump(&self, index: usize, world: &World) -> Option<Action> {
        let clock = *self.clocks.get(index / JUMPS)?;
        let milliseconds = match (index % JUMPS, clock) {
            (0, _) => -JUMP,
            (choice, ClockOf::Server(server)) => {
                let keys = world.store(server).keys();
                let remaining = keys.filter_map(|(_, state)| state.remaining);
                let mut deadlines: Vec<u64> = remaining.collect();
                let deadline = sorted_once(&mut deadlines).get(choice - 1)?;
                i64::try_from(deadline + 1).ok()?
            }
            (1, _) => JUMP,
            _ => return None,
        };
        Some(Action::ClockJump {
            clock,
            milliseconds,
        })
    }

    /// Time moves before a step that starts a timer of length c: so that its deadline comes a little before, with, or a little
    /// after one that is there, or to that one; never past the next deadline.
    fn shift(
        &self,
        client: usize,
        choice: usize,
        world: &World,
        shifts: u32,
    ) -> Option<Vec<Action>> {
        let action = self.step(client, world)?;
        let (after, _) = step(&self.setup, world, &action);
        let length = self.timer_started(client, world, &after)?;
        let pending = self.deadlines(world);
        let deadline = *pending.get(choice / 4)?;
        let gap = (FIRST_GAP >> shifts.min(16)).max(1);
        let milliseconds = match choice % 4 {
            0 => deadline.checked_sub(length + gap)?,
            1 => deadline.checked_sub(length)?,
            2 => (deadline + gap).checked_sub(length)?,
            _ => deadline,
        };
        let earliest = *pending.first()?;
        if milliseconds == 0 || milliseconds > earliest {
            return None;
        }
        Some(vec![Action::Advance { milliseconds }, action])
    }

    /// The deadlines that are pending, each once, in milliseconds from now.
    fn deadlines(&self, world: &World) -> Vec<u64> {
        let keys = world.stores.iter().flat_map(|store| store.keys());
        let keys = keys.filter_map(|(_, state)| state.remaining);
        let timers = world.clients.iter().filter_map(|client| client.next_wake());
        let beliefs = ends_of_beliefs(world).filter(|_| self.checks_beliefs);
        let mut all: Vec<u64> = keys
            .chain(timers)
            .chain(world.database.next_deadline())
            .chain(beliefs)
            .collect();
        sorted_once(&mut all);
        all
    }

    /// The length of the timer that a step of the client started.
    fn timer_started(&self, client: usize, before: &World, after: &World) -> Option<u64> {
        let slept = after
            .clients
            .get(client)
            .and_then(|client| client.next_wake());
        let stores = after.stores.iter().zip(&before.stores);
        let set = stores
            .flat_map(|(after, before)| after.keys().map(move |pair| (pair, before)))
            .find_map(|((key, state), before)| {
                let earlier = before.get(key).and_then(|state| state.remaining);
                state.remaining.filter(|_| state.remaining != earlier)
            });
        set.or(slept)
    }
}

fn request_of_operator(action: &Action) -> Option<&Request> {
    match action {
        Action::Command {
            who: Who::Operator,
            request,
            ..
        } => Some(request),
        _ => None,
    }
}

/// What the operator knows after a move.
pub(super) fn after_operator<'e>(
    chosen: Move,
    operator: Operator,
    events: impl IntoIterator<Item = &'e Event>,
) -> Operator {
    match chosen {
        Move::ReseedRead(place) => {
            let answer = events.into_iter().find_map(|event| match &event.fact {
                Fact::Answered {
                    who: Who::Operator,
                    answer: Answer::Database(SqlReply::Rows { rows, .. }),
                    ..
                } => rows.first()?.first().and_then(Value::as_i64),
                _ => None,
            });
            Some((place, answer.unwrap_or(0)))
        }
        Move::ReseedWrite => None,
        _ => operator,
    }
}

/// The clocks by which something goes: servers' always, the database's where something reads the time of day, and a client's where
/// a step looks at it.
fn clocks_of(setup: &Setup, reads_clock: bool) -> Vec<ClockOf> {
    let looks = |client: &ClientDeclaration| {
        let protocol = client.protocol.and_then(|place| setup.protocols.get(place));
        let mut steps = protocol.into_iter().flat_map(|protocol| &protocol.steps);
        steps.any(|step| {
            matches!(
                step.request,
                Request::CheckDeadline(_) | Request::Quorum { .. }
            )
        })
    };
    let clients = setup.clients.iter().enumerate();
    let clients = clients.filter(|(_, client)| looks(client));
    (0..setup.server_count())
        .map(|server| ClockOf::Server(ServerId(server)))
        .chain(reads_clock.then_some(ClockOf::Database))
        .chain(clients.map(|(place, _)| ClockOf::Client(ClientId(place))))
        .collect()
}

/// The numbers in order, each once.
fn sorted_once(numbers: &mut Vec<u64>) -> &[u64] {
    crate::sorted::sort(numbers);
    numbers.dedup();
    numbers
}

/// The key on its server, where keys are counted through for one server after the other.
fn on_server(keys: &[Vec<u8>], place: usize) -> Option<(ServerId, Vec<u8>)> {
    let server = place.checked_div(keys.len())?;
    Some((ServerId(server), keys.get(place % keys.len())?.clone()))
}

fn ends_of_beliefs(world: &World) -> impl Iterator<Item = u64> {
    let beliefs = world
        .clients
        .iter()
        .flat_map(|client| client.beliefs.values());
    beliefs
        .filter_map(|belief| belief.remaining)
        .filter(|remaining| *remaining > 0)
}

/// Milliseconds until the next end of a belief, where it comes before the next deadline.
pub(super) fn next_end_of_belief(world: &World) -> Option<u64> {
    let next = ends_of_beliefs(world).min()?;
    world
        .next_deadline()
        .is_none_or(|deadline| next < deadline)
        .then_some(next)
}

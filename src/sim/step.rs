//! The only code that changes a world: one action, from one world to the next.
//!
//! ```text
//! action ──► is it possible? ──no──► Refused
//!               │yes
//!               ▼
//!            request ──► server ──► facts, replies ──► latch? ──► the client sees the reply ──► its next step
//! ```

use std::sync::Arc;

use super::action::{Action, ClientId, LatchPoint, Who};
use super::client::protocol::{Argument, Clause, Effect, Flow, Pattern, Protocol, Request};
use super::client::{AfterSleep, Belief, Client, Place, name_in_attempt};
use super::database::{DatabaseFact, DatabaseInput, DatabaseOutput, SqlReply, Value as SqlValue};
use super::event::{Answer, BeliefEnd, Event, Fact, Server, Value};
use super::gateway::{Gateway, GatewayFact};
use super::setup::Setup;
use super::store::reply::Reply;
use super::store::{Cause, StoreFact, StoreInput, StoreOutput};
use super::time::END_OF_TIME;
use super::world::{World, connection_of, owner_of};

/// What an action made of a world: the next world, and what happened, in order. An action that is not possible gives the same
/// world and one [`Fact::Refused`]. A pure function: the same arguments give the same result, in every build, for ever.
pub fn step(setup: &Setup, world: &World, action: &Action) -> (World, Vec<Event>) {
    let mut stage = Stage {
        setup,
        world: world.clone(),
        events: Vec::new(),
    };
    if let Err(why) = stage.act(action) {
        return (world.clone(), vec![Event { at: world.now, fact: Fact::Refused { why } }]);
    }
    (stage.world, stage.events)
}

/// Why the action is not possible now, in a sentence; `None` when it is possible. Controls show it, so that they never offer
/// what [`step`] refuses.
pub fn refusal(setup: &Setup, world: &World, action: &Action) -> Option<String> {
    let stage = Stage {
        setup,
        world: world.clone(),
        events: Vec::new(),
    };
    stage.refuse(action).err()
}

/// Starts the first attempt of every client.
pub(super) fn begin(setup: &Setup, world: World) -> (World, Vec<Event>) {
    let mut stage = Stage {
        setup,
        world,
        events: Vec::new(),
    };
    for place in 0..setup.clients.len() {
        stage.start_attempt(ClientId(place));
    }
    (stage.world, stage.events)
}

/// A world in the making.
struct Stage<'a> {
    setup: &'a Setup,
    world: World,
    events: Vec<Event>,
}

impl Stage<'_> {
    fn act(&mut self, action: &Action) -> Result<(), String> {
        self.refuse(action)?;
        match action {
            Action::Step { client, step } => self.send(*client, *step, false),
            Action::LoseReply { client, step } => self.lose_reply(*client, *step),
            Action::Pause { client, at } => self.pause(*client, *at),
            Action::Resume { client, at } => self.resume(*client, *at),
            Action::Crash { client } => self.crash(*client),
            Action::Restart { client } => self.start_attempt(*client),
            Action::Advance { milliseconds } => self.advance(*milliseconds),
            Action::AdvanceToNextDeadline => {
                let milliseconds = self.world.next_deadline().unwrap_or(0);
                self.advance(milliseconds);
            }
            Action::ExpireNow { key } => {
                let output = self.world.store.apply(StoreInput::ExpireNow { key });
                self.after_store(None, output);
            }
            Action::Wipe { key } => {
                let output = self.world.store.apply(StoreInput::Wipe { key });
                self.after_store(None, output);
            }
            Action::Command { who, request, .. } => self.type_command(*who, request),
        }
        Ok(())
    }

    // ---- what is possible -------------------------------------------------------------------------------------------

    fn refuse(&self, action: &Action) -> Result<(), String> {
        match action {
            Action::Step { client, step } => self.refuse_step(*client, *step),
            Action::LoseReply { client, step } => match self.place(*client)? {
                Place::InFlight { step: at, .. } if at == step => Ok(()),
                _ => self.refuse_step(*client, *step),
            },
            Action::Pause { client, at } => self.refuse_pause(*client, *at),
            Action::Resume { client, at } => self.refuse_resume(*client, *at),
            Action::Crash { client } => match self.place(*client)? {
                Place::Crashed => Err(format!("{} has crashed already", self.name(*client))),
                Place::ConsoleOnly => Err(format!(
                    "{} runs no protocol that could crash",
                    self.name(*client)
                )),
                _ => Ok(()),
            },
            Action::Restart { client } => match self.place(*client)? {
                Place::Crashed => Ok(()),
                _ => Err(format!("{} has not crashed", self.name(*client))),
            },
            Action::Advance { milliseconds } => self.refuse_advance(*milliseconds),
            Action::AdvanceToNextDeadline => match self.world.next_deadline() {
                Some(milliseconds) => self.refuse_advance(milliseconds),
                None => Err("nothing has a deadline: no key has a time to live, and nobody waits".to_string()),
            },
            Action::ExpireNow { key } => match self.world.store.get(key) {
                None => Err(format!("there is no key {}", String::from_utf8_lossy(key))),
                Some(state) if state.remaining.is_none() => Err(format!(
                    "{} has no deadline that could pass",
                    String::from_utf8_lossy(key)
                )),
                Some(_) => Ok(()),
            },
            Action::Wipe { key } => match self.world.store.get(key) {
                None => Err(format!("there is no key {}", String::from_utf8_lossy(key))),
                Some(_) => Ok(()),
            },
            Action::Command { who, .. } => self.refuse_command(*who),
        }
    }

    fn refuse_step(&self, client: ClientId, step: usize) -> Result<(), String> {
        let name = self.name(client);
        let state = self.client(client)?;
        if let Some(point) = state.paused_at() {
            let (side, label) = match point {
                LatchPoint::Before(step) => ("before", self.label(client, step)),
                LatchPoint::After(step) => ("after", self.label(client, step)),
            };
            return Err(format!("{name} is paused {side} {label}: resume {name} first"));
        }
        match &state.place {
            Place::ConsoleOnly => Err(format!("{name} runs no protocol")),
            Place::Crashed => Err(format!("{name} has crashed: restart {name} first")),
            Place::Ended { finished: true } => Err(format!("{name} is done")),
            Place::Ended { finished: false } => Err(format!("{name} has stopped")),
            Place::Sleeping { remaining, .. } => Err(format!(
                "{name} waits on its own timer for another {}",
                super::time::in_words(*remaining)
            )),
            Place::Blocked { step, .. } | Place::InFlight { step, .. } => Err(format!(
                "{name} waits for the reply to {}",
                self.label(client, *step)
            )),
            Place::Ready { .. } if state.console_waits => {
                Err(format!("{name}'s connection waits for the reply to its console"))
            }
            Place::Ready { step: at } if *at != step => Err(format!(
                "{name}'s next step is {}, not {}",
                self.label(client, *at),
                self.label(client, step)
            )),
            Place::Ready { .. } => Ok(()),
        }
    }

    fn refuse_pause(&self, client: ClientId, at: Option<LatchPoint>) -> Result<(), String> {
        let state = self.client(client)?;
        let name = self.name(client);
        let Some(point) = at.or_else(|| state.latch_point_here()) else {
            return Err(match state.place {
                Place::Crashed => format!("{name} has crashed"),
                Place::ConsoleOnly => format!("{name} runs no protocol"),
                _ => format!("{name} has ended its run"),
            });
        };
        if state.latches.contains(&point) {
            return Err(format!("{name} has a latch there already"));
        }
        Ok(())
    }

    fn refuse_resume(&self, client: ClientId, at: Option<LatchPoint>) -> Result<(), String> {
        let state = self.client(client)?;
        let name = self.name(client);
        match (at, state.latch_point_here()) {
            (Some(point), _) if state.latches.contains(&point) => Ok(()),
            (Some(_), _) => Err(format!("{name} has no latch there")),
            (None, Some(point)) if state.latches.contains(&point) => Ok(()),
            (None, _) => Err(format!("{name} is not paused")),
        }
    }

    fn refuse_advance(&self, milliseconds: u64) -> Result<(), String> {
        match self.world.now.checked_add(milliseconds) {
            Some(then) if then <= END_OF_TIME => Ok(()),
            _ => Err("the clock goes no further than a hundred years".to_string()),
        }
    }

    fn refuse_command(&self, who: Who) -> Result<(), String> {
        let Who::Client(client) = who else {
            return Ok(());
        };
        let state = self.client(client)?;
        let name = self.name(client);
        match state.place {
            Place::Crashed => Err(format!("{name} has crashed: restart {name} first")),
            Place::Blocked { .. } => Err(format!("{name}'s connection waits for a reply")),
            _ if state.console_waits => Err(format!("{name}'s connection waits for a reply")),
            _ => Ok(()),
        }
    }

    // ---- latches, crashes, time -------------------------------------------------------------------------------------

    fn pause(&mut self, client: ClientId, at: Option<LatchPoint>) {
        let Some(at) = at.or_else(|| self.here(client)) else {
            return;
        };
        self.change(client, |state| {
            state.latches.insert(at);
        });
        self.note(Fact::LatchSet { client, at });
        self.note_if_paused(client);
    }

    fn resume(&mut self, client: ClientId, at: Option<LatchPoint>) {
        let paused_at = self.world.clients[client.0].paused_at();
        let Some(point) = at.or_else(|| self.here(client)) else {
            return;
        };
        self.change(client, |state| {
            state.latches.remove(&point);
        });
        if paused_at != Some(point) {
            self.note(Fact::LatchRemoved { client, at: point });
            return;
        }
        self.note(Fact::Resumed { client });
        if let Place::InFlight { step, answer, age } = self.world.clients[client.0].place.clone() {
            self.deliver(client, step, answer, age);
        }
    }

    fn crash(&mut self, client: ClientId) {
        self.note(Fact::Crashed { client });
        self.end_beliefs(client, BeliefEnd::Crashed);
        self.change(client, |state| {
            state.place = Place::Crashed;
            state.latches.clear();
            state.variables.clear();
            state.compensation = None;
            state.order = None;
            state.console_waits = false;
        });
        let connection = connection_of(Who::Client(client));
        let output = self.world.store.apply(StoreInput::Disconnect { connection });
        self.after_store(Some(Who::Client(client)), output);
        let output = self.world.database.apply(DatabaseInput::Disconnect { connection });
        self.after_database(Some(Who::Client(client)), output);
    }

    /// Lets time pass from deadline to deadline, so that each thing that time does happens at its own moment. Bounded: each
    /// turn of the loop ends at a deadline that is then gone, or at the end.
    fn advance(&mut self, milliseconds: u64) {
        self.note(Fact::TimePassed { milliseconds });
        let mut left = milliseconds;
        while left > 0 {
            let pass = self.world.next_deadline().map_or(left, |next| next.clamp(1, left));
            self.elapse(pass);
            left -= pass;
        }
    }

    fn elapse(&mut self, milliseconds: u64) {
        self.world.now += milliseconds;
        let sleeping: Vec<bool> = self
            .world
            .clients
            .iter()
            .map(|client| client.next_wake().is_some())
            .collect();
        for client in &mut self.world.clients {
            if !client.is_timeless() {
                Arc::make_mut(client).elapse(milliseconds);
            }
        }
        let output = self.world.store.apply(StoreInput::Elapse { ms: milliseconds });
        self.after_store(None, output);
        let output = self.world.database.apply(DatabaseInput::Elapse { ms: milliseconds });
        self.after_database(None, output);
        for (place, slept) in sleeping.into_iter().enumerate() {
            if slept && self.world.clients[place].next_wake() == Some(0) {
                self.wake(ClientId(place));
            }
        }
    }

    fn wake(&mut self, client: ClientId) {
        let Place::Sleeping { then, .. } = self.world.clients[client.0].place else {
            return;
        };
        self.note(Fact::Woke { client });
        match then {
            AfterSleep::Step(step) => self.go_to(client, Some(step)),
            AfterSleep::StartOver { .. } => self.start_attempt(client),
            AfterSleep::Answer(step) => {
                let answer = Answer::Client(Reply::Status("OK".to_string()));
                self.answered(Who::Client(client), Some(step), Server::Client, &answer);
                self.receive(client, step, answer, 0, false);
            }
        }
    }

    // ---- requests ---------------------------------------------------------------------------------------------------

    /// Sends a client's step. With `lose`, the server does it and the reply is lost.
    fn send(&mut self, client: ClientId, step: usize, lose: bool) {
        let Some(protocol) = self.protocol(client) else {
            return;
        };
        let request = &protocol.steps[step].request;
        let who = Who::Client(client);
        match self.fill(who, request) {
            Err(why) => self.end_run(client, false, Some(why)),
            Ok(Filled::Sleep(milliseconds)) => {
                self.sent(who, Some(step), Server::Client, format!("SLEEP {milliseconds}"));
                self.sleep(client, milliseconds, AfterSleep::Answer(step));
            }
            Ok(filled) => {
                let answer = self.execute(who, Some(step), filled);
                match answer {
                    None => {
                        self.change(client, |state| state.place = Place::Blocked { step, age: 0 });
                    }
                    Some(answer) => self.receive(client, step, answer, 0, lose),
                }
            }
        }
    }

    fn type_command(&mut self, who: Who, request: &Request) {
        let filled = match self.fill(who, request) {
            Err(why) | Ok(Filled::Refused(why)) => {
                let answer = Answer::Client(Reply::Error(format!("ERR {why}")));
                return self.answered(who, None, Server::Client, &answer);
            }
            Ok(Filled::Sleep(_)) => {
                let answer = Answer::Client(Reply::Error(
                    "ERR a console does not sleep: move the clock instead".to_string(),
                ));
                return self.answered(who, None, Server::Client, &answer);
            }
            Ok(filled) => filled,
        };
        if self.execute(who, None, filled).is_none()
            && let Who::Client(client) = who
        {
            self.change(client, |state| state.console_waits = true);
        }
    }

    /// Puts values into a request's variables.
    fn fill(&self, who: Who, request: &Request) -> Result<Filled, String> {
        let values = Values { stage: self, who };
        Ok(match request {
            Request::Store(arguments) => Filled::Store {
                text: values.text_of(arguments)?,
                argv: values.bytes_of(arguments)?,
            },
            Request::Gateway(arguments) => Filled::Gateway {
                text: values.text_of(arguments)?,
                argv: values.bytes_of(arguments)?,
            },
            Request::Database(Err(error)) => Filled::BrokenStatement(error.clone()),
            Request::Database(Ok(statement)) => {
                let parameters = statement
                    .variables()
                    .iter()
                    .map(|name| Ok((name.clone(), SqlValue::from(values.value_of(name)?))))
                    .collect::<Result<Vec<_>, String>>()?;
                Filled::Statement {
                    statement: statement.clone(),
                    parameters,
                }
            }
            Request::CheckDeadline(key) => match who {
                Who::Client(client) => Filled::CheckDeadline {
                    client,
                    key: values.bytes(key)?,
                },
                Who::Operator => Filled::Refused("CHECK looks at a client's own clock".to_string()),
            },
            Request::Sleep(milliseconds) => Filled::Sleep(values.number(milliseconds)?),
        })
    }

    /// Has a server do a request, and gives its answer; `None` when the server makes the connection wait.
    fn execute(&mut self, who: Who, step: Option<usize>, filled: Filled) -> Option<Answer> {
        let connection = connection_of(who);
        let now = self.world.wall_clock();
        match filled {
            Filled::Store { argv, text } => {
                self.sent(who, step, Server::Store, text);
                let output = self.world.store.apply(StoreInput::Command {
                    connection,
                    argv: &argv,
                    now,
                });
                let answer = self.after_store(Some(who), output).map(Answer::Store);
                self.answered_or_waits(who, step, Server::Store, answer)
            }
            Filled::Statement {
                statement,
                parameters,
            } => {
                self.sent(who, step, Server::Database, statement.text_with(&parameters));
                let output = self.world.database.apply(DatabaseInput::Statement {
                    connection,
                    statement: &statement,
                    parameters: &parameters,
                    now,
                });
                let answer = self.after_database(Some(who), output).map(Answer::Database);
                self.answered_or_waits(who, step, Server::Database, answer)
            }
            Filled::BrokenStatement(error) => {
                self.sent(who, step, Server::Database, String::new());
                let answer = Some(Answer::Database(SqlReply::Error(error)));
                self.answered_or_waits(who, step, Server::Database, answer)
            }
            Filled::Gateway { argv, text } => {
                self.sent(who, step, Server::Gateway, text);
                let (reply, fact) = self.world.gateway.apply(&argv);
                self.after_gateway(who, fact);
                self.answered_or_waits(who, step, Server::Gateway, Some(Answer::Gateway(reply)))
            }
            Filled::CheckDeadline { client, key } => {
                let text = format!("CHECK {}", String::from_utf8_lossy(&key));
                self.sent(who, step, Server::Client, text);
                let answer = Answer::Client(self.look_at_deadline(client, &key));
                self.answered_or_waits(who, step, Server::Client, Some(answer))
            }
            Filled::Sleep(_) | Filled::Refused(_) => None,
        }
    }

    fn look_at_deadline(&self, client: ClientId, key: &[u8]) -> Reply {
        let belief = self.world.clients[client.0].beliefs.get(key);
        let held = belief.is_some_and(|belief| belief.remaining != Some(0));
        Reply::Status(if held { "held" } else { "lapsed" }.to_string())
    }

    /// Tells what the store did, delivers the replies of other connections, and gives the reply to `asking`.
    fn after_store(&mut self, asking: Option<Who>, output: StoreOutput) -> Option<Reply> {
        for fact in output.facts {
            match fact {
                StoreFact::Key { key, before, after, cause } => {
                    self.after_key(asking, key, before, after, cause);
                }
                StoreFact::Command { connection, depth, argv, reply } if depth > 0 => {
                    self.note(Fact::ScriptCalled { who: owner_of(connection), argv, reply });
                }
                StoreFact::Log { message, .. } => {
                    if let Some(who) = asking {
                        self.note(Fact::ScriptLogged { who, message });
                    }
                }
                _ => {}
            }
        }
        let mut own = None;
        for (connection, reply) in output.replies {
            match owner_of(connection) {
                who if Some(who) == asking && own.is_none() => own = Some(reply),
                who => self.late_reply(who, Server::Store, Answer::Store(reply)),
            }
        }
        own
    }

    fn after_key(
        &mut self,
        asking: Option<Who>,
        key: Vec<u8>,
        before: Option<super::store::KeyState>,
        after: Option<super::store::KeyState>,
        cause: Cause,
    ) {
        let who = asking.filter(|_| matches!(cause, Cause::Command(_)));
        let gone = before.is_some() && after.is_none();
        self.note(Fact::KeyChanged { who, key: key.clone(), before, after, cause });
        if let (true, Some(Who::Client(client))) = (gone, who) {
            self.end_belief(client, &key, BeliefEnd::Released);
        }
    }

    /// Tells what the database did, delivers the replies of other connections, and gives the reply to `asking`.
    fn after_database(&mut self, asking: Option<Who>, output: DatabaseOutput) -> Option<SqlReply> {
        for fact in output.facts {
            match fact {
                DatabaseFact::Write(write) => {
                    let who = owner_of(write.connection);
                    self.note(Fact::Wrote { who, write });
                }
                DatabaseFact::Committed { connection } => {
                    self.note(Fact::Committed { who: owner_of(connection) });
                }
                DatabaseFact::RolledBack { connection } => {
                    self.note(Fact::RolledBack { who: owner_of(connection) });
                }
                _ => {}
            }
        }
        let mut own = None;
        for (connection, reply) in output.replies {
            match owner_of(connection) {
                who if Some(who) == asking && own.is_none() => own = Some(reply),
                who => self.late_reply(who, Server::Database, Answer::Database(reply)),
            }
        }
        own
    }

    fn after_gateway(&mut self, who: Who, fact: Option<GatewayFact>) {
        let Some(fact) = fact else { return };
        let (GatewayFact::Charged(place) | GatewayFact::Repeated(place) | GatewayFact::Refunded(place)) = fact;
        let charge = Gateway::name_of(place);
        let (order, amount) = {
            let charge = &self.world.gateway.charges()[place];
            (charge.order.clone(), charge.amount)
        };
        if let (Who::Client(client), false) = (who, matches!(fact, GatewayFact::Refunded(_))) {
            self.change(client, |state| state.order = Some(order.clone()));
        }
        self.note(match fact {
            GatewayFact::Charged(_) => Fact::Charged { who, charge, order, amount },
            GatewayFact::Repeated(_) => Fact::ChargeRepeated { who, charge, order },
            GatewayFact::Refunded(_) => Fact::Refunded { who, charge, order },
        });
    }

    /// A reply that a server owed somebody since an earlier action.
    fn late_reply(&mut self, who: Who, server: Server, answer: Answer) {
        let Who::Client(client) = who else {
            return self.answered(who, None, server, &answer);
        };
        match self.world.clients[client.0].place {
            Place::Blocked { step, age } => {
                self.answered(who, Some(step), server, &answer);
                self.receive(client, step, answer, age, false);
            }
            _ => {
                self.answered(who, None, server, &answer);
                self.change(client, |state| state.console_waits = false);
            }
        }
    }

    // ---- replies ----------------------------------------------------------------------------------------------------

    /// A reply comes to a client: it is lost, or waits at the latch after the step, or is seen.
    fn receive(&mut self, client: ClientId, step: usize, answer: Answer, age: u64, lose: bool) {
        if lose {
            self.note(Fact::ReplyLost { client, step });
            return self.deliver(client, step, Answer::Lost, age);
        }
        let point = LatchPoint::After(step);
        if self.world.clients[client.0].latches.contains(&point) {
            self.change(client, |state| state.place = Place::InFlight { step, answer, age });
            return self.note_if_paused(client);
        }
        self.deliver(client, step, answer, age);
    }

    fn lose_reply(&mut self, client: ClientId, step: usize) {
        let Place::InFlight { age, .. } = self.world.clients[client.0].place else {
            return self.send(client, step, true);
        };
        self.change(client, |state| {
            state.latches.remove(&LatchPoint::After(step));
        });
        self.receive(client, step, Answer::Lost, age, true);
    }

    /// The client sees the answer, and acts on it.
    fn deliver(&mut self, client: ClientId, step: usize, answer: Answer, age: u64) {
        let Some(protocol) = self.protocol(client) else {
            return;
        };
        let clauses = &protocol.steps[step].clauses;
        let fitting = clauses
            .iter()
            .position(|clause| fits(&clause.pattern, &answer, self.setup.found_rows));
        self.note(Fact::Saw { client, step, answer: answer.clone(), clause: fitting });
        let Some(place) = fitting else {
            return match failure(&answer) {
                Some(why) => self.end_run(client, false, Some(why)),
                None => self.go_on(client, step, &Flow::Next),
            };
        };
        let clause = &clauses[place];
        self.bind(client, &clause.pattern, &answer);
        match self.take_effect(client, clause, age) {
            Ok(()) => self.go_on(client, step, &clause.flow),
            Err(why) => self.end_run(client, false, Some(why)),
        }
    }

    fn bind(&mut self, client: ClientId, pattern: &Pattern, answer: &Answer) {
        let Pattern::Bind(names) = pattern else {
            return;
        };
        for (name, value) in names.iter().zip(values_in(answer)) {
            self.change(client, |state| {
                state.variables.insert(name.clone(), value.clone());
            });
            self.note(Fact::Bound { client, variable: name.clone(), value });
        }
    }

    fn take_effect(&mut self, client: ClientId, clause: &Clause, age: u64) -> Result<(), String> {
        for effect in &clause.effects {
            let values = Values { stage: self, who: Who::Client(client) };
            match effect {
                Effect::Holds { key, milliseconds } => {
                    let key = values.bytes(key)?;
                    let lease = milliseconds.as_ref().map(|argument| values.number(argument));
                    let lease = lease.transpose()?;
                    self.believe(client, key, lease, age);
                }
                Effect::Releases(key) => {
                    let key = values.bytes(key)?;
                    self.end_belief(client, &key, BeliefEnd::Released);
                }
                Effect::Loses(key) => {
                    let key = values.bytes(key)?;
                    self.end_belief(client, &key, BeliefEnd::Lost);
                }
                Effect::Draws(variable) => {
                    let token = values.value_of(variable)?;
                    self.note(Fact::Drew { client, token });
                }
                Effect::Sells { units, order } => {
                    let named = order.as_ref().map(|order| values.bytes(order)).transpose()?;
                    let order = named
                        .map(|order| String::from_utf8_lossy(&order).into_owned())
                        .or_else(|| self.world.clients[client.0].order.clone());
                    self.note(Fact::Sold { client, units: *units, order });
                }
            }
        }
        Ok(())
    }

    fn believe(&mut self, client: ClientId, key: Vec<u8>, lease: Option<u64>, age: u64) {
        self.end_belief(client, &key, BeliefEnd::Renewed);
        let sent = self.world.now.saturating_sub(age);
        let belief = Belief { remaining: lease.map(|lease| lease.saturating_sub(age)) };
        self.change(client, |state| {
            state.beliefs.insert(key.clone(), belief);
        });
        let until = lease.map(|lease| sent.saturating_add(lease));
        self.note(Fact::Believed { client, key, sent, until });
    }

    fn end_belief(&mut self, client: ClientId, key: &[u8], why: BeliefEnd) {
        if self.world.clients[client.0].beliefs.contains_key(key) {
            self.change(client, |state| {
                state.beliefs.remove(key);
            });
            self.note(Fact::BeliefEnded { client, key: key.to_vec(), why });
        }
    }

    fn end_beliefs(&mut self, client: ClientId, why: BeliefEnd) {
        let keys: Vec<Vec<u8>> = self.world.clients[client.0].beliefs.keys().cloned().collect();
        for key in keys {
            self.end_belief(client, &key, why);
        }
    }

    // ---- where a client goes ----------------------------------------------------------------------------------------

    fn go_on(&mut self, client: ClientId, step: usize, flow: &Flow) {
        match flow {
            Flow::Next => {
                let next = self.next_step(client, step);
                self.go_to(client, next);
            }
            Flow::Retry { after: None } => self.go_to(client, Some(step)),
            Flow::Retry { after: Some(wait) } => self.sleep(client, *wait, AfterSleep::Step(step)),
            Flow::StartOver { after } => self.start_over(client, *after),
            Flow::GoTo(target) => {
                self.change(client, |state| state.compensation = None);
                self.go_to(client, Some(*target));
            }
            Flow::Abort(steps) => {
                self.note(Fact::Aborted { client, steps: steps.clone() });
                let mut rest = steps.clone();
                let first = if rest.is_empty() { None } else { Some(rest.remove(0)) };
                self.change(client, |state| state.compensation = Some(rest));
                self.go_to(client, first);
            }
            Flow::Stop => self.end_run(client, false, None),
            Flow::Done => self.end_run(client, true, None),
        }
    }

    fn next_step(&mut self, client: ClientId, step: usize) -> Option<usize> {
        let mut next = None;
        let mut compensating = false;
        self.change(client, |state| {
            if let Some(rest) = &mut state.compensation {
                compensating = true;
                next = if rest.is_empty() { None } else { Some(rest.remove(0)) };
            }
        });
        if compensating {
            return next;
        }
        self.protocol(client)?.following(Some(step))
    }

    /// The client stands before this step, or its run ends: after a compensation unfinished, else finished.
    fn go_to(&mut self, client: ClientId, step: Option<usize>) {
        match step {
            Some(step) => {
                self.change(client, |state| state.place = Place::Ready { step });
                self.note_if_paused(client);
            }
            None => {
                let compensated = self.world.clients[client.0].compensation.is_some();
                self.end_run(client, !compensated, None);
            }
        }
    }

    fn sleep(&mut self, client: ClientId, milliseconds: u64, then: AfterSleep) {
        self.note(Fact::Slept { client, milliseconds });
        self.change(client, |state| {
            state.place = Place::Sleeping { remaining: milliseconds, then };
        });
        if milliseconds == 0 {
            self.wake(client);
        }
    }

    fn start_over(&mut self, client: ClientId, after: Option<u64>) {
        self.end_beliefs(client, BeliefEnd::RunEnded);
        let first = self.protocol(client).and_then(Protocol::first_step);
        match (after, first) {
            (Some(wait), Some(first)) => self.sleep(client, wait, AfterSleep::StartOver { first }),
            _ => self.start_attempt(client),
        }
    }

    fn start_attempt(&mut self, client: ClientId) {
        let Some(first) = self.protocol(client).and_then(Protocol::first_step) else {
            return;
        };
        let declaration = &self.setup.clients[client.0];
        let attempt = self.world.clients[client.0].attempt.saturating_add(1);
        let me = name_in_attempt(self.setup, client, attempt);
        self.change(client, |state| {
            state.attempt = attempt;
            state.variables = declaration.parameters.clone();
            state
                .variables
                .insert("me".to_string(), Value::Text(me.clone().into_bytes()));
            state.compensation = None;
            state.order = None;
        });
        self.note(Fact::Started { client, me });
        self.go_to(client, Some(first));
    }

    fn end_run(&mut self, client: ClientId, finished: bool, why: Option<String>) {
        self.end_beliefs(client, BeliefEnd::RunEnded);
        self.note(Fact::Ended { client, finished, why });
        let mut again = false;
        self.change(client, |state| {
            again = state.rounds_left > 0;
            state.rounds_left = state.rounds_left.saturating_sub(1);
            state.place = Place::Ended { finished };
            state.compensation = None;
        });
        if again {
            self.start_attempt(client);
        }
    }

    // ---- small things -----------------------------------------------------------------------------------------------

    fn note(&mut self, fact: Fact) {
        self.events.push(Event { at: self.world.now, fact });
    }

    fn note_if_paused(&mut self, client: ClientId) {
        if let Some(at) = self.world.clients[client.0].paused_at() {
            self.note(Fact::Paused { client, at });
        }
    }

    fn sent(&mut self, who: Who, step: Option<usize>, server: Server, text: String) {
        self.note(Fact::Sent { who, step, server, text });
    }

    fn answered(&mut self, who: Who, step: Option<usize>, server: Server, answer: &Answer) {
        self.note(Fact::Answered { who, step, server, answer: answer.clone() });
    }

    fn answered_or_waits(
        &mut self,
        who: Who,
        step: Option<usize>,
        server: Server,
        answer: Option<Answer>,
    ) -> Option<Answer> {
        match &answer {
            Some(answer) => self.answered(who, step, server, answer),
            None => self.note(Fact::Waits { who, server }),
        }
        answer
    }

    fn change(&mut self, client: ClientId, how: impl FnOnce(&mut Client)) {
        if let Some(state) = self.world.clients.get_mut(client.0) {
            how(Arc::make_mut(state));
        }
    }

    fn client(&self, client: ClientId) -> Result<&Client, String> {
        self.world
            .client(client)
            .ok_or_else(|| "there is no such client".to_string())
    }

    fn place(&self, client: ClientId) -> Result<&Place, String> {
        Ok(&self.client(client)?.place)
    }

    fn here(&self, client: ClientId) -> Option<LatchPoint> {
        self.world.client(client).and_then(Client::latch_point_here)
    }

    fn name(&self, client: ClientId) -> &str {
        self.setup.clients.get(client.0).map_or("?", |client| client.name.as_str())
    }

    fn label(&self, client: ClientId, step: usize) -> &str {
        self.protocol(client)
            .and_then(|protocol| protocol.steps.get(step))
            .map_or("?", |step| step.label.as_str())
    }
}

impl<'a> Stage<'a> {
    fn protocol(&self, client: ClientId) -> Option<&'a Protocol> {
        let setup: &'a Setup = self.setup;
        setup.protocols.get(setup.clients.get(client.0)?.protocol?)
    }
}

/// A request with values in place of its variables.
enum Filled {
    Store {
        argv: Vec<Vec<u8>>,
        text: String,
    },
    Gateway {
        argv: Vec<Vec<u8>>,
        text: String,
    },
    Statement {
        statement: super::database::Statement,
        parameters: Vec<(String, SqlValue)>,
    },
    BrokenStatement(super::database::SqlError),
    CheckDeadline {
        client: ClientId,
        key: Vec<u8>,
    },
    Sleep(u64),
    Refused(String),
}

/// The values that somebody's variables have.
struct Values<'a, 'b> {
    stage: &'a Stage<'b>,
    who: Who,
}

impl Values<'_, '_> {
    fn value_of(&self, name: &str) -> Result<Value, String> {
        let Who::Client(client) = self.who else {
            return Err(format!("the operator has no variable {{{name}}}"));
        };
        self.stage
            .client(client)?
            .variables
            .get(name)
            .cloned()
            .ok_or_else(|| format!("{{{name}}} has no value yet"))
    }

    fn bytes(&self, argument: &Argument) -> Result<Vec<u8>, String> {
        let scripts = &self.stage.setup.scripts;
        match argument {
            Argument::Literal(bytes) => Ok(bytes.clone()),
            Argument::Variable(name) => match self.value_of(name)? {
                Value::Text(bytes) => Ok(bytes),
                Value::Integer(integer) => Ok(integer.to_string().into_bytes()),
                Value::Null => Err(format!("{{{name}}} is NULL")),
            },
            Argument::ScriptSource(name) => scripts
                .get(name)
                .cloned()
                .ok_or_else(|| format!("there is no script {name}")),
            Argument::ScriptSha(name) => scripts
                .get(name)
                .map(|source| super::store::script_sha1(source).into_bytes())
                .ok_or_else(|| format!("there is no script {name}")),
        }
    }

    fn number(&self, argument: &Argument) -> Result<u64, String> {
        let bytes = self.bytes(argument)?;
        let text = String::from_utf8_lossy(&bytes);
        text.parse()
            .map_err(|_| format!("expected a number of milliseconds, not '{text}'"))
    }

    fn bytes_of(&self, arguments: &[Argument]) -> Result<Vec<Vec<u8>>, String> {
        arguments.iter().map(|argument| self.bytes(argument)).collect()
    }

    /// The request as one line: scripts by their names, arguments quoted where redis-cli needs it.
    fn text_of(&self, arguments: &[Argument]) -> Result<String, String> {
        let words = arguments
            .iter()
            .map(|argument| match argument {
                Argument::ScriptSource(name) | Argument::ScriptSha(name) => Ok(name.clone()),
                other => Ok(super::store::quote_argument(&self.bytes(other)?)),
            })
            .collect::<Result<Vec<String>, String>>()?;
        Ok(words.join(" "))
    }
}

/// Whether a pattern takes an answer.
fn fits(pattern: &Pattern, answer: &Answer, found_rows: bool) -> bool {
    match pattern {
        Pattern::Else => true,
        Pattern::NoReply => *answer == Answer::Lost,
        Pattern::Error(prefix) => error_of(answer).is_some_and(|error| {
            prefix.as_ref().is_none_or(|prefix| {
                error.split([' ', '(']).any(|word| word == prefix) && names_error(&error, prefix)
            })
        }),
        Pattern::Status(text) => reply_of(answer) == Some(&Reply::Status(text.clone())),
        Pattern::Nil => reply_of(answer) == Some(&Reply::Nil),
        Pattern::Integer(wanted) => single_value(answer) == Some(Value::Integer(*wanted)),
        Pattern::Text(wanted) => single_value(answer) == Some(Value::Text(wanted.clone())),
        Pattern::Rows(wanted) => rows_of(answer, found_rows) == Some(*wanted),
        Pattern::Bind(names) => values_in(answer).len() >= names.len(),
    }
}

/// Whether the error begins with this prefix (`WRONGTYPE`) or has this number (`ERROR 1062 (23000): ...`).
fn names_error(error: &str, prefix: &str) -> bool {
    error.starts_with(prefix)
        || error
            .strip_prefix("ERROR ")
            .is_some_and(|rest| rest.starts_with(prefix))
}

fn reply_of(answer: &Answer) -> Option<&Reply> {
    match answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => Some(reply),
        Answer::Database(_) | Answer::Lost => None,
    }
}

fn error_of(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Store(Reply::Error(error)) | Answer::Gateway(Reply::Error(error)) | Answer::Client(Reply::Error(error)) => {
            Some(error.clone())
        }
        Answer::Database(reply @ SqlReply::Error(_)) => Some(reply.print_short()),
        _ => None,
    }
}

/// Why an answer that no clause took ends a run, as an exception would; `None` for an ordinary answer.
fn failure(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Lost => Some("no reply came back".to_string()),
        answer => error_of(answer),
    }
}

fn rows_of(answer: &Answer, found_rows: bool) -> Option<u64> {
    match answer {
        Answer::Database(SqlReply::Affected { affected, .. }) => {
            // `affected` already is what the driver reports under the connection's CLIENT_FOUND_ROWS flag.
            let _ = found_rows;
            Some(*affected)
        }
        Answer::Database(SqlReply::Rows { rows, .. }) => Some(rows.len() as u64),
        _ => None,
    }
}

/// The one value of an answer that has just one.
fn single_value(answer: &Answer) -> Option<Value> {
    match answer {
        Answer::Store(Reply::Array(_)) => None,
        Answer::Database(SqlReply::Rows { rows, .. }) if rows.len() != 1 => None,
        answer => match values_in(answer).as_slice() {
            [value] => Some(value.clone()),
            _ => None,
        },
    }
}

/// What `on {a}, {b}` binds: the reply, the elements of an array, the columns of the first row. Empty for nil, errors, a lost
/// reply, no rows, and statements that give no rows.
fn values_in(answer: &Answer) -> Vec<Value> {
    match answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => match reply {
            Reply::Array(elements) => elements.iter().map(|element| value_of_reply(element).unwrap_or(Value::Null)).collect(),
            reply => value_of_reply(reply).into_iter().collect(),
        },
        Answer::Database(SqlReply::Rows { rows, .. }) => rows
            .first()
            .map(|row| row.iter().cloned().map(Value::from).collect())
            .unwrap_or_default(),
        Answer::Database(_) | Answer::Lost => Vec::new(),
    }
}

fn value_of_reply(reply: &Reply) -> Option<Value> {
    match reply {
        Reply::Status(text) => Some(Value::Text(text.clone().into_bytes())),
        Reply::Integer(integer) => Some(Value::Integer(*integer)),
        Reply::Bulk(bytes) => Some(Value::Text(bytes.clone())),
        Reply::Nil | Reply::Error(_) | Reply::Array(_) => None,
    }
}

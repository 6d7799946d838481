//! The only code that changes a world: one action, from one world to the next.
//!
//! ```text
//! action ──► is it possible? ──no──► Refused
//!               │yes
//!               ▼
//!            request ──► server ──► facts, replies ──► latch? ──► the client sees the reply ──► its next step
//! ```

mod clause;
mod clock;
mod messages;
mod network;
mod pattern;
mod possible;
mod request;
mod server;
mod servers;

use request::Course;

use std::sync::Arc;

use super::action::{Action, ClientId, LatchPoint, Leg, ServerId, Who};
use super::client::protocol::Protocol;
use super::client::{AfterSleep, Client, Place};
use super::database::DatabaseInput;
use super::event::{Answer, BeliefEnd, Event, Fact, Server};
use super::setup::Setup;
use super::store::StoreInput;
use super::store::reply::Reply;
use super::world::{World, subscriber_of};

/// What an action made of a world: the next world, and what happened, in order. An action that is not possible gives the same
/// world and one [`Fact::Refused`]. A pure function: the same arguments give the same result, in every build, for ever.
pub fn step(setup: &Setup, world: &World, action: &Action) -> (World, Vec<Event>) {
    let mut stage = Stage {
        setup,
        world: world.clone(),
        events: Vec::new(),
    };
    if let Err(why) = stage.act(action) {
        return (
            world.clone(),
            vec![Event {
                at: world.now,
                fact: Fact::Refused { why },
            }],
        );
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
            Action::Step { client, step } => self.send(*client, *step, Course::Straight),
            Action::LoseReply { client, step } => self.lose_reply(*client, *step),
            Action::LoseRequest { client, step } => self.lose_request(*client, *step),
            Action::Delay { client, step, leg } => {
                let course = match leg {
                    Leg::Request => Course::DelayRequest,
                    Leg::Reply => Course::DelayReply,
                };
                self.send(*client, *step, course);
            }
            Action::Deliver { client, step } => self.deliver_message(*client, *step, false),
            Action::Pause { client, at } => self.pause(*client, *at),
            Action::Resume { client, at } => self.resume(*client, *at),
            Action::Crash { client } => self.crash(*client),
            Action::Restart { client } => self.start_attempt(*client),
            Action::Advance { milliseconds } => self.advance(*milliseconds),
            Action::AdvanceToNextDeadline => {
                let milliseconds = self.world.next_deadline().unwrap_or(0);
                self.advance(milliseconds);
            }
            Action::ClockJump {
                clock,
                milliseconds,
            } => self.clock_jumps(*clock, *milliseconds),
            Action::ClockRate { client, permille } => self.set_clock_rate(*client, *permille),
            Action::Evict { server, key } => {
                self.apply_to_store(None, *server, StoreInput::Evict { key });
            }
            Action::CrashServer { server } => self.crash_server(*server),
            Action::RestartServer { server, keeps_data } => {
                self.restart_server(*server, *keeps_data);
            }
            Action::Replicate { to, commands } => self.replicate(*to, *commands),
            Action::Failover { to } => self.fail_over(*to),
            Action::ExpireNow { server, key } => {
                self.apply_to_store(None, *server, StoreInput::ExpireNow { key });
            }
            Action::Wipe { server, key } => {
                self.apply_to_store(None, *server, StoreInput::Wipe { key });
            }
            Action::Command { who, request, .. } => self.type_command(*who, request),
        }
        Ok(())
    }

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
            state.ballots.clear();
            state.inbox.clear();
            state.compensation = None;
            state.order = None;
            state.console_waits = false;
        });
        for server in self.servers() {
            self.close_connection(client, Server::Store(server));
            self.disconnect(subscriber_of(client), Server::Store(server));
        }
        self.close_connection(client, Server::Database);
    }

    /// Lets time pass from deadline to deadline, so that each thing that time does happens at its own moment. Bounded: each
    /// turn of the loop ends at a deadline that is then gone, or at the end.
    fn advance(&mut self, milliseconds: u64) {
        self.note(Fact::TimePassed { milliseconds });
        let mut left = milliseconds;
        while left > 0 {
            let pass = self
                .world
                .next_deadline()
                .map_or(left, |next| next.clamp(1, left));
            self.elapse(pass);
            left -= pass;
        }
    }

    fn elapse(&mut self, milliseconds: u64) {
        self.world.now += milliseconds;
        let timed: Vec<bool> = self
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
        for server in self.servers() {
            self.apply_to_store(None, server, StoreInput::Elapse { ms: milliseconds });
        }
        let output = self
            .world
            .database
            .apply(DatabaseInput::Elapse { ms: milliseconds });
        self.after_database(None, output);
        for (place, had_timer) in timed.into_iter().enumerate() {
            if had_timer && self.world.clients[place].next_wake() == Some(0) {
                self.wake(ClientId(place));
            }
        }
    }

    fn wake(&mut self, client: ClientId) {
        let then = match self.world.clients[client.0].place {
            Place::Sleeping { then, .. } => then,
            Place::Blocked { step, age, .. } => return self.time_out(client, step, age),
            _ => return,
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

    fn note(&mut self, fact: Fact) {
        self.events.push(Event {
            at: self.world.now,
            fact,
        });
    }

    fn note_if_paused(&mut self, client: ClientId) {
        if let Some(at) = self.world.clients[client.0].paused_at() {
            self.note(Fact::Paused { client, at });
        }
    }

    fn sent(&mut self, who: Who, step: Option<usize>, server: Server, text: String) {
        self.note(Fact::Sent {
            who,
            step,
            server,
            text,
        });
    }

    fn answered(&mut self, who: Who, step: Option<usize>, server: Server, answer: &Answer) {
        self.note(Fact::Answered {
            who,
            step,
            server,
            answer: answer.clone(),
        });
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

    /// The places of all Redis-like servers.
    fn servers(&self) -> impl Iterator<Item = ServerId> + use<> {
        (0..self.world.stores.len()).map(ServerId)
    }

    fn here(&self, client: ClientId) -> Option<LatchPoint> {
        self.world.client(client).and_then(Client::latch_point_here)
    }

    fn name(&self, client: ClientId) -> &str {
        self.setup
            .clients
            .get(client.0)
            .map_or("?", |client| client.name.as_str())
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

//! Whether an action is possible now, and why not.

use super::Stage;
use crate::sim::action::{Action, ClientId, ClockOf, LatchPoint, ServerId, Who};
use crate::sim::client::Place;
use crate::sim::client::protocol::Request;
use crate::sim::store::KeyState;
use crate::sim::time::{END_OF_TIME, in_words};
use crate::sim::world::connection_of;

/// How far a server's clock can be away from the right time, in milliseconds: forty years, so that it never comes before 1970.
const MOST_AHEAD: u64 = 40 * 365 * 24 * 60 * 60 * 1000;

impl Stage<'_> {
    pub(super) fn refuse(&self, action: &Action) -> Result<(), String> {
        match action {
            Action::Step { client, step } => self.refuse_step(*client, *step),
            Action::LoseReply { client, step } => match self.place(*client)? {
                Place::InFlight { step: at, .. } if at == step => Ok(()),
                _ if self.message(*client, *step).is_some() => Ok(()),
                _ => self.refuse_step(*client, *step),
            },
            Action::LoseRequest { client, step } => {
                self.client(*client)?;
                match self.delayed_request(*client, *step) {
                    Some(_) => Ok(()),
                    None => self.refuse_network(*client, *step),
                }
            }
            Action::Delay { client, step, .. } => self.refuse_network(*client, *step),
            Action::Deliver { client, step } => {
                self.client(*client)?;
                match self.message(*client, *step) {
                    Some(_) => Ok(()),
                    None => Err(format!(
                        "nothing of {}'s {} is under way",
                        self.name(*client),
                        self.label(*client, *step)
                    )),
                }
            }
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
                None => Err(
                    "nothing has a deadline: no key has a time to live, and nobody waits"
                        .to_string(),
                ),
            },
            Action::ClockJump {
                clock,
                milliseconds,
            } => self.refuse_clock_jump(*clock, *milliseconds),
            Action::ClockRate { client, permille } => {
                let state = self.client(*client)?;
                match state.place {
                    Place::ConsoleOnly => Err(format!(
                        "{} runs no protocol that could read its clock",
                        self.name(*client)
                    )),
                    _ if *permille == 0 => Err("a clock does not stand still".to_string()),
                    _ => Ok(()),
                }
            }
            Action::CrashServer { .. }
            | Action::RestartServer { .. }
            | Action::Replicate { .. }
            | Action::Failover { .. }
            | Action::Evict { .. } => self.refuse_servers(action),
            Action::ExpireNow { server, key } => match self.existing_key(*server, key)?.remaining {
                None => Err(format!(
                    "{} has no deadline that could pass",
                    String::from_utf8_lossy(key)
                )),
                Some(_) => Ok(()),
            },
            Action::Wipe { server, key } => self.existing_key(*server, key).map(|_| ()),
            Action::Command { who, request, .. } => self.refuse_command(*who, request),
        }
    }

    pub(super) fn existing_key(&self, server: ServerId, key: &[u8]) -> Result<KeyState, String> {
        self.refuse_down(server)?;
        let state = self.world.store(server).get(key);
        state.ok_or_else(|| format!("there is no key {}", String::from_utf8_lossy(key)))
    }

    /// A server's clock stays within the scenario's time on either side of the right one. A client's only counts what it waits for
    /// and believes.
    fn refuse_clock_jump(&self, clock: ClockOf, milliseconds: i64) -> Result<(), String> {
        let ahead = match clock {
            ClockOf::Server(server) => self.world.store(server).clock(),
            ClockOf::Database => self.world.database.clock(),
            ClockOf::Client(client) => {
                let state = self.client(client)?;
                if state.place == Place::ConsoleOnly {
                    let name = self.name(client);
                    return Err(format!("{name} runs no protocol that could read its clock"));
                }
                0
            }
        };
        let then = ahead.checked_add(milliseconds).map(i64::unsigned_abs);
        match then {
            Some(then) if then <= MOST_AHEAD => Ok(()),
            _ => Err("a clock is wrong by at most forty years".to_string()),
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
            return Err(format!(
                "{name} is paused {side} {label}: resume {name} first"
            ));
        }
        match &state.place {
            Place::ConsoleOnly => Err(format!("{name} runs no protocol")),
            Place::Crashed => Err(format!("{name} has crashed: restart {name} first")),
            Place::Ended { finished: true } => Err(format!("{name} is done")),
            Place::Ended { finished: false } => Err(format!("{name} has stopped")),
            Place::Sleeping { remaining, .. } => Err(format!(
                "{name} waits on its own timer for another {}",
                in_words(*remaining)
            )),
            Place::Blocked { step, .. } | Place::InFlight { step, .. } => Err(format!(
                "{name} waits for the reply to {}",
                self.label(client, *step)
            )),
            Place::Ready { .. } if state.console_waits => Err(format!(
                "{name}'s connection waits for the reply to its console"
            )),
            Place::Ready { step: at } if *at != step => Err(format!(
                "{name}'s next step is {}, not {}",
                self.label(client, *at),
                self.label(client, step)
            )),
            Place::Ready { .. } => Ok(()),
        }
    }

    /// Whether a step that goes over the network can be sent now.
    fn refuse_network(&self, client: ClientId, step: usize) -> Result<(), String> {
        self.refuse_step(client, step)?;
        match self.server_of(client, step) {
            Some(_) => Ok(()),
            None => Err(format!(
                "{}'s {} asks its own clock, and not over the network",
                self.name(client),
                self.label(client, step)
            )),
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
        let (LatchPoint::Before(step) | LatchPoint::After(step)) = point;
        if self
            .protocol(client)
            .is_none_or(|protocol| step >= protocol.steps.len())
        {
            return Err(format!("{name} has no such step"));
        }
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

    fn refuse_command(&self, who: Who, request: &Request) -> Result<(), String> {
        let Who::Client(client) = who else {
            let connection = connection_of(who);
            let waits = match request {
                Request::Store(named, _) => {
                    let store = self.world.store(self.target(*named));
                    store.blocked(connection).is_some()
                }
                Request::Database(_) => self.world.database.is_waiting(connection),
                _ => false,
            };
            return match waits {
                true => Err("the operator's connection waits for a reply".to_string()),
                false => Ok(()),
            };
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
}

//! A reply comes to a client: what it then knows, and where it goes.

use super::Stage;
use super::pattern::{failure, fits, values_in};
use super::request::{Course, Values};
use crate::sim::action::{ClientId, LatchPoint, Who};
use crate::sim::client::protocol::{Clause, Effect, Element, Flow, Pattern, Protocol};
use crate::sim::client::{AfterSleep, Belief, Place, name_in_attempt};
use crate::sim::event::{Answer, BeliefEnd, Fact, Value};

impl Stage<'_> {
    /// A reply comes to a client: it is lost, or waits at the latch after the step, or is seen.
    pub(super) fn receive(
        &mut self,
        client: ClientId,
        step: usize,
        answer: Answer,
        age: i64,
        lose: bool,
    ) {
        if lose {
            self.note(Fact::ReplyLost { client, step });
            return self.hear_nothing(client, step, age);
        }
        let point = LatchPoint::After(step);
        if self.world.clients[client.0].latches.contains(&point) {
            self.change(client, |state| {
                state.place = Place::InFlight { step, answer, age }
            });
            return self.note_if_paused(client);
        }
        self.deliver(client, step, answer, age);
    }

    pub(super) fn lose_reply(&mut self, client: ClientId, step: usize) {
        if self.message(client, step).is_some() {
            return self.deliver_message(client, step, true);
        }
        let Place::InFlight { age, .. } = self.world.clients[client.0].place else {
            return self.send(client, step, Course::LoseReply);
        };
        self.change(client, |state| {
            state.latches.remove(&LatchPoint::After(step));
        });
        self.receive(client, step, Answer::Lost, age, true);
    }

    /// The client sees the answer, and acts on it.
    pub(super) fn deliver(&mut self, client: ClientId, step: usize, answer: Answer, age: i64) {
        let Some(protocol) = self.protocol(client) else {
            return;
        };
        let clauses = &protocol.steps[step].clauses;
        let me = self.world.clients[client.0].variables.get("me");
        let fitting = clauses
            .iter()
            .position(|clause| fits(&clause.pattern, &answer, me));
        self.note(Fact::Saw {
            client,
            step,
            answer: answer.clone(),
            clause: fitting,
        });
        let Some(place) = fitting else {
            return match failure(&answer) {
                Some(why) => self.end_run(client, false, Some(why)),
                None => self.go_on(client, step, &Flow::Next),
            };
        };
        let clause = &clauses[place];
        self.bind(client, &clause.pattern, &answer);
        match self.take_effect(client, step, clause, age) {
            Ok(()) => self.go_on(client, step, &clause.flow),
            Err(why) => self.end_run(client, false, Some(why)),
        }
    }

    fn bind(&mut self, client: ClientId, pattern: &Pattern, answer: &Answer) {
        let Pattern::Bind(elements) = pattern else {
            return;
        };
        for (element, value) in elements.iter().zip(values_in(answer)) {
            let Element::Variable(name) = element else {
                continue;
            };
            self.change(client, |state| {
                state.variables.insert(name.clone(), value.clone());
            });
            self.note(Fact::Bound {
                client,
                variable: name.clone(),
                value,
            });
        }
    }

    fn take_effect(
        &mut self,
        client: ClientId,
        step: usize,
        clause: &Clause,
        age: i64,
    ) -> Result<(), String> {
        for effect in &clause.effects {
            let values = Values {
                stage: self,
                who: Who::Client(client),
            };
            match effect {
                Effect::Holds { key, milliseconds } => {
                    let key = values.bytes(key)?;
                    let lease = milliseconds
                        .as_ref()
                        .map(|argument| values.number(argument));
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
                Effect::Votes(key) => {
                    let key = values.bytes(key)?;
                    let mut votes = 0;
                    self.change(client, |state| {
                        let ballot = state.ballots.or_default(key.clone());
                        ballot.votes.insert(step);
                        votes = ballot.votes.len();
                    });
                    self.note(Fact::Voted { client, key, votes });
                }
                Effect::Draws(variable) => {
                    let token = values.value_of(variable)?;
                    self.note(Fact::Drew { client, token });
                }
                Effect::Sells { units, order } => {
                    let named = order
                        .as_ref()
                        .map(|order| values.bytes(order))
                        .transpose()?;
                    let order = named
                        .map(|order| String::from_utf8_lossy(&order).into_owned())
                        .or_else(|| self.world.clients[client.0].order.clone());
                    self.note(Fact::Sold {
                        client,
                        units: *units,
                        order,
                    });
                }
            }
        }
        Ok(())
    }

    fn believe(&mut self, client: ClientId, key: Vec<u8>, lease: Option<u64>, age: i64) {
        self.end_belief(client, &key, BeliefEnd::Renewed);
        let sent = self.world.now.saturating_add_signed(age.saturating_neg());
        let left = lease.map(|lease| i64::try_from(lease).unwrap_or(i64::MAX));
        let left = left.map(|lease| lease.saturating_sub(age));
        self.change(client, |state| {
            state.beliefs.insert(key.clone(), Belief::with(left));
        });
        let until = left.map(|left| self.time_of(client, left));
        self.note(Fact::Believed {
            client,
            key,
            sent,
            until,
        });
    }

    pub(super) fn end_belief(&mut self, client: ClientId, key: &[u8], why: BeliefEnd) {
        if self.world.clients[client.0].beliefs.contains_key(key) {
            self.change(client, |state| {
                state.beliefs.remove(key);
            });
            self.note(Fact::BeliefEnded {
                client,
                key: key.to_vec(),
                why,
            });
        }
    }

    pub(super) fn end_beliefs(&mut self, client: ClientId, why: BeliefEnd) {
        let keys: Vec<Vec<u8>> = self.world.clients[client.0]
            .beliefs
            .keys()
            .cloned()
            .collect();
        for key in keys {
            self.end_belief(client, &key, why);
        }
    }

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
                self.note(Fact::Aborted {
                    client,
                    steps: steps.clone(),
                });
                let mut rest = steps.clone();
                let first = if rest.is_empty() {
                    None
                } else {
                    Some(rest.remove(0))
                };
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
                next = if rest.is_empty() {
                    None
                } else {
                    Some(rest.remove(0))
                };
            }
        });
        if compensating {
            return next;
        }
        self.protocol(client)?.following(Some(step))
    }

    /// The client stands before this step, or its run ends: after a compensation unfinished, else finished.
    pub(super) fn go_to(&mut self, client: ClientId, step: Option<usize>) {
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

    pub(super) fn sleep(&mut self, client: ClientId, milliseconds: u64, then: AfterSleep) {
        self.note(Fact::Slept {
            client,
            milliseconds,
        });
        self.change(client, |state| {
            state.place = Place::Sleeping {
                remaining: milliseconds,
                then,
            };
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

    pub(super) fn start_attempt(&mut self, client: ClientId) {
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
            state.ballots.clear();
            state.compensation = None;
            state.order = None;
        });
        self.note(Fact::Started { client, me });
        self.go_to(client, Some(first));
    }

    pub(super) fn end_run(&mut self, client: ClientId, finished: bool, why: Option<String>) {
        self.end_beliefs(client, BeliefEnd::RunEnded);
        self.note(Fact::Ended {
            client,
            finished,
            why,
        });
        let mut again = false;
        self.change(client, |state| {
            again = state.rounds_left > 0;
            state.rounds_left = state.rounds_left.saturating_sub(1);
            state.ballots.clear();
            state.place = Place::Ended { finished };
            state.compensation = None;
        });
        if again {
            self.start_attempt(client);
        }
    }
}

//! What the page shows of a session that no part of the world says by itself: whom the store names, how long a lease was, what
//! to step next.

use crate::property::{LedgerEntry, Property, Verdict};
use crate::scenario::check::{Difference, differences};
use crate::search::{Goal, Request};
use crate::sim::action::{Action, ClientId, ServerId, Who};
use crate::sim::client::name_in_attempt;
use crate::sim::client::protocol::{Effect, Protocol};
use crate::sim::database::{RowFact, TableView, Value, WriteFact};
use crate::sim::event::{Fact, Value as ClientValue};
use crate::timeline::Entry;
use crate::words;

use super::{Session, client_of};

/// A table at the cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct TableNow {
    /// Its name.
    pub name: String,
    /// Its columns' names.
    pub columns: Vec<String>,
    /// Its rows in the order of the primary key; each value with what it was before the last action, where that changed it.
    pub rows: Vec<Vec<(Value, Option<Value>)>>,
}

/// What the store says of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Whom it names; `None`: nobody of the scenario.
    pub holder: Option<ClientId>,
    /// Milliseconds to its deadline; `None`: it has none.
    pub remaining: Option<u64>,
}

/// The holder that has so many of the leases, and how long until it has fewer.
fn majority(leases: &[Lease], votes: usize) -> Option<Lease> {
    leases.iter().find_map(|lease| {
        let holder = lease.holder?;
        let of_holder = leases.iter().filter(|other| other.holder == Some(holder));
        let mut left: Vec<u64> = of_holder
            .map(|lease| lease.remaining.unwrap_or(u64::MAX))
            .collect();
        crate::sorted::sort(&mut left);
        let remaining = *left.get(left.len().checked_sub(votes)?)?;
        Some(Lease {
            holder: Some(holder),
            remaining: (remaining != u64::MAX).then_some(remaining),
        })
    })
}

impl Session {
    /// What the store says of this lock at the cursor; where a `watch` line names several servers for it, what their majority
    /// says. `None`: it is free, or no lock of theirs.
    pub fn lease(&self, key: &[u8]) -> Option<Lease> {
        let servers = self.setup().servers_of_lock(key);
        let leases = servers.iter().filter_map(|server| {
            let members = self.setup().members_of(self.setup().group_of(*server));
            let primary = self.world().primary_among(&members)?;
            self.lease_on(primary, key)
        });
        let leases: Vec<Lease> = leases.collect();
        match servers.len() {
            0 | 1 => leases.first().copied(),
            servers => majority(&leases, servers / 2 + 1),
        }
    }

    /// The same on one of several servers.
    pub fn lease_on(&self, server: ServerId, key: &[u8]) -> Option<Lease> {
        let state = self.world().store(server).get(key)?;
        let named = state
            .value
            .as_string()
            .and_then(|value| self.client_named(value));
        Some(Lease {
            holder: named.or_else(|| self.last_writer(key)),
            remaining: state.remaining,
        })
    }

    /// The client whose `{me}` these bytes are, in the current attempt or an earlier one.
    fn client_named(&self, value: &[u8]) -> Option<ClientId> {
        let clients = self.world().clients.iter().enumerate();
        let mut named = clients.flat_map(|(place, client)| {
            (1..=client.attempt).map(move |attempt| (ClientId(place), attempt))
        });
        named
            .find(|(client, attempt)| {
                name_in_attempt(self.setup(), *client, *attempt).as_bytes() == value
            })
            .map(|(client, _)| client)
    }

    /// The client that last gave this key its value, if it was one.
    fn last_writer(&self, key: &[u8]) -> Option<ClientId> {
        self.played()
            .rev()
            .flat_map(|entry| entry.events.iter().rev())
            .find_map(|event| match &event.fact {
                Fact::KeyChanged {
                    key: of,
                    who,
                    before,
                    after,
                    ..
                } if of == key
                    && before.as_ref().map(|state| &state.value)
                        != after.as_ref().map(|state| &state.value) =>
                {
                    Some(match who {
                        Some(Who::Client(client)) => Some(*client),
                        _ => None,
                    })
                }
                _ => None,
            })?
    }

    /// The entries that have been played at the cursor, in order.
    pub fn played(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.timeline().entries()[..self.cursor()].iter()
    }

    /// What the last action before the cursor caused.
    pub fn last_entry(&self) -> Option<&Entry> {
        self.timeline().entries().get(self.cursor().checked_sub(1)?)
    }

    /// How long the key's time to live was when it was last set, in milliseconds; for a key that was there before the schedule,
    /// what it was then. 0 when it has none.
    pub fn whole_ttl(&self, key: &[u8]) -> u64 {
        let set = self
            .played()
            .rev()
            .flat_map(|entry| entry.events.iter().rev())
            .find_map(|event| match &event.fact {
                Fact::KeyChanged {
                    key: of,
                    after: Some(after),
                    ..
                } if of == key => Some(after.remaining.unwrap_or(0)),
                _ => None,
            });
        let remaining = || {
            self.world()
                .store(ServerId::FIRST)
                .get(key)
                .and_then(|state| state.remaining)
                .unwrap_or(0)
        };
        set.unwrap_or_else(|| remaining() + self.world().now)
    }

    /// Until when the client believes that it holds this lock, by its own clock: behind the lock's name, in the past where that moment
    /// is over and nothing has told the client to look. `None`: its belief has no deadline.
    pub fn belief_until(&self, client: ClientId, key: &[u8]) -> Option<String> {
        let state = self.world().client(client)?;
        let now = self.world().now;
        let left = state.beliefs.get(key)?.left()?;
        let (before, until) = match u64::try_from(left) {
            Ok(left) => (" until ", now + state.clock.time_for(left)),
            Err(_) => (
                ", though by its own clock its time ended at ",
                now.saturating_sub(left.unsigned_abs()),
            ),
        };
        Some(before.to_string() + &words::seconds(until) + "\u{a0}s")
    }

    /// The protocol that the client runs.
    pub fn protocol_of(&self, client: ClientId) -> Option<&Protocol> {
        self.timeline().setup().protocol_of(client)
    }

    /// The label of the client's next step, where it has one.
    pub fn step_label(&self, client: ClientId) -> Option<&str> {
        let step = self.world().client(client)?.current_step()?;
        let step = self.protocol_of(client)?.steps.get(step)?;
        Some(&step.label)
    }

    /// The client's variables that hold a fencing token: those that a `draws` names, and those that hold a number which it drew
    /// from a watched counter.
    pub fn token_variables(&self, client: ClientId) -> Vec<&str> {
        let steps = self.timeline().setup().steps_of(client);
        let variables = self.world().client(client).map(|client| &client.variables);
        let drew = |name: &str| match variables.and_then(|variables| variables.get(name)) {
            Some(ClientValue::Integer(number)) => self
                .played()
                .rev()
                .any(|entry| self.drew(entry, client, Some(*number))),
            _ => false,
        };
        let mut tokens = Vec::new();
        for clause in steps.iter().flat_map(|step| &step.clauses) {
            tokens.extend(clause.effects.iter().filter_map(|effect| match effect {
                Effect::Draws(variable) => Some(variable.as_str()),
                _ => None,
            }));
            let bound = clause.pattern.variables();
            tokens.extend(bound.into_iter().filter(|name| drew(name)));
        }
        tokens
    }

    /// Whether the action handed this client a fencing token, this one if one is named.
    pub fn drew(&self, entry: &Entry, client: ClientId, token: Option<i64>) -> bool {
        let is_it = |number: Option<i64>| number.is_some() && (token.is_none() || token == number);
        entry.events.iter().any(|event| match &event.fact {
            Fact::Drew {
                client: of,
                token: ClientValue::Integer(number),
            } => *of == client && is_it(Some(*number)),
            Fact::KeyChanged {
                who: Some(Who::Client(of)),
                key,
                after: Some(after),
                ..
            } if *of == client => {
                let is_counter = self
                    .setup()
                    .watches
                    .iter()
                    .any(|watch| watch.counter.as_ref() == Some(key));
                is_counter
                    && is_it(
                        after
                            .value
                            .as_string()
                            .and_then(|value| std::str::from_utf8(value).ok()?.parse().ok()),
                    )
            }
            _ => false,
        })
    }

    /// What a single Step does: the next action of the schedule, whatever it is; at its end the next step of the client that acted
    /// last and can still step, else of the first that can.
    pub fn step_on(&self) -> Option<Action> {
        match self.timeline().entries().get(self.cursor()) {
            Some(entry) => Some(entry.action.clone()),
            None => self.next_step(self.next_actor()?),
        }
    }

    /// The client that acted last and can still step, else the first that can.
    fn next_actor(&self) -> Option<ClientId> {
        let can_step = |client: &ClientId| {
            self.next_step(*client)
                .is_some_and(|step| self.why_not(&step).is_none())
        };
        let acted = self
            .played()
            .rev()
            .take(ACTIONS_LOOKED_BACK)
            .filter_map(|entry| match &entry.action {
                action @ (Action::Step { .. }
                | Action::Resume { .. }
                | Action::Restart { .. }
                | Action::LoseReply { .. }
                | Action::LoseRequest { .. }
                | Action::Delay { .. }
                | Action::Deliver { .. }) => client_of(action),
                _ => None,
            });
        let all = (0..self.world().clients.len()).map(ClientId);
        acted.chain(all).find(can_step)
    }

    /// The tables at the cursor.
    pub fn tables(&self) -> Vec<TableNow> {
        let writes: Vec<&WriteFact> = self.last_entry().map_or_else(Vec::new, |entry| {
            let facts = entry.events.iter().map(|event| &event.fact);
            facts
                .filter_map(|fact| match fact {
                    Fact::Wrote { write, .. } => Some(write),
                    _ => None,
                })
                .collect()
        });
        self.world()
            .database
            .tables()
            .map(|table| table_now(table, &writes))
            .collect()
    }

    /// The expectations that are not met at the end of the schedule, in order.
    pub fn unmet_expectations(&self) -> Vec<Difference> {
        if self.reading().expectations.is_empty() {
            return Vec::new();
        }
        let is_expectation = |line: usize| {
            self.reading()
                .expectations
                .iter()
                .any(|expectation| expectation.line == line)
        };
        let mut unmet = differences(self.reading(), self.timeline());
        unmet.retain(|difference| is_expectation(difference.line));
        unmet
    }

    /// The action after which every claim that the schedule breaks has been broken: the moment that a story is about.
    pub fn claims_broken_at(&self) -> Option<usize> {
        let claims: Vec<Property> = self
            .setup()
            .protocols
            .iter()
            .flat_map(|protocol| protocol.claims.iter().copied())
            .collect();
        let verdicts = self.timeline().verdicts(self.timeline().len());
        let broken = verdicts
            .into_iter()
            .filter(|(property, _)| claims.contains(property));
        broken
            .filter_map(|(_, verdict)| match verdict {
                Verdict::Broken(found) => Some(found.action),
                _ => None,
            })
            .max()
    }

    /// The search that stands at this place of the text (from 0). Where there is none, what is offered first: to break what the
    /// protocols claim, or anything where they claim nothing.
    pub fn search_request(&self, place: usize) -> Request {
        match self.reading().searches.get(place) {
            Some(search) => search.request.clone(),
            None => Request {
                goal: Goal::Breaks(self.claims()),
                ..Request::default()
            },
        }
    }

    /// What the protocols that are run claim, in the order of the properties.
    pub fn claims(&self) -> Vec<Property> {
        let mut all = Property::ALL.to_vec();
        all.retain(|property| property.is_claimed(self.setup()));
        all
    }

    /// The writes that have been judged at the cursor, the latest first.
    pub fn ledger_backwards(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.played()
            .rev()
            .flat_map(|entry| entry.ledger.iter().rev())
    }
}

/// A table with what the writes changed in it.
fn table_now(table: TableView<'_>, writes: &[&WriteFact]) -> TableNow {
    let changes: Vec<&RowFact> = writes
        .iter()
        .filter(|write| write.table == table.name())
        .flat_map(|write| &write.rows)
        .filter(|row| row.changed)
        .collect();
    let rows = table.rows().map(|row| {
        let change = changes
            .iter()
            .find(|change| change.after.as_ref() == Some(&row));
        let values = table.columns().iter().zip(row.values());
        values
            .map(|(column, value)| {
                let was = change
                    .and_then(|change| change.before(column))
                    .filter(|was| *was != value);
                (value.clone(), was.cloned())
            })
            .collect()
    });
    TableNow {
        name: table.name().to_string(),
        columns: table.columns().to_vec(),
        rows: rows.collect(),
    }
}

/// How far back the last client that acted is looked for.
const ACTIONS_LOOKED_BACK: usize = 100;

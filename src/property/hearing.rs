//! What a judge listens to, for some properties alone: facts without everything on which no break of them depends, so that facts
//! that nothing can tell apart are equal.

use super::Property;
use super::ledger;
use crate::sim::database::{Database, RowFact, WriteFact};
use crate::sim::event::{Answer, BeliefEnd, Fact, Server};
use crate::sim::setup::Setup;
use crate::sim::store::{Cause, KeyState, Value};

/// The groups of properties to which facts are of interest.
struct Wanted<'a>(&'a [Property]);

impl Wanted<'_> {
    fn any(&self, properties: &[Property]) -> bool {
        properties.iter().any(|one| self.0.contains(one))
    }

    fn tokens(&self) -> bool {
        self.any(&[Property::TokensInOrder, Property::TokensUnique])
    }

    fn takings(&self) -> bool {
        self.tokens()
            || self.any(&[
                Property::OwnerOnly,
                Property::NoStaleWrite,
                Property::LiveHolderNotFenced,
            ])
    }

    fn requests(&self) -> bool {
        self.tokens() || self.any(&[Property::LockHasDeadline])
    }

    fn balance(&self) -> bool {
        self.any(&[Property::StockEqualsSold])
    }

    fn stock(&self) -> bool {
        self.balance() || self.any(&[Property::StockNotNegative])
    }

    fn writes(&self) -> bool {
        self.stock() || self.any(&[Property::NoStaleWrite, Property::LiveHolderNotFenced])
    }

    fn charges(&self) -> bool {
        self.any(&[
            Property::NoChargeForNothing,
            Property::NoDoubleCharge,
            Property::SoldIsPaid,
        ])
    }
}

/// The fact as far as a break of one of these properties may depend on it; `None` where none does. A judge that is told only that
/// breaks the same properties at the same actions, and tells it in worse words.
pub(super) fn heard(
    setup: &Setup,
    database: &Database,
    properties: &[Property],
    fact: &Fact,
) -> Option<Fact> {
    let wanted = Wanted(properties);
    let is_lock = |key: &[u8]| {
        let mut locks = setup.watches.iter().filter_map(|watch| watch.lock.as_ref());
        locks.any(|lock| lock == key)
    };
    match fact {
        Fact::Sent {
            who, step, server, ..
        } if wanted.requests() || wanted.balance() => Some(Fact::Sent {
            who: *who,
            step: *step,
            server: *server,
            text: String::new(),
        }),
        Fact::Answered {
            who,
            step,
            server: server @ Server::Store(_),
            ..
        } if wanted.requests() => Some(Fact::Answered {
            who: *who,
            step: *step,
            server: *server,
            answer: Answer::Lost,
        }),
        Fact::Delayed { .. } | Fact::RequestLost { .. } => Some(fact.clone()),
        Fact::Arrived {
            client,
            step,
            server,
            late,
            ..
        } => Some(Fact::Arrived {
            client: *client,
            step: *step,
            server: *server,
            text: String::new(),
            late: *late,
        }),
        Fact::KeyChanged { key, .. } => {
            let is_counter = setup
                .watches
                .iter()
                .any(|watch| watch.counter.as_ref() == Some(key));
            let counts = is_counter && wanted.tokens();
            let takes = is_lock(key) && (wanted.takings() || wanted.requests());
            (counts || takes).then(|| key_changed(fact, counts))
        }
        Fact::Wrote { who, write } if wanted.writes() => {
            let write = written(setup, database, &wanted, write)?;
            Some(Fact::Wrote { who: *who, write })
        }
        Fact::Committed { .. } | Fact::RolledBack { .. } if wanted.writes() => Some(fact.clone()),
        Fact::Saw {
            client,
            step,
            answer,
            ..
        } if wanted.balance() => Some(Fact::Saw {
            client: *client,
            step: *step,
            answer: match answer {
                Answer::Lost => Answer::Lost,
                _ => Answer::Client(crate::sim::store::reply::Reply::Nil),
            },
            clause: None,
        }),
        Fact::Believed { client, key, .. }
            if is_lock(key) && wanted.any(&[Property::OneBeliever]) =>
        {
            Some(Fact::Believed {
                client: *client,
                key: key.clone(),
                sent: 0,
                until: None,
            })
        }
        Fact::BeliefEnded { client, key, .. }
            if is_lock(key) && wanted.any(&[Property::OneBeliever]) =>
        {
            Some(Fact::BeliefEnded {
                client: *client,
                key: key.clone(),
                why: BeliefEnd::Released,
            })
        }
        Fact::FailedOver { .. } => Some(fact.clone()),
        Fact::Drew { .. } if wanted.tokens() => Some(fact.clone()),
        Fact::Sold { .. } if wanted.balance() || wanted.charges() => Some(fact.clone()),
        Fact::Charged { .. } | Fact::ChargeRepeated { .. } | Fact::Refunded { .. }
            if wanted.charges() =>
        {
            Some(fact.clone())
        }
        Fact::Ended { .. } | Fact::Crashed { .. } | Fact::Started { .. }
            if wanted.takings() || wanted.balance() || wanted.charges() =>
        {
            Some(match fact {
                Fact::Ended { client, .. } => Fact::Ended {
                    client: *client,
                    finished: false,
                    why: None,
                },
                Fact::Started { client, .. } => Fact::Started {
                    client: *client,
                    me: String::new(),
                },
                other => other.clone(),
            })
        }
        _ => None,
    }
}

/// A change of a watched key: of a lock whether it is there, has a deadline, and has another value than before; of a counter its
/// value.
fn key_changed(fact: &Fact, counts: bool) -> Fact {
    let mut heard = fact.clone();
    let Fact::KeyChanged {
        before,
        after,
        cause,
        who,
        ..
    } = &mut heard
    else {
        return heard;
    };
    let is_same = match (&before, &after) {
        (Some(before), Some(after)) => before.value == after.value,
        _ => false,
    };
    for (state, is_after) in [(&mut *before, false), (&mut *after, true)] {
        let Some(KeyState { value, remaining }) = state else {
            continue;
        };
        *remaining = remaining.map(|_| 0);
        if !counts {
            *value = Value::string(if is_after && !is_same { "other" } else { "" });
        }
    }
    if *cause == Cause::Replicated {
        return heard;
    }
    if who.is_none() {
        *cause = Cause::Lapse;
    } else if !counts {
        *cause = Cause::Command("SET");
    }
    heard
}

/// What a write did to rows: which they are, whether they were written, what the fence said, and how many units they hold.
fn written(
    setup: &Setup,
    database: &Database,
    wanted: &Wanted<'_>,
    write: &WriteFact,
) -> Option<WriteFact> {
    if !ledger::is_watched(setup, &write.table) {
        return None;
    }
    let judges_fence = wanted.any(&[Property::LiveHolderNotFenced]);
    let mut write = write.clone();
    // Of a write whose conditions name no row, only the rows that it matched are looked at, unless there is just one.
    if write.key_conditions.is_empty() && write.rows.len() > 1 {
        write.rows.retain(|row| row.matched);
    }
    if !judges_fence {
        write.rows.retain(|row| row.matched);
    }
    if write.rows.is_empty() {
        return None;
    }
    write.key_conditions = vec![String::new()];
    write.assigned.clear();
    match judges_fence {
        true => write
            .conditions
            .iter_mut()
            .for_each(|condition| condition.text.clear()),
        false => write.conditions.clear(),
    }
    let table = database.table(&write.table);
    let key = table.map_or(Vec::new(), |table| table.primary_key());
    let mut kept: Vec<&str> = key.clone();
    if wanted.stock() {
        let stocks = setup
            .watches
            .iter()
            .filter_map(|watch| watch.stock.as_ref());
        kept.extend(
            stocks
                .filter(|column| column.table.eq_ignore_ascii_case(&write.table))
                .map(|column| column.column.as_str()),
        );
    }
    for row in &mut write.rows {
        strip(row, !key.is_empty(), &kept, judges_fence);
    }
    Some(write)
}

fn strip(row: &mut RowFact, has_key: bool, kept: &[&str], judges_fence: bool) {
    if !judges_fence {
        row.outcomes.clear();
    }
    if has_key {
        for state in [&mut row.before, &mut row.after] {
            *state = state.take().map(|row| row.only(kept));
        }
    }
}

//! What a test says of the properties: each with what it can see of them on real servers.

use std::collections::BTreeMap;

use crate::property::{LedgerEntry, Property, Reason, Role, Verdict};
use crate::sim::action::{Action, ClientId, ServerId, Who};
use crate::sim::event::{Answer, Fact};
use crate::sim::setup::{Column, Setup};
use crate::sim::store::reply::Reply;
use crate::timeline::{Entry, Timeline};

use super::plan::Key;
use super::words::name_in_sql;

/// A property that a test is about.
pub(super) struct Claim {
    /// Which.
    pub property: Property,
    /// How the schedule breaks it, in a sentence; `None`: it holds.
    pub broken: Option<String>,
    /// By what it is seen.
    pub evidence: Evidence,
}

/// By what a property is seen on real servers; each says when the property holds.
pub(super) enum Evidence {
    /// None of these writes changed a row.
    NoRows(Vec<Replies>),
    /// Each of these writes changed a row.
    AllRows(Vec<Replies>),
    /// These tokens grow.
    Growing(Vec<Replies>),
    /// No two of these tokens are the same.
    Different(Vec<Replies>),
    /// The column is nowhere below 0.
    NotNegative(Column),
    /// The column has shrunk from this sum by as much as was sold.
    ShrunkBySales(Column, i64),
    /// Every order that is paid was sold.
    PaidIsSold,
    /// No order is paid twice.
    PaidOnce,
    /// Every order that was sold is paid.
    SoldIsPaid,
    /// The key is still there after this action.
    Left {
        /// The lock.
        key: Key,
        /// The action.
        action: usize,
    },
    /// The key has a deadline after each of these actions.
    Deadline(Vec<(Key, usize)>),
}

impl Evidence {
    /// Its place in the order above.
    pub fn place(&self) -> usize {
        match self {
            Evidence::NoRows(_) => 0,
            Evidence::AllRows(_) => 1,
            Evidence::Growing(_) => 2,
            Evidence::Different(_) => 3,
            Evidence::NotNegative(_) => 4,
            Evidence::ShrunkBySales(..) => 5,
            Evidence::PaidIsSold => 6,
            Evidence::PaidOnce => 7,
            Evidence::SoldIsPaid => 8,
            Evidence::Left { .. } => 9,
            Evidence::Deadline(_) => 10,
        }
    }

    /// Whether replies show it.
    pub fn is_replies(&self) -> bool {
        use Evidence::{AllRows, Different, Growing, NoRows};
        matches!(self, NoRows(_) | AllRows(_) | Growing(_) | Different(_))
    }

    /// Whether elements of replies show it.
    pub fn takes_elements(&self) -> bool {
        match self {
            Evidence::Growing(replies) | Evidence::Different(replies) => {
                replies.iter().any(|replies| replies.element.is_some())
            }
            _ => false,
        }
    }

    /// Whether a single value of the database shows it.
    pub fn is_value(&self) -> bool {
        !self.query().0.is_empty()
    }

    /// The query whose value shows it, and what the value was in the beginning; both are empty where there is none.
    pub fn query(&self) -> (String, String) {
        let of = |aggregate: &str, column: &Column| {
            let (name, table) = (name_in_sql(&column.column), name_in_sql(&column.table));
            format!("SELECT {aggregate}({name}) FROM {table}")
        };
        match self {
            Evidence::NotNegative(column) => (of("MIN", column), String::new()),
            Evidence::ShrunkBySales(column, before) => (of("SUM", column), before.to_string()),
            _ => (String::new(), String::new()),
        }
    }
}

/// The replies that a client got to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replies {
    /// The client.
    pub who: String,
    /// The step.
    pub what: String,
    /// Only this one, from 0; `None`: all of them.
    pub only: Option<usize>,
    /// Only this element of each.
    pub element: Option<usize>,
}

impl Claim {
    /// Which keys the plan has to look at after this action, and whether it is their deadline that counts.
    pub fn looks_at(&self, place: usize) -> Vec<(Key, bool)> {
        match &self.evidence {
            Evidence::Left { key, action } if *action == place => vec![(key.clone(), false)],
            Evidence::Deadline(after) => {
                let here = after.iter().filter(|(_, action)| *action == place);
                here.map(|(key, _)| (key.clone(), true)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What can be said: of every property that is broken, but for what nobody promises, and of those that hold and are promised.
pub(super) fn claims(setup: &Setup, timeline: &Timeline) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (property, verdict) in timeline.verdicts(timeline.len()) {
        let broken = match verdict {
            Verdict::Broken(broken) => Some((broken.action, broken.because)),
            Verdict::Holds { .. } if property.is_claimed(setup) => None,
            _ => continue,
        };
        let action = broken.as_ref().map(|(action, _)| *action);
        if let Some(evidence) = evidence(setup, timeline, property, action) {
            claims.push(Claim {
                property,
                broken: broken.map(|(_, because)| because),
                evidence,
            });
        }
    }
    claims
}

fn evidence(
    setup: &Setup,
    timeline: &Timeline,
    property: Property,
    broken: Option<usize>,
) -> Option<Evidence> {
    let asked = Asked::of(setup, timeline);
    Some(match property {
        Property::OneBeliever => return None,
        Property::NoStaleWrite => Evidence::NoRows(some(asked.writes(&|entry| {
            entry.stale && (Some(entry.action) == broken || entry.reasons.contains(&Reason::Fenced))
        }))?),
        Property::LiveHolderNotFenced => Evidence::AllRows(some(asked.writes(&|entry| {
            !entry.stale
                && entry
                    .conditions
                    .iter()
                    .any(|condition| condition.role == Role::Fence)
        }))?),
        Property::TokensInOrder => Evidence::Growing(some(asked.tokens())?),
        Property::TokensUnique => Evidence::Different(some(asked.tokens())?),
        Property::OwnerOnly => {
            let action = broken?;
            let key =
                timeline.entries()[action]
                    .events
                    .iter()
                    .find_map(|event| match &event.fact {
                        Fact::KeyChanged {
                            server,
                            key,
                            before: Some(_),
                            after: None,
                            who: Some(_),
                            ..
                        } => Some(Key::on(*server, key)),
                        _ => None,
                    })?;
            Evidence::Left { key, action }
        }
        Property::LockHasDeadline => Evidence::Deadline(some(taken(setup, timeline))?),
        Property::StockNotNegative => Evidence::NotNegative(stock(setup)?.clone()),
        Property::StockEqualsSold => {
            let column = stock(setup)?;
            let before = timeline
                .moment(0)
                .world
                .database
                .table(&column.table)?
                .rows()
                .filter_map(|row| row.get(&column.column)?.as_i64())
                .sum();
            Evidence::ShrunkBySales(column.clone(), before)
        }
        Property::NoChargeForNothing => Evidence::PaidIsSold,
        Property::NoDoubleCharge => Evidence::PaidOnce,
        Property::SoldIsPaid => Evidence::SoldIsPaid,
    })
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

fn stock(setup: &Setup) -> Option<&Column> {
    setup.watches.iter().find_map(|watch| watch.stock.as_ref())
}

/// Each lock, and the first action of each client that took it.
fn taken(setup: &Setup, timeline: &Timeline) -> Vec<(Key, usize)> {
    let mut seen: BTreeMap<(&[u8], ServerId, Who), usize> = BTreeMap::new();
    for (place, entry) in timeline.entries().iter().enumerate() {
        for event in &entry.events {
            if let Fact::KeyChanged {
                server,
                key,
                before: None,
                after: Some(_),
                who: Some(who),
                ..
            } = &event.fact
                && setup
                    .watches
                    .iter()
                    .any(|watch| watch.lock.as_deref() == Some(key))
            {
                seen.entry((key, *server, *who)).or_insert(place);
            }
        }
    }
    let mut taken: Vec<(Key, usize)> = seen
        .into_iter()
        .map(|((key, server, _), place)| (Key::on(server, key), place))
        .collect();
    crate::sorted::sort_by_key(&mut taken, |(_, place)| *place);
    taken
}

/// Who asked what, for each action.
struct Asked<'a> {
    setup: &'a Setup,
    timeline: &'a Timeline,
    asked: Vec<Option<(&'a str, &'a str)>>,
}

impl<'a> Asked<'a> {
    fn of(setup: &'a Setup, timeline: &'a Timeline) -> Asked<'a> {
        let asked = timeline
            .entries()
            .iter()
            .map(|entry| asked(setup, entry))
            .collect();
        Asked {
            setup,
            timeline,
            asked,
        }
    }

    /// The replies to these actions, those of one client to one step together where they are all of them.
    fn replies(&self, actions: &[(usize, Option<usize>)]) -> Vec<Replies> {
        let mut replies: Vec<Replies> = Vec::new();
        for (action, element) in actions {
            let Some((who, what)) = self.asked.get(*action).copied().flatten() else {
                continue;
            };
            let same = |place: &&usize| self.asked[**place] == Some((who, what));
            let all: Vec<usize> = (0..self.asked.len()).collect();
            let all: Vec<usize> = all.iter().filter(same).copied().collect();
            let is_whole = all
                .iter()
                .all(|place| actions.iter().any(|(other, _)| other == place));
            let only = all
                .iter()
                .position(|place| place == action)
                .filter(|_| !is_whole);
            let reply = Replies {
                who: who.to_owned(),
                what: what.to_owned(),
                only,
                element: *element,
            };
            if !replies.contains(&reply) {
                replies.push(reply);
            }
        }
        replies
    }

    /// The action by which a client asked what this action did: another one where the request had to wait.
    fn asked_by(&self, who: Who, action: usize) -> usize {
        let name = name(self.setup, who);
        let is_theirs =
            |place: &usize| self.asked[*place].is_some_and(|(asking, _)| asking == name);
        (0..=action).rev().find(is_theirs).unwrap_or(action)
    }

    fn writes(&self, wanted: &dyn Fn(&LedgerEntry) -> bool) -> Vec<Replies> {
        let ledger = self
            .timeline
            .entries()
            .iter()
            .flat_map(|entry| &entry.ledger);
        let actions: Vec<(usize, Option<usize>)> = ledger
            .filter(|entry| wanted(entry))
            .map(|entry| (self.asked_by(entry.who, entry.action), None))
            .collect();
        self.replies(&actions)
    }

    /// The replies that brought tokens, in the order in which the locks that they are for were taken.
    fn tokens(&self) -> Vec<Replies> {
        let mut attempts: BTreeMap<ClientId, usize> = BTreeMap::new();
        let mut taken: BTreeMap<(ClientId, usize), usize> = BTreeMap::new();
        let mut drawn: Vec<((ClientId, usize), usize, Option<usize>)> = Vec::new();
        for (place, entry) in self.timeline.entries().iter().enumerate() {
            let mut token = None;
            for event in &entry.events {
                match &event.fact {
                    Fact::Started { client, .. } => *attempts.entry(*client).or_default() += 1,
                    Fact::KeyChanged {
                        key,
                        before,
                        after: Some(after),
                        who: Some(Who::Client(client)),
                        ..
                    } => {
                        let attempt = (*client, attempts.get(client).copied().unwrap_or_default());
                        let is = |role: &Option<Vec<u8>>| role.as_deref() == Some(key);
                        if self.setup.watches.iter().any(|watch| is(&watch.lock))
                            && before.is_none()
                        {
                            taken.insert(attempt, place);
                        }
                        if self.setup.watches.iter().any(|watch| is(&watch.counter)) {
                            token = after.value.as_string().map(|text| (attempt, text.to_vec()));
                        }
                    }
                    Fact::Drew {
                        client,
                        token: drew,
                    } => {
                        let attempt = (*client, attempts.get(client).copied().unwrap_or_default());
                        if let crate::sim::event::Value::Integer(drew) = drew {
                            token = Some((attempt, drew.to_string().into_bytes()));
                        }
                    }
                    _ => {}
                }
            }
            if let (Some((attempt, token)), Some(answer)) = (token, entry.answer())
                && let Some(element) = place_of(answer, &token)
            {
                drawn.push((attempt, place, element));
            }
        }
        crate::sorted::sort_by_key(&mut drawn, |(attempt, place, _)| {
            taken.get(attempt).copied().unwrap_or(*place)
        });
        let actions: Vec<(usize, Option<usize>)> = drawn
            .iter()
            .map(|(_, place, element)| (*place, *element))
            .collect();
        // Together they would lose their order.
        let mut replies = Vec::new();
        for (action, element) in &actions {
            let Some((who, what)) = self.asked[*action] else {
                continue;
            };
            let before = self.asked[..*action]
                .iter()
                .filter(|other| **other == Some((who, what)))
                .count();
            let is_only = self
                .asked
                .iter()
                .filter(|other| **other == Some((who, what)))
                .count()
                == 1;
            replies.push(Replies {
                who: who.to_owned(),
                what: what.to_owned(),
                only: (!is_only).then_some(before),
                element: *element,
            });
        }
        replies
    }
}

/// Whether an answer is this token (`Some(None)`), or which of its elements is.
fn place_of(answer: &Answer, token: &[u8]) -> Option<Option<usize>> {
    let is = |reply: &Reply| match reply {
        Reply::Integer(number) => number.to_string().as_bytes() == token,
        Reply::Bulk(bytes) => bytes == token,
        _ => false,
    };
    match answer {
        Answer::Store(Reply::Array(elements)) => elements.iter().position(is).map(Some),
        Answer::Store(reply) if is(reply) => Some(None),
        _ => None,
    }
}

fn name(setup: &Setup, who: Who) -> &str {
    match who {
        Who::Client(client) => &setup.clients[client.0].name,
        Who::Operator => "operator",
    }
}

/// Who asked what, where a server answers.
fn asked<'a>(setup: &'a Setup, entry: &'a Entry) -> Option<(&'a str, &'a str)> {
    let is_answer =
        |fact: &Fact| matches!(fact, Fact::Answered { .. } | Fact::AnsweredNobody { .. });
    if !entry.waits() && !entry.events.iter().any(|event| is_answer(&event.fact)) {
        return None;
    }
    let name = |who: Who| name(setup, who);
    match &entry.action {
        Action::Step { client, step }
        | Action::LoseReply { client, step }
        | Action::Delay { client, step, .. }
        | Action::Deliver { client, step } => {
            let protocol = setup.clients[client.0].protocol?;
            Some((
                name(Who::Client(*client)),
                setup.protocols[protocol].steps.get(*step)?.label.as_str(),
            ))
        }
        Action::Command { who, source, .. } => Some((name(*who), source.as_str())),
        _ => None,
    }
}

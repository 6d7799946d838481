//! Fencing tokens as they are handed out: in the order of the locks, and never twice.
//!
//! A token is drawn when a client's request makes the watched counter grow, or, where a protocol says `draws {token}`, when the
//! client sees it. A counter or a row that was set before the schedule is no history: what counts is what the schedule drew.

use std::sync::Arc;

use super::Property;
use super::findings::{Findings, Here};
use super::lock::Acquisition;
use super::places::{Marks, Places};
use crate::sim::action::ClientId;
use crate::sorted::{SortedMap, SortedSet};

/// What is remembered of the tokens that were drawn for one watched lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TokenMemory {
    /// Every token, and who was handed it first. Shared between judges, as it grows with the schedule.
    handed: Arc<SortedMap<i64, ClientId>>,
    /// The smallest and the largest token that was drawn for each acquisition.
    drawn: SortedMap<Acquisition, Extremes>,
    /// The tokens that a client drew for its acquisition; it may be told of them again.
    own: SortedMap<ClientId, SortedSet<i64>>,
    /// Tokens that a client drew before it took the lock; its next taking is what they are for.
    early: SortedMap<ClientId, SortedSet<i64>>,
    /// The latest token of each client.
    latest: SortedMap<ClientId, i64>,
}

/// The smallest and the largest of some tokens, and who drew them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Extremes {
    least: (i64, ClientId),
    most: (i64, ClientId),
}

impl Extremes {
    fn of(token: i64, client: ClientId) -> Extremes {
        Extremes {
            least: (token, client),
            most: (token, client),
        }
    }

    fn and(self, other: Extremes) -> Extremes {
        Extremes {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

impl TokenMemory {
    /// A client drew a token, for this acquisition.
    pub fn drew(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        token: i64,
        acquisition: Option<Acquisition>,
    ) {
        let is_told_again = acquisition.is_some()
            && self
                .own
                .get(&client)
                .is_some_and(|own| own.contains(&token));
        if !is_told_again {
            self.judge_unique(here, findings, client, token);
        }
        match acquisition {
            Some(acquisition) => self.drew_for(here, findings, client, token, acquisition),
            None => {
                self.early.or_default(client).insert(token);
            }
        }
        if !self.handed.contains_key(&token) {
            Arc::make_mut(&mut self.handed).insert(token, client);
        }
        self.latest.insert(client, token);
    }

    fn drew_for(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        token: i64,
        acquisition: Acquisition,
    ) {
        self.judge_order(here, findings, client, token, acquisition);
        self.own.or_default(client).insert(token);
        let drawn = Extremes::of(token, client);
        let extremes = self.drawn.or_insert_with(acquisition, || drawn);
        *extremes = extremes.and(drawn);
    }

    /// Clients change places; whose a token was is not remembered by a judge to whom this happens.
    pub fn change_places(&mut self, places: Places<'_>) {
        places.map(&mut self.own);
        places.map(&mut self.early);
        places.map(&mut self.latest);
    }

    /// Takes up what is remembered of a client.
    pub fn mark(&self, client: ClientId, marks: &mut Marks<'_>) {
        marks.add(self.own.get(&client));
        marks.add(self.early.get(&client));
    }

    /// Forgets what only the order of tokens, or only their being handed out once, depends on.
    pub fn remember_only(&mut self, order: bool, unique: bool) {
        if !order {
            self.drawn.clear();
        }
        if !unique {
            self.handed = Arc::default();
        }
        if !order && !unique {
            self.own.clear();
            self.early.clear();
        }
        self.latest.clear();
        // Whose token it was is only told.
        let nobody = ClientId(0);
        if self.handed.values().any(|client| *client != nobody) {
            Arc::make_mut(&mut self.handed)
                .values_mut()
                .for_each(|client| *client = nobody);
        }
        for extremes in self.drawn.values_mut() {
            extremes.least.1 = nobody;
            extremes.most.1 = nobody;
        }
    }

    /// A client took the lock: what it drew before is for this acquisition.
    pub fn took(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        acquisition: Acquisition,
    ) {
        self.own.remove(&client);
        for token in self.early.remove(&client).unwrap_or_default() {
            self.drew_for(here, findings, client, token, acquisition);
        }
    }

    /// A client's run ended, it crashed, or it begins anew.
    pub fn run_over(&mut self, client: ClientId) {
        self.own.remove(&client);
        self.early.remove(&client);
        self.latest.remove(&client);
    }

    /// The latest token that the client drew in this run.
    pub fn latest(&self, client: ClientId) -> Option<i64> {
        self.latest.get(&client).copied()
    }

    fn judge_unique(&self, here: Here<'_>, findings: &mut Findings, client: ClientId, token: i64) {
        let name = here.name(client);
        if let Some(&earlier) = self.handed.get(&token) {
            let because = format!(
                "{name} was handed token {token} at {}, and {} had been handed {token} before.",
                here.time(),
                if earlier == client {
                    "it"
                } else {
                    here.name(earlier)
                }
            );
            return findings.broke(
                here,
                Property::TokensUnique,
                vec![earlier, client],
                vec![token, token],
                because,
            );
        }
        if let Some((drawn, &earlier)) = self.handed.iter().next() {
            findings.tested(Property::TokensUnique, || match earlier == client {
                true => format!("{name} was handed {drawn}, and then {token}."),
                false => format!(
                    "{} was handed {drawn}, and {name} was handed {token}.",
                    here.name(earlier)
                ),
            });
        }
    }

    fn judge_order(
        &self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        token: i64,
        acquisition: Acquisition,
    ) {
        let name = here.name(client);
        let older = self.drawn.before_key(&acquisition);
        let most = older.map(|(_, extremes)| extremes.most).max();
        let after = Acquisition(acquisition.0 + 1);
        let newer = self.drawn.from_key(&after);
        let least = newer.map(|(_, extremes)| extremes.least).min();
        if let Some((drawn, other)) = most.filter(|(drawn, _)| *drawn > token) {
            let because = format!(
                "{name} drew token {token} at {}, though {}, whose lock is older, holds token {drawn}: the older lock has the \
                 larger token.",
                here.time(),
                other_name(here, client, other)
            );
            return findings.broke(
                here,
                Property::TokensInOrder,
                vec![other, client],
                vec![drawn, token],
                because,
            );
        }
        if let Some((drawn, other)) = least.filter(|(drawn, _)| *drawn < token) {
            let because = format!(
                "{name} drew token {token} at {}, though {}, who took the lock after {name}, had drawn token {drawn} before: the \
                 older lock has the larger token.",
                here.time(),
                other_name(here, client, other)
            );
            return findings.broke(
                here,
                Property::TokensInOrder,
                vec![client, other],
                vec![token, drawn],
                because,
            );
        }
        let earlier = most.filter(|(drawn, _)| *drawn < token);
        let later = least.filter(|(drawn, _)| *drawn > token);
        let in_order = match (earlier, later) {
            (Some((drawn, other)), _) => [(other, drawn), (client, token)],
            (None, Some((drawn, other))) => [(client, token), (other, drawn)],
            (None, None) => return,
        };
        findings.tested(Property::TokensInOrder, || {
            in_order_in_words(here, in_order)
        });
    }

    /// Gives every acquisition its new number.
    pub fn renumber(&mut self, new: impl Fn(Acquisition) -> Acquisition) {
        for (acquisition, drawn) in std::mem::take(&mut self.drawn) {
            let extremes = self.drawn.or_insert_with(new(acquisition), || drawn);
            *extremes = extremes.and(drawn);
        }
    }
}

fn in_order_in_words(here: Here<'_>, [first, second]: [(ClientId, i64); 2]) -> String {
    let (name, other) = (here.name(first.0), here.name(second.0));
    let (token, later) = (first.1, second.1);
    match first.0 == second.0 {
        true => format!("{name} took the lock twice, and drew {token} and then {later}."),
        false => format!(
            "{name} took the lock first and drew {token}, {other} took it later and drew {later}."
        ),
    }
}

/// The other client, or the same one in an earlier attempt.
fn other_name(here: Here<'_>, client: ClientId, other: ClientId) -> String {
    if client == other {
        format!("{} in an earlier attempt", here.name(other))
    } else {
        here.name(other).to_string()
    }
}

//! Fencing tokens as they are handed out: in the order of the locks, and never twice.
//!
//! A token is drawn when a client's request makes the watched counter grow, or, where a protocol says `draws {token}`, when the
//! client sees it. A counter or a row that was set before the schedule is no history: what counts is what the schedule drew.

use std::collections::{BTreeMap, BTreeSet};

use super::Property;
use super::findings::{Findings, Here};
use super::lock::Acquisition;
use crate::sim::action::ClientId;

/// What is remembered of the tokens that were drawn for one watched lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TokenMemory {
    /// Every token, with the acquisition that it was drawn for; `None`: its client had no lock.
    drawn: BTreeMap<(i64, Option<Acquisition>), ClientId>,
    /// Tokens that a client drew before it took the lock; its next taking is what they are for.
    early: BTreeMap<ClientId, BTreeSet<i64>>,
    /// The latest token of each client.
    latest: BTreeMap<ClientId, i64>,
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
        self.judge_unique(here, findings, client, token, acquisition);
        match acquisition {
            Some(acquisition) => self.judge_order(here, findings, client, token, acquisition),
            None => {
                self.early.entry(client).or_default().insert(token);
            }
        }
        self.drawn.entry((token, acquisition)).or_insert(client);
        self.latest.insert(client, token);
    }

    /// A client took the lock: what it drew before is for this acquisition.
    pub fn took(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        acquisition: Acquisition,
    ) {
        for token in self.early.remove(&client).unwrap_or_default() {
            if self.drawn.get(&(token, None)) == Some(&client) {
                self.drawn.remove(&(token, None));
            }
            self.judge_order(here, findings, client, token, acquisition);
            self.drawn
                .entry((token, Some(acquisition)))
                .or_insert(client);
        }
    }

    /// A client's run ended, it crashed, or it begins anew.
    pub fn run_over(&mut self, client: ClientId) {
        self.early.remove(&client);
        self.latest.remove(&client);
    }

    /// The latest token that the client drew in this run.
    pub fn latest(&self, client: ClientId) -> Option<i64> {
        self.latest.get(&client).copied()
    }

    fn judge_unique(
        &self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        token: i64,
        acquisition: Option<Acquisition>,
    ) {
        let mut same = self
            .drawn
            .range((token, None)..=(token, Some(Acquisition(u32::MAX))));
        let other = same.find(|((_, drawn_for), _)| {
            drawn_for.is_none() || acquisition.is_none() || *drawn_for != acquisition
        });
        if let Some((_, &earlier)) = other {
            let because = format!(
                "{} was handed token {token} at {}, and {} had been handed {token} before.",
                here.name(client),
                here.time(),
                if earlier == client {
                    "it"
                } else {
                    here.name(earlier)
                }
            );
            findings.broke(
                here,
                Property::TokensUnique,
                vec![earlier, client],
                vec![token, token],
                because,
            );
            return;
        }
        let before = self.drawn.iter().find(|((drawn, _), _)| *drawn != token);
        if let Some(((drawn, _), &earlier)) = before {
            findings.tested(Property::TokensUnique, || {
                let name = here.name(client);
                match earlier == client {
                    true => format!("{name} was handed {drawn}, and then {token}."),
                    false => format!(
                        "{} was handed {drawn}, and {name} was handed {token}.",
                        here.name(earlier)
                    ),
                }
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
        let others = || {
            self.drawn
                .iter()
                .filter_map(|((drawn, drawn_for), client)| {
                    drawn_for.map(|drawn_for| (*drawn, drawn_for, *client))
                })
        };
        let larger_for_older = others()
            .filter(|(drawn, drawn_for, _)| *drawn_for < acquisition && *drawn > token)
            .max_by_key(|(drawn, ..)| *drawn);
        if let Some((drawn, _, other)) = larger_for_older {
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
        let smaller_for_newer = others()
            .filter(|(drawn, drawn_for, _)| *drawn_for > acquisition && *drawn < token)
            .min_by_key(|(drawn, ..)| *drawn);
        if let Some((drawn, _, other)) = smaller_for_newer {
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
        let in_order =
            others().find(|(drawn, drawn_for, _)| *drawn_for != acquisition && *drawn != token);
        if let Some((drawn, drawn_for, other)) = in_order {
            let (first, second) = if drawn_for < acquisition {
                ((other, drawn), (client, token))
            } else {
                ((client, token), (other, drawn))
            };
            findings.tested(Property::TokensInOrder, || {
                let ((name, token), (other, later)) = (
                    (here.name(first.0), first.1),
                    (here.name(second.0), second.1),
                );
                match first.0 == second.0 {
                    true => format!("{name} took the lock twice, and drew {token} and then {later}."),
                    false => format!(
                        "{name} took the lock first and drew {token}, {other} took it later and drew {later}."
                    ),
                }
            });
        }
    }

    /// Gives every acquisition its new number.
    pub fn renumber(&mut self, new: impl Fn(Acquisition) -> Acquisition) {
        let drawn = std::mem::take(&mut self.drawn);
        for ((token, acquisition), client) in drawn {
            self.drawn
                .entry((token, acquisition.map(&new)))
                .or_insert(client);
        }
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

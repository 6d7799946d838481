//! A search as a challenge: to find by hand what it finds, within its bounds and in as few actions.

use std::sync::Arc;

use super::bounds::{Bounds, Budget, Goal, Request, Start};
use super::moves::{Operator, Rules, after_operator};
use super::{Outcome, Search};
use crate::property::Verdict;
use crate::scenario::{self, check};
use crate::sim::action::{Action, Leg};
use crate::sim::event::Fact;
use crate::sim::setup::Setup;
use crate::sim::store::Cause;
use crate::timeline::{Entry, Moment};

/// How far a schedule has come with a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its actions; latches are no actions, and what was refused is none.
    pub actions: u32,
    /// Faults among them.
    pub faults: u32,
    /// What the bounds still allow; `None`: the schedule has done something that they do not.
    pub left: Option<Bounds>,
    /// What the operator has read in a reseed and not put back yet: the watch line, and the token.
    pub operator: Option<(usize, i64)>,
    /// Whether the world is what the search looks for.
    pub is_done: bool,
}

/// What leads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The next action of the shortest schedule from here, as the text writes it.
    Next(String),
    /// Nothing does, within what the bounds still allow.
    Nothing,
    /// There are too many worlds to say so at once.
    Unknown,
}

/// How many worlds a hint may take: a moment, as the page waits for it.
const WORLDS_OF_A_HINT: u64 = 50_000;

/// Where the entries of a schedule have come with the search that a request describes.
pub fn standing(
    setup: &Arc<Setup>,
    request: &Request,
    entries: &[Entry],
    moment: &Moment,
) -> Standing {
    let rules = Rules::new(setup.clone(), &request.bounds, true);
    let (mut actions, mut faults) = (0, 0);
    let mut left = Some(request.bounds.clone());
    let mut operator = None;
    for entry in entries.iter().filter(|entry| entry.refusal().is_none()) {
        let Some((budget, times)) = spent(entry, &rules, &mut operator) else {
            left = None;
            continue;
        };
        actions += times;
        let Some(budget) = budget else { continue };
        faults += times;
        left = left.and_then(|left| pay(left, budget, times));
    }
    let steps = request.bounds.steps.map(|most| most.checked_sub(actions));
    match steps {
        Some(None) => left = None,
        Some(most) => {
            left = left.map(|left| Bounds {
                steps: most,
                ..left
            })
        }
        None => {}
    }
    Standing {
        actions,
        faults,
        left,
        operator,
        is_done: is_done(setup, &request.goal, moment),
    }
}

/// What an action takes: of which budget, and how often it counts. `None`: no budget is for this. Of what is typed only the two
/// commands of a reseed are allowed, as a search would type them: the first takes the budget, the second is free.
fn spent(entry: &Entry, rules: &Rules, operator: &mut Operator) -> Option<(Option<Budget>, u32)> {
    let of_key = |keys: &[Vec<u8>], key: &Vec<u8>, budget| {
        let is_meant = keys.contains(key);
        is_meant.then_some((Some(budget), 1))
    };
    let budget = match &entry.action {
        Action::Pause { .. } | Action::Resume { .. } => return Some((None, 0)),
        Action::Step { .. } | Action::Deliver { .. } | Action::Replicate { .. } => None,
        Action::Advance { .. } | Action::AdvanceToNextDeadline => {
            return Some(match lapses(entry) {
                0 => (None, 1),
                lapses => (Some(Budget::Lapses), lapses),
            });
        }
        Action::ExpireNow { key, .. } => return of_key(&rules.expiring, key, Budget::Expiries),
        Action::Wipe { key, .. } => return of_key(&rules.wiped, key, Budget::Wipes),
        Action::Evict { key, .. } => return of_key(&rules.evicted, key, Budget::Evictions),
        Action::Crash { .. } => Some(Budget::Crashes),
        Action::Restart { .. } => Some(Budget::Restarts),
        Action::LoseReply { .. } => Some(Budget::LostReplies),
        Action::LoseRequest { .. } => Some(Budget::LostRequests),
        Action::Delay { leg, .. } if *leg == Leg::Reply => Some(Budget::LateReplies),
        Action::Delay { .. } => Some(Budget::LateRequests),
        Action::CrashServer { .. } => Some(Budget::ServerCrashes),
        Action::RestartServer { .. } => Some(Budget::ServerRestarts),
        Action::Failover { .. } => Some(Budget::Failovers),
        Action::ClockJump { .. } => Some(Budget::ClockJumps),
        Action::Command { .. } => {
            let chosen = rules.reseed(&entry.action, *operator)?;
            *operator = after_operator(chosen, *operator, &entry.events);
            chosen.budget()
        }
        Action::ClockRate { .. } => return None,
    };
    Some((budget, 1))
}

/// At how many moments keys lapsed: a search passes one deadline in an action.
fn lapses(entry: &Entry) -> u32 {
    let lapse = |fact: &Fact| {
        matches!(
            fact,
            Fact::KeyChanged {
                cause: Cause::Lapse,
                ..
            }
        )
    };
    let lapsed = entry.events.iter().filter(|event| lapse(&event.fact));
    let mut moments: Vec<u64> = lapsed.map(|event| event.at).collect();
    moments.dedup();
    moments.len() as u32
}

fn pay(mut left: Bounds, budget: Budget, times: u32) -> Option<Bounds> {
    let most = left.budget_mut(budget);
    *most = most.checked_sub(times)?;
    if let Some(faults) = &mut left.faults {
        *faults = faults.checked_sub(times)?;
    }
    Some(left)
}

fn is_done(setup: &Setup, goal: &Goal, moment: &Moment) -> bool {
    match goal {
        Goal::Breaks(properties) => {
            let verdicts = moment.judge.verdicts_so_far(setup);
            verdicts.iter().any(|(property, verdict)| {
                let is_meant = properties.is_empty() || properties.contains(property);
                is_meant && matches!(verdict, Verdict::Broken(_))
            })
        }
        Goal::Reach(expectations) => expectations
            .iter()
            .all(|expectation| check::is_so(setup, &moment.world, expectation)),
    }
}

/// What leads on from the world after so many actions of a text, within these bounds; the operator has read this.
pub fn hint(
    text: &str,
    at: usize,
    goal: &Goal,
    left: &Bounds,
    operator: Option<(usize, i64)>,
) -> Hint {
    let mut bounds = left.clone();
    bounds.worlds = bounds.worlds.min(WORLDS_OF_A_HINT);
    let request = Request {
        start: Start::After(at),
        goal: goal.clone(),
        bounds,
        ..Request::default()
    };
    let Ok(mut search) = Search::of_request(text, &request) else {
        return Hint::Unknown;
    };
    if operator.is_some() {
        search.begin_within_reseed(operator);
    }
    match search.finish() {
        Outcome::Found { text, .. } => next_of(text, at).map_or(Hint::Unknown, Hint::Next),
        Outcome::Nothing { .. } => Hint::Nothing,
        Outcome::LimitReached { .. } => Hint::Unknown,
    }
}

fn next_of(text: &str, at: usize) -> Option<String> {
    let reading = scenario::read(text).ok()?;
    let line = reading.schedule.get(at)?;
    Some(scenario::print_action(&reading.setup, &line.action))
}

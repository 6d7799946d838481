//! A search as a challenge: to find by hand what it finds, within its bounds and in as few actions.

use super::bounds::{Bounds, Budget, Goal, Request, Start};
use super::moves::{Move, Rules, after_operator};
use super::{Outcome, Search};
use crate::scenario::{self, check};
use crate::sim::action::{Action, Leg, ServerId};
use crate::sim::event::Fact;
use crate::sim::setup::Setup;
use crate::sim::step::step;
use crate::sim::store::Cause;
use crate::sim::world::World;
use crate::timeline::{Entry, Moment, Timeline};

/// How far a schedule has come with a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its actions; latches are no actions, a look at a console is none, and what was refused is none.
    pub actions: u32,
    /// Faults among them.
    pub faults: u32,
    /// What the bounds still allow; `None`: the schedule has done something that they do not.
    pub left: Option<Bounds>,
    /// The first action that they do not allow, from 0, and why, as a sentence without a capital and a full stop.
    pub beyond: Option<(usize, String)>,
    /// What the operator has read in a reseed and not put back yet: the watch line, and the token.
    pub operator: Option<(usize, i64)>,
    /// Whether the world is what the search looks for.
    pub is_done: bool,
}

/// What leads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The next action of the shortest schedule from here, as the text writes it, and how many actions that schedule has.
    Next(String, u32),
    /// Nothing does, within what the bounds still allow.
    Nothing,
    /// There are too many worlds to say so at once.
    Unknown,
}

/// How many worlds a hint may take: a moment, as the page waits for it.
const WORLDS_OF_A_HINT: u64 = 50_000;

/// Where the first actions of a schedule have come with the search that a request describes; `moment` is the one after them.
pub fn standing(timeline: &Timeline, at: usize, request: &Request, moment: &Moment) -> Standing {
    let rules = Rules::new(timeline.setup().clone(), &request.bounds, true);
    let mut standing = Standing {
        actions: 0,
        faults: 0,
        left: Some(request.bounds.clone()),
        beyond: None,
        operator: None,
        is_done: is_done(timeline.setup(), &request.goal, moment),
    };
    for (place, entry) in timeline.entries()[..at].iter().enumerate() {
        if entry.refusal().is_some() {
            continue;
        }
        let paid = match &entry.action {
            Action::Command { .. } => spent_by_typing(place, timeline, request, &rules, &standing),
            _ => spent(entry, &rules),
        };
        let after = paid.and_then(|paid| pay(&mut standing, entry, &request.bounds, paid));
        if let Err(why) = after {
            standing.left = None;
            standing.beyond.get_or_insert((place, why));
        }
    }
    standing
}

/// What an action takes.
#[derive(Clone, Copy)]
enum Spent {
    /// Nothing: it is no action.
    Nothing,
    /// So many actions, each one of a budget if one is named.
    Actions(u32, Option<Budget>),
    /// One of the two commands of a reseed: the first takes the budget, the second is free.
    Reseed(Move),
}

/// What an action takes that was not typed.
fn spent(entry: &Entry, rules: &Rules) -> Result<Spent, String> {
    let of_key = |keys: &[Vec<u8>], key: &Vec<u8>, budget: Budget| match keys.contains(key) {
        true => Ok(Spent::Actions(1, Some(budget))),
        false => Err(format!(
            "the bounds allow no {} of this key",
            budget.words()
        )),
    };
    let budget = match &entry.action {
        Action::Pause { .. } | Action::Resume { .. } => return Ok(Spent::Nothing),
        Action::Step { .. } | Action::Deliver { .. } | Action::Replicate { .. } => None,
        Action::Advance { .. } | Action::AdvanceToNextDeadline => {
            return Ok(match lapses(entry) {
                0 => Spent::Actions(1, None),
                lapses => Spent::Actions(lapses, Some(Budget::Lapses)),
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
        Action::Command { .. } => return Err(TYPED.to_string()),
        Action::ClockRate { .. } => return Err("no search makes a clock slower or faster".into()),
    };
    Ok(Spent::Actions(1, budget))
}

/// Why something that was typed is not allowed.
const TYPED: &str =
    "what is typed may look at everything, and change only what the bounds let happen by itself";

/// What a typed command takes, by what it did: a look is free; a command of a reseed as the search would type it is one; and one
/// after which the world is as after the loss of a key is that loss.
fn spent_by_typing(
    place: usize,
    timeline: &Timeline,
    request: &Request,
    rules: &Rules,
    standing: &Standing,
) -> Result<Spent, String> {
    let setup = timeline.setup();
    let entry = &timeline.entries()[place];
    let can_reseed = standing.operator.is_some()
        || standing
            .left
            .as_ref()
            .is_some_and(|left| left.reseeds > 0 && left.faults != Some(0));
    if let Some(chosen) = rules
        .reseed(&entry.action, standing.operator)
        .filter(|_| can_reseed)
    {
        return Ok(Spent::Reseed(chosen));
    }
    let (before, after) = (timeline.moment(place), timeline.moment(place + 1));
    let is_broken = |moment: &Moment| is_done(setup, &request.goal, moment);
    let seen = |world: &World| {
        let mut world = world.clone();
        world.database.forget_unread(true, true);
        world
    };
    let typed = seen(&after.world);
    if seen(&before.world) == typed {
        return Ok(Spent::Nothing);
    }
    let is_same = |action: &Action| {
        let (world, events) = step(setup, &before.world, action);
        let mut judge = before.judge.clone();
        judge.observe(setup, place, &events, &world);
        let moment = Moment { world, judge };
        seen(&moment.world) == typed && is_broken(&moment) == is_broken(&after)
    };
    let servers = (0..before.world.stores.len()).map(ServerId);
    let mut losses = servers.flat_map(|server| {
        let wipe = |key: &Vec<u8>| {
            (
                Budget::Wipes,
                Action::Wipe {
                    server,
                    key: key.clone(),
                },
            )
        };
        let expire = |key: &Vec<u8>| {
            (
                Budget::Expiries,
                Action::ExpireNow {
                    server,
                    key: key.clone(),
                },
            )
        };
        let wipes = rules.wiped.iter().map(wipe);
        wipes
            .chain(rules.expiring.iter().map(expire))
            .collect::<Vec<_>>()
    });
    let loss =
        losses.find(|(budget, action)| request.bounds.budget(*budget) > 0 && is_same(action));
    match loss {
        Some((budget, _)) => Ok(Spent::Actions(1, Some(budget))),
        None => Err(TYPED.to_string()),
    }
}

/// Counts what an action takes, as far as there is anything left of it.
fn pay(
    standing: &mut Standing,
    entry: &Entry,
    bounds: &Bounds,
    spent: Spent,
) -> Result<(), String> {
    let (actions, budget) = match spent {
        Spent::Nothing => return Ok(()),
        Spent::Actions(actions, budget) => (actions, budget),
        Spent::Reseed(chosen) => {
            standing.operator = after_operator(chosen, standing.operator, &entry.events);
            (1, chosen.budget())
        }
    };
    standing.actions += actions;
    if budget.is_some() {
        standing.faults += actions;
    }
    let Some(left) = &mut standing.left else {
        return Ok(());
    };
    let allowed = |left: &mut u32, most: u32, what: &str| match left.checked_sub(actions) {
        Some(rest) => {
            *left = rest;
            Ok(())
        }
        None => Err(format!("more than the bounds allow ({what}: {most})")),
    };
    if let Some(budget) = budget {
        allowed(
            left.budget_mut(budget),
            bounds.budget(budget),
            budget.words(),
        )?;
        if let Some(faults) = &mut left.faults {
            allowed(faults, bounds.faults.unwrap_or_default(), "faults")?;
        }
    }
    match &mut left.steps {
        Some(steps) => allowed(steps, bounds.steps.unwrap_or_default(), "actions"),
        None => Ok(()),
    }
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

fn is_done(setup: &Setup, goal: &Goal, moment: &Moment) -> bool {
    match goal.clone().spelled_out(setup) {
        Goal::Breaks(properties) => moment.judge.breaks_any(setup, &properties),
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
        Outcome::Found { text, steps, .. } => {
            next_of(text, at).map_or(Hint::Unknown, |next| Hint::Next(next, *steps))
        }
        Outcome::Nothing { .. } => Hint::Nothing,
        Outcome::LimitReached { .. } => Hint::Unknown,
    }
}

fn next_of(text: &str, at: usize) -> Option<String> {
    let reading = scenario::read(text).ok()?;
    let line = reading.schedule.get(at)?;
    Some(scenario::print_action(&reading.setup, &line.action))
}

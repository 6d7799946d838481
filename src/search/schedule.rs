//! From worlds back to schedules: which shortest ways lead to the goal, and what they are as texts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::Outcome;
use super::bounds::{Finds, Goal};
use super::engine::Engine;
use crate::property::Verdict;
use crate::scenario::{self, Reading, found};
use crate::sim::action::Action;
use crate::sim::step::step;
use crate::timeline::{Moment, Timeline};

/// How many worlds may be gone through once more to find every shortest schedule; beyond that only one is shown.
const MOST_WORLDS: usize = 1_000_000;

/// How many ways may be looked at.
const MOST_WAYS: usize = 100_000;

/// A step of a way: from this world, by a move of this client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: u32,
    client: Option<usize>,
}

/// The shortest schedules that lead to these worlds, those that change client less often first.
pub(super) fn schedules(
    engine: &mut Engine,
    start: &Moment,
    goals: &[u32],
    most: usize,
) -> Vec<Vec<Action>> {
    let ways = match engine.worlds.len() <= MOST_WORLDS {
        true => shortest_ways(engine, goals, most),
        false => goals
            .iter()
            .take(1)
            .map(|goal| chain(engine, *goal))
            .collect(),
    };
    ways.iter().map(|way| actions(engine, start, way)).collect()
}

/// The way by which a world was first reached, the first world first.
fn chain(engine: &Engine, goal: u32) -> Vec<u32> {
    let mut way = vec![goal];
    let mut at = goal;
    while at != 0 {
        at = engine.worlds.origin(at).parent;
        way.push(at);
    }
    way.reverse();
    way
}

/// Every way from the first world to the goals on which each world is reached at its cost, fewest changes of client first.
fn shortest_ways(engine: &mut Engine, goals: &[u32], most: usize) -> Vec<Vec<u32>> {
    let edges = edges_to(engine, goals);
    let changes = changes_to(engine, &edges);
    let mut ways = Vec::new();
    // Ways from the goal back, the least changes in all first.
    let mut heap = BinaryHeap::new();
    let mut steps: Vec<(u32, usize)> = Vec::new();
    for goal in goals {
        for (actor, before) in changes.get(goal).into_iter().flatten() {
            steps.push((*goal, usize::MAX));
            heap.push(Reverse((*before, steps.len() - 1, *actor, 0)));
        }
    }
    let mut looked_at = 0;
    while let Some(Reverse((_, step, actor, after))) = heap.pop() {
        looked_at += 1;
        if ways.len() >= most || looked_at > MOST_WAYS {
            break;
        }
        let world = steps[step].0;
        if world == 0 {
            let way = way_from(&steps, step);
            if !ways.contains(&way) {
                ways.push(way);
            }
            continue;
        }
        for edge in edges.get(&world).into_iter().flatten() {
            for (earlier, before) in changes.get(&edge.from).into_iter().flatten() {
                let changed = match edge.client {
                    None if *earlier == actor => 0,
                    Some(client) if Some(client) == actor => {
                        u32::from(earlier.is_some_and(|earlier| earlier != client))
                    }
                    _ => continue,
                };
                let after = after + changed;
                steps.push((edge.from, step));
                heap.push(Reverse((before + after, steps.len() - 1, *earlier, after)));
            }
        }
    }
    ways
}

fn way_from(steps: &[(u32, usize)], mut step: usize) -> Vec<u32> {
    let mut way = Vec::new();
    while step != usize::MAX {
        way.push(steps[step].0);
        step = steps[step].1;
    }
    way
}

/// For every world on a shortest way, the steps that lead to it at its cost.
fn edges_to(engine: &mut Engine, goals: &[u32]) -> BTreeMap<u32, BTreeSet<Edge>> {
    let best = goals.iter().map(|goal| engine.cost(*goal)).max();
    let mut all: Vec<(u32, Edge)> = Vec::new();
    let (mut fields, mut words) = (Vec::new(), Vec::new());
    for world in 0..engine.worlds.len() as u32 {
        let (faults, depth) = engine.cost(world);
        if Some((faults, depth)) >= best {
            continue;
        }
        engine.worlds.unpack(world, &mut fields);
        for successor in engine.successors(&fields) {
            engine.canonical(&successor.fields, &mut words);
            let found = engine.worlds.find(&words);
            let deeper = depth + u32::from(successor.actions);
            if let Some(to) = found.filter(|to| engine.cost(*to).1 == deeper) {
                let client = successor.by.client();
                all.push((
                    to,
                    Edge {
                        from: world,
                        client,
                    },
                ));
            }
        }
    }
    crate::sorted::sort(&mut all);
    let mut edges: BTreeMap<u32, BTreeSet<Edge>> = BTreeMap::new();
    let mut wanted: Vec<u32> = goals.to_vec();
    while let Some(to) = wanted.pop() {
        if edges.contains_key(&to) {
            continue;
        }
        let first = all.partition_point(|(other, _)| *other < to);
        let own = all[first..].iter().take_while(|(other, _)| *other == to);
        let own: BTreeSet<Edge> = own.map(|(_, edge)| *edge).collect();
        wanted.extend(own.iter().map(|edge| edge.from));
        edges.insert(to, own);
    }
    edges
}

type Actor = Option<usize>;

/// For every world on a shortest way and every client that may have acted last: how often client changed until then, at least.
fn changes_to(
    engine: &Engine,
    edges: &BTreeMap<u32, BTreeSet<Edge>>,
) -> BTreeMap<u32, BTreeMap<Actor, u32>> {
    let mut order: Vec<u32> = edges.keys().copied().collect();
    crate::sorted::sort_by_key(&mut order, |world| engine.cost(*world));
    let mut changes: BTreeMap<u32, BTreeMap<Actor, u32>> = BTreeMap::new();
    changes.entry(0).or_default().insert(None, 0);
    for world in order {
        let mut own = changes.remove(&world).unwrap_or_default();
        for edge in edges.get(&world).into_iter().flatten() {
            for (actor, count) in changes.get(&edge.from).into_iter().flatten() {
                let changed =
                    matches!((edge.client, actor), (Some(client), Some(actor)) if client != *actor);
                let count = count + u32::from(changed);
                let least = own.entry(edge.client.or(*actor)).or_insert(count);
                *least = count.min(*least);
            }
        }
        changes.insert(world, own);
    }
    changes
}

/// The actions of a way, in the ordinary world.
fn actions(engine: &mut Engine, start: &Moment, way: &[u32]) -> Vec<Action> {
    let mut world = start.world.clone();
    let mut fields = engine.first_fields().to_vec();
    let mut actor = None;
    let mut all = Vec::new();
    let mut words = Vec::new();
    for next in way.iter().skip(1) {
        let target = engine.worlds.words_of(*next).to_vec();
        let mut moves = engine.successors(&fields);
        moves.retain(|successor| {
            engine.canonical(&successor.fields, &mut words);
            words == target
        });
        let same_client = moves.iter().position(|successor| {
            let client = successor.by.client();
            client.is_none_or(|client| Some(client) == actor)
        });
        if moves.is_empty() {
            break;
        }
        let successor = moves.swap_remove(same_client.unwrap_or(0));
        let (chosen, after) = (successor.by, successor.fields);
        let operator = engine.parts.operator(&fields);
        let shifts = engine.shifts(&fields);
        let chosen_actions = engine.parts.rules.actions(chosen, &world, operator, shifts);
        for action in chosen_actions.into_iter().flatten() {
            world = step(&engine.parts.rules.setup, &world, &action).0;
            all.push(action);
        }
        actor = chosen.client().or(actor);
        fields = after;
    }
    all
}

// Texts.

/// The text with a schedule in place of what stands behind `at`, and with what it shows as expectations.
pub(super) fn text_with(
    text: &str,
    reading: &Reading,
    at: usize,
    schedule: &[Action],
    goal: &Goal,
) -> String {
    let kept = reading.schedule[..at]
        .iter()
        .map(|line| line.action.clone());
    let all = kept.chain(schedule.iter().cloned());
    let timeline = Timeline::replay(reading.setup.clone(), all);
    let lines: Vec<String> = timeline.entries()[at..]
        .iter()
        .map(|entry| {
            let reply = entry.reply_in_short();
            scenario::print_schedule_line(&reading.setup, &entry.action, reply.as_deref())
        })
        .collect();
    let expectations: Vec<String> = match goal {
        Goal::Reach(expectations) => expectations.iter().map(found::print_expectation).collect(),
        Goal::Breaks(properties) => {
            let moment = timeline.moment(timeline.len());
            let verdicts = moment.judge.verdicts_so_far(&reading.setup);
            let broken = verdicts.iter().filter(|(property, verdict)| {
                properties.contains(property) && matches!(verdict, Verdict::Broken(_))
            });
            broken
                .map(|(property, _)| format!("broken: {}", property.sentence()))
                .collect()
        }
    };
    found::with_schedule(text, reading, at, &lines, &expectations)
}

/// What a search is expected to find and what it found, where these differ.
pub(super) fn difference(
    finds: Finds,
    outcome: &Outcome,
    reading: &Reading,
) -> Option<(String, String)> {
    let expected = found::print_finds(finds);
    let got = match outcome {
        Outcome::Nothing { worlds, .. } => found::print_finds(Finds::Nothing {
            worlds: match finds {
                Finds::Nothing { worlds: None } => None,
                _ => Some(*worlds),
            },
        }),
        Outcome::LimitReached {
            worlds,
            faults,
            depth,
            ..
        } => {
            format!(
                "nothing up to {faults} faults and {depth} steps, the limit after {worlds} worlds"
            )
        }
        Outcome::Found {
            steps,
            faults,
            text,
            ..
        } => {
            let steps = found::print_finds(Finds::Steps {
                steps: *steps,
                faults: *faults,
            });
            match finds {
                Finds::Schedule => match scenario::read(text) {
                    Ok(other) if is_same_schedule(&other, reading) => return None,
                    Ok(other) => format!("{steps}: {}", schedule_in_one_line(&other)),
                    Err(_) => steps,
                },
                Finds::Nothing { .. } => match scenario::read(text) {
                    Ok(other) => format!("{steps}: {}", schedule_in_one_line(&other)),
                    Err(_) => steps,
                },
                Finds::Steps { .. } => steps,
            }
        }
    };
    (expected != got).then_some((expected, got))
}

fn is_same_schedule(one: &Reading, other: &Reading) -> bool {
    let actions = |reading: &Reading| -> Vec<String> {
        let lines = reading.schedule.iter();
        lines
            .map(|line| scenario::print_action(&reading.setup, &line.action))
            .collect()
    };
    actions(one) == actions(other)
}

fn schedule_in_one_line(reading: &Reading) -> String {
    let lines: Vec<String> = reading
        .schedule
        .iter()
        .map(|line| scenario::print_action(&reading.setup, &line.action))
        .collect();
    lines.join("; ")
}

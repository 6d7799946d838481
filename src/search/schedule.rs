//! From worlds back to schedules: which shortest ways lead to the goal, and what they are as texts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use latchkey_kernel::Cost;

use super::Outcome;
use super::bounds::{Finds, Goal};
use super::engine::Engine;
use super::moves::Move;
use crate::property::{Property, Verdict};
use crate::scenario::{self, Reading, found};
use crate::sim::action::Action;
use crate::sim::step::step;
use crate::sorted::SortedMap;
use crate::timeline::{Moment, Timeline};

/// How many worlds may be gone through once more to find every shortest schedule; beyond that only one is shown.
const MOST_WORLDS: usize = 1_000_000;

/// How many worlds on shortest ways are told apart, clients in each place.
const MOST_NODES: usize = 50_000;

/// How many ways may be looked at.
const MOST_WAYS: usize = 100_000;

/// The client that acted last.
type Actor = Option<usize>;

/// A world on a shortest way, clients in the places in which the schedule has them.
struct Node {
    fields: Vec<u32>,
    cost: Cost,
    is_goal: bool,
    /// The worlds before, and the moves that lead here.
    before: Vec<(usize, Move)>,
    /// By the client that acted last: how often client changed until here, at least.
    changes: SortedMap<Actor, u32>,
}

/// The shortest schedules that lead to these worlds, those that change client less often first.
pub(super) fn schedules(
    engine: &mut Engine,
    start: &Moment,
    goals: &[u32],
    most: usize,
) -> Vec<Vec<Action>> {
    let wanted = match engine.explorer.worlds.count() <= MOST_WORLDS {
        true => on_shortest_ways(engine, goals),
        false => {
            let mut wanted = vec![false; engine.explorer.worlds.count()];
            for world in goals.iter().take(1).flat_map(|goal| chain(engine, *goal)) {
                wanted[world as usize] = true;
            }
            wanted
        }
    };
    let nodes = nodes_on_ways(engine, &wanted, goals);
    let ways = ways(&nodes, most);
    ways.iter()
        .map(|way| actions(engine, start, &nodes, way))
        .collect()
}

/// The worlds of the way by which a world was first reached.
fn chain(engine: &Engine, goal: u32) -> Vec<u32> {
    let mut way = vec![goal];
    let mut at = goal;
    while at != 0 {
        at = engine.explorer.worlds.origin(at).parent;
        way.push(at);
    }
    way
}

/// Of every world whether it is on a way to the goals on which each is reached at its cost.
fn on_shortest_ways(engine: &mut Engine, goals: &[u32]) -> Vec<bool> {
    let best = goals.iter().map(|goal| engine.cost(*goal)).max();
    let mut all: Vec<(u32, u32)> = Vec::new();
    let (mut fields, mut words) = (Vec::new(), Vec::new());
    for world in 0..engine.explorer.worlds.count() as u32 {
        let cost = engine.cost(world);
        if Some(cost) >= best {
            continue;
        }
        engine.explorer.worlds.unpack(world, &mut fields);
        for successor in engine.successors(&fields) {
            engine.canonical(&successor.fields, &mut words);
            let deeper = cost.1 + u32::from(successor.actions);
            let found = engine.explorer.worlds.find(&words);
            if let Some(to) = found.filter(|to| engine.cost(*to).1 == deeper) {
                all.push((to, world));
            }
        }
    }
    crate::sorted::sort(&mut all);
    let mut wanted = vec![false; engine.explorer.worlds.count()];
    let mut open: Vec<u32> = goals.to_vec();
    while let Some(to) = open.pop() {
        if !std::mem::replace(&mut wanted[to as usize], true) {
            let first = all.partition_point(|(other, _)| *other < to);
            let own = all[first..].iter().take_while(|(other, _)| *other == to);
            open.extend(own.map(|(_, from)| *from));
        }
    }
    wanted
}

/// The wanted worlds as they are reached from the first, in the order of their costs.
fn nodes_on_ways(engine: &mut Engine, wanted: &[bool], goals: &[u32]) -> Vec<Node> {
    let mut changes_at_first = SortedMap::new();
    changes_at_first.insert(None, 0);
    let mut nodes = vec![Node {
        fields: engine.first_fields().to_vec(),
        cost: (0, 0),
        is_goal: goals.contains(&0),
        before: Vec::new(),
        changes: changes_at_first,
    }];
    // The places of the nodes in the order of their fields.
    let mut known = vec![0];
    let mut open = BinaryHeap::new();
    open.push(Reverse(((0, 0), 0)));
    let mut words = Vec::new();
    while let Some(Reverse((cost, place))) = open.pop() {
        nodes[place].changes = changes(&nodes, place);
        if nodes[place].is_goal {
            continue;
        }
        let fields = nodes[place].fields.clone();
        for successor in engine.successors(&fields) {
            engine.canonical(&successor.fields, &mut words);
            let found = engine.explorer.worlds.find(&words);
            let Some(world) = found.filter(|world| wanted.get(*world as usize) == Some(&true))
            else {
                continue;
            };
            let reached = engine.cost(world);
            if reached.1 != cost.1 + u32::from(successor.actions) {
                continue;
            }
            let to = match known
                .binary_search_by(|place: &usize| nodes[*place].fields.cmp(&successor.fields))
            {
                Ok(at) => known[at],
                Err(_) if nodes.len() >= MOST_NODES => continue,
                Err(at) => {
                    let to = nodes.len();
                    known.insert(at, to);
                    open.push(Reverse((reached, to)));
                    nodes.push(Node {
                        fields: successor.fields,
                        cost: reached,
                        is_goal: goals.contains(&world),
                        before: Vec::new(),
                        changes: SortedMap::new(),
                    });
                    to
                }
            };
            nodes[to].before.push((place, successor.by));
        }
    }
    nodes
}

fn changes(nodes: &[Node], place: usize) -> SortedMap<Actor, u32> {
    let mut changes = nodes[place].changes.clone();
    for (from, by) in &nodes[place].before {
        for (actor, count) in &nodes[*from].changes {
            let count = count + changed(*actor, by.client());
            let least = changes.or_insert_with(by.client().or(*actor), || count);
            *least = count.min(*least);
        }
    }
    changes
}

/// Whether it is another client that acts.
fn changed(before: Actor, after: Actor) -> u32 {
    u32::from(matches!((before, after), (Some(before), Some(after)) if before != after))
}

/// Ways as nodes and moves, from the first world to a goal; those with fewest changes of client first.
fn ways(nodes: &[Node], most: usize) -> Vec<Vec<(usize, Move)>> {
    let mut ways = Vec::new();
    // From the goals back, the least changes in all first.
    let mut heap = BinaryHeap::new();
    let mut steps: Vec<(usize, Move, usize)> = Vec::new();
    let goals = nodes.iter().enumerate().filter(|(_, node)| node.is_goal);
    let cheapest = goals.clone().map(|(_, node)| node.cost).min();
    for (place, node) in goals.filter(|(_, node)| Some(node.cost) == cheapest) {
        for (actor, before) in &node.changes {
            steps.push((place, Move::ReseedWrite, usize::MAX));
            heap.push(Reverse((*before, steps.len() - 1, *actor, 0)));
        }
    }
    let mut looked_at = 0;
    while let Some(Reverse((_, step, actor, after))) = heap.pop() {
        looked_at += 1;
        if ways.len() >= most || looked_at > MOST_WAYS {
            break;
        }
        let place = steps[step].0;
        if place == 0 {
            ways.push(way_from(&steps, step));
            continue;
        }
        for (from, by) in &nodes[place].before {
            for (earlier, before) in &nodes[*from].changes {
                if by.client().or(*earlier) != actor {
                    continue;
                }
                let after = after + changed(*earlier, by.client());
                steps.push((*from, *by, step));
                heap.push(Reverse((before + after, steps.len() - 1, *earlier, after)));
            }
        }
    }
    ways
}

fn way_from(steps: &[(usize, Move, usize)], mut step: usize) -> Vec<(usize, Move)> {
    let mut way = Vec::new();
    loop {
        let (place, by, next) = steps[step];
        if next == usize::MAX {
            return way;
        }
        way.push((place, by));
        step = next;
    }
}

/// The actions of a way, in the ordinary world.
fn actions(engine: &Engine, start: &Moment, nodes: &[Node], way: &[(usize, Move)]) -> Vec<Action> {
    let mut world = start.world.clone();
    let mut all = Vec::new();
    for (place, by) in way {
        let fields = &nodes[*place].fields;
        let operator = engine.parts.operator(fields);
        let shifts = engine.shifts(fields);
        let chosen = engine.parts.rules.actions(*by, &world, operator, shifts);
        for action in chosen.into_iter().flatten() {
            world = step(&engine.parts.rules.setup, &world, &action).0;
            all.push(action);
        }
    }
    all
}

// Texts.

/// The text with a schedule in place of what stands behind `at`, and with what it shows as expectations; and the first property of the
/// goal that it breaks, which its title tells.
pub(super) fn text_with(
    text: &str,
    reading: &Reading,
    at: usize,
    schedule: &[Action],
    goal: &Goal,
    title: impl Fn(Option<Property>) -> [String; 3],
) -> (String, Option<Property>) {
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
    let mut broken = Vec::new();
    let expectations: Vec<String> = match goal {
        Goal::Reach(expectations) => expectations.iter().map(found::print_expectation).collect(),
        Goal::Breaks(properties) => {
            let moment = timeline.moment(timeline.len());
            let verdicts = moment.judge.verdicts_so_far(&reading.setup);
            let is_broken = |(property, verdict): &(Property, Verdict)| {
                properties.contains(property) && matches!(verdict, Verdict::Broken(_))
            };
            broken.extend(verdicts.iter().filter(|it| is_broken(it)).map(|it| it.0));
            let sentences = broken.iter().map(|property| property.sentence());
            sentences.map(|it| format!("broken: {it}")).collect()
        }
    };
    // What somebody claims comes first.
    let claimed = broken.iter().find(|it| it.is_claimed(&reading.setup));
    let told = claimed.or(broken.first()).copied();
    let found = found::with_schedule(text, reading, at, &lines, &expectations);
    (found::with_title(&found, &title(told)), told)
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

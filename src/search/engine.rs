//! The search itself: breadth first in layers of faults, in each by the number of actions.
//!
//! ```text
//! faults 0:  depth 0, 1, 2, ...          every world without a fault
//! faults 1:         depth 1, 2, ...      every world that takes one, and so on
//! ```
//!
//! A world knows what was used of each budget, so that its faults are settled by what it is; how many actions it takes is settled
//! when its turn comes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bounds::{Bounds, Budget, Goal, Reduction};
use super::moves::{DELAYS, Move};
use super::parts::{CLOCK, JUDGE, OPERATOR, Parts};
use super::reads::reads_remaining_time;
use super::table::{Origin, Worlds, hash_of_words};
use super::{Progress, schedule};
use crate::property::Property;
use crate::sim::action::Action;
use crate::sim::setup::Setup;
use crate::timeline::Moment;

/// How many successors are made before the first of them is looked up, so that look-ups wait for memory together.
const BATCH: usize = 256;

/// Faults and actions of a schedule, in the order in which schedules are tried.
pub(super) type Cost = (u32, u32);

/// A search under way.
pub(super) struct Engine {
    pub parts: Parts,
    pub worlds: Worlds,
    bounds: Bounds,
    /// The field in which the use of each budget is counted, where there may be any.
    budgets: Vec<(Budget, usize)>,
    first: Vec<u32>,
    most_faults: u32,
    /// Worlds whose turn will come, by cost.
    waiting: BTreeMap<Cost, Vec<u32>>,
    current: Cost,
    turn: Vec<u32>,
    /// The smallest cost at which the goal was seen, and worlds that show it.
    best: Option<Cost>,
    goals: Vec<u32>,
    explores_all: bool,
    transitions: u64,
    finished: bool,
    is_cut: bool,
    /// What was refused for want of a budget.
    wanted: Vec<Budget>,
    wants: Wants,
    batch: Batch,
    scratch: Vec<u32>,
}

/// What bounds left out, beside budgets.
#[derive(Clone, Copy, Debug, Default)]
struct Wants {
    faults: bool,
    steps: bool,
    attempts: bool,
}

/// Successors that have been made and not looked up.
#[derive(Default)]
struct Batch {
    words: Vec<u64>,
    made: Vec<(u64, Origin, u32)>,
}

/// A successor: what leads to it, its cost in actions, and its fields.
pub(super) struct Successor<'a> {
    pub by: Move,
    pub actions: u16,
    pub fields: &'a [u32],
}

impl Engine {
    /// A search that has seen the first world only.
    pub fn new(setup: Arc<Setup>, start: &Moment, bounds: Bounds, goal: &Goal) -> Engine {
        let mut parts = Parts::new(setup, &bounds, goal);
        let most_faults = bounds.most_faults();
        let used = Budget::ALL
            .into_iter()
            .filter(|budget| bounds.budget(*budget) > 0);
        let mut budgets: Vec<(Budget, usize)> = used.map(|budget| (budget, 0)).collect();
        let mut judge = start.judge.clone();
        if !bounds.uses(Reduction::Ranks) {
            judge.keep_numbers();
        }
        let fields = parts.number(start.world.clone(), judge, budgets.len());
        let parts_end = fields.len() - budgets.len();
        for (place, (_, field)) in budgets.iter_mut().enumerate() {
            *field = parts_end + place;
        }
        let mut bits = vec![6; parts_end];
        bits[OPERATOR] = if bounds.reseeds > 0 { 3 } else { 0 };
        bits[CLOCK] = if parts.reads_clock() { 4 } else { 0 };
        bits[JUDGE] = 8;
        for (budget, _) in &budgets {
            bits.push(u32::BITS - bounds.budget(*budget).leading_zeros());
        }
        let mut engine = Engine {
            worlds: Worlds::new(&bits),
            first: fields.clone(),
            parts,
            bounds,
            budgets,
            most_faults,
            waiting: BTreeMap::new(),
            current: (0, 0),
            turn: Vec::new(),
            best: None,
            goals: Vec::new(),
            explores_all: false,
            transitions: 0,
            finished: false,
            is_cut: false,
            wanted: Vec::new(),
            wants: Wants::default(),
            batch: Batch::default(),
            scratch: Vec::new(),
        };
        engine.begin(&fields);
        engine
    }

    fn begin(&mut self, fields: &[u32]) {
        let mut words = Vec::new();
        self.worlds.pack(fields, &mut words);
        let origin = Origin {
            parent: 0,
            by: u16::MAX,
            depth: 0,
        };
        self.worlds.insert(&words, hash_of_words(&words), origin);
        self.turn.push(0);
        if self.parts.is_goal(fields) {
            self.best = Some((0, 0));
            self.goals.push(0);
        }
    }

    /// Goes on behind the goal.
    pub fn explore_all(&mut self) {
        self.explores_all = true;
    }

    /// Ends here.
    pub fn stop(&mut self) {
        self.is_cut |= !self.finished;
        self.finished = true;
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        Progress {
            worlds: self.worlds.len() as u64,
            transitions: self.transitions,
            faults: self.current.0,
            depth: self.current.1,
            bytes: self.bytes(),
            finished: self.finished,
        }
    }

    fn bytes(&self) -> u64 {
        let waiting: usize = self.waiting.values().map(Vec::capacity).sum();
        let turns = (waiting + self.turn.capacity()) * 4;
        (self.worlds.bytes() + self.parts.bytes() + turns) as u64
    }

    /// Whether it ended before its end.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The cost of the shortest schedule, where there is one.
    pub fn found(&self) -> Option<(u32, u32)> {
        self.best
            .filter(|best| !self.is_cut || *best <= self.current)
    }

    /// What is broken where the search ended.
    pub fn broken_property(&mut self, goal: &Goal) -> Option<Property> {
        let Goal::Breaks(properties) = goal else {
            return None;
        };
        let (best, mut fields) = (self.goals.first().copied()?, Vec::new());
        self.worlds.unpack(best, &mut fields);
        properties
            .iter()
            .copied()
            .find(|property| self.parts.breaks(&fields, *property))
    }

    /// Tries the moves of about so many worlds.
    pub fn run(&mut self, worlds: usize) {
        let mut left = worlds;
        while left > 0 && !self.finished {
            if !self.explores_all && self.best.is_some_and(|best| best <= self.current) {
                self.finished = true;
                break;
            }
            let Some(world) = self.turn.pop() else {
                self.flush();
                self.next_turn();
                continue;
            };
            // A world that was reached again with fewer actions had its turn then.
            let depth = u32::from(self.worlds.origin(world).depth);
            if depth == self.current.1 {
                self.expand(world);
                left -= 1;
            }
        }
        self.flush();
    }

    fn next_turn(&mut self) {
        if !self.turn.is_empty() {
            return;
        }
        let next = self.waiting.pop_first();
        let is_over = match (&next, self.best) {
            (None, _) => true,
            (Some((cost, _)), Some(best)) => !self.explores_all && *cost >= best,
            (Some(_), None) => false,
        };
        if is_over {
            self.finished = true;
            return;
        }
        if let Some((cost, mut turn)) = next {
            // The first that came is the first to be tried.
            turn.reverse();
            self.current = cost;
            self.turn = turn;
        }
        let is_full = self.worlds.len() as u64 >= self.bounds.worlds;
        if is_full || self.bytes() >= self.bounds.bytes {
            self.stop();
        }
    }

    fn expand(&mut self, world: u32) {
        let mut fields = std::mem::take(&mut self.scratch);
        self.worlds.unpack(world, &mut fields);
        let depth = self.worlds.origin(world).depth;
        let mut successors = Vec::new();
        self.successors(&fields, &mut |successor| {
            successors.push((successor.by, successor.actions, successor.fields.to_vec()));
        });
        for (by, actions, fields) in successors {
            self.transitions += 1;
            let deeper = depth.saturating_add(actions);
            if self
                .bounds
                .steps
                .is_some_and(|most| u32::from(deeper) > most)
            {
                self.wants.steps = true;
                continue;
            }
            let origin = Origin {
                parent: world,
                by: by.code(),
                depth: deeper,
            };
            self.add(&fields, origin);
        }
        self.scratch = fields;
    }

    fn add(&mut self, fields: &[u32], origin: Origin) {
        let mut words = Vec::new();
        let faults = self.faults(fields);
        let stride = self.worlds.words();
        if !(0..fields.len()).all(|field| self.worlds.fits(field, fields[field])) {
            self.flush();
        }
        self.worlds.pack(fields, &mut words);
        debug_assert!(self.batch.made.is_empty() || stride == self.worlds.words());
        let hash = hash_of_words(&words);
        self.batch.words.extend_from_slice(&words);
        self.batch.made.push((hash, origin, faults));
        if self.batch.made.len() >= BATCH {
            self.flush();
        }
    }

    /// Looks up the successors that were made.
    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let stride = self.worlds.words();
        let touched = batch
            .made
            .iter()
            .fold(0, |all, (hash, ..)| all ^ self.worlds.touch(*hash));
        std::hint::black_box(touched);
        for (place, (hash, origin, faults)) in batch.made.iter().enumerate() {
            let words = &batch.words[place * stride..(place + 1) * stride];
            self.look_up(words, *hash, *origin, *faults);
        }
        self.batch = batch;
        self.batch.words.clear();
        self.batch.made.clear();
    }

    fn look_up(&mut self, words: &[u64], hash: u64, origin: Origin, faults: u32) {
        let (world, is_new) = self.worlds.insert(words, hash, origin);
        if !is_new {
            if self.worlds.origin(world).depth <= origin.depth {
                return;
            }
            self.worlds.set_origin(world, origin);
        }
        let cost = (faults, u32::from(origin.depth));
        self.waiting.entry(cost).or_default().push(world);
        let mut fields = std::mem::take(&mut self.scratch);
        self.worlds.unpack(world, &mut fields);
        if self.best.is_none_or(|best| cost <= best) && self.parts.is_goal(&fields) {
            if self.best.is_none_or(|best| cost < best) {
                self.goals.clear();
            }
            self.best = Some(cost);
            self.goals.push(world);
        }
        self.scratch = fields;
    }

    /// The faults that a world took.
    fn faults(&self, fields: &[u32]) -> u32 {
        let used = self.budgets.iter().filter(|(budget, _)| budget.is_fault());
        used.map(|(_, field)| fields[*field]).sum()
    }

    /// What can come of a world: every move that is possible and within bounds.
    pub fn successors(&mut self, fields: &[u32], each: &mut dyn FnMut(Successor<'_>)) {
        let mut after = Vec::new();
        let clients = self.parts.client_count();
        let clients_at = self.parts.clients_at();
        for client in 0..clients {
            let view = self.parts.view(fields[clients_at + client]);
            if view.is_paused {
                self.try_move(Move::Resume(client), fields, &mut after, each);
            }
            if view.server.is_some() {
                if view.is_tired {
                    self.wants.attempts = true;
                } else {
                    self.try_move(Move::Step(client), fields, &mut after, each);
                    if view.loses {
                        self.try_move(Move::Lose(client), fields, &mut after, each);
                    }
                    if self.bounds.delays > 0 && self.parts.next_deadline(fields).is_some() {
                        for choice in 0..DELAYS {
                            let chosen = Move::Delay(client * DELAYS + choice);
                            self.try_move(chosen, fields, &mut after, each);
                        }
                    }
                }
            }
            if view.runs {
                self.try_move(Move::Crash(client), fields, &mut after, each);
            }
            if view.crashed {
                self.try_move(Move::Restart(client), fields, &mut after, each);
            }
        }
        for place in 0..self.parts.under_way(fields) {
            self.try_move(Move::Deliver(place), fields, &mut after, each);
        }
        if self.parts.next_deadline(fields).is_some() {
            self.try_move(Move::Time(0), fields, &mut after, each);
        }
        if self.parts.belief_ends_first(fields) {
            self.try_move(Move::Time(1), fields, &mut after, each);
        }
        for key in 0..self.parts.rules.expiring.len() {
            self.try_move(Move::Expire(key), fields, &mut after, each);
        }
        for key in 0..self.parts.rules.wiped.len() {
            self.try_move(Move::Wipe(key), fields, &mut after, each);
        }
        for place in 0..self.parts.rules.reseeds() {
            self.try_move(Move::ReseedRead(place), fields, &mut after, each);
        }
        if fields[OPERATOR] != 0 {
            self.try_move(Move::ReseedWrite, fields, &mut after, each);
        }
    }

    fn try_move(
        &mut self,
        chosen: Move,
        fields: &[u32],
        after: &mut Vec<u32>,
        each: &mut dyn FnMut(Successor<'_>),
    ) {
        let budget = self.parts.budget_of(chosen, fields);
        let field = match budget {
            None => None,
            Some(budget) => {
                let found = self.budgets.iter().find(|(other, _)| *other == budget);
                let used = found.map_or(0, |(_, field)| fields[*field]);
                if found.is_none() || used >= self.bounds.budget(budget) {
                    if !self.wanted.contains(&budget) {
                        self.wanted.push(budget);
                    }
                    return;
                }
                if budget.is_fault() && self.faults(fields) >= self.most_faults {
                    self.wants.faults = true;
                    return;
                }
                found.map(|(_, field)| *field)
            }
        };
        let delays = self.delays(fields);
        let Some(number) = self.parts.apply(chosen, fields, delays) else {
            return;
        };
        after.clear();
        after.extend_from_slice(fields);
        let effect = self.parts.effect(number);
        for (field, number) in &effect.changes {
            after[*field] = *number;
        }
        let (told, actions) = (effect.told, effect.actions);
        after[JUDGE] = self.parts.judge(fields[JUDGE], told);
        if let Some(field) = field {
            after[field] += 1;
        }
        each(Successor {
            by: chosen,
            actions,
            fields: after,
        });
    }

    // Afterwards.

    /// What the bounds left out.
    pub fn left_out(&self) -> Vec<String> {
        let mut left_out = Vec::new();
        if self.wants.faults {
            left_out.push(format!(
                "more than {}",
                counted(self.most_faults, "fault", "faults")
            ));
        }
        for budget in Budget::ALL {
            if self.wanted.contains(&budget) {
                left_out.push(match self.bounds.budget(budget) {
                    0 => budget.words().to_owned(),
                    most => format!("more {} than {most}", budget.words()),
                });
            }
        }
        if self.wants.steps {
            let most = self.bounds.steps.unwrap_or_default();
            left_out.push(format!(
                "schedules of more than {}",
                counted(most, "step", "steps")
            ));
        }
        if self.wants.attempts {
            let more = counted(self.bounds.attempts, "attempt", "attempts");
            left_out.push(format!(
                "more than {more} of a client beyond one for each run"
            ));
        }
        if reads_remaining_time(&self.parts.rules.setup) {
            left_out.push(
                "what commands that read the time or a TTL say between the moments that were tried"
                    .to_owned(),
            );
        }
        left_out
    }

    /// The shortest schedules as actions, the one that changes client least often first, not more than so many.
    pub fn schedules(&mut self, start: &Moment, most: usize) -> Vec<Vec<Action>> {
        let goals = self.goals.clone();
        schedule::schedules(self, start, &goals, most)
    }

    /// The cost of a world.
    pub fn cost(&self, world: u32) -> Cost {
        let mut fields = Vec::new();
        self.worlds.unpack(world, &mut fields);
        (
            self.faults(&fields),
            u32::from(self.worlds.origin(world).depth),
        )
    }

    /// The fields of the first world.
    pub fn first_fields(&self) -> &[u32] {
        &self.first
    }

    /// The words under which the world of these fields is kept.
    pub fn canonical(&mut self, fields: &[u32], words: &mut Vec<u64>) {
        self.worlds.pack(fields, words);
    }

    /// How many delays there have been.
    pub fn delays(&self, fields: &[u32]) -> u32 {
        let delays = self
            .budgets
            .iter()
            .find(|(budget, _)| *budget == Budget::Delays);
        delays.map_or(0, |(_, field)| fields[*field])
    }
}

fn counted(count: u32, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

//! The search itself: breadth first in layers of faults, in each by the number of actions.
//!
//! ```text
//! faults 0:  depth 0, 1, 2, ...          every world without a fault
//! faults 1:         depth 1, 2, ...      every world that takes one, and so on
//! ```
//!
//! A world knows what was used of each budget, so that its faults are settled by what it is; how many actions it takes is settled
//! when its turn comes.

use std::sync::Arc;

use super::bounds::{Bounds, Budget, Goal, Reduction};
use super::moves::{JUMPS, Move, SHIFTS};
use super::parts::{CLOCK, GATEWAY, JUDGE, NETWORK, OPERATOR, Parts};
use super::reads::reads_remaining_time;
use super::table::{Origin, Worlds, hash_of_words};
use super::{Progress, schedule};
use crate::property::Property;
use crate::sim::action::Action;
use crate::sim::setup::Setup;
use crate::timeline::Moment;

/// How many successors are made before the first of them is looked up, so that look-ups wait for memory together.
const BATCH: usize = 64;

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
    waiting: crate::sorted::SortedMap<Cost, Vec<u32>>,
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
    /// Worlds found in this turn, by cost.
    opened: Vec<(Cost, Vec<u32>)>,
    fields: Vec<u32>,
    base: Vec<u64>,
    moves: Vec<Move>,
    packed: Vec<u64>,
    /// Faults that no client does, and whether there is a budget for any but lapses.
    faults: Vec<Move>,
    has_faults: bool,
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
    made: Vec<Made>,
}

/// A successor, whose words stand in the batch.
#[derive(Clone, Copy)]
struct Made {
    hash: u64,
    origin: Origin,
    faults: u32,
    judge: u32,
}

/// A move that is possible and within bounds.
#[derive(Clone, Copy)]
struct Applied {
    effect: u32,
    judge: u32,
    /// The field that counts its budget, and whether it is a fault.
    budget: Option<(usize, bool)>,
}

/// A successor as fields: what leads to it, its cost in actions, and itself.
pub(super) struct Successor {
    pub by: Move,
    pub actions: u16,
    pub fields: Vec<u32>,
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
        bits[GATEWAY] = 1;
        bits[NETWORK] = 0;
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
            waiting: crate::sorted::SortedMap::new(),
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
            opened: Vec::new(),
            fields: Vec::new(),
            base: Vec::new(),
            moves: Vec::new(),
            packed: Vec::new(),
            faults: Vec::new(),
            has_faults: false,
        };
        engine.faults = engine.faults_of_servers();
        engine.has_faults = !engine.budgets.is_empty();
        engine.begin(&fields);
        engine
    }

    fn begin(&mut self, fields: &[u32]) {
        let mut words = Vec::new();
        self.canonical(fields, &mut words);
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

    /// Whether clients that were taken for interchangeable are not.
    pub fn symmetry_failed(&self) -> bool {
        self.parts.symmetry_failed()
    }

    /// The bounds, and whether it goes on behind the goal.
    pub fn settings(&self) -> (Bounds, bool) {
        (self.bounds.clone(), self.explores_all)
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
        let opened = self.opened.iter().map(|(_, worlds)| worlds);
        let waiting = self.waiting.values().chain(opened);
        let waiting: usize = waiting.map(Vec::capacity).sum();
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
        while left > 0 && !self.finished && !self.symmetry_failed() {
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
        for (cost, worlds) in std::mem::take(&mut self.opened) {
            let waiting = self.waiting.or_default(cost);
            match waiting.is_empty() {
                true => *waiting = worlds,
                false => waiting.extend_from_slice(&worlds),
            }
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
        let mut fields = std::mem::take(&mut self.fields);
        let mut base = std::mem::take(&mut self.base);
        let mut moves = std::mem::take(&mut self.moves);
        self.worlds.unpack(world, &mut fields);
        base.clear();
        base.extend_from_slice(self.worlds.words_of(world));
        self.list_moves(&fields, &mut moves);
        let depth = self.worlds.origin(world).depth;
        let faults = self.faults_in(&fields);
        for chosen in &moves {
            let Some(applied) = self.apply(*chosen, &fields, faults) else {
                continue;
            };
            self.transitions += 1;
            let actions = self.parts.effect(applied.effect).actions;
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
                by: chosen.code(),
                depth: deeper,
            };
            let is_fault = applied.budget.is_some_and(|(_, is_fault)| is_fault);
            self.make(
                &fields,
                &mut base,
                &applied,
                origin,
                faults + u32::from(is_fault),
            );
        }
        if self.batch.made.len() >= BATCH {
            self.flush();
        }
        self.fields = fields;
        self.base = base;
        self.moves = moves;
    }

    /// Puts a successor into the batch.
    #[inline]
    fn make(
        &mut self,
        fields: &[u32],
        base: &mut Vec<u64>,
        applied: &Applied,
        origin: Origin,
        faults: u32,
    ) {
        if self.parts.has_symmetry() {
            return self.make_placed(fields, applied, origin, faults);
        }
        let fits = self.worlds.fits(JUDGE, applied.judge)
            && self
                .parts
                .changes(applied.effect)
                .iter()
                .all(|(field, number)| self.worlds.fits(*field as usize, *number));
        if !fits {
            self.make_room(fields, base, applied);
        }
        let start = self.batch.words.len();
        self.batch.words.extend_from_slice(base);
        let words = &mut self.batch.words[start..];
        for (field, number) in self.parts.changes(applied.effect) {
            self.worlds.set(words, *field as usize, *number);
        }
        self.worlds.set(words, JUDGE, applied.judge);
        if let Some((field, _)) = applied.budget {
            self.worlds.set(words, field, fields[field] + 1);
        }
        self.batch.made.push(Made {
            hash: hash_of_words(words),
            origin,
            faults,
            judge: applied.judge,
        });
    }

    /// Puts the world that stands for a successor, and for all others with clients in other places, into the batch.
    fn make_placed(&mut self, fields: &[u32], applied: &Applied, origin: Origin, faults: u32) {
        let mut after = self.after(fields, applied);
        self.parts.place(&mut after);
        let fits = (0..after.len()).all(|field| self.worlds.fits(field, after[field]));
        if !fits {
            self.flush();
        }
        let mut words = std::mem::take(&mut self.packed);
        self.worlds.pack(&after, &mut words);
        self.batch.words.extend_from_slice(&words);
        self.batch.made.push(Made {
            hash: hash_of_words(&words),
            origin,
            faults,
            judge: after[JUDGE],
        });
        self.packed = words;
    }

    /// Gives fields more bits, which moves them in every world.
    #[cold]
    fn make_room(&mut self, fields: &[u32], base: &mut Vec<u64>, applied: &Applied) {
        self.flush();
        let after = self.after(fields, applied);
        self.worlds.pack(&after, base);
        self.worlds.pack(fields, base);
    }

    /// The fields after a move.
    fn after(&self, fields: &[u32], applied: &Applied) -> Vec<u32> {
        let mut after = fields.to_vec();
        for (field, number) in self.parts.changes(applied.effect) {
            after[*field as usize] = *number;
        }
        after[JUDGE] = applied.judge;
        if let Some((field, _)) = applied.budget {
            after[field] += 1;
        }
        after
    }

    /// Looks up the successors that were made.
    fn flush(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        let stride = self.worlds.words();
        let mut touched = 0;
        let mut slots = [0; BATCH * 2];
        for (made, slot) in batch.made.iter().zip(&mut slots) {
            *slot = self.worlds.touch(made.hash);
        }
        for (made, slot) in batch.made.iter().zip(&slots) {
            touched ^= self.worlds.touch_record(made.hash, *slot);
        }
        std::hint::black_box(touched);
        for (made, words) in batch.made.iter().zip(batch.words.chunks_exact(stride)) {
            self.look_up(words, made);
        }
        batch.words.clear();
        batch.made.clear();
        self.batch = batch;
    }

    #[inline]
    fn look_up(&mut self, words: &[u64], made: &Made) {
        let (world, is_new) = self.worlds.insert(words, made.hash, made.origin);
        if !is_new {
            if self.worlds.origin(world).depth <= made.origin.depth {
                return;
            }
            self.worlds.set_origin(world, made.origin);
        }
        let cost = (made.faults, u32::from(made.origin.depth));
        match self.opened.iter_mut().find(|(other, _)| *other == cost) {
            Some((_, worlds)) => worlds.push(world),
            None => self.opened.push((cost, vec![world])),
        }
        if self.best.is_none_or(|best| cost <= best) && self.is_goal(world, made.judge) {
            if self.best.is_none_or(|best| cost < best) {
                self.goals.clear();
            }
            self.best = Some(cost);
            self.goals.push(world);
        }
    }

    fn is_goal(&mut self, world: u32, judge: u32) -> bool {
        if let Some(decided) = self.parts.judge_decides(judge) {
            return decided;
        }
        let mut fields = Vec::new();
        self.worlds.unpack(world, &mut fields);
        self.parts.is_goal(&fields)
    }

    /// The faults that a world took.
    fn faults_in(&self, fields: &[u32]) -> u32 {
        let used = self.budgets.iter().filter(|(budget, _)| budget.is_fault());
        used.map(|(_, field)| fields[*field]).sum()
    }

    /// Every move that may be possible, as far as there is any budget for it.
    fn list_moves(&mut self, fields: &[u32], moves: &mut Vec<Move>) {
        moves.clear();
        let next_deadline = self.parts.next_deadline(fields);
        let clients_at = self.parts.clients_at();
        for client in 0..self.parts.client_count() {
            let view = self.parts.view(fields[clients_at + client]);
            if view.is_paused {
                moves.push(Move::Resume(client));
            }
            match view.server {
                Some(_) if view.is_tired => self.wants.attempts = true,
                Some(_) => {
                    moves.push(Move::Step(client));
                    if self.has_faults {
                        self.list_faults_of(client, view.is_sent, next_deadline.is_some(), moves);
                    }
                }
                None => {}
            }
            if self.has_faults {
                if view.runs && self.bounds.crashes > 0 {
                    moves.push(Move::Crash(client));
                }
                if view.crashed && self.bounds.restarts > 0 {
                    moves.push(Move::Restart(client));
                }
            }
        }
        moves.extend((0..self.parts.under_way(fields)).map(Move::Deliver));
        // Without a budget for lapses time passes no deadline of a key.
        if next_deadline.is_some_and(|(_, lapses)| !lapses || self.bounds.lapses > 0) {
            moves.push(Move::Time(0));
        }
        if self.parts.belief_ends_first(fields) {
            moves.push(Move::Time(1));
        }
        if self.has_faults {
            moves.extend_from_slice(&self.faults);
        }
        if fields[OPERATOR] != 0 {
            moves.push(Move::ReseedWrite);
        }
        if self.parts.server_count() > 1 {
            moves.extend((1..self.parts.server_count()).map(Move::Replicate));
        }
    }

    fn list_faults_of(
        &self,
        client: usize,
        is_sent: bool,
        has_deadline: bool,
        moves: &mut Vec<Move>,
    ) {
        let bounds = &self.bounds;
        if is_sent {
            let on_the_way = [
                (bounds.lost_replies, Move::Lose(client)),
                (bounds.lost_requests, Move::LoseRequest(client)),
                (bounds.late_requests, Move::DelayRequest(client)),
                (bounds.late_replies, Move::DelayReply(client)),
            ];
            let affordable = on_the_way.into_iter().filter(|(most, _)| *most > 0);
            moves.extend(affordable.map(|(_, chosen)| chosen));
        }
        if bounds.shifts > 0 && has_deadline {
            moves.extend((0..SHIFTS).map(|choice| Move::Shift(client * SHIFTS + choice)));
        }
    }

    /// The faults for which there is a budget and that no client does.
    fn faults_of_servers(&self) -> Vec<Move> {
        let servers = self.parts.server_count();
        let rules = &self.parts.rules;
        let all = (0..servers * rules.expiring.len())
            .map(Move::Expire)
            .chain((0..servers * rules.wiped.len()).map(Move::Wipe))
            .chain((0..servers * rules.evicted.len()).map(Move::Evict))
            .chain((0..servers).map(Move::CrashServer))
            .chain((0..servers * 2).map(Move::RestartServer))
            .chain((1..servers).map(Move::Failover))
            .chain((0..rules.clocks.len() * JUMPS).map(Move::Jump))
            .chain((0..rules.reseeds()).map(Move::ReseedRead));
        let is_affordable = |chosen: &Move| {
            let budget = chosen.budget();
            budget.is_none_or(|budget| self.bounds.budget(budget) > 0)
        };
        all.filter(is_affordable).collect()
    }

    /// What a move does, where it is possible and within bounds.
    #[inline]
    fn apply(&mut self, chosen: Move, fields: &[u32], faults: u32) -> Option<Applied> {
        let budget = match self.parts.budget_of(chosen, fields) {
            None => None,
            Some(budget) => Some(self.afford(budget, fields, faults)?),
        };
        let shifts = match chosen {
            Move::Shift(_) => self.shifts(fields),
            _ => 0,
        };
        let effect = self.parts.apply(chosen, fields, shifts)?;
        let told = self.parts.effect(effect).told;
        Some(Applied {
            effect,
            judge: self.parts.judge(fields[JUDGE], told),
            budget,
        })
    }

    /// The field that counts a budget, where there is something left of it.
    fn afford(&mut self, budget: Budget, fields: &[u32], faults: u32) -> Option<(usize, bool)> {
        let found = self.budgets.iter().find(|(other, _)| *other == budget);
        let left = found.filter(|(_, field)| fields[*field] < self.bounds.budget(budget));
        let Some((_, field)) = left else {
            if !self.wanted.contains(&budget) {
                self.wanted.push(budget);
            }
            return None;
        };
        if budget.is_fault() && faults >= self.most_faults {
            self.wants.faults = true;
            return None;
        }
        Some((*field, budget.is_fault()))
    }

    /// What can come of a world.
    pub fn successors(&mut self, fields: &[u32]) -> Vec<Successor> {
        let mut moves = Vec::new();
        self.list_moves(fields, &mut moves);
        let faults = self.faults_in(fields);
        let mut successors = Vec::new();
        for by in moves {
            if let Some(applied) = self.apply(by, fields, faults) {
                successors.push(Successor {
                    by,
                    actions: self.parts.effect(applied.effect).actions,
                    fields: self.after(fields, &applied),
                });
            }
        }
        successors
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
            match self.bounds.budget(budget) {
                0 if self.parts.rules.can_happen(budget) => {
                    left_out.push(budget.words().to_owned());
                }
                0 => {}
                most if self.wanted.contains(&budget) => {
                    left_out.push(format!("more {} than {most}", budget.words()));
                }
                _ => {}
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
            self.faults_in(&fields),
            u32::from(self.worlds.origin(world).depth),
        )
    }

    /// The fields of the first world.
    pub fn first_fields(&self) -> &[u32] {
        &self.first
    }

    /// The words under which the world of these fields is kept.
    pub fn canonical(&mut self, fields: &[u32], words: &mut Vec<u64>) {
        let mut placed = fields.to_vec();
        self.parts.place(&mut placed);
        self.worlds.pack(&placed, words);
    }

    /// How many shifts there have been.
    pub fn shifts(&self, fields: &[u32]) -> u32 {
        let shifts = self
            .budgets
            .iter()
            .find(|(budget, _)| *budget == Budget::Shifts);
        shifts.map_or(0, |(_, field)| fields[*field])
    }
}

fn counted(count: u32, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

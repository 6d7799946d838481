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

use latchkey_kernel::{Cost, Explorer, Found, Origin, Parent, Purse, Strike, hash_of_words};

use super::bounds::{Bounds, Budget, Goal, Reduction};
use super::moves::{JUMPS, Move, Operator, SHIFTS};
use super::parts::{JUDGE, NETWORK, OPERATOR, Parts};
use super::reads::reads_remaining_time;
use super::{Progress, schedule};
use crate::sim::action::Action;
use crate::sim::setup::Setup;
use crate::timeline::Moment;
use crate::words::grouped;

/// A search under way.
pub(super) struct Engine {
    pub parts: Parts,
    pub explorer: Explorer,
    bounds: Bounds,
    /// The budgets of which there is any, as the explorer counts them.
    budgets: Vec<Budget>,
    first: Vec<u32>,
    /// Worlds whose turn will come, by cost.
    waiting: crate::sorted::SortedMap<Cost, Vec<u32>>,
    current: Cost,
    turn: Vec<u32>,
    /// The smallest cost at which the goal was seen, and worlds that show it.
    best: Option<Cost>,
    goals: Vec<u32>,
    explores_all: bool,
    finished: bool,
    is_cut: bool,
    fields: Vec<u32>,
    moves: Vec<Move>,
    /// Faults that no client does.
    faults: Vec<Move>,
    /// Whether clients do any.
    clients_fail: bool,
}

/// A successor as fields: what leads to it, its cost in actions, and itself.
pub(super) struct Successor {
    pub by: Move,
    pub actions: u16,
    pub fields: Vec<u32>,
}

impl Engine {
    /// A search that has seen the first world only.
    pub fn new(
        setup: Arc<Setup>,
        start: &Moment,
        operator: Operator,
        bounds: Bounds,
        goal: &Goal,
    ) -> Engine {
        let mut parts = Parts::new(setup, &bounds, goal);
        let mut judge = start.judge.clone();
        if !bounds.uses(Reduction::Ranks) {
            judge.keep_numbers();
        }
        let mut fields = parts.number(start.world.clone(), judge, operator);
        let (mut budgets, mut purses) = (Vec::new(), Vec::new());
        for budget in Budget::ALL {
            let most = bounds.budget(budget);
            if most > 0 {
                budgets.push(budget);
                purses.push(Purse {
                    field: fields.len(),
                    most,
                    is_fault: budget.is_fault(),
                });
                fields.push(0);
            }
        }
        let most_actions = bounds.steps.unwrap_or(u32::MAX);
        let explorer = Explorer::new(&fields, purses, bounds.most_faults(), most_actions);
        let mut engine = Engine {
            explorer,
            first: fields,
            parts,
            clients_fail: clients_fail(&bounds),
            bounds,
            budgets,
            waiting: crate::sorted::SortedMap::new(),
            current: (0, 0),
            turn: Vec::new(),
            best: None,
            goals: Vec::new(),
            explores_all: false,
            finished: false,
            is_cut: false,
            fields: Vec::new(),
            moves: Vec::new(),
            faults: Vec::new(),
        };
        engine.faults = engine.faults_of_servers();
        engine.explorer.strikes = engine.strikes();
        engine.begin();
        engine
    }

    fn begin(&mut self) {
        let (fields, mut words) = (self.first.clone(), Vec::new());
        self.canonical(&fields, &mut words);
        let origin = Origin {
            parent: 0,
            by: u16::MAX,
            depth: 0,
        };
        let worlds = &mut self.explorer.worlds;
        worlds.reserve(1);
        worlds.insert(&words, hash_of_words(&words), origin);
        self.turn.push(0);
        if self.parts.is_goal(&fields) {
            self.explorer.best = (0, 0);
            self.best = Some((0, 0));
            self.goals.push(0);
        }
    }

    /// The faults of servers as the explorer can try them by itself; `None` where that is not all that can happen beside steps.
    fn strikes(&self) -> Option<Vec<Strike>> {
        let is_quiet = self.first[NETWORK] == 0 && self.first[OPERATOR] == 0;
        if self.clients_fail || !self.parts.has_pairs() || !is_quiet {
            return None;
        }
        let strike = |fault: &Move| {
            let budget = fault.budget()?;
            Some(Strike {
                code: fault.code(),
                column: Parts::column(*fault)?,
                purse: self.budgets.iter().position(|own| *own == budget)?,
            })
        };
        self.faults.iter().map(strike).collect()
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
            worlds: self.explorer.worlds.count() as u64,
            transitions: self.explorer.transitions,
            faults: self.current.0,
            depth: self.current.1,
            bytes: self.bytes(),
            finished: self.finished,
        }
    }

    fn bytes(&self) -> u64 {
        let waiting: usize = self.waiting.values().map(Vec::capacity).sum();
        let turns = (waiting + self.turn.capacity()) * 4;
        (self.explorer.bytes() + self.parts.bytes() + turns) as u64
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

    /// Tries the moves of about so many worlds.
    pub fn run(&mut self, worlds: usize) {
        let mut left = worlds;
        while left > 0 && !self.finished && !self.symmetry_failed() {
            if !self.explores_all && self.best.is_some_and(|best| best <= self.current) {
                self.finished = true;
                break;
            }
            if self.turn.is_empty() {
                self.settle();
                self.next_turn();
                continue;
            }
            let (known, cost) = (&self.parts.known, self.current);
            let unknown = self.explorer.run(known, &mut self.turn, cost, &mut left);
            match unknown {
                Some(world) => self.learn(world),
                None => self.settle(),
            }
        }
        self.settle();
        // Not only between turns, of which a late one may take as much memory as all before it.
        if self.bytes() >= self.bounds.bytes {
            self.stop();
        }
    }

    /// Looks up what was made, and looks whether it is what is looked for.
    fn settle(&mut self) {
        self.explorer.flush();
        let mut candidates = std::mem::take(&mut self.explorer.candidates);
        for (world, cost) in candidates.drain(..) {
            if self.best.is_none_or(|best| cost <= best) && self.is_goal(world) {
                if self.best.is_none_or(|best| cost < best) {
                    self.goals.clear();
                }
                self.best = Some(cost);
                self.explorer.best = cost;
                self.goals.push(world);
            }
        }
        self.explorer.candidates = candidates;
    }

    fn next_turn(&mut self) {
        for (cost, worlds) in std::mem::take(&mut self.explorer.opened) {
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
        if self.explorer.worlds.count() as u64 >= self.bounds.worlds {
            self.stop();
        }
    }

    /// Learns what was not known of a world's moves.
    fn learn(&mut self, world: u32) {
        match self.explorer.unjudged.take() {
            Some((judge, told)) => {
                self.parts.judge(judge, told);
                self.turn.push(world);
            }
            None => self.expand(world),
        }
    }

    /// Tries every move of a world, and learns what is not known of them.
    fn expand(&mut self, world: u32) {
        let mut fields = std::mem::take(&mut self.fields);
        let mut moves = std::mem::take(&mut self.moves);
        self.explorer.worlds.unpack(world, &mut fields);
        self.list_moves(&fields, &mut moves);
        let parent = self.explorer.parent(world, &fields);
        for chosen in &moves {
            if let Some(found) = self.apply(*chosen, &fields, parent.faults) {
                self.follow(parent, &fields, &found);
            }
        }
        self.fields = fields;
        self.moves = moves;
    }

    /// Goes where a move leads, and learns first what the explorer does not know of it.
    fn follow(&mut self, parent: Parent, fields: &[u32], found: &Found) {
        if self
            .explorer
            .follow(&self.parts.known, parent, fields, found)
        {
            return;
        }
        let mut after = Vec::new();
        let known = &self.parts.known;
        self.explorer.put_after(known, fields, found, &mut after);
        self.parts.place(&mut after);
        self.make_room();
        self.explorer.learn(&self.parts.known);
        let follows = self
            .explorer
            .follow(&self.parts.known, parent, fields, found);
        debug_assert!(follows, "everything is known then");
    }

    /// Gives fields as many bits as their numbers need.
    fn make_room(&mut self) {
        let mut largest = self.parts.largest();
        largest.extend(self.explorer.purses.iter().map(|purse| purse.most));
        self.explorer.make_room(&largest);
    }

    fn is_goal(&mut self, world: u32) -> bool {
        let judge = self.explorer.worlds.field(world, JUDGE);
        if let Some(decided) = self.parts.judge_decides(judge) {
            return decided;
        }
        let mut fields = Vec::new();
        self.explorer.worlds.unpack(world, &mut fields);
        self.parts.is_goal(&fields)
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
                Some(_) if view.is_tired => self.explorer.wants.attempts = true,
                Some(_) => {
                    moves.push(Move::Step(client));
                    if self.clients_fail {
                        self.list_faults_of(client, view.is_sent, next_deadline.is_some(), moves);
                    }
                }
                None => {}
            }
            if self.clients_fail {
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
        moves.extend_from_slice(&self.faults);
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
    fn apply(&mut self, chosen: Move, fields: &[u32], faults: u32) -> Option<Found> {
        let purse = match self.parts.budget_of(chosen, fields) {
            None => None,
            Some(budget) => Some(self.afford(budget, fields, faults)?),
        };
        let shifts = match chosen {
            Move::Shift(_) => self.shifts(fields),
            _ => 0,
        };
        let effect = self.parts.apply(chosen, fields, shifts)?;
        let told = self.parts.known.effects[effect as usize].told;
        Some(Found {
            code: chosen.code(),
            effect,
            judge: self.parts.judge(fields[JUDGE], told),
            purse,
        })
    }

    /// The budget that pays for one more, where there is something left of it.
    fn afford(&mut self, budget: Budget, fields: &[u32], faults: u32) -> Option<usize> {
        let purse = self.budgets.iter().position(|own| *own == budget)?;
        let can_pay = self.explorer.can_pay(purse, fields, faults);
        can_pay.then_some(purse)
    }

    /// What can come of a world.
    pub fn successors(&mut self, fields: &[u32]) -> Vec<Successor> {
        let mut moves = Vec::new();
        self.list_moves(fields, &mut moves);
        let faults = self.explorer.faults_in(fields);
        let mut successors = Vec::new();
        for by in moves {
            if let Some(found) = self.apply(by, fields, faults) {
                let known = &self.parts.known;
                let mut after = Vec::new();
                self.explorer.put_after(known, fields, &found, &mut after);
                successors.push(Successor {
                    by,
                    actions: known.effects[found.effect as usize].actions,
                    fields: after,
                });
            }
        }
        successors
    }

    // Afterwards.

    /// What the bounds left out.
    pub fn left_out(&self) -> Vec<String> {
        let mut left_out = Vec::new();
        if self.is_cut && self.bytes() >= self.bounds.bytes {
            let most = grouped(self.bounds.bytes >> 20);
            left_out.push(format!("what takes more than {most} MB of memory"));
        } else if self.is_cut && self.explorer.worlds.count() as u64 >= self.bounds.worlds {
            let most = grouped(self.bounds.worlds);
            left_out.push(format!("more than {most} distinct worlds"));
        }
        let wants = self.explorer.wants;
        if wants.faults {
            let most = counted(self.explorer.most_faults, "fault", "faults");
            left_out.push(format!("more than {most}"));
        }
        for budget in Budget::ALL {
            match self.bounds.budget(budget) {
                0 if self.parts.rules.can_happen(budget) => {
                    left_out.push(budget.words().to_owned());
                }
                0 => {}
                most if self.is_wanted(budget) => {
                    left_out.push(format!("more {} than {most}", budget.words()));
                }
                _ => {}
            }
        }
        if wants.steps {
            let most = self.bounds.steps.unwrap_or_default();
            left_out.push(format!(
                "schedules of more than {}",
                counted(most, "step", "steps")
            ));
        }
        if wants.attempts {
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

    fn is_wanted(&self, budget: Budget) -> bool {
        let mut budgets = self.budgets.iter().enumerate();
        let wanted = budgets.find(|(_, own)| **own == budget);
        wanted.is_some_and(|(purse, _)| self.explorer.wants.purses >> purse & 1 == 1)
    }

    /// The shortest schedules as actions, the one that changes client least often first, not more than so many.
    pub fn schedules(&mut self, start: &Moment, most: usize) -> Vec<Vec<Action>> {
        let goals = self.goals.clone();
        schedule::schedules(self, start, &goals, most)
    }

    /// The cost of a world.
    pub fn cost(&self, world: u32) -> Cost {
        let mut fields = Vec::new();
        self.explorer.worlds.unpack(world, &mut fields);
        let parent = self.explorer.parent(world, &fields);
        (parent.faults, u32::from(parent.depth))
    }

    /// The fields of the first world.
    pub fn first_fields(&self) -> &[u32] {
        &self.first
    }

    /// The words under which the world of these fields is kept.
    pub fn canonical(&mut self, fields: &[u32], words: &mut Vec<u64>) {
        let mut placed = fields.to_vec();
        self.parts.place(&mut placed);
        if !self.explorer.worlds.fit(&placed) {
            self.make_room();
        }
        self.explorer.worlds.pack(&placed, words);
    }

    /// How many shifts there have been.
    pub fn shifts(&self, fields: &[u32]) -> u32 {
        let shifts = self.budgets.iter().position(|own| *own == Budget::Shifts);
        shifts.map_or(0, |purse| fields[self.explorer.purses[purse].field])
    }
}

/// Whether there is a budget for something that happens to a client.
fn clients_fail(bounds: &Bounds) -> bool {
    let of_clients = [
        Budget::Shifts,
        Budget::Crashes,
        Budget::Restarts,
        Budget::LostReplies,
        Budget::LostRequests,
        Budget::LateReplies,
        Budget::LateRequests,
    ];
    of_clients
        .into_iter()
        .any(|budget| bounds.budget(budget) > 0)
}

fn counted(count: u32, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

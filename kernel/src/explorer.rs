//! The loop: from worlds to the worlds that moves lead to, as far as that is known.

use crate::known::{Change, ClientKind, Known, NOT_POSSIBLE, Strike, WIDE};
use crate::packed::Recent;
use crate::worlds::{Origin, Worlds, hash_of_words};

/// How many successors are made before the first of them is looked up, so that look-ups wait for memory together.
pub(crate) const BATCH: usize = 64;

/// How many candidates are collected before they are looked at.
pub(crate) const CANDIDATES: usize = 1 << 10;

/// Faults and actions of a schedule, in the order in which schedules are tried.
pub type Cost = (u32, u32);

/// A budget in the worlds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Purse {
    /// The field in which its use is counted.
    pub field: usize,
    /// How often it may be used.
    pub most: u32,
    /// Whether each use is a fault.
    pub is_fault: bool,
}

/// What bounds left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants {
    /// More faults.
    pub faults: bool,
    /// Longer schedules.
    pub steps: bool,
    /// More attempts of a client.
    pub attempts: bool,
    /// More of a budget, a bit for each.
    pub purses: u32,
}

impl Wants {
    /// Whether there is something left of a budget, the one with this number, of which so much is used; if not, more is wanted.
    #[inline(always)]
    pub(crate) fn grant(
        &mut self,
        number: usize,
        purse: &Purse,
        used: u32,
        has_fault_left: bool,
    ) -> bool {
        if used >= purse.most {
            self.purses |= 1 << number;
            return false;
        }
        if purse.is_fault && !has_fault_left {
            self.faults = true;
            return false;
        }
        true
    }
}

/// A world whose moves are tried.
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    /// Its number.
    pub world: u32,
    /// The actions that it took.
    pub depth: u16,
    /// The faults that it took.
    pub faults: u32,
}

/// A move that is possible and within bounds, and where it leads.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The move.
    pub code: u16,
    /// What it does.
    pub effect: u32,
    /// The judge after it.
    pub judge: u32,
    /// The budget that pays for it.
    pub purse: Option<usize>,
}

/// A successor that was made and not looked up; its words stand in the batch.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub origin: Origin,
    pub faults: u32,
}

/// Worlds, and the loop that finds more of them.
pub struct Explorer {
    /// All that were found.
    pub worlds: Worlds,
    /// The budgets of which there is any.
    pub purses: Vec<Purse>,
    /// How many faults a schedule may have.
    pub most_faults: u32,
    /// How many actions a schedule may have.
    pub most_actions: u32,
    /// Faults that befall a store; `None`: there are others.
    pub strikes: Option<Vec<Strike>>,
    /// What bounds left out.
    pub wants: Wants,
    /// Moves tried.
    pub transitions: u64,
    /// Worlds found whose turn will come, by cost.
    pub opened: Vec<(Cost, Vec<u32>)>,
    /// Worlds found that may be what is looked for, with their costs: as they cost no more than the best until now.
    pub candidates: Vec<(u32, Cost)>,
    /// The smallest cost of what is looked for.
    pub best: Cost,
    /// The judge, and what it would have been told, where that alone was not known of the world that [`Explorer::run`] gave back.
    pub unjudged: Option<(u32, u32)>,
    /// For each effect of which it is known: how it changes a world's words.
    pub(crate) deltas: Vec<u64>,
    pub(crate) known_effects: u32,
    pub(crate) words: Vec<u64>,
    pub(crate) made: Vec<Made>,
    pub(crate) recent: Recent,
    fields: Vec<u32>,
    after: Vec<u32>,
    spare: Vec<u32>,
    packed: Vec<u64>,
}

impl Explorer {
    /// An explorer that has found nothing, of worlds whose fields are not larger than these.
    pub fn new(
        largest: &[u32],
        purses: Vec<Purse>,
        most_faults: u32,
        most_actions: u32,
    ) -> Explorer {
        Explorer {
            worlds: Worlds::new(largest),
            purses,
            most_faults,
            most_actions,
            strikes: None,
            wants: Wants::default(),
            transitions: 0,
            opened: Vec::new(),
            candidates: Vec::new(),
            best: (u32::MAX, u32::MAX),
            unjudged: None,
            deltas: Vec::new(),
            known_effects: 0,
            words: Vec::new(),
            made: Vec::new(),
            recent: Recent::default(),
            fields: Vec::new(),
            after: Vec::new(),
            spare: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Tries every move of the worlds of a turn, the last world first, until there are none, `left` has come to 0, or there are many
    /// candidates to look at. A world that it gives back has moves that are not known; those that are may have been tried.
    // Within its caller, which the page has built for size, the loop would be built for size too.
    #[inline(never)]
    pub fn run(
        &mut self,
        known: &Known,
        turn: &mut Vec<u32>,
        cost: Cost,
        left: &mut usize,
    ) -> Option<u32> {
        while *left > 0 && self.candidates.len() < CANDIDATES {
            let unknown = match (&self.strikes, &known.placing, self.worlds.words()) {
                (Some(_), None, 1) => self.run_packed::<1>(known, turn, cost, left),
                (Some(_), None, 2) => self.run_packed::<2>(known, turn, cost, left),
                _ => self.run_unpacked(known, turn, cost, left),
            };
            if unknown.is_some() || turn.is_empty() {
                return unknown;
            }
        }
        None
    }

    fn run_unpacked(
        &mut self,
        known: &Known,
        turn: &mut Vec<u32>,
        (_, depth): Cost,
        left: &mut usize,
    ) -> Option<u32> {
        let world = turn.pop()?;
        // A world that was reached again with fewer actions had its turn then.
        if u32::from(self.worlds.origin(world).depth) != depth {
            return None;
        }
        *left -= 1;
        let mut fields = std::mem::take(&mut self.fields);
        self.worlds.unpack(world, &mut fields);
        let transitions = self.transitions;
        let is_done = self.try_moves(known, world, &fields).is_some();
        if !is_done {
            self.transitions = transitions;
        }
        self.fields = fields;
        (!is_done).then_some(world)
    }

    /// Tries every move of a world; `None` where not all of them are known.
    #[inline]
    fn try_moves(&mut self, known: &Known, world: u32, fields: &[u32]) -> Option<()> {
        let strike_count = self.strikes.as_ref()?.len();
        let places = &known.places;
        if known.ages(fields[places.stores], fields[places.database]) {
            return None;
        }
        let parent = self.parent(world, fields);
        for place in 0..places.client_count {
            let client = fields[places.clients + place];
            let part = match known.clients[client as usize] {
                ClientKind::Steps(reads) => fields[usize::from(reads)],
                ClientKind::Rests => continue,
                ClientKind::IsTired => {
                    self.wants.attempts = true;
                    continue;
                }
                ClientKind::Other => return None,
            };
            let (row, column) = Known::step(client, part);
            let effect = known.moves.get(row, column)?;
            self.try_move(known, fields, parent, (place as u16, effect), None)?;
        }
        for number in 0..strike_count {
            let Strike {
                code,
                column,
                purse,
            } = self.strikes.as_ref()?[number];
            if self.can_pay(purse, fields, parent.faults) {
                let (row, column) = Known::strike(fields[places.stores], column);
                let effect = known.moves.get(row, column)?;
                self.try_move(known, fields, parent, (code, effect), Some(purse))?;
            }
        }
        Some(())
    }

    #[inline(never)]
    fn try_move(
        &mut self,
        known: &Known,
        fields: &[u32],
        parent: Parent,
        (code, effect): (u16, u32),
        purse: Option<usize>,
    ) -> Option<()> {
        match effect {
            NOT_POSSIBLE => return Some(()),
            WIDE => return None,
            _ => {}
        }
        let (before, told) = (fields[known.places.judge], known.told(effect));
        let Some(judge) = known.judge(before, told) else {
            self.unjudged = Some((before, told));
            return None;
        };
        let found = Found {
            code,
            effect,
            judge,
            purse,
        };
        self.follow(known, parent, fields, &found).then_some(())
    }

    /// Whether there is something left of a budget; what is wanted for want of it is remembered.
    #[inline]
    pub fn can_pay(&mut self, purse: usize, fields: &[u32], faults: u32) -> bool {
        let own = &self.purses[purse];
        let has_fault_left = faults < self.most_faults;
        self.wants
            .grant(purse, own, fields[own.field], has_fault_left)
    }

    /// The world of these fields as one whose moves are tried.
    #[inline]
    pub fn parent(&self, world: u32, fields: &[u32]) -> Parent {
        Parent {
            world,
            depth: self.worlds.origin(world).depth,
            faults: self.faults_in(fields),
        }
    }

    /// The faults that a world took.
    #[inline]
    pub fn faults_in(&self, fields: &[u32]) -> u32 {
        let mut faults = 0;
        for purse in &self.purses {
            if purse.is_fault {
                faults += fields[purse.field];
            }
        }
        faults
    }

    /// Goes where a move leads. `false`: it is not known how to write that down.
    #[inline(never)]
    pub fn follow(&mut self, known: &Known, parent: Parent, fields: &[u32], found: &Found) -> bool {
        let actions = known.effects[found.effect as usize].actions;
        let depth = parent.depth.saturating_add(actions);
        if u32::from(depth) > self.most_actions {
            self.transitions += 1;
            self.wants.steps = true;
            return true;
        }
        let is_idle = found.judge == fields[known.places.judge]
            && found.purse.is_none()
            && known.changes_nothing(found.effect);
        if is_idle {
            self.transitions += 1;
            return true;
        }
        if self.made.len() >= BATCH {
            self.flush();
        }
        let is_written = match &known.placing {
            None => self.write(known, parent.world, fields, found),
            Some(_) => self.write_placed(known, fields, found).is_some(),
        };
        if !is_written {
            return false;
        }
        self.transitions += 1;
        let start = self.words.len() - self.worlds.words();
        self.recent.make_ready(&self.worlds);
        if self.recent.has_seen(&self.words[start..], depth) {
            self.words.truncate(start);
            return true;
        }
        let is_fault = found.purse.is_some_and(|purse| self.purses[purse].is_fault);
        self.made.push(Made {
            origin: Origin {
                parent: parent.world,
                by: found.code,
                depth,
            },
            faults: parent.faults + u32::from(is_fault),
        });
        true
    }

    /// Writes the words of a successor into the batch.
    #[inline]
    fn write(&mut self, known: &Known, parent: u32, fields: &[u32], found: &Found) -> bool {
        let judge_at = known.places.judge;
        let is_known = found.effect != 0 && found.effect < self.known_effects;
        if !(is_known || self.learn_time(known, found)) || !self.worlds.fits(judge_at, found.judge)
        {
            return false;
        }
        let (count, start) = (self.worlds.words(), self.words.len());
        let delta = found.effect as usize * count;
        let deltas = &self.deltas[delta..delta + count];
        let before = self.worlds.words_of(parent);
        match (before, deltas) {
            // Most worlds have room in one.
            ([word], [delta]) => self.words.push(word ^ delta),
            _ => self
                .words
                .extend(before.iter().zip(deltas).map(|(word, delta)| word ^ delta)),
        }
        let after = &mut self.words[start..];
        self.worlds
            .change(after, judge_at, fields[judge_at], found.judge);
        if let Some(purse) = found.purse {
            let field = self.purses[purse].field;
            self.worlds
                .change(after, field, fields[field], fields[field] + 1);
        }
        true
    }

    /// Writes the words of the world that stands for a successor, and for all others with clients in other places.
    #[inline]
    fn write_placed(&mut self, known: &Known, fields: &[u32], found: &Found) -> Option<()> {
        let mut after = std::mem::take(&mut self.after);
        self.put_after(known, fields, found, &mut after);
        let placing = known.placing.as_ref()?;
        let is_placed = placing.place(&known.places, &mut after, &mut self.spare);
        let fits = is_placed && self.worlds.fit(&after);
        if fits {
            self.worlds.pack(&after, &mut self.packed);
            self.words.extend_from_slice(&self.packed);
        }
        self.after = after;
        fits.then_some(())
    }

    /// The fields after a move.
    pub fn put_after(&self, known: &Known, fields: &[u32], found: &Found, after: &mut Vec<u32>) {
        after.clear();
        after.extend_from_slice(fields);
        for change in known.changes(found.effect) {
            after[change.field as usize] = change.to;
        }
        after[known.places.judge] = found.judge;
        if let Some(purse) = found.purse {
            after[self.purses[purse].field] += 1;
        }
    }

    // Effects as words.

    /// Learns how new effects change words; there has to be [room](Explorer::make_room) for all numbers.
    pub fn learn(&mut self, known: &Known) {
        for effect in self.known_effects..known.effects.len() as u32 {
            self.learn_effect(known, effect);
        }
        self.known_effects = known.effects.len() as u32;
    }

    /// Gives fields that have outgrown their bits more, in every world.
    pub fn make_room(&mut self, largest: &[u32]) {
        let outgrown = |field: &usize| !self.worlds.fits(*field, largest[*field]);
        if let Some(grown) = (0..largest.len()).find(outgrown) {
            self.flush();
            self.worlds.make_room(grown, largest, self.purses.len());
            self.recent.forget();
            self.known_effects = 0;
        }
    }

    /// Learns what the first effect does now, if it is that.
    #[cold]
    fn learn_time(&mut self, known: &Known, found: &Found) -> bool {
        let fits = |change: &Change| self.worlds.fits(change.field as usize, change.to);
        if found.effect != 0 || !known.time_changes.iter().all(fits) {
            return false;
        }
        self.learn_effect(known, 0);
        true
    }

    fn learn_effect(&mut self, known: &Known, effect: u32) {
        let words = self.worlds.words();
        let start = effect as usize * words;
        if self.deltas.len() < start + words {
            self.deltas.resize(start + words, 0);
        }
        let delta = &mut self.deltas[start..start + words];
        delta.fill(0);
        for change in known.changes(effect) {
            self.worlds
                .change(delta, change.field as usize, change.from, change.to);
        }
    }

    // Look-ups.

    /// Looks up the successors that were made.
    pub fn flush(&mut self) {
        let words = std::mem::take(&mut self.words);
        let mut made = std::mem::take(&mut self.made);
        let count = self.worlds.words();
        for (words, made) in words.chunks(BATCH * count).zip(made.chunks(BATCH)) {
            self.look_up_together(words, made);
        }
        made.clear();
        self.made = made;
        self.words = words;
        self.words.clear();
    }

    #[inline]
    fn look_up_together(&mut self, words: &[u64], made: &[Made]) {
        let count = self.worlds.words();
        self.worlds.reserve(BATCH);
        let (mut hashes, mut near) = ([0; BATCH], [0; BATCH]);
        for ((own, hash), near) in words.chunks_exact(count).zip(&mut hashes).zip(&mut near) {
            *hash = hash_of_words(own);
            *near = self.worlds.touch(*hash);
        }
        let mut touched = 0;
        for (near, hash) in near[..made.len()].iter().zip(&hashes) {
            touched ^= self.worlds.touch_record(self.worlds.near(*near, *hash));
        }
        std::hint::black_box(touched);
        for ((own, hash), made) in words.chunks_exact(count).zip(&hashes).zip(made) {
            self.look_up(own, *hash, made);
        }
    }

    #[inline]
    fn look_up(&mut self, words: &[u64], hash: u64, made: &Made) {
        let (world, is_new) = self.worlds.insert(words, hash, made.origin);
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
        if cost <= self.best {
            self.candidates.push((world, cost));
        }
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        let opened: usize = self
            .opened
            .iter()
            .map(|(_, worlds)| worlds.capacity())
            .sum();
        let candidates = self.candidates.capacity() * size_of::<(u32, Cost)>();
        self.worlds.bytes()
            + self.recent.bytes()
            + opened * 4
            + candidates
            + self.deltas.capacity() * 8
    }
}

//! Moves of worlds that are never taken apart: of their words only the fields are read that a move reads, and a successor is its
//! parent with a few bits changed.
//!
//! Worlds of one word and of two have a loop of their own, in which that is known when it is compiled.
//!
//! Most worlds that are made twice are made again soon, by the same moves in another order, and are found among the recent ones,
//! which are few enough for the processor's cache. Those are exact, words and all: nothing is left out for them.

use crate::explorer::{BATCH, CANDIDATES, Cost, Explorer, Made, Purse, Wants};
use crate::known::{ClientKind, Effect, Known, NOT_POSSIBLE, Strike, WIDE};
use crate::worlds::{Origin, Slot, Worlds, hash_of_words};

/// The fewest and the most recent worlds, as powers of two.
const RECENT_BITS: (u32, u32) = (8, 15);

/// Worlds that were made of late, each with no more actions than it was made with: one for each of the last bits of a hash.
#[derive(Default)]
pub(crate) struct Recent {
    words: Vec<u64>,
    depths: Vec<u16>,
}

impl Recent {
    /// Forgets all; there has to be a first world before the next look.
    pub fn forget(&mut self) {
        self.depths.clear();
    }

    /// As many places as are worth it for so many worlds, each with the first world, which took no action.
    pub fn make_ready(&mut self, worlds: &Worlds) {
        let (fewest, most) = RECENT_BITS;
        let len = self.depths.len();
        let is_large = len == 1 << most || len * 8 > worlds.count();
        if len > 0 && is_large {
            return;
        }
        let len = (len * 4).clamp(1 << fewest, 1 << most);
        self.words = worlds.words_of(0).repeat(len);
        self.depths.clear();
        self.depths.resize(len, 0);
    }

    /// Whether these words were made of late with no more actions; if not, they are now.
    #[inline]
    pub fn has_seen(&mut self, words: &[u64], depth: u16) -> bool {
        let hash = hash_of_words(words);
        let at = hash as usize & (self.depths.len() - 1);
        let own = &mut self.words[at * words.len()..][..words.len()];
        let depth_then = &mut self.depths[at];
        let mut differ = 0;
        for (own, word) in own.iter().zip(words) {
            differ |= own ^ word;
        }
        if differ == 0 && *depth_then <= depth {
            return true;
        }
        own.copy_from_slice(words);
        *depth_then = depth;
        false
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * 8 + self.depths.capacity() * 2
    }
}

/// What filling a batch reads and writes.
struct Filling<'e> {
    known: &'e Known,
    worlds: &'e Worlds,
    purses: &'e [Purse],
    strikes: &'e [Strike],
    deltas: &'e [u64],
    judge_slot: Slot,
    faults: u32,
    depth: u32,
    most_faults: u32,
    most_actions: u32,
    recent: &'e mut Recent,
    words: &'e mut Vec<u64>,
    made: &'e mut Vec<Made>,
    wants: &'e mut Wants,
    unjudged: &'e mut Option<(u32, u32)>,
    transitions: u64,
}

/// A world whose moves are tried.
struct Own<const W: usize> {
    number: u32,
    words: [u64; W],
    judge: u32,
}

impl Explorer {
    /// [`Explorer::run`] for worlds of `W` words, in which nothing but steps and strikes happens and clients keep their places.
    #[inline(never)]
    pub(crate) fn run_packed<const W: usize>(
        &mut self,
        known: &Known,
        turn: &mut Vec<u32>,
        (faults, depth): Cost,
        left: &mut usize,
    ) -> Option<u32> {
        let most_moves = known.places.client_count + self.strikes.as_ref()?.len();
        loop {
            if self.made.len() + most_moves > BATCH {
                self.flush();
            }
            if *left == 0 || self.candidates.len() >= CANDIDATES {
                return None;
            }
            self.recent.make_ready(&self.worlds);
            let mut filling = Filling {
                known,
                worlds: &self.worlds,
                purses: &self.purses,
                strikes: self.strikes.as_deref().unwrap_or_default(),
                deltas: &self.deltas[..self.known_effects as usize * self.worlds.words()],
                judge_slot: self.worlds.slot(known.places.judge),
                faults,
                depth,
                most_faults: self.most_faults,
                most_actions: self.most_actions,
                recent: &mut self.recent,
                words: &mut self.words,
                made: &mut self.made,
                wants: &mut self.wants,
                unjudged: &mut self.unjudged,
                transitions: 0,
            };
            let unknown = filling.fill::<W>(turn, left, most_moves);
            self.transitions += filling.transitions;
            if unknown.is_some() || turn.is_empty() {
                return unknown;
            }
        }
    }
}

impl Filling<'_> {
    /// Tries the moves of worlds until there is no room for those of another; gives a world back whose moves are not known.
    #[inline]
    fn fill<const W: usize>(
        &mut self,
        turn: &mut Vec<u32>,
        left: &mut usize,
        most_moves: usize,
    ) -> Option<u32> {
        while *left > 0 && self.made.len() + most_moves <= BATCH.max(most_moves) {
            let world = turn.pop()?;
            let record = self.worlds.record(world);
            let Some((words, [origin])) = record.split_first_chunk::<W>() else {
                return Some(world);
            };
            // A world that was reached again with fewer actions had its turn then.
            if u32::from(Origin::unpack(*origin).depth) != self.depth {
                continue;
            }
            *left -= 1;
            let own = Own {
                number: world,
                words: *words,
                judge: self.judge_slot.of(words),
            };
            let transitions = self.transitions;
            if self.expand(&own).is_none() {
                self.transitions = transitions;
                return Some(world);
            }
        }
        None
    }

    #[inline(always)]
    fn field<const W: usize>(&self, own: &Own<W>, field: usize) -> u32 {
        self.worlds.slot(field).of(&own.words)
    }

    /// Tries every move of a world; `None` where not all of them are known.
    #[inline(always)]
    fn expand<const W: usize>(&mut self, own: &Own<W>) -> Option<()> {
        let (known, places) = (self.known, &self.known.places);
        let store = self.field(own, places.stores);
        if known.ages(store, self.field(own, places.database)) {
            return None;
        }
        let clients = places.client_count;
        for order in 0..clients + self.strikes.len() {
            let (code, cell, purse) = if order < clients {
                let client = self.field(own, places.clients + order);
                let part = match known.clients[client as usize] {
                    ClientKind::Steps(reads) => self.field(own, usize::from(reads)),
                    ClientKind::Rests => continue,
                    ClientKind::IsTired => {
                        self.wants.attempts = true;
                        continue;
                    }
                    ClientKind::Other => return None,
                };
                (order as u16, Known::step(client, part), None)
            } else {
                let strike = self.strikes[order - clients];
                let purse = &self.purses[strike.purse];
                let used = self.field(own, purse.field);
                let has_fault_left = self.faults < self.most_faults;
                if !self.wants.grant(strike.purse, purse, used, has_fault_left) {
                    continue;
                }
                let cell = Known::strike(store, strike.column);
                (strike.code, cell, Some(purse))
            };
            self.try_move(own, code, cell, purse)?;
        }
        Some(())
    }

    /// Goes where a move leads, if it is possible and within bounds; `None` where that is not known.
    #[inline(always)]
    fn try_move<const W: usize>(
        &mut self,
        own: &Own<W>,
        code: u16,
        (row, column): (u32, u32),
        purse: Option<&Purse>,
    ) -> Option<()> {
        let number = self.known.moves.get(row, column)?;
        if number >= WIDE {
            return (number == NOT_POSSIBLE).then_some(());
        }
        let Effect {
            count,
            actions,
            told,
            ..
        } = self.known.effects[number as usize];
        let Some(judge) = self.known.judge(own.judge, told) else {
            *self.unjudged = Some((own.judge, told));
            return None;
        };
        let depth = self.depth + u32::from(actions);
        if depth > self.most_actions {
            self.transitions += 1;
            self.wants.steps = true;
            return Some(());
        }
        // The first effect is what time does now.
        if number == 0 || !self.judge_slot.fits(judge) {
            return None;
        }
        if judge == own.judge && purse.is_none() && count == 0 {
            self.transitions += 1;
            return Some(());
        }
        let mut words = own.words;
        let delta = self.deltas.get(number as usize * W..)?;
        for (word, delta) in words.iter_mut().zip(delta.first_chunk::<W>()?) {
            *word ^= delta;
        }
        self.judge_slot.change(&mut words, own.judge, judge);
        let mut faults = self.faults;
        if let Some(purse) = purse {
            let used = self.field(own, purse.field);
            let slot = self.worlds.slot(purse.field);
            slot.change(&mut words, used, used + 1);
            faults += u32::from(purse.is_fault);
        }
        self.transitions += 1;
        let depth = depth.min(u32::from(u16::MAX)) as u16;
        if !self.recent.has_seen(&words, depth) {
            self.words.extend_from_slice(&words);
            let origin = Origin {
                parent: own.number,
                by: code,
                depth,
            };
            self.made.push(Made { origin, faults });
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_with_no_more_actions_were_seen_and_nothing_else() {
        let mut worlds = Worlds::new(&[u32::MAX]);
        worlds.reserve(1);
        let first = Origin {
            parent: 0,
            by: 0,
            depth: 0,
        };
        worlds.insert(&[0], hash_of_words(&[0]), first);
        let mut recent = Recent::default();
        recent.make_ready(&worlds);
        let seen = [(0, 3), (5, 9), (5, 9), (5, 10), (5, 4), (5, 9), (5, 4)]
            .map(|(word, depth)| recent.has_seen(&[word], depth));
        assert_eq!(seen, [true, false, true, true, false, true, true]);
        // Far more than there are places for.
        assert!((6..5_000).all(|word| !recent.has_seen(&[word], 1)));
    }
}

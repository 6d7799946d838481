//! Moves in another order: a world that two moves lead to, whichever of them comes first, is looked up once.
//!
//! ```text
//! parent ──arrival──► world          chosen stands before arrival in the order of moves, so that
//!   │ chosen            │ chosen     the world before was found, and had its turn, before this one
//!   ▼                   ▼
//! world before ─arrival─► the same?
//! ```
//!
//! Nothing is left out by that: whether the two ways lead to the same world is read from the tables, every time.

use crate::explorer::Explorer;
use crate::known::{ClientKind, Known, WIDE};
use crate::worlds::Origin;

/// A move that reads a client, or nothing, and one part beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chosen {
    pub code: u16,
    /// Where it stands among the moves of a world.
    pub order: usize,
    /// The client whose step it is; `None`: a strike.
    pub step_of: Option<u32>,
    /// The column of a strike.
    pub column: u32,
    /// The field that it reads.
    pub reads: usize,
    pub purse: Option<usize>,
}

impl Chosen {
    /// What it does, where that is known, with this part in the field that it reads.
    #[inline]
    pub fn effect(&self, known: &Known, part: u32) -> Option<u32> {
        let (row, column) = match self.step_of {
            Some(client) => Known::step(client, part),
            None => Known::strike(part, self.column),
        };
        known.moves.get(row, column)
    }
}

/// How the world whose moves are tried came to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// Moves that stand before this were tried before; none, where it is 0.
    pub order: usize,
    pub parent: u32,
    /// The judge of the parent.
    pub judge: u32,
    /// What the move read there.
    pub part: u32,
    pub chosen: Chosen,
    pub effect: u32,
}

impl Explorer {
    #[inline]
    pub(crate) fn strike(&self, known: &Known, number: usize) -> Option<Chosen> {
        let strike = self.strikes.as_ref()?.get(number)?;
        Some(Chosen {
            code: strike.code,
            order: known.places.client_count + number,
            step_of: None,
            column: strike.column,
            reads: known.places.stores,
            purse: Some(strike.purse),
        })
    }

    /// How a world came to be from its parent. `None`, and nothing comes before it: by a move that is
    /// none of those that are tried here, or clients stand in other places than the move left them in.
    #[inline]
    pub(crate) fn arrival(&self, known: &Known, world: u32) -> Option<Arrival> {
        let Origin { parent, by, .. } = self.worlds.origin(world);
        if known.placing.is_some() {
            return None;
        }
        let places = &known.places;
        let mut chosen = match usize::from(by) {
            place if place < places.client_count => Chosen {
                code: by,
                order: place,
                ..Chosen::default()
            },
            _ => {
                let strikes = self.strikes.as_ref()?;
                let number = strikes.iter().position(|strike| strike.code == by)?;
                self.strike(known, number)?
            }
        };
        if chosen.order == 0 {
            return None;
        }
        if chosen.purse.is_none() {
            let client = self.worlds.field(parent, places.clients + chosen.order);
            let ClientKind::Steps(reads) = known.clients[client as usize] else {
                return None;
            };
            chosen.step_of = Some(client);
            chosen.reads = usize::from(reads);
        }
        let part = self.worlds.field(parent, chosen.reads);
        let effect = chosen.effect(known, part)?;
        let is_learned = effect != 0 && effect < self.known_effects;
        is_learned.then_some(Arrival {
            order: chosen.order,
            parent,
            judge: self.worlds.field(parent, places.judge),
            part,
            chosen,
            effect,
        })
    }

    /// Whether a move that stands before the arrival leads where the two led in the other order.
    #[inline]
    pub(crate) fn was_reached(
        &self,
        known: &Known,
        arrival: &Arrival,
        chosen: &Chosen,
        effect: u32,
        judge: u32,
    ) -> Option<bool> {
        let first = chosen.effect(known, self.worlds.field(arrival.parent, chosen.reads))?;
        if first >= WIDE {
            return None;
        }
        let mut part = arrival.part;
        for change in known.changes(first) {
            if change.field as usize == arrival.chosen.reads {
                part = change.to;
            }
        }
        let second = arrival.chosen.effect(known, part)?;
        let most = first.max(second).max(effect);
        if most >= self.known_effects {
            return None;
        }
        let between = known.judge(arrival.judge, known.told(first))?;
        if known.judge(between, known.told(second))? != judge {
            return None;
        }
        // Most moves do the same before and after the other.
        if first == effect && second == arrival.effect {
            return Some(true);
        }
        let words = self.worlds.words();
        let mut differ = 0;
        for word in 0..words {
            let delta = |effect: u32| self.deltas[effect as usize * words + word];
            differ |= delta(arrival.effect) ^ delta(effect) ^ delta(first) ^ delta(second);
        }
        Some(differ == 0)
    }
}

//! What is known of moves, in tables.

use crate::memo::Grid;
use crate::placing::Placing;

/// In a table of moves: the move is not possible.
pub const NOT_POSSIBLE: u32 = u32::MAX - 1;
/// In a table of moves: all parts have to be looked at.
pub const WIDE: u32 = u32::MAX - 2;

/// Another part in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The field.
    pub field: u32,
    /// The number of the part that stood there.
    pub from: u32,
    /// The number of the part that stands there then.
    pub to: u32,
}

/// What a move does: parts that change, and what it tells the judge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effect {
    /// Where its changes begin.
    pub first: u32,
    /// How many parts change.
    pub count: u16,
    /// How many actions it is.
    pub actions: u16,
    /// The number of what it told; 0 is nothing.
    pub told: u32,
}

/// Which parts stand in which fields of a world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    /// The database.
    pub database: usize,
    /// What the properties remember.
    pub judge: usize,
    /// The first store; the others follow.
    pub stores: usize,
    /// The first client; the others follow.
    pub clients: usize,
    /// How many clients there are.
    pub client_count: usize,
}

/// What a client can do in a world in which nothing but steps and strikes can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// A step that reads the client and the part in this field.
    Steps(u8),
    /// Nothing.
    Rests,
    /// Nothing, as it has begun more attempts than are looked at.
    IsTired,
    /// More than that.
    Other,
}

/// A fault that reads the store and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Strike {
    /// The move.
    pub code: u16,
    /// Its column in the table of moves.
    pub column: u32,
    /// The budget that pays for it.
    pub purse: usize,
}

/// What moves make of the numbers of parts.
#[derive(Default)]
pub struct Known {
    /// Which parts stand in which fields.
    pub places: Places,
    /// What each client can do.
    pub clients: Vec<ClientKind>,
    /// For each store: whether time alone can do something in it.
    pub stores_age: Vec<bool>,
    /// For each database: the same.
    pub databases_age: Vec<bool>,
    /// What moves do; see [`Known::step`] and [`Known::strike`].
    pub moves: Grid,
    /// What they do by number; the first changes with every passing of time.
    pub effects: Vec<Effect>,
    /// What effects change.
    pub changes: Vec<Change>,
    /// What the first effect changes now.
    pub time_changes: Vec<Change>,
    /// By judge and what it is told: the judge after that.
    pub judged: Grid,
    /// How clients may change places.
    pub placing: Option<Placing>,
}

impl Known {
    /// Where the table of moves has the step of a client that reads this part.
    #[inline]
    pub fn step(client: u32, part: u32) -> (u32, u32) {
        (client << 1, part)
    }

    /// Where the table of moves has a fault that befalls a store.
    #[inline]
    pub fn strike(store: u32, column: u32) -> (u32, u32) {
        (store << 1 | 1, column)
    }

    /// Whether time alone can do something in a store or a database.
    #[inline]
    pub fn ages(&self, store: u32, database: u32) -> bool {
        self.stores_age[store as usize] || self.databases_age[database as usize]
    }

    /// What a move changes.
    #[inline]
    pub fn changes(&self, effect: u32) -> &[Change] {
        if effect == 0 {
            return &self.time_changes;
        }
        let Effect { first, count, .. } = self.effects[effect as usize];
        &self.changes[first as usize..first as usize + usize::from(count)]
    }

    /// Whether a move leaves all parts as they are.
    #[inline]
    pub fn changes_nothing(&self, effect: u32) -> bool {
        match effect {
            0 => self.time_changes.is_empty(),
            effect => self.effects[effect as usize].count == 0,
        }
    }

    /// The number of what an effect tells the judge.
    #[inline]
    pub fn told(&self, effect: u32) -> u32 {
        self.effects[effect as usize].told
    }

    /// The judge after it was told something, where that is known.
    #[inline]
    pub fn judge(&self, judge: u32, told: u32) -> Option<u32> {
        match told {
            0 => Some(judge),
            told => self.judged.get(judge, told),
        }
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        let placing = self.placing.as_ref().map_or(0, Placing::bytes);
        self.moves.bytes()
            + self.judged.bytes()
            + placing
            + self.clients.capacity() * size_of::<ClientKind>()
            + self.stores_age.capacity()
            + self.databases_age.capacity()
            + self.effects.capacity() * size_of::<Effect>()
            + self.changes.capacity() * size_of::<Change>()
    }
}

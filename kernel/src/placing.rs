//! Clients that may change places: which order stands for all, and what parts become in it.

use crate::hash::mix;
use crate::known::Places;
use crate::memo::Grid;

/// How many clients of a class may change places.
pub const MOST_ALIKE: usize = 4;

/// A way to place clients: the one of place i comes to place `way[i]`.
pub type Way = Vec<usize>;

/// Which clients may change places, and what that makes of parts, by their numbers.
#[derive(Default)]
pub struct Placing {
    /// Clients that run the same, each class with at least two and at most [`MOST_ALIKE`].
    classes: Vec<Vec<usize>>,
    /// All ways; the first changes nothing.
    ways: Vec<Way>,
    /// The number of a way by its orders, each class after the other.
    numbers: Vec<u32>,
    /// By part and way: the part that it becomes.
    pub stores: Grid,
    /// The same for clients.
    pub clients: Grid,
    /// The same for judges.
    pub judges: Grid,
    /// What clients are like, whatever they are called; by number of the part.
    pub shapes: Vec<u64>,
    /// What stores have of clients, by number of the part and then by client.
    pub store_marks: Vec<u64>,
    /// The same for judges.
    pub judge_marks: Vec<u64>,
}

impl Placing {
    /// The placing of classes of clients, by all these ways.
    pub fn new(classes: Vec<Vec<usize>>, ways: Vec<Way>) -> Placing {
        let mut placing = Placing {
            classes,
            ways,
            ..Placing::default()
        };
        placing.number_ways();
        placing
    }

    fn number_ways(&mut self) {
        for (number, way) in self.ways.iter().enumerate() {
            let mut code = 0;
            for class in &self.classes {
                for to in class {
                    let from = class.iter().position(|from| way[*from] == *to);
                    code = code * class.len() + from.unwrap_or(0);
                }
            }
            if self.numbers.len() <= code {
                self.numbers.resize(code + 1, 0);
            }
            self.numbers[code] = number as u32;
        }
    }

    /// All ways, by number.
    pub fn ways(&self) -> &[Way] {
        &self.ways
    }

    /// The way that puts the clients of a world into the order of what they are like; 0 where they stand so.
    #[inline]
    pub fn way_of(&self, places: &Places, fields: &[u32]) -> u32 {
        let mut code = 0;
        for class in &self.classes {
            let mut keys = [0; MOST_ALIKE];
            for (key, place) in keys.iter_mut().zip(class) {
                *key = self.likeness(*place, places, fields);
            }
            let mut order = [0, 1, 2, 3];
            // Few elements, and stable.
            for end in 1..class.len() {
                let mut at = end;
                while at > 0 && keys[order[at - 1]] > keys[order[at]] {
                    order.swap(at - 1, at);
                    at -= 1;
                }
            }
            for from in &order[..class.len()] {
                code = code * class.len() + from;
            }
        }
        self.numbers[code]
    }

    /// What the client in a place is like, whatever it is called: its own state, and what stores and the judge have of it.
    #[inline]
    fn likeness(&self, place: usize, places: &Places, fields: &[u32]) -> u64 {
        let count = places.client_count;
        let mut like = self.shapes[fields[places.clients + place] as usize];
        for store in &fields[places.stores..places.clients] {
            like = mix(like, self.store_marks[*store as usize * count + place]);
        }
        mix(
            like,
            self.judge_marks[fields[places.judge] as usize * count + place],
        )
    }

    /// Puts clients into the places in which the world stands for all that differ in nothing else. `false`, and the fields may be
    /// anything: it is not known yet what a part becomes.
    #[inline]
    pub fn place(&self, places: &Places, fields: &mut [u32], spare: &mut Vec<u32>) -> bool {
        let way = self.way_of(places, fields);
        if way == 0 {
            return true;
        }
        let Some(judge) = self.judges.get(fields[places.judge], way) else {
            return false;
        };
        fields[places.judge] = judge;
        self.place_by(way, places, fields, spare)
    }

    /// Puts clients into other places, but not in the judge's memory. `false`: as [`Placing::place`].
    pub fn place_by(
        &self,
        way: u32,
        places: &Places,
        fields: &mut [u32],
        spare: &mut Vec<u32>,
    ) -> bool {
        spare.clear();
        spare.resize(places.client_count, 0);
        let clients = &mut fields[places.clients..places.clients + places.client_count];
        for (number, to) in clients.iter().zip(&self.ways[way as usize]) {
            let Some(placed) = self.clients.get(*number, way) else {
                return false;
            };
            spare[*to] = placed;
        }
        clients.copy_from_slice(spare);
        for store in &mut fields[places.stores..places.clients] {
            let Some(placed) = self.stores.get(*store, way) else {
                return false;
            };
            *store = placed;
        }
        true
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        let marks = [&self.shapes, &self.store_marks, &self.judge_marks];
        let marks: usize = marks.into_iter().map(Vec::capacity).sum();
        self.stores.bytes() + self.clients.bytes() + self.judges.bytes() + marks * 8
    }
}

//! Worlds as a few packed words each.
//!
//! ```text
//! hash ──► index: tag | number ──► records: words of the world | parent, move, depth
//! ```

use crate::hash::{finish, mix};
use crate::index::Index;

/// Where a field of a world stands in its words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    word: u32,
    shift: u32,
    mask: u64,
}

impl Slot {
    /// What stands in it.
    #[inline(always)]
    pub fn of(self, words: &[u64]) -> u32 {
        (words[self.word(words)] >> self.shift & self.mask) as u32
    }

    /// Changes what stands in it from one value to another; both have to fit.
    #[inline(always)]
    pub fn change(self, words: &mut [u64], from: u32, to: u32) {
        words[self.word(words)] ^= u64::from(from ^ to) << self.shift;
    }

    /// Whether it has room for a value.
    #[inline(always)]
    pub fn fits(self, value: u32) -> bool {
        u64::from(value) <= self.mask
    }

    /// Most worlds have one word only.
    #[inline(always)]
    fn word(self, words: &[u64]) -> usize {
        if words.len() == 1 {
            0
        } else {
            self.word as usize
        }
    }
}

/// How a world came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The world before; itself for the first.
    pub parent: u32,
    /// The move that led here.
    pub by: u16,
    /// Actions from the first world.
    pub depth: u16,
}

impl Origin {
    #[inline]
    fn pack(self) -> u64 {
        u64::from(self.parent) << 32 | u64::from(self.by) << 16 | u64::from(self.depth)
    }

    #[inline]
    pub(crate) fn unpack(word: u64) -> Origin {
        Origin {
            parent: (word >> 32) as u32,
            by: (word >> 16) as u16,
            depth: word as u16,
        }
    }
}

/// How many records stand in one chunk, as a power of two; full chunks never move, so that growing copies little.
const CHUNK: u32 = 20;

/// All distinct worlds: fields of as few bits as their numbers need, and how each came to be.
pub struct Worlds {
    slots: Vec<Slot>,
    /// Words of a record: those of the fields, and one for its origin.
    stride: usize,
    chunks: Vec<Vec<u64>>,
    count: usize,
    index: Index,
}

impl Worlds {
    /// No worlds yet, of fields whose values are not larger than these.
    pub fn new(largest: &[u32]) -> Worlds {
        let mut worlds = Worlds {
            slots: Vec::new(),
            stride: 0,
            chunks: Vec::new(),
            count: 0,
            index: Index::default(),
        };
        worlds.lay_out(&bits_of(largest, 0, 0));
        worlds
    }

    fn lay_out(&mut self, bits: &[u32]) {
        self.slots.clear();
        let mut free: Vec<u32> = Vec::new();
        for bits in bits {
            let word = word_for(*bits, &mut free);
            self.slots.push(Slot {
                word: word as u32,
                shift: (64 - free[word]) % 64,
                mask: (1 << bits) - 1,
            });
            free[word] -= bits;
        }
        self.stride = free.len() + 1;
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Words of a world without its origin.
    #[inline]
    pub fn words(&self) -> usize {
        self.stride.wrapping_sub(1)
    }

    /// Packs fields into words; they have to fit.
    #[inline]
    pub fn pack(&self, fields: &[u32], words: &mut Vec<u64>) {
        words.clear();
        words.resize(self.words(), 0);
        for (slot, value) in self.slots.iter().zip(fields) {
            words[slot.word as usize] |= u64::from(*value) << slot.shift;
        }
    }

    /// Where a field stands.
    #[inline(always)]
    pub(crate) fn slot(&self, field: usize) -> Slot {
        self.slots[field]
    }

    /// Whether a field has room for a value.
    #[inline]
    pub fn fits(&self, field: usize, value: u32) -> bool {
        self.slots[field].fits(value)
    }

    /// Whether there is room for all of these.
    #[inline]
    pub fn fit(&self, fields: &[u32]) -> bool {
        let mut beyond = 0;
        for (slot, value) in self.slots.iter().zip(fields) {
            beyond |= u64::from(*value) & !slot.mask;
        }
        beyond == 0
    }

    /// Changes a field of packed words from one value to another; both have to fit.
    #[inline]
    pub fn change(&self, words: &mut [u64], field: usize, from: u32, to: u32) {
        self.slots[field].change(words, from, to);
    }

    /// Gives a field room for its largest value, and more; this moves fields in every world. What was used of budgets, the last
    /// `fixed` fields, never grows.
    pub fn make_room(&mut self, field: usize, largest: &[u32], fixed: usize) {
        let mut old = Worlds::new(&[]);
        std::mem::swap(self, &mut old);
        self.lay_out(&bits_of(largest, field, largest.len() - fixed));
        let (mut fields, mut words) = (Vec::new(), Vec::new());
        for chunk in std::mem::take(&mut old.chunks) {
            for record in chunk.chunks_exact(old.stride) {
                old.unpack_words(record, &mut fields);
                self.pack(&fields, &mut words);
                self.push(&words, record[old.stride - 1]);
            }
        }
        let mut index = old.index;
        index.rebuild(|number| hash_of_words(self.words_of(number)));
        self.index = index;
    }

    fn push(&mut self, words: &[u64], origin: u64) {
        let most = self.stride << CHUNK;
        if self.count.is_multiple_of(1 << CHUNK) {
            // Not much of what there is stays empty, and a search of many worlds does not ask for memory often.
            let records = (self.count / 8).clamp(1 << 8, 1 << CHUNK);
            self.chunks.push(Vec::with_capacity(records * self.stride));
        }
        self.count += 1;
        if let Some(chunk) = self.chunks.last_mut() {
            if chunk.len() == chunk.capacity() {
                let quarter = (chunk.len() / 4).next_multiple_of(self.stride);
                chunk.reserve_exact(quarter.min(most - chunk.len()));
            }
            match words {
                [word] => chunk.extend_from_slice(&[*word, origin]),
                _ => {
                    chunk.extend_from_slice(words);
                    chunk.push(origin);
                }
            }
        }
    }

    /// A world's words, and behind them its origin.
    #[inline]
    pub(crate) fn record(&self, number: u32) -> &[u64] {
        let at = (number as usize & ((1 << CHUNK) - 1)) * self.stride;
        &self.chunks[(number >> CHUNK) as usize][at..at + self.stride]
    }

    /// A world's words.
    #[inline]
    pub fn words_of(&self, number: u32) -> &[u64] {
        &self.record(number)[..self.words()]
    }

    /// A world's fields.
    #[inline]
    pub fn unpack(&self, number: u32, fields: &mut Vec<u32>) {
        self.unpack_words(self.record(number), fields);
    }

    /// One of a world's fields.
    pub fn field(&self, number: u32, field: usize) -> u32 {
        self.slots[field].of(self.words_of(number))
    }

    #[inline]
    fn unpack_words(&self, words: &[u64], fields: &mut Vec<u32>) {
        fields.resize(self.slots.len(), 0);
        for (slot, field) in self.slots.iter().zip(fields) {
            *field = (words[slot.word as usize] >> slot.shift & slot.mask) as u32;
        }
    }

    /// How a world came to be.
    #[inline]
    pub fn origin(&self, number: u32) -> Origin {
        Origin::unpack(self.record(number)[self.stride - 1])
    }

    /// Says that a world came to be in another way.
    pub fn set_origin(&mut self, number: u32, origin: Origin) {
        let at = (number as usize & ((1 << CHUNK) - 1)) * self.stride + self.stride - 1;
        self.chunks[(number >> CHUNK) as usize][at] = origin.pack();
    }

    /// Makes room for so many more worlds.
    pub fn reserve(&mut self, more: usize) {
        while self.index.lacks_room(more) {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut index = std::mem::take(&mut self.index);
        index.grow(|number| hash_of_words(self.words_of(number)));
        self.index = index;
    }

    /// Loads where a look-up begins, so that several look-ups wait for memory at once; see [`Worlds::near`].
    #[inline]
    pub fn touch(&self, hash: u64) -> u32 {
        self.index.touch(hash)
    }

    /// The world where a look-up begins, by what was loaded there, if it may be the one, or the first.
    #[inline]
    pub fn near(&self, touched: u32, hash: u64) -> u32 {
        self.index.near(touched, hash)
    }

    /// Loads a world; what it gives means nothing.
    #[inline]
    pub fn touch_record(&self, number: u32) -> u64 {
        self.record(number)[0]
    }

    /// The number of a world, if there is such a world.
    pub fn find(&self, words: &[u64]) -> Option<u32> {
        let found = self
            .index
            .find(hash_of_words(words), |number| self.has(number, words));
        found.ok()
    }

    #[inline]
    fn has(&self, number: u32, words: &[u64]) -> bool {
        let record = self.record(number);
        // Not by comparing slices, which for one or two words takes longer.
        if let ([one, _], [word]) = (record, words) {
            return one == word;
        }
        let mut differ = 0;
        for (place, word) in words.iter().enumerate() {
            differ |= record[place] ^ word;
        }
        differ == 0
    }

    /// Gives a world a number, and says whether it is a new one. There has to be room.
    #[inline]
    pub fn insert(&mut self, words: &[u64], hash: u64, origin: Origin) -> (u32, bool) {
        match self.index.find(hash, |number| self.has(number, words)) {
            Ok(number) => (number, false),
            Err(slot) => {
                let number = self.index.put(slot, hash);
                self.push(words, origin.pack());
                (number, true)
            }
        }
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        let words: usize = self.chunks.iter().map(Vec::capacity).sum();
        (words + self.chunks.capacity() * 3) * 8 + self.index.bytes()
    }
}

/// The word in which a field of so many bits has room, none across two of them.
fn word_for(bits: u32, free: &mut Vec<u32>) -> usize {
    match free.iter().position(|free| *free >= bits) {
        Some(word) => word,
        None => {
            free.push(64);
            free.len() - 1
        }
    }
}

fn words_for(bits: &[u32]) -> usize {
    let mut free = Vec::new();
    for bits in bits {
        let word = word_for(*bits, &mut free);
        free[word] -= bits;
    }
    free.len()
}

/// How many bits each field is given: as many as its largest value needs, and of what is left in the last words one more for each
/// that can grow, the first ones, and the rest to the one that has grown.
fn bits_of(largest: &[u32], grown: usize, growing: usize) -> Vec<u32> {
    let needed = largest
        .iter()
        .map(|value| u32::BITS - value.leading_zeros());
    let mut bits: Vec<u32> = needed.collect();
    let words = words_for(&bits);
    let give = |field: usize, bits: &mut Vec<u32>| {
        bits[field] += 1;
        let fits = bits[field] <= u32::BITS && words_for(bits) == words;
        bits[field] -= u32::from(!fits);
    };
    let others: Vec<usize> = (0..growing).filter(|field| largest[*field] > 0).collect();
    let own = if grown < growing {
        vec![grown]
    } else {
        Vec::new()
    };
    for field in own
        .repeat(2)
        .into_iter()
        .chain(others)
        .chain(own.repeat(32))
    {
        give(field, &mut bits);
    }
    bits
}

/// The hash of a world's words.
#[inline]
pub fn hash_of_words(words: &[u64]) -> u64 {
    if let [word] = words {
        return finish(mix(0, *word));
    }
    let mut hash = 0;
    for word in words {
        hash = mix(hash, *word);
    }
    finish(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_keep_their_numbers_when_fields_outgrow_their_bits() {
        let mut worlds = Worlds::new(&[6, 0, u32::MAX, 0]);
        let mut words = Vec::new();
        let fields =
            |number: u32| vec![number % 7, number, u32::MAX - number / 3, number * 700_000];
        let mut rooms = 0;
        for number in 0..5_000 {
            worlds.reserve(1);
            for field in 0..4 {
                if !worlds.fits(field, fields(number)[field]) {
                    worlds.make_room(field, &[6, number, u32::MAX, number * 700_000], 0);
                    rooms += 1;
                }
            }
            worlds.pack(&fields(number), &mut words);
            let origin = Origin {
                parent: number / 2,
                by: 7,
                depth: number as u16,
            };
            let found = worlds.insert(&words, hash_of_words(&words), origin);
            assert_eq!(found, (number, true));
        }
        let mut found = Vec::new();
        for number in 0..5_000 {
            worlds.unpack(number, &mut found);
            assert_eq!(found, fields(number));
            worlds.pack(&fields(number), &mut words);
            assert_eq!(worlds.find(&words), Some(number));
            assert_eq!(worlds.origin(number).parent, number / 2);
        }
        assert_eq!((worlds.count(), worlds.words()), (5_000, 2));
        assert!(rooms < 20, "{rooms}");
    }
}

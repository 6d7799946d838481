//! The tables of a search: what has a number, what was computed, and the worlds themselves as a few packed words each.
//!
//! ```text
//! hash ──► index: tag | number ──► records: words of the world | parent, move, depth
//! ```
//!
//! Everything is kept in vectors of plain integers; hashing is our own, of 64 bits in every build.

use std::hash::{Hash, Hasher};

/// How many records stand in one chunk; chunks never move, so that growing copies nothing.
const CHUNK: usize = 1 << 14;

/// A mixer of 64 bits, the same in every build.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mixer(u64);

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes one more word into a hash.
#[inline]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER)
}

/// Spreads a hash over all bits.
#[inline]
pub(super) fn finish(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    hash ^ (hash >> 29)
}

// On the page calls are shorter than what they would be replaced with, once for each part of each type.
impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        finish(self.0)
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.0 = mix(self.0, u64::from_le_bytes(word));
        }
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn write_u8(&mut self, value: u8) {
        self.0 = mix(self.0, value.into());
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn write_u32(&mut self, value: u32) {
        self.0 = mix(self.0, value.into());
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0, value);
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn write_usize(&mut self, value: usize) {
        self.0 = mix(self.0, value as u64);
    }
}

/// The hash of anything.
pub(super) fn hash_of(thing: &impl Hash) -> u64 {
    let mut mixer = Mixer::default();
    thing.hash(&mut mixer);
    mixer.finish()
}

/// Numbers by hash: open addressing, each slot a tag of 32 bits and a number plus one.
#[derive(Default)]
pub(super) struct Index {
    slots: Vec<u64>,
    count: usize,
}

impl Index {
    /// The number with this hash that is the one meant, or the slot where it would stand.
    #[inline]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len().wrapping_sub(1);
        if self.slots.is_empty() {
            return Err(0);
        }
        let tag = hash >> 32;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if slot >> 32 == tag && is_it(slot as u32 - 1) {
                return Ok(slot as u32 - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// A load of the slot where a look-up begins, so that several can wait for memory at once.
    #[inline]
    pub fn touch(&self, hash: u64) -> u64 {
        let mask = self.slots.len().wrapping_sub(1);
        self.slots.get(hash as usize & mask).copied().unwrap_or(0)
    }

    /// Whether one more has to make room first.
    pub fn is_full(&self) -> bool {
        self.count * 4 >= self.slots.len() * 3
    }

    /// Makes room: every number is put in anew by its hash.
    pub fn grow(&mut self, mut hash_of: impl FnMut(u32) -> u64) {
        let size = (self.slots.len() * 2).max(64);
        self.slots = Vec::new();
        self.slots = vec![0; size];
        for number in 0..self.count as u32 {
            let hash = hash_of(number);
            let slot = self.free_slot(hash);
            self.slots[slot] = entry(hash, number);
        }
    }

    fn free_slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Puts the next number in, at the slot that [`Index::find`] gave.
    #[inline]
    pub fn put(&mut self, slot: usize, hash: u64) -> u32 {
        let number = self.count as u32;
        self.slots[slot] = entry(hash, number);
        self.count += 1;
        number
    }

    /// Forgets everything and makes room for as many as there were.
    pub fn rebuild(&mut self, hash_of: impl FnMut(u32) -> u64) {
        self.slots.truncate(self.slots.len() / 2);
        self.grow(hash_of);
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * 8
    }
}

#[inline]
fn entry(hash: u64, number: u32) -> u64 {
    (hash >> 32) << 32 | u64::from(number + 1)
}

/// What was computed: from a few numbers to one.
#[derive(Default)]
pub(super) struct Memo {
    index: Index,
    keys: Vec<u32>,
    ends: Vec<u32>,
    values: Vec<u32>,
}

fn hash_of_key(key: &[u32]) -> u64 {
    finish(
        key.iter()
            .fold(key.len() as u64, |hash, part| mix(hash, u64::from(*part))),
    )
}

impl Memo {
    fn key(&self, number: u32) -> &[u32] {
        let number = number as usize;
        let start = match number {
            0 => 0,
            number => self.ends[number - 1] as usize,
        };
        &self.keys[start..self.ends[number] as usize]
    }

    /// What these numbers gave.
    pub fn get(&self, key: &[u32]) -> Option<u32> {
        let found = self
            .index
            .find(hash_of_key(key), |number| self.key(number) == key);
        found.ok().map(|number| self.values[number as usize])
    }

    /// Remembers what these numbers give; they have given nothing before.
    pub fn put(&mut self, key: &[u32], value: u32) {
        if self.index.is_full() {
            let mut index = std::mem::take(&mut self.index);
            index.grow(|number| hash_of_key(self.key(number)));
            self.index = index;
        }
        let hash = hash_of_key(key);
        let slot = self.index.free_slot(hash);
        self.index.put(slot, hash);
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len() as u32);
        self.values.push(value);
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        self.index.bytes()
            + (self.keys.capacity() + self.ends.capacity() + self.values.capacity()) * 4
    }
}

/// What was computed from two numbers to one; faster than [`Memo`].
#[derive(Default)]
pub(super) struct PairMemo {
    slots: Vec<(u64, u32)>,
    count: usize,
}

impl PairMemo {
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = finish(key.wrapping_mul(MULTIPLIER)) as usize & mask;
        while self.slots[at].0 != u64::MAX && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    /// What these two gave.
    #[inline]
    pub fn get(&self, first: u32, second: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let key = u64::from(first) << 32 | u64::from(second);
        let slot = self.slots[self.slot(key)];
        (slot.0 == key).then_some(slot.1)
    }

    /// Remembers what these two give; not both are `u32::MAX`.
    pub fn put(&mut self, first: u32, second: u32, value: u32) {
        if self.count * 2 >= self.slots.len() {
            let size = (self.slots.len() * 2).max(64);
            let old = std::mem::replace(&mut self.slots, vec![(u64::MAX, 0); size]);
            for (key, value) in old.into_iter().filter(|(key, _)| *key != u64::MAX) {
                let slot = self.slot(key);
                self.slots[slot] = (key, value);
            }
        }
        let slot = self.slot(u64::from(first) << 32 | u64::from(second));
        self.slots[slot] = (u64::from(first) << 32 | u64::from(second), value);
        self.count += 1;
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * 16
    }
}

/// The most columns of a grid.
const COLUMNS: usize = 64;

/// What was computed from two numbers to one, of which the second is small: a row for each first number, as long as there are few
/// columns; beyond that a [`PairMemo`].
#[derive(Default)]
pub(super) struct Grid {
    columns: usize,
    /// The value plus one.
    cells: Vec<u32>,
    rest: PairMemo,
}

impl Grid {
    /// What these two gave.
    #[inline]
    pub fn get(&self, row: u32, column: u32) -> Option<u32> {
        if column as usize >= self.columns {
            return self.rest.get(row, column);
        }
        let cell = self
            .cells
            .get(row as usize * self.columns + column as usize);
        cell.copied().and_then(|cell| cell.checked_sub(1))
    }

    /// Remembers what these two give.
    pub fn put(&mut self, row: u32, column: u32, value: u32) {
        let wanted = (column as usize + 1).next_power_of_two().max(8);
        if wanted > COLUMNS {
            return self.rest.put(row, column, value);
        }
        if wanted > self.columns {
            self.widen(wanted);
        }
        let cell = row as usize * self.columns + column as usize;
        if cell >= self.cells.len() {
            let rows = (row as usize + 1).max(self.cells.len() / self.columns * 5 / 4);
            self.cells.resize(rows * self.columns, 0);
        }
        self.cells[cell] = value + 1;
    }

    fn widen(&mut self, columns: usize) {
        let old = std::mem::take(&mut self.cells);
        let rows = old.len().checked_div(self.columns).unwrap_or(0);
        self.cells = vec![0; rows * columns];
        for row in 0..rows {
            let from = &old[row * self.columns..(row + 1) * self.columns];
            self.cells[row * columns..row * columns + self.columns].copy_from_slice(from);
        }
        self.columns = columns;
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        self.cells.capacity() * 4 + self.rest.bytes()
    }
}

/// Where a field of a world stands in its words.
#[derive(Clone, Copy, Debug)]
struct Slot {
    word: u32,
    shift: u32,
    bits: u32,
}

impl Slot {
    #[inline]
    fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }
}

/// How a world came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
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
    fn unpack(word: u64) -> Origin {
        Origin {
            parent: (word >> 32) as u32,
            by: (word >> 16) as u16,
            depth: word as u16,
        }
    }
}

/// All distinct worlds: fields of as few bits as their numbers need, and how each came to be.
pub(super) struct Worlds {
    slots: Vec<Slot>,
    /// Words of a record: those of the fields, and one for its origin.
    stride: usize,
    chunks: Vec<Vec<u64>>,
    count: usize,
    index: Index,
}

impl Worlds {
    /// No worlds yet, of fields that begin with these numbers of bits.
    pub fn new(bits: &[u32]) -> Worlds {
        let mut worlds = Worlds {
            slots: Vec::new(),
            stride: 0,
            chunks: Vec::new(),
            count: 0,
            index: Index::default(),
        };
        worlds.lay_out(bits);
        worlds
    }

    /// Puts fields into words, none across two of them.
    fn lay_out(&mut self, bits: &[u32]) {
        self.slots.clear();
        let mut free: Vec<u32> = Vec::new();
        for bits in bits {
            let word = match free.iter().position(|free| free >= bits) {
                Some(word) => word,
                None => {
                    free.push(64);
                    free.len() - 1
                }
            };
            self.slots.push(Slot {
                word: word as u32,
                shift: if *bits == 0 { 0 } else { 64 - free[word] },
                bits: *bits,
            });
            free[word] -= bits;
        }
        self.stride = free.len() + 1;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Words of a world without its origin.
    #[inline]
    pub fn words(&self) -> usize {
        self.stride - 1
    }

    /// Packs fields into words; a field that has outgrown its bits is given more first.
    pub fn pack(&mut self, fields: &[u32], words: &mut Vec<u64>) {
        while let Some(field) =
            (0..fields.len()).find(|field| u64::from(fields[*field]) > self.slots[*field].mask())
        {
            self.widen(field);
        }
        words.clear();
        words.resize(self.words(), 0);
        for (slot, value) in self.slots.iter().zip(fields) {
            words[slot.word as usize] |= u64::from(*value) << slot.shift;
        }
    }

    /// Whether a field has room for a value.
    #[inline]
    pub fn fits(&self, field: usize, value: u32) -> bool {
        u64::from(value) <= self.slots[field].mask()
    }

    /// Puts another value into a field of packed words; it has to fit.
    #[inline]
    pub fn set(&self, words: &mut [u64], field: usize, value: u32) {
        let slot = self.slots[field];
        let word = &mut words[slot.word as usize];
        *word = *word & !(slot.mask() << slot.shift) | u64::from(value) << slot.shift;
    }

    fn widen(&mut self, field: usize) {
        let mut bits: Vec<u32> = self.slots.iter().map(|slot| slot.bits).collect();
        bits[field] = (bits[field] + 4).min(32);
        let mut old = Worlds::new(&[]);
        std::mem::swap(self, &mut old);
        self.lay_out(&bits);
        let mut fields = Vec::new();
        let mut words = Vec::new();
        for number in 0..old.count {
            old.unpack(number as u32, &mut fields);
            self.pack(&fields, &mut words);
            self.push(&words, old.origin(number as u32));
        }
        self.index = std::mem::take(&mut old.index);
        drop(old);
        let mut index = std::mem::take(&mut self.index);
        index.rebuild(|number| hash_of_words(self.record(number).0));
        self.index = index;
    }

    fn push(&mut self, words: &[u64], origin: Origin) {
        if self.count.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK * self.stride));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.extend_from_slice(words);
            chunk.push(origin.pack());
        }
        self.count += 1;
    }

    #[inline]
    fn record(&self, number: u32) -> (&[u64], u64) {
        let number = number as usize;
        let at = number % CHUNK * self.stride;
        let record = &self.chunks[number / CHUNK][at..at + self.stride];
        (&record[..self.stride - 1], record[self.stride - 1])
    }

    /// A world's words.
    #[inline]
    pub fn words_of(&self, number: u32) -> &[u64] {
        self.record(number).0
    }

    /// A world's fields.
    #[inline]
    pub fn unpack(&self, number: u32, fields: &mut Vec<u32>) {
        let (words, _) = self.record(number);
        fields.clear();
        fields.extend(
            self.slots
                .iter()
                .map(|slot| (words[slot.word as usize] >> slot.shift & slot.mask()) as u32),
        );
    }

    /// How a world came to be.
    pub fn origin(&self, number: u32) -> Origin {
        Origin::unpack(self.record(number).1)
    }

    /// Says that a world came to be in another way.
    pub fn set_origin(&mut self, number: u32, origin: Origin) {
        let at = number as usize % CHUNK * self.stride + self.stride - 1;
        self.chunks[number as usize / CHUNK][at] = origin.pack();
    }

    /// Loads what a look-up will need, so that several look-ups wait for memory at once: first where it begins, and with what that
    /// gave the record that it leads to.
    #[inline]
    pub fn touch(&self, hash: u64) -> u64 {
        self.index.touch(hash)
    }

    /// See [`Worlds::touch`].
    #[inline]
    pub fn touch_record(&self, hash: u64, slot: u64) -> u64 {
        if slot == 0 || slot >> 32 != hash >> 32 {
            return 0;
        }
        self.record(slot as u32 - 1).0.first().copied().unwrap_or(0)
    }

    /// The number of a world, if there is such a world.
    pub fn find(&self, words: &[u64]) -> Option<u32> {
        self.index
            .find(hash_of_words(words), |number| {
                self.words_of(number) == words
            })
            .ok()
    }

    /// Gives a world a number, and says whether it is a new one.
    #[inline]
    pub fn insert(&mut self, words: &[u64], hash: u64, origin: Origin) -> (u32, bool) {
        if self.index.is_full() {
            let mut index = std::mem::take(&mut self.index);
            index.grow(|number| hash_of_words(self.words_of(number)));
            self.index = index;
        }
        match self
            .index
            .find(hash, |number| self.words_of(number) == words)
        {
            Ok(number) => (number, false),
            Err(slot) => {
                let number = self.index.put(slot, hash);
                self.push(words, origin);
                (number, true)
            }
        }
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * self.stride * 8 + self.index.bytes()
    }
}

/// The hash of a world's words.
#[inline]
pub(super) fn hash_of_words(words: &[u64]) -> u64 {
    finish(words.iter().fold(0, |hash, word| mix(hash, *word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_keep_their_numbers_when_fields_outgrow_their_bits() {
        let mut worlds = Worlds::new(&[2, 3, 60]);
        let mut words = Vec::new();
        let fields = |number: u32| vec![number % 7, number, number / 3];
        for number in 0..5_000 {
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
        assert_eq!(worlds.len(), 5_000);
    }

    #[test]
    fn memos_remember() {
        let (mut memo, mut pairs) = (Memo::default(), PairMemo::default());
        for number in 0..3_000_u32 {
            let key: Vec<u32> = (0..number % 5 + 1).map(|part| part * number).collect();
            if memo.get(&key).is_none() {
                memo.put(&key, number);
            }
            pairs.put(number, number * 3, number + 1);
        }
        assert_eq!(memo.get(&[0, 2_999, 5_998, 8_997, 11_996]), Some(2_999));
        assert_eq!(memo.get(&[1]), None);
        assert_eq!(pairs.get(7, 21), Some(8));
        assert_eq!(pairs.get(7, 22), None);
    }
}

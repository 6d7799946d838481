//! From hashes to numbers.

/// Slots of an empty index, as a power of two.
const FEWEST_SLOTS: u32 = 4;

/// The bits of the place of a slot up to which an index grows fourfold, so that few numbers are put in anew; beyond, where its memory
/// counts, it doubles.
const FOURFOLD_BITS: u32 = 24;

/// How many slots are loaded together when all numbers are put in anew, so that they wait for memory at once.
const TOGETHER: usize = 64;

/// Numbers by hash, in open addressing. The first bits of the hash say where a look-up begins; a slot holds a number plus one in as
/// many bits as the largest number needs, and above it as many of the next bits of the hash as there is room for.
pub struct Index {
    slots: Vec<u32>,
    /// The bits of a number, and of the place of a slot.
    bits: u32,
    count: usize,
}

impl Default for Index {
    fn default() -> Index {
        Index {
            slots: vec![0; 1 << FEWEST_SLOTS],
            bits: FEWEST_SLOTS,
            count: 0,
        }
    }
}

impl Index {
    #[inline]
    fn begin(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.bits)) as usize
    }

    /// The bits of the hash behind those that say where it begins, where a slot has them.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        ((hash >> 32) as u32) << self.bits
    }

    #[inline]
    fn has_tag(&self, slot: u32, hash: u64) -> bool {
        (slot ^ self.tag(hash)) >> self.bits == 0
    }

    #[inline]
    fn number(&self, slot: u32) -> u32 {
        (slot & ((1 << self.bits) - 1)).wrapping_sub(1)
    }

    /// The number with this hash that is the one meant, or the slot where it would stand.
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let slots = self.slots.as_slice();
        let mask = slots.len() - 1;
        let mut at = self.begin(hash);
        loop {
            let slot = slots[at];
            if slot == 0 {
                return Err(at);
            }
            if self.has_tag(slot, hash) && is_it(self.number(slot)) {
                return Ok(self.number(slot));
            }
            at = (at + 1) & mask;
        }
    }

    /// Loads the slot where a look-up begins, and does not look at it: several loads wait for memory at once, as no branch waits for any.
    #[inline]
    pub fn touch(&self, hash: u64) -> u32 {
        self.slots[self.begin(hash)]
    }

    /// The number in a slot that was touched, if it may be the one meant, or 0; without a branch, which could not be foretold.
    #[inline]
    pub fn near(&self, slot: u32, hash: u64) -> u32 {
        let may_be = (slot != 0) & self.has_tag(slot, hash);
        self.number(slot) & u32::from(may_be).wrapping_neg()
    }

    /// Whether there is no room for so many more.
    #[inline]
    pub fn lacks_room(&self, more: usize) -> bool {
        (self.count + more) * 4 > self.slots.len() * 3
    }

    /// Makes room for as many again, or more: every number is put in anew by its hash.
    pub fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        self.bits += if self.bits < FOURFOLD_BITS { 2 } else { 1 };
        // One after the other, so that never both take memory.
        self.slots = Vec::new();
        self.slots = vec![0; 1 << self.bits];
        self.put_all(hash_of);
    }

    /// Puts every number in anew, where their hashes have changed.
    pub fn rebuild(&mut self, hash_of: impl Fn(u32) -> u64) {
        self.slots.fill(0);
        self.put_all(hash_of);
    }

    fn put_all(&mut self, hash_of: impl Fn(u32) -> u64) {
        let count = std::mem::take(&mut self.count) as u32;
        let mut hashes = [0; TOGETHER];
        for first in (0..count).step_by(TOGETHER) {
            let hashes = &mut hashes[..TOGETHER.min((count - first) as usize)];
            let mut touched = 0;
            for (hash, number) in hashes.iter_mut().zip(first..) {
                *hash = hash_of(number);
                touched ^= self.slots[self.begin(*hash)];
            }
            std::hint::black_box(touched);
            for hash in hashes {
                self.put_new(*hash);
            }
        }
    }

    /// Puts the next number in, of something that is not there; there has to be room.
    #[inline]
    pub fn put_new(&mut self, hash: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = self.begin(hash);
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.put(at, hash)
    }

    /// Puts the next number in, at the slot that [`Index::find`] gave; there has to be room.
    #[inline]
    pub fn put(&mut self, slot: usize, hash: u64) -> u32 {
        let number = self.count as u32;
        self.slots[slot] = self.tag(hash) | (number + 1);
        self.count += 1;
        number
    }

    /// Bytes, by capacity.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::finish;

    #[test]
    fn numbers_are_found_by_their_hashes_alone_or_by_what_they_mean() {
        let mut index = Index::default();
        // Of every three, two have the same hash.
        let hash = |number: u32| finish(u64::from(number - u32::from(number % 3 == 2)) << 7);
        for number in 0..10_000 {
            if index.lacks_room(1) {
                index.grow(hash);
            }
            match index.find(hash(number), |other| other == number) {
                Ok(found) => panic!("{number} is there as {found}"),
                Err(slot) => assert_eq!(index.put(slot, hash(number)), number),
            }
        }
        for number in 0..10_000 {
            let found = index.find(hash(number), |other| other == number);
            assert_eq!(found, Ok(number));
        }
        assert!(index.find(finish(1), |_| true).is_err());
        assert!(index.bytes() <= 10_000 * 11);
    }
}

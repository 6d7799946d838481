//! Random numbers, and the steps of a sequence of statements.

/// A small generator of random numbers (SplitMix64), so that a seed names a sequence for ever.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // The first number of a neighbouring seed's sequence, so that the two do not overlap.
        Random(Random(!seed).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    /// One of the words that `|` separates.
    pub fn of<'a>(&mut self, words: &'a str) -> &'a str {
        let words: Vec<&str> = words.split('|').collect();
        words[self.below(words.len())]
    }
}

/// One step: a connection sends a statement.
#[derive(Clone, Debug)]
pub struct Step {
    pub connection: usize,
    pub sql: String,
}

//! Hashing: our own, of 64 bits in every build.

use std::hash::{Hash, Hasher};

/// A mixer of 64 bits, the same in every build.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixer(u64);

pub(crate) const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes one more word into a hash.
#[inline]
pub fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER)
}

/// Spreads a hash over all bits.
#[inline]
pub fn finish(hash: u64) -> u64 {
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
pub fn hash_of(thing: &impl Hash) -> u64 {
    let mut mixer = Mixer::default();
    thing.hash(&mut mixer);
    mixer.finish()
}

//! Which byte stands for which opcode.
//!
//! Brotli predicts a byte of binary data by the classes of the two before it: eight classes of bytes, from 0 alone over 1 to 15 up to 255
//! alone (RFC 7932, 7.1, "signed" contexts). The bytes of WebAssembly's opcodes fall into them by accident. Here opcodes that are followed
//! by the same get bytes of one class. As these bytes are no text, brotli takes the signed contexts in the first place.

use std::collections::BTreeMap;

/// The first byte of each class.
const FIRST: [u8; 8] = [0, 1, 16, 64, 128, 192, 240, 255];
const MOST: [usize; 8] = [1, 15, 48, 64, 64, 48, 15, 1];

/// More rounds than this gain next to nothing.
const MOST_ROUNDS: usize = 20;

/// The byte for every opcode, so that the one before an opcode tells the most about it. To look at both before it gains nothing more.
pub(crate) fn bytes_for(opcodes: &[u8]) -> [u8; 256] {
    let mut classes = Classes::new(opcodes);
    let mut cost = classes.cost();
    for _ in 0..MOST_ROUNDS {
        let before = cost;
        for opcode in classes.frequent.clone() {
            cost = classes.improve(opcode, cost);
        }
        if cost >= before {
            break;
        }
    }
    classes.bytes()
}

struct Classes {
    /// How often an opcode follows another, the earlier first.
    follows: Vec<([u8; 2], f64)>,
    /// The opcodes, the most frequent first.
    frequent: Vec<u8>,
    of: [usize; 256],
}

impl Classes {
    /// The two most frequent have a class to themselves, the others are dealt out.
    fn new(opcodes: &[u8]) -> Classes {
        let mut follows: BTreeMap<[u8; 2], u32> = BTreeMap::new();
        for two in opcodes.windows(2) {
            *follows.entry([two[0], two[1]]).or_default() += 1;
        }
        let mut uses = [0; 256];
        opcodes
            .iter()
            .for_each(|opcode| uses[usize::from(*opcode)] += 1);
        let mut frequent: Vec<u8> = (0..=255).collect();
        frequent.sort_by_key(|opcode| std::cmp::Reverse(uses[usize::from(*opcode)]));
        let mut classes = Classes {
            follows: follows
                .into_iter()
                .map(|(two, times)| (two, f64::from(times)))
                .collect(),
            frequent,
            of: [0; 256],
        };
        let mut left = MOST;
        let mut next = 0;
        for opcode in &classes.frequent {
            while left[next] == 0 {
                next = (next + 1) % 8;
            }
            classes.of[usize::from(*opcode)] = next;
            left[next] -= 1;
            next = (next + 1) % 8;
        }
        classes
            .frequent
            .retain(|opcode| uses[usize::from(*opcode)] > 0);
        classes
    }

    /// Gives the opcode the place of another where that costs less; the cost then.
    fn improve(&mut self, opcode: u8, mut cost: f64) -> f64 {
        let mut partners: [Option<u8>; 8] = [None; 8];
        // Of each class the least frequent: it moves for nothing, where it is not used at all.
        for other in 0..=255u8 {
            let class = self.of[usize::from(other)];
            let is_rarer = |than: u8| self.rank(other) > self.rank(than);
            if partners[class].is_none_or(is_rarer) {
                partners[class] = Some(other);
            }
        }
        for partner in partners.into_iter().flatten() {
            if self.of[usize::from(partner)] == self.of[usize::from(opcode)] {
                continue;
            }
            self.of.swap(usize::from(partner), usize::from(opcode));
            let then = self.cost();
            if then < cost {
                cost = then;
            } else {
                self.of.swap(usize::from(partner), usize::from(opcode));
            }
        }
        cost
    }

    fn rank(&self, opcode: u8) -> usize {
        let place = self.frequent.iter().position(|other| *other == opcode);
        place.unwrap_or(usize::MAX)
    }

    /// The bits that all opcodes take, each predicted by the class of the one before it.
    fn cost(&self) -> f64 {
        let mut times = [[0.0; 256]; 8];
        for ([before, opcode], many) in &self.follows {
            times[self.of[usize::from(*before)]][usize::from(*opcode)] += many;
        }
        let bits = |times: f64| {
            if times > 0.0 {
                times * times.log2()
            } else {
                0.0
            }
        };
        let of_class = |times: &[f64; 256]| {
            let single: f64 = times.iter().map(|times| bits(*times)).sum();
            bits(times.iter().sum()) - single
        };
        times.iter().map(of_class).sum()
    }

    fn bytes(&self) -> [u8; 256] {
        let mut next = FIRST.map(usize::from);
        std::array::from_fn(|opcode| {
            let class = self.of[opcode];
            next[class] += 1;
            (next[class] - 1) as u8
        })
    }
}

//! What was computed once: from numbers to a number.

use crate::hash::{MULTIPLIER, finish, mix};
use crate::index::Index;

/// What was computed: from a few numbers to one.
#[derive(Default)]
pub struct Memo {
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
        if self.index.lacks_room(1) {
            let mut index = std::mem::take(&mut self.index);
            index.grow(|number| hash_of_key(self.key(number)));
            self.index = index;
        }
        self.index.put_new(hash_of_key(key));
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
pub struct PairMemo {
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

/// The most columns of a grid with many rows.
const COLUMNS: usize = 64;

/// The most cells of a grid with more columns.
const CELLS: usize = 1 << 20;

/// What was computed from two numbers to one, of which the second is small: a row for each first number, as long as there are few
/// columns or few cells; beyond that a [`PairMemo`].
#[derive(Default)]
pub struct Grid {
    columns: usize,
    /// The value plus one.
    cells: Vec<u32>,
    rest: PairMemo,
}

impl Grid {
    /// What these two gave.
    #[inline]
    pub fn get(&self, row: u32, column: u32) -> Option<u32> {
        let cell = row as usize * self.columns + column as usize;
        if (column as usize) < self.columns && cell < self.cells.len() {
            let value = self.cells[cell];
            if value != 0 {
                return Some(value.wrapping_sub(1));
            }
        }
        self.get_beyond(row, column)
    }

    #[cold]
    fn get_beyond(&self, row: u32, column: u32) -> Option<u32> {
        self.rest.get(row, column)
    }

    /// Remembers what these two give; it is less than `u32::MAX`.
    pub fn put(&mut self, row: u32, column: u32, value: u32) {
        let rows = self.cells.len().checked_div(self.columns).unwrap_or(0);
        let rows = rows.max(row as usize + 1);
        let mut columns = self.columns;
        while columns <= column as usize {
            columns += (columns / 2).next_multiple_of(8).max(8);
        }
        if columns > COLUMNS && rows * columns > CELLS {
            return self.rest.put(row, column, value);
        }
        if columns > self.columns {
            self.widen(columns);
        }
        let cell = row as usize * self.columns + column as usize;
        if cell >= self.cells.len() {
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

#[cfg(test)]
mod tests {
    use super::*;

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

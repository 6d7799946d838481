//! A table laid out as Lua 5.1 lays it out: an array part, and a hash part of a power of two of nodes with
//! Brent's variation on chained scatter. Which keys land where decides the order of `pairs` and what `#`
//! says about an array with holes, and scripts written against Redis see both.

use super::value::Value;

/// No next node.
const END: u32 = u32::MAX;
/// The largest power of two that an array part or a node array can have.
const MAX_BITS: usize = 26;
/// A table's own size, one array slot's and one node's, as they count against the memory limit.
const TABLE_BYTES: usize = 64;
const SLOT_BYTES: usize = 16;
const NODE_BYTES: usize = 40;

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Value,
    value: Value,
    next: u32,
}

/// Where a key's value is kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Array(usize),
    Node(usize),
}

/// What a collection asks a table's traversal to do with each entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    array: Vec<Value>,
    /// Empty or a power of two long.
    nodes: Vec<Node>,
    /// Every node from here on has been handed out.
    last_free: usize,
    pub metatable: Option<u32>,
    pub readonly: bool,
}

/// An entry as a collection sees it.
pub(super) struct Weakness {
    pub keys: bool,
    pub values: bool,
}

impl Table {
    /// A table with room for so many array items and other keys (`luaH_new`).
    pub fn with_sizes(array: usize, hash: usize) -> Table {
        let mut table = Table::default();
        table.array.resize(array, Value::Nil);
        table.set_node_count(hash);
        table
    }

    /// What the table counts against the memory limit.
    pub fn footprint(&self) -> usize {
        TABLE_BYTES + self.array.len() * SLOT_BYTES + self.nodes.len() * NODE_BYTES
    }

    fn set_node_count(&mut self, count: usize) {
        let size = if count == 0 {
            0
        } else {
            count.next_power_of_two()
        };
        let empty = Node {
            key: Value::Nil,
            value: Value::Nil,
            next: END,
        };
        self.nodes = vec![empty; size];
        self.last_free = size;
    }

    /// The node where a key belongs; only asked while there are nodes.
    fn main_position(&self, key: Value) -> usize {
        let size = self.nodes.len();
        let odd = (size - 1) | 1;
        match key {
            Value::String(s) => s.hash as usize & (size - 1),
            Value::Boolean(b) => usize::from(b) & (size - 1),
            Value::Number(n) => hash_number(n) as usize % odd,
            Value::Table(id) | Value::Function(id) | Value::Thread(id) => id as usize % odd,
            Value::Nil | Value::Null | Value::Dead(_) => 0,
        }
    }

    /// Where the key is, if it is there at all.
    pub fn find(&self, key: Value) -> Option<Place> {
        if let Value::Number(n) = key
            && let Some(i) = array_index(n)
            && i <= self.array.len()
        {
            return Some(Place::Array(i - 1));
        }
        if self.nodes.is_empty() {
            return None;
        }
        let mut at = self.main_position(key);
        loop {
            let node = &self.nodes[at];
            if node.key.raw_equals(key) && !key.is_nil() {
                return Some(Place::Node(at));
            }
            if node.next == END {
                return None;
            }
            at = node.next as usize;
        }
    }

    pub fn at(&self, place: Place) -> Value {
        match place {
            Place::Array(i) => self.array[i],
            Place::Node(i) => self.nodes[i].value,
        }
    }

    pub fn put(&mut self, place: Place, value: Value) {
        match place {
            Place::Array(i) => self.array[i] = value,
            Place::Node(i) => self.nodes[i].value = value,
        }
    }

    pub fn get(&self, key: Value) -> Value {
        self.find(key).map_or(Value::Nil, |place| self.at(place))
    }

    pub fn get_int(&self, index: usize) -> Value {
        if let Some(value) = self.array.get(index.wrapping_sub(1)) {
            return *value;
        }
        self.get(Value::Number(index as f64))
    }

    /// The key's place, made when it is not there yet. The key must be neither nil nor NaN.
    pub fn place(&mut self, key: Value) -> Place {
        match self.find(key) {
            Some(place) => place,
            None => self.new_key(key),
        }
    }

    pub fn set(&mut self, key: Value, value: Value) {
        let place = self.place(key);
        self.put(place, value);
    }

    fn new_key(&mut self, key: Value) -> Place {
        if self.nodes.is_empty() {
            return self.rehash_for(key);
        }
        let main = self.main_position(key);
        if self.nodes[main].value.is_nil() {
            self.nodes[main].key = key;
            return Place::Node(main);
        }
        let Some(free) = self.free_node() else {
            return self.rehash_for(key);
        };
        let other = self.main_position(self.nodes[main].key);
        if other == main {
            let next = self.nodes[main].next;
            self.nodes[free] = Node {
                key,
                value: Value::Nil,
                next,
            };
            self.nodes[main].next = free as u32;
            return Place::Node(free);
        }
        // The node there is a guest from another chain: it moves to the free node.
        let mut before = other;
        while self.nodes[before].next != main as u32 {
            before = self.nodes[before].next as usize;
        }
        self.nodes[before].next = free as u32;
        self.nodes[free] = self.nodes[main];
        self.nodes[main] = Node {
            key,
            value: Value::Nil,
            next: END,
        };
        Place::Node(main)
    }

    fn free_node(&mut self) -> Option<usize> {
        while self.last_free > 0 {
            self.last_free -= 1;
            if self.nodes[self.last_free].key.is_nil() {
                return Some(self.last_free);
            }
        }
        None
    }

    fn rehash_for(&mut self, key: Value) -> Place {
        let mut counts = [0usize; MAX_BITS + 1];
        let mut in_array = self.count_array(&mut counts);
        let mut total = in_array;
        for node in self.nodes.iter().filter(|node| !node.value.is_nil()) {
            in_array += count_index(node.key, &mut counts);
            total += 1;
        }
        in_array += count_index(key, &mut counts);
        total += 1;
        let (size, used) = best_array_size(&counts, in_array);
        self.resize(size, total - used);
        self.place(key)
    }

    fn count_array(&self, counts: &mut [usize; MAX_BITS + 1]) -> usize {
        let mut total = 0;
        for (i, value) in self.array.iter().enumerate() {
            if !value.is_nil() {
                counts[ceil_log2(i + 1)] += 1;
                total += 1;
            }
        }
        total
    }

    fn resize(&mut self, array: usize, hash: usize) {
        let mut vanishing = Vec::new();
        if array < self.array.len() {
            vanishing = self.array.split_off(array);
        } else {
            self.array.resize(array, Value::Nil);
        }
        let old = std::mem::take(&mut self.nodes);
        self.set_node_count(hash);
        for (i, value) in vanishing.into_iter().enumerate() {
            if !value.is_nil() {
                self.set(Value::Number((array + i + 1) as f64), value);
            }
        }
        for node in old.iter().rev().filter(|node| !node.value.is_nil()) {
            self.set(node.key, node.value);
        }
    }

    /// Makes the array part at least so long (`luaH_resizearray`).
    pub fn grow_array(&mut self, size: usize) {
        if size > self.array.len() {
            let nodes = self.nodes.len();
            self.resize(size, nodes);
        }
    }

    /// A border: n with `t[n]` not nil and `t[n+1]` nil; which one, Lua's search decides.
    pub fn border(&self) -> usize {
        let mut high = self.array.len();
        if high > 0 && self.array[high - 1].is_nil() {
            let mut low = 0;
            while high - low > 1 {
                let middle = (low + high) / 2;
                if self.array[middle - 1].is_nil() {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            return low;
        }
        if self.nodes.is_empty() {
            return high;
        }
        self.border_beyond(high)
    }

    fn border_beyond(&self, start: usize) -> usize {
        let mut low = start;
        let mut high = start + 1;
        while !self.get_int(high).is_nil() {
            low = high;
            high *= 2;
            if high > i32::MAX as usize {
                // Built on purpose to mislead the search: count instead.
                let mut i = 1;
                while !self.get_int(i).is_nil() {
                    i += 1;
                }
                return i - 1;
            }
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.get_int(middle).is_nil() {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }

    /// The entry after `key` (nil: the first one), or none after the last; `Err` when the key is not of
    /// this table.
    #[allow(clippy::result_unit_err)]
    pub fn next(&self, key: Value) -> Result<Option<(Value, Value)>, ()> {
        let start = self.position_after(key).ok_or(())?;
        for (i, value) in self.array.iter().enumerate().skip(start) {
            if !value.is_nil() {
                return Ok(Some((Value::Number((i + 1) as f64), *value)));
            }
        }
        let skip = start.saturating_sub(self.array.len());
        for node in self.nodes.iter().skip(skip) {
            if !node.value.is_nil() {
                return Ok(Some((node.key, node.value)));
            }
        }
        Ok(None)
    }

    fn position_after(&self, key: Value) -> Option<usize> {
        if key.is_nil() {
            return Some(0);
        }
        if let Value::Number(n) = key
            && let Some(i) = array_index(n)
            && i <= self.array.len()
        {
            return Some(i);
        }
        if self.nodes.is_empty() {
            return None;
        }
        let mut at = self.main_position(key);
        loop {
            let node = &self.nodes[at];
            let dead = matches!(node.key, Value::Dead(id) if key.collectable() == Some(id));
            if dead || node.key.raw_equals(key) {
                return Some(self.array.len() + at + 1);
            }
            if node.next == END {
                return None;
            }
            at = node.next as usize;
        }
    }

    /// Marks the keys of emptied entries as dead and gives the rest to `visit`.
    pub fn traverse(&mut self, weak: &Weakness, mut visit: impl FnMut(Value)) {
        if !weak.values {
            self.array.iter().for_each(|value| visit(*value));
        }
        for node in &mut self.nodes {
            if node.value.is_nil() {
                if let Some(id) = node.key.collectable() {
                    node.key = Value::Dead(id);
                }
                continue;
            }
            if !weak.keys {
                visit(node.key);
            }
            if !weak.values {
                visit(node.value);
            }
        }
    }

    /// Removes the entries of a weak table that hold something to be collected.
    pub fn clear_weak(&mut self, dies: impl Fn(Value) -> bool) {
        for value in self.array.iter_mut().filter(|value| dies(**value)) {
            *value = Value::Nil;
        }
        for node in &mut self.nodes {
            if !node.value.is_nil() && (dies(node.key) || dies(node.value)) {
                node.value = Value::Nil;
                if let Some(id) = node.key.collectable() {
                    node.key = Value::Dead(id);
                }
            }
        }
    }
}

/// The number as an index from 1 on, when it is a whole one that an array part can have.
fn array_index(n: f64) -> Option<usize> {
    if !(1.0..=2147483647.0).contains(&n) {
        return None;
    }
    let i = n as u32;
    (f64::from(i) == n).then_some(i as usize)
}

fn hash_number(n: f64) -> u32 {
    if n == 0.0 {
        return 0;
    }
    let bits = n.to_bits();
    (bits as u32).wrapping_add((bits >> 32) as u32)
}

fn ceil_log2(x: usize) -> usize {
    x.next_power_of_two().trailing_zeros() as usize
}

fn count_index(key: Value, counts: &mut [usize; MAX_BITS + 1]) -> usize {
    if let Value::Number(n) = key
        && let Some(i) = array_index(n)
        && i <= 1 << MAX_BITS
    {
        counts[ceil_log2(i)] += 1;
        return 1;
    }
    0
}

/// The largest power of two of which more than half the slots would be used, and how many would be.
fn best_array_size(counts: &[usize; MAX_BITS + 1], candidates: usize) -> (usize, usize) {
    let mut below = 0;
    let mut best = (0, 0);
    let mut power = 1;
    for count in counts {
        if power / 2 >= candidates {
            break;
        }
        below += count;
        if below > power / 2 {
            best = (power, below);
        }
        if below == candidates {
            break;
        }
        power *= 2;
    }
    best
}

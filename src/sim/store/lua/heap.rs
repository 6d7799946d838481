//! Everything that has identity, by number: strings (each kept once), tables, functions, variables that
//! closures share, and coroutines. The run owns the heap, so cycles cost nothing when it ends; while it
//! lasts a mark-and-sweep collection, started only between two instructions, frees what is out of reach.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use super::call::Thread;
use super::table::{Table, Weakness};
use super::value::{Str, Value, hash_bytes};
use super::vm::Native;

/// The metamethods, in the order in which the heap keeps their names: the number of the event is the
/// number of the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Index,
    NewIndex,
    Mode,
    Eq,
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Unm,
    Len,
    Lt,
    Le,
    Concat,
    Call,
    ToString,
    Metatable,
}

const EVENT_NAMES: [&str; 18] = [
    "__index",
    "__newindex",
    "__mode",
    "__eq",
    "__add",
    "__sub",
    "__mul",
    "__div",
    "__mod",
    "__pow",
    "__unm",
    "__len",
    "__lt",
    "__le",
    "__concat",
    "__call",
    "__tostring",
    "__metatable",
];

const STRING_BYTES: usize = 40;
const FUNCTION_BYTES: usize = 48;
const VARIABLE_BYTES: usize = 40;
const THREAD_BYTES: usize = 1024;
/// Below this many bytes nothing is collected.
const FIRST_COLLECTION: usize = 256 * 1024;
const NO_STRING: u32 = u32::MAX;

/// Slots of one kind of object.
#[derive(Clone, Debug)]
pub(super) struct Pool<T> {
    slots: Vec<Option<T>>,
    marks: Vec<bool>,
    free: Vec<u32>,
}

impl<T> Pool<T> {
    const fn new() -> Pool<T> {
        Pool {
            slots: Vec::new(),
            marks: Vec::new(),
            free: Vec::new(),
        }
    }

    fn add(&mut self, item: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = Some(item);
            return id;
        }
        self.slots.push(Some(item));
        self.marks.push(false);
        (self.slots.len() - 1) as u32
    }

    /// Marks an object; true when it was not marked before. A slot that is free already (the rest of an
    /// old register) is passed over.
    fn mark(&mut self, id: u32) -> bool {
        let id = id as usize;
        let fresh = id < self.slots.len() && self.slots[id].is_some() && !self.marks[id];
        if fresh {
            self.marks[id] = true;
        }
        fresh
    }

    fn is_marked(&self, id: u32) -> bool {
        self.marks.get(id as usize).copied().unwrap_or(false)
    }

    /// Frees what is not marked, gives it to `gone`, and clears the marks.
    fn sweep(&mut self, mut gone: impl FnMut(T)) {
        for (id, slot) in self.slots.iter_mut().enumerate() {
            if !std::mem::take(&mut self.marks[id])
                && let Some(item) = slot.take()
            {
                self.free.push(id as u32);
                gone(item);
            }
        }
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;
    fn index(&self, id: u32) -> &T {
        match &self.slots[id as usize] {
            Some(item) => item,
            None => unreachable!("a value in reach was collected"),
        }
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        match &mut self.slots[id as usize] {
            Some(item) => item,
            None => unreachable!("a value in reach was collected"),
        }
    }
}

/// A string's bytes and its chain among those with the same hash.
#[derive(Clone, Debug)]
pub(super) struct Text {
    bytes: Arc<[u8]>,
    hash: u32,
    next: u32,
}

/// A function: of the script's, with the variables it shares, or of the library, with values of its own.
#[derive(Clone, Debug)]
pub(super) enum Function {
    Lua { proto: u32, variables: Box<[u32]> },
    Native { run: Native, values: Box<[Value]> },
}

/// A variable that closures share: still a register of a running function, or on its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variable {
    Open { thread: u32, index: usize },
    Closed(Value),
}

/// All objects of a run.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    pub strings: Pool<Text>,
    buckets: Vec<u32>,
    string_count: usize,
    pub tables: Pool<Table>,
    pub functions: Pool<Function>,
    pub variables: Pool<Variable>,
    pub threads: Pool<Thread>,
    /// What is in use, as it counts against the limit.
    pub bytes: usize,
    /// A collection is due above this.
    pub threshold: usize,
    /// `_G`.
    pub globals: u32,
    /// The metatable that all strings share.
    pub string_metatable: Option<u32>,
}

impl Heap {
    pub fn new() -> Heap {
        let mut heap = Heap {
            strings: Pool::new(),
            buckets: vec![NO_STRING; 256],
            string_count: 0,
            tables: Pool::new(),
            functions: Pool::new(),
            variables: Pool::new(),
            threads: Pool::new(),
            bytes: 0,
            threshold: FIRST_COLLECTION,
            globals: 0,
            string_metatable: None,
        };
        for name in EVENT_NAMES {
            heap.string(name.as_bytes());
        }
        heap.globals = heap.add_table(Table::with_sizes(0, 2));
        heap
    }

    /// The string with these bytes; the same bytes always give the same string.
    pub fn string(&mut self, bytes: &[u8]) -> Value {
        let hash = hash_bytes(bytes);
        let mut at = self.buckets[hash as usize & (self.buckets.len() - 1)];
        while at != NO_STRING {
            let text = &self.strings[at];
            if text.hash == hash && *text.bytes == *bytes {
                return Value::String(Str { id: at, hash });
            }
            at = text.next;
        }
        if self.string_count >= self.buckets.len() {
            self.grow_buckets();
        }
        let bucket = hash as usize & (self.buckets.len() - 1);
        let next = self.buckets[bucket];
        let id = self.strings.add(Text {
            bytes: Arc::from(bytes),
            hash,
            next,
        });
        self.buckets[bucket] = id;
        self.string_count += 1;
        self.bytes += STRING_BYTES + bytes.len();
        Value::String(Str { id, hash })
    }

    fn grow_buckets(&mut self) {
        let mask = self.buckets.len() * 2 - 1;
        self.buckets.clear();
        self.buckets.resize(mask + 1, NO_STRING);
        for (id, slot) in self.strings.slots.iter_mut().enumerate() {
            if let Some(text) = slot {
                let bucket = text.hash as usize & mask;
                text.next = std::mem::replace(&mut self.buckets[bucket], id as u32);
            }
        }
    }

    pub fn bytes_of(&self, s: Str) -> &[u8] {
        &self.strings[s.id].bytes
    }

    /// The bytes, held on their own while the heap changes.
    pub fn shared_bytes(&self, s: Str) -> Arc<[u8]> {
        Arc::clone(&self.strings[s.id].bytes)
    }

    pub fn add_table(&mut self, table: Table) -> u32 {
        self.bytes += table.footprint();
        self.tables.add(table)
    }

    pub fn add_function(&mut self, function: Function) -> u32 {
        let slots = match &function {
            Function::Lua { variables, .. } => variables.len(),
            Function::Native { values, .. } => values.len(),
        };
        self.bytes += FUNCTION_BYTES + 16 * slots;
        self.functions.add(function)
    }

    pub fn add_variable(&mut self, variable: Variable) -> u32 {
        self.bytes += VARIABLE_BYTES;
        self.variables.add(variable)
    }

    pub fn add_thread(&mut self, thread: Thread) -> u32 {
        self.bytes += THREAD_BYTES;
        self.threads.add(thread)
    }

    /// Sets a key (neither nil nor NaN) of a table, whatever its metatable and protection say.
    pub fn set(&mut self, table: u32, key: Value, value: Value) {
        let place = self.place(table, key);
        self.tables[table].put(place, value);
    }

    /// The key's place, made when needed; the growth counts against the limit.
    pub fn place(&mut self, table: u32, key: Value) -> super::table::Place {
        let table = &mut self.tables[table];
        if let Some(place) = table.find(key) {
            return place;
        }
        let before = table.footprint();
        let place = table.place(key);
        self.bytes = (self.bytes + table.footprint()).saturating_sub(before);
        place
    }

    pub fn grow_array(&mut self, table: u32, size: usize) {
        let table = &mut self.tables[table];
        let before = table.footprint();
        table.grow_array(size);
        self.bytes = (self.bytes + table.footprint()).saturating_sub(before);
    }

    /// Sets a field by name; for building the library.
    pub fn set_field(&mut self, table: u32, name: &str, value: Value) {
        let key = self.string(name.as_bytes());
        self.set(table, key, value);
    }

    /// Protects every table there is from scripts.
    pub fn protect_all(&mut self) {
        for table in self.tables.slots.iter_mut().flatten() {
            table.readonly = true;
        }
    }

    pub fn metatable(&self, value: Value) -> Option<u32> {
        match value {
            Value::Table(id) => self.tables[id].metatable,
            Value::String(_) => self.string_metatable,
            _ => None,
        }
    }

    /// The metamethod of a metatable, nil when it has none.
    pub fn metamethod(&self, metatable: u32, event: Event) -> Value {
        let name = self.event_name(event);
        self.tables[metatable].get(name)
    }

    /// The value's metamethod, nil when it has none.
    pub fn metamethod_of(&self, value: Value, event: Event) -> Value {
        match self.metatable(value) {
            Some(metatable) => self.metamethod(metatable, event),
            None => Value::Nil,
        }
    }

    pub fn event_name(&self, event: Event) -> Value {
        let id = event as u32;
        Value::String(Str {
            id,
            hash: self.strings[id].hash,
        })
    }

    /// Frees what neither the roots nor the running thread reach.
    pub fn collect(&mut self, roots: impl Iterator<Item = Value>, running: &Thread) {
        let mut work = Marking {
            queue: VecDeque::new(),
            weak: Vec::new(),
        };
        for id in 0..EVENT_NAMES.len() as u32 {
            self.strings.mark(id);
        }
        self.mark(Value::Table(self.globals), &mut work);
        if let Some(id) = self.string_metatable {
            self.mark(Value::Table(id), &mut work);
        }
        for root in roots {
            self.mark(root, &mut work);
        }
        for value in running.live_values() {
            self.mark(value, &mut work);
        }
        for id in &running.open {
            self.variables.mark(*id);
        }
        self.threads.mark(running.id);
        while let Some(value) = work.queue.pop_front() {
            self.visit(value, running, &mut work);
        }
        for id in std::mem::take(&mut work.weak) {
            self.clear_weak_table(id);
        }
        self.sweep();
        self.threshold = (self.bytes * 2).max(FIRST_COLLECTION);
    }

    fn mark(&mut self, value: Value, work: &mut Marking) {
        let fresh = match value {
            Value::String(s) => {
                self.strings.mark(s.id);
                false
            }
            Value::Table(id) => self.tables.mark(id),
            Value::Function(id) => self.functions.mark(id),
            Value::Thread(id) => self.threads.mark(id),
            _ => false,
        };
        if fresh {
            work.queue.push_back(value);
        }
    }

    /// Marks what an object refers to.
    fn visit(&mut self, value: Value, running: &Thread, work: &mut Marking) {
        let mut found = Vec::new();
        match value {
            Value::Table(id) => {
                let weak = self.weakness(id);
                if weak.keys || weak.values {
                    work.weak.push(id);
                }
                let table = &mut self.tables[id];
                found.extend(table.metatable.map(Value::Table));
                table.traverse(&weak, |value| found.push(value));
            }
            Value::Function(id) => {
                let variables: Vec<u32> = match &self.functions[id] {
                    Function::Native { values, .. } => {
                        found.extend(values.iter());
                        Vec::new()
                    }
                    Function::Lua { variables, .. } => variables.to_vec(),
                };
                for id in variables {
                    if self.variables.mark(id) {
                        found.push(self.variable_value(id, running));
                    }
                }
            }
            Value::Thread(id) => {
                let thread = &self.threads[id];
                found.extend(thread.live_values());
                for id in &thread.open {
                    self.variables.mark(*id);
                }
            }
            _ => {}
        }
        for value in found {
            self.mark(value, work);
        }
    }

    fn variable_value(&self, id: u32, running: &Thread) -> Value {
        match self.variables[id] {
            Variable::Closed(value) => value,
            Variable::Open { thread, index } if thread == running.id => running.stack[index],
            Variable::Open { thread, index } => self.threads[thread].stack[index],
        }
    }

    fn weakness(&self, table: u32) -> Weakness {
        let mode = match self.metatable(Value::Table(table)) {
            Some(metatable) => self.metamethod(metatable, Event::Mode),
            None => Value::Nil,
        };
        let Value::String(mode) = mode else {
            return Weakness {
                keys: false,
                values: false,
            };
        };
        let mode = self.bytes_of(mode);
        Weakness {
            keys: mode.contains(&b'k'),
            values: mode.contains(&b'v'),
        }
    }

    /// Strings count as values, never as references, and stay.
    fn clear_weak_table(&mut self, id: u32) {
        let Heap {
            strings,
            tables,
            functions,
            threads,
            ..
        } = self;
        let mut table = match tables.slots[id as usize].take() {
            Some(table) => table,
            None => return,
        };
        let mut kept = Vec::new();
        table.traverse(
            &Weakness {
                keys: false,
                values: false,
            },
            |value| {
                if let Value::String(s) = value {
                    kept.push(s.id);
                }
            },
        );
        for id in kept {
            strings.mark(id);
        }
        table.clear_weak(|value| match value {
            Value::Table(other) => other != id && !tables.is_marked(other),
            Value::Function(id) => !functions.is_marked(id),
            Value::Thread(id) => !threads.is_marked(id),
            _ => false,
        });
        tables.slots[id as usize] = Some(table);
    }

    fn sweep(&mut self) {
        let mut freed = 0;
        // A coroutine out of reach leaves its variables to the closures that share them.
        let mut closing = Vec::new();
        for (id, slot) in self.threads.slots.iter().enumerate() {
            if let Some(thread) = slot
                && !self.threads.is_marked(id as u32)
            {
                for variable in &thread.open {
                    if let Variable::Open { index, .. } = self.variables[*variable] {
                        closing.push((*variable, thread.stack[index]));
                    }
                }
            }
        }
        for (variable, value) in closing {
            self.variables[variable] = Variable::Closed(value);
        }
        self.tables.sweep(|table| freed += table.footprint());
        self.functions.sweep(|function| {
            let slots = match &function {
                Function::Lua { variables, .. } => variables.len(),
                Function::Native { values, .. } => values.len(),
            };
            freed += FUNCTION_BYTES + 16 * slots;
        });
        self.variables.sweep(|_| freed += VARIABLE_BYTES);
        self.threads
            .sweep(|thread| freed += THREAD_BYTES + thread.footprint());
        let mut dropped = 0;
        self.strings.sweep(|text| {
            freed += STRING_BYTES + text.bytes.len();
            dropped += 1;
        });
        if dropped > 0 {
            self.string_count -= dropped;
            self.relink_buckets();
        }
        self.bytes = self.bytes.saturating_sub(freed);
    }

    fn relink_buckets(&mut self) {
        let mask = self.buckets.len() - 1;
        self.buckets.fill(NO_STRING);
        for (id, slot) in self.strings.slots.iter_mut().enumerate() {
            if let Some(text) = slot {
                let bucket = text.hash as usize & mask;
                text.next = std::mem::replace(&mut self.buckets[bucket], id as u32);
            }
        }
    }
}

/// What a collection still has to look at.
struct Marking {
    queue: VecDeque<Value>,
    /// Tables whose entries may have to go.
    weak: Vec<u32>,
}

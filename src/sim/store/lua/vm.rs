//! The machine that executes a script: registers, instructions, and what they mean for values with
//! metatables.

use std::rc::Rc;
use std::sync::Arc;

use super::Host;
use super::call::{Thread, Throw};
use super::code::{
    CONSTANT, Constant, FIELDS_PER_FLUSH, Instruction, Proto, arg_a, arg_b, arg_bx, arg_c, arg_sbx,
    arithmetic, byte_to_size, op, opcode,
};
use super::heap::{Event, Function, Heap};
use super::number;
use super::table::Table;
use super::value::{Str, Value};

/// A function of the library: takes its arguments from the stack, leaves its results on top of it and
/// returns how many they are.
pub(super) type Native = for<'h> fn(&mut Vm<'h>) -> Result<usize, Throw>;

/// How many metatables are followed from one to the next.
const MAX_CHAIN: usize = 100;

/// A function's code with its constants and inner functions as this run knows them.
pub(super) struct Linked {
    pub proto: Arc<Proto>,
    constants: Vec<Value>,
    children: Vec<u32>,
}

/// Options of the cjson library that a script can change.
pub(super) struct JsonOptions {
    pub sparse_convert: bool,
    pub sparse_ratio: i32,
    pub sparse_safe: i32,
    pub encode_max_depth: i32,
    pub decode_max_depth: i32,
    pub precision: i32,
    pub encode_invalid: i32,
    pub decode_invalid: bool,
    pub keep_buffer: bool,
}

/// One run of a script.
pub(super) struct Vm<'h> {
    pub heap: Heap,
    /// The coroutine that runs, moved out of the heap.
    pub thread: Thread,
    /// Those that wait for it, the innermost last.
    pub resumers: Vec<u32>,
    pub linked: Vec<Rc<Linked>>,
    /// The next instruction of the frame on top.
    pub pc: usize,
    pub native_calls: usize,
    /// Values that a native function holds on to.
    pub held: Vec<Value>,
    /// The value of the error that is on its way.
    pub error: Value,
    pub host: &'h mut dyn Host,
    pub fuel: u64,
    pub memory: usize,
    pub random: u64,
    pub json: JsonOptions,
}

impl Vm<'_> {
    /// Uses up fuel for work that a native function does.
    pub fn burn(&mut self, amount: usize) -> Result<(), Throw> {
        match self.fuel.checked_sub(amount as u64) {
            Some(rest) => {
                self.fuel = rest;
                Ok(())
            }
            None => {
                self.fuel = 0;
                Err(Throw::Fuel)
            }
        }
    }

    /// Makes sure that so many bytes more are within the limit.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Throw> {
        if self.heap.bytes.saturating_add(bytes) > self.memory {
            return Err(Throw::Memory);
        }
        Ok(())
    }

    /// A string made by the script.
    pub fn new_string(&mut self, bytes: &[u8]) -> Result<Value, Throw> {
        self.reserve(bytes.len())?;
        self.burn(bytes.len() / 256)?;
        Ok(self.heap.string(bytes))
    }

    /// A table made by the script.
    pub fn new_table(&mut self, array: usize, hash: usize) -> Result<u32, Throw> {
        self.reserve(
            array
                .saturating_mul(16)
                .saturating_add(hash.saturating_mul(80)),
        )?;
        self.burn((array + hash) / 8)?;
        Ok(self.heap.add_table(Table::with_sizes(array, hash)))
    }

    /// Frees what is out of reach when it is time to; the script's values must all be on its stacks.
    pub fn collect_if_due(&mut self) -> Result<(), Throw> {
        if self.heap.bytes >= self.heap.threshold.min(self.memory) {
            self.collect_now();
            self.reserve(0)?;
        }
        Ok(())
    }

    pub fn collect_now(&mut self) {
        let waiting = self.resumers.iter().map(|id| Value::Thread(*id));
        let constants = self
            .linked
            .iter()
            .flat_map(|linked| linked.constants.iter().copied());
        let held = self.held.iter().copied().chain([self.error]);
        self.heap
            .collect(waiting.chain(constants).chain(held), &self.thread);
    }

    /// Makes a function of code that no closure has been made of yet.
    pub fn link(&mut self, proto: &Arc<Proto>) -> u32 {
        let constants = proto
            .constants
            .iter()
            .map(|constant| match constant {
                Constant::Nil => Value::Nil,
                Constant::Boolean(value) => Value::Boolean(*value),
                Constant::Number(number) => Value::Number(*number),
                Constant::String(text) => self.heap.string(text),
            })
            .collect();
        // Functions nest no deeper than the parser's limit.
        let children = proto
            .children
            .iter()
            .map(|child| self.link(child))
            .collect();
        self.heap.bytes += 16 * (proto.code.len() + proto.constants.len());
        self.linked.push(Rc::new(Linked {
            proto: Arc::clone(proto),
            constants,
            children,
        }));
        (self.linked.len() - 1) as u32
    }

    /// Compiles a text into a function, or gives the error's text.
    pub fn load(&mut self, source: &[u8], chunk: &[u8]) -> Result<Result<Value, Vec<u8>>, Throw> {
        self.burn(source.len())?;
        self.reserve(source.len().saturating_mul(32))?;
        match super::parser::compile(source, chunk, self.native_calls) {
            Ok(proto) => Ok(Ok(self.main_function(&Arc::new(proto)))),
            Err(text) => Ok(Err(text)),
        }
    }

    pub fn main_function(&mut self, proto: &Arc<Proto>) -> Value {
        let proto = self.link(proto);
        let variables = Box::default();
        Value::Function(self.heap.add_function(Function::Lua { proto, variables }))
    }

    // Reading and writing tables.

    /// `object[key]`; the object stands at `index` on the stack, or nowhere.
    pub fn index(
        &mut self,
        object: Value,
        key: Value,
        index: Option<usize>,
    ) -> Result<Value, Throw> {
        let mut object = object;
        let mut index = index;
        for _ in 0..MAX_CHAIN {
            let handler = match object {
                Value::Table(id) => {
                    let table = &self.heap.tables[id];
                    let value = table.get(key);
                    let Some(metatable) = table.metatable else {
                        return Ok(value);
                    };
                    if !value.is_nil() {
                        return Ok(value);
                    }
                    match self.heap.metamethod(metatable, Event::Index) {
                        Value::Nil => return Ok(Value::Nil),
                        handler => handler,
                    }
                }
                other => match self.heap.metamethod_of(other, Event::Index) {
                    Value::Nil => return Err(self.type_error(other, index, "index")),
                    handler => handler,
                },
            };
            if matches!(handler, Value::Function(_)) {
                return self.call_for_value(handler, object, key);
            }
            object = handler;
            index = None;
        }
        Err(self.run_error(b"loop in gettable"))
    }

    /// `object[key] = value`.
    pub fn set_index(
        &mut self,
        object: Value,
        key: Value,
        value: Value,
        index: Option<usize>,
    ) -> Result<(), Throw> {
        let mut object = object;
        let mut index = index;
        for _ in 0..MAX_CHAIN {
            let handler = match object {
                Value::Table(id) => {
                    let place = self.writable_place(id, key)?;
                    let table = &mut self.heap.tables[id];
                    let Some(metatable) = table.metatable else {
                        table.put(place, value);
                        return Ok(());
                    };
                    if !table.at(place).is_nil() {
                        table.put(place, value);
                        return Ok(());
                    }
                    match self.heap.metamethod(metatable, Event::NewIndex) {
                        Value::Nil => {
                            self.heap.tables[id].put(place, value);
                            return Ok(());
                        }
                        handler => handler,
                    }
                }
                other => match self.heap.metamethod_of(other, Event::NewIndex) {
                    Value::Nil => return Err(self.type_error(other, index, "index")),
                    handler => handler,
                },
            };
            if matches!(handler, Value::Function(_)) {
                let callee = self.thread.top;
                for argument in [handler, object, key, value] {
                    self.push(argument)?;
                }
                return self.call(callee, 0);
            }
            object = handler;
            index = None;
        }
        Err(self.run_error(b"loop in settable"))
    }

    fn writable_place(&mut self, id: u32, key: Value) -> Result<super::table::Place, Throw> {
        let table = &self.heap.tables[id];
        if table.readonly {
            return Err(self.run_error(b"Attempt to modify a readonly table"));
        }
        if let Some(place) = table.find(key) {
            return Ok(place);
        }
        if key.is_nil() {
            return Err(self.run_error(b"table index is nil"));
        }
        if matches!(key, Value::Number(n) if n.is_nan()) {
            return Err(self.run_error(b"table index is NaN"));
        }
        self.reserve(0)?;
        Ok(self.heap.place(id, key))
    }

    /// `rawset`.
    pub fn raw_set(&mut self, id: u32, key: Value, value: Value) -> Result<(), Throw> {
        let place = self.writable_place(id, key)?;
        self.heap.tables[id].put(place, value);
        Ok(())
    }

    // Values as numbers and strings.

    /// A number, or a string that reads as one.
    pub fn to_number(&self, value: Value) -> Option<f64> {
        match value {
            Value::Number(n) => Some(n),
            Value::String(s) => number::parse(self.heap.bytes_of(s)),
            _ => None,
        }
    }

    /// A string, or a number as one.
    pub fn string_of(&mut self, value: Value) -> Option<Str> {
        match value {
            Value::String(s) => Some(s),
            Value::Number(n) => match self.heap.string(number::to_text(n).as_bytes()) {
                Value::String(s) => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    fn is_stringlike(value: Value) -> bool {
        matches!(value, Value::String(_) | Value::Number(_))
    }

    // Operators with metamethods.

    fn slow_arithmetic(
        &mut self,
        operation: u32,
        left: (Value, Option<usize>),
        right: (Value, Option<usize>),
    ) -> Result<Value, Throw> {
        let numbers = (self.to_number(left.0), self.to_number(right.0));
        if let (Some(a), Some(b)) = numbers
            && let Some(result) = arithmetic(operation, a, b)
        {
            return Ok(Value::Number(result));
        }
        let event = match operation {
            op::ADD => Event::Add,
            op::SUB => Event::Sub,
            op::MUL => Event::Mul,
            op::DIV => Event::Div,
            op::MOD => Event::Mod,
            op::POW => Event::Pow,
            _ => Event::Unm,
        };
        if let Some(result) = self.binary_metamethod(event, left.0, right.0)? {
            return Ok(result);
        }
        let (value, index) = if numbers.0.is_none() { left } else { right };
        Err(self.type_error(value, index, "perform arithmetic on"))
    }

    fn binary_metamethod(
        &mut self,
        event: Event,
        left: Value,
        right: Value,
    ) -> Result<Option<Value>, Throw> {
        let mut handler = self.heap.metamethod_of(left, event);
        if handler.is_nil() {
            handler = self.heap.metamethod_of(right, event);
        }
        if handler.is_nil() {
            return Ok(None);
        }
        self.call_for_value(handler, left, right).map(Some)
    }

    fn length(&mut self, value: Value, index: usize) -> Result<Value, Throw> {
        match value {
            Value::Table(id) => Ok(Value::Number(self.heap.tables[id].border() as f64)),
            Value::String(s) => Ok(Value::Number(self.heap.bytes_of(s).len() as f64)),
            other => match self.binary_metamethod(Event::Len, other, Value::Nil)? {
                Some(length) => Ok(length),
                None => Err(self.type_error(other, Some(index), "get length of")),
            },
        }
    }

    /// Equal, asking `__eq` when both have the same one.
    pub fn equals(&mut self, left: Value, right: Value) -> Result<bool, Throw> {
        if left.raw_equals(right) {
            return Ok(true);
        }
        let (Value::Table(_), Value::Table(_)) = (left, right) else {
            return Ok(false);
        };
        let handler = self.heap.metamethod_of(left, Event::Eq);
        let other = self.heap.metamethod_of(right, Event::Eq);
        if handler.is_nil() || !handler.raw_equals(other) {
            return Ok(false);
        }
        Ok(self.call_for_value(handler, left, right)?.truthy())
    }

    /// `left < right`.
    pub fn less_than(&mut self, left: Value, right: Value) -> Result<bool, Throw> {
        match (left, right) {
            (Value::Number(a), Value::Number(b)) => Ok(a < b),
            (Value::String(a), Value::String(b)) => {
                Ok(self.heap.bytes_of(a) < self.heap.bytes_of(b))
            }
            _ => match self.order_metamethod(Event::Lt, left, right)? {
                Some(result) => Ok(result),
                None => Err(self.order_error(left, right)),
            },
        }
    }

    fn less_equal(&mut self, left: Value, right: Value) -> Result<bool, Throw> {
        match (left, right) {
            (Value::Number(a), Value::Number(b)) => Ok(a <= b),
            (Value::String(a), Value::String(b)) => {
                Ok(self.heap.bytes_of(a) <= self.heap.bytes_of(b))
            }
            _ => {
                if let Some(result) = self.order_metamethod(Event::Le, left, right)? {
                    return Ok(result);
                }
                match self.order_metamethod(Event::Lt, right, left)? {
                    Some(result) => Ok(!result),
                    None => Err(self.order_error(left, right)),
                }
            }
        }
    }

    fn order_metamethod(
        &mut self,
        event: Event,
        left: Value,
        right: Value,
    ) -> Result<Option<bool>, Throw> {
        if left.type_name() != right.type_name() {
            return Ok(None);
        }
        let handler = self.heap.metamethod_of(left, event);
        if handler.is_nil() || !handler.raw_equals(self.heap.metamethod_of(right, event)) {
            return Ok(None);
        }
        Ok(Some(self.call_for_value(handler, left, right)?.truthy()))
    }

    fn order_error(&mut self, left: Value, right: Value) -> Throw {
        let (left, right) = (left.type_name(), right.type_name());
        // Lua takes two types for the same when their third letters are.
        let message = if left.as_bytes().get(2) == right.as_bytes().get(2) {
            format!("attempt to compare two {left} values")
        } else {
            format!("attempt to compare {left} with {right}")
        };
        self.run_error(message.as_bytes())
    }

    /// Joins the registers from `first` to `last`, from the right; the result lands in the first.
    fn concat(&mut self, first: usize, last: usize) -> Result<(), Throw> {
        let mut last = last;
        while last > first {
            let right = self.thread.stack[last];
            let left = self.thread.stack[last - 1];
            if !Self::is_stringlike(left) || !Self::is_stringlike(right) {
                let result = self.binary_metamethod(Event::Concat, left, right)?;
                let Some(result) = result else {
                    let (value, at) = if Self::is_stringlike(left) {
                        (right, last)
                    } else {
                        (left, last - 1)
                    };
                    return Err(self.type_error(value, Some(at), "concatenate"));
                };
                last -= 1;
                self.thread.stack[last] = result;
                continue;
            }
            let mut start = last - 1;
            while start > first && Self::is_stringlike(self.thread.stack[start - 1]) {
                start -= 1;
            }
            let joined = self.joined(start, last)?;
            self.thread.stack[start] = joined;
            last = start;
        }
        Ok(())
    }

    fn joined(&mut self, start: usize, last: usize) -> Result<Value, Throw> {
        let mut bytes = Vec::new();
        for i in start..=last {
            match self.thread.stack[i] {
                Value::String(s) => {
                    let part = self.heap.bytes_of(s);
                    if self.heap.bytes + bytes.len() + part.len() > self.memory {
                        return Err(Throw::Memory);
                    }
                    bytes.extend_from_slice(part);
                }
                Value::Number(n) => bytes.extend_from_slice(number::to_text(n).as_bytes()),
                _ => {}
            }
        }
        self.new_string(&bytes)
    }

    // The instructions.

    fn operand(&self, linked: &Linked, base: usize, operand: u32) -> Value {
        if operand >= CONSTANT {
            linked.constants[(operand - CONSTANT) as usize]
        } else {
            self.thread.stack[base + operand as usize]
        }
    }

    /// Executes the frame on top, and those it calls, until `depth` frames are left.
    pub fn execute(&mut self, depth: usize) -> Result<(), Throw> {
        while self.thread.frames.len() > depth {
            let frame = *self.frame();
            let linked = Rc::clone(&self.linked[frame.proto as usize]);
            self.execute_frame(&linked, frame.base, frame.function, depth)?;
        }
        Ok(())
    }

    /// Executes instructions until another frame is on top.
    fn execute_frame(
        &mut self,
        linked: &Linked,
        base: usize,
        function: u32,
        depth: usize,
    ) -> Result<(), Throw> {
        let code = &linked.proto.code[..];
        loop {
            if self.fuel == 0 {
                return Err(Throw::Fuel);
            }
            self.fuel -= 1;
            let i = code[self.pc];
            self.pc += 1;
            let a = base + arg_a(i) as usize;
            match opcode(i) {
                op::MOVE => self.thread.stack[a] = self.thread.stack[base + arg_b(i) as usize],
                op::LOADK => self.thread.stack[a] = linked.constants[arg_bx(i) as usize],
                op::LOADBOOL => {
                    self.thread.stack[a] = Value::Boolean(arg_b(i) != 0);
                    if arg_c(i) != 0 {
                        self.pc += 1;
                    }
                }
                op::LOADNIL => {
                    self.thread.stack[a..=base + arg_b(i) as usize].fill(Value::Nil);
                }
                op::GETUPVAL => {
                    let id = self.shared(function, arg_b(i));
                    self.thread.stack[a] = self.variable(id);
                }
                op::SETUPVAL => {
                    let id = self.shared(function, arg_b(i));
                    self.set_variable(id, self.thread.stack[a]);
                }
                op::GETGLOBAL => {
                    let key = linked.constants[arg_bx(i) as usize];
                    let globals = Value::Table(self.heap.globals);
                    let value = self.index(globals, key, None)?;
                    self.thread.stack[a] = value;
                }
                op::SETGLOBAL => {
                    let key = linked.constants[arg_bx(i) as usize];
                    let globals = Value::Table(self.heap.globals);
                    self.set_index(globals, key, self.thread.stack[a], None)?;
                }
                op::GETTABLE => {
                    let at = base + arg_b(i) as usize;
                    let key = self.operand(linked, base, arg_c(i));
                    let value = self.index(self.thread.stack[at], key, Some(at))?;
                    self.thread.stack[a] = value;
                }
                op::SETTABLE => {
                    let key = self.operand(linked, base, arg_b(i));
                    let value = self.operand(linked, base, arg_c(i));
                    self.set_index(self.thread.stack[a], key, value, Some(a))?;
                }
                op::NEWTABLE => {
                    let array = byte_to_size(arg_b(i)) as usize;
                    let hash = byte_to_size(arg_c(i)) as usize;
                    let table = self.new_table(array, hash)?;
                    self.thread.stack[a] = Value::Table(table);
                    self.collect_if_due()?;
                }
                op::SELF => {
                    let at = base + arg_b(i) as usize;
                    let object = self.thread.stack[at];
                    self.thread.stack[a + 1] = object;
                    let key = self.operand(linked, base, arg_c(i));
                    let method = self.index(object, key, Some(at))?;
                    self.thread.stack[a] = method;
                }
                op::ADD | op::SUB | op::MUL | op::DIV | op::MOD | op::POW => {
                    let left = self.operand(linked, base, arg_b(i));
                    let right = self.operand(linked, base, arg_c(i));
                    let result = match (left, right) {
                        (Value::Number(x), Value::Number(y)) => {
                            let result = match opcode(i) {
                                op::ADD => x + y,
                                op::SUB => x - y,
                                op::MUL => x * y,
                                op::DIV => x / y,
                                other => arithmetic(other, x, y).unwrap_or(x),
                            };
                            Value::Number(number::settle(result, x, y))
                        }
                        _ => self.slow_arithmetic(
                            opcode(i),
                            (left, register(base, arg_b(i))),
                            (right, register(base, arg_c(i))),
                        )?,
                    };
                    self.thread.stack[a] = result;
                }
                op::UNM => {
                    let at = base + arg_b(i) as usize;
                    let value = self.thread.stack[at];
                    let result = match value {
                        Value::Number(x) => Value::Number(-x),
                        _ => {
                            let operand = (value, Some(at));
                            self.slow_arithmetic(op::UNM, operand, operand)?
                        }
                    };
                    self.thread.stack[a] = result;
                }
                op::NOT => {
                    let truth = self.thread.stack[base + arg_b(i) as usize].truthy();
                    self.thread.stack[a] = Value::Boolean(!truth);
                }
                op::LEN => {
                    let at = base + arg_b(i) as usize;
                    let length = self.length(self.thread.stack[at], at)?;
                    self.thread.stack[a] = length;
                }
                op::CONCAT => {
                    let first = base + arg_b(i) as usize;
                    self.concat(first, base + arg_c(i) as usize)?;
                    self.thread.stack[a] = self.thread.stack[first];
                    self.collect_if_due()?;
                }
                op::JMP => self.branch(i),
                op::EQ | op::LT | op::LE => {
                    let left = self.operand(linked, base, arg_b(i));
                    let right = self.operand(linked, base, arg_c(i));
                    let result = match opcode(i) {
                        op::EQ => self.equals(left, right)?,
                        op::LT => self.less_than(left, right)?,
                        _ => self.less_equal(left, right)?,
                    };
                    self.skip_unless(code, result == (arg_a(i) != 0));
                }
                op::TEST => {
                    let truth = self.thread.stack[a].truthy();
                    self.skip_unless(code, truth == (arg_c(i) != 0));
                }
                op::TESTSET => {
                    let value = self.thread.stack[base + arg_b(i) as usize];
                    let takes = value.truthy() == (arg_c(i) != 0);
                    if takes {
                        self.thread.stack[a] = value;
                    }
                    self.skip_unless(code, takes);
                }
                op::CALL => {
                    if arg_b(i) != 0 {
                        self.thread.top = a + arg_b(i) as usize;
                    }
                    let results = arg_c(i) as i32 - 1;
                    if self.begin_call(a, results)? {
                        return Ok(());
                    }
                    if results >= 0 {
                        self.thread.top = self.frame().top;
                    }
                }
                op::TAILCALL => {
                    if arg_b(i) != 0 {
                        self.thread.top = a + arg_b(i) as usize;
                    }
                    if self.begin_call(a, -1)? {
                        self.replace_frame();
                        return Ok(());
                    }
                }
                op::RETURN => {
                    if arg_b(i) != 0 {
                        self.thread.top = a + arg_b(i) as usize - 1;
                    }
                    if !self.thread.open.is_empty() {
                        self.close_variables(base);
                    }
                    if self.end_call(a) && self.thread.frames.len() > depth {
                        self.thread.top = self.frame().top;
                    }
                    return Ok(());
                }
                op::FORLOOP => self.for_loop(i, a),
                op::FORPREP => self.prepare_for(i, a)?,
                op::TFORLOOP => {
                    let results = a + 3;
                    self.thread.stack.copy_within(a..results, results);
                    self.thread.top = results + 3;
                    self.call(results, arg_c(i) as i32)?;
                    self.thread.top = self.frame().top;
                    let first = self.thread.stack[results];
                    if !first.is_nil() {
                        self.thread.stack[results - 1] = first;
                        self.branch(code[self.pc]);
                    }
                    self.pc += 1;
                }
                op::SETLIST => self.set_list(i, a, code)?,
                op::CLOSE => self.close_variables(a),
                op::CLOSURE => {
                    let child = linked.children[arg_bx(i) as usize];
                    let id = self.make_closure(child, base, function, code);
                    self.thread.stack[a] = Value::Function(id);
                    self.collect_if_due()?;
                }
                op::VARARG => self.spread_varargs(i, a, base, linked)?,
                _ => unreachable!("the compiler emits no other instruction"),
            }
        }
    }

    fn shared(&self, function: u32, index: u32) -> u32 {
        match &self.heap.functions[function] {
            Function::Lua { variables, .. } => variables[index as usize],
            Function::Native { .. } => unreachable!("only a script's function executes"),
        }
    }

    fn branch(&mut self, i: Instruction) {
        self.pc = (self.pc as i64 + i64::from(arg_sbx(i))) as usize;
    }

    /// After a test comes a jump, taken when the test was met.
    fn skip_unless(&mut self, code: &[Instruction], met: bool) {
        if met {
            self.branch(code[self.pc]);
        }
        self.pc += 1;
    }

    /// Puts the frame on top in the place of the one that called it last thing.
    fn replace_frame(&mut self) {
        let Some(new) = self.thread.frames.pop() else {
            return;
        };
        let old_base = self.frame().base;
        if !self.thread.open.is_empty() {
            self.close_variables(old_base);
        }
        let target = self.frame().callee;
        let length = self.thread.top - new.callee;
        self.thread
            .stack
            .copy_within(new.callee..self.thread.top, target);
        self.thread.top = target + length;
        let frame = self.frame();
        frame.base = target + (new.base - new.callee);
        frame.top = target + length;
        frame.function = new.function;
        frame.proto = new.proto;
        frame.tail_calls += 1;
    }

    fn for_loop(&mut self, i: Instruction, a: usize) {
        let (Value::Number(index), Value::Number(limit), Value::Number(step)) = (
            self.thread.stack[a],
            self.thread.stack[a + 1],
            self.thread.stack[a + 2],
        ) else {
            return;
        };
        let index = index + step;
        let goes_on = if 0.0 < step {
            index <= limit
        } else {
            limit <= index
        };
        if goes_on {
            self.branch(i);
            self.thread.stack[a] = Value::Number(index);
            self.thread.stack[a + 3] = Value::Number(index);
        }
    }

    fn prepare_for(&mut self, i: Instruction, a: usize) -> Result<(), Throw> {
        let mut numbers = [0.0; 3];
        for (at, what) in ["initial value", "limit", "step"].iter().enumerate() {
            match self.to_number(self.thread.stack[a + at]) {
                Some(number) => numbers[at] = number,
                None => {
                    let message = format!("'for' {what} must be a number");
                    return Err(self.run_error(message.as_bytes()));
                }
            }
        }
        let [start, limit, step] = numbers;
        self.thread.stack[a] = Value::Number(start - step);
        self.thread.stack[a + 1] = Value::Number(limit);
        self.thread.stack[a + 2] = Value::Number(step);
        self.branch(i);
        Ok(())
    }

    fn set_list(&mut self, i: Instruction, a: usize, code: &[Instruction]) -> Result<(), Throw> {
        let mut count = arg_b(i) as usize;
        let mut batch = arg_c(i);
        if count == 0 {
            count = self.thread.top - a - 1;
            self.thread.top = self.frame().top;
        }
        if batch == 0 {
            batch = code[self.pc];
            self.pc += 1;
        }
        let Value::Table(table) = self.thread.stack[a] else {
            return Ok(());
        };
        self.burn(count / 8)?;
        let start = (batch - 1) as usize * FIELDS_PER_FLUSH as usize;
        self.reserve(16 * count)?;
        self.heap.grow_array(table, start + count);
        for at in (1..=count).rev() {
            let value = self.thread.stack[a + at];
            self.heap
                .set(table, Value::Number((start + at) as f64), value);
        }
        Ok(())
    }

    fn make_closure(
        &mut self,
        child: u32,
        base: usize,
        function: u32,
        code: &[Instruction],
    ) -> u32 {
        let count = self.linked[child as usize].proto.upvalue_names.len();
        let mut variables = Vec::with_capacity(count);
        for capture in &code[self.pc..self.pc + count] {
            variables.push(if opcode(*capture) == op::GETUPVAL {
                self.shared(function, arg_b(*capture))
            } else {
                self.share_register(base + arg_b(*capture) as usize)
            });
        }
        self.pc += count;
        let variables = variables.into_boxed_slice();
        self.heap.add_function(Function::Lua {
            proto: child,
            variables,
        })
    }

    fn spread_varargs(
        &mut self,
        i: Instruction,
        a: usize,
        base: usize,
        linked: &Linked,
    ) -> Result<(), Throw> {
        let fixed = linked.proto.parameters as usize;
        let given = (base - self.frame().callee - 1).saturating_sub(fixed);
        let wanted = match arg_b(i) {
            0 => {
                self.thread.top = a;
                self.ensure_stack(given)?;
                self.thread.top = a + given;
                given
            }
            count => count as usize - 1,
        };
        let copied = wanted.min(given);
        self.thread
            .stack
            .copy_within(base - given..base - given + copied, a);
        self.thread.stack[a + copied..a + wanted].fill(Value::Nil);
        Ok(())
    }
}

/// Where an operand stands on the stack, unless it is a constant.
fn register(base: usize, operand: u32) -> Option<usize> {
    (operand < CONSTANT).then(|| base + operand as usize)
}

//! How the library's functions take their arguments and give their results, with the errors of Lua's
//! auxiliary library.

use std::sync::Arc;

use super::call::Throw;
use super::heap::{Event, Function, Heap};
use super::number;
use super::value::{Str, Value};
use super::vm::{Native, Vm};

/// Values that a native function may have on the stack at once (`LUAI_MAXCSTACK`).
const MAX_NATIVE_STACK: usize = 8000;

impl Heap {
    /// Adds functions to a table of the library.
    pub fn register(&mut self, table: u32, functions: &[(&str, Native)]) {
        for (name, run) in functions {
            let function = self.native(*run);
            self.set_field(table, name, function);
        }
    }

    /// A native function without values of its own.
    pub fn native(&mut self, run: Native) -> Value {
        let function = Function::Native {
            run,
            values: Box::default(),
        };
        Value::Function(self.add_function(function))
    }
}

impl Vm<'_> {
    fn base(&self) -> usize {
        self.thread.frames.last().map_or(0, |frame| frame.base)
    }

    /// How many arguments the running native function was given.
    pub fn argument_count(&self) -> usize {
        self.thread.top - self.base()
    }

    /// An argument, counted from 1; nil when it was not given.
    pub fn argument(&self, number: usize) -> Value {
        let at = self.base() + number - 1;
        if at < self.thread.top {
            self.thread.stack[at]
        } else {
            Value::Nil
        }
    }

    pub fn has_argument(&self, number: usize) -> bool {
        number <= self.argument_count()
    }

    /// Puts a value in an argument's place.
    pub fn set_argument(&mut self, number: usize, value: Value) {
        let at = self.base() + number - 1;
        if at < self.thread.top {
            self.thread.stack[at] = value;
        }
    }

    /// Makes the arguments so many.
    pub fn set_argument_count(&mut self, count: usize) {
        let end = self.base() + count;
        if end > self.thread.top {
            let top = self.thread.top;
            self.thread.stack[top..end].fill(Value::Nil);
        }
        self.thread.top = end;
    }

    /// A value that the running native function was made with.
    pub fn own_value(&self, index: usize) -> Value {
        let function = self.thread.frames.last().map(|frame| frame.function);
        match function.map(|id| &self.heap.functions[id]) {
            Some(Function::Native { values, .. }) => {
                values.get(index).copied().unwrap_or(Value::Nil)
            }
            _ => Value::Nil,
        }
    }

    pub fn set_own_value(&mut self, index: usize, value: Value) {
        let Some(id) = self.thread.frames.last().map(|frame| frame.function) else {
            return;
        };
        if let Function::Native { values, .. } = &mut self.heap.functions[id]
            && let Some(slot) = values.get_mut(index)
        {
            *slot = value;
        }
    }

    /// One result.
    pub fn give(&mut self, value: Value) -> Result<usize, Throw> {
        self.push(value)?;
        Ok(1)
    }

    pub fn give_number(&mut self, number: f64) -> Result<usize, Throw> {
        self.give(Value::Number(number))
    }

    pub fn give_bytes(&mut self, bytes: &[u8]) -> Result<usize, Throw> {
        let value = self.new_string(bytes)?;
        self.give(value)
    }

    /// Makes sure that a native function may push so many values (`lua_checkstack`).
    pub fn has_stack(&mut self, count: usize) -> Result<bool, Throw> {
        if count > MAX_NATIVE_STACK || self.argument_count() + count > MAX_NATIVE_STACK {
            return Ok(false);
        }
        self.ensure_stack(count)?;
        Ok(true)
    }

    fn wrong_type(&mut self, number: usize, expected: &str) -> Throw {
        let got = self.type_name_of(number);
        self.argument_error(number, &format!("{expected} expected, got {got}"))
    }

    /// The type of an argument, `no value` when it was not given.
    pub fn type_name_of(&self, number: usize) -> &'static str {
        if self.has_argument(number) {
            self.argument(number).type_name()
        } else {
            "no value"
        }
    }

    pub fn check_any(&mut self, number: usize) -> Result<Value, Throw> {
        if !self.has_argument(number) {
            return Err(self.argument_error(number, "value expected"));
        }
        Ok(self.argument(number))
    }

    pub fn check_table(&mut self, number: usize) -> Result<u32, Throw> {
        match self.argument(number) {
            Value::Table(id) => Ok(id),
            _ => Err(self.wrong_type(number, "table")),
        }
    }

    pub fn check_function(&mut self, number: usize) -> Result<Value, Throw> {
        match self.argument(number) {
            function @ Value::Function(_) => Ok(function),
            _ => Err(self.wrong_type(number, "function")),
        }
    }

    pub fn check_number(&mut self, number: usize) -> Result<f64, Throw> {
        match self.to_number(self.argument(number)) {
            Some(n) => Ok(n),
            None => Err(self.wrong_type(number, "number")),
        }
    }

    /// A number cut to 64 bits.
    pub fn check_integer(&mut self, number: usize) -> Result<i64, Throw> {
        self.check_number(number).map(number::to_i64)
    }

    /// A number cut to 32 bits.
    pub fn check_int(&mut self, number: usize) -> Result<i32, Throw> {
        self.check_number(number).map(number::to_i32)
    }

    pub fn optional_integer(&mut self, number: usize, otherwise: i64) -> Result<i64, Throw> {
        if self.argument(number).is_nil() {
            return Ok(otherwise);
        }
        self.check_integer(number)
    }

    pub fn optional_int(&mut self, number: usize, otherwise: i32) -> Result<i32, Throw> {
        self.optional_integer(number, i64::from(otherwise))
            .map(|n| n as i32)
    }

    /// A string, or a number as one; it takes the argument's place.
    pub fn check_str(&mut self, number: usize) -> Result<Str, Throw> {
        match self.string_of(self.argument(number)) {
            Some(s) => {
                self.set_argument(number, Value::String(s));
                Ok(s)
            }
            None => Err(self.wrong_type(number, "string")),
        }
    }

    pub fn check_bytes(&mut self, number: usize) -> Result<Arc<[u8]>, Throw> {
        let s = self.check_str(number)?;
        Ok(self.heap.shared_bytes(s))
    }

    /// One of some words, the first when nothing was given (`luaL_checkoption` with that default).
    pub fn check_option(
        &mut self,
        number: usize,
        otherwise: Option<&str>,
        options: &[&str],
    ) -> Result<usize, Throw> {
        let bytes = match otherwise {
            Some(word) if self.argument(number).is_nil() => Arc::from(word.as_bytes()),
            _ => self.check_bytes(number)?,
        };
        let word = number::until_zero(&bytes);
        match options.iter().position(|option| option.as_bytes() == word) {
            Some(index) => Ok(index),
            None => {
                let word = String::from_utf8_lossy(word).into_owned();
                Err(self.argument_error(number, &format!("invalid option '{word}'")))
            }
        }
    }

    /// What `tostring` gives, and a `__tostring` that is asked first.
    pub fn text_of(&mut self, value: Value) -> Result<Value, Throw> {
        let handler = self.heap.metamethod_of(value, Event::ToString);
        if !handler.is_nil() {
            let callee = self.thread.top;
            self.push(handler)?;
            self.push(value)?;
            self.call(callee, 1)?;
            self.thread.top -= 1;
            return Ok(self.thread.stack[self.thread.top]);
        }
        let text = match value {
            Value::String(_) => return Ok(value),
            Value::Number(n) => number::to_text(n),
            Value::Boolean(b) => b.to_string(),
            Value::Nil | Value::Dead(_) => "nil".to_owned(),
            Value::Null => "userdata: (nil)".to_owned(),
            // Not the address of anything: it only has to differ, and to be the same in every run.
            Value::Table(id) => format!("table: 0x7f54{:08x}", id * 64),
            Value::Function(id) => format!("function: 0x7f55{:08x}", id * 64),
            Value::Thread(id) => format!("thread: 0x7f56{:08x}", id * 64),
        };
        self.new_string(text.as_bytes())
    }
}

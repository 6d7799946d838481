//! Calls, protected calls, coroutines and errors. Frames stand in a list of their own, so a script's
//! calls cost no native stack; what does recurse (metamethods, `pcall`, `sort` calling back) is counted
//! and stops at two hundred levels, as in Lua 5.1.

use super::heap::{Event, Function, Variable};
use super::value::Value;
use super::vm::Vm;

/// Levels of native recursion, as in Lua (`LUAI_MAXCCALLS`).
pub(super) const MAX_NATIVE_CALLS: usize = 200;
/// Beyond these an overflow is being handled; this many end that too.
const LAST_NATIVE_CALL: usize = MAX_NATIVE_CALLS + MAX_NATIVE_CALLS / 8;
/// Frames: a list of them doubles, and doubling beyond this is a stack overflow (`LUAI_MAXCALLS`).
const MAX_FRAMES: usize = 20_000;
const FIRST_FRAMES: usize = 16_384;
/// Stack slots that a native function finds free.
const NATIVE_STACK: usize = 20;
/// The frame of a native function.
pub(super) const NATIVE: u32 = u32::MAX;

/// Why a function did not return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Throw {
    /// An error that `pcall` catches; the machine holds its value ([`Vm::error`]).
    Error,
    /// A limit, which nothing catches.
    Fuel,
    Memory,
    /// A coroutine pauses.
    Yield,
}

/// A call in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Where the function stands on the stack, and its first register.
    pub callee: usize,
    pub base: usize,
    pub top: usize,
    /// The function, and its code's number or [`NATIVE`].
    pub function: u32,
    pub proto: u32,
    /// The next instruction, while another frame is on top.
    pub pc: usize,
    /// How many results the caller wants, -1 for all.
    pub results: i32,
    /// Calls that tail calls have replaced.
    pub tail_calls: u32,
}

/// What a coroutine is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Fresh,
    Suspended,
    /// Running, or waiting for one that it resumed.
    Active,
    Dead,
}

/// A coroutine, or the script's main line.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub id: u32,
    pub stack: Vec<Value>,
    pub top: usize,
    pub frames: Vec<Frame>,
    /// Variables that closures share and that are still registers, from the bottom of the stack up.
    pub open: Vec<u32>,
    pub status: Status,
    /// Native levels at which it was resumed.
    base_calls: usize,
    frame_limit: usize,
    yielded: usize,
}

impl Thread {
    pub fn new(id: u32) -> Thread {
        let bottom = Frame {
            callee: 0,
            base: 1,
            top: 1 + NATIVE_STACK,
            function: 0,
            proto: NATIVE,
            pc: 0,
            results: 0,
            tail_calls: 0,
        };
        Thread {
            id,
            stack: vec![Value::Nil; 64],
            top: 1,
            frames: vec![bottom],
            frame_limit: FIRST_FRAMES,
            ..Thread::default()
        }
    }

    /// Everything that may still be used; the rest of the stack is left from earlier calls.
    pub fn live_values(&self) -> impl Iterator<Item = Value> + '_ {
        let frames = self.frames.iter().map(|frame| frame.top).max().unwrap_or(0);
        self.stack.iter().take(frames.max(self.top)).copied()
    }

    pub fn footprint(&self) -> usize {
        self.stack.len() * 16 + self.frames.capacity() * 48
    }
}

impl Vm<'_> {
    /// The frame on top.
    pub fn frame(&mut self) -> &mut Frame {
        match self.thread.frames.last_mut() {
            Some(frame) => frame,
            None => unreachable!("a thread keeps its bottom frame"),
        }
    }

    /// Makes room for so many values above the top.
    pub fn ensure_stack(&mut self, count: usize) -> Result<(), Throw> {
        let needed = self.thread.top + count + 8;
        if needed > self.thread.stack.len() {
            let size = needed.max(self.thread.stack.len() * 2);
            self.reserve(16 * (size - self.thread.stack.len()))?;
            self.heap.bytes += 16 * (size - self.thread.stack.len());
            self.thread.stack.resize(size, Value::Nil);
        }
        Ok(())
    }

    pub fn push(&mut self, value: Value) -> Result<(), Throw> {
        if self.thread.top >= self.thread.stack.len() {
            self.ensure_stack(1)?;
        }
        self.thread.stack[self.thread.top] = value;
        self.thread.top += 1;
        Ok(())
    }

    fn push_frame(&mut self, frame: Frame) -> Result<(), Throw> {
        let count = self.thread.frames.len();
        if count >= self.thread.frame_limit {
            if self.thread.frame_limit > MAX_FRAMES {
                return Err(self.plain_error(b"error in error handling"));
            }
            self.thread.frame_limit *= 2;
            return Err(self.run_error(b"stack overflow"));
        }
        let pc = self.pc;
        self.frame().pc = pc;
        if count == self.thread.frames.capacity() {
            self.reserve(48 * count)?;
            self.heap.bytes += 48 * count;
        }
        self.thread.frames.push(frame);
        self.pc = 0;
        Ok(())
    }

    /// Begins a call of the function at `callee` with everything above it: a native function has run when
    /// this returns false, a script's waits to be executed when it returns true.
    pub fn begin_call(&mut self, callee: usize, results: i32) -> Result<bool, Throw> {
        let id = match self.thread.stack[callee] {
            Value::Function(id) => id,
            other => self.callable(callee, other)?,
        };
        match &self.heap.functions[id] {
            Function::Native { run, .. } => {
                let run = *run;
                self.ensure_stack(NATIVE_STACK)?;
                self.push_frame(Frame {
                    callee,
                    base: callee + 1,
                    top: self.thread.top + NATIVE_STACK,
                    function: id,
                    proto: NATIVE,
                    pc: 0,
                    results,
                    tail_calls: 0,
                })?;
                let count = run(self)?;
                self.end_call(self.thread.top - count);
                self.collect_if_due()?;
                Ok(false)
            }
            Function::Lua { proto, .. } => {
                let proto = *proto;
                self.begin_lua(callee, id, proto, results)?;
                Ok(true)
            }
        }
    }

    fn begin_lua(&mut self, callee: usize, id: u32, proto: u32, results: i32) -> Result<(), Throw> {
        let code = &self.linked[proto as usize].proto;
        let size = code.max_stack as usize;
        let parameters = code.parameters as usize;
        let vararg = code.vararg;
        self.ensure_stack(size + parameters + 2)?;
        let base = if vararg == 0 {
            self.thread.top = self.thread.top.min(callee + 1 + parameters);
            callee + 1
        } else {
            self.adjust_varargs(callee, parameters, vararg)?
        };
        let top = base + size;
        self.push_frame(Frame {
            callee,
            base,
            top,
            function: id,
            proto,
            pc: 0,
            results,
            tail_calls: 0,
        })?;
        let start = self.thread.top.min(top);
        self.thread.stack[start..top].fill(Value::Nil);
        self.thread.top = top;
        Ok(())
    }

    /// Moves the fixed parameters above all arguments; the function's first register.
    fn adjust_varargs(
        &mut self,
        callee: usize,
        parameters: usize,
        vararg: u8,
    ) -> Result<usize, Throw> {
        let given = self.thread.top - callee - 1;
        let mut hidden = None;
        while self.thread.top - callee - 1 < parameters {
            self.push(Value::Nil)?;
        }
        let actual = self.thread.top - callee - 1;
        if vararg & super::code::VARARG_NEEDS_ARG != 0 {
            let extra = given.saturating_sub(parameters);
            let table = self.new_table(extra, 1)?;
            for i in 0..extra {
                let value = self.thread.stack[self.thread.top - extra + i];
                self.heap.set(table, Value::Number((i + 1) as f64), value);
            }
            self.heap.set_field(table, "n", Value::Number(extra as f64));
            hidden = Some(Value::Table(table));
        }
        let fixed = self.thread.top - actual;
        let base = self.thread.top;
        for i in 0..parameters {
            let value = std::mem::replace(&mut self.thread.stack[fixed + i], Value::Nil);
            self.push(value)?;
        }
        if vararg & super::code::VARARG_HAS_ARG != 0 {
            self.push(hidden.unwrap_or(Value::Nil))?;
        }
        Ok(base)
    }

    /// Puts the `__call` metamethod of what is not a function before it.
    fn callable(&mut self, callee: usize, value: Value) -> Result<u32, Throw> {
        let Value::Function(id) = self.heap.metamethod_of(value, Event::Call) else {
            return Err(self.type_error(value, Some(callee), "call"));
        };
        self.push(Value::Nil)?;
        let top = self.thread.top;
        self.thread.stack.copy_within(callee..top - 1, callee + 1);
        self.thread.stack[callee] = Value::Function(id);
        Ok(id)
    }

    /// Ends the call on top with the results from `first` up; true when their number was fixed.
    pub fn end_call(&mut self, first: usize) -> bool {
        let Some(frame) = self.thread.frames.pop() else {
            return true;
        };
        let count = self.thread.top - first;
        let wanted = if frame.results < 0 {
            count
        } else {
            frame.results as usize
        };
        let copied = wanted.min(count);
        self.thread
            .stack
            .copy_within(first..first + copied, frame.callee);
        let end = frame.callee + wanted;
        self.thread.stack[frame.callee + copied..end].fill(Value::Nil);
        self.thread.top = end;
        self.pc = self.frame().pc;
        frame.results >= 0
    }

    /// Calls the function at `callee` and runs it to its end; the results take its place.
    pub fn call(&mut self, callee: usize, results: i32) -> Result<(), Throw> {
        self.native_calls += 1;
        if self.native_calls >= MAX_NATIVE_CALLS {
            if self.native_calls == MAX_NATIVE_CALLS {
                return Err(self.run_error(b"C stack overflow"));
            }
            if self.native_calls >= LAST_NATIVE_CALL {
                return Err(self.plain_error(b"error in error handling"));
            }
        }
        let depth = self.thread.frames.len();
        if self.begin_call(callee, results)? {
            self.execute(depth)?;
        }
        self.native_calls -= 1;
        Ok(())
    }

    /// Calls a function with two values for one result, on top of the stack.
    pub fn call_for_value(&mut self, function: Value, a: Value, b: Value) -> Result<Value, Throw> {
        let callee = self.thread.top;
        self.push(function)?;
        self.push(a)?;
        self.push(b)?;
        self.call(callee, 1)?;
        self.thread.top -= 1;
        Ok(self.thread.stack[self.thread.top])
    }

    /// Calls a function and catches its error: `Err` holds it, everything else is as before the call.
    pub fn protected_call(
        &mut self,
        callee: usize,
        results: i32,
        handler: Option<Value>,
    ) -> Result<Result<(), Value>, Throw> {
        let depth = self.thread.frames.len();
        let native_calls = self.native_calls;
        let held = self.held.len();
        let mut error = match self.call(callee, results) {
            Ok(()) => return Ok(Ok(())),
            Err(Throw::Error) => self.error,
            Err(other) => return Err(other),
        };
        self.held.truncate(held);
        if let Some(handler) = handler {
            error = self.handle(handler, error)?;
        }
        self.close_variables(callee);
        self.thread.frames.truncate(depth);
        self.thread.top = callee;
        self.pc = self.frame().pc;
        self.native_calls = native_calls;
        if self.thread.frame_limit > MAX_FRAMES && depth + 1 < MAX_FRAMES {
            self.thread.frame_limit = MAX_FRAMES;
        }
        Ok(Err(error))
    }

    /// Gives an error to the handler, while the frames of what failed are still there.
    fn handle(&mut self, handler: Value, error: Value) -> Result<Value, Throw> {
        let mut error = error;
        // A handler that fails gets its own error, until the native levels run out.
        loop {
            if !matches!(handler, Value::Function(_)) {
                return Ok(self.heap.string(b"error in error handling"));
            }
            let callee = self.thread.top;
            let result = self
                .push(handler)
                .and_then(|()| self.push(error))
                .and_then(|()| self.call(callee, 1));
            match result {
                Ok(()) => {
                    self.thread.top -= 1;
                    return Ok(self.thread.stack[self.thread.top]);
                }
                Err(Throw::Error) => {
                    error = self.error;
                    if self.native_calls >= LAST_NATIVE_CALL {
                        return Ok(error);
                    }
                }
                Err(other) => return Err(other),
            }
        }
    }

    // Variables that closures share.

    /// The shared variable for a register, made when no closure has it yet.
    pub fn share_register(&mut self, index: usize) -> u32 {
        let mut at = self.thread.open.len();
        while at > 0 {
            let id = self.thread.open[at - 1];
            match self.heap.variables[id] {
                Variable::Open { index: other, .. } if other == index => return id,
                Variable::Open { index: other, .. } if other < index => break,
                _ => at -= 1,
            }
        }
        let id = self.heap.add_variable(Variable::Open {
            thread: self.thread.id,
            index,
        });
        self.thread.open.insert(at, id);
        id
    }

    /// Gives the shared variables from a register up a life of their own.
    pub fn close_variables(&mut self, from: usize) {
        while let Some(id) = self.thread.open.last() {
            let id = *id;
            let Variable::Open { index, .. } = self.heap.variables[id] else {
                self.thread.open.pop();
                continue;
            };
            if index < from {
                break;
            }
            self.heap.variables[id] = Variable::Closed(self.thread.stack[index]);
            self.thread.open.pop();
        }
    }

    pub fn variable(&self, id: u32) -> Value {
        match self.heap.variables[id] {
            Variable::Closed(value) => value,
            Variable::Open { thread, index } if thread == self.thread.id => {
                self.thread.stack[index]
            }
            Variable::Open { thread, index } => self.heap.threads[thread].stack[index],
        }
    }

    pub fn set_variable(&mut self, id: u32, value: Value) {
        match &mut self.heap.variables[id] {
            Variable::Closed(old) => *old = value,
            Variable::Open { thread, index } if *thread == self.thread.id => {
                self.thread.stack[*index] = value;
            }
            Variable::Open { thread, index } => {
                let (thread, index) = (*thread, *index);
                self.heap.threads[thread].stack[index] = value;
            }
        }
    }

    // Coroutines.

    /// A coroutine that will run the function.
    pub fn new_thread(&mut self, function: Value) -> Result<u32, Throw> {
        self.reserve(4096)?;
        let id = self.heap.add_thread(Thread::default());
        let mut thread = Thread::new(id);
        thread.stack[1] = function;
        thread.top = 2;
        self.heap.bytes += thread.footprint();
        self.heap.threads[id] = thread;
        Ok(id)
    }

    fn switch_to(&mut self, id: u32) {
        let next = std::mem::take(&mut self.heap.threads[id]);
        let previous = std::mem::replace(&mut self.thread, next);
        let previous_id = previous.id;
        self.heap.threads[previous_id] = previous;
    }

    /// Continues a coroutine with values from the top of this stack, which are removed; how many came
    /// back on top of it, or the error.
    pub fn resume(&mut self, id: u32, count: usize) -> Result<Result<usize, Value>, Throw> {
        let status = self.status_of(id);
        if status != "suspended" {
            let text = format!("cannot resume {status} coroutine");
            return Ok(Err(self.heap.string(text.as_bytes())));
        }
        if self.native_calls >= MAX_NATIVE_CALLS {
            return Ok(Err(self.heap.string(b"C stack overflow")));
        }
        self.thread.top -= count;
        let top = self.thread.top;
        let given = self.thread.stack[top..top + count].to_vec();
        let pc = self.pc;
        let native_calls = self.native_calls;
        self.frame().pc = pc;
        self.resumers.push(self.thread.id);
        self.switch_to(id);
        self.native_calls += 1;
        self.thread.base_calls = self.native_calls;
        let outcome = self.run_coroutine(&given);
        let back = match outcome {
            Ok(()) => {
                self.thread.status = Status::Dead;
                Ok(self.thread.top - 1)
            }
            Err(Throw::Yield) => {
                self.thread.status = Status::Suspended;
                let pc = self.pc;
                self.frame().pc = pc;
                Ok(self.thread.yielded)
            }
            Err(Throw::Error) => {
                self.thread.status = Status::Dead;
                self.close_variables(0);
                Err(self.error)
            }
            Err(limit) => return Err(limit),
        };
        let count = back.unwrap_or(0);
        self.thread.top -= count;
        let top = self.thread.top;
        let values = self.thread.stack[top..top + count].to_vec();
        let resumer = self.resumers.pop().unwrap_or(0);
        self.switch_to(resumer);
        self.native_calls = native_calls;
        self.pc = self.frame().pc;
        if let Err(error) = back {
            return Ok(Err(error));
        }
        self.ensure_stack(count)?;
        for value in values {
            self.push(value)?;
        }
        Ok(Ok(count))
    }

    fn run_coroutine(&mut self, given: &[Value]) -> Result<(), Throw> {
        let fresh = self.thread.status == Status::Fresh;
        self.thread.status = Status::Active;
        self.ensure_stack(given.len())?;
        for value in given {
            self.push(*value)?;
        }
        let first = self.thread.top - given.len();
        if fresh {
            if self.begin_call(first - 1, -1)? {
                self.execute(1)?;
            }
            return Ok(());
        }
        if self.end_call(first) && self.thread.frames.len() > 1 {
            self.thread.top = self.frame().top;
        }
        if self.thread.frames.len() > 1 {
            self.execute(1)?;
        }
        Ok(())
    }

    /// Pauses the running coroutine with so many values from the top of its stack.
    pub fn yield_values(&mut self, count: usize) -> Throw {
        if self.resumers.is_empty() || self.native_calls > self.thread.base_calls {
            return self.run_error(b"attempt to yield across metamethod/C-call boundary");
        }
        self.thread.yielded = count;
        Throw::Yield
    }

    /// What `coroutine.status` says.
    pub fn status_of(&self, id: u32) -> &'static str {
        if id == self.thread.id {
            return "running";
        }
        match self.heap.threads[id].status {
            Status::Fresh | Status::Suspended => "suspended",
            Status::Active => "normal",
            Status::Dead => "dead",
        }
    }
}

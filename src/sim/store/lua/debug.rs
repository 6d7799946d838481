//! What errors know: the line, and what the script calls the value that an operation did not suit. The
//! name is found as Lua 5.1 finds it, by looking for the last instruction that set the register.

use super::call::{NATIVE, Throw};
use super::code::{
    CONSTANT, Constant, Instruction, Proto, arg_a, arg_b, arg_bx, arg_c, arg_sbx, op, opcode,
};
use super::number;
use super::value::Value;
use super::vm::Vm;

impl Vm<'_> {
    /// An error with any value.
    pub fn throw(&mut self, error: Value) -> Throw {
        self.error = error;
        Throw::Error
    }

    /// An error without a place.
    pub fn plain_error(&mut self, message: &[u8]) -> Throw {
        let error = self.heap.string(message);
        self.throw(error)
    }

    /// An error of the function that runs, with its place when it is the script's.
    pub fn run_error(&mut self, message: &[u8]) -> Throw {
        let depth = self.thread.frames.len() - 1;
        let mut text = match self.line_of(depth) {
            Some(_) => self.place_of(depth),
            None => Vec::new(),
        };
        text.extend_from_slice(number::until_zero(message));
        self.plain_error(&text)
    }

    /// An error of a native function, with the place that called it (`luaL_error`).
    pub fn native_error(&mut self, message: &[u8]) -> Throw {
        let mut text = self.place_at_level(1);
        text.extend_from_slice(number::until_zero(message));
        self.plain_error(&text)
    }

    /// The line that a frame executes; none for a native function.
    pub fn line_of(&self, depth: usize) -> Option<u32> {
        let (proto, pc) = self.code_of(depth)?;
        proto.lines.get(pc).copied()
    }

    fn code_of(&self, depth: usize) -> Option<(&Proto, usize)> {
        let frame = self.thread.frames.get(depth)?;
        if frame.proto == NATIVE {
            return None;
        }
        let last = depth + 1 == self.thread.frames.len();
        let pc = if last { self.pc } else { frame.pc };
        Some((
            &self.linked[frame.proto as usize].proto,
            pc.saturating_sub(1),
        ))
    }

    fn place_of(&self, depth: usize) -> Vec<u8> {
        let Some((proto, pc)) = self.code_of(depth) else {
            return Vec::new();
        };
        let line = proto.lines.get(pc).copied().unwrap_or(0);
        let mut text = number::until_zero(&proto.chunk).to_vec();
        text.extend_from_slice(format!(":{line}: ").as_bytes());
        text
    }

    /// `chunk:line: ` of the function so many levels up; nothing for a native one or a lost tail call.
    pub fn place_at_level(&self, level: i32) -> Vec<u8> {
        self.frame_at_level(level)
            .map_or_else(Vec::new, |depth| self.place_of(depth))
    }

    /// The frame so many levels up; none beyond the bottom or where a tail call replaced it.
    pub fn frame_at_level(&self, level: i32) -> Option<usize> {
        let mut level = i64::from(level);
        let mut depth = self.thread.frames.len() - 1;
        while level > 0 && depth > 0 {
            level -= 1;
            let frame = &self.thread.frames[depth];
            if frame.proto != NATIVE {
                level -= i64::from(frame.tail_calls);
            }
            depth -= 1;
        }
        (level == 0 && depth > 0).then_some(depth)
    }

    /// `attempt to <action> field 'x' (a nil value)`; the value stands at `index` on the stack, or nowhere.
    pub fn type_error(&mut self, value: Value, index: Option<usize>, action: &str) -> Throw {
        let depth = self.thread.frames.len() - 1;
        let frame = self.thread.frames[depth];
        let register = index.filter(|i| (frame.base..frame.top).contains(i));
        let name = register
            .and_then(|i| self.code_of(depth).map(|(proto, pc)| (proto, pc, i)))
            .and_then(|(proto, pc, i)| register_name(proto, pc, (i - frame.base) as u32));
        let kind = value.type_name();
        let mut message = format!("attempt to {action} ").into_bytes();
        match name {
            Some((what, name)) => {
                message.extend_from_slice(format!("{what} '").as_bytes());
                message.extend_from_slice(number::until_zero(&name));
                message.extend_from_slice(format!("' (a {kind} value)").as_bytes());
            }
            None => message.extend_from_slice(format!("a {kind} value").as_bytes()),
        }
        self.run_error(&message)
    }

    /// What kind of name the running native function was called by, and the name.
    fn called_by(&self) -> Option<(&'static str, Vec<u8>)> {
        let depth = self.thread.frames.len().checked_sub(2)?;
        let (proto, pc) = self.code_of(depth)?;
        let instruction = *proto.code.get(pc)?;
        if !matches!(opcode(instruction), op::CALL | op::TAILCALL | op::TFORLOOP) {
            return None;
        }
        register_name(proto, pc, arg_a(instruction))
    }

    /// An argument (from 1) of the running native function that does not suit it.
    pub fn argument_error(&mut self, number: usize, message: &str) -> Throw {
        let (kind, name) = self.called_by().unwrap_or(("", b"?".to_vec()));
        let mut number = number;
        let mut text = Vec::new();
        if kind == "method" {
            number -= 1;
            if number == 0 {
                text.extend_from_slice(b"calling '");
                text.extend_from_slice(&name);
                text.extend_from_slice(format!("' on bad self ({message})").as_bytes());
                return self.native_error(&text);
            }
        }
        text.extend_from_slice(format!("bad argument #{number} to '").as_bytes());
        text.extend_from_slice(&name);
        text.extend_from_slice(format!("' ({message})").as_bytes());
        self.native_error(&text)
    }
}

/// What the script calls a register at an instruction: its kind and name.
fn register_name(proto: &Proto, pc: usize, register: u32) -> Option<(&'static str, Vec<u8>)> {
    let mut register = register;
    // A move only leads to a lower register, so this ends.
    loop {
        if let Some(name) = local_name(proto, register, pc as u32) {
            return Some(("local", name.to_vec()));
        }
        let instruction = *proto.code.get(last_change(proto, pc, register))?;
        match opcode(instruction) {
            op::GETGLOBAL => {
                return Some(("global", constant_name(proto, arg_bx(instruction))));
            }
            op::MOVE if arg_b(instruction) < arg_a(instruction) => register = arg_b(instruction),
            op::GETTABLE => return Some(("field", operand_name(proto, arg_c(instruction)))),
            op::GETUPVAL => {
                let name = proto.upvalue_names.get(arg_b(instruction) as usize)?;
                return Some(("upvalue", name.to_vec()));
            }
            op::SELF => return Some(("method", operand_name(proto, arg_c(instruction)))),
            _ => return None,
        }
    }
}

fn constant_name(proto: &Proto, index: u32) -> Vec<u8> {
    match proto.constants.get(index as usize) {
        Some(Constant::String(name)) => name.to_vec(),
        _ => b"?".to_vec(),
    }
}

fn operand_name(proto: &Proto, operand: u32) -> Vec<u8> {
    if operand >= CONSTANT {
        constant_name(proto, operand - CONSTANT)
    } else {
        b"?".to_vec()
    }
}

fn local_name(proto: &Proto, register: u32, pc: u32) -> Option<&[u8]> {
    proto
        .locals
        .iter()
        .take_while(|local| local.start <= pc)
        .filter(|local| pc < local.end)
        .nth(register as usize)
        .map(|local| &local.name[..])
}

/// The last instruction before `end` that set the register; the final return when there is none.
fn last_change(proto: &Proto, end: usize, register: u32) -> usize {
    let mut last = proto.code.len() - 1;
    let mut pc = 0;
    while pc < end {
        let instruction = proto.code[pc];
        let (a, operation) = (arg_a(instruction), opcode(instruction));
        if sets_a(operation) && a == register {
            last = pc;
        }
        match operation {
            op::LOADNIL if (a..=arg_b(instruction)).contains(&register) => last = pc,
            op::SELF if register == a + 1 => last = pc,
            op::TFORLOOP if register >= a + 2 => last = pc,
            op::CALL | op::TAILCALL if register >= a => last = pc,
            op::FORLOOP | op::FORPREP | op::JMP => {
                let target = pc as i64 + 1 + i64::from(arg_sbx(instruction));
                if (pc as i64) < target && target <= end as i64 {
                    pc = target as usize - 1;
                }
            }
            op::SETLIST if arg_c(instruction) == 0 => pc += 1,
            op::CLOSURE => pc += captured(proto, instruction),
            _ => {}
        }
        pc += 1;
    }
    last
}

fn captured(proto: &Proto, instruction: Instruction) -> usize {
    proto
        .children
        .get(arg_bx(instruction) as usize)
        .map_or(0, |child| child.upvalue_names.len())
}

fn sets_a(operation: u32) -> bool {
    !matches!(
        operation,
        op::SETGLOBAL
            | op::SETUPVAL
            | op::SETTABLE
            | op::JMP
            | op::EQ
            | op::LT
            | op::LE
            | op::RETURN
            | op::TFORLOOP
            | op::SETLIST
            | op::CLOSE
    )
}

//! Instructions for Lua 5.1's register machine, and how expressions become them. The instructions follow
//! Lua's own, because what an error calls a value (`field 'x'`, `local 'y'`) is read off them.

use std::sync::Arc;

use super::lexer::{Failure, Name};
use super::number;
use super::parser::Parser;
use crate::sorted::SortedMap;

/// An instruction: operation (6 bits), A (8), then C (9) and B (9), or Bx (18).
pub(super) type Instruction = u32;

/// The operations' numbers.
pub(super) mod op {
    pub const MOVE: u32 = 0;
    pub const LOADK: u32 = 1;
    pub const LOADBOOL: u32 = 2;
    pub const LOADNIL: u32 = 3;
    pub const GETUPVAL: u32 = 4;
    pub const GETGLOBAL: u32 = 5;
    pub const GETTABLE: u32 = 6;
    pub const SETGLOBAL: u32 = 7;
    pub const SETUPVAL: u32 = 8;
    pub const SETTABLE: u32 = 9;
    pub const NEWTABLE: u32 = 10;
    pub const SELF: u32 = 11;
    pub const ADD: u32 = 12;
    pub const SUB: u32 = 13;
    pub const MUL: u32 = 14;
    pub const DIV: u32 = 15;
    pub const MOD: u32 = 16;
    pub const POW: u32 = 17;
    pub const UNM: u32 = 18;
    pub const NOT: u32 = 19;
    pub const LEN: u32 = 20;
    pub const CONCAT: u32 = 21;
    pub const JMP: u32 = 22;
    pub const EQ: u32 = 23;
    pub const LT: u32 = 24;
    pub const LE: u32 = 25;
    pub const TEST: u32 = 26;
    pub const TESTSET: u32 = 27;
    pub const CALL: u32 = 28;
    pub const TAILCALL: u32 = 29;
    pub const RETURN: u32 = 30;
    pub const FORLOOP: u32 = 31;
    pub const FORPREP: u32 = 32;
    pub const TFORLOOP: u32 = 33;
    pub const SETLIST: u32 = 34;
    pub const CLOSE: u32 = 35;
    pub const CLOSURE: u32 = 36;
    pub const VARARG: u32 = 37;
}

/// An operand from here on names a constant.
pub(super) const CONSTANT: u32 = 256;
const MAX_CONSTANT_OPERAND: u32 = 255;
const MAX_BX: u32 = (1 << 18) - 1;
const MAX_SBX: i32 = (1 << 17) - 1;
const MAX_C: u32 = 511;
/// List items that one SETLIST stores.
pub(super) const FIELDS_PER_FLUSH: u32 = 50;
const MAX_STACK: u32 = 250;
/// No jump; also the end of a list of jumps.
pub(super) const NO_JUMP: i32 = -1;
const NO_REGISTER: u32 = 255;
/// All results of a call.
pub(super) const MULTIPLE: i32 = -1;

pub(super) fn opcode(i: Instruction) -> u32 {
    i & 63
}
pub(super) fn arg_a(i: Instruction) -> u32 {
    i >> 6 & 255
}
pub(super) fn arg_b(i: Instruction) -> u32 {
    i >> 23
}
pub(super) fn arg_c(i: Instruction) -> u32 {
    i >> 14 & 511
}
pub(super) fn arg_bx(i: Instruction) -> u32 {
    i >> 14
}
pub(super) fn arg_sbx(i: Instruction) -> i32 {
    (i >> 14) as i32 - MAX_SBX
}
fn abc(operation: u32, a: u32, b: u32, c: u32) -> Instruction {
    operation | a << 6 | b << 23 | c << 14
}
fn set_a(i: &mut Instruction, a: u32) {
    *i = *i & !(255 << 6) | a << 6;
}
pub(super) fn set_b(i: &mut Instruction, b: u32) {
    *i = *i & !(511 << 23) | b << 23;
}
pub(super) fn set_c(i: &mut Instruction, c: u32) {
    *i = *i & !(511 << 14) | c << 14;
}

/// A constant of a function.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Nil,
    Boolean(bool),
    Number(f64),
    String(Box<[u8]>),
}

/// A local variable and the instructions between which it lives.
#[derive(Clone, Debug)]
pub(super) struct LocalVariable {
    pub name: Box<[u8]>,
    pub start: u32,
    pub end: u32,
}

/// A function has the hidden variable `arg`.
pub(super) const VARARG_HAS_ARG: u8 = 1;
/// A function takes any number of arguments.
pub(super) const VARARG_IS: u8 = 2;
/// The hidden variable `arg` is to be filled.
pub(super) const VARARG_NEEDS_ARG: u8 = 4;

/// A compiled function.
#[derive(Debug, Default)]
pub(super) struct Proto {
    pub code: Vec<Instruction>,
    pub lines: Vec<u32>,
    pub constants: Vec<Constant>,
    pub children: Vec<Arc<Proto>>,
    pub locals: Vec<LocalVariable>,
    pub upvalue_names: Vec<Box<[u8]>>,
    pub parameters: u32,
    pub vararg: u8,
    pub max_stack: u32,
    pub line_defined: u32,
    /// The name of the text it comes from, and what errors make of it.
    pub source: Arc<[u8]>,
    pub chunk: Arc<[u8]>,
}

/// A constant as the key under which a function keeps it once; zero has one key for both its signs.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum ConstantKey {
    Nil,
    Boolean(bool),
    Number(u64),
    String(Name),
}

/// What kind of thing an expression is so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Void,
    Nil,
    True,
    False,
    /// info: constant
    Constant,
    Number,
    /// info: register
    Local,
    /// info: upvalue
    Upvalue,
    /// info: constant with the name
    Global,
    /// info: table's register, aux: key's operand
    Indexed,
    /// info: jump
    Jump,
    /// info: instruction that can still put its result anywhere
    Relocable,
    /// info: register
    Register,
    /// info: instruction
    Call,
    /// info: instruction
    Vararg,
}

/// An expression that is being compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expression {
    pub kind: Kind,
    pub info: u32,
    pub aux: u32,
    pub number: f64,
    /// Jumps taken when it is true, and when it is false.
    pub when_true: i32,
    pub when_false: i32,
}

impl Expression {
    pub fn new(kind: Kind, info: u32) -> Expression {
        Expression {
            kind,
            info,
            aux: 0,
            number: 0.0,
            when_true: NO_JUMP,
            when_false: NO_JUMP,
        }
    }

    pub fn number(number: f64) -> Expression {
        Expression {
            number,
            ..Expression::new(Kind::Number, 0)
        }
    }

    fn has_jumps(&self) -> bool {
        self.when_true != self.when_false
    }

    fn is_numeral(&self) -> bool {
        self.kind == Kind::Number && self.when_true == NO_JUMP && self.when_false == NO_JUMP
    }

    pub fn has_multiple_results(&self) -> bool {
        matches!(self.kind, Kind::Call | Kind::Vararg)
    }
}

/// A block that variables are local to.
#[derive(Debug)]
pub(super) struct Block {
    pub breaks: i32,
    pub active: usize,
    /// A closure shares one of its variables.
    pub shared: bool,
    pub breakable: bool,
}

/// Where an upvalue comes from: a register of the function around, or an upvalue of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capture {
    pub local: bool,
    pub index: u32,
}

/// A function that is being compiled.
#[derive(Default)]
pub(super) struct FunctionState {
    pub proto: Proto,
    keys: SortedMap<ConstantKey, u32>,
    pub blocks: Vec<Block>,
    /// Jumps to the next instruction.
    pending: i32,
    last_target: i32,
    pub free: u32,
    /// The variables in scope, as numbers among the function's locals.
    pub active: Vec<u32>,
    pub active_count: usize,
    pub captures: Vec<Capture>,
}

impl FunctionState {
    pub fn new(line: u32, source: Arc<[u8]>, chunk: Arc<[u8]>) -> FunctionState {
        let proto = Proto {
            line_defined: line,
            max_stack: 2,
            source,
            chunk,
            ..Proto::default()
        };
        FunctionState {
            proto,
            pending: NO_JUMP,
            last_target: -1,
            ..FunctionState::default()
        }
    }

    pub fn pc(&self) -> i32 {
        self.proto.code.len() as i32
    }

    fn at(&mut self, pc: i32) -> &mut Instruction {
        &mut self.proto.code[pc as usize]
    }
}

/// The binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Arithmetic(u32),
    Concat,
    NotEqual,
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
}

/// The unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Minus,
    Not,
    Length,
}

impl Parser<'_> {
    pub fn emit_abc(&mut self, operation: u32, a: u32, b: u32, c: u32) -> Result<i32, Failure> {
        self.emit(abc(operation, a, b, c))
    }

    pub fn emit_abx(&mut self, operation: u32, a: u32, bx: u32) -> Result<i32, Failure> {
        self.emit(operation | a << 6 | bx << 14)
    }

    pub fn emit_asbx(&mut self, operation: u32, a: u32, sbx: i32) -> Result<i32, Failure> {
        self.emit_abx(operation, a, (sbx + MAX_SBX) as u32)
    }

    fn emit(&mut self, instruction: Instruction) -> Result<i32, Failure> {
        self.discharge_pending()?;
        let line = self.lexer.last_line;
        let fs = self.fs();
        fs.proto.code.push(instruction);
        fs.proto.lines.push(line);
        Ok(fs.pc() - 1)
    }

    pub fn fix_line(&mut self, line: u32) {
        if let Some(last) = self.fs().proto.lines.last_mut() {
            *last = line;
        }
    }

    pub fn emit_nil(&mut self, from: u32, count: u32) -> Result<(), Failure> {
        let fs = self.fs();
        if fs.pc() > fs.last_target {
            if fs.pc() == 0 {
                if from as usize >= fs.active_count {
                    return Ok(());
                }
            } else {
                let pc = fs.pc() - 1;
                let previous = fs.at(pc);
                if opcode(*previous) == op::LOADNIL {
                    let (start, end) = (arg_a(*previous), arg_b(*previous));
                    if start <= from && from <= end + 1 {
                        if from + count - 1 > end {
                            set_b(previous, from + count - 1);
                        }
                        return Ok(());
                    }
                }
            }
        }
        self.emit_abc(op::LOADNIL, from, from + count - 1, 0)?;
        Ok(())
    }

    pub fn jump(&mut self) -> Result<i32, Failure> {
        let pending = std::mem::replace(&mut self.fs().pending, NO_JUMP);
        let mut jump = self.emit_asbx(op::JMP, 0, NO_JUMP)?;
        self.join(&mut jump, pending)?;
        Ok(jump)
    }

    pub fn emit_return(&mut self, first: u32, count: i32) -> Result<(), Failure> {
        self.emit_abc(op::RETURN, first, (count + 1) as u32, 0)?;
        Ok(())
    }

    fn conditional_jump(&mut self, operation: u32, a: u32, b: u32, c: u32) -> Result<i32, Failure> {
        self.emit_abc(operation, a, b, c)?;
        self.jump()
    }

    fn fix_jump(&mut self, pc: i32, target: i32) -> Result<(), Failure> {
        let offset = target - (pc + 1);
        if offset.abs() > MAX_SBX {
            return Err(self.lexer.error(b"control structure too long"));
        }
        let instruction = self.fs().at(pc);
        *instruction = *instruction & 0x3fff | ((offset + MAX_SBX) as u32) << 14;
        Ok(())
    }

    /// The next instruction as a target of jumps.
    pub fn label(&mut self) -> i32 {
        let fs = self.fs();
        fs.last_target = fs.pc();
        fs.last_target
    }

    fn jump_target(&mut self, pc: i32) -> i32 {
        match arg_sbx(*self.fs().at(pc)) {
            NO_JUMP => NO_JUMP,
            offset => pc + 1 + offset,
        }
    }

    /// The instruction that decides about a jump.
    fn jump_control(&mut self, pc: i32) -> &mut Instruction {
        let fs = self.fs();
        let tests = pc >= 1
            && matches!(
                opcode(*fs.at(pc - 1)),
                op::EQ | op::LT | op::LE | op::TEST | op::TESTSET | op::TFORLOOP
            );
        fs.at(if tests { pc - 1 } else { pc })
    }

    fn needs_value(&mut self, mut list: i32) -> bool {
        while list != NO_JUMP {
            if opcode(*self.jump_control(list)) != op::TESTSET {
                return true;
            }
            list = self.jump_target(list);
        }
        false
    }

    fn patch_test(&mut self, pc: i32, register: u32) -> bool {
        let control = self.jump_control(pc);
        if opcode(*control) != op::TESTSET {
            return false;
        }
        if register != NO_REGISTER && register != arg_b(*control) {
            set_a(control, register);
        } else {
            *control = abc(op::TEST, arg_b(*control), 0, arg_c(*control));
        }
        true
    }

    fn remove_values(&mut self, mut list: i32) {
        while list != NO_JUMP {
            self.patch_test(list, NO_REGISTER);
            list = self.jump_target(list);
        }
    }

    fn patch_both(
        &mut self,
        mut list: i32,
        value_target: i32,
        register: u32,
        other_target: i32,
    ) -> Result<(), Failure> {
        while list != NO_JUMP {
            let next = self.jump_target(list);
            let target = if self.patch_test(list, register) {
                value_target
            } else {
                other_target
            };
            self.fix_jump(list, target)?;
            list = next;
        }
        Ok(())
    }

    fn discharge_pending(&mut self) -> Result<(), Failure> {
        let pc = self.fs().pc();
        let pending = std::mem::replace(&mut self.fs().pending, NO_JUMP);
        self.patch_both(pending, pc, NO_REGISTER, pc)
    }

    pub fn patch(&mut self, list: i32, target: i32) -> Result<(), Failure> {
        if target == self.fs().pc() {
            return self.patch_to_here(list);
        }
        self.patch_both(list, target, NO_REGISTER, target)
    }

    pub fn patch_to_here(&mut self, list: i32) -> Result<(), Failure> {
        self.label();
        let mut pending = self.fs().pending;
        self.join(&mut pending, list)?;
        self.fs().pending = pending;
        Ok(())
    }

    /// Appends a list of jumps to another.
    pub fn join(&mut self, list: &mut i32, more: i32) -> Result<(), Failure> {
        if more == NO_JUMP {
            return Ok(());
        }
        if *list == NO_JUMP {
            *list = more;
            return Ok(());
        }
        let mut last = *list;
        loop {
            match self.jump_target(last) {
                NO_JUMP => break,
                next => last = next,
            }
        }
        self.fix_jump(last, more)
    }

    pub fn check_stack(&mut self, count: u32) -> Result<(), Failure> {
        let needed = self.fs().free + count;
        if needed > self.fs().proto.max_stack {
            if needed >= MAX_STACK {
                return Err(self.lexer.error(b"function or expression too complex"));
            }
            self.fs().proto.max_stack = needed;
        }
        Ok(())
    }

    pub fn reserve(&mut self, count: u32) -> Result<(), Failure> {
        self.check_stack(count)?;
        self.fs().free += count;
        Ok(())
    }

    fn release_register(&mut self, register: u32) {
        let fs = self.fs();
        if register < CONSTANT && register as usize >= fs.active_count {
            fs.free -= 1;
        }
    }

    fn release(&mut self, e: &Expression) {
        if e.kind == Kind::Register {
            self.release_register(e.info);
        }
    }

    fn constant(&mut self, key: ConstantKey, constant: Constant) -> Result<u32, Failure> {
        let fs = self.fs();
        if let Some(index) = fs.keys.get(&key) {
            return Ok(*index);
        }
        let index = fs.proto.constants.len() as u32;
        fs.keys.insert(key, index);
        fs.proto.constants.push(constant);
        if index > MAX_BX {
            return Err(self.lexer.error_near(b"constant table overflow", None));
        }
        Ok(index)
    }

    pub fn string_constant(&mut self, name: &Name) -> Result<u32, Failure> {
        let constant = Constant::String(Box::from(&name[..]));
        self.constant(ConstantKey::String(Name::clone(name)), constant)
    }

    pub fn number_constant(&mut self, number: f64) -> Result<u32, Failure> {
        let bits = if number == 0.0 { 0 } else { number.to_bits() };
        self.constant(ConstantKey::Number(bits), Constant::Number(number))
    }

    fn boolean_constant(&mut self, value: bool) -> Result<u32, Failure> {
        self.constant(ConstantKey::Boolean(value), Constant::Boolean(value))
    }

    pub fn set_returns(&mut self, e: &Expression, results: i32) -> Result<(), Failure> {
        let count = (results + 1) as u32;
        match e.kind {
            Kind::Call => set_c(self.fs().at(e.info as i32), count),
            Kind::Vararg => {
                let free = self.fs().free;
                let instruction = self.fs().at(e.info as i32);
                set_b(instruction, count);
                set_a(instruction, free);
                self.reserve(1)?;
            }
            _ => {}
        }
        Ok(())
    }

    pub fn set_one_return(&mut self, e: &mut Expression) {
        match e.kind {
            Kind::Call => {
                e.kind = Kind::Register;
                e.info = arg_a(*self.fs().at(e.info as i32));
            }
            Kind::Vararg => {
                set_b(self.fs().at(e.info as i32), 2);
                e.kind = Kind::Relocable;
            }
            _ => {}
        }
    }

    pub fn discharge_variables(&mut self, e: &mut Expression) -> Result<(), Failure> {
        let instruction = match e.kind {
            Kind::Local => {
                e.kind = Kind::Register;
                return Ok(());
            }
            Kind::Upvalue => abc(op::GETUPVAL, 0, e.info, 0),
            Kind::Global => op::GETGLOBAL | e.info << 14,
            Kind::Indexed => {
                self.release_register(e.aux);
                self.release_register(e.info);
                abc(op::GETTABLE, 0, e.info, e.aux)
            }
            _ => {
                self.set_one_return(e);
                return Ok(());
            }
        };
        e.info = self.emit(instruction)? as u32;
        e.kind = Kind::Relocable;
        Ok(())
    }

    fn discharge_to(&mut self, e: &mut Expression, register: u32) -> Result<(), Failure> {
        self.discharge_variables(e)?;
        match e.kind {
            Kind::Nil => self.emit_nil(register, 1)?,
            Kind::True | Kind::False => {
                self.emit_abc(op::LOADBOOL, register, u32::from(e.kind == Kind::True), 0)?;
            }
            Kind::Constant => {
                self.emit_abx(op::LOADK, register, e.info)?;
            }
            Kind::Number => {
                let constant = self.number_constant(e.number)?;
                self.emit_abx(op::LOADK, register, constant)?;
            }
            Kind::Relocable => set_a(self.fs().at(e.info as i32), register),
            Kind::Register if register != e.info => {
                self.emit_abc(op::MOVE, register, e.info, 0)?;
            }
            Kind::Register => {}
            _ => return Ok(()),
        }
        e.info = register;
        e.kind = Kind::Register;
        Ok(())
    }

    fn discharge_any(&mut self, e: &mut Expression) -> Result<(), Failure> {
        if e.kind != Kind::Register {
            self.reserve(1)?;
            let register = self.fs().free - 1;
            self.discharge_to(e, register)?;
        }
        Ok(())
    }

    fn load_register(&mut self, e: &mut Expression, register: u32) -> Result<(), Failure> {
        self.discharge_to(e, register)?;
        if e.kind == Kind::Jump {
            let info = e.info as i32;
            self.join(&mut e.when_true, info)?;
        }
        if e.has_jumps() {
            let mut load_false = NO_JUMP;
            let mut load_true = NO_JUMP;
            if self.needs_value(e.when_true) || self.needs_value(e.when_false) {
                let skip = if e.kind == Kind::Jump {
                    NO_JUMP
                } else {
                    self.jump()?
                };
                self.label();
                load_false = self.emit_abc(op::LOADBOOL, register, 0, 1)?;
                self.label();
                load_true = self.emit_abc(op::LOADBOOL, register, 1, 0)?;
                self.patch_to_here(skip)?;
            }
            let end = self.label();
            self.patch_both(e.when_false, end, register, load_false)?;
            self.patch_both(e.when_true, end, register, load_true)?;
        }
        *e = Expression::new(Kind::Register, register);
        Ok(())
    }

    pub fn load_next(&mut self, e: &mut Expression) -> Result<(), Failure> {
        self.discharge_variables(e)?;
        self.release(e);
        self.reserve(1)?;
        let register = self.fs().free - 1;
        self.load_register(e, register)
    }

    pub fn load_any(&mut self, e: &mut Expression) -> Result<u32, Failure> {
        self.discharge_variables(e)?;
        if e.kind == Kind::Register {
            if !e.has_jumps() {
                return Ok(e.info);
            }
            if e.info as usize >= self.fs().active_count {
                self.load_register(e, e.info)?;
                return Ok(e.info);
            }
        }
        self.load_next(e)?;
        Ok(e.info)
    }

    pub fn load_value(&mut self, e: &mut Expression) -> Result<(), Failure> {
        if e.has_jumps() {
            self.load_any(e)?;
            return Ok(());
        }
        self.discharge_variables(e)
    }

    /// As an operand: a register, or a constant with a small number.
    pub fn load_operand(&mut self, e: &mut Expression) -> Result<u32, Failure> {
        self.load_value(e)?;
        let literal = matches!(e.kind, Kind::Number | Kind::True | Kind::False | Kind::Nil);
        if literal && self.fs().proto.constants.len() as u32 <= MAX_CONSTANT_OPERAND {
            e.info = match e.kind {
                Kind::Nil => self.constant(ConstantKey::Nil, Constant::Nil)?,
                Kind::Number => self.number_constant(e.number)?,
                kind => self.boolean_constant(kind == Kind::True)?,
            };
            e.kind = Kind::Constant;
            return Ok(e.info | CONSTANT);
        }
        if e.kind == Kind::Constant && e.info <= MAX_CONSTANT_OPERAND {
            return Ok(e.info | CONSTANT);
        }
        self.load_any(e)
    }

    pub fn store(&mut self, variable: &Expression, e: &mut Expression) -> Result<(), Failure> {
        match variable.kind {
            Kind::Local => {
                self.release(e);
                return self.load_register(e, variable.info);
            }
            Kind::Upvalue => {
                let register = self.load_any(e)?;
                self.emit_abc(op::SETUPVAL, register, variable.info, 0)?;
            }
            Kind::Global => {
                let register = self.load_any(e)?;
                self.emit_abx(op::SETGLOBAL, register, variable.info)?;
            }
            _ => {
                let operand = self.load_operand(e)?;
                self.emit_abc(op::SETTABLE, variable.info, variable.aux, operand)?;
            }
        }
        self.release(e);
        Ok(())
    }

    pub fn emit_self(&mut self, e: &mut Expression, key: &mut Expression) -> Result<(), Failure> {
        self.load_any(e)?;
        self.release(e);
        let function = self.fs().free;
        self.reserve(2)?;
        let operand = self.load_operand(key)?;
        self.emit_abc(op::SELF, function, e.info, operand)?;
        self.release(key);
        e.info = function;
        e.kind = Kind::Register;
        Ok(())
    }

    fn invert_jump(&mut self, e: &Expression) {
        let control = self.jump_control(e.info as i32);
        set_a(control, u32::from(arg_a(*control) == 0));
    }

    fn jump_on(&mut self, e: &mut Expression, condition: bool) -> Result<i32, Failure> {
        if e.kind == Kind::Relocable {
            let instruction = *self.fs().at(e.info as i32);
            if opcode(instruction) == op::NOT {
                let fs = self.fs();
                fs.proto.code.pop();
                fs.proto.lines.pop();
                let inverse = u32::from(!condition);
                return self.conditional_jump(op::TEST, arg_b(instruction), 0, inverse);
            }
        }
        self.discharge_any(e)?;
        self.release(e);
        self.conditional_jump(op::TESTSET, NO_REGISTER, e.info, u32::from(condition))
    }

    /// Goes on when the expression is true and jumps otherwise.
    pub fn go_if_true(&mut self, e: &mut Expression) -> Result<(), Failure> {
        self.discharge_variables(e)?;
        let jump = match e.kind {
            Kind::Constant | Kind::Number | Kind::True => NO_JUMP,
            Kind::Jump => {
                self.invert_jump(e);
                e.info as i32
            }
            _ => self.jump_on(e, false)?,
        };
        self.join(&mut e.when_false, jump)?;
        self.patch_to_here(e.when_true)?;
        e.when_true = NO_JUMP;
        Ok(())
    }

    fn go_if_false(&mut self, e: &mut Expression) -> Result<(), Failure> {
        self.discharge_variables(e)?;
        let jump = match e.kind {
            Kind::Nil | Kind::False => NO_JUMP,
            Kind::Jump => e.info as i32,
            _ => self.jump_on(e, true)?,
        };
        self.join(&mut e.when_true, jump)?;
        self.patch_to_here(e.when_false)?;
        e.when_false = NO_JUMP;
        Ok(())
    }

    fn negate(&mut self, e: &mut Expression) -> Result<(), Failure> {
        self.discharge_variables(e)?;
        match e.kind {
            Kind::Nil | Kind::False => e.kind = Kind::True,
            Kind::Constant | Kind::Number | Kind::True => e.kind = Kind::False,
            Kind::Jump => self.invert_jump(e),
            _ => {
                self.discharge_any(e)?;
                self.release(e);
                e.info = self.emit_abc(op::NOT, 0, e.info, 0)? as u32;
                e.kind = Kind::Relocable;
            }
        }
        std::mem::swap(&mut e.when_true, &mut e.when_false);
        self.remove_values(e.when_false);
        self.remove_values(e.when_true);
        Ok(())
    }

    pub fn index(&mut self, table: &mut Expression, key: &mut Expression) -> Result<(), Failure> {
        table.aux = self.load_operand(key)?;
        table.kind = Kind::Indexed;
        Ok(())
    }

    fn arithmetic(
        &mut self,
        operation: u32,
        left: &mut Expression,
        right: &mut Expression,
    ) -> Result<(), Failure> {
        if let Some(number) = fold(operation, left, right) {
            left.number = number;
            return Ok(());
        }
        let unary = matches!(operation, op::UNM | op::LEN);
        let second = if unary { 0 } else { self.load_operand(right)? };
        let first = self.load_operand(left)?;
        if first > second {
            self.release(left);
            self.release(right);
        } else {
            self.release(right);
            self.release(left);
        }
        left.info = self.emit_abc(operation, 0, first, second)? as u32;
        left.kind = Kind::Relocable;
        Ok(())
    }

    fn comparison(
        &mut self,
        operation: u32,
        condition: bool,
        left: &mut Expression,
        right: &mut Expression,
    ) -> Result<(), Failure> {
        let mut first = self.load_operand(left)?;
        let mut second = self.load_operand(right)?;
        self.release(right);
        self.release(left);
        let mut condition = condition;
        if !condition && operation != op::EQ {
            std::mem::swap(&mut first, &mut second);
            condition = true;
        }
        let jump = self.conditional_jump(operation, u32::from(condition), first, second)?;
        left.info = jump as u32;
        left.kind = Kind::Jump;
        Ok(())
    }

    pub fn prefix(&mut self, operator: Unary, e: &mut Expression) -> Result<(), Failure> {
        let mut nothing = Expression::number(0.0);
        match operator {
            Unary::Not => self.negate(e),
            Unary::Minus => {
                if !e.is_numeral() {
                    self.load_any(e)?;
                }
                self.arithmetic(op::UNM, e, &mut nothing)
            }
            Unary::Length => {
                self.load_any(e)?;
                self.arithmetic(op::LEN, e, &mut nothing)
            }
        }
    }

    /// Before the right operand is read.
    pub fn infix(&mut self, operator: Binary, e: &mut Expression) -> Result<(), Failure> {
        match operator {
            Binary::And => self.go_if_true(e),
            Binary::Or => self.go_if_false(e),
            Binary::Concat => self.load_next(e),
            Binary::Arithmetic(_) if e.is_numeral() => Ok(()),
            _ => self.load_operand(e).map(|_| ()),
        }
    }

    /// After the right operand is read.
    pub fn postfix(
        &mut self,
        operator: Binary,
        left: &mut Expression,
        right: &mut Expression,
    ) -> Result<(), Failure> {
        match operator {
            Binary::And => {
                self.discharge_variables(right)?;
                self.join(&mut right.when_false, left.when_false)?;
                *left = *right;
                Ok(())
            }
            Binary::Or => {
                self.discharge_variables(right)?;
                self.join(&mut right.when_true, left.when_true)?;
                *left = *right;
                Ok(())
            }
            Binary::Concat => self.concatenation(left, right),
            Binary::Arithmetic(operation) => self.arithmetic(operation, left, right),
            Binary::Equal => self.comparison(op::EQ, true, left, right),
            Binary::NotEqual => self.comparison(op::EQ, false, left, right),
            Binary::Less => self.comparison(op::LT, true, left, right),
            Binary::LessEqual => self.comparison(op::LE, true, left, right),
            Binary::Greater => self.comparison(op::LT, false, left, right),
            Binary::GreaterEqual => self.comparison(op::LE, false, left, right),
        }
    }

    fn concatenation(
        &mut self,
        left: &mut Expression,
        right: &mut Expression,
    ) -> Result<(), Failure> {
        self.load_value(right)?;
        if right.kind == Kind::Relocable && opcode(*self.fs().at(right.info as i32)) == op::CONCAT {
            self.release(left);
            set_b(self.fs().at(right.info as i32), left.info);
            left.kind = Kind::Relocable;
            left.info = right.info;
            return Ok(());
        }
        self.load_next(right)?;
        self.arithmetic(op::CONCAT, left, right)
    }

    pub fn set_list(&mut self, table: u32, items: u32, stored: i32) -> Result<(), Failure> {
        let batch = (items - 1) / FIELDS_PER_FLUSH + 1;
        let count = if stored == MULTIPLE { 0 } else { stored as u32 };
        if batch <= MAX_C {
            self.emit_abc(op::SETLIST, table, count, batch)?;
        } else {
            self.emit_abc(op::SETLIST, table, count, 0)?;
            self.emit(batch)?;
        }
        self.fs().free = table + 1;
        Ok(())
    }

    pub fn instruction(&mut self, pc: i32) -> &mut Instruction {
        self.fs().at(pc)
    }

    /// Turns the call that was emitted last into a tail call.
    pub fn make_tail_call(&mut self, e: &Expression) {
        let instruction = self.fs().at(e.info as i32);
        *instruction = *instruction & !63 | op::TAILCALL;
    }
}

/// The value of an operation on two numerals, unless it is better computed when it runs.
fn fold(operation: u32, left: &Expression, right: &Expression) -> Option<f64> {
    if !left.is_numeral() || !right.is_numeral() {
        return None;
    }
    let (a, b) = (left.number, right.number);
    if matches!(operation, op::DIV | op::MOD) && b == 0.0 {
        return None;
    }
    arithmetic(operation, a, b).filter(|number| !number.is_nan())
}

/// An operation on two numbers; none for what is not arithmetic.
pub(super) fn arithmetic(operation: u32, a: f64, b: f64) -> Option<f64> {
    let result = match operation {
        op::ADD => a + b,
        op::SUB => a - b,
        op::MUL => a * b,
        op::DIV => a / b,
        op::MOD => a - libm::floor(a / b) * b,
        op::POW => return Some(number::power(a, b)),
        op::UNM => return Some(-a),
        _ => return None,
    };
    Some(number::settle(result, a, b))
}

/// A size as a float of five bits and an exponent, rounded up, as NEWTABLE carries it.
pub(super) fn size_to_byte(mut size: u32) -> u32 {
    let mut exponent = 0;
    while size >= 16 {
        size = size.div_ceil(2);
        exponent += 1;
    }
    if size < 8 {
        size
    } else {
        (exponent + 1) << 3 | (size - 8)
    }
}

/// The size that such a byte stands for.
pub(super) fn byte_to_size(byte: u32) -> u32 {
    match byte >> 3 & 31 {
        0 => byte,
        exponent => ((byte & 7) + 8) << (exponent - 1),
    }
}

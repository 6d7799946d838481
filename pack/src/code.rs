//! The code of a program, instruction by instruction.

use std::ops::Range;

use crate::Stream;
use crate::reader::{Malformed, Reader, signed};

/// What an opcode is followed by; `unpack.js` knows the same numbers. From 16 on it is one number, in the stream of that place.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Operands {
    Nothing = 0,
    /// The type of a block, which an end closes.
    Block = 1,
    End = 2,
    /// `br_table`: how many, then one more than that.
    BranchTable = 3,
    /// The alignment and the offset of a load or store.
    Memory = 4,
    /// A second opcode with as many numbers as [`AFTER_PREFIX`] says.
    Prefixed = 5,
    /// `select` with types: how many, and each.
    Types = 6,
    FourBytes = 7,
    EightBytes = 8,
    /// The place of an address.
    Address = 9,
    TwoNumbers = 10,
    /// Nothing: the opcode is a whole instruction.
    Short = 11,
    Unknown = 12,
    Local = 16 + Stream::Local as u8,
    Constant = 16 + Stream::Constant as u8,
    Call = 16 + Stream::Call as u8,
    Branch = 16 + Stream::Branch as u8,
    Wide = 16 + Stream::Wide as u8,
    Other = 16 + Stream::Other as u8,
}

/// How many numbers follow the instructions behind 0xFC: conversions, memory.init to table.fill.
const AFTER_PREFIX: [u8; 18] = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

/// By the table of WebAssembly's core specification 2.0, 5.4; vectors and exceptions, which nothing here uses, are unknown.
pub(crate) fn operands_of(opcode: u8) -> Operands {
    match opcode {
        0x02..=0x04 => Operands::Block,
        0x0B => Operands::End,
        0x0C | 0x0D => Operands::Branch,
        0x0E => Operands::BranchTable,
        0x10 => Operands::Call,
        0x11 => Operands::TwoNumbers,
        0x1C => Operands::Types,
        0x20..=0x22 => Operands::Local,
        0x23..=0x26 | 0x3F | 0x40 | 0xD0 | 0xD2 => Operands::Other,
        0x28..=0x3E => Operands::Memory,
        0x41 => Operands::Constant,
        0x42 => Operands::Wide,
        0x43 => Operands::FourBytes,
        0x44 => Operands::EightBytes,
        0xFC => Operands::Prefixed,
        0x00 | 0x01 | 0x05 | 0x0F | 0x1A | 0x1B | 0x45..=0xC4 | 0xD1 => Operands::Nothing,
        _ => Operands::Unknown,
    }
}

/// One function: which locals it declares, and its instructions.
pub(crate) struct Function<'a> {
    pub declared: &'a [u8],
    pub instructions: Vec<Instruction<'a>>,
}

/// The functions of a code section, in their order.
pub(crate) fn functions(
    program: &[u8],
    code: Range<usize>,
) -> Result<Vec<Function<'_>>, Malformed> {
    let mut reader = Reader::new(program, code);
    let many = reader.shortest()?;
    let mut functions = Vec::new();
    for _ in 0..many {
        let length = reader.shortest()? as usize;
        let begin = reader.place();
        reader.take(length)?;
        functions.push(function(Reader::new(program, begin..begin + length))?);
    }
    if !reader.is_empty() {
        return Err(reader.malformed("the end of the code"));
    }
    Ok(functions)
}

fn function(mut reader: Reader<'_>) -> Result<Function<'_>, Malformed> {
    let begin = reader.place();
    for _ in 0..reader.number()? {
        reader.leb()?;
        // The type of so many locals.
        reader.byte()?;
    }
    let declared = reader.since(begin);
    let mut instructions = Vec::new();
    // How many blocks are open, with the function itself.
    let mut open = 1;
    while open > 0 {
        let instruction = Instruction::read(&mut reader)?;
        match operands_of(instruction.bytes[0]) {
            Operands::Block => open += 1,
            Operands::End => open -= 1,
            _ => {}
        }
        instructions.push(instruction);
    }
    if !reader.is_empty() {
        return Err(reader.malformed("the end of the function"));
    }
    Ok(Function {
        declared,
        instructions,
    })
}

/// An instruction, as it stands in the program.
pub(crate) struct Instruction<'a> {
    pub bytes: &'a [u8],
    /// What follows the opcode, and in which stream that goes.
    pub pieces: Vec<(Stream, &'a [u8])>,
}

impl<'a> Instruction<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Instruction<'a>, Malformed> {
        let begin = reader.place();
        let opcode = reader.byte()?;
        let pieces = pieces(opcode, reader)?;
        let bytes = reader.since(begin);
        Ok(Instruction { bytes, pieces })
    }

    /// Whether a short opcode may stand for it: not for blocks and their ends, which are counted, nor for what is different everywhere.
    pub fn may_be_short(&self) -> bool {
        matches!(
            operands_of(self.bytes[0]),
            Operands::Constant
                | Operands::Memory
                | Operands::Branch
                | Operands::Prefixed
                | Operands::Wide
                | Operands::Other
                | Operands::Call
        )
    }

    /// The value of an `i32.const`.
    pub fn constant(&self) -> Option<i64> {
        let is_constant = operands_of(self.bytes[0]) == Operands::Constant;
        is_constant.then(|| signed(&self.bytes[1..]))
    }
}

fn pieces<'a>(opcode: u8, reader: &mut Reader<'a>) -> Result<Vec<(Stream, &'a [u8])>, Malformed> {
    let begin = reader.place();
    let (stream, numbers) = match operands_of(opcode) {
        Operands::Nothing | Operands::End => return Ok(Vec::new()),
        Operands::Memory => {
            let align = reader.leb()?;
            return Ok(vec![
                (Stream::Align, align),
                (Stream::Offset, reader.leb()?),
            ]);
        }
        Operands::BranchTable => (Stream::Other, reader.number()? + 1),
        Operands::Types => (Stream::Other, reader.number()?),
        Operands::Prefixed => {
            let second = reader.number()? as usize;
            let Some(numbers) = AFTER_PREFIX.get(second) else {
                return Err(reader.malformed(KNOWN));
            };
            (Stream::Other, u64::from(*numbers))
        }
        Operands::FourBytes => {
            reader.take(4)?;
            (Stream::Float, 0)
        }
        Operands::EightBytes => {
            reader.take(8)?;
            (Stream::Float, 0)
        }
        Operands::TwoNumbers => (Stream::Other, 2),
        Operands::Block => (Stream::BlockType, 1),
        Operands::Local => (Stream::Local, 1),
        Operands::Constant => (Stream::Constant, 1),
        Operands::Call => (Stream::Call, 1),
        Operands::Branch => (Stream::Branch, 1),
        Operands::Wide => (Stream::Wide, 1),
        Operands::Other => (Stream::Other, 1),
        Operands::Unknown | Operands::Short | Operands::Address => {
            return Err(reader.malformed(KNOWN));
        }
    };
    for _ in 0..numbers {
        reader.leb()?;
    }
    Ok(vec![(stream, reader.since(begin))])
}

const KNOWN: &str = "an instruction before here that is known to the packer";

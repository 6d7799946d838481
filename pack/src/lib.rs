//! Puts a compiled WebAssembly program in the order that compresses best.
//!
//! In a program's code stand instructions, numbers of locals, offsets and constants in turn, and a general compressor sees one byte
//! after another of different kinds. Here each kind gets a stream of its own, which brotli makes a seventh smaller. WebAssembly's design
//! foresaw this as a layer of its own, "structural compression" (WebAssembly/design, BinaryEncoding.md). `unpack.js` is the other
//! direction, in the browser; the two are tested against each other.
//!
//! ```text
//! "LKP1" · the opcode of each byte · what follows it · short instructions · lengths · streams
//! ```
//!
//! Opcodes that WebAssembly does not use stand for whole instructions: the most frequent constants, loads, stores, calls and branches, and
//! every constant that is an address of the program's data, whose places in a sorted list of all of them are told in their stead.

mod classes;
mod code;
mod reader;

use std::collections::{BTreeMap, BTreeSet};

use code::{Function, Instruction, Operands};
pub use reader::Malformed;
use reader::Reader;

/// What a packed program begins with, in place of WebAssembly's `\0asm`.
pub const MAGIC: &[u8; 4] = b"LKP1";

/// The streams, in the order in which they stand in a packed program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stream {
    /// All sections but the code.
    Rest,
    Opcode,
    Local,
    /// Constants of `i32.const` that are no addresses.
    Constant,
    Offset,
    Call,
    Branch,
    BlockType,
    Align,
    /// Constants of `i64.const`.
    Wide,
    Float,
    /// Which locals a function declares.
    Declared,
    /// The addresses of data, sorted: each as its distance from the one before.
    Addresses,
    /// Which of the addresses: the distance from the one that was named before.
    Address,
    Other,
}

const STREAMS: usize = Stream::Other as usize + 1;

/// How many times an instruction must stand in a program before it is worth an opcode: naming it costs some bytes.
const LEAST_USES: usize = 16;

/// Where `wasm-ld` puts the data of Rust programs: from one mebibyte on, behind the stack.
const ADDRESSES: std::ops::Range<i64> = 0x10_0000..0x20_0000;

/// The program in the order that compresses best; a program that is packed already stays as it is. What cannot be packed, and where in the
/// program: an opcode that is not known here, a number that is longer than it has to be, an end before the end.
pub fn pack(program: &[u8]) -> Result<Vec<u8>, Malformed> {
    if program.starts_with(MAGIC) {
        return Ok(program.to_vec());
    }
    let sections = Sections::of(program)?;
    let code = code::functions(program, sections.code.clone())?;
    let opcodes = Opcodes::of(&code);
    let mut streams = vec![Vec::new(); STREAMS];
    streams[Stream::Rest as usize] =
        [&program[..sections.head], &program[sections.code.end..]].concat();
    write_functions(&code, &opcodes, &mut streams);

    let bytes = classes::bytes_for(&streams[Stream::Opcode as usize]);
    for opcode in &mut streams[Stream::Opcode as usize] {
        *opcode = bytes[usize::from(*opcode)];
    }

    let mut packed = MAGIC.to_vec();
    let mut meant = [(0, 0); 256];
    for opcode in 0..256 {
        meant[usize::from(bytes[opcode])] = (opcode as u8, opcodes.operands[opcode] as u8);
    }
    packed.extend(meant.map(|(opcode, _)| opcode));
    packed.extend(meant.map(|(_, operands)| operands));
    opcodes.write_short(&mut packed);
    let numbers = [
        program.len(),
        adler32(program) as usize,
        sections.head,
        sections.code.len(),
        code.len(),
    ];
    for number in numbers.into_iter().chain(streams.iter().map(Vec::len)) {
        write_number(number as u64, &mut packed);
    }
    streams
        .iter()
        .for_each(|stream| packed.extend_from_slice(stream));
    Ok(packed)
}

/// Where the code stands in a program.
struct Sections {
    /// Where the code's section begins, with its number and its length.
    head: usize,
    /// The section's contents.
    code: std::ops::Range<usize>,
}

impl Sections {
    fn of(program: &[u8]) -> Result<Sections, Malformed> {
        const CODE: u8 = 10;
        let mut reader = Reader::new(program, 0..program.len());
        if reader.take(8)? != b"\0asm\x01\0\0\0" {
            return Err(reader.malformed("a WebAssembly program of version 1"));
        }
        loop {
            let head = reader.place();
            let number = reader.byte()?;
            let length = reader.shortest()? as usize;
            let begin = reader.place();
            reader.take(length)?;
            if number == CODE {
                let code = begin..begin + length;
                return Ok(Sections { head, code });
            }
        }
    }
}

/// What stands for which instruction.
struct Opcodes {
    /// What each opcode is followed by.
    operands: [Operands; 256],
    short: BTreeMap<Vec<u8>, u8>,
    /// The opcode of a constant that is an address.
    address: u8,
    addresses: BTreeSet<i64>,
}

impl Opcodes {
    /// Gives the most frequent instructions the opcodes that no instruction has; among equals the bytes decide.
    fn of(code: &[Function<'_>]) -> Opcodes {
        let mut operands: [Operands; 256] =
            std::array::from_fn(|opcode| code::operands_of(opcode as u8));
        let mut uses: BTreeMap<&[u8], usize> = BTreeMap::new();
        let mut addresses = BTreeSet::new();
        for instruction in code.iter().flat_map(|function| &function.instructions) {
            if instruction.may_be_short() {
                *uses.entry(instruction.bytes).or_default() += 1;
            }
            addresses.extend(address_of(instruction));
        }
        let mut frequent: Vec<(&[u8], usize)> = uses.into_iter().collect();
        frequent.retain(|(_, uses)| *uses >= LEAST_USES);
        frequent.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
        let free: Vec<u8> = (0..=255u8)
            .filter(|opcode| operands[usize::from(*opcode)] == Operands::Unknown)
            .collect();
        let (address, free) = free.split_first().expect("WebAssembly leaves opcodes free");
        operands[usize::from(*address)] = Operands::Address;
        let short: BTreeMap<Vec<u8>, u8> = frequent
            .iter()
            .zip(free)
            .map(|((bytes, _), opcode)| (bytes.to_vec(), *opcode))
            .collect();
        for opcode in short.values() {
            operands[usize::from(*opcode)] = Operands::Short;
        }
        Opcodes {
            operands,
            short,
            address: *address,
            addresses,
        }
    }

    /// How many short ones there are; each with its opcode, its length and its bytes.
    fn write_short(&self, packed: &mut Vec<u8>) {
        packed.push(self.short.len() as u8);
        for (bytes, opcode) in &self.short {
            packed.extend([*opcode, bytes.len() as u8]);
            packed.extend_from_slice(bytes);
        }
    }
}

/// The address that a constant is.
fn address_of(instruction: &Instruction<'_>) -> Option<i64> {
    let value = instruction.constant()?;
    ADDRESSES.contains(&value).then_some(value)
}

fn write_functions(code: &[Function<'_>], opcodes: &Opcodes, streams: &mut [Vec<u8>]) {
    let mut before = ADDRESSES.start;
    for address in &opcodes.addresses {
        write_number(
            (address - before) as u64,
            &mut streams[Stream::Addresses as usize],
        );
        before = *address;
    }
    let places: BTreeMap<i64, i64> = opcodes.addresses.iter().copied().zip(0..).collect();
    let mut place_before = 0;
    for function in code {
        streams[Stream::Declared as usize].extend_from_slice(function.declared);
        for instruction in &function.instructions {
            if let Some(opcode) = opcodes.short.get(instruction.bytes) {
                streams[Stream::Opcode as usize].push(*opcode);
            } else if let Some(place) =
                address_of(instruction).and_then(|address| places.get(&address))
            {
                streams[Stream::Opcode as usize].push(opcodes.address);
                write_number(
                    zigzag(place - place_before),
                    &mut streams[Stream::Address as usize],
                );
                place_before = *place;
            } else {
                streams[Stream::Opcode as usize].push(instruction.bytes[0]);
                for (stream, bytes) in &instruction.pieces {
                    streams[*stream as usize].extend_from_slice(bytes);
                }
            }
        }
    }
}

/// Small numbers, positive and negative, as small positive ones.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// A number in LEB128, as WebAssembly has its own.
fn write_number(mut number: u64, into: &mut Vec<u8>) {
    while number > 127 {
        into.push(number as u8 | 128);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Adler-32, RFC 1950: `unpack.js` compares it, for a program that is nearly right is worse than none.
fn adler32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1, 0);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    high << 16 | low
}

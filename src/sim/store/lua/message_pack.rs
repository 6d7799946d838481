//! The cmsgpack library (lua-cmsgpack 0.4.0): values as MessagePack.

use super::call::Throw;
use super::heap::Heap;
use super::value::Value;
use super::vm::{Native, Vm};

const MESSAGE_PACK: &[(&str, Native)] = &[
    ("pack", pack),
    ("unpack", unpack),
    ("unpack_one", unpack_one),
    ("unpack_limit", unpack_limit),
];

/// Tables that nest deeper are written as nil.
const MAX_NESTING: usize = 16;
/// How deep what is read may nest.
const MAX_DEPTH: usize = 200;

/// Adds the library.
pub(super) fn open(heap: &mut Heap) {
    let table = heap.add_library("cmsgpack", MESSAGE_PACK);
    for (name, text) in [
        ("_NAME", "cmsgpack"),
        ("_VERSION", "lua-cmsgpack 0.4.0"),
        ("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"),
        ("_DESCRIPTION", "MessagePack C implementation for Lua"),
    ] {
        let text = heap.string(text.as_bytes());
        heap.set_field(table, name, text);
    }
}

fn pack(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let count = vm.argument_count();
    if count == 0 {
        return Err(vm.argument_error(0, "MessagePack pack needs input."));
    }
    let mut out = Vec::new();
    for i in 1..=count {
        let value = vm.argument(i);
        encode(vm, value, &mut out, 0)?;
    }
    vm.give_bytes(&out)
}

/// A head byte for small lengths, or one of two others with 16 or 32 bits of length.
fn encode_length(length: usize, small: u8, medium: u8, out: &mut Vec<u8>) {
    match length {
        0..=15 => out.push(small | length as u8),
        16..=0xffff => {
            out.push(medium);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(medium + 1);
            out.extend_from_slice(&(length as u32).to_be_bytes());
        }
    }
}

fn encode_string(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        0..=31 => out.push(0xa0 | bytes.len() as u8),
        32..=0xff => out.extend_from_slice(&[0xd9, bytes.len() as u8]),
        0x100..=0xffff => {
            out.push(0xda);
            out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        }
        _ => {
            out.push(0xdb);
            out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

fn encode_number(n: f64, out: &mut Vec<u8>) {
    let whole = (-9223372036854775808.0..9223372036854775808.0).contains(&n) && n.floor() == n;
    if whole {
        encode_integer(n as i64, out);
    } else if n == f64::from(n as f32) {
        out.push(0xca);
        out.extend_from_slice(&(n as f32).to_be_bytes());
    } else {
        out.push(0xcb);
        out.extend_from_slice(&n.to_be_bytes());
    }
}

fn encode_integer(n: i64, out: &mut Vec<u8>) {
    let bytes = n.to_be_bytes();
    let (head, width) = match n {
        -32..=127 => {
            out.push(n as u8);
            return;
        }
        128..=0xff => (0xcc, 1),
        0x100..=0xffff => (0xcd, 2),
        0x1_0000..=0xffff_ffff => (0xce, 4),
        0x1_0000_0000.. => (0xcf, 8),
        -128..=-33 => (0xd0, 1),
        -0x8000..=-129 => (0xd1, 2),
        -0x8000_0000..=-0x8001 => (0xd2, 4),
        _ => (0xd3, 8),
    };
    out.push(head);
    out.extend_from_slice(&bytes[8 - width..]);
}

/// Nests no deeper than [`MAX_NESTING`].
fn encode(vm: &mut Vm<'_>, value: Value, out: &mut Vec<u8>, level: usize) -> Result<(), Throw> {
    vm.burn(1)?;
    vm.reserve(out.len())?;
    match value {
        Value::String(s) => {
            vm.reserve(out.len() + vm.heap.bytes_of(s).len())?;
            encode_string(vm.heap.bytes_of(s), out);
        }
        Value::Boolean(b) => out.push(if b { 0xc3 } else { 0xc2 }),
        Value::Number(n) => encode_number(n, out),
        Value::Table(table) if level < MAX_NESTING => encode_table(vm, table, out, level)?,
        _ => out.push(0xc0),
    }
    Ok(())
}

fn encode_table(vm: &mut Vm<'_>, table: u32, out: &mut Vec<u8>, level: usize) -> Result<(), Throw> {
    let (count, is_list) = shape(vm, table)?;
    if is_list {
        let length = vm.heap.tables[table].border();
        encode_length(length, 0x90, 0xdc, out);
        for i in 1..=length {
            let value = vm.index(Value::Table(table), Value::Number(i as f64), None)?;
            encode(vm, value, out, level + 1)?;
        }
        return Ok(());
    }
    encode_length(count, 0x80, 0xde, out);
    let mut key = Value::Nil;
    while let Ok(Some((next, value))) = vm.heap.tables[table].next(key) {
        encode(vm, next, out, level + 1)?;
        encode(vm, value, out, level + 1)?;
        key = next;
    }
    Ok(())
}

/// How many entries a table has, and whether its keys are the numbers from 1 to that.
fn shape(vm: &mut Vm<'_>, table: u32) -> Result<(usize, bool), Throw> {
    let (mut count, mut max, mut list) = (0usize, 0.0, true);
    let mut key = Value::Nil;
    while let Ok(Some((next, _))) = vm.heap.tables[table].next(key) {
        vm.burn(1)?;
        count += 1;
        match next {
            Value::Number(n) if n > 0.0 && n.floor() == n => {
                if n > max {
                    max = n;
                }
            }
            _ => list = false,
        }
        key = next;
    }
    Ok((count, list && max == count as f64))
}

fn unpack(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    unpack_from(vm, 0, 0)
}

fn unpack_one(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let offset = vm.optional_integer(2, 0)?;
    vm.set_argument_count(1);
    unpack_from(vm, 1, offset)
}

fn unpack_limit(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let limit = vm.check_integer(2)?;
    let offset = vm.optional_integer(3, 0)?;
    vm.set_argument_count(1);
    unpack_from(vm, limit, offset)
}

/// Reads up to `limit` values (0 with offset 0: all of them); before them goes where the next one begins,
/// unless all were asked for.
fn unpack_from(vm: &mut Vm<'_>, limit: i64, offset: i64) -> Result<usize, Throw> {
    let bytes = vm.check_bytes(1)?;
    let all = limit == 0 && offset == 0;
    if offset < 0 || limit < 0 {
        let message = format!(
            "Invalid request to unpack with offset of {} and limit of {}.",
            offset as i32,
            bytes.len()
        );
        return Err(vm.native_error(message.as_bytes()));
    }
    if offset > bytes.len() as i64 {
        let message = format!(
            "Start offset {} greater than input length {}.",
            offset as i32,
            bytes.len()
        );
        return Err(vm.native_error(message.as_bytes()));
    }
    let limit = if all { i64::from(i32::MAX) } else { limit };
    let mut reader = Reader {
        bytes: &bytes,
        at: offset as usize,
    };
    let start = vm.thread.top;
    let mut count = 0;
    while reader.at < bytes.len() && (count as i64) < limit {
        if !vm.has_stack(1)? {
            return Err(vm.native_error(b"stack overflow (in function mp_unpack_full)"));
        }
        let value = reader.value(vm, 0)?;
        vm.push(value)?;
        count += 1;
    }
    if !all {
        let next = if reader.at == bytes.len() {
            -1.0
        } else {
            reader.at as f64
        };
        vm.push(Value::Nil)?;
        let top = vm.thread.top;
        vm.thread.stack.copy_within(start..top - 1, start + 1);
        vm.thread.stack[start] = Value::Number(next);
        count += 1;
    }
    Ok(count)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, vm: &mut Vm<'_>, count: usize) -> Result<&'a [u8], Throw> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += count;
                Ok(bytes)
            }
            None => Err(vm.native_error(b"Missing bytes in input.")),
        }
    }

    fn unsigned(&mut self, vm: &mut Vm<'_>, width: usize) -> Result<u64, Throw> {
        let bytes = self.take(vm, width)?;
        Ok(bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, vm: &mut Vm<'_>, width: usize) -> Result<Value, Throw> {
        let value = self.unsigned(vm, width)?;
        let unused = 64 - 8 * width as u32;
        Ok(Value::Number(((value << unused) as i64 >> unused) as f64))
    }

    fn string(&mut self, vm: &mut Vm<'_>, length: u64) -> Result<Value, Throw> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let bytes = self.take(vm, length)?;
        vm.new_string(bytes)
    }

    /// One value; depth is limited.
    fn value(&mut self, vm: &mut Vm<'_>, depth: usize) -> Result<Value, Throw> {
        vm.burn(1)?;
        let head = self.take(vm, 1)?[0];
        Ok(match head {
            0..=0x7f => Value::Number(f64::from(head)),
            0xe0..=0xff => Value::Number(f64::from(head as i8)),
            0x80..=0x8f => self.map(vm, u64::from(head & 15), depth)?,
            0x90..=0x9f => self.list(vm, u64::from(head & 15), depth)?,
            0xa0..=0xbf => self.string(vm, u64::from(head & 31))?,
            0xc0 => Value::Nil,
            0xc2 | 0xc3 => Value::Boolean(head == 0xc3),
            // Of 64 bits the highest is taken for a sign.
            0xcc..=0xcf => Value::Number(self.unsigned(vm, 1 << (head - 0xcc))? as i64 as f64),
            0xd0..=0xd3 => self.signed(vm, 1 << (head - 0xd0))?,
            0xca => Value::Number(f64::from(f32::from_bits(self.unsigned(vm, 4)? as u32))),
            0xcb => Value::Number(f64::from_bits(self.unsigned(vm, 8)?)),
            0xd9..=0xdb => {
                let length = self.unsigned(vm, 1 << (head - 0xd9))?;
                self.string(vm, length)?
            }
            0xdc | 0xdd => {
                let length = self.unsigned(vm, 2 << (head - 0xdc))?;
                self.list(vm, length, depth)?
            }
            0xde | 0xdf => {
                let length = self.unsigned(vm, 2 << (head - 0xde))?;
                self.map(vm, length, depth)?
            }
            _ => return Err(vm.native_error(b"Bad data format in input.")),
        })
    }

    fn new_table(vm: &mut Vm<'_>, depth: usize, what: &str) -> Result<u32, Throw> {
        if depth >= MAX_DEPTH {
            let message = format!("stack overflow (in function mp_decode_to_lua_{what})");
            return Err(vm.native_error(message.as_bytes()));
        }
        vm.new_table(0, 0)
    }

    fn list(&mut self, vm: &mut Vm<'_>, length: u64, depth: usize) -> Result<Value, Throw> {
        let table = Self::new_table(vm, depth, "array")?;
        for i in 1..=length {
            let value = self.value(vm, depth + 1)?;
            vm.raw_set(table, Value::Number(i as f64), value)?;
        }
        Ok(Value::Table(table))
    }

    fn map(&mut self, vm: &mut Vm<'_>, length: u64, depth: usize) -> Result<Value, Throw> {
        let table = Self::new_table(vm, depth, "hash")?;
        for _ in 0..length {
            let key = self.value(vm, depth + 1)?;
            let value = self.value(vm, depth + 1)?;
            vm.raw_set(table, key, value)?;
        }
        Ok(Value::Table(table))
    }
}

//! The struct library: values as the bytes of C structures.

use super::call::Throw;
use super::heap::Heap;
use super::number;
use super::value::Value;
use super::vm::{Native, Vm};

const STRUCT: &[(&str, Native)] = &[("pack", pack), ("unpack", unpack), ("size", size)];

/// The largest integer format, in bytes.
const MAX_INTEGER: usize = 32;
/// What `!` alone aligns to.
const MAX_ALIGNMENT: usize = 8;

/// Adds the library.
pub(super) fn open(heap: &mut Heap) {
    heap.add_library("struct", STRUCT);
}

/// A format being read, with the options that hold from here on.
struct Format {
    text: std::sync::Arc<[u8]>,
    at: usize,
    little: bool,
    alignment: usize,
    /// Where the data end, when there are any: an option beyond them is not looked at.
    data: Option<usize>,
    /// Letters that mean nothing are passed over.
    lenient: bool,
}

/// One item of a format: its letter, its size, and the zero bytes before it.
struct Item {
    letter: u8,
    size: usize,
    padding: usize,
}

impl Format {
    fn new(vm: &mut Vm<'_>) -> Result<Format, Throw> {
        let text = vm.check_bytes(1)?;
        Ok(Format {
            text,
            at: 0,
            little: true,
            alignment: 1,
            data: None,
            lenient: false,
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied().filter(|byte| *byte != 0)
    }

    fn number(&mut self, vm: &mut Vm<'_>, otherwise: usize) -> Result<usize, Throw> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Ok(otherwise);
        }
        let mut number = 0i64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let digit = i64::from(digit - b'0');
            let most = i64::from(i32::MAX);
            if number > most / 10 || number * 10 > most - digit {
                return Err(vm.native_error(b"integral size overflow"));
            }
            number = number * 10 + digit;
            self.at += 1;
        }
        Ok(number as usize)
    }

    /// The next item for a place in the data; options are taken in on the way.
    fn next(&mut self, vm: &mut Vm<'_>, place: usize) -> Result<Option<Item>, Throw> {
        while let Some(letter) = self.peek() {
            self.at += 1;
            let size = match letter {
                b'b' | b'B' | b'x' => 1,
                b'h' | b'H' => 2,
                b'l' | b'L' | b'T' | b'd' => 8,
                b'f' => 4,
                b'c' => self.number(vm, 1)?,
                b's' => 0,
                b'i' | b'I' => {
                    let size = self.number(vm, 4)?;
                    if size > MAX_INTEGER {
                        let message =
                            format!("integral size {size} is larger than limit of {MAX_INTEGER}");
                        return Err(vm.native_error(message.as_bytes()));
                    }
                    size
                }
                other => {
                    if self.data.is_some_and(|end| place > end) {
                        return Err(vm.argument_error(2, "data string too short"));
                    }
                    self.option(vm, other)?;
                    continue;
                }
            };
            let step = size.min(self.alignment);
            let padding = if size == 0 || letter == b'c' {
                0
            } else {
                (step - (place & (step - 1))) & (step - 1)
            };
            return Ok(Some(Item {
                letter,
                size,
                padding,
            }));
        }
        Ok(None)
    }

    fn option(&mut self, vm: &mut Vm<'_>, letter: u8) -> Result<(), Throw> {
        match letter {
            b' ' => {}
            b'<' => self.little = true,
            b'>' => self.little = false,
            b'!' => {
                let alignment = self.number(vm, MAX_ALIGNMENT)?;
                if !alignment.is_power_of_two() {
                    let message = format!("alignment {alignment} is not a power of 2");
                    return Err(vm.native_error(message.as_bytes()));
                }
                self.alignment = alignment;
            }
            _ if self.lenient => {}
            other => {
                let shown = char::from(other);
                return Err(vm.argument_error(1, &format!("invalid format option '{shown}'")));
            }
        }
        Ok(())
    }

    /// Bytes in the order of the format, from little-endian ones.
    fn ordered(&self, bytes: &mut [u8]) {
        if !self.little {
            bytes.reverse();
        }
    }
}

fn integer_bytes(n: f64, size: usize) -> Vec<u8> {
    let value = if n < 0.0 {
        number::to_i64(n) as u64
    } else {
        number::to_u64(n)
    };
    let mut bytes = value.to_le_bytes().to_vec();
    bytes.resize(size.max(8), 0);
    bytes.truncate(size);
    bytes
}

fn pack(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let mut format = Format::new(vm)?;
    // Lua's own keeps a nil after the arguments, and finds it when one is missing.
    vm.push(Value::Nil)?;
    let mut out = Vec::new();
    let mut argument = 2;
    while let Some(item) = format.next(vm, out.len())? {
        vm.burn(1)?;
        vm.reserve(out.len().saturating_add(item.size))?;
        out.resize(out.len() + item.padding, 0);
        match item.letter {
            b'x' => out.push(0),
            b'f' | b'd' => {
                let n = vm.check_number(argument)?;
                argument += 1;
                let mut bytes = if item.letter == b'f' {
                    (n as f32).to_le_bytes().to_vec()
                } else {
                    n.to_le_bytes().to_vec()
                };
                format.ordered(&mut bytes);
                out.extend_from_slice(&bytes);
            }
            b'c' | b's' => {
                let bytes = vm.check_bytes(argument)?;
                argument += 1;
                let size = if item.size == 0 {
                    bytes.len()
                } else {
                    item.size
                };
                if bytes.len() < size {
                    return Err(vm.argument_error(argument, "string too short"));
                }
                vm.reserve(out.len() + size)?;
                out.extend_from_slice(&bytes[..size]);
                if item.letter == b's' {
                    out.push(0);
                }
            }
            _ => {
                let n = vm.check_number(argument)?;
                argument += 1;
                let mut bytes = integer_bytes(n, item.size);
                format.ordered(&mut bytes);
                out.extend_from_slice(&bytes);
            }
        }
    }
    vm.give_bytes(&out)
}

fn integer_value(bytes: &[u8], signed: bool) -> f64 {
    let mut value = 0u64;
    for byte in bytes.iter().rev() {
        value = value << 8 | u64::from(*byte);
    }
    if !signed {
        return value as f64;
    }
    let mask = u64::MAX.wrapping_shl((bytes.len() * 8).wrapping_sub(1) as u32);
    if value & mask != 0 {
        value |= mask;
    }
    value as i64 as f64
}

fn unpack(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let mut format = Format::new(vm)?;
    let data = vm.check_bytes(2)?;
    format.data = Some(data.len());
    let start = vm.optional_integer(3, 1)?;
    if start == 0 {
        return Err(vm.argument_error(3, "offset must be 1 or greater"));
    }
    let mut place = usize::try_from(start - 1).unwrap_or(usize::MAX / 2);
    let mut count = 0;
    while let Some(item) = format.next(vm, place)? {
        vm.burn(1)?;
        place = place.saturating_add(item.padding);
        let mut size = item.size;
        check_data(vm, &data, place, size)?;
        if !vm.has_stack(2)? {
            return Err(vm.native_error(b"stack overflow (too many results)"));
        }
        let mut bytes = data[place..place + size].to_vec();
        let value = match item.letter {
            b'x' => {
                place += size;
                continue;
            }
            b'f' => {
                format.ordered(&mut bytes);
                let bytes = bytes.try_into().unwrap_or_default();
                Value::Number(f64::from(f32::from_le_bytes(bytes)))
            }
            b'd' => {
                format.ordered(&mut bytes);
                Value::Number(f64::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
            b'c' => {
                if size == 0 {
                    let last = vm.thread.stack[vm.thread.top - 1];
                    let length = if count == 0 { None } else { vm.to_number(last) };
                    let Some(length) = length else {
                        return Err(vm.native_error(b"format 'c0' needs a previous size"));
                    };
                    vm.thread.top -= 1;
                    count -= 1;
                    size = usize::try_from(number::to_u64(length)).unwrap_or(usize::MAX);
                    check_data(vm, &data, place, size)?;
                }
                vm.new_string(&data[place..place + size])?
            }
            b's' => {
                let rest = &data[place.min(data.len())..];
                let Some(length) = rest.iter().position(|byte| *byte == 0) else {
                    return Err(vm.native_error(b"unfinished string in data"));
                };
                size = length + 1;
                vm.new_string(&rest[..length])?
            }
            letter => {
                format.ordered(&mut bytes);
                Value::Number(integer_value(&bytes, letter.is_ascii_lowercase()))
            }
        };
        vm.push(value)?;
        count += 1;
        place += size;
    }
    // An offset beyond the data with nothing to read comes back as it was.
    let next = if place > data.len() {
        start as f64
    } else {
        (place + 1) as f64
    };
    vm.push(Value::Number(next))?;
    Ok(count + 1)
}

fn check_data(vm: &mut Vm<'_>, data: &[u8], place: usize, size: usize) -> Result<(), Throw> {
    if place.checked_add(size).is_none_or(|end| end > data.len()) {
        return Err(vm.argument_error(2, "data string too short"));
    }
    Ok(())
}

fn size(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let mut format = Format::new(vm)?;
    format.lenient = true;
    let mut place = 0usize;
    while let Some(item) = format.next(vm, place)? {
        vm.burn(1)?;
        match item.letter {
            b's' => return Err(vm.argument_error(1, "option 's' has no fixed size")),
            b'c' if item.size == 0 => {
                return Err(vm.argument_error(1, "option 'c0' has no fixed size"));
            }
            _ => place = place.saturating_add(item.padding + item.size),
        }
    }
    vm.give_number(place as f64)
}

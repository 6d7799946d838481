//! The string library.

use std::sync::Arc;

use super::call::Throw;
use super::heap::{Event, Function, Heap};
use super::number::{self, Conversion};
use super::pattern::{Length, Matcher, Trouble};
use super::value::Value;
use super::vm::{Native, Vm};

/// Steps of the matcher that one unit of fuel buys.
const STEPS_PER_FUEL: u64 = 8;

const STRING: &[(&str, Native)] = &[
    ("byte", byte),
    ("char", char_of),
    ("dump", dump),
    ("find", find),
    ("format", format),
    ("gfind", gmatch),
    ("gmatch", gmatch),
    ("gsub", gsub),
    ("len", len),
    ("lower", lower),
    ("match", match_of),
    ("rep", rep),
    ("reverse", reverse),
    ("sub", sub),
    ("upper", upper),
];

/// Adds the library (in the order in which `pairs` shows it), and gives all strings its functions as methods.
pub(super) fn open(heap: &mut Heap) {
    let table = heap.add_library("string", STRING);
    let name = heap.string(b"gmatch");
    let gmatch = heap.tables[table].get(name);
    heap.set_field(table, "gfind", gmatch);
    let metatable = heap.add_table(super::table::Table::with_sizes(0, 1));
    let index = heap.event_name(Event::Index);
    heap.set(metatable, index, Value::Table(table));
    heap.string_metatable = Some(metatable);
}

/// A position from the end as one from the start; what lies before the start becomes 0.
fn from_start(position: i64, length: usize) -> i64 {
    let length = length as i64;
    if position >= 0 {
        position
    } else {
        position.saturating_add(length + 1).max(0)
    }
}

fn len(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let length = vm.check_bytes(1)?.len();
    vm.give_number(length as f64)
}

fn sub(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let bytes = vm.check_bytes(1)?;
    let start = from_start(vm.check_integer(2)?, bytes.len()).max(1);
    let end = from_start(vm.optional_integer(3, -1)?, bytes.len()).min(bytes.len() as i64);
    if start > end {
        return vm.give_bytes(b"");
    }
    vm.give_bytes(&bytes[start as usize - 1..end as usize])
}

fn mapped(vm: &mut Vm<'_>, map: fn(&mut [u8])) -> Result<usize, Throw> {
    let bytes = vm.check_bytes(1)?;
    vm.reserve(bytes.len())?;
    let mut bytes = bytes.to_vec();
    map(&mut bytes);
    vm.give_bytes(&bytes)
}

fn reverse(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    mapped(vm, |bytes| bytes.reverse())
}

fn lower(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    mapped(vm, |bytes| bytes.make_ascii_lowercase())
}

fn upper(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    mapped(vm, |bytes| bytes.make_ascii_uppercase())
}

fn rep(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let bytes = vm.check_bytes(1)?;
    let count = vm.check_int(2)?.max(0) as usize;
    vm.reserve(bytes.len().saturating_mul(count))?;
    vm.give_bytes(&bytes.repeat(if bytes.is_empty() { 0 } else { count }))
}

fn byte(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let bytes = vm.check_bytes(1)?;
    let start = from_start(vm.optional_integer(2, 1)?, bytes.len());
    let end = from_start(vm.optional_integer(3, start)?, bytes.len()).min(bytes.len() as i64);
    let start = start.max(1);
    if start > end {
        return Ok(0);
    }
    let slice = &bytes[start as usize - 1..end as usize];
    if !vm.has_stack(slice.len())? {
        return Err(vm.native_error(b"stack overflow (string slice too long)"));
    }
    for byte in slice {
        vm.push(Value::Number(f64::from(*byte)))?;
    }
    Ok(slice.len())
}

fn char_of(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let mut bytes = Vec::new();
    for i in 1..=vm.argument_count() {
        let code = vm.check_int(i)?;
        match u8::try_from(code) {
            Ok(byte) => bytes.push(byte),
            Err(_) => return Err(vm.argument_error(i, "invalid value")),
        }
    }
    vm.give_bytes(&bytes)
}

/// Compiled code is of no use here, and Redis refuses to load it.
fn dump(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    vm.check_function(1)?;
    Err(vm.native_error(b"unable to dump given function"))
}

fn trouble(vm: &mut Vm<'_>, trouble: Trouble) -> Throw {
    match trouble {
        Trouble::Pattern(message) => vm.native_error(message.as_bytes()),
        Trouble::Fuel => {
            vm.fuel = 0;
            Throw::Fuel
        }
    }
}

fn steps(vm: &Vm<'_>) -> u64 {
    vm.fuel.saturating_mul(STEPS_PER_FUEL)
}

fn use_steps(vm: &mut Vm<'_>, left: u64) {
    vm.fuel = vm.fuel.min(left / STEPS_PER_FUEL);
}

/// A capture; the whole match stands for the first when there is none.
fn capture(
    vm: &mut Vm<'_>,
    matcher: &Matcher<'_>,
    index: usize,
    subject: &[u8],
    whole: (usize, usize),
) -> Result<Value, Throw> {
    if index >= matcher.level {
        if index == 0 {
            return vm.new_string(&subject[whole.0..whole.1]);
        }
        return Err(vm.native_error(b"invalid capture index"));
    }
    let capture = matcher.captures[index];
    match capture.length {
        Length::Bytes(length) => vm.new_string(&subject[capture.start..capture.start + length]),
        Length::Position => Ok(Value::Number((capture.start + 1) as f64)),
        Length::Unfinished => Err(vm.native_error(b"unfinished capture")),
    }
}

/// Pushes all captures, or the whole match when it has none and `whole_too` is set.
fn push_captures(
    vm: &mut Vm<'_>,
    matcher: &Matcher<'_>,
    subject: &[u8],
    whole: (usize, usize),
    whole_too: bool,
) -> Result<usize, Throw> {
    let count = if matcher.level == 0 && whole_too {
        1
    } else {
        matcher.level
    };
    vm.ensure_stack(count)?;
    for i in 0..count {
        let value = capture(vm, matcher, i, subject, whole)?;
        vm.push(value)?;
    }
    Ok(count)
}

fn find(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    find_or_match(vm, true)
}

fn match_of(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    find_or_match(vm, false)
}

fn find_or_match(vm: &mut Vm<'_>, find: bool) -> Result<usize, Throw> {
    let subject = vm.check_bytes(1)?;
    let pattern = vm.check_bytes(2)?;
    let init = from_start(vm.optional_integer(3, 1)?, subject.len()) - 1;
    let init = init.clamp(0, subject.len() as i64) as usize;
    let until_zero = number::until_zero(&pattern);
    let special = until_zero.iter().any(|byte| b"^$*+?.([%-".contains(byte));
    if find && (vm.argument(4).truthy() || !special) {
        vm.burn((subject.len() - init) / 16)?;
        return match find_plain(&subject[init..], &pattern) {
            Some(at) => {
                vm.push(Value::Number((init + at + 1) as f64))?;
                vm.push(Value::Number((init + at + pattern.len()) as f64))?;
                Ok(2)
            }
            None => vm.give(Value::Nil),
        };
    }
    let anchored = until_zero.first() == Some(&b'^');
    let mut matcher = Matcher::new(&subject, until_zero, steps(vm));
    let mut start = init;
    loop {
        let found = matcher.match_at(start, usize::from(anchored));
        use_steps(vm, matcher.steps);
        match found {
            Err(error) => return Err(trouble(vm, error)),
            Ok(Some(end)) => {
                if !find {
                    return push_captures(vm, &matcher, &subject, (start, end), true);
                }
                vm.push(Value::Number((start + 1) as f64))?;
                vm.push(Value::Number(end as f64))?;
                let count = push_captures(vm, &matcher, &subject, (start, end), false)?;
                return Ok(count + 2);
            }
            Ok(None) => {}
        }
        start += 1;
        if start > subject.len() || anchored {
            return vm.give(Value::Nil);
        }
    }
}

fn find_plain(subject: &[u8], pattern: &[u8]) -> Option<usize> {
    let Some(first) = pattern.first() else {
        return Some(0);
    };
    let mut at = 0;
    while at + pattern.len() <= subject.len() {
        at += subject[at..].iter().position(|byte| byte == first)?;
        if subject[at..].starts_with(pattern) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn gmatch(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    vm.check_str(1)?;
    vm.check_str(2)?;
    let values = Box::new([vm.argument(1), vm.argument(2), Value::Number(0.0)]);
    let function = vm.heap.add_function(Function::Native {
        run: gmatch_step,
        values,
    });
    vm.give(Value::Function(function))
}

fn gmatch_step(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let (Value::String(subject), Value::String(pattern), Value::Number(start)) =
        (vm.own_value(0), vm.own_value(1), vm.own_value(2))
    else {
        return Ok(0);
    };
    let subject = vm.heap.shared_bytes(subject);
    let pattern = vm.heap.shared_bytes(pattern);
    let mut matcher = Matcher::new(&subject, number::until_zero(&pattern), steps(vm));
    let mut start = start as usize;
    while start <= subject.len() {
        let found = matcher.match_at(start, 0);
        use_steps(vm, matcher.steps);
        match found {
            Err(error) => return Err(trouble(vm, error)),
            Ok(Some(end)) => {
                let next = if end == start { end + 1 } else { end };
                vm.set_own_value(2, Value::Number(next as f64));
                return push_captures(vm, &matcher, &subject, (start, end), true);
            }
            Ok(None) => start += 1,
        }
    }
    Ok(0)
}

fn gsub(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let subject = vm.check_bytes(1)?;
    let pattern = vm.check_bytes(2)?;
    let replacement = match vm.argument(3) {
        Value::Number(_) | Value::String(_) => Value::String(vm.check_str(3)?),
        value @ (Value::Table(_) | Value::Function(_)) => value,
        _ => return Err(vm.argument_error(3, "string/function/table expected")),
    };
    let most = i64::from(vm.optional_int(4, (subject.len() + 1).min(i32::MAX as usize) as i32)?);
    let pattern = number::until_zero(&pattern);
    let anchored = pattern.first() == Some(&b'^');
    let mut matcher = Matcher::new(&subject, pattern, 0);
    let mut out = Vec::new();
    let mut start = 0;
    let mut count = 0;
    while count < most {
        matcher.steps = steps(vm);
        let found = matcher.match_at(start, usize::from(anchored));
        use_steps(vm, matcher.steps);
        let found = found.map_err(|error| trouble(vm, error))?;
        if let Some(end) = found {
            count += 1;
            add_replacement(vm, &matcher, &subject, (start, end), replacement, &mut out)?;
            vm.reserve(out.len())?;
        }
        match found {
            Some(end) if end > start => start = end,
            _ if start < subject.len() => {
                out.push(subject[start]);
                start += 1;
            }
            _ => break,
        }
        if anchored {
            break;
        }
    }
    out.extend_from_slice(subject.get(start..).unwrap_or(&[]));
    vm.give_bytes(&out)?;
    vm.push(Value::Number(count as f64))?;
    Ok(2)
}

fn add_replacement(
    vm: &mut Vm<'_>,
    matcher: &Matcher<'_>,
    subject: &Arc<[u8]>,
    whole: (usize, usize),
    replacement: Value,
    out: &mut Vec<u8>,
) -> Result<(), Throw> {
    let value = match replacement {
        Value::String(text) => {
            let text = vm.heap.shared_bytes(text);
            return expand(vm, matcher, subject, whole, &text, out);
        }
        Value::Table(_) => {
            let key = capture(vm, matcher, 0, subject, whole)?;
            vm.index(replacement, key, None)?
        }
        _ => {
            let callee = vm.thread.top;
            vm.push(replacement)?;
            push_captures(vm, matcher, subject, whole, true)?;
            vm.call(callee, 1)?;
            vm.thread.top -= 1;
            vm.thread.stack[vm.thread.top]
        }
    };
    if !value.truthy() {
        out.extend_from_slice(&subject[whole.0..whole.1]);
        return Ok(());
    }
    match vm.string_of(value) {
        Some(text) => {
            out.extend_from_slice(vm.heap.bytes_of(text));
            Ok(())
        }
        None => {
            let message = format!("invalid replacement value (a {})", value.type_name());
            Err(vm.native_error(message.as_bytes()))
        }
    }
}

/// A replacement text with `%0` to `%9`.
fn expand(
    vm: &mut Vm<'_>,
    matcher: &Matcher<'_>,
    subject: &[u8],
    whole: (usize, usize),
    text: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Throw> {
    vm.reserve(out.len() + text.len())?;
    let mut i = 0;
    while i < text.len() {
        if text[i] != b'%' {
            out.push(text[i]);
            i += 1;
            continue;
        }
        match text.get(i + 1).copied().unwrap_or(0) {
            b'0' => out.extend_from_slice(&subject[whole.0..whole.1]),
            digit @ b'1'..=b'9' => {
                let value = capture(vm, matcher, usize::from(digit - b'1'), subject, whole)?;
                if let Some(s) = vm.string_of(value) {
                    out.extend_from_slice(vm.heap.bytes_of(s));
                }
            }
            other => out.push(other),
        }
        i += 2;
    }
    Ok(())
}

fn format(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let format = vm.check_bytes(1)?;
    let mut out = Vec::new();
    let mut argument = 1;
    let mut i = 0;
    while i < format.len() {
        if format[i] != b'%' {
            out.push(format[i]);
            i += 1;
            continue;
        }
        i += 1;
        if format.get(i) == Some(&b'%') {
            out.push(b'%');
            i += 1;
            continue;
        }
        argument += 1;
        if !vm.has_argument(argument) {
            return Err(vm.argument_error(argument, "no value"));
        }
        let conversion = read_conversion(vm, &format, &mut i)?;
        let letter = format.get(i).copied().unwrap_or(0);
        i += 1;
        convert(vm, &conversion, letter, argument, &mut out)?;
        vm.reserve(out.len())?;
    }
    vm.give_bytes(&out)
}

fn read_conversion(vm: &mut Vm<'_>, format: &[u8], i: &mut usize) -> Result<Conversion, Throw> {
    let mut conversion = Conversion::default();
    let start = *i;
    while let Some(flag) = format.get(*i) {
        match flag {
            b'-' => conversion.left = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.space = true,
            b'#' => conversion.alternate = true,
            b'0' => conversion.zero = true,
            _ => break,
        }
        *i += 1;
    }
    if *i - start > 5 {
        return Err(vm.native_error(b"invalid format (repeated flags)"));
    }
    conversion.width = two_digits(format, i);
    if format.get(*i) == Some(&b'.') {
        *i += 1;
        conversion.precision = Some(two_digits(format, i));
    }
    if format.get(*i).is_some_and(u8::is_ascii_digit) {
        return Err(vm.native_error(b"invalid format (width or precision too long)"));
    }
    Ok(conversion)
}

fn two_digits(format: &[u8], i: &mut usize) -> usize {
    let mut number = 0;
    for _ in 0..2 {
        if let Some(digit @ b'0'..=b'9') = format.get(*i) {
            number = number * 10 + usize::from(digit - b'0');
            *i += 1;
        }
    }
    number
}

fn convert(
    vm: &mut Vm<'_>,
    conversion: &Conversion,
    letter: u8,
    argument: usize,
    out: &mut Vec<u8>,
) -> Result<(), Throw> {
    match letter {
        b'c' => {
            let byte = number::to_i32(vm.check_number(argument)?) as u8;
            let mut text = Vec::new();
            let plain = Conversion {
                precision: None,
                ..conversion.clone()
            };
            plain.bytes(&[byte], &mut text);
            out.extend_from_slice(number::until_zero(&text));
        }
        b'd' | b'i' => {
            let number = number::to_i64(vm.check_number(argument)?);
            out.extend_from_slice(conversion.signed(number).as_bytes());
        }
        b'o' | b'u' | b'x' | b'X' => {
            let number = number::to_u64(vm.check_number(argument)?);
            out.extend_from_slice(conversion.unsigned(letter, number).as_bytes());
        }
        b'e' | b'E' | b'f' | b'g' | b'G' => {
            let number = vm.check_number(argument)?;
            out.extend_from_slice(conversion.float(letter, number).as_bytes());
        }
        b'q' => {
            let bytes = vm.check_bytes(argument)?;
            add_quoted(&bytes, out);
        }
        b's' => {
            let bytes = vm.check_bytes(argument)?;
            if conversion.precision.is_none() && bytes.len() >= 100 {
                vm.reserve(out.len() + bytes.len())?;
                out.extend_from_slice(&bytes);
            } else {
                conversion.bytes(number::until_zero(&bytes), out);
            }
        }
        other => {
            let mut message = b"invalid option '%".to_vec();
            if other != 0 {
                message.push(other);
            }
            message.extend_from_slice(b"' to 'format'");
            return Err(vm.native_error(&message));
        }
    }
    Ok(())
}

fn add_quoted(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' | b'\n' => out.extend_from_slice(&[b'\\', *byte]),
            b'\r' => out.extend_from_slice(b"\\r"),
            0 => out.extend_from_slice(b"\\000"),
            other => out.push(*other),
        }
    }
    out.push(b'"');
}

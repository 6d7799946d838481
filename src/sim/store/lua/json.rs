//! The cjson library (Lua CJSON 2.1). Both directions keep their own stack of what is open, so nesting
//! costs no native stack.

use super::call::Throw;
use super::heap::Heap;
use super::number;
use super::value::Value;
use super::vm::{JsonOptions, Native, Vm};

const JSON: &[(&str, Native)] = &[
    ("encode", encode),
    ("decode", decode),
    ("encode_sparse_array", encode_sparse_array),
    ("encode_max_depth", encode_max_depth),
    ("decode_max_depth", decode_max_depth),
    ("encode_number_precision", encode_number_precision),
    ("encode_keep_buffer", encode_keep_buffer),
    ("encode_invalid_numbers", encode_invalid_numbers),
    ("decode_invalid_numbers", decode_invalid_numbers),
    ("new", new_instance),
];

impl Default for JsonOptions {
    fn default() -> JsonOptions {
        JsonOptions {
            sparse_convert: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_max_depth: 1000,
            decode_max_depth: 1000,
            precision: 14,
            encode_invalid: 0,
            decode_invalid: true,
            keep_buffer: true,
        }
    }
}

/// Adds the library.
pub(super) fn open(heap: &mut Heap) {
    let table = heap.add_library("cjson", JSON);
    fill(heap, table);
}

fn fill(heap: &mut Heap, table: u32) {
    heap.set_field(table, "null", Value::Null);
    let name = heap.string(b"cjson");
    heap.set_field(table, "_NAME", name);
    let version = heap.string(b"2.1.0");
    heap.set_field(table, "_VERSION", version);
}

/// Another table with the same functions; in Lua CJSON it has options of its own, here they are shared.
fn new_instance(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.new_table(0, JSON.len() + 3)?;
    vm.push(Value::Table(table))?;
    vm.heap.register(table, JSON);
    fill(&mut vm.heap, table);
    Ok(1)
}

// Options.

fn check_count(vm: &mut Vm<'_>, most: usize) -> Result<(), Throw> {
    if vm.argument_count() > most {
        return Err(vm.argument_error(most + 1, "found too many arguments"));
    }
    Ok(())
}

fn integer_option(
    vm: &mut Vm<'_>,
    number: usize,
    option: fn(&mut JsonOptions) -> &mut i32,
    (low, high): (i32, i32),
) -> Result<(), Throw> {
    if !vm.argument(number).is_nil() {
        let value = vm.check_int(number)?;
        if !(low..=high).contains(&value) {
            let message = format!("expected integer between {low} and {high}");
            // Lua CJSON names the first argument whichever it is.
            return Err(vm.argument_error(1, &message));
        }
        *option(&mut vm.json) = value;
    }
    let value = *option(&mut vm.json);
    vm.push(Value::Number(f64::from(value)))
}

fn boolean_option(vm: &mut Vm<'_>, option: fn(&mut JsonOptions) -> &mut bool) -> Result<(), Throw> {
    if !vm.argument(1).is_nil() {
        let value = match vm.argument(1) {
            Value::Boolean(value) => value,
            _ => vm.check_option(1, None, &["off", "on"])? == 1,
        };
        *option(&mut vm.json) = value;
    }
    let value = *option(&mut vm.json);
    vm.push(Value::Boolean(value))
}

fn encode_sparse_array(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    check_count(vm, 3)?;
    vm.set_argument_count(3);
    boolean_option(vm, |options| &mut options.sparse_convert)?;
    integer_option(vm, 2, |options| &mut options.sparse_ratio, (0, i32::MAX))?;
    integer_option(vm, 3, |options| &mut options.sparse_safe, (0, i32::MAX))?;
    Ok(3)
}

fn encode_max_depth(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    check_count(vm, 1)?;
    vm.set_argument_count(1);
    integer_option(
        vm,
        1,
        |options| &mut options.encode_max_depth,
        (1, i32::MAX),
    )?;
    Ok(1)
}

fn decode_max_depth(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    check_count(vm, 1)?;
    vm.set_argument_count(1);
    integer_option(
        vm,
        1,
        |options| &mut options.decode_max_depth,
        (1, i32::MAX),
    )?;
    Ok(1)
}

fn encode_number_precision(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    check_count(vm, 1)?;
    vm.set_argument_count(1);
    integer_option(vm, 1, |options| &mut options.precision, (1, 14))?;
    Ok(1)
}

fn encode_keep_buffer(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    check_count(vm, 1)?;
    vm.set_argument_count(1);
    boolean_option(vm, |options| &mut options.keep_buffer)?;
    Ok(1)
}

fn encode_invalid_numbers(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    check_count(vm, 1)?;
    vm.set_argument_count(1);
    if !vm.argument(1).is_nil() {
        vm.json.encode_invalid = match vm.argument(1) {
            Value::Boolean(value) => i32::from(value),
            _ => vm.check_option(1, None, &["off", "on", "null"])? as i32,
        };
    }
    match vm.json.encode_invalid {
        2 => vm.give_bytes(b"null"),
        other => vm.give(Value::Boolean(other == 1)),
    }
}

fn decode_invalid_numbers(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    check_count(vm, 1)?;
    vm.set_argument_count(1);
    boolean_option(vm, |options| &mut options.decode_invalid)?;
    Ok(1)
}

// Encoding.

/// A container that is being written.
enum Open {
    Array {
        table: u32,
        next: usize,
        length: usize,
    },
    Object {
        table: u32,
        key: Value,
    },
}

fn encode(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.argument_count() != 1 {
        return Err(vm.argument_error(1, "expected 1 argument"));
    }
    let mut out = Vec::new();
    let mut open = Vec::new();
    let value = vm.argument(1);
    encode_value(vm, value, &mut out, &mut open)?;
    while let Some(container) = open.last_mut() {
        vm.burn(1)?;
        vm.reserve(out.len())?;
        let value = match container {
            Open::Array { next, length, .. } if *next > *length => {
                out.push(b']');
                open.pop();
                continue;
            }
            Open::Array { table, next, .. } => {
                if *next > 1 {
                    out.push(b',');
                }
                *next += 1;
                vm.heap.tables[*table].get_int(*next - 1)
            }
            Open::Object { table, key } => {
                let first = key.is_nil();
                let Ok(Some((next, value))) = vm.heap.tables[*table].next(*key) else {
                    out.push(b'}');
                    open.pop();
                    continue;
                };
                *key = next;
                if !first {
                    out.push(b',');
                }
                encode_key(vm, next, &mut out)?;
                value
            }
        };
        encode_value(vm, value, &mut out, &mut open)?;
    }
    vm.give_bytes(&out)
}

fn refuse(vm: &mut Vm<'_>, value: Value, reason: &str) -> Throw {
    let kind = value.type_name();
    vm.native_error(format!("Cannot serialise {kind}: {reason}").as_bytes())
}

fn encode_key(vm: &mut Vm<'_>, key: Value, out: &mut Vec<u8>) -> Result<(), Throw> {
    match key {
        Value::String(s) => encode_string(vm.heap.bytes_of(s), out),
        Value::Number(_) => {
            out.push(b'"');
            encode_number(vm, key, out)?;
            out.push(b'"');
        }
        other => return Err(refuse(vm, other, "table key must be a number or string")),
    }
    out.push(b':');
    Ok(())
}

fn encode_value(
    vm: &mut Vm<'_>,
    value: Value,
    out: &mut Vec<u8>,
    open: &mut Vec<Open>,
) -> Result<(), Throw> {
    match value {
        Value::String(s) => {
            vm.reserve(out.len() + vm.heap.bytes_of(s).len() * 2)?;
            encode_string(vm.heap.bytes_of(s), out);
        }
        Value::Number(_) => encode_number(vm, value, out)?,
        Value::Boolean(true) => out.extend_from_slice(b"true"),
        Value::Boolean(false) => out.extend_from_slice(b"false"),
        Value::Nil | Value::Null => out.extend_from_slice(b"null"),
        Value::Table(table) => {
            let length = array_length(vm, table)?;
            let depth = open.len() + 1;
            if depth as i64 > i64::from(vm.json.encode_max_depth) {
                let message = format!("Cannot serialise, excessive nesting ({depth})");
                return Err(vm.native_error(message.as_bytes()));
            }
            match length {
                Some(length) if length > 0 => {
                    out.push(b'[');
                    open.push(Open::Array {
                        table,
                        next: 1,
                        length,
                    });
                }
                _ => {
                    out.push(b'{');
                    open.push(Open::Object {
                        table,
                        key: Value::Nil,
                    });
                }
            }
        }
        other => return Err(refuse(vm, other, "type not supported")),
    }
    Ok(())
}

fn encode_number(vm: &mut Vm<'_>, value: Value, out: &mut Vec<u8>) -> Result<(), Throw> {
    let Value::Number(n) = value else {
        return Ok(());
    };
    if !n.is_finite() {
        match vm.json.encode_invalid {
            0 => return Err(refuse(vm, value, "must not be NaN or Inf")),
            1 if n.is_nan() => {
                out.extend_from_slice(b"nan");
                return Ok(());
            }
            1 => {}
            _ => {
                out.extend_from_slice(b"null");
                return Ok(());
            }
        }
    }
    out.extend_from_slice(number::general(n, vm.json.precision as usize).as_bytes());
    Ok(())
}

fn encode_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' | b'/' => out.extend_from_slice(&[b'\\', *byte]),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            0..=31 | 127 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            other => out.push(*other),
        }
    }
    out.push(b'"');
}

/// The length of a table whose keys are all positive whole numbers; none for any other.
fn array_length(vm: &mut Vm<'_>, table: u32) -> Result<Option<usize>, Throw> {
    let (mut max, mut items) = (0i32, 0i32);
    let mut key = Value::Nil;
    while let Ok(Some((next, _))) = vm.heap.tables[table].next(key) {
        vm.burn(1)?;
        match next {
            Value::Number(n) if n >= 1.0 && n.floor() == n => {
                if n > f64::from(max) {
                    max = number::to_int(n);
                }
                items += 1;
            }
            _ => return Ok(None),
        }
        key = next;
    }
    let ratio = vm.json.sparse_ratio;
    if ratio > 0 && max > items.wrapping_mul(ratio) && max > vm.json.sparse_safe {
        if !vm.json.sparse_convert {
            return Err(refuse(vm, Value::Table(table), "excessively sparse array"));
        }
        return Ok(None);
    }
    Ok(usize::try_from(max).ok())
}

// Decoding.

/// A piece of JSON text.
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

impl Token {
    fn name(&self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::String(_) => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Error(what) => what,
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// Where the token began, or where it went wrong.
    place: usize,
    invalid_numbers: bool,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn next(&mut self) -> Token {
        while matches!(self.peek(0), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.place = self.at;
        let single = match self.peek(0) {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            0 => return Token::End,
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => {
                if !self.invalid_numbers && self.is_invalid_number() {
                    return Token::Error("invalid number");
                }
                return self.number();
            }
            _ => return self.word(),
        };
        self.at += 1;
        single
    }

    fn word(&mut self) -> Token {
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        for (word, token) in [
            (&b"true"[..], Token::Boolean(true)),
            (b"false", Token::Boolean(false)),
            (b"null", Token::Null),
        ] {
            if rest.starts_with(word) {
                self.at += word.len();
                return token;
            }
        }
        let number = matches!(self.peek(0), b'i' | b'I' | b'n' | b'N' | b'+');
        if number && self.invalid_numbers && self.is_invalid_number() {
            return self.number();
        }
        Token::Error("invalid token")
    }

    /// What `strtod` takes but JSON does not have.
    fn is_invalid_number(&self) -> bool {
        if self.peek(0) == b'+' {
            return true;
        }
        let sign = usize::from(self.peek(0) == b'-');
        let (first, second) = (self.peek(sign), self.peek(sign + 1));
        if first == b'0' {
            return second | 0x20 == b'x' || second.is_ascii_digit();
        }
        if first <= b'9' {
            return false;
        }
        let word = self
            .text
            .get(self.at + sign..self.at + sign + 3)
            .unwrap_or(&[]);
        word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")
    }

    fn number(&mut self) -> Token {
        match number::parse_prefix(self.text.get(self.at..).unwrap_or(&[])) {
            Some((number, used)) => {
                self.at += used;
                Token::Number(number)
            }
            None => self.error("invalid number"),
        }
    }

    fn error(&mut self, what: &'static str) -> Token {
        self.place = self.at;
        Token::Error(what)
    }

    fn string(&mut self) -> Token {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            match self.peek(0) {
                b'"' => break,
                0 => return self.error("unexpected end of string"),
                b'\\' => {
                    let meant = match self.peek(1) {
                        escaped @ (b'"' | b'\\' | b'/') => escaped,
                        b'b' => 8,
                        b't' => 9,
                        b'n' => 10,
                        b'f' => 12,
                        b'r' => 13,
                        b'u' => match self.unicode() {
                            Some((code, used)) => {
                                push_utf8(code, &mut bytes);
                                self.at += used;
                                continue;
                            }
                            None => return self.error("invalid unicode escape code"),
                        },
                        _ => return self.error("invalid escape code"),
                    };
                    bytes.push(meant);
                    self.at += 2;
                }
                other => {
                    bytes.push(other);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Token::String(bytes)
    }

    fn hex(&self, ahead: usize) -> Option<u32> {
        let digits = self.text.get(self.at + ahead..self.at + ahead + 4)?;
        digits.iter().try_fold(0, |code, digit| {
            Some(code << 4 | char::from(*digit).to_digit(16)?)
        })
    }

    /// The code of `\uXXXX`, or of a pair of them, and how many bytes it took.
    fn unicode(&self) -> Option<(u32, usize)> {
        let high = self.hex(2)?;
        if high & 0xf800 != 0xd800 {
            return Some((high, 6));
        }
        if high & 0x400 != 0 || self.peek(6) != b'\\' || self.peek(7) != b'u' {
            return None;
        }
        let low = self.hex(8)?;
        if low & 0xfc00 != 0xdc00 {
            return None;
        }
        Some((((high & 0x3ff) << 10 | low & 0x3ff) + 0x10000, 12))
    }
}

fn push_utf8(code: u32, out: &mut Vec<u8>) {
    if let Some(c) = char::from_u32(code) {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// A container that is being read: an object with the key whose value comes next, or an array.
struct Pending {
    table: u32,
    key: Option<Value>,
    items: usize,
}

fn decode(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.argument_count() != 1 {
        return Err(vm.argument_error(1, "expected 1 argument"));
    }
    let text = vm.check_bytes(1)?;
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Err(vm.native_error(b"JSON parser does not support UTF-16 or UTF-32"));
    }
    vm.burn(text.len() / 16)?;
    let invalid_numbers = vm.json.decode_invalid;
    let mut reader = Reader {
        text: &text,
        at: 0,
        place: 0,
        invalid_numbers,
    };
    let mut open: Vec<Pending> = Vec::new();
    let mut token = reader.next();
    loop {
        // A value begins here.
        let value = match std::mem::replace(&mut token, Token::End) {
            Token::String(bytes) => Some(vm.new_string(&bytes)?),
            Token::Number(n) => Some(Value::Number(n)),
            Token::Boolean(b) => Some(Value::Boolean(b)),
            Token::Null => Some(Value::Null),
            begin @ (Token::ObjectBegin | Token::ArrayBegin) => {
                let object = matches!(begin, Token::ObjectBegin);
                descend(vm, &reader, &mut open)?;
                token = reader.next();
                match (object, &token) {
                    (true, Token::ObjectEnd) | (false, Token::ArrayEnd) => {
                        open.pop().map(|container| Value::Table(container.table))
                    }
                    (true, _) => {
                        let key = std::mem::replace(&mut token, Token::End);
                        token = read_key(vm, &mut reader, &mut open, key)?;
                        None
                    }
                    (false, _) => None,
                }
            }
            other => return Err(unexpected(vm, &reader, "value", &other)),
        };
        let Some(mut value) = value else {
            continue;
        };
        // A value is complete: it goes into what is open, which may be complete with it.
        loop {
            let Some(container) = open.last_mut() else {
                let token = reader.next();
                if !matches!(token, Token::End) {
                    return Err(unexpected(vm, &reader, "the end", &token));
                }
                return vm.give(value);
            };
            vm.burn(1)?;
            let table = container.table;
            let object = container.key.is_some();
            container.items += 1;
            let items = container.items;
            let key = container.key.take().unwrap_or(Value::Number(items as f64));
            vm.reserve(0)?;
            vm.heap.set(table, key, value);
            token = reader.next();
            match (object, &token) {
                (true, Token::ObjectEnd) | (false, Token::ArrayEnd) => {
                    open.pop();
                    value = Value::Table(table);
                }
                (true, Token::Comma) => {
                    token = reader.next();
                    token = read_key(vm, &mut reader, &mut open, token)?;
                    break;
                }
                (false, Token::Comma) => {
                    token = reader.next();
                    break;
                }
                (true, _) => {
                    return Err(unexpected(vm, &reader, "comma or object end", &token));
                }
                (false, _) => {
                    return Err(unexpected(vm, &reader, "comma or array end", &token));
                }
            }
        }
    }
}

fn descend(vm: &mut Vm<'_>, reader: &Reader<'_>, open: &mut Vec<Pending>) -> Result<(), Throw> {
    let depth = open.len() + 1;
    if depth as i64 > i64::from(vm.json.decode_max_depth) {
        let message = format!(
            "Found too many nested data structures ({depth}) at character {}",
            reader.at
        );
        return Err(vm.native_error(message.as_bytes()));
    }
    let table = vm.new_table(0, 0)?;
    open.push(Pending {
        table,
        key: None,
        items: 0,
    });
    Ok(())
}

/// Reads a key and its colon; the token after them.
fn read_key(
    vm: &mut Vm<'_>,
    reader: &mut Reader<'_>,
    open: &mut [Pending],
    token: Token,
) -> Result<Token, Throw> {
    let Token::String(bytes) = token else {
        return Err(unexpected(vm, reader, "object key string", &token));
    };
    let key = vm.new_string(&bytes)?;
    if let Some(container) = open.last_mut() {
        container.key = Some(key);
    }
    let colon = reader.next();
    if !matches!(colon, Token::Colon) {
        return Err(unexpected(vm, reader, "colon", &colon));
    }
    Ok(reader.next())
}

fn unexpected(vm: &mut Vm<'_>, reader: &Reader<'_>, expected: &str, token: &Token) -> Throw {
    let found = token.name();
    let place = reader.place + 1;
    let message = format!("Expected {expected} but found {found} at character {place}");
    vm.native_error(message.as_bytes())
}

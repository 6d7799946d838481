//! Replies as Lua values and Lua values as replies, and what becomes of an error that nothing caught.

use super::call::{NATIVE, Throw};
use super::number;
use super::value::Value;
use super::vm::Vm;
use crate::sim::store::reply::Reply;

/// How deep a reply's arrays nest: what Lua's stack of 8,000 slots would allow is more than a page can
/// show or a WebAssembly stack can hold.
const MAX_DEPTH: usize = 256;

/// A command's reply as a script sees it (Redis documentation, "Redis to Lua type conversion").
pub(super) fn to_lua(vm: &mut Vm<'_>, reply: &Reply) -> Result<Value, Throw> {
    reply_value(vm, reply, 0)
}

fn reply_value(vm: &mut Vm<'_>, reply: &Reply, depth: usize) -> Result<Value, Throw> {
    Ok(match reply {
        Reply::Nil => Value::Boolean(false),
        Reply::Integer(n) => Value::Number(*n as f64),
        Reply::Bulk(bytes) => vm.new_string(bytes)?,
        Reply::Status(text) => {
            let table = vm.new_table(0, 0)?;
            let text = vm.new_string(text.as_bytes())?;
            vm.heap.set_field(table, "ok", text);
            Value::Table(table)
        }
        Reply::Error(text) => {
            let table = vm.new_table(0, 0)?;
            let text = vm.new_string(text.as_bytes())?;
            vm.heap.set_field(table, "err", text);
            vm.heap
                .set_field(table, "ignore_error_stats_update", Value::Boolean(true));
            Value::Table(table)
        }
        Reply::Array(_) if depth > MAX_DEPTH => Value::Boolean(false),
        Reply::Array(items) => {
            let table = vm.new_table(0, 0)?;
            for (i, item) in items.iter().enumerate() {
                let value = reply_value(vm, item, depth + 1)?;
                vm.heap.set(table, Value::Number((i + 1) as f64), value);
                vm.reserve(0)?;
            }
            Value::Table(table)
        }
    })
}

/// A script's result as its reply (Redis documentation, "Lua to Redis type conversion").
pub(super) fn to_reply(vm: &mut Vm<'_>, value: Value) -> Result<Reply, Throw> {
    // Shared tables are written out wherever they occur: the reply has a size of its own to keep to.
    let mut budget = vm.memory;
    value_reply(vm, value, 0, &mut budget)
}

fn value_reply(
    vm: &mut Vm<'_>,
    value: Value,
    depth: usize,
    budget: &mut usize,
) -> Result<Reply, Throw> {
    vm.burn(1)?;
    let size = 64
        + if let Value::String(s) = value {
            vm.heap.bytes_of(s).len()
        } else {
            0
        };
    *budget = match budget.checked_sub(size) {
        Some(rest) => rest,
        None => return Err(Throw::Memory),
    };
    Ok(match value {
        Value::String(s) => Reply::Bulk(vm.heap.bytes_of(s).to_vec()),
        Value::Number(n) => Reply::Integer(number::to_i64(n)),
        Value::Boolean(true) => Reply::Integer(1),
        Value::Table(table) if depth < MAX_DEPTH => table_reply(vm, table, depth, budget)?,
        Value::Table(_) => Reply::Error("ERR reached lua stack limit".to_owned()),
        _ => Reply::Nil,
    })
}

fn field(vm: &mut Vm<'_>, table: u32, name: &str) -> Value {
    let key = vm.heap.string(name.as_bytes());
    vm.heap.tables[table].get(key)
}

fn table_reply(
    vm: &mut Vm<'_>,
    table: u32,
    depth: usize,
    budget: &mut usize,
) -> Result<Reply, Throw> {
    if let Value::String(s) = field(vm, table, "err") {
        let text = vm.heap.bytes_of(s);
        let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        return Ok(Reply::Error(one_line(
            &text[..end.map_or(0, |end| end + 1)],
        )));
    }
    if let Value::String(s) = field(vm, table, "ok") {
        return Ok(Reply::Status(one_line(vm.heap.bytes_of(s))));
    }
    if let Value::Number(n) = field(vm, table, "double") {
        return Ok(Reply::Bulk(number::general(n, 17).into_bytes()));
    }
    if let Value::Table(map) = field(vm, table, "map") {
        return entries_reply(vm, map, depth, budget, true);
    }
    if let Value::Table(set) = field(vm, table, "set") {
        return entries_reply(vm, set, depth, budget, false);
    }
    if let Value::String(s) = field(vm, table, "big_number") {
        return Ok(Reply::Bulk(one_line(vm.heap.bytes_of(s)).into_bytes()));
    }
    if let Value::Table(verbatim) = field(vm, table, "verbatim_string")
        && let Value::String(s) = field(vm, verbatim, "string")
        && let Value::String(_) = field(vm, verbatim, "format")
    {
        return Ok(Reply::Bulk(vm.heap.bytes_of(s).to_vec()));
    }
    let mut items = Vec::new();
    loop {
        let index = Value::Number((items.len() + 1) as f64);
        let item = vm.heap.tables[table].get(index);
        if item.is_nil() {
            return Ok(Reply::Array(items));
        }
        items.push(value_reply(vm, item, depth + 1, budget)?);
    }
}

/// A map's keys and values, or a set's members, one after the other as RESP2 has them.
fn entries_reply(
    vm: &mut Vm<'_>,
    table: u32,
    depth: usize,
    budget: &mut usize,
    values: bool,
) -> Result<Reply, Throw> {
    let mut items = Vec::new();
    let mut key = Value::Nil;
    while let Ok(Some((next, value))) = vm.heap.tables[table].next(key) {
        items.push(value_reply(vm, next, depth + 1, budget)?);
        if values {
            items.push(value_reply(vm, value, depth + 1, budget)?);
        }
        key = next;
    }
    Ok(Reply::Array(items))
}

/// A simple string or an error has no line breaks.
fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(number::until_zero(bytes));
    text.replace(['\r', '\n'], " ")
}

/// An error as Redis's handler describes it: a table with its text, and the place of a frame or, for a
/// native function, of its caller.
pub(super) fn described(
    vm: &mut Vm<'_>,
    error: Value,
    depth: Option<usize>,
) -> Result<Value, Throw> {
    let table = match error {
        Value::Table(table) => table,
        other => {
            let text = match vm.text_of(other) {
                Ok(text) => text,
                Err(Throw::Error) => Value::Nil,
                Err(limit) => return Err(limit),
            };
            let mut message = b"ERR ".to_vec();
            if let Some(text) = vm.string_of(text) {
                message.extend_from_slice(vm.heap.bytes_of(text));
            }
            let table = vm.new_table(0, 1)?;
            let message = vm.new_string(&message)?;
            vm.heap.set_field(table, "err", message);
            table
        }
    };
    let depth = depth.and_then(|depth| match vm.thread.frames[depth].proto {
        NATIVE if depth > 1 => Some(depth - 1),
        NATIVE => None,
        _ => Some(depth),
    });
    let Some(depth) = depth else {
        return Ok(Value::Table(table));
    };
    let proto = vm.thread.frames[depth].proto;
    let (source, line) = match vm.linked.get(proto as usize) {
        Some(linked) => {
            let source = linked.proto.source.clone();
            (source, vm.line_of(depth).map_or(-1.0, f64::from))
        }
        None => (b"=[C]"[..].into(), -1.0),
    };
    vm.held.push(Value::Table(table));
    let source = vm.new_string(&source)?;
    for (name, value) in [("source", source), ("line", Value::Number(line))] {
        let key = vm.heap.string(name.as_bytes());
        match vm.set_index(Value::Table(table), key, value, None) {
            Ok(()) => {}
            // An error with a metatable or protection of its own: the error about it goes out instead.
            Err(Throw::Error) if !matches!(vm.error, Value::Table(_)) => {
                return described(vm, vm.error, Some(depth));
            }
            Err(Throw::Error) => {}
            Err(other) => return Err(other),
        }
    }
    vm.held.pop();
    Ok(Value::Table(table))
}

/// The reply to a script that ended with an error, while its frames are still there.
pub(super) fn failure_reply(vm: &mut Vm<'_>, error: Value, sha1: &str) -> Result<Reply, Throw> {
    let depth = vm.thread.frames.len() - 1;
    let error = described(vm, error, (depth > 0).then_some(depth))?;
    let Value::Table(table) = error else {
        return Ok(Reply::Error("ERR unknown error".to_owned()));
    };
    let key = vm.heap.string(b"err");
    let text = match vm.index(error, key, None) {
        Ok(text) => text,
        Err(Throw::Error) => Value::Nil,
        Err(limit) => return Err(limit),
    };
    let mut message = match vm.string_of(text) {
        Some(text) => vm.heap.bytes_of(text).to_vec(),
        // Redis 7.0.15 itself crashes when a script raises a table without a text in `err`.
        None => b"ERR unknown error".to_vec(),
    };
    let source = field(vm, table, "source");
    let line = field(vm, table, "line");
    if let (Some(source), Some(line)) = (vm.string_of(source), vm.string_of(line)) {
        message = number::until_zero(&message).to_vec();
        message.extend_from_slice(format!(" script: {sha1}, on ").as_bytes());
        message.extend_from_slice(number::until_zero(vm.heap.bytes_of(source)));
        message.push(b':');
        message.extend_from_slice(vm.heap.bytes_of(line));
        message.push(b'.');
    }
    Ok(Reply::Error(one_line(&message)))
}

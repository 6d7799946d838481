//! The basic functions and the coroutine library, as far as Redis leaves them.

use super::call::Throw;
use super::heap::{Event, Function, Heap};
use super::number;
use super::value::Value;
use super::vm::{Native, Vm};

/// In the order of Lua's own list; those that Redis does not let through still take their place in `_G`,
/// and so decide with the others about its order.
const BASE: &[(&str, Option<Native>)] = &[
    ("assert", Some(assert)),
    ("collectgarbage", Some(collect_garbage)),
    ("dofile", None),
    ("error", Some(error)),
    ("gcinfo", Some(garbage_count)),
    ("getfenv", None),
    ("getmetatable", Some(get_metatable)),
    ("loadfile", None),
    ("load", Some(load)),
    ("loadstring", Some(load_string)),
    ("next", Some(next)),
    ("pcall", Some(protected_call)),
    ("print", None),
    ("rawequal", Some(raw_equal)),
    ("rawget", Some(raw_get)),
    ("rawset", Some(raw_set)),
    ("select", Some(select)),
    ("setfenv", None),
    ("setmetatable", Some(set_metatable)),
    ("tonumber", Some(to_number)),
    ("tostring", Some(to_string)),
    ("type", Some(type_of)),
    ("unpack", Some(unpack)),
    ("xpcall", Some(handled_call)),
];

const COROUTINE: &[(&str, Native)] = &[
    ("create", coroutine_create),
    ("resume", coroutine_resume),
    ("running", coroutine_running),
    ("status", coroutine_status),
    ("wrap", coroutine_wrap),
    ("yield", coroutine_yield),
];

/// Adds the libraries to the globals.
pub(super) fn open(heap: &mut Heap) {
    let globals = heap.globals;
    heap.set_field(globals, "_G", Value::Table(globals));
    for (name, run) in BASE {
        match run {
            Some(run) => {
                let function = heap.native(*run);
                heap.set_field(globals, name, function);
            }
            None => heap.set_field(globals, name, Value::Nil),
        }
    }
    let version = heap.string(b"Lua 5.1");
    heap.set_field(globals, "_VERSION", version);
    let step = heap.native(ipairs_step);
    let ipairs = Function::Native {
        run: ipairs,
        values: Box::new([step]),
    };
    let ipairs = Value::Function(heap.add_function(ipairs));
    heap.set_field(globals, "ipairs", ipairs);
    let next = heap.native(next);
    let pairs = Function::Native {
        run: pairs,
        values: Box::new([next]),
    };
    let pairs = Value::Function(heap.add_function(pairs));
    heap.set_field(globals, "pairs", pairs);
    heap.set_field(globals, "newproxy", Value::Nil);
    heap.add_library("coroutine", COROUTINE);
}

impl Heap {
    /// Makes a global table of functions.
    pub fn add_library(&mut self, name: &str, functions: &[(&str, Native)]) -> u32 {
        let table = super::table::Table::with_sizes(0, functions.len());
        let table = self.add_table(table);
        self.register(table, functions);
        self.set_field(self.globals, name, Value::Table(table));
        table
    }
}

fn assert(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.check_any(1)?.truthy() {
        return Ok(vm.argument_count());
    }
    if vm.argument(2).is_nil() {
        return Err(vm.native_error(b"assertion failed!"));
    }
    let message = vm.check_bytes(2)?;
    Err(vm.native_error(&message))
}

fn collect_garbage(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let options = [
        "stop",
        "restart",
        "collect",
        "count",
        "step",
        "setpause",
        "setstepmul",
    ];
    let option = vm.check_option(1, Some("collect"), &options)?;
    vm.optional_int(2, 0)?;
    match option {
        2 | 4 => {
            // Looking through the whole heap is work like any other.
            vm.burn(1000)?;
            vm.collect_now();
        }
        _ => {}
    }
    match option {
        3 => vm.give_number(vm.heap.bytes as f64 / 1024.0),
        4 => vm.give(Value::Boolean(true)),
        5 | 6 => vm.give_number(200.0),
        _ => vm.give_number(0.0),
    }
}

fn garbage_count(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    vm.give_number((vm.heap.bytes / 1024) as f64)
}

fn error(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let level = vm.optional_int(2, 1)?;
    let message = vm.argument(1);
    if level > 0
        && let Some(text) = vm.string_of(message)
    {
        let mut place = vm.place_at_level(level);
        place.extend_from_slice(vm.heap.bytes_of(text));
        let value = vm.new_string(&place)?;
        return Err(vm.throw(value));
    }
    Err(vm.throw(message))
}

fn get_metatable(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let value = vm.check_any(1)?;
    let Some(metatable) = vm.heap.metatable(value) else {
        return vm.give(Value::Nil);
    };
    match vm.heap.metamethod(metatable, Event::Metatable) {
        Value::Nil => vm.give(Value::Table(metatable)),
        shown => vm.give(shown),
    }
}

fn set_metatable(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let given = vm.has_argument(2);
    let table = vm.check_table(1)?;
    let metatable = match vm.argument(2) {
        Value::Nil if given => None,
        Value::Table(id) => Some(id),
        _ => return Err(vm.argument_error(2, "nil or table expected")),
    };
    if !vm
        .heap
        .metamethod_of(Value::Table(table), Event::Metatable)
        .is_nil()
    {
        return Err(vm.native_error(b"cannot change a protected metatable"));
    }
    if vm.heap.tables[table].readonly {
        return Err(vm.run_error(b"Attempt to modify a readonly table"));
    }
    vm.heap.tables[table].metatable = metatable;
    vm.give(Value::Table(table))
}

fn finish_load(vm: &mut Vm<'_>, source: &[u8], name: &[u8]) -> Result<usize, Throw> {
    match vm.load(source, name)? {
        Ok(function) => vm.give(function),
        Err(message) => {
            vm.push(Value::Nil)?;
            vm.give_bytes(&message)?;
            Ok(2)
        }
    }
}

fn load_string(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let source = vm.check_bytes(1)?;
    let name = if vm.argument(2).is_nil() {
        source.clone()
    } else {
        vm.check_bytes(2)?
    };
    finish_load(vm, &source, &name)
}

fn load(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let reader = vm.check_function(1)?;
    let name = if vm.argument(2).is_nil() {
        std::sync::Arc::from(&b"=(load)"[..])
    } else {
        vm.check_bytes(2)?
    };
    let mut source = Vec::new();
    loop {
        let callee = vm.thread.top;
        vm.push(reader)?;
        let outcome = vm.protected_call(callee, 1, None)?;
        if let Err(error) = outcome {
            vm.push(Value::Nil)?;
            vm.push(error)?;
            return Ok(2);
        }
        vm.thread.top -= 1;
        let piece = vm.thread.stack[vm.thread.top];
        if piece.is_nil() {
            break;
        }
        let Some(piece) = vm.string_of(piece) else {
            let mut message = vm.place_at_level(1);
            message.extend_from_slice(b"reader function must return a string");
            vm.push(Value::Nil)?;
            vm.give_bytes(&message)?;
            return Ok(2);
        };
        let piece = vm.heap.shared_bytes(piece);
        if piece.is_empty() {
            break;
        }
        vm.reserve(source.len() + piece.len())?;
        source.extend_from_slice(&piece);
    }
    finish_load(vm, &source, &name)
}

fn next(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    match vm.heap.tables[table].next(vm.argument(2)) {
        Ok(Some((key, value))) => {
            vm.push(key)?;
            vm.push(value)?;
            Ok(2)
        }
        Ok(None) => vm.give(Value::Nil),
        Err(()) => Err(vm.run_error(b"invalid key to 'next'")),
    }
}

fn pairs(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    let next = vm.own_value(0);
    vm.push(next)?;
    vm.push(Value::Table(table))?;
    vm.push(Value::Nil)?;
    Ok(3)
}

fn ipairs(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    let step = vm.own_value(0);
    vm.push(step)?;
    vm.push(Value::Table(table))?;
    vm.push(Value::Number(0.0))?;
    Ok(3)
}

fn ipairs_step(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let index = vm.check_int(2)?.wrapping_add(1);
    let table = vm.check_table(1)?;
    let value = vm.heap.tables[table].get(Value::Number(f64::from(index)));
    if value.is_nil() {
        return Ok(0);
    }
    vm.push(Value::Number(f64::from(index)))?;
    vm.push(value)?;
    Ok(2)
}

/// Redis's `pcall`: an error that is a table with a text in `err` becomes that text.
fn protected_call(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.argument_count() == 0 {
        // What Redis makes of it: the true that it keeps ready for the result is called.
        vm.push(Value::Boolean(true))?;
    }
    let callee = vm.thread.top - vm.argument_count();
    let outcome = vm.protected_call(callee, -1, None)?;
    match outcome {
        Ok(()) => give_after(vm, callee, Value::Boolean(true)),
        Err(error) => {
            let mut shown = error;
            vm.push(error)?;
            if matches!(error, Value::Table(_)) {
                let key = vm.heap.string(b"err");
                let text = vm.index(error, key, None)?;
                if matches!(text, Value::String(_) | Value::Number(_)) {
                    shown = text;
                }
            }
            vm.push(Value::Boolean(false))?;
            vm.push(shown)?;
            Ok(2)
        }
    }
}

/// Puts a value before the results that stand from `start` up.
fn give_after(vm: &mut Vm<'_>, start: usize, value: Value) -> Result<usize, Throw> {
    vm.push(Value::Nil)?;
    let top = vm.thread.top;
    vm.thread.stack.copy_within(start..top - 1, start + 1);
    vm.thread.stack[start] = value;
    Ok(top - start)
}

fn handled_call(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    vm.check_any(2)?;
    vm.set_argument_count(2);
    let (function, handler) = (vm.argument(1), vm.argument(2));
    let callee = vm.thread.top;
    vm.push(function)?;
    match vm.protected_call(callee, -1, Some(handler))? {
        Ok(()) => give_after(vm, callee, Value::Boolean(true)),
        Err(error) => {
            vm.push(Value::Boolean(false))?;
            vm.push(error)?;
            Ok(2)
        }
    }
}

fn raw_equal(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let left = vm.check_any(1)?;
    let right = vm.check_any(2)?;
    vm.give(Value::Boolean(left.raw_equals(right)))
}

fn raw_get(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    let key = vm.check_any(2)?;
    let value = vm.heap.tables[table].get(key);
    vm.give(value)
}

fn raw_set(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    let key = vm.check_any(2)?;
    let value = vm.check_any(3)?;
    vm.raw_set(table, key, value)?;
    vm.give(Value::Table(table))
}

fn select(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let count = vm.argument_count() as i64;
    if let Value::String(s) = vm.argument(1)
        && vm.heap.bytes_of(s).first() == Some(&b'#')
    {
        return vm.give_number((count - 1) as f64);
    }
    let mut index = i64::from(vm.check_int(1)?);
    if index < 0 {
        index += count;
    } else if index > count {
        index = count;
    }
    if index < 1 {
        return Err(vm.argument_error(1, "index out of range"));
    }
    Ok((count - index) as usize)
}

fn to_number(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let base = vm.optional_int(2, 10)?;
    let number = if base == 10 {
        let value = vm.check_any(1)?;
        vm.to_number(value)
    } else {
        let text = vm.check_bytes(1)?;
        if !(2..=36).contains(&base) {
            return Err(vm.argument_error(2, "base out of range"));
        }
        number::parse_in_base(&text, base as u32)
    };
    vm.give(number.map_or(Value::Nil, Value::Number))
}

fn to_string(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let value = vm.check_any(1)?;
    let text = vm.text_of(value)?;
    vm.give(text)
}

fn type_of(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let name = vm.check_any(1)?.type_name();
    vm.give_bytes(name.as_bytes())
}

fn unpack(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let table = vm.check_table(1)?;
    let start = i64::from(vm.optional_int(2, 1)?);
    let end = if vm.argument(3).is_nil() {
        vm.heap.tables[table].border() as i64
    } else {
        i64::from(vm.check_int(3)?)
    };
    if start > end {
        return Ok(0);
    }
    let count = end - start + 1;
    if count > i64::from(i32::MAX) || !vm.has_stack(count as usize)? {
        return Err(vm.native_error(b"too many results to unpack"));
    }
    vm.burn(count as usize / 4)?;
    for i in start..=end {
        let value = vm.heap.tables[table].get(Value::Number(i as f64));
        vm.push(value)?;
    }
    Ok(count as usize)
}

fn check_coroutine(vm: &mut Vm<'_>) -> Result<u32, Throw> {
    match vm.argument(1) {
        Value::Thread(id) => Ok(id),
        _ => Err(vm.argument_error(1, "coroutine expected")),
    }
}

fn check_body(vm: &mut Vm<'_>) -> Result<u32, Throw> {
    let body = vm.argument(1);
    let is_lua = match body {
        Value::Function(id) => matches!(vm.heap.functions[id], Function::Lua { .. }),
        _ => false,
    };
    if !is_lua {
        return Err(vm.argument_error(1, "Lua function expected"));
    }
    vm.new_thread(body)
}

fn coroutine_create(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let id = check_body(vm)?;
    vm.give(Value::Thread(id))
}

fn coroutine_resume(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let id = check_coroutine(vm)?;
    let count = vm.argument_count() - 1;
    match vm.resume(id, count)? {
        Ok(count) => {
            let start = vm.thread.top - count;
            give_after(vm, start, Value::Boolean(true))
        }
        Err(error) => {
            vm.push(Value::Boolean(false))?;
            vm.push(error)?;
            Ok(2)
        }
    }
}

fn coroutine_wrap(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let id = check_body(vm)?;
    let function = Function::Native {
        run: wrapped,
        values: Box::new([Value::Thread(id)]),
    };
    let function = vm.heap.add_function(function);
    vm.give(Value::Function(function))
}

fn wrapped(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let Value::Thread(id) = vm.own_value(0) else {
        return Ok(0);
    };
    let count = vm.argument_count();
    match vm.resume(id, count)? {
        Ok(count) => Ok(count),
        Err(error) => match vm.string_of(error) {
            Some(text) => {
                let mut message = vm.place_at_level(1);
                message.extend_from_slice(vm.heap.bytes_of(text));
                let value = vm.new_string(&message)?;
                Err(vm.throw(value))
            }
            None => Err(vm.throw(error)),
        },
    }
}

fn coroutine_yield(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let count = vm.argument_count();
    Err(vm.yield_values(count))
}

fn coroutine_status(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let id = check_coroutine(vm)?;
    let status = vm.status_of(id);
    vm.give_bytes(status.as_bytes())
}

fn coroutine_running(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.resumers.is_empty() {
        return vm.give(Value::Nil);
    }
    let id = vm.thread.id;
    vm.give(Value::Thread(id))
}

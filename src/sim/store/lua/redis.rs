//! The `redis` table: how a script reaches the server.

use super::call::Throw;
use super::convert;
use super::heap::Heap;
use super::number;
use super::value::Value;
use super::vm::{Native, Vm};
use crate::sim::store::{reply::Reply, sha1};

const REDIS: &[(&str, Native)] = &[
    ("call", |vm| command(vm, true)),
    ("pcall", |vm| command(vm, false)),
    ("log", log),
];

const LEVELS: &[(&str, f64)] = &[
    ("LOG_DEBUG", 0.0),
    ("LOG_VERBOSE", 1.0),
    ("LOG_NOTICE", 2.0),
    ("LOG_WARNING", 3.0),
    ("REDIS_VERSION_NUM", 458_767.0),
];

const REPLIES: &[(&str, Native)] = &[
    ("setresp", set_resp),
    ("error_reply", error_reply),
    ("status_reply", status_reply),
    ("sha1hex", sha1hex),
    ("set_repl", set_repl),
];

const REPLICATION: &[(&str, f64)] = &[
    ("REPL_NONE", 0.0),
    ("REPL_AOF", 1.0),
    ("REPL_SLAVE", 2.0),
    ("REPL_REPLICA", 2.0),
    ("REPL_ALL", 3.0),
];

const REST: &[(&str, Native)] = &[
    ("acl_check_cmd", acl_check_cmd),
    ("breakpoint", |vm| vm.give(Value::Boolean(false))),
    ("debug", |_| Ok(0)),
    ("replicate_commands", |vm| vm.give(Value::Boolean(true))),
];

/// Adds the library, the error handler that scripts can see, and what guards the globals.
pub(super) fn open(heap: &mut Heap) {
    let globals = heap.globals;
    let table = heap.add_table(super::table::Table::default());
    heap.register(table, REDIS);
    set_numbers(heap, table, LEVELS);
    let version = heap.string(b"7.0.15");
    heap.set_field(table, "REDIS_VERSION", version);
    heap.register(table, REPLIES);
    set_numbers(heap, table, REPLICATION);
    heap.register(table, REST);
    heap.set_field(globals, "redis", Value::Table(table));
    heap.set_field(globals, "debug", Value::Nil);
    let handler = heap.native(error_handler);
    heap.set_field(globals, "__redis__err__handler", handler);
    let guard = heap.add_table(super::table::Table::default());
    let unknown = heap.native(unknown_global);
    heap.set_field(guard, "__index", unknown);
    heap.tables[globals].metatable = Some(guard);
}

fn set_numbers(heap: &mut Heap, table: u32, numbers: &[(&str, f64)]) {
    for (name, number) in numbers {
        heap.set_field(table, name, Value::Number(*number));
    }
}

fn unknown_global(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let mut message = b"Script attempted to access nonexistent global variable '".to_vec();
    if let Some(name) = vm.string_of(vm.argument(2)) {
        message.extend_from_slice(number::until_zero(vm.heap.bytes_of(name)));
    }
    message.push(b'\'');
    Err(vm.native_error(&message))
}

/// What Redis does with an error that nothing caught: a table with the text, and where it was raised.
fn error_handler(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let error = vm.argument(1);
    let depth = vm.frame_at_level(1);
    let table = convert::described(vm, error, depth)?;
    vm.give(table)
}

/// A table with an error, as a command's error reaches a script.
fn error_table(vm: &mut Vm<'_>, message: &str) -> Result<Value, Throw> {
    let table = vm.new_table(0, 0)?;
    let text = vm.new_string(message.as_bytes())?;
    vm.heap.set_field(table, "err", text);
    Ok(Value::Table(table))
}

fn raise(vm: &mut Vm<'_>, message: &str) -> Throw {
    match error_table(vm, message) {
        Ok(table) => vm.throw(table),
        Err(limit) => limit,
    }
}

/// The arguments as a command: numbers with 17 digits.
fn command_arguments(vm: &mut Vm<'_>) -> Result<Result<Vec<Vec<u8>>, &'static str>, Throw> {
    let count = vm.argument_count();
    if count == 0 {
        return Ok(Err(
            "ERR Please specify at least one argument for this redis lib call",
        ));
    }
    let mut arguments = Vec::with_capacity(count);
    for i in 1..=count {
        arguments.push(match vm.argument(i) {
            Value::String(s) => vm.heap.bytes_of(s).to_vec(),
            Value::Number(n) => number::general(n, 17).into_bytes(),
            _ => {
                return Ok(Err(
                    "ERR Lua redis lib command arguments must be strings or integers",
                ));
            }
        });
    }
    Ok(Ok(arguments))
}

fn command(vm: &mut Vm<'_>, raises: bool) -> Result<usize, Throw> {
    let reply = match command_arguments(vm)? {
        Ok(arguments) => {
            vm.burn(10)?;
            vm.host.call(arguments)
        }
        Err(message) => {
            if raises {
                return Err(raise(vm, message));
            }
            let table = error_table(vm, message)?;
            return vm.give(table);
        }
    };
    let failed = matches!(reply, Reply::Error(_));
    let value = convert::to_lua(vm, &reply)?;
    if failed && raises {
        return Err(vm.throw(value));
    }
    vm.give(value)
}

fn log(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let count = vm.argument_count();
    if count < 2 {
        return Err(raise(vm, "ERR redis.log() requires two arguments or more."));
    }
    let Some(level) = vm.to_number(vm.argument(1)) else {
        return Err(raise(
            vm,
            "ERR First argument must be a number (log level).",
        ));
    };
    let level = i64::from(number::to_i32(level));
    if !(0..=3).contains(&level) {
        return Err(raise(vm, "ERR Invalid debug level."));
    }
    let mut message = Vec::new();
    for i in 2..=count {
        if let Some(text) = vm.string_of(vm.argument(i)) {
            if i > 2 {
                message.push(b' ');
            }
            message.extend_from_slice(vm.heap.bytes_of(text));
            vm.reserve(message.len())?;
        }
    }
    vm.host.log(level, message);
    Ok(0)
}

fn set_resp(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.argument_count() != 1 {
        return Err(raise(vm, "ERR redis.setresp() requires one argument."));
    }
    match vm.to_number(vm.argument(1)).map(number::to_i32) {
        Some(version @ (2 | 3)) => {
            vm.host.set_resp(version as u8);
            Ok(0)
        }
        _ => Err(raise(vm, "ERR RESP version must be 2 or 3.")),
    }
}

fn one_string(vm: &mut Vm<'_>) -> Option<Vec<u8>> {
    match vm.argument(1) {
        Value::String(s) if vm.argument_count() == 1 => Some(vm.heap.bytes_of(s).to_vec()),
        _ => None,
    }
}

fn error_reply(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let Some(text) = one_string(vm) else {
        let table = error_table(vm, "ERR wrong number or type of arguments")?;
        return vm.give(table);
    };
    let text = number::until_zero(&text);
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let mut message = if text.contains(&b' ') {
        Vec::new()
    } else {
        b"ERR ".to_vec()
    };
    message.extend_from_slice(text);
    while matches!(message.last(), Some(b'\r' | b'\n')) {
        message.pop();
    }
    let table = vm.new_table(0, 0)?;
    let value = vm.new_string(&message)?;
    vm.heap.set_field(table, "err", value);
    vm.give(Value::Table(table))
}

fn status_reply(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    let Some(text) = one_string(vm) else {
        let table = error_table(vm, "ERR wrong number or type of arguments")?;
        return vm.give(table);
    };
    let table = vm.new_table(0, 0)?;
    let value = vm.new_string(&text)?;
    vm.heap.set_field(table, "ok", value);
    vm.give(Value::Table(table))
}

fn set_repl(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.argument_count() != 1 {
        return Err(raise(vm, "ERR redis.set_repl() requires two arguments."));
    }
    let flags = vm.to_number(vm.argument(1)).map_or(0, number::to_i32);
    if flags & !3 != 0 {
        let message = "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or \
                       REPL_NONE.";
        return Err(raise(vm, message));
    }
    Ok(0)
}

fn acl_check_cmd(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    match command_arguments(vm)? {
        Err(message) => Err(raise(vm, message)),
        Ok(arguments) => match vm.host.allows(&arguments) {
            Some(allowed) => vm.give(Value::Boolean(allowed)),
            None => Err(raise(
                vm,
                "ERR Invalid command passed to redis.acl_check_cmd()",
            )),
        },
    }
}

fn sha1hex(vm: &mut Vm<'_>) -> Result<usize, Throw> {
    if vm.argument_count() != 1 {
        return Err(raise(vm, "ERR wrong number of arguments"));
    }
    let bytes = match vm.string_of(vm.argument(1)) {
        Some(s) => vm.heap.shared_bytes(s),
        None => Default::default(),
    };
    vm.burn(bytes.len() / 8)?;
    vm.give_bytes(sha1::hex_digest(&bytes).as_bytes())
}

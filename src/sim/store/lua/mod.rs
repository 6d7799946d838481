//! Lua 5.1 as Redis 7.0 gives it to `EVAL`.
//!
//! A script is compiled once ([`Script::parse`]) and run as often as one likes ([`run`]). A run starts from
//! the library as Redis leaves it, with its tables protected, and keeps nothing for the next. It reaches the
//! server through a [`Host`] only, so the interpreter knows nothing of keys.
//!
//! The way through the modules: [`lexer`] cuts the text into tokens, [`parser`] reads the grammar and lets
//! [`code`] emit instructions for a register machine of Lua 5.1's kind. [`vm`] executes them on the
//! [`heap`], whose [`table`]s are laid out as Lua's are, so that `pairs` and `#` give what Redis gives;
//! [`call`] has calls, protected calls and coroutines; [`debug`] finds what an error calls a value. The
//! library stands in [`base`], [`string`] with [`pattern`], [`table_library`], [`math`], [`bit`], [`json`],
//! [`pack`], [`message_pack`] and [`redis`]; [`convert`] turns replies into values and back.
//!
//! Everything is bounded: instructions and the work of library functions by fuel, what is in use by a
//! memory limit, and every recursion by a depth. Fuel and memory end a script whatever it catches.
//!
//! The design is that of Lua 5.1 by PUC-Rio (MIT licence), whose behaviour this follows closely.

mod base;
mod bit;
mod call;
mod code;
mod convert;
mod debug;
mod heap;
mod json;
mod lexer;
mod math;
mod message_pack;
mod native;
mod number;
mod pack;
mod parser;
mod pattern;
mod redis;
mod string;
mod table;
mod table_library;
mod value;
mod vm;

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::sim::store::{reply::Reply, sha1};
use call::{Thread, Throw};
use code::Proto;
use heap::Heap;
use value::Value;
use vm::Vm;

/// The name that Redis gives to every script's text.
const SOURCE: &[u8] = b"@user_script";

/// What a script can reach of the server.
pub trait Host {
    /// Executes the command of `redis.call` or `redis.pcall`, its arguments as Redis makes them from Lua
    /// values: numbers with 17 significant digits. An error goes back as [`Reply::Error`], also for an unknown
    /// command (`ERR Unknown Redis command called from script`) or a wrong number of arguments.
    fn call(&mut self, argv: Vec<Vec<u8>>) -> Reply;

    /// Takes a line of `redis.log`, its level from 0 (debug) to 3 (warning).
    fn log(&mut self, level: i64, message: Vec<u8>);

    /// Notes `redis.setresp`: the protocol version, 2 or 3, for the replies to come.
    fn set_resp(&mut self, version: u8) {
        let _ = version;
    }

    /// Whether the user may run a command (`redis.acl_check_cmd`); none when there is no such command.
    fn allows(&mut self, argv: &[Vec<u8>]) -> Option<bool> {
        let _ = argv;
        Some(true)
    }
}

/// What ends a script that would not end, or would take too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions, and as many units of a library function's work.
    pub fuel: u64,
    /// Bytes of everything that is in use at a time.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            fuel: 1_000_000,
            memory: 32 << 20,
        }
    }
}

/// A compiled script with its SHA-1; cheap to clone.
#[derive(Clone)]
pub struct Script {
    proto: Arc<Proto>,
    sha1: Arc<str>,
    flags: Arc<[String]>,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.sha1).finish()
    }
}

impl PartialEq for Script {
    fn eq(&self, other: &Script) -> bool {
        self.sha1 == other.sha1
    }
}

impl Eq for Script {}

impl Script {
    /// Compiles a script, such as `EVAL` is given; an error is Lua's own, such as `user_script:1: unexpected
    /// symbol near 'return'`. A first line `#!lua` with flags is read as Redis 7.0 reads it; its errors
    /// come without a place.
    pub fn parse(source: &[u8]) -> Result<Script, String> {
        let (body, flags) = shebang(source)?;
        let proto = parser::compile(body, SOURCE, 0)
            .map_err(|message| String::from_utf8_lossy(&message).into_owned())?;
        let sha1 = Arc::from(sha1::hex_digest(source));
        Ok(Script {
            proto: Arc::new(proto),
            sha1,
            flags: flags.into(),
        })
    }

    /// Compiles a script, or gives the complete error reply of `EVAL`.
    pub fn parse_or_reply(source: &[u8]) -> Result<Script, Reply> {
        Script::parse(source).map_err(|message| {
            let whole = if message.starts_with("user_script:") {
                format!("ERR Error compiling script (new function): {message}")
            } else {
                format!("ERR {message}")
            };
            Reply::Error(whole.replace(['\r', '\n'], " "))
        })
    }

    /// The SHA-1 of the script's text in hexadecimal, by which `EVALSHA` knows it.
    pub fn sha1(&self) -> &str {
        &self.sha1
    }

    /// The flags of its first line `#!lua flags=...`, in their order.
    pub fn flags(&self) -> &[String] {
        &self.flags
    }
}

const FLAGS: [&str; 5] = [
    "no-writes",
    "allow-oom",
    "allow-stale",
    "no-cluster",
    "allow-cross-slot-keys",
];

/// Parts a script's first line `#!lua flags=a,b` from the rest, which keeps its line numbers.
fn shebang(source: &[u8]) -> Result<(&[u8], Vec<String>), String> {
    if !source.starts_with(b"#!") {
        return Ok((source, Vec::new()));
    }
    let Some(end) = source.iter().position(|byte| *byte == b'\n') else {
        return Err("Invalid script shebang".to_owned());
    };
    let line = String::from_utf8_lossy(&source[..end]);
    let mut words = line
        .split([' ', '\t', '\r'])
        .filter(|word| !word.is_empty());
    let engine = words.next().unwrap_or_default();
    if engine != "#!lua" {
        return Err(format!("Unexpected engine in script shebang: {engine}"));
    }
    let mut flags = Vec::new();
    for word in words {
        let Some(list) = word.strip_prefix("flags=") else {
            return Err(format!("Unknown lua shebang option: {word}"));
        };
        for flag in list.split(',').filter(|_| !list.is_empty()) {
            if !FLAGS.contains(&flag) {
                return Err(format!("Unexpected flag in script shebang: {flag}"));
            }
            flags.push(flag.to_owned());
        }
    }
    Ok((&source[end..], flags))
}

/// The library as a run finds it; made once, copied for each run.
fn library() -> Heap {
    static LIBRARY: OnceLock<Heap> = OnceLock::new();
    LIBRARY.get_or_init(open_library).clone()
}

fn open_library() -> Heap {
    let mut heap = Heap::new();
    base::open(&mut heap);
    table_library::open(&mut heap);
    string::open(&mut heap);
    math::open(&mut heap);
    // Redis takes its debug library away again once its error handler has it.
    let globals = heap.globals;
    heap.set_field(globals, "debug", Value::Boolean(true));
    json::open(&mut heap);
    pack::open(&mut heap);
    message_pack::open(&mut heap);
    bit::open(&mut heap);
    redis::open(&mut heap);
    for name in ["KEYS", "ARGV"] {
        heap.set_field(globals, name, Value::Boolean(false));
    }
    heap.protect_all();
    heap
}

/// Runs a script with its KEYS and ARGV and gives the reply of `EVAL`.
pub fn run(
    script: &Script,
    keys: &[Vec<u8>],
    args: &[Vec<u8>],
    host: &mut dyn Host,
    limits: Limits,
) -> Reply {
    let mut heap = library();
    let main = heap.add_thread(Thread::default());
    let mut vm = Vm {
        heap,
        thread: Thread::new(main),
        resumers: Vec::new(),
        linked: Vec::new(),
        pc: 0,
        native_calls: 0,
        held: Vec::new(),
        error: Value::Nil,
        host,
        fuel: limits.fuel,
        memory: limits.memory,
        random: math::FIRST_RANDOM,
        json: Default::default(),
    };
    match run_in(&mut vm, script, keys, args) {
        Ok(reply) => reply,
        Err(Throw::Memory) => Reply::Error(format!(
            "ERR the script used more than {} bytes and was ended by the playground's memory limit",
            limits.memory
        )),
        Err(Throw::Fuel) => Reply::Error(format!(
            "ERR the script ran for more than {} instructions and was ended by the playground's \
             fuel limit",
            limits.fuel
        )),
        // Neither leaves the frame in which it is caught.
        Err(Throw::Error | Throw::Yield) => Reply::Error("ERR unknown error".to_owned()),
    }
}

fn run_in(
    vm: &mut Vm<'_>,
    script: &Script,
    keys: &[Vec<u8>],
    args: &[Vec<u8>],
) -> Result<Reply, Throw> {
    for (name, list) in [("KEYS", keys), ("ARGV", args)] {
        let table = vm.new_table(0, 0)?;
        for (i, item) in list.iter().enumerate() {
            let value = vm.new_string(item)?;
            vm.heap.set(table, Value::Number((i + 1) as f64), value);
        }
        let globals = vm.heap.globals;
        vm.heap.set_field(globals, name, Value::Table(table));
    }
    let main = vm.main_function(&script.proto);
    vm.push(main)?;
    let callee = vm.thread.top - 1;
    match vm.call(callee, 1) {
        Ok(()) => {
            let value = vm.thread.stack[callee];
            convert::to_reply(vm, value)
        }
        Err(Throw::Error) => convert::failure_reply(vm, vm.error, script.sha1()),
        Err(other) => Err(other),
    }
}

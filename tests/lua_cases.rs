//! The interpreter against replies that Redis 7.0.15 gave (`tests/cases/lua.json`), with a host that knows
//! just the commands that those scripts use, and limits that no script escapes.

#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;

use latchkey::sim::store::lua::{Host, Limits, Script, run};
use latchkey::sim::store::reply::Reply;
use serde_json::Value;

/// Strings and hashes, without deadlines.
#[derive(Default)]
struct Keys {
    strings: BTreeMap<String, String>,
    hashes: BTreeMap<String, BTreeMap<String, String>>,
    logged: Vec<(i64, Vec<u8>)>,
}

impl Keys {
    fn get(&self, key: &str) -> Reply {
        self.strings
            .get(key)
            .map_or(Reply::Nil, |value| Reply::Bulk(value.clone().into_bytes()))
    }

    fn increment(&mut self, key: &str, by: i64) -> Reply {
        let old = self
            .strings
            .get(key)
            .map_or(Ok(0), |value| value.parse::<i64>());
        let Ok(old) = old else {
            return Reply::Error("ERR value is not an integer or out of range".to_owned());
        };
        self.strings.insert(key.to_owned(), (old + by).to_string());
        Reply::Integer(old + by)
    }

    fn set(&mut self, key: &str, value: &str, only_new: bool) -> Reply {
        if only_new && self.strings.contains_key(key) {
            return Reply::Nil;
        }
        self.strings.insert(key.to_owned(), value.to_owned());
        Reply::Status("OK".to_owned())
    }

    fn command(&mut self, words: &[&str]) -> Reply {
        let name = words[0].to_lowercase();
        match (name.as_str(), &words[1..]) {
            ("get", [key]) => self.get(key),
            ("echo", [text]) => Reply::Bulk(text.as_bytes().to_vec()),
            ("mget", keys) => Reply::Array(keys.iter().map(|key| self.get(key)).collect()),
            ("set", [key, value, options @ ..]) => self.set(key, value, options.contains(&"NX")),
            ("del", [key]) => {
                let gone =
                    self.strings.remove(*key).is_some() || self.hashes.remove(*key).is_some();
                Reply::Integer(i64::from(gone))
            }
            ("exists", [key]) => {
                let there = self.strings.contains_key(*key) || self.hashes.contains_key(*key);
                Reply::Integer(i64::from(there))
            }
            ("incr", [key]) => self.increment(key, 1),
            ("incrby", [key, by]) => self.increment(key, by.parse().expect("a whole number")),
            ("hset", [key, field, value]) => {
                let hash = self.hashes.entry((*key).to_owned()).or_default();
                hash.insert((*field).to_owned(), (*value).to_owned());
                Reply::Integer(1)
            }
            ("hget", [key, _]) if self.strings.contains_key(*key) => Reply::Error(
                "WRONGTYPE Operation against a key holding the wrong kind of value".to_owned(),
            ),
            ("hexists", [key, field]) => {
                let there = self
                    .hashes
                    .get(*key)
                    .is_some_and(|hash| hash.contains_key(*field));
                Reply::Integer(i64::from(there))
            }
            ("hincrby", [key, field, by]) => {
                let hash = self.hashes.entry((*key).to_owned()).or_default();
                let value = hash
                    .entry((*field).to_owned())
                    .or_insert_with(|| "0".to_owned());
                let sum = value.parse::<i64>().expect("a number") + by.parse::<i64>().expect("one");
                *value = sum.to_string();
                Reply::Integer(sum)
            }
            ("pexpire", [_, _]) => Reply::Integer(1),
            ("pttl", [_]) => Reply::Integer(-1),
            _ => Reply::Error("ERR Unknown Redis command called from script".to_owned()),
        }
    }
}

impl Host for Keys {
    fn call(&mut self, argv: Vec<Vec<u8>>) -> Reply {
        let words: Vec<String> = argv
            .into_iter()
            .map(|word| String::from_utf8(word).expect("text"))
            .collect();
        self.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn log(&mut self, level: i64, message: Vec<u8>) {
        self.logged.push((level, message));
    }
}

fn eval(source: &[u8], keys: &[Vec<u8>], args: &[Vec<u8>], host: &mut Keys) -> Reply {
    eval_within(Limits::default(), source, keys, args, host)
}

/// A run with less of everything, for tests that use it all up.
fn eval_tightly(source: &str) -> String {
    let limits = Limits {
        fuel: 50_000,
        memory: 2 << 20,
    };
    written(&eval_within(
        limits,
        source.as_bytes(),
        &[],
        &[],
        &mut Keys::default(),
    ))
}

fn eval_within(
    limits: Limits,
    source: &[u8],
    keys: &[Vec<u8>],
    args: &[Vec<u8>],
    host: &mut Keys,
) -> Reply {
    match Script::parse_or_reply(source) {
        Ok(script) => run(&script, keys, args, host, limits),
        Err(reply) => reply,
    }
}

/// A reply as the cases write it.
fn written(reply: &Reply) -> String {
    match reply {
        Reply::Status(text) => format!("+{text}"),
        Reply::Error(text) => format!("-{text}"),
        Reply::Integer(n) => format!("(int {n})"),
        Reply::Bulk(bytes) => format!("\"{}\"", String::from_utf8_lossy(bytes)),
        Reply::Nil => "(nil)".to_owned(),
        Reply::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(written).collect::<Vec<_>>().join(",")
            )
        }
    }
}

fn words(value: &Value) -> Vec<Vec<u8>> {
    let items = value.as_array().expect("a list");
    items
        .iter()
        .map(|item| item.as_str().expect("a text").as_bytes().to_vec())
        .collect()
}

#[test]
fn replies_are_those_of_redis() {
    let text = include_str!("cases/lua.json");
    let cases: Value = serde_json::from_str(text).expect("the cases are JSON");
    let cases = cases.as_array().expect("a list of cases");
    assert_eq!(cases.len(), 78);
    let mut wrong = Vec::new();
    for case in cases {
        let mut host = Keys::default();
        for command in case["setup"].as_array().expect("a list") {
            host.call(words(command));
        }
        let source = case["script"].as_str().expect("a text").as_bytes();
        let reply = eval(
            source,
            &words(&case["keys"]),
            &words(&case["args"]),
            &mut host,
        );
        if written(&reply) != case["reply"] {
            wrong.push(format!(
                "{}: {} for {}",
                case["name"],
                written(&reply),
                case["reply"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A reply as the recorded ones are written.
fn escaped(reply: &Reply) -> String {
    match reply {
        Reply::Array(items) => {
            let items: Vec<String> = items.iter().map(escaped).collect();
            format!("[{}]", items.join(", "))
        }
        Reply::Bulk(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_function_and_every_error_is_as_recorded() {
    let text = include_str!("cases/lua_replies.txt");
    let (mut count, mut wrong) = (0, Vec::new());
    for case in text.split_terminator("\n----\n") {
        let (source, reply) = case.rsplit_once("\n=> ").expect("a script and its reply");
        let got = escaped(&eval(source.as_bytes(), &[], &[], &mut Keys::default()));
        if got != reply {
            wrong.push(format!("{source}\n  Redis {reply}\n  here  {got}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 490, "{count}");
}

fn check(source: &str, reply: &str) {
    let got = eval(source.as_bytes(), &[], &[], &mut Keys::default());
    assert_eq!(written(&got), reply, "{source}");
}

const FUEL: &str = "-ERR the script ran for more than 50000 instructions and was ended by the \
                    playground's fuel limit";
const MEMORY: &str = "-ERR the script used more than 2097152 bytes and was ended by the \
                      playground's memory limit";

#[test]
fn fuel_ends_what_would_not_end() {
    for source in [
        "while true do end",
        "pcall(function() while true do end end) return 'escaped'",
        "while true do pcall(error) end",
        "local function f() return f() end f()",
        "coroutine.wrap(function() while true do end end)()",
        "return string.find(string.rep('a', 30), string.rep('a?', 30) .. string.rep('a', 30))",
        "return string.find(string.rep('a', 20000), '.-.-.-.-b')",
        "table.sort({1, 2, 3}, function() while true do end end)",
        "return ('x'):rep(1000):gsub('x', function() while true do end end)",
        "local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x",
        "local t = {} for i = 1, 1e9 do t[i % 10] = i end",
        "return table.concat({}, '', 1, 2e9)",
        "for i = 1, 1e9 do string.rep('x', 100000) end",
        "for i = 1, 1e9 do cjson.decode('[1,2,3]') end",
        "xpcall(function() while true do end end, function() return 'handled' end) return 1",
        "repeat local ok = pcall(load, function() while true do end end) until false",
    ] {
        let reply = eval_tightly(source);
        assert!(
            reply == FUEL || reply.contains("'concat'"),
            "{source}: {reply}"
        );
    }
}

#[test]
fn memory_ends_what_takes_too_much() {
    for source in [
        "return string.rep('x', 1e9)",
        "return pcall(string.rep, 'x', 1e9)",
        "local s = 'x' while true do s = s .. s end",
        "local s = 'x' while true do local ok = pcall(function() s = s .. s end) end",
        "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(10000) .. i end",
        "local t = {1} for i = 1, 40 do t = {t, t} end return t",
        "local t = {} while true do t = {t, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}} end",
        "local s = ('x'):rep(100000) return (s:gsub('x', s))",
        "local t = {} for i = 1, 300 do t[i] = ('x'):rep(20000) .. i end return table.concat(t)",
        "local t = {} for i = 1, 1e5 do t[i] = coroutine.create(function() end) end",
        "local s = ('x'):rep(5e5) return {s, s, s, s, s, s, s}",
        "local s = ('x'):rep(5e5) return cjson.encode({s, s, s, s, s, s, s})",
    ] {
        let reply = eval_tightly(source);
        assert!(
            reply == MEMORY,
            "{source}: {}",
            &reply[..reply.len().min(200)]
        );
    }
}

#[test]
fn garbage_does_not_count() {
    check(
        "local s for i = 1, 5000 do s = ('x'):rep(10000) .. i end return #s",
        "(int 10004)",
    );
    check(
        "local n = 0 for i = 1, 50000 do local t = {i, {i}} n = n + #t end return n",
        "(int 100000)",
    );
    check(
        "local f for i = 1, 50000 do local t = {} t.t = t f = function() return t end end \
         return type(f())",
        "\"table\"",
    );
    check(
        "local n = 0 for i = 1, 5000 do local c = coroutine.wrap(function(a) local b = \
         coroutine.yield(a + 1) return b * 2 end) n = n + c(i) + c(i) end return n",
        "(int 37512500)",
    );
}

#[test]
fn deep_nesting_is_refused_or_survived() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!("return {}1{}", open.repeat(depth), close.repeat(depth))
    };
    let too_deep = "-ERR Error compiling script (new function): user_script:1: chunk has too many \
                    syntax levels";
    for (open, close) in [
        ("(", ")"),
        ("{", "}"),
        ("- ", ""),
        ("not ", ""),
        ("function() return ", " end"),
    ] {
        check(&nested(open, close, 1_000), too_deep);
    }
    check(
        "local t = {} for i = 1, 60000 do t = {t} end return type(t)",
        "\"table\"",
    );
    check(
        "local t = {} for i = 1, 60000 do t = {t} end return #cjson.encode({1})",
        "(int 3)",
    );
    check(
        "local t = {} for i = 1, 2000 do t = {t} end local ok, e = pcall(cjson.encode, t) return e",
        "\"Cannot serialise, excessive nesting (1001)\"",
    );
    check(
        "return #cjson.encode(cjson.decode(('['):rep(999) .. (']'):rep(999)))",
        "(int 1998)",
    );
    check(
        "local n = 0 local function f() n = n + 1 f() end local ok, e = pcall(f) return {n, e}",
        "[(int 16381),\"user_script:1: stack overflow\"]",
    );
    check(
        "local n = 0 local function f() n = n + 1 pcall(f) end f() return n",
        "(int 199)",
    );
    let deepest = eval(
        b"local t = {} for i = 1, 60000 do t = {t} end return t",
        &[],
        &[],
        &mut Keys::default(),
    );
    let mut depth = 0;
    let mut reply = &deepest;
    while let Reply::Array(items) = reply {
        depth += 1;
        reply = &items[0];
    }
    assert_eq!(
        (depth, written(reply)),
        (256, "-ERR reached lua stack limit".to_owned())
    );
}

#[test]
fn nothing_is_kept_between_runs() {
    let mut host = Keys::default();
    let script = Script::parse(b"redis.log(redis.LOG_WARNING, 'n', 1) return math.random(1000)");
    let script = script.expect("it compiles");
    let first = run(&script, &[], &[], &mut host, Limits::default());
    let second = run(&script, &[], &[], &mut host, Limits::default());
    assert_eq!(first, second);
    assert_eq!(
        host.logged,
        vec![(3, b"n 1".to_vec()), (3, b"n 1".to_vec())]
    );
}

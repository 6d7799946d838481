//! The interpreter against the Lua of a real Redis 7.0: random scripts, every result compared.
//!
//! Runs for a minute at most, or for `LATCHKEY_DIFFERENTIAL_SECONDS`; `LATCHKEY_DIFFERENTIAL_SEED` chooses
//! where the seeds begin. A difference is reduced to the parts of the script that show it. Where
//! redis-server is missing, or is not version 7.0, it says so and passes. With `LATCHKEY_DIFFERENTIAL_REPORT`
//! set it goes on after a difference and prints them all.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "support/redis.rs"]
mod redis;
#[path = "support/scripts.rs"]
mod scripts;

use std::time::{Duration, Instant};

use latchkey::sim::store::lua::{Host, Limits, Script, run};
use latchkey::sim::store::reply::Reply;
use redis::{Client, Server};

/// These scripts send no commands.
struct NoCommands;

impl Host for NoCommands {
    fn call(&mut self, _: Vec<Vec<u8>>) -> Reply {
        Reply::Error("ERR Unknown Redis command called from script".to_owned())
    }

    fn log(&mut self, _: i64, _: Vec<u8>) {}
}

fn ours(text: &str) -> Reply {
    let limits = Limits {
        fuel: 3_000_000,
        memory: 256 << 20,
    };
    match Script::parse_or_reply(text.as_bytes()) {
        Ok(script) => run(&script, &[], &[], &mut NoCommands, limits),
        Err(reply) => reply,
    }
}

fn theirs(client: &mut Client, text: &str) -> Reply {
    match client.ask(&["EVAL", text, "0"]) {
        Ok(reply) => reply,
        Err(error) => panic!("{error} after\n{text}"),
    }
}

/// Some scripts call themselves without end; Redis would not come back from them.
fn is_too_long(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.contains("the playground's"))
}

/// Whether what a script gives depends on where its tables and functions lie in memory, as
/// `string.find(tostring(f), 'b')` does: Redis answers otherwise where others lie before them, or another Redis does.
fn depends_on_addresses(client: &mut Client, text: &str) -> bool {
    let first = theirs(client, text);
    let other = Server::start("lua-elsewhere").unwrap();
    if theirs(&mut other.connect().unwrap(), text) != first {
        return true;
    }
    (1..40).any(|more| {
        let before = "{}, ".repeat(more);
        theirs(client, &format!("local before = {{{before}}} {text}")) != first
    })
}

fn differs(client: &mut Client, parts: &[String]) -> bool {
    let text = scripts::text(parts);
    let ours = ours(&text);
    !is_too_long(&ours) && ours != theirs(client, &text)
}

/// Leaves out parts for as long as the difference stays.
fn shorten(client: &mut Client, parts: Vec<String>) -> Vec<String> {
    let mut parts = parts;
    let mut at = 0;
    while at < parts.len() {
        let mut fewer = parts.clone();
        fewer.remove(at);
        if differs(client, &fewer) {
            parts = fewer;
        } else {
            at += 1;
        }
    }
    parts
}

fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join("\n    "),
        Reply::Bulk(bytes) => bytes.escape_ascii().to_string(),
        other => format!("{other:?}"),
    }
}

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn server() -> Option<Server> {
    let server = match Server::start("lua") {
        Ok(server) => server,
        Err(missing) => {
            println!("lua_differential: skipped, no Redis to compare with ({missing})");
            return None;
        }
    };
    let info = server.connect().unwrap().ask(&["INFO", "server"]).unwrap();
    let Reply::Bulk(info) = info else {
        return None;
    };
    let info = String::from_utf8_lossy(&info);
    if !info.contains("redis_version:7.0.") {
        println!("lua_differential: skipped, redis-server is not version 7.0");
        return None;
    }
    Some(server)
}

/// A reply as text, with `-nan` as `nan`: which sign a power of NaN has is the C library's choice.
fn without_signs_of_nan(reply: &Reply) -> String {
    shown(reply).replace("-nan", "nan")
}

#[test]
fn random_scripts_give_what_redis_gives() {
    let Some(server) = server() else {
        return;
    };
    let mut client = server.connect().unwrap();
    // Without being asked for more, the same scripts every time.
    let (seconds, most) = match number_from("LATCHKEY_DIFFERENTIAL_SECONDS") {
        Some(seconds) => (seconds, u64::MAX),
        None => (60, 15_000),
    };
    let first = number_from("LATCHKEY_DIFFERENTIAL_SEED").unwrap_or(1);
    let report = std::env::var("LATCHKEY_DIFFERENTIAL_REPORT").is_ok();
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut count, mut results, mut differences) = (0, 0, 0);
    let (mut too_long, mut addresses) = (0, 0);
    while Instant::now() < end && count < most {
        let parts = scripts::script(first + count);
        let text = scripts::text(&parts);
        count += 1;
        let ours = ours(&text);
        if is_too_long(&ours) {
            too_long += 1;
            continue;
        }
        let theirs = theirs(&mut client, &text);
        if let Reply::Array(items) = &theirs {
            results += items.len();
        }
        let equal = ours == theirs || without_signs_of_nan(&ours) == without_signs_of_nan(&theirs);
        if !equal && depends_on_addresses(&mut client, &text) {
            addresses += 1;
        } else if !equal {
            differences += 1;
            let shortest = shorten(&mut client, parts);
            let text = scripts::text(&shortest);
            let message = format!(
                "seed {}:\n{}\n  Redis:\n    {}\n  here:\n    {}",
                first + count - 1,
                shortest.join("\n"),
                shown(&self::theirs(&mut client, &text)),
                shown(&self::ours(&text))
            );
            assert!(report, "{message}");
            println!("{message}\n");
        }
        if count % 500 == 0 {
            client.ask(&["SCRIPT", "FLUSH"]).unwrap();
        }
    }
    println!(
        "{count} scripts with {results} results: {differences} differences; left out: {too_long} too long, \
         {addresses} that depend on addresses"
    );
    assert!(results > 0);
}

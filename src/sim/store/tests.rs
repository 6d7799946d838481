//! Commands and their replies, in a notation of a line each.
//!
//! `> command` runs on connection 0, `1> command` on connection 1, `+250` lets 250 ms pass; the
//! lines after that are the replies, `2< reply` one to another connection. Every reply here is that of
//! a real Redis 7.0.15.

use super::*;

/// The wall clock at the beginning of every case.
const NOW: u64 = 1_700_000_000_000;

fn replay(script: &str) -> String {
    let mut store = Store::default();
    let mut now = NOW;
    let mut printed = String::new();
    for line in script
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.is_empty())
    {
        let output = if let Some(ms) = line.strip_prefix('+') {
            let ms: u64 = ms.parse().unwrap();
            now += ms;
            printed.push_str(&format!("{line}\n"));
            (0, store.apply(StoreInput::Elapse { ms }))
        } else if let Some((who, command)) = line
            .split_once("> ")
            .filter(|(who, _)| who.is_empty() || who.parse::<u32>().is_ok())
        {
            let connection = who.parse().unwrap_or(0);
            let argv: Vec<Vec<u8>> = split_arguments(command)
                .unwrap()
                .into_iter()
                .map(|one| one.bytes)
                .collect();
            printed.push_str(&format!("{line}\n"));
            (
                connection,
                store.apply(StoreInput::Command {
                    connection: ConnectionId(connection),
                    argv: &argv,
                    now,
                }),
            )
        } else {
            continue;
        };
        for (to, reply) in output.1.replies {
            let mark = if to.0 == output.0 {
                String::new()
            } else {
                format!("{}< ", to.0)
            };
            printed.push_str(&format!("{mark}{}\n", reply.print_short()));
        }
    }
    printed
}

fn check(script: &str) {
    let expected: String = script
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(replay(script), expected);
}

#[test]
fn deadlines_pass_by_one_rule() {
    check(
        "> SET k v NX PX 1000
        OK
        +1000
        > PTTL k
        0
        > SET k w NX
        nil
        +1
        > SET k w NX
        OK
        > PTTL k
        -1
        > SET k v PX 0
        ERR invalid expire time in 'set' command
        > EXPIRE k 0
        1
        > GET k
        nil",
    );
}

#[test]
fn counters_stop_at_their_bounds() {
    check(
        "> SET k 9223372036854775807
        OK
        > INCR k
        ERR increment or decrement would overflow
        > SET k abc
        OK
        > INCR k
        ERR value is not an integer or out of range
        > INCRBYFLOAT f 0.1
        \"0.1\"
        > INCRBYFLOAT f 0.2
        \"0.3\"
        > FOO a b
        ERR unknown command 'FOO', with args beginning with: 'a' 'b' 
        > GET
        ERR wrong number of arguments for 'get' command",
    );
}

#[test]
fn waits_end_when_their_time_is_over() {
    check(
        "1> WAIT 5 10000
        > BLPOP l 0.01
        +10
        +1
        nil
        +9990
        1< 0
        ",
    );
}

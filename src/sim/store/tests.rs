//! What the store tells about commands (facts), what it refuses, and where its limits are. The replies
//! themselves are in `tests/cases/store.txt`.

use super::*;

/// The wall clock of every test.
const NOW: u64 = 1_700_000_000_000;

fn send(store: &mut Store, connection: u32, line: &str) -> StoreOutput {
    let argv: Vec<Vec<u8>> = split_arguments(line)
        .unwrap()
        .into_iter()
        .map(|argument| argument.bytes)
        .collect();
    store.apply(StoreInput::Command {
        connection: ConnectionId(connection),
        argv: &argv,
        now: NOW,
    })
}

fn only_reply(output: &StoreOutput) -> String {
    let replies: Vec<String> = output
        .replies
        .iter()
        .map(|(_, reply)| reply.print_short())
        .collect();
    replies.join("; ")
}

/// Facts as short lines: `key k nothing -> v (100) by SET`, `0 command SET k v = OK`.
fn print(facts: &[StoreFact]) -> Vec<String> {
    let state = |state: &Option<KeyState>| match state {
        None => "nothing".to_owned(),
        Some(state) => {
            let parts: Vec<String> = state
                .value
                .parts()
                .iter()
                .map(|part| String::from_utf8_lossy(part).into_owned())
                .collect();
            let remaining = state
                .remaining
                .map_or_else(String::new, |ms| format!(" ({ms})"));
            format!("{}{remaining}", parts.join(","))
        }
    };
    let line = |fact: &StoreFact| match fact {
        StoreFact::Key {
            key,
            before,
            after,
            cause,
        } => {
            let cause = match cause {
                Cause::Command(name) => name,
                Cause::Lapse => "lapse",
                Cause::ClockJump => "clock jump",
                Cause::ExpiredNow => "expired now",
                Cause::Wiped => "wiped",
                Cause::Evicted => "evicted",
                Cause::DataLost => "data lost",
                Cause::Replicated => "replicated",
            };
            format!(
                "key {}: {} -> {} by {cause}",
                String::from_utf8_lossy(key),
                state(before),
                state(after)
            )
        }
        StoreFact::Command {
            connection,
            depth,
            argv,
            reply,
        } => {
            let argv: Vec<String> = argv
                .iter()
                .map(|argument| String::from_utf8_lossy(argument).into_owned())
                .collect();
            let argv = if argv[0] == "EVAL" {
                "EVAL".to_owned()
            } else {
                argv.join(" ")
            };
            format!("{}@{depth} {argv}: {}", connection.0, reply.print_short())
        }
        StoreFact::Published {
            channel, receivers, ..
        } => format!(
            "published in {} to {receivers}",
            String::from_utf8_lossy(channel)
        ),
        StoreFact::Log { level, message } => {
            format!("log {level} {}", String::from_utf8_lossy(message))
        }
    };
    facts.iter().map(line).collect()
}

#[test]
fn facts_tell_what_happened_in_order() {
    let mut store = Store::default();
    for (line, facts) in [
        (
            "SET k v PX 100",
            vec!["key k: nothing -> v (100) by SET", "0@0 SET k v PX 100: OK"],
        ),
        (
            "SET k v PX 100",
            vec!["key k: v (100) -> v (100) by SET", "0@0 SET k v PX 100: OK"],
        ),
        ("SET k w NX", vec!["0@0 SET k w NX: nil"]),
        ("DEL nothing", vec!["0@0 DEL nothing: 0"]),
        (
            "PERSIST k",
            vec!["key k: v (100) -> v by PERSIST", "0@0 PERSIST k: 1"],
        ),
        ("GETEX k", vec!["0@0 GETEX k: \"v\""]),
        (
            "EXPIRE k 0",
            vec!["key k: v -> nothing by EXPIRE", "0@0 EXPIRE k 0: 1"],
        ),
        (
            "RPUSH l a b",
            vec!["key l: nothing -> a,b by RPUSH", "0@0 RPUSH l a b: 2"],
        ),
        (
            "RENAME l m",
            vec![
                "key m: nothing -> a,b by RENAME",
                "key l: a,b -> nothing by RENAME",
                "0@0 RENAME l m: OK",
            ],
        ),
        (
            "LPOP m 2",
            vec![
                "key m: a,b -> nothing by LPOP",
                "0@0 LPOP m 2: [\"a\", \"b\"]",
            ],
        ),
        (
            "EVAL \"redis.log(redis.LOG_WARNING, 'hi') redis.call('INCR', 'n') return redis.call('PUBLISH', 'c', 'x')\" 0",
            vec![
                "log 3 hi",
                "key n: nothing -> 1 by INCR",
                "0@1 INCR n: 1",
                "published in c to 0",
                "0@1 PUBLISH c x: 0",
                "0@0 EVAL: 0",
            ],
        ),
        (
            "NOSUCH",
            vec!["0@0 NOSUCH: ERR unknown command 'NOSUCH', with args beginning with: "],
        ),
        ("MULTI", vec!["0@0 MULTI: OK"]),
        ("INCR n", vec!["0@0 INCR n: QUEUED"]),
        (
            "EXEC",
            vec!["key n: 1 -> 2 by INCR", "0@1 INCR n: 2", "0@0 EXEC: [2]"],
        ),
    ] {
        assert_eq!(print(&send(&mut store, 0, line).facts), facts, "{line}");
    }
}

#[test]
fn facts_of_time_and_loss() {
    let mut store = Store::default();
    for line in [
        "SET b v PX 5",
        "SET a v PX 5",
        "SET c v PX 3",
        "SET d v PX 50",
        "SET e v",
    ] {
        send(&mut store, 0, line);
    }
    send(&mut store, 1, "BLPOP q 0.004");
    assert_eq!(store.next_deadline(), Some(3));
    let output = store.apply(StoreInput::Elapse { ms: 6 });
    let expected = [
        "key c: v (0) -> nothing by lapse",
        "1@0 BLPOP q 0.004: nil",
        "key a: v (0) -> nothing by lapse",
        "key b: v (0) -> nothing by lapse",
    ];
    assert_eq!(print(&output.facts), expected);
    assert_eq!(output.replies, [(ConnectionId(1), Reply::Nil)]);
    assert_eq!(store.next_deadline(), Some(44));
    let output = store.apply(StoreInput::ExpireNow { key: b"d" });
    assert_eq!(
        print(&output.facts),
        ["key d: v (44) -> nothing by expired now"]
    );
    assert_eq!(
        store.apply(StoreInput::ExpireNow { key: b"e" }).refused,
        Some("the key has no deadline")
    );
    assert_eq!(
        store.apply(StoreInput::ExpireNow { key: b"d" }).refused,
        Some("there is no such key")
    );
    assert_eq!(
        print(&store.apply(StoreInput::Wipe { key: b"e" }).facts),
        ["key e: v -> nothing by wiped"]
    );
    assert_eq!(
        store.apply(StoreInput::Wipe { key: b"e" }).refused,
        Some("there is no such key")
    );
    assert_eq!(store, Store::default());
}

#[test]
fn a_blocked_command_is_told_when_it_is_served() {
    let mut store = Store::default();
    assert_eq!(
        print(&send(&mut store, 1, "BLMOVE q r LEFT RIGHT 0").facts),
        [""; 0]
    );
    assert_eq!(
        send(&mut store, 1, "GET k").refused,
        Some("the connection waits for the reply to its blocked command")
    );
    assert_eq!(store.blocked(ConnectionId(1)).map(<[_]>::len), Some(6));
    let expected = [
        "key q: nothing -> x by RPUSH",
        "0@0 RPUSH q x: 1",
        "key r: nothing -> x by BLMOVE",
        "key q: x -> nothing by BLMOVE",
        "1@0 BLMOVE q r LEFT RIGHT 0: \"x\"",
    ];
    assert_eq!(print(&send(&mut store, 0, "RPUSH q x").facts), expected);
    assert_eq!(store.blocked(ConnectionId(1)), None);
}

#[test]
fn a_connection_that_goes_leaves_nothing_behind() {
    let mut store = Store::default();
    for line in ["WATCH k", "SUBSCRIBE c", "MULTI", "CLIENT SETNAME me"] {
        send(&mut store, 1, line);
        send(&mut store, 2, line);
        store.apply(StoreInput::Disconnect {
            connection: ConnectionId(1),
        });
    }
    send(&mut store, 1, "BLPOP q 0");
    for connection in [1, 2] {
        store.apply(StoreInput::Disconnect {
            connection: ConnectionId(connection),
        });
    }
    assert_eq!(store, Store::default());
}

#[test]
fn equal_situations_are_equal_stores() {
    let (mut early, mut late) = (Store::default(), Store::default());
    send(&mut early, 0, "SET k v PX 100");
    late.apply(StoreInput::Elapse { ms: 5_000 });
    send(&mut late, 0, "SET k v PX 150");
    late.apply(StoreInput::Elapse { ms: 50 });
    send(&mut late, 3, "MULTI");
    send(&mut late, 3, "DISCARD");
    assert_eq!(early, late);
    let kept = early.clone();
    send(&mut early, 0, "DEL k");
    assert_ne!(early, kept);
    assert!(kept.get(b"k").is_some());
}

#[test]
fn memory_has_limits() {
    let mut store = Store::default();
    let too_long = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    let full = "OOM command not allowed when used memory > 'maxmemory'.";
    assert_eq!(
        only_reply(&send(&mut store, 0, "SETRANGE k 1048575 x")),
        "1048576"
    );
    assert_eq!(only_reply(&send(&mut store, 0, "APPEND k x")), too_long);
    assert_eq!(
        only_reply(&send(&mut store, 0, "SETRANGE k 1048576 x")),
        too_long
    );
    for copy in 0..4 {
        let reply = only_reply(&send(&mut store, 0, &format!("COPY k copy{copy}")));
        assert_eq!(reply, if copy < 3 { "1" } else { full });
    }
    assert_eq!(only_reply(&send(&mut store, 0, "SET small v")), full);
    assert_eq!(
        only_reply(&send(
            &mut store,
            0,
            "EVAL \"return redis.pcall('SET', 'small', 'v')\" 0"
        )),
        full
    );
    assert_eq!(only_reply(&send(&mut store, 0, "GET small")), "nil");
    assert_eq!(only_reply(&send(&mut store, 0, "DEL copy0 copy1")), "2");
    assert_eq!(only_reply(&send(&mut store, 0, "SET small v")), "OK");
    // What one script tells is bounded, too: its facts keep every reply and every version.
    let greedy = "EVAL \"for i = 1, 100000 do redis.call('GET', 'k') end\" 0";
    assert!(only_reply(&send(&mut store, 0, greedy)).starts_with("OOM"));
    let growing = "EVAL \"for i = 1, 100000 do redis.call('RPUSH', 'l', i) end\" 0";
    assert!(only_reply(&send(&mut store, 0, growing)).starts_with("OOM"));
    assert_eq!(
        only_reply(&send(&mut store, 0, "SRANDMEMBER l 1")),
        "WRONGTYPE Operation against a key holding the wrong kind of value"
    );
    send(&mut store, 0, "SADD s a");
    assert_eq!(
        only_reply(&send(&mut store, 0, "SRANDMEMBER s -100001")),
        "ERR value is out of range"
    );
}

#[test]
fn what_is_left_out_says_so() {
    let mut store = Store::default();
    for (line, reply) in [
        (
            "XADD s * f v",
            "ERR unknown command 'XADD', with args beginning with: 's' '*' 'f' 'v' ",
        ),
        ("SELECT 3", "ERR Latchkey's store has only database 0"),
        ("COPY a b DB 3", "ERR Latchkey's store has only database 0"),
    ] {
        assert_eq!(only_reply(&send(&mut store, 0, line)), reply, "{line}");
    }
    for (line, left_out) in [
        ("config get maxmemory", Some("CONFIG")),
        ("CLIENT list", Some("CLIENT LIST")),
        ("CLIENT ID", None),
        ("CLIENT NONSENSE", None),
        ("NONSENSE", None),
        ("GET k", None),
    ] {
        let argv: Vec<Vec<u8>> = line
            .split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect();
        assert_eq!(super::left_out(&argv).as_deref(), left_out, "{line}");
    }
}

#[test]
fn draws_take_the_first() {
    let mut store = Store::default();
    for (line, reply) in [
        ("SADD s c b a", "3"),
        ("SRANDMEMBER s", "\"a\""),
        ("SRANDMEMBER s -5", r#"["a", "b", "c", "a", "b"]"#),
        ("SPOP s 2", r#"["a", "b"]"#),
        ("HSET h z 1 y 2", "2"),
        (
            "HRANDFIELD h -3 WITHVALUES",
            r#"["z", "1", "y", "2", "z", "1"]"#,
        ),
        ("ZADD zset 2 b 1 c", "2"),
        ("ZRANDMEMBER zset 1 WITHSCORES", r#"["c", "1"]"#),
        ("RANDOMKEY", "\"h\""),
    ] {
        assert_eq!(only_reply(&send(&mut store, 0, line)), reply, "{line}");
    }
}

#[test]
fn a_scan_meets_every_key_that_stays() {
    let mut store = Store::default();
    for number in 0..200 {
        send(&mut store, 0, &format!("SET key:{number} v"));
    }
    let mut met = std::collections::BTreeSet::new();
    let mut cursor = "0".to_owned();
    for round in 0.. {
        let output = send(&mut store, 0, &format!("SCAN {cursor} COUNT 7"));
        let Some((_, Reply::Array(parts))) = output.replies.first() else {
            panic!("SCAN {cursor}: {output:?}");
        };
        let [Reply::Bulk(next), Reply::Array(keys)] = &parts[..] else {
            panic!("{parts:?}");
        };
        met.extend(keys.iter().map(Reply::print_short));
        cursor = String::from_utf8_lossy(next).into_owned();
        if cursor == "0" {
            break;
        }
        // Half of the keys come and go meanwhile, so that the table grows and shrinks.
        for number in 100..200 {
            let verb = if round % 2 == 0 { "DEL" } else { "INCR" };
            send(&mut store, 0, &format!("{verb} key:{number}"));
        }
    }
    assert!((0..100).all(|number| met.contains(&format!("\"key:{number}\""))));
}

#[cfg(not(target_arch = "wasm32"))]
mod random {
    use super::*;
    use proptest::prelude::*;

    /// Names of commands, options and things that look like arguments.
    fn word() -> impl Strategy<Value = Vec<u8>> {
        let mut words: Vec<Vec<u8>> = all_commands()
            .map(|command| command.name.as_bytes().to_vec())
            .collect();
        let more = "k k l l s h z 0 1 -1 2 1000 9223372036854775807 -9223372036854775808 1e400 nan inf ( [ [a + - * ? NX XX GT LT EX PX \
            EXAT PXAT KEEPTTL GET COUNT MATCH LIMIT RANK MAXLEN WITHSCORES WEIGHTS AGGREGATE BYLEX BYSCORE REV LEFT RIGHT MIN MAX \
            LOAD EXISTS FLUSH NUMSUB CHANNELS SETNAME";
        words.extend(
            more.split_ascii_whitespace()
                .map(|word| word.as_bytes().to_vec()),
        );
        prop_oneof![
            8 => prop::sample::select(words),
            1 => prop::collection::vec(any::<u8>(), 0..5),
            1 => Just(b"return redis.call(unpack(ARGV))".to_vec()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn no_input_panics_and_time_never_runs_backwards(
            steps in prop::collection::vec((0u32..3, prop::collection::vec(word(), 0..9), 0u64..2000), 1..40)
        ) {
            let mut store = Store::default();
            for (connection, argv, ms) in steps {
                let input = StoreInput::Command { connection: ConnectionId(connection), argv: &argv, now: NOW };
                let twin = store.clone().apply(input);
                prop_assert_eq!(store.apply(input), twin);
                let deadline = store.next_deadline();
                store.apply(StoreInput::Elapse { ms });
                if let (Some(before), Some(after)) = (deadline, store.next_deadline()) {
                    prop_assert!(before < ms || before - ms <= after);
                }
            }
        }

        #[test]
        fn a_long_wait_is_as_many_short_ones(
            lines in prop::collection::vec((0u8..5, 1u64..60), 1..12),
            waits in prop::collection::vec(0u64..20, 1..12)
        ) {
            let mut store = Store::default();
            for (key, ttl) in lines {
                send(&mut store, 0, &format!("SET k{key} v PX {ttl}"));
                send(&mut store, 1, &format!("BLPOP q 0.0{ttl}"));
            }
            let mut at_once = store.clone();
            let whole = at_once.apply(StoreInput::Elapse { ms: waits.iter().sum() });
            let mut facts = Vec::new();
            for ms in waits {
                facts.extend(store.apply(StoreInput::Elapse { ms }).facts);
            }
            prop_assert_eq!(at_once, store);
            prop_assert_eq!(whole.facts, facts);
        }
    }
}

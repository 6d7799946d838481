//! The store against a real Redis 7.0: random commands on several connections, random jumps of the
//! clock, every reply compared byte for byte, and at the end every key, value and deadline.
//!
//! Runs for a minute, or for `LATCHKEY_DIFFERENTIAL_SECONDS`; `LATCHKEY_DIFFERENTIAL_SEED`
//! chooses other sequences. A difference is reduced to the shortest sequence that shows it. Where
//! redis-server or a C compiler is missing, or Redis is not version 7.0, it says so and passes.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[path = "support/cases.rs"]
mod cases;
#[path = "support/commands.rs"]
mod commands;
#[path = "support/redis.rs"]
mod redis;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cases::{Happening, START};
use commands::{Random, Step, argv_of, calls_its_arguments, sequence};
use latchkey::sim::ConnectionId;
use latchkey::sim::store::reply::{Reply, quote};
use latchkey::sim::store::{Store, StoreFact, StoreInput, Value, all_commands, split_arguments};
use redis::{Client, Server};

const CONNECTIONS: u32 = 4;
/// By then every command has been sent many times over, or the generator lacks one.
const MOST_SEQUENCES: u64 = 20_000;

#[test]
fn random_commands_are_answered_as_redis_answers_them() {
    let Some(server) = server("random") else {
        return;
    };
    let seconds = number_from("LATCHKEY_DIFFERENTIAL_SECONDS").unwrap_or(60);
    let first = number_from("LATCHKEY_DIFFERENTIAL_SEED").unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut sequences, mut steps) = (0, 0);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    // On a busy machine ten seconds are not enough for every command to have its turn.
    let every_command =
        |seen: &BTreeMap<String, usize>| seconds < 10 || never_sent(seen).is_empty();
    while Instant::now() < end || (!every_command(&seen) && sequences < MOST_SEQUENCES) {
        let sequence = sequence(&mut Random::new(first + sequences));
        for step in &sequence {
            if let Step::Command { argv, .. } = step {
                *seen
                    .entry(String::from_utf8_lossy(&argv[0]).to_ascii_uppercase())
                    .or_default() += 1;
            }
        }
        if let Err(difference) = compare(&server, &sequence) {
            let (shortest, difference) = shorten(&server, sequence, difference);
            panic!(
                "seed {}: {difference}\nafter\n{}",
                first + sequences,
                print(&shortest)
            );
        }
        sequences += 1;
        steps += sequence.len();
    }
    println!(
        "{sequences} sequences with {steps} steps over {} commands: no difference",
        seen.len()
    );
    assert!(every_command(&seen), "never sent: {:?}", never_sent(&seen));
}

/// The commands that no sequence held, but for what closes the connection or draws at random.
fn never_sent(seen: &BTreeMap<String, usize>) -> Vec<&'static str> {
    let left_out = ["QUIT", "RANDOMKEY"];
    all_commands()
        .map(|command| command.name)
        .filter(|name| !seen.contains_key(*name) && !left_out.contains(name))
        .collect()
}

#[test]
fn the_command_table_is_that_of_redis() {
    let Some(server) = server("table") else {
        return;
    };
    let mut client = server.connect().unwrap();
    for command in all_commands() {
        let Ok(Reply::Array(info)) = client.ask(&["COMMAND", "INFO", command.name]) else {
            panic!("no COMMAND INFO {}", command.name);
        };
        let Some(Reply::Array(info)) = info.first() else {
            panic!("Redis has no command {}", command.name);
        };
        let Reply::Array(flags) = &info[2] else {
            panic!("{info:?}");
        };
        let has = |flag: &str| flags.contains(&Reply::Status(flag.to_owned()));
        assert_eq!(
            info[1],
            Reply::Integer(command.arity.into()),
            "arity of {}",
            command.name
        );
        let ours = [
            command.writes(),
            command.only_reads(),
            command.denied_out_of_memory(),
            command.denied_in_scripts(),
            command.blocks(),
        ];
        let theirs = [
            has("write"),
            has("readonly"),
            has("denyoom"),
            has("noscript"),
            has("blocking"),
        ];
        assert_eq!(
            ours, theirs,
            "write, readonly, denyoom, noscript, blocking of {}",
            command.name
        );
    }
}

#[test]
fn keys_are_found_where_redis_finds_them() {
    let Some(server) = server("keys") else {
        return;
    };
    let mut client = server.connect().unwrap();
    let mut random = Random::new(7);
    for _ in 0..2_000 {
        let argv = argv_of(&mut random);
        let Some(command) = latchkey::sim::store::find_command(&argv[0]) else {
            continue;
        };
        let ask: Vec<Vec<u8>> = [b"COMMAND".to_vec(), b"GETKEYS".to_vec()]
            .into_iter()
            .chain(argv.iter().cloned())
            .collect();
        let places = command.key_places(&argv);
        if let Ok(Reply::Array(keys)) = client.ask(&ask) {
            let ours: Vec<Reply> = places
                .iter()
                .map(|place| Reply::bulk(&argv[*place]))
                .collect();
            assert_eq!(ours, keys, "{}", print_argv(&argv));
        }
    }
}

/// With `LATCHKEY_RECORD` set, writes the replies of the real server into the file instead.
#[test]
fn the_cases_are_answered_by_redis_as_they_say() {
    let Some(server) = server("cases") else {
        return;
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/store.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let record = std::env::var_os("LATCHKEY_RECORD").is_some();
    let mut recorded = String::new();
    for case in cases::cases(&text) {
        recorded.push_str(&format!("# {}\n", case.title));
        let mut replay = Replay::new(&server);
        for (line, happening, expected) in &case.lines {
            let number = if record { 1 } else { expected.len() };
            let got = replay.line(happening, number);
            recorded.push_str(&format!("{line}\n"));
            recorded.extend(got.iter().map(|reply| format!("{reply}\n")));
            if !record {
                assert_eq!(got, *expected, "{}: {line}", case.title);
            }
        }
    }
    if record {
        std::fs::write(path, recorded).unwrap();
    }
}

/// A case on the real server.
struct Replay<'s> {
    server: &'s Server,
    clients: Vec<Client>,
    control: Client,
    now: u64,
}

impl<'s> Replay<'s> {
    fn new(server: &'s Server) -> Replay<'s> {
        server.set_clock(START);
        let control = server.connect_alone().unwrap();
        let clients = cases::NAMES
            .iter()
            .map(|_| server.connect().unwrap())
            .collect();
        Replay {
            server,
            clients,
            control,
            now: START,
        }
    }

    /// Runs a line and gives the replies, at least this many if they come within a moment.
    fn line(&mut self, happening: &Happening, number: usize) -> Vec<String> {
        let sender = match happening {
            Happening::Elapse(ms) => {
                self.now += ms;
                self.server.set_clock(self.now);
                None
            }
            Happening::Command { connection, argv } => {
                self.clients[*connection].send(argv).unwrap();
                Some(*connection)
            }
        };
        let mut replies = Vec::new();
        for attempt in 0..20 {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            self.control.ask(&["PING"]).unwrap();
            self.control.ask(&["PING"]).unwrap();
            for (connection, client) in self.clients.iter_mut().enumerate() {
                while let Some(reply) = client.receive_ready().unwrap() {
                    replies.push((connection, reply));
                }
            }
            if replies.len() >= number {
                break;
            }
        }
        cases::print(sender, &replies)
    }
}

#[test]
fn lines_are_split_and_replies_printed_as_by_redis_cli() {
    let Some(server) = server("cli") else {
        return;
    };
    server.set_clock(START);
    let mut random = Random::new(11);
    let mut lines: Vec<String> = Vec::new();
    while lines.len() < 600 {
        let argv = argv_of(&mut random);
        // What redis-cli treats in a way of its own, and what has an order of its own in Redis.
        let left_out = "SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE MULTI EXEC DISCARD RESET SELECT WAIT CLIENT \
            SCAN KEYS SMEMBERS SINTER SUNION SDIFF HRANDFIELD SRANDMEMBER ZRANDMEMBER SPOP PUBSUB HGETALL HKEYS \
            HVALS HSCAN SSCAN ZSCAN";
        let blocking = argv.iter().any(|word| {
            latchkey::sim::store::find_command(word).is_some_and(|command| command.blocks())
        });
        let is_left_out = |word: &Vec<u8>| {
            let word = String::from_utf8_lossy(word).to_ascii_uppercase();
            left_out.split_ascii_whitespace().any(|name| name == word)
        };
        if !blocking && !argv.iter().any(is_left_out) {
            lines.push(commands::misquote(&mut random, print_argv(&argv)));
        }
    }
    let ours = answer_lines(&lines);
    let theirs = server.redis_cli(&(lines.join("\n") + "\n"));
    for (place, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {place} of the output");
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

/// What redis-cli would print if the store were its server.
fn answer_lines(lines: &[String]) -> String {
    let mut store = Store::default();
    let mut output = String::new();
    for line in lines {
        let Ok(arguments) = split_arguments(line) else {
            output.push_str("Invalid argument(s)\n");
            continue;
        };
        let argv: Vec<Vec<u8>> = arguments
            .into_iter()
            .map(|argument| argument.bytes)
            .collect();
        let input = StoreInput::Command {
            connection: ConnectionId(0),
            argv: &argv,
            now: START,
        };
        for (_, reply) in store.apply(input).replies {
            output.push_str(&reply.print_redis_cli());
            output.push('\n');
        }
    }
    output
}

/// Redis goes through the patterns that a message fits in an order of its own.
fn in_any_order_of_patterns(mut replies: Vec<&Reply>) -> Vec<&Reply> {
    replies.sort_by_cached_key(|reply| {
        let text = reply.print_short();
        let by_pattern = text.starts_with("[\"pmessage\"");
        if by_pattern { text } else { String::new() }
    });
    replies
}

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A server of version 7.0, or a line that says why there is none.
fn server(name: &str) -> Option<Server> {
    let started = Server::start(name).and_then(|server| {
        let mut client = server.connect().map_err(|error| error.to_string())?;
        let info = client
            .ask(&["INFO", "server"])
            .map_err(|error| error.to_string())?;
        match info {
            Reply::Bulk(text) if String::from_utf8_lossy(&text).contains("redis_version:7.0.") => {
                Ok(server)
            }
            _ => Err("redis-server is not version 7.0".to_owned()),
        }
    });
    match started {
        Ok(server) => Some(server),
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

/// Runs a sequence on both sides; an error describes the first difference.
fn compare(server: &Server, sequence: &[Step]) -> Result<(), String> {
    let mut pair = Pair::new(server);
    for step in sequence {
        pair.step(step)?;
    }
    pair.compare_contents()
}

/// The store and the real server side by side.
struct Pair<'s> {
    server: &'s Server,
    clients: Vec<Client>,
    control: Client,
    store: Store,
    now: u64,
    /// The commands that each connection has queued since MULTI, to know what EXEC's reply is of.
    queued: BTreeMap<u32, Vec<Vec<Vec<u8>>>>,
    /// The blocked command of each connection, likewise.
    sent: BTreeMap<u32, Vec<Vec<u8>>>,
}

impl<'s> Pair<'s> {
    fn new(server: &'s Server) -> Pair<'s> {
        server.set_clock(START);
        let control = server.connect_alone().unwrap();
        let clients = (0..CONNECTIONS)
            .map(|_| server.connect().unwrap())
            .collect();
        Pair {
            server,
            clients,
            control,
            store: Store::default(),
            now: START,
            queued: BTreeMap::new(),
            sent: BTreeMap::new(),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Elapse(ms) => self.elapse(*ms),
            Step::Command { connection, argv } => self.command(*connection, argv),
        }
    }

    fn elapse(&mut self, ms: u64) -> Result<(), String> {
        self.now += ms;
        self.server.set_clock(self.now);
        let output = self.store.apply(StoreInput::Elapse { ms });
        // The server ends the waits that are over before it sleeps.
        self.control.ask(&["PING"]).unwrap();
        self.look_at_gone_keys(&output.facts);
        self.receive(&output.replies, u32::MAX, &format!("+{ms}"))
    }

    fn command(&mut self, connection: u32, argv: &[Vec<u8>]) -> Result<(), String> {
        if self.store.blocked(ConnectionId(connection)).is_some() {
            return Ok(());
        }
        let shown = format!("{connection}> {}", print_argv(argv));
        let before = self
            .store
            .queued(ConnectionId(connection))
            .map(<[_]>::to_vec);
        let input = StoreInput::Command {
            connection: ConnectionId(connection),
            argv,
            now: self.now,
        };
        let output = self.store.apply(input);
        self.queued.insert(connection, before.unwrap_or_default());
        self.sent.insert(connection, argv.to_vec());
        self.clients[connection as usize].send(argv).unwrap();
        self.receive(&output.replies, connection, &shown)?;
        self.look_at_gone_keys(&output.facts);
        Ok(())
    }

    /// Makes the server look at keys that are gone here: it drops lapsed ones no sooner, and counts
    /// them in DBSIZE until then.
    fn look_at_gone_keys(&mut self, facts: &[StoreFact]) {
        let gone = facts.iter().filter_map(|fact| match fact {
            StoreFact::Key {
                key, after: None, ..
            } => Some(key.clone()),
            StoreFact::Command { argv, .. }
                if argv
                    .iter()
                    .any(|word| word.to_ascii_uppercase().ends_with(b"XAT")) =>
            {
                argv.get(1).cloned()
            }
            _ => None,
        });
        let ask: Vec<Vec<u8>> = std::iter::once(b"EXISTS".to_vec()).chain(gone).collect();
        if ask.len() > 1 {
            self.control.ask(&ask).unwrap();
        }
    }

    /// Compares the replies that the store gave with those that the server gives, per connection.
    fn receive(
        &mut self,
        replies: &[(ConnectionId, Reply)],
        sender: u32,
        shown: &str,
    ) -> Result<(), String> {
        let mut expected: Vec<Vec<&Reply>> = vec![Vec::new(); CONNECTIONS as usize];
        for (connection, reply) in replies {
            expected[connection.0 as usize].push(reply);
        }
        let waits = (0..CONNECTIONS)
            .any(|connection| self.store.blocked(ConnectionId(connection)).is_some());
        let elsewhere = expected
            .iter()
            .enumerate()
            .any(|(connection, replies)| connection != sender as usize && !replies.is_empty());
        let mut received: Vec<Vec<Reply>> = vec![Vec::new(); CONNECTIONS as usize];
        if sender != u32::MAX && !expected[sender as usize].is_empty() {
            let reply = self.clients[sender as usize]
                .receive()
                .map_err(|error| format!("{shown}: {error}"))?;
            received[sender as usize].push(reply);
        }
        if sender == u32::MAX || waits || elsewhere || expected[sender as usize].len() != 1 {
            self.control.ask(&["PING"]).unwrap();
            self.control.ask(&["PING"]).unwrap();
            for (client, received) in self.clients.iter_mut().zip(&mut received) {
                while let Some(reply) = client
                    .receive_ready()
                    .map_err(|error| format!("{shown}: {error}"))?
                {
                    received.push(reply);
                }
            }
        }
        for connection in 0..CONNECTIONS {
            let ours = in_any_order_of_patterns(expected[connection as usize].clone());
            let theirs = in_any_order_of_patterns(received[connection as usize].iter().collect());
            let same = ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(&theirs)
                    .all(|(ours, theirs)| self.same(connection, ours, theirs));
            if !same {
                let print = |replies: &mut dyn Iterator<Item = &Reply>| {
                    replies
                        .map(Reply::print_short)
                        .collect::<Vec<_>>()
                        .join("; ")
                };
                return Err(format!(
                    "{shown}\n  to connection {connection}\n  store: {}\n  redis: {}",
                    print(&mut ours.iter().copied()),
                    print(&mut theirs.iter().copied())
                ));
            }
        }
        Ok(())
    }

    /// Whether two replies are the same, but for the order where Redis has none.
    fn same(&mut self, connection: u32, ours: &Reply, theirs: &Reply) -> bool {
        if ours == theirs {
            return true;
        }
        let Some(argv) = self.sent.get(&connection).cloned() else {
            return false;
        };
        if argv[0].eq_ignore_ascii_case(b"EXEC")
            && let (Reply::Array(ours), Reply::Array(theirs)) = (ours, theirs)
        {
            let queued = self.queued.get(&connection).cloned().unwrap_or_default();
            let mut same_item = |ours: &Reply, theirs: &Reply, argv: &[Vec<u8>]| {
                // Within EXEC nobody looks at a key that was set to a time gone by.
                let counts = argv.iter().any(|word| word.eq_ignore_ascii_case(b"DBSIZE"));
                ours == theirs || counts || self.same_unordered(argv, ours, theirs)
            };
            // A SUBSCRIBE to several channels moves the replies after it, even out of the array, so
            // each may be that of any queued command.
            let mut same_any = |ours: &Reply, theirs: &Reply| {
                ours == theirs || queued.iter().any(|argv| same_item(ours, theirs, argv))
            };
            let all_same = ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| same_any(ours, theirs));
            return all_same
                || same_any(&Reply::Array(ours.clone()), &Reply::Array(theirs.clone()));
        }
        self.same_unordered(&argv, ours, theirs)
    }

    fn same_unordered(&mut self, argv: &[Vec<u8>], ours: &Reply, theirs: &Reply) -> bool {
        let name = String::from_utf8_lossy(&argv[0]).to_ascii_uppercase();
        if name == "UNSUBSCRIBE" {
            // All channels, in Redis's own order: the word and the count are fixed.
            return match (ours, theirs) {
                (Reply::Array(ours), Reply::Array(theirs)) => {
                    ours.first() == theirs.first() && ours.last() == theirs.last()
                }
                _ => false,
            };
        }
        if name.starts_with("EVAL") && argv.len() > 3 && calls_its_arguments(&argv[1]) {
            let wrapped = match (ours, theirs) {
                (Reply::Array(ours), Reply::Array(theirs)) => ours.first().zip(theirs.first()),
                _ => None,
            };
            return self.same_unordered(&argv[3..], ours, theirs)
                || wrapped
                    .is_some_and(|(ours, theirs)| self.same_unordered(&argv[3..], ours, theirs));
        }
        let width = match name.as_str() {
            "KEYS" | "SINTER" | "SUNION" | "SDIFF" | "PUBSUB" | "RANDOMKEY" => 1,
            "SMEMBERS" | "HKEYS" | "HVALS" | "SSCAN" | "SPOP" | "SRANDMEMBER"
                if self.is_unordered(&argv[1]) =>
            {
                1
            }
            "HRANDFIELD" | "ZRANDMEMBER" if argv.len() < 4 => 1,
            "HRANDFIELD" | "ZRANDMEMBER" => 2,
            "HGETALL" | "HSCAN" | "ZSCAN" if self.is_unordered(&argv[1]) => 2,
            "SCAN" => 1,
            _ => return false,
        };
        let inner = |reply: &Reply| match reply {
            Reply::Array(items) if name.ends_with("SCAN") => match &items[..] {
                [cursor, Reply::Array(items)] => Some((Some(cursor.clone()), items.clone())),
                _ => None,
            },
            Reply::Array(items) => Some((None, items.clone())),
            _ => None,
        };
        let sorted = |items: &[Reply]| {
            let mut chunks: Vec<Vec<Reply>> = items.chunks(width).map(<[Reply]>::to_vec).collect();
            chunks.sort();
            chunks
        };
        match (inner(ours), inner(theirs)) {
            (Some((cursor, ours)), Some((other, theirs))) => {
                cursor == other && sorted(&ours) == sorted(&theirs)
            }
            _ => false,
        }
    }

    /// Whether the server keeps the key in a hash table, or no longer has it.
    fn is_unordered(&mut self, key: &[u8]) -> bool {
        let encoding = self
            .control
            .ask(&[&b"OBJECT"[..], b"ENCODING", key])
            .unwrap();
        !matches!(encoding, Reply::Bulk(name) if name == b"listpack" || name == b"intset")
    }

    fn compare_contents(&mut self) -> Result<(), String> {
        let Ok(Reply::Array(keys)) = self.control.ask(&["KEYS", "*"]) else {
            return Err("KEYS failed".to_owned());
        };
        let mut theirs = BTreeMap::new();
        for key in keys {
            if let Reply::Bulk(key) = key {
                let state = self.real_state(&key);
                theirs.insert(key, state);
            }
        }
        let ours: BTreeMap<Vec<u8>, (Vec<Reply>, i64)> = self
            .store
            .keys()
            .map(|(key, state)| {
                let mut parts: Vec<Reply> = state.value.parts().iter().map(Reply::bulk).collect();
                sort_unless_ordered(&state.value, &mut parts);
                (
                    key.to_vec(),
                    (parts, state.remaining.map_or(-1, |ms| ms as i64)),
                )
            })
            .collect();
        if ours == theirs {
            Ok(())
        } else {
            Err(format!(
                "the keys at the end\n  store: {ours:?}\n  redis: {theirs:?}"
            ))
        }
    }

    /// A key's parts and PTTL on the real server, in the order in which the store has them.
    fn real_state(&mut self, key: &[u8]) -> (Vec<Reply>, i64) {
        let Ok(Reply::Integer(pttl)) = self.control.ask(&[&b"PTTL"[..], key]) else {
            return (Vec::new(), -3);
        };
        let Ok(Reply::Status(type_name)) = self.control.ask(&[&b"TYPE"[..], key]) else {
            return (Vec::new(), -3);
        };
        let read: &[&[u8]] = match type_name.as_str() {
            "string" => &[b"GET", key],
            "list" => &[b"LRANGE", key, b"0", b"-1"],
            "hash" => &[b"HGETALL", key],
            "set" => &[b"SMEMBERS", key],
            _ => &[b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"],
        };
        let mut parts = match self.control.ask(read).unwrap() {
            Reply::Array(items) => items,
            other => vec![other],
        };
        if let Some(state) = self.store.get(key) {
            sort_unless_ordered(&state.value, &mut parts);
        }
        (parts, pttl)
    }
}

/// Brings parts into one order where Redis has none; replies are compared in order where it has one.
fn sort_unless_ordered(value: &Value, parts: &mut Vec<Reply>) {
    let width = match value {
        Value::Set(_) => 1,
        Value::Hash(_) => 2,
        _ => return,
    };
    let mut chunks: Vec<Vec<Reply>> = parts.chunks(width).map(<[Reply]>::to_vec).collect();
    chunks.sort();
    *parts = chunks.concat();
}

/// Leaves out steps as long as there still is a difference.
fn shorten(
    server: &Server,
    mut sequence: Vec<Step>,
    mut difference: String,
) -> (Vec<Step>, String) {
    let mut size = sequence.len() / 2;
    while size > 0 {
        let mut at = 0;
        let mut shortened = false;
        while at < sequence.len() {
            let mut shorter = sequence.clone();
            shorter.drain(at..(at + size).min(sequence.len()));
            match compare(server, &shorter) {
                Err(other) => {
                    sequence = shorter;
                    difference = other;
                    shortened = true;
                }
                Ok(()) => at += size,
            }
        }
        if !shortened || size > 1 {
            size /= 2;
        }
    }
    (sequence, difference)
}

fn print(sequence: &[Step]) -> String {
    let line = |step: &Step| match step {
        Step::Elapse(ms) => format!("+{ms}"),
        Step::Command { connection, argv } => format!("{connection}> {}", print_argv(argv)),
    };
    sequence.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn print_argv(argv: &[Vec<u8>]) -> String {
    let plain = |argument: &Vec<u8>| {
        let simple = !argument.is_empty()
            && argument
                .iter()
                .all(|byte| (b'!'..=b'~').contains(byte) && !b"\"'\\".contains(byte));
        if simple {
            String::from_utf8_lossy(argument).into_owned()
        } else {
            quote(argument)
        }
    };
    argv.iter().map(plain).collect::<Vec<_>>().join(" ")
}

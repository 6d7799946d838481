//! A primary with its replica against real ones: random commands on both, a replica that lags, WAIT, failovers with and without
//! loss, and what becomes of who waits; every reply compared.
//!
//! Runs the same sequences every time, or others for `LATCHKEY_DIFFERENTIAL_SECONDS`; `LATCHKEY_DIFFERENTIAL_SEED` chooses where to
//! begin. A difference is written out as a scenario. Where redis-server or a C compiler is missing it says so and passes.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[path = "support/line.rs"]
mod line;
#[path = "support/random.rs"]
#[allow(dead_code, reason = "the steps there are statements")]
mod random;
#[path = "support/redis.rs"]
#[allow(dead_code, reason = "a vocabulary is whole, whoever speaks it")]
mod redis;

use std::io;
use std::time::{Duration, Instant};

use latchkey::scenario;
use latchkey::sim::action::{Action, ServerId, Who};
use latchkey::sim::event::{Answer, Fact};
use latchkey::sim::store::reply::Reply;
use latchkey::sim::store::split_arguments;
use latchkey::timeline::Timeline;
use line::Line;
use random::Random;
use redis::{Client, Server};

/// Where the clock begins, in milliseconds: that of the playground's worlds.
const START: u64 = 1_767_225_600_000;
/// The clients, and on which server each types: two on each.
const CLIENTS: [(&str, usize); 4] = [("A", 0), ("B", 0), ("C", 1), ("D", 1)];
const SERVERS: [&str; 2] = ["main", "copy"];
/// How long the servers may take to do what the playground has done.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long after a command nothing more may come.
const SETTLING: Duration = Duration::from_millis(3);

const HEAD: &str = "\
server main
replica copy of main

script bump
  return redis.call('INCR', KEYS[1])

script look
  return redis.call('GET', KEYS[1])

script unlock
  if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
  end
  return 0

client A, B, C, D

schedule
";

/// One step of a sequence.
#[derive(Clone, Debug)]
enum Step {
    /// A client types a command.
    Command(usize, String),
    /// Time passes.
    Clock(u64),
    /// The replica lags from now on, or catches up.
    Lag(bool),
    /// The replica takes over.
    Failover,
}

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_primary_and_its_replica_answer_as_real_ones() {
    let started = (Server::start("primary"), Server::start("replica"));
    let servers = match started {
        (Ok(primary), Ok(replica)) => [primary, replica],
        (Err(reason), _) | (_, Err(reason)) => return println!("skipped: {reason}"),
    };
    let (seconds, most) = match number_from("LATCHKEY_DIFFERENTIAL_SECONDS") {
        Some(seconds) => (seconds, u64::MAX),
        None => (60, 90),
    };
    let first = number_from("LATCHKEY_DIFFERENTIAL_SEED").unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut sequences, mut seen) = (0, Seen::default());
    while Instant::now() < end && sequences < most {
        let seed = first + sequences;
        let sequence = sequence(&mut Random::new(seed));
        let mut pair = Pair::new(&servers).unwrap();
        for step in &sequence {
            if let Err(difference) = pair.step(step, &mut seen) {
                panic!("seed {seed}: {difference}\nafter\n{HEAD}{}", pair.schedule);
            }
        }
        sequences += 1;
    }
    println!("{sequences} sequences: no difference; {seen:?}");
    // A run that was too short to see all of it shows nothing.
    assert!(sequences < 8 || seen.is_complete(), "{seen:?}");
}

/// What the sequences put to the test, and how often.
#[derive(Debug, Default)]
struct Seen {
    commands: usize,
    read_only: usize,
    waits: usize,
    woken_by_replication: usize,
    failovers: usize,
    lossy_failovers: usize,
    unblocked: usize,
}

impl Seen {
    fn is_complete(&self) -> bool {
        let all = [
            self.read_only,
            self.waits,
            self.woken_by_replication,
            self.failovers,
            self.lossy_failovers,
            self.unblocked,
        ];
        all.iter().all(|times| *times > 0)
    }

    fn note(&mut self, reply: &Reply) {
        if let Reply::Error(text) = reply {
            self.read_only += usize::from(text.starts_with("READONLY"));
            self.unblocked += usize::from(text.starts_with("UNBLOCKED"));
        }
    }
}

/// Commands on both servers, in which the replica falls behind, catches up and takes over.
fn sequence(random: &mut Random) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut primary, mut lags) = (0, false);
    for _ in 0..70 {
        match random.below(24) {
            0 => steps.push(Step::Clock([1, 40, 700, 2500][random.below(4)])),
            1 | 2 if !lags => {
                lags = true;
                steps.push(Step::Lag(true));
                // Each connection's own position in the log stands behind something that the replica lacks.
                for (client, (_, server)) in CLIENTS.iter().enumerate() {
                    if *server == primary {
                        steps.push(Step::Command(client, "INCR n".into()));
                    }
                }
            }
            1 | 2 => {
                lags = false;
                steps.push(Step::Lag(false));
            }
            3 if random.one_in(2) => {
                (primary, lags) = (1 - primary, false);
                steps.push(Step::Failover);
            }
            _ => {
                let client = random.below(CLIENTS.len());
                let commands = command(random);
                steps.extend(commands.into_iter().map(|text| Step::Command(client, text)));
            }
        }
    }
    steps
}

/// One command, or a transaction.
fn command(random: &mut Random) -> Vec<String> {
    let key = random.of("k|j|lock").to_string();
    let ms = random.of("30|500|2000|60000").to_string();
    let one = match random.below(26) {
        0 => format!("SET {key} {} PX {ms}", random.of("a|b|7")),
        1 => format!("SET {key} {} NX PX {ms}", random.of("a|b")),
        2 => format!("SET {key} c XX KEEPTTL"),
        3 | 4 => "INCR n".into(),
        5 => format!("DEL {key} n"),
        6 | 7 => format!("GET {key}"),
        8 => "GET n".into(),
        9 => format!("PTTL {key}"),
        10 => format!("PEXPIRE {key} {ms}"),
        11 => format!("RPUSH l {key}"),
        12 => "LRANGE l 0 -1".into(),
        13 => "LPOP l".into(),
        14 => format!("BLPOP l {}", random.of("0|0|1")),
        15 => format!("EVAL bump 1 {}", random.of("n|n|l")),
        16 => format!("EVAL look 1 {key}"),
        17 => format!("EVAL_RO look 1 {key}"),
        18 => format!("EVAL unlock 1 {key} a"),
        19 => format!("EXISTS {key} n l"),
        20 => format!("GETEX {key} PERSIST"),
        21 | 22 => format!("WAIT {} {}", random.of("1|1|1|2"), random.of("0|20|400")),
        23 => format!("PERSIST {key}"),
        24 => format!("HSET h {key} 1"),
        _ => {
            return vec![
                "MULTI".into(),
                format!("SET {key} m PX {ms}"),
                random.of("INCR n|RPUSH l z|GET n").into(),
                "EXEC".into(),
            ];
        }
    };
    vec![one]
}

/// The playground and the real servers side by side.
struct Pair<'s> {
    servers: &'s [Server; 2],
    controls: [Client; 2],
    clients: Vec<Client>,
    line: Line,
    primary: usize,
    lags: bool,
    now: u64,
    timeline: Timeline,
    schedule: String,
    /// Who has a command in a server that is not answered.
    waiting: [bool; CLIENTS.len()],
}

impl<'s> Pair<'s> {
    /// Empty servers, the second a replica of the first.
    fn new(servers: &'s [Server; 2]) -> io::Result<Pair<'s>> {
        let mut controls = [servers[0].connect()?, servers[1].connect()?];
        for (server, control) in servers.iter().zip(&mut controls) {
            server.set_clock(START);
            control.ask(&["REPLICAOF", "NO", "ONE"])?;
        }
        let mut controls = [servers[0].connect_alone()?, servers[1].connect_alone()?];
        for control in &mut controls {
            for (setting, value) in [("hz", "500"), ("repl-diskless-sync-delay", "0")] {
                control.ask(&["CONFIG", "SET", setting, value])?;
            }
        }
        let line = Line::to(servers[0].port)?;
        controls[1].ask(&["REPLICAOF", "127.0.0.1", &line.port.to_string()])?;
        let clients = CLIENTS.iter().map(|(_, server)| servers[*server].connect());
        let reading =
            scenario::read(HEAD).map_err(|errors| io::Error::other(format!("{errors:?}")))?;
        let mut pair = Pair {
            servers,
            clients: clients.collect::<io::Result<_>>()?,
            controls,
            line,
            primary: 0,
            lags: false,
            now: START,
            timeline: Timeline::new(reading.setup),
            schedule: String::new(),
            waiting: [false; CLIENTS.len()],
        };
        pair.catch_up()?;
        Ok(pair)
    }

    fn step(&mut self, step: &Step, seen: &mut Seen) -> Result<(), String> {
        match step {
            Step::Command(client, text) if !self.waiting[*client] => {
                self.command(*client, text, seen)
            }
            Step::Command(..) => Ok(()),
            Step::Clock(ms) => {
                self.now += ms;
                let replies = self.play(&format!("clock +{ms}ms"), seen);
                self.servers
                    .iter()
                    .for_each(|server| server.set_clock(self.now));
                self.receive(replies)
            }
            Step::Lag(lags) => {
                self.lags = *lags;
                self.line.hold(*lags);
                let replies = self.replicate(seen);
                seen.woken_by_replication += replies.len();
                self.receive(replies)
            }
            Step::Failover => self.fail_over(seen),
        }
    }

    fn command(&mut self, client: usize, text: &str, seen: &mut Seen) -> Result<(), String> {
        let (name, server) = CLIENTS[client];
        let mut replies = self.play(&format!("{name} {}> {text}", SERVERS[server]), seen);
        self.waiting[client] = replies.is_empty();
        seen.commands += 1;
        seen.waits += usize::from(replies.is_empty());
        replies.extend(self.replicate(seen));
        let argv = argv(text);
        self.clients[client]
            .send(&argv)
            .map_err(|error| error.to_string())?;
        self.receive(replies)
    }

    /// What the playground does for a line of the schedule: the replies to clients, in order.
    fn play(&mut self, line: &str, seen: &mut Seen) -> Vec<(usize, Reply)> {
        let setup = self.timeline.setup().clone();
        let action = scenario::read_schedule_line(line, &setup).unwrap().action;
        self.schedule.push_str(&format!("  {line}\n"));
        let entry = self.timeline.push(action);
        assert_eq!(entry.refusal(), None, "{line}");
        let mut replies = Vec::new();
        for event in &entry.events {
            if let Fact::Answered {
                who: Who::Client(client),
                answer: Answer::Store(reply),
                ..
            } = &event.fact
            {
                seen.note(reply);
                replies.push((client.0, reply.clone()));
            }
        }
        for (client, _) in &replies {
            self.waiting[*client] = false;
        }
        replies
    }

    /// A real replica that does not lag has everything at once.
    fn replicate(&mut self, seen: &mut Seen) -> Vec<(usize, Reply)> {
        let replica = ServerId(1 - self.primary);
        let action = Action::Replicate {
            to: replica,
            commands: None,
        };
        let setup = self.timeline.setup().clone();
        match self.lags {
            true => Vec::new(),
            false => self.play(&scenario::print_action(&setup, &action), seen),
        }
    }

    fn fail_over(&mut self, seen: &mut Seen) -> Result<(), String> {
        seen.failovers += 1;
        seen.lossy_failovers += usize::from(self.lags);
        let (old, new) = (self.primary, 1 - self.primary);
        let replies = self.play(&format!("failover to {}", SERVERS[new]), seen);
        self.real_failover(old, new)
            .map_err(|error| error.to_string())?;
        (self.primary, self.lags) = (new, false);
        let closed: Vec<usize> = replies.iter().map(|(client, _)| *client).collect();
        self.receive(replies)?;
        // Who was told that its wait is over has lost its connection with that.
        for client in closed {
            self.clients[client] = self.servers[CLIENTS[client].1]
                .connect()
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn real_failover(&mut self, old: usize, new: usize) -> io::Result<()> {
        self.line = Line::to(self.servers[new].port)?;
        self.controls[new].ask(&["REPLICAOF", "NO", "ONE"])?;
        let port = self.line.port.to_string();
        self.controls[old].ask(&["REPLICAOF", "127.0.0.1", &port])?;
        self.primary = new;
        self.catch_up()
    }

    /// Waits until the replica has what its primary has.
    fn catch_up(&mut self) -> io::Result<()> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let [first, second] = &mut self.controls;
            let (primary, replica) = match self.primary {
                0 => (first, second),
                _ => (second, first),
            };
            let behind = info(replica, "slave_repl_offset")?;
            let is_up = info(replica, "master_link_status")?.as_deref() == Some("up");
            if is_up && behind.is_some() && behind == info(primary, "master_repl_offset")? {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(io::Error::other("the replica does not catch up"))
    }

    /// Waits for these replies on the real servers, and for nothing else.
    fn receive(&mut self, expected: Vec<(usize, Reply)>) -> Result<(), String> {
        let problem = |error: io::Error| error.to_string();
        if !self.lags {
            self.catch_up().map_err(problem)?;
        }
        let end = Instant::now() + PATIENCE;
        for (client, ours) in expected {
            let theirs = loop {
                match self.clients[client].receive_ready().map_err(problem)? {
                    Some(theirs) => break Some(theirs),
                    None if Instant::now() > end => break None,
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            };
            if theirs.as_ref() != Some(&ours) {
                let theirs = theirs.map_or("nothing".into(), |reply| reply.print_short());
                return Err(format!(
                    "{}\n  ours:   {}\n  theirs: {theirs}",
                    CLIENTS[client].0,
                    ours.print_short()
                ));
            }
        }
        if self.waiting.contains(&true) {
            std::thread::sleep(SETTLING);
        }
        for client in (0..CLIENTS.len()).filter(|client| self.waiting[*client]) {
            if let Some(theirs) = self.clients[client].receive_ready().map_err(problem)? {
                let (name, theirs) = (CLIENTS[client].0, theirs.print_short());
                return Err(format!("{name} waits\n  theirs: {theirs}"));
            }
        }
        Ok(())
    }
}

/// A field of INFO replication.
fn info(client: &mut Client, field: &str) -> io::Result<Option<String>> {
    let Reply::Bulk(text) = client.ask(&["INFO", "replication"])? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(value.map(|value| value.trim().to_string()))
}

/// The words of a command, scripts by their texts.
fn argv(text: &str) -> Vec<Vec<u8>> {
    let mut argv: Vec<Vec<u8>> = split_arguments(text)
        .unwrap()
        .into_iter()
        .map(|word| word.bytes)
        .collect();
    if argv[0].starts_with(b"EVAL") {
        let setup = scenario::read(HEAD).unwrap().setup;
        let name = String::from_utf8_lossy(&argv[1]).into_owned();
        argv[1] = setup.scripts[&name].clone();
    }
    argv
}

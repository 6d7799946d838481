//! Transactions against a real MariaDB: random statements on several connections, every reply
//! compared, and after every step who waits for whom; deadlocks with their victim, and lock waits
//! that become too long.
//!
//! Runs the same sequences every time, or others for `LATCHKEY_DIFFERENTIAL_SECONDS`;
//! `LATCHKEY_DIFFERENTIAL_SEED` chooses where to begin. A difference is reduced to the shortest
//! sequence that shows it and written out as a scenario. Where mariadbd is missing it says so and
//! passes. With `LATCHKEY_DIFFERENTIAL_REPORT` set it goes on after a difference and prints them all.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[path = "support/mariadb.rs"]
mod mariadb;
#[path = "support/random.rs"]
mod random;
#[path = "support/transactions.rs"]
mod transactions;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use latchkey::sim::ConnectionId;
use latchkey::sim::database::{
    Database, DatabaseFact, DatabaseInput, DatabaseOutput, SqlReply, Statement, Value,
    WHERE_MYSQL_DIFFERS,
};
use mariadb::{Answer, Client, Server};
use random::Step;
use transactions::{CONNECTIONS, Transactions};

/// How long theirs has to be at rest where it is not what ours came to.
const SETTLING: Duration = Duration::from_millis(500);
/// Stops purge, once it has done what it is about.
const STOP: &str = "FLUSH TABLES guard FOR EXPORT";
const GO_ON: &str = "UNLOCK TABLES";
/// How long theirs may take to come to rest.
const RESTLESS: Duration = Duration::from_secs(10);
/// How long purge may take.
const PURGING: Duration = Duration::from_secs(5);
/// How long lock waits last where they are to become too long, in seconds.
const SHORT: u64 = 3;

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_transactions_wait_and_answer_as_in_mariadb() {
    let server = match Server::start("transactions") {
        Ok(server) => server,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut monitor = server.connect(false).unwrap();
    for sql in [
        "CREATE TABLE guard (n INT)",
        "CREATE TABLE last (n INT)",
        "INSERT INTO last VALUES (0)",
    ] {
        monitor.ask(sql).unwrap();
    }
    // Without being asked for more, the same sequences every time.
    let (seconds, most) = match number_from("LATCHKEY_DIFFERENTIAL_SECONDS") {
        Some(seconds) => (seconds, u64::MAX),
        None => (60, 300),
    };
    let first = number_from("LATCHKEY_DIFFERENTIAL_SEED").unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let report = std::env::var("LATCHKEY_DIFFERENTIAL_REPORT").is_ok();
    let (mut sequences, mut steps, mut differences) = (0, 0, 0);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    while Instant::now() < end && sequences < most {
        let seed = first + sequences + differences;
        let patience = if seed.is_multiple_of(10) { SHORT } else { 1000 };
        let sequence = Transactions::new(seed, patience).sequence();
        let trial = Trial {
            server: &server,
            patience,
            blockers: seed.is_multiple_of(4),
        };
        if let Err(difference) = trial.compare(&sequence, &mut seen) {
            let (shortest, difference) = shorten(&trial, sequence, difference);
            let message = format!("seed {seed}: {difference}\nafter\n{}", print(&shortest));
            assert!(report, "{message}");
            println!("{message}\n");
            differences += 1;
            continue;
        }
        sequences += 1;
        steps += sequence.len();
    }
    let said = match differences {
        0 => "no difference".to_string(),
        some => format!("{some} more differ"),
    };
    println!("{sequences} sequences with {steps} statements: {said}; seen: {seen:?}");
}

/// Leaves steps out while the difference stays.
fn shorten(trial: &Trial<'_>, sequence: Vec<Step>, difference: String) -> (Vec<Step>, String) {
    let (mut best, mut difference) = (sequence, difference);
    let end = Instant::now() + Duration::from_secs(40);
    let mut size = best.len() / 2;
    while size > 0 && Instant::now() < end {
        let mut at = 0;
        while at < best.len() && Instant::now() < end {
            let mut shorter = best.clone();
            shorter.drain(at..(at + size).min(best.len()));
            match trial.compare(&shorter, &mut BTreeMap::new()) {
                Err(other) => (best, difference) = (shorter, other),
                Ok(()) => at += size,
            }
        }
        size /= 2;
    }
    (best, difference)
}

/// The sequence as a scenario's text, with our replies.
fn print(sequence: &[Step]) -> String {
    let mut text = String::from("client A, B, C\n\nschedule\n");
    let mut database = Database::default();
    for step in sequence {
        if database.is_waiting(ConnectionId(step.connection as u32)) {
            continue;
        }
        let output = apply(&mut database, step);
        let own = output
            .replies
            .iter()
            .find(|(to, _)| to.0 as usize == step.connection);
        let reply = own.map_or("waits".to_string(), |(_, reply)| reply.print_short());
        text.push_str(&format!(
            "  {}> {}  => {reply}\n",
            name(step.connection),
            step.sql
        ));
    }
    text
}

fn name(connection: usize) -> char {
    char::from(b'A' + connection as u8)
}

fn apply(database: &mut Database, step: &Step) -> DatabaseOutput {
    let connection = ConnectionId(step.connection as u32);
    match Statement::parse(&step.sql) {
        Err(error) => DatabaseOutput {
            replies: vec![(connection, SqlReply::Error(error))],
            ..DatabaseOutput::default()
        },
        Ok(statement) => database.apply(DatabaseInput::Statement {
            connection,
            statement: &statement,
            parameters: &[],
            now: 0,
        }),
    }
}

struct Trial<'s> {
    server: &'s Server,
    /// Seconds.
    patience: u64,
    /// Whether to ask who waits for whom; the server tells it ten times a second at most.
    blockers: bool,
}

/// One sequence on both sides.
struct Pair {
    database: Database,
    clients: Vec<Client>,
    numbers: Vec<String>,
    monitor: Client,
    /// Keeps purge from going on by itself.
    guard: Client,
    /// What InnoDB told of itself while somebody waited, before the step and in it.
    before: String,
    latest: String,
    /// Whether entries have been removed from an index.
    deleted: bool,
    /// What has been sent and not answered.
    asked: Vec<Option<String>>,
    /// Seconds.
    patience: u64,
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = self.guard.ask(GO_ON);
        for number in &self.numbers {
            let _ = self.monitor.ask(&format!("KILL {number}"));
        }
    }
}

impl Trial<'_> {
    fn pair(&self) -> Pair {
        let mut monitor = self.server.connect(false).unwrap();
        monitor.ask("SET lock_wait_timeout = 20").unwrap();
        monitor.ask("DROP TABLE IF EXISTS t").unwrap();
        let mut guard = self.server.connect(false).unwrap();
        guard.ask(STOP).unwrap();
        let mut database = Database::default();
        let mut clients = Vec::new();
        let mut numbers = Vec::new();
        for connection in 0..CONNECTIONS {
            let sql = format!("SET innodb_lock_wait_timeout = {}", self.patience);
            let mut client = self.server.connect(false).unwrap();
            if let Ok(Answer::Rows(rows)) = client.ask("SELECT CONNECTION_ID()") {
                numbers.extend(rows.into_iter().flatten().flatten());
            }
            client.ask(&sql).unwrap();
            clients.push(client);
            apply(&mut database, &Step { connection, sql });
        }
        let asked = vec![None; CONNECTIONS];
        Pair {
            database,
            clients,
            numbers,
            monitor,
            guard,
            before: String::new(),
            latest: String::new(),
            deleted: false,
            asked,
            patience: self.patience,
        }
    }

    fn compare(&self, sequence: &[Step], seen: &mut BTreeMap<String, usize>) -> Result<(), String> {
        let mut pair = self.pair();
        for step in sequence {
            if pair.asked[step.connection].is_none() && pair.step(step, self.blockers, seen)? {
                return Ok(());
            }
        }
        if self.patience == SHORT && pair.elapse(seen)? {
            return Ok(());
        }
        // Everybody ends what they have begun, those who wait when they can.
        for sql in [
            "SELECT RELEASE_ALL_LOCKS()",
            "COMMIT",
            "SELECT RELEASE_ALL_LOCKS()",
            "COMMIT",
            "SELECT * FROM t",
        ] {
            for connection in 0..CONNECTIONS {
                let step = Step {
                    connection,
                    sql: sql.into(),
                };
                if pair.asked[connection].is_none() && pair.step(&step, self.blockers, seen)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl Pair {
    /// Sends a statement to both; true where the rest means nothing.
    fn step(
        &mut self,
        step: &Step,
        blockers: bool,
        seen: &mut BTreeMap<String, usize>,
    ) -> Result<bool, String> {
        self.before = std::mem::take(&mut self.latest);
        let output = apply(&mut self.database, step);
        let theirs = step
            .sql
            .replace("FOR SHARE", "LOCK IN SHARE MODE")
            .replace("transaction_isolation", "tx_isolation");
        self.clients[step.connection].ask_later(&theirs).unwrap();
        self.asked[step.connection] = Some(step.sql.clone());
        let raced = self.settle(
            &output,
            SETTLING,
            &format!("{}> {}", name(step.connection), step.sql),
            seen,
        )?;
        if blockers && !raced {
            self.compare_blockers(&output.facts, step)?;
        }
        Ok(raced)
    }

    /// What InnoDB tells of itself.
    fn status(&mut self) -> String {
        match self.monitor.ask("SHOW ENGINE INNODB STATUS") {
            Ok(Answer::Rows(mut rows)) => rows[0][2].take().unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// Whether purge has come to the oldest snapshot, or to the end.
    fn has_purged(&mut self) -> bool {
        let text = self.status();
        let numbers = |before: &str| -> Vec<u64> {
            let rests = text.split(before).skip(1);
            let words = rests.filter_map(|rest| rest.split(|it: char| !it.is_ascii_digit()).next());
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let snapshots = numbers("will not see trx with id >= ");
        let limit = snapshots
            .into_iter()
            .chain(numbers("Trx id counter "))
            .min();
        numbers("Purge done for trx's n:o < ").first() >= limit.as_ref()
    }

    /// Lets purge do all that it can: rows that are deleted are gone, unless a snapshot still needs them. At all other times it
    /// is stopped, so that it does not race with statements.
    fn purge(&mut self) {
        let began = Instant::now();
        let mut again = 0;
        // What is known of purge is up to which commit it has come; this is the last one.
        let commit = "UPDATE last SET n = n + 1";
        let _ = self.monitor.ask(commit);
        let _ = self.guard.ask(GO_ON);
        while !self.has_purged() {
            assert!(began.elapsed() < PURGING, "purge does not come");
            std::thread::sleep(Duration::from_micros(100));
            again += 1;
            if again % 16 == 0 {
                let _ = self.guard.ask(STOP);
                let _ = self.monitor.ask(commit);
                let _ = self.guard.ask(GO_ON);
            }
        }
        let _ = self.guard.ask(STOP);
    }

    /// Lets every lock wait become too long.
    fn elapse(&mut self, seen: &mut BTreeMap<String, usize>) -> Result<bool, String> {
        let waiting = self.asked.iter().flatten().count();
        if waiting == 0 {
            return Ok(false);
        }
        let mut output = self
            .database
            .apply(DatabaseInput::Elapse { ms: SHORT * 1000 });
        // Ends that come together race, too.
        output.together |= waiting > 1;
        let long = Duration::from_secs(SHORT + 3);
        self.settle(&output, long, "clock +3s", seen)
    }

    /// Waits until theirs has come to where ours is, and compares the replies.
    fn settle(
        &mut self,
        output: &DatabaseOutput,
        most: Duration,
        what: &str,
        seen: &mut BTreeMap<String, usize>,
    ) -> Result<bool, String> {
        let waiting: BTreeSet<usize> = (0..CONNECTIONS)
            .filter(|connection| self.database.is_waiting(ConnectionId(*connection as u32)))
            .collect();
        let mut answers: BTreeMap<usize, Answer> = BTreeMap::new();
        let mut calm = 0;
        let began = Instant::now();
        let mut since = began;
        loop {
            let mut open = BTreeSet::new();
            for connection in 0..CONNECTIONS {
                if self.asked[connection].is_none() || answers.contains_key(&connection) {
                    continue;
                }
                let time = if waiting.contains(&connection) { 1 } else { 20 };
                match self.clients[connection]
                    .answer(Duration::from_millis(time))
                    .unwrap()
                {
                    Some(answer) => {
                        answers.insert(connection, answer);
                    }
                    None => {
                        open.insert(connection);
                    }
                }
            }
            if !open.is_empty() && self.waiting() != open {
                (calm, since) = (0, Instant::now());
                if began.elapsed() > RESTLESS {
                    return Err("theirs does not come to rest".into());
                }
                continue;
            }
            calm += 1;
            if open == waiting && (open.is_empty() || calm > 1) {
                break;
            }
            if open != waiting && calm > 1 {
                if since.elapsed() > most {
                    break;
                }
                self.purge();
            }
        }
        let mut replies: BTreeMap<usize, &SqlReply> = BTreeMap::new();
        for (to, reply) in &output.replies {
            replies.insert(to.0 as usize, reply);
        }
        // Several that go on at once may come to other locks than ours did.
        if output.together {
            *seen.entry("races".into()).or_default() += 1;
            return Ok(true);
        }
        let lost = |reply: &SqlReply| matches!(reply, SqlReply::Error(error) if error.code == 1213);
        let has_lost = |answer: &Answer| matches!(answer, Answer::Error { code: 1213, .. });
        let ours = replies.iter().filter(|(_, reply)| lost(reply));
        let ours: BTreeSet<usize> = ours.map(|(victim, _)| *victim).collect();
        let theirs = answers.iter().filter(|(_, answer)| has_lost(answer));
        let theirs: BTreeSet<usize> = theirs.map(|(victim, _)| *victim).collect();
        if ours != theirs && self.has_equals(ours.union(&theirs).copied().collect()) {
            *seen.entry("victims among equals".into()).or_default() += 1;
            return Ok(true);
        }
        let all: BTreeSet<usize> = replies.keys().chain(answers.keys()).copied().collect();
        let mut ended = false;
        for connection in all {
            let sql = self.asked[connection].take().unwrap_or_default();
            let deletes = ["DELETE", "REPLACE", "SET id", "SET u", "SET k", "UPDATE k"];
            let deletes = deletes.iter().any(|part| sql.contains(part));
            self.deleted |= deletes;
            let ends = ["COMMIT", "ROLLBACK", "BEGIN", "START", "SET"];
            let lost = matches!(replies.get(&connection), Some(SqlReply::Error(error)) if error.code == 1213);
            ended |= lost || deletes || ends.iter().any(|word| sql.starts_with(word));
            let (ours, theirs) = (replies.get(&connection), answers.get(&connection));
            let equal = match (ours, theirs) {
                (Some(ours), Some(theirs)) => same(&sql, ours, theirs),
                _ => false,
            };
            let ours = ours.map_or("waits".to_string(), |reply| reply.print_short());
            // On a slow machine a wait may become too long while statements still come.
            let late = matches!(theirs, Some(Answer::Error { code: 1205, .. }));
            if !equal && late && self.patience == SHORT && !what.starts_with("clock") {
                *seen.entry("too late".into()).or_default() += 1;
                return Ok(true);
            }
            if !equal {
                return Err(format!(
                    "{what}: {} asked {sql}\n  ours:   {ours}\n  theirs: {}",
                    name(connection),
                    theirs.map_or("waits".to_string(), |answer| format!("{answer:?}")),
                ));
            }
            let label = match replies.get(&connection) {
                Some(SqlReply::Error(error)) => error.code.to_string(),
                _ => "answered".to_string(),
            };
            *seen.entry(label).or_default() += 1;
        }
        *seen.entry("waits".into()).or_default() += waiting.len();
        if ended && self.deleted {
            self.purge();
        }
        Ok(false)
    }

    /// Whether two victims weighed the same, before or in the deadlock: then MySQL has another rule of who loses.
    fn has_equals(&mut self, victims: Vec<usize>) -> bool {
        let text = self.status();
        let rest = text.split("LATEST DETECTED DEADLOCK").nth(1);
        let deadlock = rest.and_then(|rest| rest.split("WE ROLL BACK").next());
        [deadlock.unwrap_or(""), &self.before].iter().any(|text| {
            let weights = victims
                .iter()
                .filter_map(|victim| self.weight(text, *victim));
            let weights: Vec<u64> = weights.collect();
            let each: BTreeSet<&u64> = weights.iter().collect();
            each.len() < weights.len()
        })
    }

    /// How much InnoDB says that a transaction has done.
    fn weight(&self, text: &str, connection: usize) -> Option<u64> {
        let number = format!("MariaDB thread id {},", self.numbers[connection]);
        let mut transactions = text.split("TRANSACTION ");
        let words = transactions.find(|it| it.contains(&number))?;
        let words: Vec<&str> = words.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let structures = words.iter().position(|word| *word == "struct(s),")?;
        let mut triples = words.windows(3);
        let undo = triples.position(|words| *words == ["undo", "log", "entries"]);
        let undo = undo.and_then(|at| number(at + 3)).unwrap_or(0);
        Some(number(structures.checked_sub(2)?)? + undo)
    }

    /// Which connections wait, for a row, a table or a name.
    fn waiting(&mut self) -> BTreeSet<usize> {
        let mut waiting = BTreeSet::new();
        let text = self.status();
        self.latest.clone_from(&text);
        for block in text
            .split("---TRANSACTION ")
            .skip(1)
            .filter(|block| block.contains("LOCK WAIT"))
        {
            let number = block
                .split("MariaDB thread id ")
                .nth(1)
                .and_then(|rest| rest.split(',').next())
                .unwrap_or("");
            waiting.extend(self.numbers.iter().position(|known| known == number));
        }
        let states = "SELECT id FROM information_schema.processlist WHERE state IN ('User lock', 'Waiting for table metadata lock')";
        if let Ok(Answer::Rows(rows)) = self.monitor.ask(states) {
            for number in rows.into_iter().flatten().flatten() {
                waiting.extend(self.numbers.iter().position(|known| *known == number));
            }
        }
        waiting
    }

    /// Compares for whom a statement began to wait.
    fn compare_blockers(&mut self, facts: &[DatabaseFact], step: &Step) -> Result<(), String> {
        let began = facts.iter().find_map(|fact| match fact {
            DatabaseFact::Waits {
                connection,
                holders,
                what,
            } if what == "t" => Some((connection.0 as usize, holders)),
            _ => None,
        });
        let Some((connection, holders)) = began else {
            return Ok(());
        };
        if facts.len() > 1 || !self.database.is_waiting(ConnectionId(connection as u32)) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(110));
        let sql = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, b.trx_id FROM information_schema.innodb_lock_waits w \
             JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id \
             JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id";
        let Ok(Answer::Rows(rows)) = self.monitor.ask(sql) else {
            return Ok(());
        };
        let place = |number: &Option<String>| {
            self.numbers
                .iter()
                .position(|known| Some(known) == number.as_ref())
        };
        let theirs: BTreeSet<usize> = rows
            .iter()
            .filter(|row| place(&row[0]) == Some(connection))
            .filter_map(|row| place(&row[1]))
            .collect();
        let ours: BTreeSet<usize> = holders.iter().map(|holder| holder.0 as usize).collect();
        // A transaction that only reads has no number by which it could be known.
        let nameless = rows.iter().any(|row| row[2].as_deref() == Some("0"));
        if ours == theirs || theirs.is_empty() || nameless {
            return Ok(());
        }
        let names = |set: BTreeSet<usize>| set.into_iter().map(name).collect::<String>();
        Err(format!(
            "{}> {}: waits for\n  ours:   {}\n  theirs: {}",
            name(step.connection),
            step.sql,
            names(ours),
            names(theirs)
        ))
    }
}

/// Whether two replies are the same; rows in any order unless the statement says one.
fn same(sql: &str, ours: &SqlReply, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (SqlReply::Error(ours), Answer::Error { code, .. }) => {
            ours.code == *code
                || WHERE_MYSQL_DIFFERS
                    .iter()
                    .any(|(mysql, maria, _)| *mysql == ours.code && maria == code)
        }
        (SqlReply::Rows { rows, .. }, Answer::Rows(theirs)) => {
            let print = |value: &Value| (!value.is_null()).then(|| value.to_string());
            let mut ours: Vec<Vec<Option<String>>> = rows
                .iter()
                .map(|row| row.iter().map(print).collect())
                .collect();
            let mut theirs = theirs.clone();
            if !sql.contains("ORDER BY") {
                ours.sort();
                theirs.sort();
            }
            ours == theirs
        }
        (
            SqlReply::Affected {
                affected,
                last_insert_id,
                ..
            },
            Answer::Done {
                affected: theirs,
                last_insert_id: their_id,
                ..
            },
        ) => affected == theirs && last_insert_id == their_id,
        (SqlReply::Done { .. }, Answer::Done { .. }) => true,
        _ => false,
    }
}

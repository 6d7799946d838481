//! The database against a real MariaDB: random tables of every type, random statements, every
//! reply compared: rows, affected rows, matched and changed rows, error numbers and texts.
//!
//! Runs for a minute at most, or for `LATCHKEY_DIFFERENTIAL_SECONDS`; `LATCHKEY_DIFFERENTIAL_SEED`
//! chooses other sequences. A difference is reduced to the shortest sequence that shows it. Where
//! mariadbd is missing it says so and passes. With `LATCHKEY_DIFFERENTIAL_REPORT` set it goes on after a
//! difference and prints them all.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[path = "support/mariadb.rs"]
mod mariadb;
#[path = "support/random.rs"]
mod random;
#[path = "support/statements.rs"]
mod statements;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use latchkey::sim::ConnectionId;
use latchkey::sim::database::{
    Database, DatabaseInput, SqlReply, Statement, Value, WHERE_MYSQL_DIFFERS,
};
use mariadb::{Answer, Client, Server};
use random::Step;
use statements::Writer;

/// The clock of both sides: 2026-01-01 10:00:00.250.
const NOW: u64 = 1_767_261_600_250;

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn server(name: &str) -> Option<Server> {
    match Server::start(name) {
        Ok(server) => Some(server),
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

#[test]
fn random_statements_are_answered_as_mariadb_answers_them() {
    let Some(server) = server("statements") else {
        return;
    };
    // Without being asked for more, the same sequences every time.
    let (seconds, most) = match number_from("LATCHKEY_DIFFERENTIAL_SECONDS") {
        Some(seconds) => (seconds, u64::MAX),
        None => (60, 1800),
    };
    let first = number_from("LATCHKEY_DIFFERENTIAL_SEED").unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let report = std::env::var("LATCHKEY_DIFFERENTIAL_REPORT").is_ok();
    let (mut sequences, mut differences) = (0, 0);
    let mut seen = Seen::default();
    while Instant::now() < end && sequences < most {
        let sequence = Writer::new(first + sequences).sequence();
        if let Err(difference) = compare(&server, &sequence, &mut seen) {
            differences += 1;
            let (shortest, difference) = shorten(&server, sequence, difference);
            let text: Vec<String> = shortest
                .iter()
                .map(|step| format!("{};", step.sql))
                .collect();
            let message = format!(
                "seed {}: {difference}\nafter\n{}",
                first + sequences,
                text.join("\n")
            );
            assert!(report, "{message}");
            println!("{message}\n");
        }
        sequences += 1;
    }
    let said = match differences {
        0 => "no difference".to_string(),
        some => format!("{some} differences"),
    };
    println!(
        "{sequences} sequences with {} statements compared: {said}; replies: {:?}; left out: {:?}",
        seen.compared, seen.replies, seen.left_out
    );
}

/// What came up in sequences that both sides have run.
#[derive(Default)]
struct Seen {
    /// Statements whose replies were compared.
    compared: usize,
    /// How many of each kind: an error's number, rows, or a write.
    replies: BTreeMap<String, usize>,
    /// How many statements were not compared, by the place where the two sides have to differ.
    left_out: BTreeMap<&'static str, usize>,
}

#[test]
fn pasted_statements_are_answered_as_mariadb_answers_them() {
    let Some(server) = server("pasted") else {
        return;
    };
    let text = include_str!("cases/pasted.sql");
    let mut client = fresh(&server);
    let mut database = Database::default();
    for sql in text.split(";\n").map(str::trim) {
        let blank = |line: &str| line.is_empty() || line.starts_with("--");
        if sql.lines().all(blank) {
            continue;
        }
        let step = Step {
            connection: 0,
            sql: sql.to_string(),
        };
        let ours = reply_of(&mut database, &step);
        let theirs = client.ask(sql).unwrap();
        check(sql, &ours, &theirs).unwrap();
        check_heads(sql, &ours, &client).unwrap();
    }
    assert_eq!(database.tables().count(), 0, "all tables are dropped");
}

/// Leaves steps out while the difference stays.
fn shorten(server: &Server, sequence: Vec<Step>, difference: String) -> (Vec<Step>, String) {
    let (mut best, mut difference) = (sequence, difference);
    let end = Instant::now() + Duration::from_secs(30);
    let mut size = best.len() / 2;
    while size > 0 && Instant::now() < end {
        let mut at = 0;
        while at < best.len() && Instant::now() < end {
            let mut shorter = best.clone();
            shorter.drain(at..(at + size).min(best.len()));
            match compare(server, &shorter, &mut Seen::default()) {
                Err(other) => (best, difference) = (shorter, other),
                Ok(()) => at += size,
            }
        }
        size /= 2;
    }
    (best, difference)
}

fn fresh(server: &Server) -> Client {
    let mut client = server.connect(false).unwrap();
    for table in ["t0", "t1", "t2"] {
        client
            .ask(&format!("DROP TABLE IF EXISTS {table}"))
            .unwrap();
    }
    client
        .ask(&format!("SET timestamp = {}.{:03}", NOW / 1000, NOW % 1000))
        .unwrap();
    client
}

fn compare(server: &Server, sequence: &[Step], seen: &mut Seen) -> Result<(), String> {
    let mut client = fresh(server);
    let mut database = Database::default();
    let mut forgiven_before = false;
    for step in sequence {
        let ours = reply_of(&mut database, step);
        let theirs = client
            .ask(&without_row_alias(&step.sql))
            .map_err(|error| format!("{}: {error}", step.sql))?;
        let label = match &ours {
            SqlReply::Error(error) => error.code.to_string(),
            SqlReply::Rows { .. } => "rows".into(),
            _ => "written".into(),
        };
        *seen.replies.entry(label).or_default() += 1;
        if let Some(place) = departs(&step.sql, &ours, &theirs) {
            *seen.left_out.entry(place).or_default() += 1;
            return Ok(());
        }
        // ALTER TABLE counts the rows that it has copied, where it has not changed the table in place.
        let follows = step.sql == "SELECT ROW_COUNT()" && forgiven_before;
        let place = if follows {
            Some("ROW_COUNT() of a statement that is left out, or of ALTER TABLE")
        } else if same(&step.sql, &ours, &theirs) {
            None
        } else {
            forgiven(&step.sql, &ours, &theirs)
        };
        forgiven_before = (place.is_some() && !follows) || step.sql.starts_with("ALTER");
        if let Some(place) = place {
            *seen.left_out.entry(place).or_default() += 1;
            continue;
        }
        check(&step.sql, &ours, &theirs)?;
        check_heads(&step.sql, &ours, &client)?;
        compare_conditions(&mut client, &mut database, step, &ours)?;
        seen.compared += 1;
    }
    let names: Vec<String> = database
        .tables()
        .map(|table| table.name().to_string())
        .collect();
    for name in names {
        let step = Step {
            connection: 0,
            sql: format!("SELECT * FROM {name}"),
        };
        let ours = reply_of(&mut database, &step);
        let theirs = client.ask(&step.sql).map_err(|error| error.to_string())?;
        check(&step.sql, &ours, &theirs)?;
    }
    Ok(())
}

/// As MariaDB takes it: MySQL's name for the row that was to be inserted is VALUES() there.
fn without_row_alias(sql: &str) -> String {
    let Some((before, after)) = sql.split_once(" AS new") else {
        return sql.to_string();
    };
    let (_, after) = after.split_once(" ON ").unwrap_or(("", after));
    let mut rest = after.replace("new.new_", "new_").replace("new.", "new_");
    let mut out = format!("{before} ON ");
    while let Some(at) = rest.find("new_") {
        let behind = rest.split_off(at + "new_".len());
        let is_name = u8::is_ascii_alphanumeric;
        let end = behind.bytes().take_while(is_name).count();
        out.push_str(&rest[..at]);
        out.push_str(&format!("VALUES({})", &behind[..end]));
        rest = behind[end..].to_string();
    }
    out + &rest
}

/// What SHOW WARNINGS says after a statement that leaves as many warnings on both sides.
fn compare_conditions(
    client: &mut Client,
    database: &mut Database,
    step: &Step,
    ours: &SqlReply,
) -> Result<(), String> {
    let warned = matches!(ours, SqlReply::Affected { warnings, .. } if *warnings > 0);
    if !warned || !step.sql.starts_with("INSERT") || reckons(&step.sql) {
        return Ok(());
    }
    let show = Step {
        connection: step.connection,
        sql: "SHOW WARNINGS".into(),
    };
    let SqlReply::Rows { rows, .. } = reply_of(database, &show) else {
        return Err("SHOW WARNINGS".into());
    };
    let theirs = client.ask(&show.sql).map_err(|error| error.to_string())?;
    let Answer::Rows(theirs) = theirs else {
        return Err(format!("{theirs:?}"));
    };
    // 4025 is MariaDB's number for a check, and a single row's is an error there.
    // 167 is MariaDB's number for the end of AUTO_INCREMENT, behind which MySQL gives the last number again.
    let codes = |row: &[Option<String>]| match row[1].as_deref() {
        Some("167" | "1062") => vec![Some("1062".to_string())],
        Some("4025" | "3819") => vec![Some("3819".to_string())],
        _ => row[..2].to_vec(),
    };
    let print = |value: &Value| Some(value.to_string());
    let ours: Vec<_> = rows
        .iter()
        .map(|row| codes(&row.iter().map(print).collect::<Vec<_>>()))
        .collect();
    let theirs: Vec<_> = theirs.iter().map(|row| codes(row)).collect();
    if ours == theirs {
        return Ok(());
    }
    Err(format!(
        "warnings of {}\n  ours:   {ours:?}\n  theirs: {theirs:?}",
        step.sql
    ))
}

/// Whether how often something is worked out, and so warned of, is the optimizer's affair.
fn reckons(sql: &str) -> bool {
    ["CAST", " ^ ", " + ", " - ", " * "]
        .iter()
        .any(|part| sql.contains(part))
}

fn reply_of(database: &mut Database, step: &Step) -> SqlReply {
    let statement = match Statement::parse(&step.sql) {
        Ok(statement) => statement,
        Err(error) => return SqlReply::Error(error),
    };
    let connection = ConnectionId(step.connection as u32);
    let input = DatabaseInput::Statement {
        connection,
        statement: &statement,
        parameters: &[],
        now: NOW,
    };
    let mut replies = database.apply(input).replies;
    replies
        .pop()
        .map_or(SqlReply::Done { warnings: 0 }, |(_, reply)| reply)
}

/// Whether two replies are the same; rows in any order unless the statement says one.
fn same(sql: &str, ours: &SqlReply, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (
            SqlReply::Error(ours),
            Answer::Error {
                code,
                sqlstate,
                message,
            },
        ) => {
            let listed = WHERE_MYSQL_DIFFERS
                .iter()
                .any(|(mysql, maria, _)| *mysql == ours.code && maria == code);
            // Which row of an UPDATE is the first depends on the index that is read.
            let text = |message: &str| message.split(" at row ").next().unwrap_or("").to_string();
            let equal = ours.code == *code
                && ours.sqlstate == sqlstate
                && text(&ours.message) == text(message);
            listed || equal || message.contains("'(null)'")
        }
        (SqlReply::Rows { rows, .. }, Answer::Rows(theirs)) if sql.starts_with("SHOW CREATE") => {
            let ours = rows[0][1].to_string();
            let theirs = theirs[0][1].clone().unwrap_or_default();
            bare_definition(&ours) == bare_definition(&theirs)
        }
        (SqlReply::Rows { rows, .. }, Answer::Rows(theirs)) => {
            // A decimal zero may have a sign in MariaDB.
            let cell = |text: String| {
                let zero = !text.is_empty() && text.bytes().all(|byte| b"-0.".contains(&byte));
                if zero {
                    text.trim_start_matches('-').to_string()
                } else {
                    text
                }
            };
            let print = |value: &Value| (!value.is_null()).then(|| cell(value.to_string()));
            let mut ours: Vec<Vec<Option<String>>> = rows
                .iter()
                .map(|row| row.iter().map(print).collect())
                .collect();
            let mut theirs: Vec<Vec<Option<String>>> = theirs
                .iter()
                .map(|row| row.iter().cloned().map(|text| text.map(cell)).collect())
                .collect();
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
                warnings,
                information,
                ..
            },
            Answer::Done {
                affected: their_affected,
                last_insert_id: their_id,
                warnings: their_warnings,
                information: their_information,
            },
        ) => {
            // For an UPDATE that cannot match MariaDB says nothing where MySQL says `Rows matched: 0`.
            let without = |text: &str| text.split("  Warnings").next().unwrap_or("").to_string();
            let silent =
                their_information.is_empty() && *affected == 0 && sql.starts_with("UPDATE");
            affected == their_affected
                && last_insert_id == their_id
                && (!sql.starts_with("INSERT")
                    || reckons(sql)
                    || u64::from(*their_warnings) == *warnings)
                && (silent
                    || sql.starts_with("UPDATE IGNORE")
                    || without(information) == without(their_information))
        }
        (SqlReply::Done { .. }, Answer::Done { .. }) => true,
        _ => false,
    }
}

/// What SHOW CREATE TABLE prints without that in which MySQL 8 and MariaDB differ: display widths, quotes around numbers,
/// parentheses around expressions, NULL as default of a TEXT, and the names of checks.
fn bare_definition(text: &str) -> String {
    let mut bare = String::new();
    for line in text.to_ascii_lowercase().lines() {
        let mut line = line
            .replace('\'', "")
            .replace("current_timestamp()", "current_timestamp")
            // The number behind the last is one that MySQL never has: it stays at the last.
            .replace("auto_increment=2147483648 ", "auto_increment=2147483647 ");
        if let (Some(at), false) = (line.find("int("), line.contains("tinyint(1)")) {
            let end = line[at..]
                .find(')')
                .map_or(line.len(), |length| at + length + 1);
            line.replace_range(at + "int".len()..end, "");
        }
        if line.contains(" check ") || line.contains(" default (") {
            line.retain(|character| !"()".contains(character));
        }
        let line = line.replace("text default null", "text");
        bare.push_str(match line.split_once(" check ") {
            Some((_, check)) => check,
            None => &line,
        });
        bare.push('\n');
    }
    bare
}

const OVERFLOW: &str =
    "an overflow where MariaDB works out other parts, or before it looks for rows (1690)";
const BEFOREHAND: &str = "a lossy comparison in a write, which MariaDB works out beforehand (1292)";
const BEHIND_NULL: &str = "whether a division behind a NULL is worked out (1365)";
const REPLACES: &str =
    "a REPLACE of more rows behind one that took an automatic number and replaced (1062)";
const LAST_NUMBER: &str = "numbers behind the last of AUTO_INCREMENT (167)";
/// Of the types that AUTO_INCREMENT columns have.
const LAST_NUMBERS: [u64; 2] = [2147483647, u64::MAX];
const BITS: &str = "bits of a double that is too big (1916)";

/// Where the two sides have to differ, and what follows in the sequence means nothing.
fn departs(sql: &str, ours: &SqlReply, theirs: &Answer) -> Option<&'static str> {
    let code = if let Answer::Error { code, .. } = theirs {
        *code
    } else {
        0
    };
    let place = match (ours, code) {
        // Rows found before the one that overflows have been given to the variables.
        (SqlReply::Error(error), 1690) if error.code == 1690 && sql.contains(" INTO @") => {
            "variables of a SELECT INTO that an overflow ends (1690)"
        }
        // Whether rows behind the last that LIMIT wants are looked at is the optimizer's affair.
        (SqlReply::Affected { .. }, 1690) if sql.contains("WHERE") && sql.contains(" LIMIT ") => {
            OVERFLOW
        }
        // MySQL holds 65 digits, this database 36.
        (SqlReply::Error(error), _) if error.message.starts_with("DECIMAL value") => {
            "DECIMAL of more than 36 digits"
        }
        // In a statement that writes MySQL refuses what MariaDB works out beforehand.
        (SqlReply::Error(error), 0) if error.code == 1292 => BEFOREHAND,
        // MariaDB leaves out what cannot change a WHERE any more.
        (SqlReply::Error(error), 0) if error.code == 1690 => {
            let wrote = matches!(theirs, Answer::Done { affected: 1.., .. });
            return (sql.contains("WHERE") && wrote).then_some(OVERFLOW);
        }
        // Whether a division behind a NULL is worked out is the optimizer's affair.
        (SqlReply::Error(error), _) if error.code == 1365 && code != 1365 => {
            return sql.contains("NULL").then_some(BEHIND_NULL);
        }
        (_, 167) => LAST_NUMBER,
        // A statement that forgives it skips the row in MariaDB.
        (SqlReply::Affected { last_insert_id, .. }, 0)
            if sql.starts_with("INSERT IGNORE") && LAST_NUMBERS.contains(last_insert_id) =>
        {
            LAST_NUMBER
        }
        // MariaDB alone refuses to make bits of a double that is too big.
        (_, 1916) => BITS,
        (SqlReply::Error(error), 1062) if sql.starts_with("REPLACE") && error.code != 1062 => {
            REPLACES
        }
        (SqlReply::Error(_), _) => return None,
        (_, 1365) if sql.contains("NULL") => BEHIND_NULL,
        // MariaDB has decimals of -0, which UNSIGNED refuses.
        (_, 1264) if sql.contains("MOD") || sql.contains('%') => {
            "a decimal of -0 in an UNSIGNED column (1264)"
        }
        (_, 1062) if sql.starts_with("REPLACE") => REPLACES,
        _ => return None,
    };
    Some(place)
}

/// Where MariaDB refuses what MySQL does not and no row is changed by either.
fn forgiven(sql: &str, ours: &SqlReply, theirs: &Answer) -> Option<&'static str> {
    if let (SqlReply::Error(ours), Answer::Done { affected: 0, .. }) = (ours, theirs) {
        return (ours.code == 1690 && sql.contains("WHERE")).then_some(OVERFLOW);
    }
    // Parts of a WHERE are tried in an order of MariaDB's own, or not at all.
    if let (SqlReply::Error(ours), Answer::Rows(_)) = (ours, theirs) {
        let left_out = ["WHERE", "LIMIT", " IS NULL", " IS NOT NULL"];
        let left_out = left_out.iter().any(|part| sql.contains(part));
        return (ours.code == 1690 && left_out).then_some(OVERFLOW);
    }
    let Answer::Error { code, message, .. } = theirs else {
        return None;
    };
    if let SqlReply::Error(ours) = ours {
        return forgiven_errors(sql, ours.code, *code);
    }
    let constant = *code == 1690 && !message.contains('`');
    match (ours, code) {
        // MySQL skips a row that INSERT IGNORE may not insert; MariaDB does so with several only.
        (SqlReply::Affected { changed: 0, .. }, 4025) if sql.starts_with("INSERT IGNORE") => {
            Some("INSERT IGNORE of one row that a check refuses (4025)")
        }
        // MariaDB finds SET column = DEFAULT without a default before it looks for rows.
        (SqlReply::Affected { matched: 0, .. }, 1364) if sql.contains("DEFAULT") => NO_DEFAULT,
        // Likewise a constant that overflows.
        (SqlReply::Affected { changed: 0, .. }, 1690 | 1292 | 1365) => Some(OVERFLOW),
        (SqlReply::Rows { rows, .. }, 1690)
            if rows.is_empty() || constant || message.contains(" DIV ") =>
        {
            Some(OVERFLOW)
        }
        _ => None,
    }
}

const NO_DEFAULT: Option<&str> = Some("SET column = DEFAULT without a default (1364)");

/// Where both sides refuse a statement, in other words.
fn forgiven_errors(sql: &str, ours: u16, theirs: u16) -> Option<&'static str> {
    // Where several rows are wrong: MySQL and MariaDB write a row before they read the next, and in
    // an order that depends on the index that is read.
    let of_a_row =
        |code: u16| matches!(code, 1048 | 1062 | 1264 | 1265 | 1366 | 1406 | 3819 | 4025);
    // What MODIFY cannot convert: as an INSERT would say in MySQL, in words of its own in MariaDB.
    let converts = |code: u16| matches!(code, 1138 | 1264 | 1265 | 1292 | 1366 | 1406);
    match ours {
        1690 | 1292 | 1365 => Some("which of two errors is met first"),
        _ if sql.starts_with("ALTER") && converts(ours) && converts(theirs) => {
            Some("what MODIFY cannot convert")
        }
        _ if sql.starts_with("UPDATE") && of_a_row(ours) && of_a_row(theirs) => {
            Some("which of several wrong rows is met first")
        }
        _ if theirs == 1364 && sql.contains("DEFAULT") => NO_DEFAULT,
        _ => None,
    }
}

fn check(sql: &str, ours: &SqlReply, theirs: &Answer) -> Result<(), String> {
    if same(sql, ours, theirs) {
        return Ok(());
    }
    Err(format!(
        "{sql}\n  ours:   {}\n  theirs: {theirs:?}",
        describe(ours)
    ))
}

/// The names of the columns, which are not among the answers.
fn check_heads(sql: &str, ours: &SqlReply, client: &Client) -> Result<(), String> {
    match ours {
        SqlReply::Rows { columns, .. } if *columns != client.heads => Err(format!(
            "heads of {sql}\n  ours:   {columns:?}\n  theirs: {:?}",
            client.heads
        )),
        _ => Ok(()),
    }
}

fn describe(reply: &SqlReply) -> String {
    match reply {
        SqlReply::Affected { .. } => format!("{reply:?}"),
        other => other.print_short(),
    }
}

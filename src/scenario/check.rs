//! Runs a scenario and compares: each reply with what stands behind its `=>`, and the end with the expectations.

use std::fmt;

use crate::property::{LedgerEntry, Property, Verdict};
use crate::sim::ConnectionId;
use crate::sim::action::ServerId;
use crate::sim::database::{Database, DatabaseInput, SqlReply, Statement, Value};
use crate::sim::gateway::Gateway;
use crate::sim::setup::Setup;
use crate::sim::store::reply::Reply;
use crate::sim::store::{KeyState, Store, StoreInput, Value as StoreValue};
use crate::sim::world::World;
use crate::timeline::{Entry, Timeline};

use super::{Expectation, ExpectedWrite, Reading};

/// A connection of the checker's own, on which nobody else has a transaction.
const CONNECTION: ConnectionId = ConnectionId(u32::MAX);

/// What is expected of an action of the schedule behind which no reply stands.
const A_POSSIBLE_ACTION: &str = "an action that is possible";

/// One line of a text that does not say what is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line, from 1.
    pub line: usize,
    /// What it says.
    pub expected: String,
    /// What is so.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            line,
            expected,
            got,
        } = self;
        match expected.as_str() {
            A_POSSIBLE_ACTION => write!(formatter, "{line}: {got}"),
            _ => write!(formatter, "{line}: expected {expected}, got {got}"),
        }
    }
}

/// Runs a scenario, and gives every line that does not say what is so, in order.
pub fn check(reading: &Reading) -> Vec<Difference> {
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    let timeline = Timeline::replay(reading.setup.clone(), actions);
    differences(reading, &timeline)
}

/// The same for a scenario that has been run.
pub fn differences(reading: &Reading, timeline: &Timeline) -> Vec<Difference> {
    let schedule = reading
        .schedule
        .iter()
        .zip(timeline.entries())
        .filter_map(|(line, entry)| {
            let (expected, got) = difference_of_reply(line.expected.as_deref(), entry)?;
            Some(Difference {
                line: line.line,
                expected,
                got,
            })
        });
    let end = End::of(timeline);
    let expectations = reading.expectations.iter().filter_map(|line| {
        let (expected, got) = end.difference(&line.expectation)?;
        Some(Difference {
            line: line.line,
            expected,
            got,
        })
    });
    let mut all: Vec<Difference> = schedule.chain(expectations).collect();
    crate::sorted::sort_by_key(&mut all, |difference| difference.line);
    all
}

fn difference_of_reply(expected: Option<&str>, entry: &Entry) -> Option<(String, String)> {
    if let Some(why) = entry.refusal() {
        let expected = expected.unwrap_or(A_POSSIBLE_ACTION);
        return Some((expected.to_owned(), format!("not possible: {why}")));
    }
    let expected = expected?;
    let got = entry
        .reply_in_short()
        .unwrap_or_else(|| "no reply".to_owned());
    (!is_same_reply(expected, &got)).then(|| (expected.to_owned(), got))
}

/// Whether two replies in short form are the same; blanks and line breaks count as one blank, however many there are.
pub fn is_same_reply(expected: &str, got: &str) -> bool {
    let words = |text: &str| {
        let words = text.split(|other: char| other == ' ' || other.is_control());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    words(expected) == words(got)
}

/// The part of a world at which an expectation looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A Redis-like server.
    Store(ServerId),
    /// The database.
    Database,
    /// The gateway.
    Gateway,
    /// A client, by its place.
    Client(usize),
}

/// The part of a world at which an expectation looks; what is said of verdicts and writes no world shows, and the store stands for
/// it.
pub fn part_of(expectation: &Expectation, setup: &Setup) -> Part {
    match expectation {
        Expectation::Row { .. } => Part::Database,
        Expectation::Charges(_) => Part::Gateway,
        Expectation::Client { name, .. } => Part::Client(
            setup
                .clients
                .iter()
                .position(|client| client.name == *name)
                .unwrap_or(0),
        ),
        Expectation::Key { server, .. } => Part::Store(server_of(server.as_deref(), setup)),
        _ => Part::Store(ServerId::FIRST),
    }
}

/// The server of this name, or the first.
fn server_of(name: Option<&str>, setup: &Setup) -> ServerId {
    name.and_then(|name| setup.server_named(name))
        .unwrap_or(ServerId::FIRST)
}

/// Whether the world is as the expectation says, which is about rows, keys, charges or a client.
pub fn is_so(setup: &Setup, world: &World, expectation: &Expectation) -> bool {
    End::of_world(setup, world)
        .difference(expectation)
        .is_none()
}

/// What is so at the end of a schedule.
pub(super) struct End<'t> {
    pub(super) setup: &'t Setup,
    pub(super) world: World,
    pub(super) verdicts: Vec<(Property, Verdict)>,
    ledger: Vec<&'t LedgerEntry>,
}

impl<'t> End<'t> {
    /// The end of this schedule.
    pub fn of(timeline: &'t Timeline) -> End<'t> {
        End {
            setup: timeline.setup(),
            world: timeline.moment(timeline.len()).world,
            verdicts: timeline.verdicts(timeline.len()),
            ledger: timeline
                .entries()
                .iter()
                .flat_map(|entry| &entry.ledger)
                .collect(),
        }
    }

    /// A world alone, of whose schedule nothing is known.
    fn of_world(setup: &'t Setup, world: &World) -> End<'t> {
        End {
            setup,
            world: world.clone(),
            verdicts: Vec::new(),
            ledger: Vec::new(),
        }
    }

    /// What is expected and what is so, where these differ.
    fn difference(&self, expectation: &Expectation) -> Option<(String, String)> {
        let (expected, got) = match expectation {
            Expectation::Holds(property) => ("holds".to_owned(), self.verdict(*property)),
            Expectation::Broken(property) => ("broken".to_owned(), self.verdict(*property)),
            Expectation::NotTested(property) => ("not tested".to_owned(), self.verdict(*property)),
            Expectation::Row {
                table,
                key,
                columns,
            } => {
                return self.difference_of_row(table, key, columns.as_deref());
            }
            Expectation::Key {
                key,
                server,
                value,
                ttl,
            } => {
                return self.difference_of_key(
                    server_of(server.as_deref(), self.setup),
                    key,
                    value.as_deref(),
                    *ttl,
                );
            }
            Expectation::Writes(writes) => (list(writes.iter().map(print_write)), self.writes()),
            Expectation::Charges(charges) => (list(charges.iter().cloned()), self.charges()),
            Expectation::Client { name, state } => (state.clone(), self.client(name)),
        };
        let is_same = match expectation {
            Expectation::Holds(_) | Expectation::Broken(_) | Expectation::NotTested(_) => {
                got.split(':').next() == Some(expected.as_str())
            }
            _ => is_same_reply(&expected, &got),
        };
        (!is_same).then_some((expected, got))
    }

    /// `holds: BECAUSE`, `broken: BECAUSE` or `not tested: NEEDS`.
    fn verdict(&self, property: Property) -> String {
        let verdict = self.verdicts.iter().find(|(other, _)| *other == property);
        match verdict.map(|(_, verdict)| verdict) {
            Some(Verdict::Holds { because }) => format!("holds: {because}"),
            Some(Verdict::Broken(broken)) => format!("broken: {}", broken.because),
            Some(Verdict::NotTested { needs }) => format!("not tested: {needs}"),
            None => "not tested: it is not judged".to_owned(),
        }
    }

    pub(super) fn writes(&self) -> String {
        let writes = self
            .ledger
            .iter()
            .map(|entry| print_write(&ExpectedWrite::of(entry, self.setup)));
        list(writes)
    }

    pub(super) fn charges(&self) -> String {
        let charges = self
            .world
            .gateway
            .charges()
            .iter()
            .enumerate()
            .map(|(place, charge)| {
                let refunded = if charge.refunded { " refunded" } else { "" };
                format!(
                    "{} {} {}{refunded}",
                    Gateway::name_of(place),
                    charge.order,
                    charge.amount
                )
            });
        list(charges)
    }

    pub(super) fn client(&self, name: &str) -> String {
        let place = self
            .setup
            .clients
            .iter()
            .position(|client| client.name == name);
        let declaration = place.and_then(|place| self.setup.clients.get(place));
        let protocol = declaration
            .and_then(|client| client.protocol)
            .and_then(|index| self.setup.protocols.get(index));
        let client = place.and_then(|place| self.world.clients.get(place));
        client.map_or_else(
            || "no such client".to_owned(),
            |client| client.state_in_words(protocol),
        )
    }

    // Keys.

    fn difference_of_key(
        &self,
        server: ServerId,
        key: &[u8],
        value: Option<&str>,
        ttl: Option<Option<u64>>,
    ) -> Option<(String, String)> {
        let store = self.world.store(server);
        let state = store.get(key);
        let got = state.as_ref().map(|state| read_key(store, key, state));
        let got_ttl = state.as_ref().map(|state| state.remaining);
        let is_same_value = match (value, &got) {
            (Some(value), Some(got)) => is_same_reply(value, got),
            (value, got) => value.is_none() && got.is_none(),
        };
        let is_same_ttl = value.is_none() || ttl.is_none() || ttl == got_ttl;
        if is_same_value && is_same_ttl {
            return None;
        }
        let shown_ttl = got_ttl.filter(|_| ttl.is_some());
        Some((
            print_key_state(value, ttl),
            print_key_state(got.as_deref(), shown_ttl),
        ))
    }

    // Rows.

    fn difference_of_row(
        &self,
        table: &str,
        key: &[String],
        columns: Option<&[(String, String)]>,
    ) -> Option<(String, String)> {
        let expected = columns.map_or_else(|| "none".to_owned(), print_columns);
        let names: Vec<String> = columns
            .unwrap_or_default()
            .iter()
            .map(|(name, _)| quote_name(name))
            .collect();
        let Some(view) = self.world.database.table(table) else {
            return Some((expected, "there is no such table".to_owned()));
        };
        let conditions: Vec<String> = view
            .primary_key()
            .iter()
            .zip(key)
            .map(|(name, literal)| format!("{} <=> {literal}", quote_name(name)))
            .collect();
        let from = format!(
            "FROM {} WHERE {}",
            quote_name(table),
            conditions.join(" AND ")
        );
        let shown = if names.is_empty() {
            "1".to_owned()
        } else {
            names.join(", ")
        };
        let found = match query(&self.world.database, &format!("SELECT {shown} {from}")) {
            Ok(rows) => rows.into_iter().next(),
            Err(error) => return Some((expected, error)),
        };
        let Some(columns) = columns else {
            return found.map(|_| (expected, "there is such a row".to_owned()));
        };
        let Some(found) = found else {
            return Some((expected, "none".to_owned()));
        };
        // The database itself says what is equal, as it does in a WHERE.
        let comparisons: Vec<String> = names
            .iter()
            .zip(columns)
            .map(|(name, (_, literal))| format!("({name} <=> {literal})"))
            .collect();
        let sql = format!("SELECT {} {from}", comparisons.join(" + "));
        let equal = query(&self.world.database, &sql);
        let is_same = equal.is_ok_and(|rows| {
            let count = rows
                .first()
                .and_then(|row| row.first())
                .and_then(Value::as_i64);
            count.is_some_and(|count| usize::try_from(count) == Ok(columns.len()))
        });
        let named = columns.iter().zip(&found);
        let got: Vec<(String, String)> = named
            .map(|((name, _), value)| (name.clone(), value.to_literal()))
            .collect();
        (!is_same).then(|| (expected, print_columns(&got)))
    }
}

/// A name in backquotes.
pub(super) fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

pub(super) fn print_columns(columns: &[(String, String)]) -> String {
    let columns: Vec<String> = columns
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    columns.join(", ")
}

fn print_write(write: &ExpectedWrite) -> String {
    format!("{} {}", write.who, write.verdict)
}

/// `a; b`, or `none`.
fn list(entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = entries.collect();
    match entries.is_empty() {
        true => "none".to_owned(),
        false => entries.join("; "),
    }
}

pub(super) fn print_key_state(value: Option<&str>, ttl: Option<Option<u64>>) -> String {
    match (value, ttl) {
        (None, _) => "none".to_owned(),
        (Some(value), None) => value.to_owned(),
        (Some(value), Some(None)) => format!("{value} no ttl"),
        (Some(value), Some(Some(milliseconds))) => format!("{value} ttl {milliseconds}ms"),
    }
}

/// A key's value as the command answers that reads all of it.
pub(super) fn read_key(store: &Store, key: &[u8], state: &KeyState) -> String {
    let words: &[&[u8]] = match &state.value {
        StoreValue::String(bytes) => return Reply::bulk(bytes).print_short(),
        StoreValue::List(_) => &[b"LRANGE", key, b"0", b"-1"],
        StoreValue::Hash(_) => &[b"HGETALL", key],
        StoreValue::Set(_) => &[b"SMEMBERS", key],
        StoreValue::SortedSet(_) => &[b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"],
    };
    let argv: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    let input = StoreInput::Command {
        connection: CONNECTION,
        argv: &argv,
        now: 0,
    };
    let replies = store.clone().apply(input).replies;
    replies
        .last()
        .map_or_else(|| "no reply".to_owned(), |(_, reply)| reply.print_short())
}

/// The rows that a query gives on a connection of its own, or the error in words.
fn query(database: &Database, text: &str) -> Result<Vec<Vec<Value>>, String> {
    let statement = Statement::parse(text).map_err(|error| error.to_string())?;
    let input = DatabaseInput::Statement {
        connection: CONNECTION,
        statement: &statement,
        parameters: &[],
        now: 0,
    };
    match database.clone().apply(input).replies.pop() {
        Some((_, SqlReply::Rows { rows, .. })) => Ok(rows),
        Some((_, other)) => Err(other.print_short()),
        None => Err("no reply".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_compared_but_for_blanks() {
        let check = |expected: &str, got: &str, is_same: bool| {
            assert_eq!(is_same_reply(expected, got), is_same, "{expected} {got}");
        };
        check("OK", "OK", true);
        check("1  row", "1 row", true);
        check("near 'a b'", "near 'a\n  b'", true);
        check("OK", "ok", false);
        check("1", "\"1\"", false);
        check("1 row", "10 rows", false);
    }

    /// What stands before the schedule.
    const SETUP: &str = "\
table t (a INT, b VARCHAR(9), c DECIMAL(5,2), d INT, PRIMARY KEY (a, b))
  1, 'x', 2.5, NULL

store
  SET k v PX 1000
  SET n 5
  RPUSH l a b
  HSET h f v

protocol p
  one: GET k
    on \"v\": holds k for 1s

client A: p
client C

schedule
";

    /// Checks that these lines differ: each with its expected and got text.
    fn check_lines(lines: &str, expected: &[(&str, &str)]) {
        let reading = super::super::read(&format!("{SETUP}{lines}")).unwrap_or_else(|errors| {
            panic!(
                "{lines}: {}",
                errors.iter().map(ToString::to_string).collect::<String>()
            )
        });
        let differences = check(&reading);
        // Why an action is not possible is the world's to say.
        let got = |difference: &'_ Difference| match difference.got.starts_with("not possible: ") {
            true => "not possible".to_owned(),
            false => difference.got.clone(),
        };
        let differences: Vec<(String, String)> = differences
            .iter()
            .map(|difference| (difference.expected.clone(), got(difference)))
            .collect();
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(expected, got)| ((*expected).into(), (*got).into()))
            .collect();
        assert_eq!(differences, expected, "{lines}");
    }

    #[test]
    fn replies_that_differ_are_found() {
        check_lines(
            "  A one => \"v\"\n  C> GET n => \"5\"\n  C> SELECT c FROM t => 2.50",
            &[],
        );
        check_lines(
            "  A one => nil\n  C> GET n => 5",
            &[("nil", "\"v\""), ("5", "\"5\"")],
        );
        check_lines(
            "  C> NONSENSE => OK",
            &[(
                "OK",
                "ERR unknown command 'NONSENSE', with args beginning with: ",
            )],
        );
        check_lines("  A one\n  A one => OK", &[("OK", "not possible")]);
        check_lines(
            "  restart A",
            &[("an action that is possible", "not possible")],
        );
    }

    #[test]
    fn ends_that_differ_are_found() {
        let at_end = |line: &str, expected: &[(&str, &str)]| {
            check_lines(
                &format!("  A one\n  clock +100ms\nexpect\n  {line}"),
                expected,
            );
        };
        at_end("t 1, 'x': c 2.5, d NULL", &[]);
        at_end("t 1, 'X': c '2.50'", &[]);
        at_end(
            "t 1, 'x': c 3, d NULL",
            &[("c 3, d NULL", "c 2.50, d NULL")],
        );
        at_end("t 1, 'x': d 0", &[("d 0", "d NULL")]);
        at_end("t 2, 'x': c 3", &[("c 3", "none")]);
        at_end("t 2, 'x': none", &[]);
        at_end("t 1, 'x': none", &[("none", "there is such a row")]);
        at_end("key k: \"v\" ttl 900ms", &[]);
        at_end("key k: \"v\"", &[]);
        at_end("key k: \"w\"", &[("\"w\"", "\"v\"")]);
        at_end(
            "key k: \"v\" ttl 1s",
            &[("\"v\" ttl 1000ms", "\"v\" ttl 900ms")],
        );
        at_end(
            "key k: \"v\" no ttl",
            &[("\"v\" no ttl", "\"v\" ttl 900ms")],
        );
        at_end("key k: none", &[("none", "\"v\"")]);
        at_end("key x: none", &[]);
        at_end("key x: \"v\" no ttl", &[("\"v\" no ttl", "none")]);
        at_end("key n: \"5\" no ttl", &[]);
        at_end("key l: [\"a\", \"b\"]", &[]);
        at_end("key h: [\"f\", \"v\"] no ttl", &[]);
        at_end("writes: none", &[]);
        at_end("writes: A accepted", &[("A accepted", "none")]);
        at_end("charges: ch-1 o 5", &[("ch-1 o 5", "none")]);
        at_end(
            "client A: done, believes k",
            &[("done, believes k", "done")],
        );
        at_end("client C: console only", &[]);
        at_end(
            "holds: stock is never negative",
            &[("holds", &verdict_of("stock is never negative"))],
        );
    }

    /// The verdict on a property at the end of the schedule above, with its reason.
    fn verdict_of(sentence: &str) -> String {
        let reading = super::super::read(&format!("{SETUP}  A one\n  clock +100ms")).unwrap();
        let actions = reading.schedule.iter().map(|line| line.action.clone());
        let timeline = Timeline::replay(reading.setup.clone(), actions);
        let property = Property::ALL
            .iter()
            .find(|property| property.sentence() == sentence)
            .unwrap();
        End::of(&timeline).verdict(*property)
    }
}

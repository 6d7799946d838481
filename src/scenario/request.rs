//! What is sent, and to whom: the first word of a request decides.

use crate::sim::action::ServerId;
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::Statement;
use crate::sim::setup::Setup;
use crate::sim::store;
use crate::sorted::{SortedMap, SortedSet};

use super::error::{Errors, Place, quoted};
use super::limits;
use super::scan::{Cursor, is_name, is_variable_name, whole_number};

/// The words that begin an SQL statement. `SET` is decided by what follows it.
pub(super) const STATEMENTS: [&str; 30] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "CREATE",
    "DROP",
    "ALTER",
    "TRUNCATE",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "DO",
    "DESCRIBE",
    "DESC",
    "EXPLAIN",
    "ANALYZE",
    "LOCK",
    "UNLOCK",
    "CALL",
    "GRANT",
    "SHOW",
    "USE",
    "WITH",
    "PREPARE",
    "KILL",
    "XA",
];

/// Lua scripts by name.
pub(super) type Scripts = SortedMap<String, Vec<u8>>;

/// A line of a request, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// The line.
    pub text: &'a str,
    /// Where it stands.
    pub place: Place,
}

/// Whom a request is for.
enum Receiver {
    Store,
    Database,
    Gateway,
    Clock,
    Quorum,
    Messages,
    Timer,
}

/// What a request may refer to.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// The scripts.
    pub scripts: &'a Scripts,
    /// Whether some script was left out, so that a name that is not found is no error.
    pub scripts_are_damaged: bool,
    /// Whether somebody types it: then a digest that is none goes to the store, which answers as Redis does.
    pub is_typed: bool,
    /// The servers.
    pub setup: &'a Setup,
}

/// Reads a request from its lines, of which there is at least one.
pub(super) fn request(
    lines: &[Part<'_>],
    known: Known<'_>,
    errors: &mut Errors<'_>,
) -> Option<Request> {
    let (first, others) = lines.split_first()?;
    let (server, first) = prompt(*first, known, errors)?;
    let (receiver, first) = match server {
        Some(_) => (Receiver::Store, first),
        None => receiver(first),
    };
    if let Receiver::Database = receiver {
        let texts: Vec<&str> = std::iter::once(first.text)
            .chain(others.iter().map(|part| part.text))
            .collect();
        return Some(Request::Database(Statement::parse(&texts.join("\n"))));
    }
    if let Some(second) = others.first() {
        let message = "only an SQL statement goes on on the next line";
        return errors.add(
            second.place,
            message,
            "what a reply means, as in `on OK: stop`, or the next step",
        );
    }
    let arguments = arguments(first, known, errors)?;
    match receiver {
        Receiver::Store => Some(Request::Store(server, arguments)),
        Receiver::Messages => match arguments.as_slice() {
            [_, channel] => Some(Request::Await(channel.clone())),
            _ => errors.add(
                first.place,
                "AWAIT waits for the messages of one channel",
                "`AWAIT CHANNEL`",
            ),
        },
        Receiver::Quorum => quorum(&arguments, first.place, errors),
        Receiver::Gateway => gateway(arguments, first.place, errors),
        Receiver::Clock => match arguments.as_slice() {
            [_, key] => Some(Request::CheckDeadline(key.clone())),
            _ => errors.add(first.place, "CHECK looks at one lock", "`CHECK KEY`"),
        },
        Receiver::Timer | Receiver::Database => sleep(&arguments, first.place, errors),
    }
}

/// The server that a prompt in front of a request names, `r1> GET k`, and the request behind it.
fn prompt<'a>(
    line: Part<'a>,
    known: Known<'_>,
    errors: &mut Errors<'_>,
) -> Option<(Option<ServerId>, Part<'a>)> {
    let Some((name, rest)) = line.text.split_once("> ").filter(|(name, _)| is_name(name)) else {
        return Some((None, line));
    };
    let text = rest.trim_start_matches(' ');
    let start = line.place.end.saturating_sub(text.len());
    let place = Place {
        start,
        ..line.place
    };
    if let Some(server) = known.setup.server_named(name) {
        return Some((Some(server), Part { text, place }));
    }
    let servers = (0..known.setup.server_count()).map(ServerId);
    let names = servers.map(|server| known.setup.server_name(server));
    let place = Place {
        end: line.place.start + name.len(),
        ..line.place
    };
    errors.unknown(place, "no server is called", name, names)
}

/// Whom a request is for, and the request without the word that forces it.
fn receiver(line: Part<'_>) -> (Receiver, Part<'_>) {
    for (word, receiver) in [("redis ", Receiver::Store), ("mysql ", Receiver::Database)] {
        if let Some(rest) = line.text.strip_prefix(word) {
            let text = rest.trim_start_matches(' ');
            let start = line.place.end.saturating_sub(text.len());
            return (
                receiver,
                Part {
                    text,
                    place: Place {
                        start,
                        ..line.place
                    },
                },
            );
        }
    }
    let mut words = line.text.split(' ').filter(|word| !word.is_empty());
    let first = words
        .next()
        .unwrap_or_default()
        .trim_end_matches(';')
        .to_ascii_uppercase();
    let receiver = match first.as_str() {
        "CHARGE" | "REFUND" => Receiver::Gateway,
        "CHECK" => Receiver::Clock,
        "QUORUM" => Receiver::Quorum,
        "AWAIT" => Receiver::Messages,
        "SLEEP" => Receiver::Timer,
        "SET" if is_sql_set(words.next().unwrap_or_default(), words.next()) => Receiver::Database,
        word if STATEMENTS.contains(&word) => Receiver::Database,
        _ => Receiver::Store,
    };
    (receiver, line)
}

/// Whether this request is an SQL statement.
pub(super) fn is_sql(text: &str) -> bool {
    let place = Place::default();
    matches!(receiver(Part { text, place }).0, Receiver::Database)
}

/// Whether SET is MySQL's: `SET SESSION ...`, `SET @a = 1`, `SET autocommit = 0`, `SET autocommit=0`.
fn is_sql_set(second: &str, third: Option<&str>) -> bool {
    let word = second.to_ascii_uppercase();
    matches!(
        word.as_str(),
        "SESSION" | "GLOBAL" | "TRANSACTION" | "NAMES"
    ) || second.starts_with('@')
        || third == Some("=")
        || (third.is_none() && second.contains('='))
}

/// Which arguments of a command are scripts.
enum ScriptPlace {
    /// Not this one.
    No,
    /// A script's text.
    Source,
    /// A script's SHA-1.
    Sha,
}

fn script_place(command: &[store::Argument], index: usize) -> ScriptPlace {
    let word = |index: usize| {
        command
            .get(index)
            .map(|word| word.bytes.to_ascii_uppercase())
            .unwrap_or_default()
    };
    match (word(0).as_slice(), word(1).as_slice(), index) {
        (b"EVAL" | b"EVAL_RO", _, 1) | (b"SCRIPT", b"LOAD", 2) => ScriptPlace::Source,
        (b"EVALSHA" | b"EVALSHA_RO", _, 1) => ScriptPlace::Sha,
        (b"SCRIPT", b"EXISTS", 2..) => ScriptPlace::Sha,
        _ => ScriptPlace::No,
    }
}

fn arguments(line: Part<'_>, known: Known<'_>, errors: &mut Errors<'_>) -> Option<Vec<Argument>> {
    let words = match store::split_arguments(line.text) {
        Ok(words) => words,
        Err(error) => {
            let place = place_of_column(line, error.column);
            let message = match known.is_typed {
                // As redis-cli says it.
                true => "Invalid argument(s): the quotes are not balanced",
                false => "the quotes are not balanced",
            };
            return errors.add(place, message, error.message);
        }
    };
    if words.is_empty() {
        return errors.add(line.place, "the command is missing", "a Redis command");
    }
    let mut arguments = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        let place = script_place(&words, index);
        arguments.push(match (variable(word), place) {
            (Some(name), _) => Argument::Variable(name.to_owned()),
            (None, ScriptPlace::No) => Argument::Literal(word.bytes.clone()),
            (None, place) => script(word, place, line, known, errors)?,
        });
    }
    Some(arguments)
}

/// The variable that an argument stands for: an unquoted `{name}` and nothing else.
fn variable(word: &store::Argument) -> Option<&str> {
    let text = std::str::from_utf8(&word.bytes)
        .ok()
        .filter(|_| !word.quoted)?;
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    is_variable_name(name).then_some(name)
}

/// An argument where a script stands.
fn script(
    word: &store::Argument,
    place: ScriptPlace,
    line: Part<'_>,
    known: Known<'_>,
    errors: &mut Errors<'_>,
) -> Option<Argument> {
    let name = String::from_utf8_lossy(&word.bytes).into_owned();
    let is_sha = matches!(place, ScriptPlace::Sha);
    let looks_like_sha = name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if word.quoted || (is_sha && looks_like_sha) {
        return Some(Argument::Literal(word.bytes.clone()));
    }
    if known.scripts.contains_key(&name) {
        return Some(match is_sha {
            true => Argument::ScriptSha(name),
            false => Argument::ScriptSource(name),
        });
    }
    if is_sha && known.is_typed {
        return Some(Argument::Literal(word.bytes.clone()));
    }
    if known.scripts_are_damaged {
        return None;
    }
    let place = place_of_column(line, word.column);
    if known.scripts.is_empty() {
        let message = format!("no script is called {}", quoted(&name));
        return errors.add(
            place,
            message,
            "a `script` block with this name, or Lua in quotes",
        );
    }
    let scripts = known.scripts.keys().map(String::as_str);
    errors.unknown(place, "no script is called", &name, scripts)
}

/// The word that begins at this column of a line, in characters from 1.
fn place_of_column(line: Part<'_>, column: usize) -> Place {
    let at = line.text.char_indices().nth(column.saturating_sub(1));
    let start = at.map_or(line.text.len(), |(at, _)| at);
    let rest = line.text.get(start..).unwrap_or_default();
    let length = rest.split(' ').next().unwrap_or_default().len();
    let start = line.place.start + start;
    Place::within(line.place.line, start, start + length)
}

fn gateway(mut arguments: Vec<Argument>, place: Place, errors: &mut Errors<'_>) -> Option<Request> {
    if let Some(Argument::Literal(name)) = arguments.first_mut() {
        name.make_ascii_uppercase();
    }
    let is_literal = |argument: &Argument, text: &[u8]| match argument {
        Argument::Literal(bytes) => bytes.eq_ignore_ascii_case(text),
        _ => false,
    };
    let amount = match arguments.as_slice() {
        [name, _] if is_literal(name, b"REFUND") => return Some(Request::Gateway(arguments)),
        [name, _, amount] if is_literal(name, b"CHARGE") => amount,
        [name, _, amount, key, _] if is_literal(name, b"CHARGE") && is_literal(key, b"KEY") => {
            amount
        }
        [name, ..] if is_literal(name, b"REFUND") => {
            return errors.add(place, "REFUND takes an order or a charge", "`REFUND ORDER`");
        }
        _ => {
            let message = "CHARGE takes an order and an amount";
            return errors.add(
                place,
                message,
                "`CHARGE ORDER AMOUNT` or `CHARGE ORDER AMOUNT KEY IDEMPOTENCY-KEY`",
            );
        }
    };
    if let Argument::Literal(bytes) = amount {
        let amount = std::str::from_utf8(bytes).ok().and_then(whole_number);
        if !amount.is_some_and(|amount| (1..=limits::UNITS).contains(&amount)) {
            let message = format!("{} is no amount", quoted(&String::from_utf8_lossy(bytes)));
            return errors.add(
                place,
                message,
                "a whole number from 1 on, in the currency's smallest unit",
            );
        }
    }
    Some(Request::Gateway(arguments))
}

fn quorum(arguments: &[Argument], place: Place, errors: &mut Errors<'_>) -> Option<Request> {
    let is_word = |argument: &Argument, word: &str| match argument {
        Argument::Literal(bytes) => bytes.eq_ignore_ascii_case(word.as_bytes()),
        _ => false,
    };
    let (votes, key, lease, drift) = match arguments {
        [_, votes, key, px, lease] if is_word(px, "PX") => (votes, key, lease, None),
        [_, votes, key, px, lease, word, drift] if is_word(px, "PX") && is_word(word, "DRIFT") => {
            (votes, key, lease, Some(drift))
        }
        _ => {
            let message = "QUORUM takes a number of votes, a lock and its lease";
            let expected = "`QUORUM 2 KEY PX 10000` or `QUORUM 2 KEY PX 10000 DRIFT 102`";
            return errors.add(place, message, expected);
        }
    };
    let number = |argument: &Argument| match argument {
        Argument::Literal(bytes) => std::str::from_utf8(bytes).ok().and_then(whole_number),
        _ => None,
    };
    let is_number = |argument: &Argument| {
        matches!(argument, Argument::Variable(_))
            || number(argument).is_some_and(|number| number <= limits::DURATION)
    };
    let Some(votes) = number(votes).filter(|votes| *votes > 0) else {
        let expected = "a whole number from 1 on, such as 2 of three servers";
        return errors.add(place, "so many votes cannot be needed", expected);
    };
    if !is_number(lease) || !drift.is_none_or(is_number) {
        let expected = "whole milliseconds, such as `PX 10000`";
        return errors.add(place, "the lease or the drift is no time", expected);
    }
    Some(Request::Quorum {
        votes,
        key: key.clone(),
        lease: lease.clone(),
        drift: drift.cloned(),
    })
}

fn sleep(arguments: &[Argument], place: Place, errors: &mut Errors<'_>) -> Option<Request> {
    let expected = "`SLEEP` and milliseconds, such as `SLEEP 100`";
    match arguments {
        [_, Argument::Literal(bytes)] => {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let milliseconds = match whole_number(&text) {
                Some(number) if number <= limits::DURATION => number,
                Some(_) => {
                    let most = format!("at most {}", limits::DURATION);
                    return errors.add(place, format!("{} is too long", quoted(&text)), most);
                }
                None => {
                    let start = place.end.saturating_sub(text.len());
                    Cursor::new(place.line, start, &text).duration(errors)?
                }
            };
            let milliseconds = milliseconds.to_string().into_bytes();
            Some(Request::Sleep(Argument::Literal(milliseconds)))
        }
        [_, variable] => Some(Request::Sleep(variable.clone())),
        _ => errors.add(place, "SLEEP takes one duration", expected),
    }
}

/// The variables that a request refers to, in order.
pub(super) fn variables(request: &Request) -> Vec<&str> {
    match request {
        Request::Store(_, arguments) | Request::Gateway(arguments) => {
            arguments.iter().filter_map(variable_of).collect()
        }
        Request::Database(Ok(statement)) => {
            statement.variables().iter().map(String::as_str).collect()
        }
        Request::Database(Err(_)) => Vec::new(),
        Request::Quorum {
            key, lease, drift, ..
        } => {
            let all = [Some(key), Some(lease), drift.as_ref()];
            all.into_iter().flatten().filter_map(variable_of).collect()
        }
        Request::CheckDeadline(argument) | Request::Await(argument) | Request::Sleep(argument) => {
            variable_of(argument).into_iter().collect()
        }
    }
}

/// The variable that an argument is.
pub(super) fn variable_of(argument: &Argument) -> Option<&str> {
    match argument {
        Argument::Variable(name) => Some(name),
        _ => None,
    }
}

/// Complains about a variable that has no value.
pub(super) fn check_variable(
    name: &str,
    known: &SortedSet<String>,
    place: Place,
    errors: &mut Errors<'_>,
) -> Option<()> {
    if known.contains(name) {
        return Some(());
    }
    let written = format!("{{{name}}}");
    let place = errors.find(place, &written);
    let known: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
    if known.is_empty() {
        let expected = "quotes around it, where it stands for itself";
        return errors.add(
            place,
            format!("{} has no value here", quoted(&written)),
            expected,
        );
    }
    errors.unknown(
        place,
        "no variable is called",
        &written,
        known.iter().map(String::as_str),
    )
}

//! A request as a client library would be called for it, in no language yet.

use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::Statement;

/// A call of a client library.
pub(super) enum Call<'a> {
    /// `SET key value` and its options, in the order of writing.
    Set {
        /// The key.
        key: &'a Argument,
        /// The value.
        value: &'a Argument,
        /// Words in capitals, and the number behind those that have one.
        options: Vec<(String, Option<&'a Argument>)>,
    },
    /// `EVAL script numkeys key... argument...`.
    Eval {
        /// The script's name.
        script: &'a str,
        /// The keys.
        keys: &'a [Argument],
        /// The other arguments.
        arguments: &'a [Argument],
    },
    /// Any other Redis command: its name in capitals, and its arguments.
    Command(String, &'a [Argument]),
    /// An SQL statement.
    Statement(&'a Statement),
    /// An SQL statement that no server takes.
    BrokenStatement,
    /// `CHARGE order amount KEY key`.
    Charge(&'a Argument, &'a Argument, Option<&'a Argument>),
    /// `REFUND name`.
    Refund(&'a Argument),
    /// A look at the client's own clock: may it still count on this lock?
    Look(&'a Argument),
    /// The client counts the votes for a lock.
    Quorum {
        /// How many it takes.
        votes: u64,
        /// The lock.
        key: &'a Argument,
        /// The lease, in milliseconds.
        lease: &'a Argument,
        /// The margin for clocks that drift, in milliseconds.
        drift: Argument,
    },
    /// A subscription begins, or ends: its name in small letters, and the channel.
    Subscribe(String, &'a Argument),
    /// The next message of a channel.
    Await(&'a Argument),
    /// Nothing that can be sent.
    Nothing,
}

impl<'a> Call<'a> {
    /// The call for a request.
    pub fn of(request: &'a Request) -> Call<'a> {
        match request {
            Request::Store(_, arguments) => command(arguments),
            Request::Database(Ok(statement)) => Call::Statement(statement),
            Request::Database(Err(_)) => Call::BrokenStatement,
            Request::Gateway(arguments) => match arguments.as_slice() {
                [_, order, amount] => Call::Charge(order, amount, None),
                [_, order, amount, _, key] => Call::Charge(order, amount, Some(key)),
                [_, name] => Call::Refund(name),
                _ => Call::Nothing,
            },
            Request::CheckDeadline(lock) => Call::Look(lock),
            Request::Quorum {
                votes,
                key,
                lease,
                drift,
            } => Call::Quorum {
                votes: *votes,
                key,
                lease,
                drift: drift.clone().unwrap_or_else(|| usual_drift(lease)),
            },
            Request::Await(channel) => Call::Await(channel),
            Request::Sleep(_) => Call::Nothing,
        }
    }
}

fn command(arguments: &[Argument]) -> Call<'_> {
    let Some((Argument::Literal(name), rest)) = arguments.split_first() else {
        return Call::Nothing;
    };
    let name = String::from_utf8_lossy(name).to_ascii_uppercase();
    match (name.as_str(), rest) {
        ("SUBSCRIBE" | "UNSUBSCRIBE", [channel]) => {
            Call::Subscribe(name.to_ascii_lowercase(), channel)
        }
        ("SET", [key, value, options @ ..]) => match options_of(options) {
            Some(options) => Call::Set {
                key,
                value,
                options,
            },
            None => Call::Command(name, rest),
        },
        ("EVAL", [Argument::ScriptSource(script), count, rest @ ..]) => match number(count) {
            Some(count) if count <= rest.len() => {
                let (keys, arguments) = rest.split_at(count);
                Call::Eval {
                    script,
                    keys,
                    arguments,
                }
            }
            _ => Call::Command(name, &arguments[1..]),
        },
        _ => Call::Command(name, rest),
    }
}

/// The options of a SET, where they are such as every client library has.
fn options_of(mut words: &[Argument]) -> Option<Vec<(String, Option<&Argument>)>> {
    let mut options = Vec::new();
    while let Some((Argument::Literal(word), rest)) = words.split_first() {
        let word = String::from_utf8_lossy(word).to_ascii_uppercase();
        match (word.as_str(), rest) {
            ("NX" | "XX", rest) => {
                options.push((word, None));
                words = rest;
            }
            ("EX" | "PX", [number, rest @ ..]) => {
                options.push((word, Some(number)));
                words = rest;
            }
            _ => return None,
        }
    }
    words.is_empty().then_some(options)
}

/// A hundredth of the lease and 2 ms, as Redlock's libraries have it; of a lease that is a variable only the 2 ms.
fn usual_drift(lease: &Argument) -> Argument {
    let drift = number(lease).unwrap_or_default() / 100 + 2;
    Argument::Literal(drift.to_string().into_bytes())
}

fn number(argument: &Argument) -> Option<usize> {
    match argument {
        Argument::Literal(digits) => String::from_utf8_lossy(digits).parse().ok(),
        _ => None,
    }
}

/// The number that an argument's bytes are, where they are written as numbers are.
pub(super) fn plain_number(bytes: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

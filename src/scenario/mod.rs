//! The scenario text: one readable format for the link, the file, the editor and the tests.
//!
//! A text is read in stages, each of which goes on behind whatever it cannot read, so that all errors come at once:
//!
//! ```text
//! text ── lines ──► lines and blocks ── parse ──► syntax tree ── compile ──► Reading
//!                                                     │
//!                                   canonical text ◄──┴── print
//! ```
//!
//! The syntax tree keeps comments and blank lines, and what is printed reads back as the same tree. Names are looked up, requests
//! are read and everything before the schedule is tried only when the tree is compiled.

pub mod check;
mod compile;
pub mod complete;
pub mod edit;
mod error;
pub(crate) mod found;
pub mod highlight;
mod layout;
pub mod limits;
mod lines;
mod parse;
mod pin;
mod print;
mod request;
mod scan;
mod syntax;
#[cfg(test)]
mod tests;
mod warn;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod generated;

pub use check::Difference;
pub use error::TextError;
pub use layout::{Layout, Lines, ProtocolLayout};
pub use warn::{begins_action, command_meant, warnings};

pub mod library;

use std::sync::Arc;

use error::{Errors, Place};
use lines::Line;
use request::{Known, Part};
use syntax::{Choice, KeyFault, Named, Side};

use crate::property::{LedgerEntry, Property};
use crate::sim::action::{Action, ClientId, ClockOf, LatchPoint, ServerId, Who};
use crate::sim::client::protocol::Request;
use crate::sim::setup::Setup;

/// A text that was read without an error.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The first comment line of the text, without `# `; empty when there is none.
    pub title: String,
    /// The comment lines that follow the title, joined by spaces, up to the first blank line.
    pub description: String,
    /// What stands before the schedule.
    pub setup: Arc<Setup>,
    /// The schedule, in order.
    pub schedule: Vec<ScheduleLine>,
    /// The expectations, in order.
    pub expectations: Vec<ExpectationLine>,
    /// The searches, in order.
    pub searches: Vec<Search>,
    /// Where things stand in the text.
    pub layout: Layout,
}

impl Reading {
    /// Every request of a protocol's step, and then every one that is typed at a console, in the order of the text.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        let steps = self
            .setup
            .protocols
            .iter()
            .flat_map(|protocol| &protocol.steps)
            .map(|step| &step.request);
        let typed = self.schedule.iter().filter_map(|line| match &line.action {
            Action::Command { request, .. } => Some(request),
            _ => None,
        });
        steps.chain(typed)
    }
}

/// A search, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Its header and what stands under it.
    pub lines: Lines,
    /// The line that says what it finds; the header where none does.
    pub finds: usize,
    /// What it may do, looks for and is expected to find.
    pub request: crate::search::Request,
}

/// One action of the schedule, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleLine {
    /// The line of the text, from 1.
    pub line: usize,
    /// The action.
    pub action: Action,
    /// What stands behind `=>`, as it is written: the reply in its short form.
    pub expected: Option<String>,
}

/// One expectation, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectationLine {
    /// The line of the text, from 1.
    pub line: usize,
    /// What is expected once the schedule has ended.
    pub expectation: Expectation,
}

/// What can be expected once the schedule has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// `holds: stock is never negative`.
    Holds(Property),
    /// `broken: a stale write is never accepted`.
    Broken(Property),
    /// `not tested: tokens are never handed out twice`.
    NotTested(Property),
    /// `inventory 'sku-1': qty 8, fence_token 2`, `inventory 'sku-2': none`: a row by its primary key, some of its columns.
    Row {
        /// The table's name.
        table: String,
        /// The primary key's values as SQL literals, in order.
        key: Vec<String>,
        /// Column names and values as SQL literals; `None`: no such row.
        columns: Option<Vec<(String, String)>>,
    },
    /// `key lock:sku-1: "A-1" ttl 9000ms`, `key lock:sku-1: none`: a key's value in the short form of the reply to a
    /// read of it, and its time to live (`no ttl` for none; nothing said: not checked).
    Key {
        /// Which key.
        key: Vec<u8>,
        /// On which server; `None`: the first.
        server: Option<String>,
        /// Its value in short form; `None`: no such key.
        value: Option<String>,
        /// Its remaining milliseconds; the outer `None`: not checked.
        ttl: Option<Option<u64>>,
    },
    /// `writes: B accepted; A rejected (no stock), stale, fence would pass`: every entry of the ledger, in order.
    Writes(Vec<ExpectedWrite>),
    /// `charges: ch-1 order-1 100; ch-2 order-1 100 refunded`: every charge, in order.
    Charges(Vec<String>),
    /// `client A: paused before write, believes lock:sku-1`: the client's state in a few words, as
    /// [`crate::sim::client::Client::state_in_words`] gives it.
    Client {
        /// Its name.
        name: String,
        /// Its state in words.
        state: String,
    },
}

/// One entry of the ledger as an expectation names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedWrite {
    /// A client's name, or `operator`.
    pub who: String,
    /// `accepted`, or `rejected (fenced)`, `rejected (no stock, fenced)`, `rejected (no such row)`; then `, stale` for a stale
    /// writer, and `, fence would pass` for a write that a fence condition let through while another one stopped it.
    pub verdict: String,
}

impl ExpectedWrite {
    /// An entry of the ledger in an expectation's words.
    pub fn of(entry: &LedgerEntry, setup: &Setup) -> ExpectedWrite {
        let who = match entry.who {
            Who::Client(client) => setup
                .clients
                .get(client.0)
                .map_or("?", |client| client.name.as_str()),
            Who::Operator => "operator",
        };
        ExpectedWrite {
            who: who.to_string(),
            verdict: entry.verdict(),
        }
    }
}

/// Reads a text.
///
/// # Errors
/// Everything that is wrong with it, in the order of the text.
pub fn read(text: &str) -> Result<Reading, Vec<TextError>> {
    within_limits(text)?;
    let lines = lines::split(text);
    let mut errors = Errors::new(&lines);
    let (tree, damage) = parse::parse(&lines, &mut errors);
    let reading = compile::compile(&tree, damage, &lines, &mut errors);
    match errors.is_empty() {
        true => Ok(reading),
        false => Err(errors.finish()),
    }
}

/// The text as the canonical printer writes it: comments and blank lines stay, blanks and forms of numbers become uniform.
///
/// It needs a text whose lines can be read; that names mean something is not asked.
///
/// # Errors
/// Every line that cannot be read, in the order of the text.
pub fn format(text: &str) -> Result<String, Vec<TextError>> {
    parse_only(text).map(|tree| print::print(&tree))
}

/// Reads a text, runs it and its searches: every line that does not say what is so, in the order of the text.
///
/// # Errors
/// Everything that is wrong with the text, in order.
pub fn check(text: &str) -> Result<Vec<check::Difference>, Vec<TextError>> {
    let reading = read(text)?;
    let mut differences = check::check(&reading);
    for search in &reading.searches {
        differences.extend(difference_of_search(text, &reading, search)?);
    }
    crate::sorted::sort_by_key(&mut differences, |difference| difference.line);
    Ok(differences)
}

fn difference_of_search(
    text: &str,
    reading: &Reading,
    search: &Search,
) -> Result<Option<check::Difference>, Vec<TextError>> {
    let Some(finds) = search.request.finds else {
        return Ok(None);
    };
    let mut run = crate::search::Search::of_request(text, &search.request)?;
    let difference = crate::search::difference(finds, run.finish(), reading);
    Ok(difference.map(|(expected, got)| check::Difference {
        line: search.finds,
        expected,
        got,
    }))
}

/// The syntax tree of a text.
fn parse_only(text: &str) -> Result<syntax::Text, Vec<TextError>> {
    within_limits(text)?;
    let lines = lines::split(text);
    let mut errors = Errors::new(&lines);
    let (tree, _) = parse::parse(&lines, &mut errors);
    match errors.is_empty() {
        true => Ok(tree),
        false => Err(errors.finish()),
    }
}

fn within_limits(text: &str) -> Result<(), Vec<TextError>> {
    let error = |line: usize, message: String, expected: String| {
        vec![TextError {
            line,
            column: 1,
            length: 1,
            message,
            expected,
        }]
    };
    if text.len() > limits::TEXT {
        let message = format!("the text is {} bytes long", text.len());
        return Err(error(1, message, format!("at most {} bytes", limits::TEXT)));
    }
    let lines = text.lines().count();
    if lines > limits::LINES {
        let message = format!("the text has {lines} lines");
        return Err(error(
            limits::LINES + 1,
            message,
            format!("at most {}", limits::LINES),
        ));
    }
    Ok(())
}

/// Reads what is typed at somebody's console.
///
/// # Errors
/// Why it cannot be sent: unbalanced quotes, an unknown script or variable, a malformed CHARGE, REFUND, CHECK or SLEEP. What a
/// server would complain about is left to the server.
pub fn read_request(source: &str, setup: &Setup, who: Who) -> Result<Request, TextError> {
    let lines = [source];
    let mut errors = Errors::new(&lines);
    let request = one_line(source, &mut errors).and_then(|line| {
        let part = Part {
            text: line.content(),
            place: line.place(),
        };
        if parse::parts(part.text).action != part.text {
            let message = "`=>` and `#` behind two blanks mean something else in a schedule";
            return errors.add(part.place, message, "quotes around them");
        }
        let known = Known {
            scripts: &setup.scripts,
            scripts_are_damaged: false,
            is_typed: true,
            setup,
        };
        let request = request::request(&[part], known, &mut errors)?;
        let variables = compile::known_variables(setup, who);
        for name in request::variables(&request) {
            request::check_variable(name, &variables, part.place, &mut errors)?;
        }
        Some(request)
    });
    request.ok_or_else(|| first(errors))
}

/// Reads one line of a schedule, without what stands around it; its number is 1.
///
/// # Errors
/// Why it is no line of this setup's schedule.
pub fn read_schedule_line(source: &str, setup: &Setup) -> Result<ScheduleLine, TextError> {
    let lines = [source];
    let mut errors = Errors::new(&lines);
    let line = one_line(source, &mut errors).and_then(|line| {
        let entry = parse::schedule_entry(line, &mut errors)?;
        let action = compile::action(&entry.choice, setup, &mut errors)?;
        Some(ScheduleLine {
            line: 1,
            action,
            expected: entry.expected,
        })
    });
    line.ok_or_else(|| first(errors))
}

/// The only line of a source.
fn one_line<'a>(source: &'a str, errors: &mut Errors<'_>) -> Option<Line<'a>> {
    let line = Line::alone(source, errors)?;
    if line.is_blank() {
        return errors.add(line.place(), "nothing is typed", "a command or a statement");
    }
    Some(line)
}

fn first(errors: Errors<'_>) -> TextError {
    errors
        .finish()
        .into_iter()
        .next()
        .unwrap_or_else(|| TextError {
            line: 1,
            column: 1,
            length: 1,
            message: "this is not understood".to_owned(),
            expected: String::new(),
        })
}

/// The action as a line of the schedule, without indentation and reply.
pub fn print_action(setup: &Setup, action: &Action) -> String {
    print::choice(&choice(setup, action))
}

/// The action as a line of the schedule with `=>` and a reply behind it, without indentation.
pub fn print_schedule_line(setup: &Setup, action: &Action, reply: Option<&str>) -> String {
    print::with_reply(&print_action(setup, action), reply)
}

/// The action with names in place of places.
fn choice(setup: &Setup, action: &Action) -> Choice {
    let named = |text: &str| Named {
        text: text.to_owned(),
        place: Place::default(),
    };
    let client = |client: ClientId| {
        named(
            setup
                .clients
                .get(client.0)
                .map_or("", |client| client.name.as_str()),
        )
    };
    let label = |client: ClientId, step: usize| {
        let protocol = setup
            .clients
            .get(client.0)
            .and_then(|client| client.protocol);
        let protocol = protocol.and_then(|index| setup.protocols.get(index));
        let step = protocol.and_then(|protocol| protocol.steps.get(step));
        named(step.map_or("", |step| step.label.as_str()))
    };
    let server_named = |server: ServerId| named(setup.server_name(server));
    let of_key = |what: KeyFault, server: ServerId, key: &[u8]| Choice::OfKey {
        what,
        key: key.to_vec(),
        server: (server != ServerId::FIRST).then(|| server_named(server)),
    };
    let latch = |id: ClientId, at: Option<LatchPoint>| match at {
        Some(LatchPoint::Before(step)) => Some((Side::Before, label(id, step))),
        Some(LatchPoint::After(step)) => Some((Side::After, label(id, step))),
        None => None,
    };
    match action {
        Action::Step { client: id, step } => Choice::Step {
            client: client(*id),
            label: label(*id, *step),
        },
        Action::Pause { client: id, at } => Choice::Pause {
            client: client(*id),
            at: latch(*id, *at),
        },
        Action::Resume { client: id, at } => Choice::Resume {
            client: client(*id),
            at: latch(*id, *at),
        },
        Action::Crash { client: id } => Choice::Crash(client(*id)),
        Action::Restart { client: id } => Choice::Restart(client(*id)),
        Action::LoseReply { client: id, step } => Choice::Lose {
            client: client(*id),
            label: label(*id, *step),
        },
        Action::LoseRequest { client: id, step } => Choice::LoseRequest {
            client: client(*id),
            label: label(*id, *step),
        },
        Action::Delay {
            client: id,
            step,
            leg,
        } => Choice::Delay {
            client: client(*id),
            label: label(*id, *step),
            leg: *leg,
        },
        Action::Deliver { client: id, step } => Choice::Deliver {
            client: client(*id),
            label: label(*id, *step),
        },
        Action::Advance { milliseconds } => Choice::Advance(*milliseconds),
        Action::AdvanceToNextDeadline => Choice::AdvanceToNextDeadline,
        Action::ClockJump {
            clock,
            milliseconds,
        } => Choice::ClockJump {
            whose: match clock {
                ClockOf::Server(server) => server_named(*server),
                ClockOf::Database => named("database"),
                ClockOf::Client(id) => client(*id),
            },
            milliseconds: *milliseconds,
        },
        Action::ClockRate {
            client: id,
            permille,
        } => Choice::ClockRate {
            client: client(*id),
            permille: *permille,
        },
        Action::ExpireNow { server, key } => of_key(KeyFault::Expire, *server, key),
        Action::Wipe { server, key } => of_key(KeyFault::Wipe, *server, key),
        Action::Evict { server, key } => of_key(KeyFault::Evict, *server, key),
        Action::CrashServer { server } => Choice::Crash(server_named(*server)),
        Action::RestartServer {
            server,
            keeps_data: true,
        } => Choice::Restart(server_named(*server)),
        Action::RestartServer { server, .. } => Choice::RestartWithoutData(server_named(*server)),
        Action::Replicate { to, commands } => Choice::Replicate {
            to: server_named(*to),
            commands: *commands,
        },
        Action::Failover { to } => Choice::Failover(server_named(*to)),
        Action::Command {
            who,
            source,
            request,
        } => {
            let who = match who {
                Who::Operator => named("operator"),
                Who::Client(id) => client(*id),
            };
            let server = match request {
                Request::Store(server, _) => server.map(server_named),
                _ => None,
            };
            Choice::Command {
                who,
                server,
                source: named(source),
            }
        }
    }
}

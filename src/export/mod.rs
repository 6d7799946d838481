//! A scenario as a test for real servers, in the reader's own language; and as a picture, a model or a remark for a review.
//!
//! ```text
//! Reading, Timeline ──► Plan ──► walk ──► python, vitest, phpunit, rust, go, junit: a text in `texts/`, tables, and the language's idiom
//!                        │         │ the way through a plan, the same in all languages
//!                        │         │ template: a file's text with conditions, and places where things are written
//!                        │ routine: each protocol as loops, conditions and returns
//!                        │ plan: who does what and waits for whom, the clean-up
//!                        │ claim: what is said of the properties, and by what it is seen
//! ```
//!
//! A test passes where the servers behave as the playground says: replies, affected rows, final rows and keys, and the verdicts
//! of the properties. With [`Options::holds`] it asserts instead that the properties hold, so that it fails until the protocol is
//! repaired.

mod calls;
mod claim;
mod go;
mod junit;
mod layout;
mod looks;
mod markdown;
mod mermaid;
mod model;
mod names;
mod phpunit;
pub(crate) mod plan;
mod promela;
mod python;
mod request;
mod routine;
mod rust;
mod svg;
mod template;
mod tla;
mod variables;
mod vitest;
mod walk;
mod words;

pub use calls::{Library, calls};

use std::fmt;

use crate::scenario::Reading;
use crate::sim::client::protocol::{Argument, Request};
use crate::timeline::Timeline;

/// What a scenario can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A test for pytest, with redis-py and PyMySQL.
    Pytest,
    /// A sequence diagram for Mermaid.
    Mermaid,
    /// A remark for a review, in Markdown.
    Markdown,
    /// The protocols as a model for Spin, in Promela.
    Promela,
    /// The protocols as a model for TLC, in TLA+.
    Tla,
    /// A test for vitest, with ioredis and mysql2.
    Vitest,
    /// A test for PHPUnit, with phpredis and PDO.
    Phpunit,
    /// A test for cargo, with tokio, redis and mysql_async.
    Rust,
    /// A test for `go test`, with go-redis and go-sql-driver.
    Go,
    /// A test for JUnit 5, with Jedis and JDBC.
    Junit,
    /// The picture, in SVG.
    Svg,
}

/// What is known of a format.
struct Facts {
    name: &'static str,
    purpose: &'static str,
    ending: &'static str,
}

impl Format {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Format; 11] = [
        Format::Pytest,
        Format::Vitest,
        Format::Phpunit,
        Format::Rust,
        Format::Go,
        Format::Junit,
        Format::Mermaid,
        Format::Svg,
        Format::Markdown,
        Format::Promela,
        Format::Tla,
    ];

    fn facts(self) -> Facts {
        let facts = |name, purpose, ending| Facts {
            name,
            purpose,
            ending,
        };
        match self {
            Format::Pytest => facts("pytest", "a test with redis-py and PyMySQL", ".py"),
            Format::Vitest => facts("vitest", "a test with ioredis and mysql2", ".test.js"),
            Format::Phpunit => facts("phpunit", "a test with phpredis and PDO", ".php"),
            Format::Rust => facts("rust", "a test with tokio, redis and mysql_async", ".rs"),
            Format::Go => facts("go", "a test with go-redis and go-sql-driver", "_test.go"),
            Format::Junit => facts("junit", "a test with Jedis and JDBC", ".java"),
            Format::Mermaid => facts("mermaid", "a sequence diagram", ".mmd"),
            Format::Svg => facts("svg", "the picture", ".svg"),
            Format::Markdown => facts("markdown", "a remark for a review", ".md"),
            Format::Promela => facts("promela", "a model for Spin", ".pml"),
            Format::Tla => facts("tla", "a model for TLC", ".tla"),
        }
    }

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// What it is, in a few words without a capital: `a test with redis-py and PyMySQL`.
    pub fn purpose(self) -> &'static str {
        self.facts().purpose
    }

    /// What the names of its files end with: `.test.js`.
    pub fn ending(self) -> &'static str {
        self.facts().ending
    }

    /// Whether it is a test for real servers.
    pub fn is_test(self) -> bool {
        match self {
            Format::Pytest
            | Format::Vitest
            | Format::Phpunit
            | Format::Rust
            | Format::Go
            | Format::Junit => true,
            Format::Mermaid | Format::Svg | Format::Markdown | Format::Promela | Format::Tla => {
                false
            }
        }
    }

    /// Whether it is a model of the protocols, for a model checker. It leaves the schedule out.
    pub fn is_model(self) -> bool {
        matches!(self, Format::Promela | Format::Tla)
    }

    /// The name of the file that it is usually kept in, for a scenario that is called so: `test_split_acquire.py`. PHPUnit and
    /// Java want the file to be called like the class, and TLC like the module, and those are called like the scenario's title.
    pub fn file_name(self, scenario: &str) -> String {
        let name = match self {
            Format::Pytest => format!("test_{}", words::words(scenario).join("_")),
            Format::Vitest | Format::Mermaid | Format::Svg | Format::Markdown | Format::Promela => {
                words::words(scenario).join("-")
            }
            Format::Rust | Format::Go | Format::Tla => words::snake(scenario),
            Format::Phpunit | Format::Junit => words::test_class(scenario),
        };
        name + self.ending()
    }

    /// The format that is called so.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What is asked of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Asserts that the properties hold in place of what the playground saw.
    pub holds: bool,
}

impl Format {
    /// How a language spells a variable.
    fn spelling(self) -> Option<fn(&str) -> String> {
        Some(match self {
            Format::Pytest => python::variable,
            Format::Vitest => vitest::variable,
            Format::Phpunit => phpunit::variable,
            Format::Rust => rust::variable,
            Format::Go => go::variable,
            Format::Junit => junit::variable,
            _ => return None,
        })
    }
}

/// Why a scenario cannot be exported, in a sentence without a capital and a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Exports a scenario whose text has been read, and whose schedule has been played.
///
/// # Errors
/// What in it no test against real servers can do, and where it stands.
pub fn export(
    text: &str,
    reading: &Reading,
    timeline: &Timeline,
    format: Format,
    options: Options,
) -> Result<String, Refusal> {
    if matches!(format, Format::Mermaid | Format::Svg | Format::Markdown) {
        is_possible(reading, timeline)?;
    }
    let renamed = format
        .spelling()
        .and_then(|spell| variables::told_apart(reading, &spell));
    let replayed = renamed.map(|reading| {
        let actions = reading.schedule.iter().map(|line| line.action.clone());
        let timeline = Timeline::replay(reading.setup.clone(), actions);
        (reading, timeline)
    });
    let (reading, timeline) = replayed
        .as_ref()
        .map_or((reading, timeline), |(reading, timeline)| {
            (reading, timeline)
        });
    let plan = || plan::Plan::new(text, reading, timeline);
    Ok(match format {
        Format::Pytest => python::print(plan()?, options),
        Format::Vitest => vitest::print(plan()?, options),
        Format::Phpunit => phpunit::print(plan()?, options),
        Format::Rust => rust::print(plan()?, options),
        Format::Go => go::print(plan()?, options),
        Format::Junit => junit::print(plan()?, options),
        Format::Mermaid => mermaid::print(reading, timeline),
        Format::Svg => svg::print(reading, timeline),
        Format::Markdown => markdown::print(text, reading, timeline),
        Format::Promela => promela::print(&model::model(reading)?),
        Format::Tla => tla::print(&model::model(reading)?, &words::snake(&reading.title)),
    })
}

/// Refuses a schedule with an action that is not possible; a picture would show the rest as if it were all.
fn is_possible(reading: &Reading, timeline: &Timeline) -> Result<(), Refusal> {
    for (line, entry) in reading.schedule.iter().zip(timeline.entries()) {
        if let Some(why) = entry.refusal() {
            let line = line.line;
            return Err(Refusal(format!("line {line}: this is not possible: {why}")));
        }
    }
    Ok(())
}

/// The variables of a request, in the order of writing.
fn variables(request: &Request) -> Box<dyn Iterator<Item = &str> + '_> {
    match request {
        Request::Store(_, arguments) | Request::Gateway(arguments) => {
            Box::new(arguments.iter().filter_map(variable))
        }
        Request::Database(Ok(statement)) => {
            Box::new(statement.variables().iter().map(String::as_str))
        }
        Request::Database(Err(_)) => Box::new(std::iter::empty()),
        Request::CheckDeadline(argument) | Request::Await(argument) | Request::Sleep(argument) => {
            Box::new(variable(argument).into_iter())
        }
        Request::Quorum {
            key, lease, drift, ..
        } => Box::new([key, lease].into_iter().chain(drift).filter_map(variable)),
    }
}

fn variable(argument: &Argument) -> Option<&str> {
    match argument {
        Argument::Variable(name) => Some(name),
        _ => None,
    }
}

//! Plays a scenario on a real Redis and a real MySQL or MariaDB, and compares every answer with the playground's.
//!
//! ```text
//! Timeline ──► facts, one after the other ──► Link for each client and server ──► reply ──► as the playground says?
//! ```
//!
//! Each client has one connection to each server. A connection hands over whatever the server sends, in order, so that a request
//! that waits for somebody else, a pushed message and a reply that nobody waits for any more are compared where the playground
//! has them.

mod database;
mod link;
mod played;
mod prefix;
mod store;

use std::fmt;

use crate::scenario::Reading;
use crate::timeline::Timeline;

/// Where the servers are, and how time passes.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// `redis://user:password@host:port/database`.
    pub redis: Option<String>,
    /// `mysql://user:password@host:port/database`. Without a database one is made, and dropped in the end.
    pub mysql: Option<String>,
    /// What stands before every key and every channel in Redis; without it they have their own names.
    pub prefix: Option<String>,
    /// Whether keys are made to lapse instead of waiting.
    pub lapse: bool,
}

/// Why a scenario was not played to its end as the playground has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The servers disagree with the playground.
    Difference {
        /// The line of the text; `None`: it is about the end of the schedule.
        line: Option<usize>,
        /// What was done or looked at.
        what: String,
        /// What the playground has.
        playground: String,
        /// What the servers have.
        servers: String,
    },
    /// It cannot be played: why.
    Impossible(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Difference {
                line,
                what,
                playground,
                servers,
            } => {
                if let Some(line) = line {
                    write!(formatter, "{line}: ")?;
                }
                write!(
                    formatter,
                    "{what}: the playground has {playground}, the servers have {servers}"
                )
            }
            Trouble::Impossible(why) => formatter.write_str(why),
        }
    }
}

/// What was compared without a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Replies to requests.
    pub replies: usize,
    /// Rows at the end.
    pub rows: usize,
    /// Keys at the end.
    pub keys: usize,
}

/// Plays a scenario on real servers, and compares. `say` is told what a person who waits should know.
///
/// # Errors
/// The first difference, or why it cannot be played.
pub fn run(
    reading: &Reading,
    timeline: &Timeline,
    servers: &Servers,
    say: &mut dyn FnMut(&str),
) -> Result<Compared, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::Impossible(error.to_string()))?;
    runtime.block_on(played::play(reading, timeline, servers, say))
}

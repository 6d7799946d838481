//! Plays a scenario on real Redis servers and a real MySQL or MariaDB, and compares every answer with the playground's.
//!
//! ```text
//! Timeline ──► facts, one after the other ──► Link for each client and server ──► reply ──► as the playground says?
//! ```
//!
//! Each client has one connection to each server. A connection hands over whatever the server sends, in order, so that a request
//! that waits for somebody else, a pushed message and a reply that nobody waits for any more are compared where the playground
//! has them. The servers are given, or the program's own: those can crash, lag, take over and have clocks that jump.

mod compared;
mod database;
mod fleet;
mod link;
mod played;
mod prefix;
mod stage;
mod started;
mod store;
mod stream;

use std::fmt;

use crate::scenario::Reading;
use crate::timeline::Timeline;

/// Where the servers are, and how time passes.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// The Redis servers.
    pub redis: Vec<Given>,
    /// `mysql://user:password@host:port/database`. Without a database one is made, and dropped in the end.
    pub mysql: Option<String>,
    /// What stands before every key and every channel in a Redis that was given; without it they have their own names.
    pub prefix: Option<String>,
    /// Whether keys are made to lapse instead of waiting.
    pub lapse: bool,
    /// Whether the program starts redis-servers of its own, and a MariaDB where `mysql` is none. Their clocks are set, so that
    /// nothing is waited for, where a C compiler is there.
    pub start: bool,
    /// Whether servers that were given may be made replicas of each other, where they are empty.
    pub may_replicate: bool,
}

/// A Redis server that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Which one of the scenario's it is; `None`: the only one.
    pub name: Option<String>,
    /// `redis://user:password@host:port/database`.
    pub url: String,
}

impl Given {
    /// Reads `URL` or `NAME=URL`.
    pub fn read(text: &str) -> Given {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) if !name.contains(':') => (Some(name.to_owned()), url),
            _ => (None, text),
        };
        Given {
            name,
            url: url.to_owned(),
        }
    }
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
    /// The program was told to stop (Ctrl-C, SIGTERM).
    Interrupted,
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
            Trouble::Interrupted => formatter.write_str("interrupted"),
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

/// Plays scenarios, one after the other. What it has started for several of them ends with it.
pub struct Player {
    servers: Servers,
    runtime: tokio::runtime::Runtime,
    started: Started,
}

/// What is started once for all scenarios.
#[derive(Default)]
struct Started {
    mariadb: Option<started::MariaDb>,
    /// What makes clocks settable, or why there is none; `None`: nobody has asked yet.
    clocks: Option<Result<started::ClockLibrary, String>>,
}

impl Player {
    /// Plays on these servers.
    ///
    /// # Errors
    /// The operating system has no room for it.
    pub fn new(servers: Servers) -> Result<Player, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Trouble::Impossible(error.to_string()))?;
        Ok(Player {
            servers,
            runtime,
            started: Started::default(),
        })
    }

    /// Plays a scenario and compares. `say` is told what a person who waits should know.
    ///
    /// # Errors
    /// The first difference, or why it cannot be played.
    pub fn play(
        &mut self,
        reading: &Reading,
        timeline: &Timeline,
        say: &mut dyn FnMut(&str),
    ) -> Result<Compared, Trouble> {
        let play = stage::play(reading, timeline, &self.servers, &mut self.started, say);
        self.runtime.block_on(play)
    }

    /// Ends what has been started for all scenarios.
    pub fn stop(&mut self, say: &mut dyn FnMut(&str)) {
        if let Some(mariadb) = self.started.mariadb.take() {
            say(&format!("stopped: process {}", mariadb.id()));
            self.runtime.block_on(mariadb.stop());
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.stop(&mut |_| {});
    }
}

//! What a scenario can read: what nothing can read is no part of a world in a search.
//!
//! This goes by the words of the text, and errs on the side of reading.

use super::bounds::{Bounds, Reduction};
use super::liveness::Liveness;
use super::moves::Rules;
use crate::sim::client::{Client, Place};
use crate::sim::setup::Setup;

/// What something in the scenario reads.
pub(super) struct Reads {
    /// Absolute time.
    pub clock: bool,
    /// ROW_COUNT().
    pub row_count: bool,
    /// LAST_INSERT_ID().
    pub last_insert_id: bool,
    liveness: Liveness,
}

/// Commands and functions that read, or are given, absolute time.
const CLOCK: [&str; 24] = [
    "TIME",
    "EXPIREAT",
    "PEXPIREAT",
    "EXAT",
    "PXAT",
    "EXPIRETIME",
    "PEXPIRETIME",
    "NOW",
    "SYSDATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURDATE",
    "CURTIME",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "UNIX_TIMESTAMP",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "FROM_UNIXTIME",
    "LASTSAVE",
    "OBJECT",
    "CLOCK",
];

/// Functions and commands that read what remains of a deadline.
const REMAINING: [&str; 4] = ["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"];

impl Reads {
    /// What a scenario reads.
    pub fn of(setup: &Setup) -> Reads {
        let words = words_of(setup);
        let mentions = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        Reads {
            clock: mentions(&CLOCK),
            row_count: mentions(&["ROW_COUNT"]),
            last_insert_id: mentions(&["LAST_INSERT_ID", "IDENTITY"]),
            liveness: Liveness::of(setup),
        }
    }

    /// Whether the client holds something that is to be forgotten.
    pub fn has_to_forget(
        &self,
        place: usize,
        client: &Client,
        rules: &Rules,
        bounds: &Bounds,
    ) -> bool {
        let ages = match client.place {
            Place::InFlight { age, .. } | Place::Blocked { age, .. } => age != 0,
            _ => false,
        };
        let counts = client
            .beliefs
            .values()
            .any(|belief| !matches!(belief.remaining, None | Some(0)));
        let has_order = client.order.is_some() && client.is_over();
        (!rules.checks_beliefs && (ages || counts))
            || has_order
            || client
                .variables
                .keys()
                .any(|name| !self.is_alive(place, client, name, bounds))
    }

    /// Forgets what the client will never use.
    pub fn forget(&self, place: usize, client: &mut Client, rules: &Rules, bounds: &Bounds) {
        if !rules.checks_beliefs {
            if let Place::InFlight { age, .. } | Place::Blocked { age, .. } = &mut client.place {
                *age = 0;
            }
            for belief in client.beliefs.values_mut() {
                belief.remaining = belief.remaining.map(|_| 0);
            }
        }
        if client.is_over() {
            client.order = None;
        }
        let mut variables = std::mem::take(&mut client.variables);
        variables.retain(|name, _| self.is_alive(place, client, name, bounds));
        client.variables = variables;
    }

    /// Whether a later step may read the variable; a run that has ended reads none.
    fn is_alive(&self, place: usize, client: &Client, name: &str, bounds: &Bounds) -> bool {
        if client.is_over() {
            return false;
        }
        !bounds.uses(Reduction::DeadVariables) || self.liveness.is_alive(place, client, name)
    }
}

/// Whether a scenario reads what remains of a deadline, so that other moments than those that a search tries may matter.
pub(super) fn reads_remaining_time(setup: &Setup) -> bool {
    words_of(setup)
        .iter()
        .any(|word| REMAINING.contains(&word.as_str()) || CLOCK.contains(&word.as_str()))
}

/// Every word in requests, scripts, tables and parameters, in capitals.
fn words_of(setup: &Setup) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |text: &str| {
        let split = text.split(|other: char| !other.is_ascii_alphanumeric() && other != '_');
        for word in split.filter(|word| !word.is_empty()) {
            words.push(word.to_ascii_uppercase());
        }
    };
    for step in setup.protocols.iter().flat_map(|protocol| &protocol.steps) {
        step.source.iter().for_each(|line| add(line));
    }
    for script in setup.scripts.values() {
        add(&String::from_utf8_lossy(script));
    }
    for statement in &setup.statements {
        add(&statement.text_with(&[]));
    }
    for argument in setup.commands.iter().flat_map(|(_, argv)| argv) {
        add(&String::from_utf8_lossy(argument));
    }
    for value in setup
        .clients
        .iter()
        .flat_map(|client| client.parameters.values())
    {
        if let crate::sim::event::Value::Text(text) = value {
            add(&String::from_utf8_lossy(text));
        }
    }
    crate::sorted::sort(&mut words);
    words.dedup();
    words
}

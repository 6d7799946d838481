//! Expectations that say what is so at the end of a schedule.

use crate::property::Verdict;
use crate::sim::action::ServerId;
use crate::sim::database::{TableView, Value};

use super::check::{End, print_columns, print_key_state, quote_name, read_key};
use super::limits;
use super::scan::print_word;

/// How many rows of a table and how many keys are pinned.
const MOST_PINNED: usize = 50;

/// How many blanks stand before an expectation.
const INDENT: usize = 2;

impl End<'_> {
    /// Lines that say what is so, as they stand in an `expect` block.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for wanted in ["broken", "holds", "not tested"] {
            for (property, verdict) in &self.verdicts {
                let name = match verdict {
                    Verdict::Holds { .. } => "holds",
                    Verdict::Broken(_) => "broken",
                    Verdict::NotTested { .. } => "not tested",
                };
                if name == wanted {
                    lines.push(format!("{name}: {}", property.sentence()));
                }
            }
        }
        for table in self.world.database.tables() {
            lines.extend(rows_in_words(table));
        }
        lines.extend(self.keys_in_words());
        if self
            .setup
            .watches
            .iter()
            .any(|watch| watch.fence.is_some() || watch.stock.is_some())
        {
            lines.push(format!("writes: {}", self.writes()));
        }
        if !self.world.gateway.charges().is_empty() {
            lines.push(format!("charges: {}", self.charges()));
        }
        for client in &self.setup.clients {
            lines.push(format!(
                "client {}: {}",
                client.name,
                self.client(&client.name)
            ));
        }
        // What could not be read back is left out.
        lines
            .retain(|line| !line.contains(char::is_control) && line.len() + INDENT <= limits::LINE);
        lines.truncate(limits::EXPECTATIONS);
        lines
    }

    /// The watched keys, there or not, and then the other ones, server by server.
    fn keys_in_words(&self) -> Vec<String> {
        let servers = (0..self.world.stores.len()).map(ServerId);
        servers.flat_map(|server| self.keys_on(server)).collect()
    }

    fn keys_on(&self, server: ServerId) -> Vec<String> {
        let is_first = server == ServerId::FIRST;
        let watched = self.setup.watches.iter().flat_map(|watch| {
            let lock = watch.lock.as_ref();
            let lock = lock.filter(|_| watch.servers().contains(&server));
            [lock, watch.counter.as_ref().filter(|_| is_first)]
        });
        let on = match is_first {
            true => String::new(),
            false => format!(" on {}", self.setup.server_name(server)),
        };
        let store = self.world.store(server);
        let mut keys: Vec<&[u8]> = Vec::new();
        for key in watched
            .flatten()
            .map(Vec::as_slice)
            .chain(store.keys().map(|(key, _)| key))
        {
            if !keys.contains(&key) && keys.len() < MOST_PINNED {
                keys.push(key);
            }
        }
        let line = |key: &&[u8]| {
            let state = store.get(key);
            let value = state.as_ref().map(|state| read_key(store, key, state));
            let ttl = state.map(|state| state.remaining);
            format!(
                "key {}{on}: {}",
                print_word(key),
                print_key_state(value.as_deref(), ttl)
            )
        };
        keys.iter().map(line).collect()
    }
}

/// The rows of a table that has a primary key and other columns.
fn rows_in_words(table: TableView<'_>) -> Vec<String> {
    let key = table.primary_key();
    let is_key = |column: &&String| key.contains(&column.as_str());
    let others: Vec<&String> = table
        .columns()
        .iter()
        .filter(|column| !is_key(column))
        .collect();
    if key.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let rows = table.rows().take(MOST_PINNED).map(|row| {
        let literal = |column: &str| row.get(column).map(Value::to_literal).unwrap_or_default();
        let key: Vec<String> = key.iter().map(|column| literal(column)).collect();
        let columns: Vec<(String, String)> = others
            .iter()
            .map(|column| (plain_name(column), literal(column)))
            .collect();
        format!(
            "{} {}: {}",
            plain_name(table.name()),
            key.join(", "),
            print_columns(&columns)
        )
    });
    rows.collect()
}

/// A name as an expectation writes it: in backquotes where it needs them.
fn plain_name(name: &str) -> String {
    match name.chars().all(super::scan::is_plain) && !matches!(name, "key" | "client") {
        true => name.to_owned(),
        false => quote_name(name),
    }
}

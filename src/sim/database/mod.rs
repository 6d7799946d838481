//! The MySQL-like database.
//!
//! A statement's text is parsed once ([`Statement`]) and applied by a connection. Simple ones are
//! answered at once; one that needs a row that another transaction has locked gets no reply until
//! that transaction ends, the wait becomes too long, or a deadlock is found:
//!
//! ```text
//!  A  BEGIN   UPDATE row 1 ............ COMMIT
//!  B  BEGIN                UPDATE row 1 ~~~~~~ 1 row
//! ```
//!
//! The parts, from the text inwards: [`lexer`] and the parsers make a [`syntax`] tree, [`session`]
//! runs it within a transaction, [`mod@write`] and [`select`] read and write rows, [`expression`] works
//! out values, [`state`] holds all that lasts. The truth is a real server: the differential test
//! compares every reply with MariaDB's; where MySQL 8 differs from it, [`error::WHERE_MYSQL_DIFFERS`]
//! says so.
//!
//! What it has and has not, where MySQL differs from MariaDB, and where it departs on purpose:
//! DATABASE.md.

mod alter;
mod arithmetic;
mod calendar;
mod collation;
mod column;
mod decimal;
mod define;
mod error;
mod expression;
mod fact;
mod function;
mod kind;
mod letter_case;
mod lexer;
mod lock;
mod parse;
mod parse_expression;
mod parse_table;
mod path;
mod print;
mod reply;
mod reserved;
mod run;
mod select;
mod session;
mod show;
mod state;
mod statement;
mod syntax;
mod table;
mod value;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::calendar::DateTime;
pub use self::decimal::Decimal;
pub use self::error::{SqlError, WHERE_MYSQL_DIFFERS};
pub use self::fact::{Condition, DatabaseFact, RowFact, WriteFact, WriteKind};
pub(crate) use self::letter_case::lower;
pub use self::reply::SqlReply;
pub use self::statement::{Statement, StatementKind};
pub use self::table::{MOST_ROWS, MOST_TABLES};
pub use self::value::{Double, Row, Value};
use super::ConnectionId;

/// A database: tables, transactions, locks, and statements that wait. Cloning shares everything
/// until it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Database {
    state: Arc<state::State>,
}

/// What happens to a database.
#[derive(Clone, Copy, Debug)]
pub enum DatabaseInput<'a> {
    /// Time passes; a lock wait that has lasted its whole timeout ends with error 1205.
    Elapse {
        /// Milliseconds.
        ms: u64,
    },
    /// A client has given a connection up while a statement is under way on it: its transaction and locks go on under another number.
    LeaveBehind {
        /// The connection that the client gives up.
        connection: ConnectionId,
        /// Its number from now on, which nobody has.
        left: ConnectionId,
    },
    /// The server's wall clock jumps. Lock waits go by another clock, as in MySQL, and last as long as before.
    ClockJump {
        /// Milliseconds; forward where positive.
        ms: i64,
    },
    /// A connection sends a statement.
    Statement {
        /// Whose.
        connection: ConnectionId,
        /// What.
        statement: &'a Statement,
        /// Values for the statement's placeholders, by name.
        parameters: &'a [(String, Value)],
        /// Milliseconds since 1970, for NOW().
        now: u64,
    },
    /// A connection ends: its transaction is rolled back.
    Disconnect {
        /// Whose.
        connection: ConnectionId,
    },
}

/// What comes out of one input.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DatabaseOutput {
    /// Replies, in the order of happening; a connection that has sent a statement and has none yet
    /// waits for a lock.
    pub replies: Vec<(ConnectionId, SqlReply)>,
    /// What happened, in the order of happening.
    pub facts: Vec<DatabaseFact>,
    /// Whether several connections went on at once, which real servers let race.
    pub together: bool,
}

/// A table as it is committed.
#[derive(Clone, Copy, Debug)]
pub struct TableView<'a> {
    table: &'a table::Table,
}

impl<'a> TableView<'a> {
    /// The name.
    pub fn name(self) -> &'a str {
        &self.table.definition.name
    }

    /// The names of the columns, in the order of their definition.
    pub fn columns(self) -> &'a [String] {
        &self.table.definition.names
    }

    /// The columns of the primary key, in the key's order; empty without one.
    pub fn primary_key(self) -> Vec<&'a str> {
        let definition = &self.table.definition;
        let primary = definition
            .indexes
            .iter()
            .find(|index| index.kind == column::KeyKind::Primary);
        let columns = primary.map_or(&[][..], |index| &index.columns);
        columns
            .iter()
            .map(|column| definition.names[*column].as_str())
            .collect()
    }

    /// The committed rows, in the order of the primary key.
    pub fn rows(self) -> impl Iterator<Item = Row> + 'a {
        let names = &self.table.definition.names;
        self.table
            .rows
            .iter()
            .map(|(_, values)| Row::new(names.clone(), values.clone()))
    }
}

impl Database {
    /// Applies one input. Everything that it causes happens at once, other connections' statements
    /// that can go on now included.
    pub fn apply(&mut self, input: DatabaseInput<'_>) -> DatabaseOutput {
        let mut output = DatabaseOutput::default();
        if let (DatabaseInput::Elapse { .. }, true) = (&input, self.state.waiting.is_empty()) {
            return output;
        }
        let state = Arc::make_mut(&mut self.state);
        match input {
            DatabaseInput::Elapse { ms } => state.elapse(ms, &mut output),
            DatabaseInput::LeaveBehind { connection, left } => state.leave_behind(connection, left),
            DatabaseInput::ClockJump { ms } => state.clock += ms,
            DatabaseInput::Disconnect { connection } => state.disconnect(connection, &mut output),
            DatabaseInput::Statement {
                connection,
                statement,
                parameters,
                now,
            } => {
                let bound = |name: &String| {
                    parameters
                        .iter()
                        .find(|(known, _)| known == name)
                        .map(|(_, value)| value.clone())
                };
                match statement
                    .variables()
                    .iter()
                    .map(bound)
                    .collect::<Option<Vec<Value>>>()
                {
                    Some(values) => {
                        let now = now.saturating_add_signed(state.clock);
                        state.statement(connection, statement, values, now, &mut output)
                    }
                    None => {
                        let error = error::wrong_arguments("EXECUTE");
                        output.replies.push((connection, SqlReply::Error(error)));
                    }
                }
            }
        }
        output
    }

    /// The tables, in the order of their definition.
    pub fn tables(&self) -> impl Iterator<Item = TableView<'_>> {
        self.state.tables.iter().map(|table| TableView { table })
    }

    /// The table so named; names of tables are compared with case.
    pub fn table(&self, name: &str) -> Option<TableView<'_>> {
        self.tables().find(|table| table.name() == name)
    }

    /// Whether UPDATE reports the rows that it matched and not those that it changed
    /// (CLIENT_FOUND_ROWS), for connections that do not say. False at first, as in the C client;
    /// Connector/J and PHP's PDO with MYSQL_ATTR_FOUND_ROWS turn it on.
    pub fn set_found_rows(&mut self, on: bool) {
        Arc::make_mut(&mut self.state).found_rows = on;
    }

    /// The same for one connection.
    pub fn set_connection_found_rows(&mut self, connection: ConnectionId, on: bool) {
        let state = Arc::make_mut(&mut self.state);
        let mut session = state.take_session(connection);
        session.found_rows = Some(on);
        state.put_session(connection, session);
    }

    /// How far its wall clock is ahead of the right time, in milliseconds.
    pub fn clock(&self) -> i64 {
        self.state.clock
    }

    /// Whether the connection waits for a lock.
    pub fn is_waiting(&self, connection: ConnectionId) -> bool {
        self.state.waiting_of(connection).is_some()
    }

    /// What the connection's statement waits for: the table in which others have locked something, or the name of a lock of GET_LOCK;
    /// and who is in its way, each once. `None`: it does not wait.
    pub fn waits_for(&self, connection: ConnectionId) -> Option<(String, Vec<ConnectionId>)> {
        let state = &self.state;
        let mut queue = state.waiting.iter();
        let ahead = queue.position(|waiting| waiting.connection == connection)?;
        let request = &state.waiting[ahead].request;
        let holders = state.holders(connection, request, ahead);
        Some((request.target.name(), holders))
    }

    /// Whether the connection is in a transaction of several statements.
    pub fn in_transaction(&self, connection: ConnectionId) -> bool {
        self.state
            .session(connection)
            .is_some_and(|session| session.transaction.is_some())
    }

    /// Whether others may have to wait for what the connection has begun: a transaction of several statements, or locks of GET_LOCK.
    pub fn keeps_locks(&self, connection: ConnectionId) -> bool {
        let mut named = self.state.named.iter();
        self.in_transaction(connection) || named.any(|lock| lock.owner == connection)
    }

    /// Whether no connection has anything of its own here, and no value is one of these names.
    pub fn knows_nobody(&self, is_name: &dyn Fn(&[u8]) -> bool) -> bool {
        let state = &self.state;
        let is_free = state.sessions.is_empty()
            && state.locks.is_empty()
            && state.waiting.is_empty()
            && state.named.is_empty();
        let rows = state.tables.iter().flat_map(|table| &table.rows);
        is_free
            && rows
                .flat_map(|(_, values)| values.iter())
                .all(|value| !matches!(value, Value::Text(text) if is_name(text.as_bytes())))
    }

    /// Forgets what sessions keep only for ROW_COUNT(), and only for LAST_INSERT_ID(): for a search through a scenario in which
    /// nothing calls them, so that databases that nothing can tell apart are equal.
    pub fn forget_unread(&mut self, row_count: bool, last_insert_id: bool) {
        let holds = |session: &state::Session| {
            (row_count && session.row_count != 0) || (last_insert_id && session.last_insert_id != 0)
        };
        if self
            .state
            .sessions
            .iter()
            .any(|(_, session)| holds(session))
        {
            Arc::make_mut(&mut self.state).forget_unread(row_count, last_insert_id);
        }
    }

    /// Milliseconds until the first lock wait becomes too long; none when nobody waits.
    pub fn next_deadline(&self) -> Option<u64> {
        self.state
            .waiting
            .iter()
            .map(|waiting| waiting.request.patience)
            .min()
    }
}

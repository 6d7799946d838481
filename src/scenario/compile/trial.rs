//! A store and a database on which everything before the schedule is tried, so that what is wrong with it is an error of the
//! text.

use crate::sim::action::{ServerId, Who};
use crate::sim::database::{Database, DatabaseInput, SqlError, SqlReply, Statement};
use crate::sim::store::reply::Reply;
use crate::sim::store::{Store, StoreInput};
use crate::sim::time::START_OF_WALL_CLOCK;
use crate::sim::world::connection_of;

/// The servers as they are before the schedule.
#[derive(Default)]
pub(in super::super) struct Trial {
    stores: Vec<Store>,
    database: Database,
}

impl Trial {
    /// Runs a statement without variables; a reply that never comes is `None`.
    pub fn statement(&mut self, statement: &Statement) -> Option<Result<SqlReply, SqlError>> {
        let connection = connection_of(Who::Operator);
        let now = START_OF_WALL_CLOCK;
        let input = DatabaseInput::Statement {
            connection,
            statement,
            parameters: &[],
            now,
        };
        let reply = self
            .database
            .apply(input)
            .replies
            .into_iter()
            .next_back()?
            .1;
        Some(match reply {
            SqlReply::Error(error) => Err(error),
            reply => Ok(reply),
        })
    }

    /// Runs a statement given as text.
    pub fn query(&mut self, text: &str) -> Option<Result<SqlReply, SqlError>> {
        match Statement::parse(text) {
            Ok(statement) => self.statement(&statement),
            Err(error) => Some(Err(error)),
        }
    }

    /// Runs a command; a reply that never comes is `None`.
    pub fn command(&mut self, server: ServerId, argv: &[Vec<u8>]) -> Option<Result<Reply, String>> {
        let connection = connection_of(Who::Operator);
        let input = StoreInput::Command {
            connection,
            argv,
            now: START_OF_WALL_CLOCK,
        };
        let store = self.stores.get_mut(server.0)?;
        let reply = store.apply(input).replies.into_iter().next_back()?.1;
        Some(match reply {
            Reply::Error(error) => Err(error),
            reply => Ok(reply),
        })
    }

    /// So many Redis-like servers are there.
    pub fn set_servers(&mut self, count: usize) {
        self.stores.resize_with(count, Store::default);
    }

    /// Makes the database report matched rows instead of changed ones.
    pub fn set_found_rows(&mut self) {
        self.database.set_found_rows(true);
    }

    /// The names of the tables that are there.
    pub fn tables(&self) -> Vec<String> {
        self.database
            .tables()
            .map(|table| table.name().to_owned())
            .collect()
    }

    /// The names of a table's columns; `None`: there is no such table.
    pub fn columns(&self, table: &str) -> Option<Vec<String>> {
        self.database
            .table(table)
            .map(|table| table.columns().to_vec())
    }

    /// The names of the columns of a table's primary key; empty where it has none.
    pub fn primary_key(&self, table: &str) -> Vec<String> {
        let table = self.database.table(table);
        let columns = table.map(|table| table.primary_key()).unwrap_or_default();
        columns.into_iter().map(str::to_owned).collect()
    }
}

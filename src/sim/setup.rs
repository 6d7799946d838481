//! What a scenario sets up before its schedule begins: tables, keys, scripts, protocols and clients.

use super::client::protocol::Protocol;
use super::database::Statement;
use super::event::Value;
use crate::sorted::SortedMap;

/// Everything that stands before the schedule. It never changes while the schedule runs, and worlds refer to it
/// by indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Statements run before the schedule, in order: the tables and their rows. Each was tried when the text was read,
    /// and succeeds.
    pub statements: Vec<Statement>,
    /// Redis commands run before the schedule, in order. Each was tried when the text was read, and gives no error.
    pub commands: Vec<Vec<Vec<u8>>>,
    /// Lua scripts by name, verbatim.
    pub scripts: SortedMap<String, Vec<u8>>,
    /// The protocols in the order of the text.
    pub protocols: Vec<Protocol>,
    /// The clients in the order of the text; [`super::action::ClientId`] is the place here.
    pub clients: Vec<ClientDeclaration>,
    /// Which keys and columns play which part, one entry for each `watch` line.
    pub watches: Vec<Watch>,
    /// Whether drivers report matched rows instead of changed rows (MySQL's CLIENT_FOUND_ROWS flag, C API
    /// documentation of mysql_real_connect).
    pub found_rows: bool,
}

/// A client as the text declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientDeclaration {
    /// Its name, unique in the scenario; never `operator`.
    pub name: String,
    /// Which protocol it runs, as an index; `None`: it only types at its console.
    pub protocol: Option<usize>,
    /// How many times it runs the protocol, one after the other; at least 1.
    pub rounds: u32,
    /// Its parameters, which are variables from the start.
    pub parameters: SortedMap<String, Value>,
}

/// The parts that keys and columns play: roles are written, never guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The lock's key.
    pub lock: Option<Vec<u8>>,
    /// The fencing counter's key.
    pub counter: Option<Vec<u8>>,
    /// The column that remembers the token of the last write.
    pub fence: Option<Column>,
    /// The column that counts units on stock.
    pub stock: Option<Column>,
}

/// A column of a table, `inventory.qty`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// The table's name as it is written.
    pub table: String,
    /// The column's name as it is written.
    pub column: String,
}

//! What happened inside, for those who judge it: which row a write pointed at, what each of its
//! conditions said, and when transactions ended.

use super::ConnectionId;
use super::value::{Row, Value};

/// A fact, in the order of happening.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DatabaseFact {
    /// A statement wrote, or tried to.
    Write(WriteFact),
    /// A transaction's writes count from now on.
    Committed {
        /// Whose.
        connection: ConnectionId,
    },
    /// A transaction's writes never were.
    RolledBack {
        /// Whose.
        connection: ConnectionId,
    },
    /// A statement waits for what others hold.
    Waits {
        /// Who waits.
        connection: ConnectionId,
        /// For what: a table, or the name of a lock of GET_LOCK.
        what: String,
        /// Who holds it or is before it in the queue, in order.
        holders: Vec<ConnectionId>,
    },
    /// A circle of waiting connections was cut: this one's transaction is rolled back.
    Deadlock {
        /// The victim.
        connection: ConnectionId,
    },
    /// A statement waited too long.
    WaitEnded {
        /// Who waited.
        connection: ConnectionId,
    },
}

/// The kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteKind {
    /// INSERT, also with ON DUPLICATE KEY UPDATE.
    Insert,
    /// REPLACE.
    Replace,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// TRUNCATE.
    Truncate,
}

/// One of the conditions that AND joins in a WHERE.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// As the user wrote it, with values filled in: `fence_token < 2`.
    pub text: String,
    /// The columns in it, as the table names them, in the order of writing.
    pub columns: Vec<String>,
}

/// One write statement that did not fail.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteFact {
    /// Who wrote.
    pub connection: ConnectionId,
    /// Where.
    pub table: String,
    /// How.
    pub kind: WriteKind,
    /// The conditions that do not identify the row.
    pub conditions: Vec<Condition>,
    /// The conditions that do: equalities on all columns of a primary or unique key.
    pub key_conditions: Vec<String>,
    /// For each row that the key conditions point at, else for every row: what happened to it, in
    /// the order of the clustering key. Empty where there is no such row.
    pub rows: Vec<RowFact>,
    /// The columns that an UPDATE, or ON DUPLICATE KEY UPDATE, assigns, as the user wrote them, and
    /// the text of what is assigned.
    pub assigned: Vec<String>,
    /// Whether it is pending until its transaction commits.
    pub transaction: bool,
}

/// What a write statement did to one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowFact {
    /// The row as it was.
    pub before: Option<Row>,
    /// The row as it is now.
    pub after: Option<Row>,
    /// What each condition says by itself about the row as it was; none for NULL, or where it
    /// cannot be worked out.
    pub outcomes: Vec<Option<bool>>,
    /// Whether the statement applied to the row.
    pub matched: bool,
    /// Whether the row is different now.
    pub changed: bool,
}

impl RowFact {
    /// The value of a column before, if the row was there.
    pub fn before(&self, column: &str) -> Option<&Value> {
        self.before.as_ref().and_then(|row| row.get(column))
    }

    /// The value of a column after, if the row is there.
    pub fn after(&self, column: &str) -> Option<&Value> {
        self.after.as_ref().and_then(|row| row.get(column))
    }
}

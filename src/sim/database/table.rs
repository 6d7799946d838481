//! Tables: their definition, and their rows in the order of the clustering key. As in InnoDB that
//! is the primary key, else the first UNIQUE key without NULL, else a hidden row number.

use std::sync::Arc;

use super::column::{ColumnSpecification, KeyKind};
use super::syntax::Expression;
use super::value::{Value, Values};

/// How many rows a table may hold.
pub const MOST_ROWS: usize = 10_000;
/// How many tables a database may hold.
pub const MOST_TABLES: usize = 64;

/// A row's place in an index: bytes that sort as its values compare.
pub(super) type Key = Arc<[u8]>;

#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) kind: KeyKind,
    pub(super) columns: Vec<usize>,
}

/// A check constraint and its name.
#[derive(Clone, Debug)]
pub(super) struct NamedCheck {
    pub(super) name: String,
    pub(super) expression: Arc<Expression>,
}

/// What CREATE TABLE said. Equal when the text was.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// The text of CREATE TABLE; after ALTER TABLE as SHOW prints it.
    pub(super) source: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) columns: Vec<ColumnSpecification>,
    pub(super) names: Arc<[String]>,
    /// The clustering key first, if there is one, then as MySQL checks them.
    pub(super) indexes: Vec<Index>,
    /// Whether the first index is the clustering key.
    pub(super) clustered: bool,
    pub(super) checks: Vec<NamedCheck>,
    pub(super) auto_increment: Option<usize>,
}

impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        self.source == other.source
    }
}

impl Eq for Definition {}

impl std::hash::Hash for Definition {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

impl Definition {
    /// One without columns yet, indexes and checks, for these names of columns.
    pub(super) fn bare(name: &str, names: Arc<[String]>) -> Definition {
        Definition {
            source: "".into(),
            name: name.into(),
            columns: Vec::with_capacity(names.len()),
            names,
            indexes: Vec::new(),
            clustered: false,
            checks: Vec::new(),
            auto_increment: None,
        }
    }

    /// The number of the column so named.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
    }

    /// The bytes of an index entry without the row's own place behind them.
    pub(super) fn prefix(&self, index: usize, values: &[Value]) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        for column in self
            .indexes
            .get(index)
            .map_or(&[][..], |index| &index.columns)
        {
            values.get(*column).unwrap_or(&Value::Null).encode(&mut out);
        }
        out
    }

    /// The row's entry in an index. A plain or nullable index holds many rows with the same values.
    pub(super) fn entry(&self, index: usize, values: &[Value], key: &Key) -> Key {
        if index == 0 {
            return key.clone();
        }
        let mut out = self.prefix(self.position(index), values);
        out.extend_from_slice(key);
        out.into()
    }

    /// Indexes are numbered from 0 for the rows themselves, so that a table without clustering key
    /// has one more; this is the place in [`Definition::indexes`].
    pub(super) fn position(&self, index: usize) -> usize {
        if self.clustered {
            index
        } else {
            index.wrapping_sub(1)
        }
    }

    /// How many indexes there are, the rows themselves counted.
    pub(super) fn index_count(&self) -> usize {
        self.indexes.len() + usize::from(!self.clustered)
    }

    /// The definition of an index by that number; none for hidden row numbers.
    pub(super) fn index(&self, index: usize) -> Option<&Index> {
        self.indexes.get(self.position(index))
    }
}

/// A table with its committed rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Table {
    pub(super) definition: Arc<Definition>,
    /// Sorted by key.
    pub(super) rows: Vec<(Key, Values)>,
    /// The next number of AUTO_INCREMENT; never taken back.
    pub(super) next_number: u64,
    /// The next hidden row number.
    pub(super) next_row: u64,
}

impl Table {
    pub(super) fn new(definition: Arc<Definition>, next_number: u64) -> Table {
        Table {
            definition,
            rows: Vec::new(),
            next_number,
            next_row: 1,
        }
    }

    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        self.rows.binary_search_by(|(known, _)| (**known).cmp(key))
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Values> {
        self.find(key)
            .ok()
            .and_then(|at| self.rows.get(at))
            .map(|(_, values)| values)
    }

    /// Writes a row, or removes it.
    pub(super) fn put(&mut self, key: &Key, row: Option<Values>) {
        match (self.find(key), row) {
            (Ok(at), Some(row)) => self.rows[at].1 = row,
            (Ok(at), None) => {
                self.rows.remove(at);
            }
            (Err(at), Some(row)) => self.rows.insert(at, (key.clone(), row)),
            (Err(_), None) => {}
        }
    }

    /// Numbers hidden rows from 1 again, so that equal tables are equal however they came about.
    pub(super) fn renumber(&mut self) {
        let hidden = !self.definition.clustered;
        if hidden && self.next_row != self.rows.len() as u64 + 1 {
            let mut next = 1_u64;
            for (key, _) in &mut self.rows {
                *key = next.to_be_bytes().as_slice().into();
                next += 1;
            }
            self.next_row = next;
        }
    }
}

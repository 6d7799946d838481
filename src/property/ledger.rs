//! The ledger of writes: each with its verdict, and the reason in words.
//!
//! A write is accepted when it wrote the row. When it did not, each condition of its WHERE is looked at by itself on the row as it
//! was, and those that did not hold are why: `no stock`, `fenced`, another condition, or no such row at all. So the ledger can
//! say what the fence would have done where something else stopped a write.

use super::findings::Here;
use super::{JudgedCondition, LedgerEntry, Reason, Role};
use crate::sim::action::Who;
use crate::sim::database::{Database, RowFact, SqlError, Statement, TableView, Value, WriteFact};
use crate::sim::setup::{Column, Setup};
use crate::sorted::SortedSet;

/// What a statement did to one row, or that there was none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RowWrite {
    /// The table's name.
    pub table: String,
    /// Names the row for people: `sku = 'sku-1'`.
    pub label: String,
    /// Names the row for good: the table and the primary key.
    pub identity: String,
    /// Whether there was such a row, or there is one now.
    pub exists: bool,
    /// Whether the row was written, be it with the values that it had.
    pub accepted: bool,
    /// Whether the row is different now.
    pub changed: bool,
    /// Each condition of the WHERE, on the row as it was.
    pub conditions: Vec<JudgedCondition>,
    /// The integers of watched columns, as they were and as they are; `None`: no such row, NULL, or no integer.
    pub values: Vec<ColumnValues>,
    /// The token that the fence conditions compare with.
    pub compared: Option<i64>,
    /// The error that the statement was answered with.
    pub error: Option<String>,
}

/// A watched column of a row, before and after a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ColumnValues {
    /// The column's name.
    pub column: String,
    /// What it was.
    pub before: Option<i64>,
    /// What it is.
    pub after: Option<i64>,
}

impl RowWrite {
    /// Whether any condition is about the fence.
    pub fn has_fence(&self) -> bool {
        self.of_role(Role::Fence).next().is_some()
    }

    /// Whether a fence condition did not hold.
    pub fn is_fenced(&self) -> bool {
        self.exists
            && self
                .of_role(Role::Fence)
                .any(|condition| condition.outcome != Some(true))
    }

    /// Whether there is such a row and every condition but the fence's held.
    pub fn others_pass(&self) -> bool {
        self.exists
            && self.error.is_none()
            && self
                .conditions
                .iter()
                .all(|condition| condition.role == Role::Fence || condition.outcome == Some(true))
    }

    /// The fence conditions as they stand.
    pub fn fence_texts(&self) -> String {
        let texts: Vec<&str> = self
            .of_role(Role::Fence)
            .map(|condition| condition.text.as_str())
            .collect();
        texts.join(" AND ")
    }

    /// The watched column before and after.
    pub fn values_of(&self, column: &Column) -> Option<&ColumnValues> {
        self.is_of(column)
            .then(|| {
                self.values
                    .iter()
                    .find(|values| values.column.eq_ignore_ascii_case(&column.column))
            })
            .flatten()
    }

    /// Whether the column's table is the one that was written.
    pub fn is_of(&self, column: &Column) -> bool {
        column.table.eq_ignore_ascii_case(&self.table)
    }

    fn of_role(&self, role: Role) -> impl Iterator<Item = &JudgedCondition> {
        self.conditions
            .iter()
            .filter(move |condition| condition.role == role)
    }

    /// Why the row was not written; empty when it was.
    fn reasons(&self) -> Vec<Reason> {
        if self.accepted {
            return Vec::new();
        }
        if let Some(error) = &self.error {
            return vec![Reason::Error(error.clone())];
        }
        if !self.exists {
            return vec![Reason::NoSuchRow];
        }
        let mut reasons: Vec<Reason> = self
            .conditions
            .iter()
            .filter(|condition| condition.outcome != Some(true))
            .map(|condition| match condition.role {
                Role::Stock => Reason::NoStock,
                Role::Fence => Reason::Fenced,
                Role::Other => Reason::Condition(condition.text.clone()),
            })
            .collect();
        crate::sorted::sort(&mut reasons);
        reasons.dedup();
        reasons
    }
}

/// The rows that a statement was about: those that its key conditions name; without such conditions those that it matched, or
/// the only row of the table. A row-less entry when there is none.
pub(super) fn rows_of(setup: &Setup, database: &Database, write: &WriteFact) -> Vec<RowWrite> {
    let mut rows: Vec<&RowFact> = write.rows.iter().collect();
    if write.key_conditions.is_empty() && rows.len() > 1 {
        rows.retain(|row| row.matched);
    }
    if rows.is_empty() {
        return vec![no_row(write)];
    }
    let table = database.table(&write.table);
    let key = table.map_or(Vec::new(), TableView::primary_key);
    rows.into_iter()
        .map(|row| row_write(setup, write, &key, row))
        .collect()
}

fn no_row(write: &WriteFact) -> RowWrite {
    let conditions = write
        .conditions
        .iter()
        .map(|condition| condition.text.as_str());
    let all: Vec<&str> = write
        .key_conditions
        .iter()
        .map(String::as_str)
        .chain(conditions)
        .collect();
    RowWrite {
        table: write.table.clone(),
        label: all.join(" AND "),
        ..RowWrite::default()
    }
}

fn row_write(setup: &Setup, write: &WriteFact, key: &[&str], row: &RowFact) -> RowWrite {
    let conditions: Vec<JudgedCondition> = write
        .conditions
        .iter()
        .zip(&row.outcomes)
        .map(|(condition, outcome)| JudgedCondition {
            text: condition.text.clone(),
            role: role_of(setup, &write.table, &condition.columns),
            outcome: *outcome,
            stood: stood_in(row, &condition.columns),
        })
        .collect();
    let key = key_of(key, row);
    RowWrite {
        table: write.table.clone(),
        label: if write.key_conditions.is_empty() {
            key.clone()
        } else {
            write.key_conditions.join(" AND ")
        },
        identity: format!("{}: {key}", write.table.to_ascii_lowercase()),
        exists: true,
        accepted: row.matched,
        changed: row.changed,
        values: watched_values(setup, write, row),
        compared: conditions
            .iter()
            .filter(|condition| condition.role == Role::Fence)
            .find_map(|condition| only_integer_in(&condition.text)),
        conditions,
        error: None,
    }
}

/// What stood in these columns of the row, with their names where there are several.
fn stood_in(row: &RowFact, columns: &[String]) -> String {
    let stood: Vec<(&String, String)> = columns
        .iter()
        .filter_map(|column| Some((column, row.before(column)?.to_literal())))
        .collect();
    match stood.as_slice() {
        [(_, only)] => only.clone(),
        stood => {
            let stood: Vec<String> = stood
                .iter()
                .map(|(column, value)| format!("{column} {value}"))
                .collect();
            stood.join(", ")
        }
    }
}

/// The row's primary key, or the whole row where there is none: `sku = 'sku-1'`.
fn key_of(key: &[&str], row: &RowFact) -> String {
    let Some(row) = row.before.as_ref().or(row.after.as_ref()) else {
        return String::new();
    };
    let named = row.columns().iter().zip(row.values());
    let parts: Vec<String> = named
        .filter(|(column, _)| key.is_empty() || key.contains(&column.as_str()))
        .map(|(column, value)| format!("{column} = {}", value.to_literal()))
        .collect();
    parts.join(" AND ")
}

fn watched_values(setup: &Setup, write: &WriteFact, row: &RowFact) -> Vec<ColumnValues> {
    // Tokens that are kept as text are integers all the same.
    let integer = |value: Option<&Value>| match value? {
        Value::Text(text) => text.parse().ok(),
        value => value.as_i64(),
    };
    let columns: SortedSet<&str> = setup
        .watches
        .iter()
        .flat_map(|watch| [&watch.stock, &watch.fence])
        .flatten()
        .filter(|column| column.table.eq_ignore_ascii_case(&write.table))
        .map(|column| column.column.as_str())
        .collect();
    columns
        .into_iter()
        .map(|column| ColumnValues {
            column: column.to_string(),
            before: integer(row.before(column)),
            after: integer(row.after(column)),
        })
        .collect()
}

/// The integer in a condition such as `fence_token < 2`, if there is just one.
fn only_integer_in(text: &str) -> Option<i64> {
    let mut integers = integers_in(text);
    integers.next().filter(|_| integers.next().is_none())
}

/// The integers that stand alone in a text, in order.
pub(super) fn integers_in(text: &str) -> impl Iterator<Item = i64> {
    let is_of_word = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '\u{80}'..)
    };
    text.split(move |character| !is_of_word(character))
        .filter_map(|word| word.parse().ok())
}

/// The write on a watched table that a statement was meant to be, where the database answered it with an error.
pub(super) fn failed_write(setup: &Setup, text: &str, error: &SqlError) -> Option<RowWrite> {
    let statement = Statement::parse(text).ok().filter(Statement::is_write)?;
    let tables = statement.tables();
    let table = tables.first().filter(|table| is_watched(setup, table))?;
    Some(RowWrite {
        table: table.to_string(),
        label: String::new(),
        error: Some(error.to_string()),
        ..RowWrite::default()
    })
}

/// Whether any line watches a column of the table.
pub(super) fn is_watched(setup: &Setup, table: &str) -> bool {
    setup
        .watches
        .iter()
        .flat_map(|watch| [&watch.stock, &watch.fence])
        .flatten()
        .any(|column| column.table.eq_ignore_ascii_case(table))
}

/// Which part a condition plays that names these columns of the table.
pub(super) fn role_of(setup: &Setup, table: &str, columns: &[String]) -> Role {
    let names = |column: &Option<Column>| {
        column.as_ref().is_some_and(|column| {
            column.table.eq_ignore_ascii_case(table)
                && columns
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(&column.column))
        })
    };
    if setup.watches.iter().any(|watch| names(&watch.fence)) {
        Role::Fence
    } else if setup.watches.iter().any(|watch| names(&watch.stock)) {
        Role::Stock
    } else {
        Role::Other
    }
}

/// What the ledger says of a write; `late` is one that its writer had given up, `lease_end` is how the lease of a stale writer ended.
pub(super) fn entry(
    here: Here<'_>,
    who: Who,
    row: &RowWrite,
    token: Option<i64>,
    (stale, late): (bool, bool),
    lease_end: Option<&str>,
) -> LedgerEntry {
    let reasons = row.reasons();
    LedgerEntry {
        action: here.action,
        at: here.at,
        who,
        table: row.table.clone(),
        row: row.label.clone(),
        token,
        accepted: row.accepted,
        stale,
        conditions: row.conditions.clone(),
        because: sentence(
            here.who(who),
            row,
            token,
            &reasons,
            (stale, late),
            lease_end,
        ),
        reasons,
    }
}

fn sentence(
    name: &str,
    row: &RowWrite,
    token: Option<i64>,
    reasons: &[Reason],
    (stale, late): (bool, bool),
    lease_end: Option<&str>,
) -> String {
    let with = token.map_or(String::new(), |token| format!(" with token {token}"));
    let verdict = if row.accepted {
        let changed = if row.changed {
            ""
        } else {
            ", and the row had these values already"
        };
        format!("{name}'s write{with} was accepted{changed}")
    } else {
        let how = match reasons {
            [Reason::Error(_)] => "failed",
            _ => "was rejected",
        };
        format!("{name}'s write{with} {how}: {}", explain(row, reasons))
    };
    let fence = if row.accepted || !row.has_fence() || row.is_fenced() || !row.exists {
        String::new()
    } else {
        format!(
            "; the fence would have let it pass, as {} held",
            row.fence_texts()
        )
    };
    let staleness = match (stale, lease_end) {
        (false, _) => String::new(),
        (true, end) if late => format!(
            "; {name} had sent it while it held the lock, and its lease {}",
            end.unwrap_or("was over by now")
        ),
        (true, Some(end)) => {
            format!("; {name} still believed that it held the lock, but its lease {end}")
        }
        (true, None) => format!("; {name} believed that it held the lock, and did not"),
    };
    format!("{verdict}{fence}{staleness}.")
}

fn explain(row: &RowWrite, reasons: &[Reason]) -> String {
    match reasons {
        [] => "it would have changed nothing".to_string(),
        [Reason::Error(error)] => error.clone(),
        [Reason::NoSuchRow] => format!("there is no row with {}", row.label),
        _ => {
            let failed: Vec<String> = row
                .conditions
                .iter()
                .filter(|condition| condition.outcome != Some(true))
                .map(|condition| failed(row, condition))
                .collect();
            failed.join(", and ")
        }
    }
}

/// `qty >= 1 did not hold (no stock)`.
fn failed(row: &RowWrite, condition: &JudgedCondition) -> String {
    let outcome = match condition.outcome {
        None => "was NULL",
        Some(_) => "did not hold",
    };
    let what = match condition.role {
        Role::Stock => " (no stock)",
        Role::Fence => " (fenced)",
        Role::Other => "",
    };
    let stood: Vec<String> = row
        .values
        .iter()
        .filter(|values| condition.text.contains(&values.column))
        .filter_map(|values| Some(format!("{} was {}", values.column, values.before?)))
        .collect();
    let stood = match stood.as_slice() {
        [] => String::new(),
        stood => format!(": {}", stood.join(", ")),
    };
    format!("{} {outcome}{what}{stood}", condition.text)
}

impl LedgerEntry {
    /// The verdict in an expectation's words: `accepted`, `rejected (no stock, fenced), stale`, and `, fence would pass` for a write
    /// that a fence condition let through while another one stopped it.
    pub fn verdict(&self) -> String {
        let mut words = if self.accepted {
            "accepted".to_string()
        } else {
            let reasons: Vec<String> = self.reasons.iter().map(Reason::to_string).collect();
            match reasons.as_slice() {
                [] => "rejected (nothing to change)".to_string(),
                reasons => format!("rejected ({})", reasons.join(", ")),
            }
        };
        if self.stale {
            words.push_str(", stale");
        }
        if self.fence_would_pass() {
            words.push_str(", fence would pass");
        }
        words
    }

    /// Whether a fence condition let the write through while something else stopped it.
    pub fn fence_would_pass(&self) -> bool {
        let mut fences = self
            .conditions
            .iter()
            .filter(|condition| condition.role == Role::Fence)
            .peekable();
        !self.accepted
            && fences.peek().is_some()
            && fences.all(|condition| condition.outcome == Some(true))
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::NoStock => formatter.write_str("no stock"),
            Reason::Fenced => formatter.write_str("fenced"),
            Reason::NoSuchRow => formatter.write_str("no such row"),
            Reason::Condition(text) | Reason::Error(text) => formatter.write_str(text),
        }
    }
}

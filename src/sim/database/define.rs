//! CREATE TABLE, DROP TABLE, TRUNCATE, and how a definition is checked and completed.

use std::cmp::Reverse;
use std::sync::Arc;

use super::column::{ColumnSpecification, ColumnType, Default, KeyKind, KeySpecification};
use super::error::{self, Outcome, SqlError};
use super::expression::{Scope, Source, check};
use super::fact::{DatabaseFact, RowFact, WriteFact, WriteKind};
use super::lock::{Class, Span};
use super::reply::SqlReply;
use super::run::Run;
use super::syntax::{CreateTable, Patience};
use super::table::{Definition, Index, MOST_TABLES, NamedCheck, Table};
use super::value::{Row, Value};

/// The most columns that a table may have.
const MOST_COLUMNS: usize = 100;

impl Run<'_> {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Outcome<SqlReply> {
        if self.state.table(&create.table).is_ok() {
            if create.if_not_exists {
                let exists = error::table_exists(&create.table);
                self.context().note(exists);
                return Ok(SqlReply::Done { warnings: 0 });
            }
            return Err(error::table_exists(&create.table).into());
        }
        if self.state.tables.len() >= MOST_TABLES {
            return Err(error::too_many_tables(&MOST_TABLES.to_string()).into());
        }
        let definition = self.checked_definition(create, self.statement.source())?;
        self.state.tables.push(Arc::new(Table::new(
            Arc::new(definition),
            create.auto_increment,
        )));
        Ok(SqlReply::Done { warnings: 0 })
    }

    /// The definition, with the names in its checks looked up.
    pub(super) fn checked_definition(
        &self,
        create: &CreateTable,
        source: &str,
    ) -> Outcome<Definition> {
        let definition = definition(create, source)?;
        let context = self.context();
        let sources = [Source {
            alias: &create.table,
            definition: &definition,
        }];
        let scope = Scope {
            sources: &sources,
            ..Scope::bare(&context)
        };
        for named in &definition.checks {
            let place = "check constraint expression";
            check(&scope, &named.expression, place, false)?;
        }
        Ok(definition)
    }

    /// Waits for every transaction that has used the table, as DROP and TRUNCATE do.
    pub(super) fn own_definition(&mut self, name: &str) -> Outcome<Arc<Table>> {
        let table = self.state.table(name)?.clone();
        self.acquire(
            &table,
            0,
            Span::Definition,
            (true, Class::Record),
            Patience::Wait,
        )?;
        Ok(table)
    }

    pub(super) fn drop_tables(&mut self, tables: &[String], if_exists: bool) -> Outcome<SqlReply> {
        let unknown: Vec<String> = tables
            .iter()
            .filter(|name| self.state.table(name).is_err())
            .map(|name| format!("{}.{name}", error::DATABASE_NAME))
            .collect();
        if !unknown.is_empty() && !if_exists {
            return Err(error::unknown_table(&unknown.join(",")).into());
        }
        for name in &unknown {
            self.context().note(error::unknown_table(name));
        }
        for name in tables {
            if self.state.table(name).is_ok() {
                self.own_definition(name)?;
            }
        }
        self.state
            .tables
            .retain(|table| !tables.iter().any(|name| **name == *table.definition.name));
        Ok(SqlReply::Done { warnings: 0 })
    }

    pub(super) fn truncate(&mut self, name: &str) -> Outcome<SqlReply> {
        let table = self.own_definition(name)?;
        let names = &table.definition.names;
        let gone = |values: &super::value::Values| RowFact {
            before: Some(Row::new(names.clone(), values.clone())),
            after: None,
            outcomes: Vec::new(),
            matched: true,
            changed: true,
        };
        self.facts.push(DatabaseFact::Write(WriteFact {
            connection: self.connection,
            table: name.to_string(),
            kind: WriteKind::Truncate,
            conditions: Vec::new(),
            key_conditions: Vec::new(),
            rows: table.rows.iter().map(|(_, values)| gone(values)).collect(),
            assigned: Vec::new(),
            transaction: false,
        }));
        if let Some(stored) = self.state.table_mut(name) {
            *stored = Table::new(table.definition.clone(), 1);
        }
        Ok(SqlReply::Done { warnings: 0 })
    }
}

/// Checks what was written and completes it: keys in the order in which MySQL checks them, names
/// for those that have none.
fn definition(create: &CreateTable, source: &str) -> Result<Definition, SqlError> {
    let mut columns = create.columns.clone();
    if columns.is_empty() {
        return Err(SqlError::new(
            1113,
            "42000",
            "A table must have at least 1 column",
        ));
    }
    if columns.len() > MOST_COLUMNS {
        return Err(SqlError::new(1117, "HY000", "Too many columns"));
    }
    for (number, column) in columns.iter().enumerate() {
        if columns[..number]
            .iter()
            .any(|other| other.name.eq_ignore_ascii_case(&column.name))
        {
            return Err(error::duplicate_column(&column.name));
        }
    }
    let indexes = indexes(&mut columns, &create.keys)?;
    for column in &mut columns {
        check_default(column)?;
    }
    let auto_increment = auto_increment(&columns, &indexes)?;
    let clustered = indexes.first().is_some_and(|index| {
        index.kind != KeyKind::Plain && index.columns.iter().all(|column| columns[*column].not_null)
    });
    let mut checks: Vec<NamedCheck> = Vec::new();
    let mut numbers = 1..;
    for check in &create.checks {
        let given = |name: &String| {
            let known = create.checks.iter().filter_map(|other| other.name.as_ref());
            known.into_iter().any(|known| known == name)
        };
        let free = || {
            let mut names = numbers
                .by_ref()
                .map(|number| format!("{}_chk_{number}", create.table));
            names.find(|name| !given(name)).unwrap_or_default()
        };
        let name = check.name.clone().unwrap_or_else(free);
        if checks
            .iter()
            .any(|other| other.name.eq_ignore_ascii_case(&name))
        {
            return Err(SqlError::new(
                3822,
                "HY000",
                format!("Duplicate check constraint name '{name}'."),
            ));
        }
        checks.push(NamedCheck {
            name,
            expression: check.expression.clone(),
        });
    }
    Ok(Definition {
        source: source.into(),
        name: create.table.as_str().into(),
        names: columns.iter().map(|column| column.name.clone()).collect(),
        columns,
        indexes,
        clustered,
        checks,
        auto_increment,
    })
}

fn indexes(
    columns: &mut [ColumnSpecification],
    keys: &[KeySpecification],
) -> Result<Vec<Index>, SqlError> {
    let mut indexes: Vec<Index> = Vec::new();
    for key in keys {
        let mut numbers = Vec::with_capacity(key.columns.len());
        for name in &key.columns {
            let found = columns
                .iter()
                .position(|column| column.name.eq_ignore_ascii_case(name));
            let number = found.ok_or_else(|| error::no_key_column(name))?;
            if numbers.contains(&number) {
                return Err(error::duplicate_column(name));
            }
            if let ColumnType::Text(_) = columns[number].kind {
                return Err(error::text_key(name));
            }
            numbers.push(number);
        }
        if key.kind == KeyKind::Primary {
            if indexes.iter().any(|index| index.kind == KeyKind::Primary) {
                return Err(error::several_primary());
            }
            for number in &numbers {
                if columns[*number].explicit_null {
                    return Err(error::primary_null());
                }
                columns[*number].not_null = true;
            }
        }
        let name = match &key.name {
            Some(name) => name.clone(),
            None => free_name(&indexes, &key.columns[0], keys),
        };
        if indexes
            .iter()
            .any(|index| index.name.eq_ignore_ascii_case(&name))
        {
            return Err(error::duplicate_key_name(&name));
        }
        indexes.push(Index {
            name,
            kind: key.kind,
            columns: numbers,
        });
    }
    crate::sorted::sort_by_key(&mut indexes, |index| {
        let never_null = index.columns.iter().all(|column| columns[*column].not_null);
        (
            index.kind,
            Reverse(index.kind == KeyKind::Unique && never_null),
        )
    });
    Ok(indexes)
}

/// An index without a name is called as its first column, with `_2` where that is taken.
fn free_name(indexes: &[Index], column: &str, keys: &[KeySpecification]) -> String {
    let taken = |name: &str| {
        indexes
            .iter()
            .any(|index| index.name.eq_ignore_ascii_case(name))
            || keys.iter().any(|key| {
                key.name
                    .as_ref()
                    .is_some_and(|known| known.eq_ignore_ascii_case(name))
            })
    };
    let mut name = column.to_string();
    let mut number = 2;
    while taken(&name) {
        name = format!("{column}_{number}");
        number += 1;
    }
    name
}

fn check_default(column: &mut ColumnSpecification) -> Result<(), SqlError> {
    let invalid = || error::invalid_default(&column.name);
    match &column.default {
        Some(Default::Literal(Value::Null)) if column.not_null => return Err(invalid()),
        Some(Default::Literal(value)) => {
            let stored = column.kind.store(value);
            if stored.refusal.is_some() || column.auto_increment {
                return Err(invalid());
            }
            if let ColumnType::Text(_) = column.kind
                && !value.is_null()
            {
                return Err(SqlError::new(
                    1101,
                    "42000",
                    format!(
                        "BLOB, TEXT, GEOMETRY or JSON column '{}' can't have a default value",
                        column.name
                    ),
                ));
            }
            column.default = Some(Default::Literal(stored.value));
        }
        Some(Default::Now(digits)) => match column.kind {
            ColumnType::DateTime { digits: its, .. } if its == *digits => {}
            _ => return Err(invalid()),
        },
        _ => {}
    }
    let time = matches!(column.kind, ColumnType::DateTime { .. });
    if column.on_update_now && !time {
        return Err(SqlError::new(
            1294,
            "HY000",
            format!("Invalid ON UPDATE clause for '{}' column", column.name),
        ));
    }
    Ok(())
}

fn auto_increment(
    columns: &[ColumnSpecification],
    indexes: &[Index],
) -> Result<Option<usize>, SqlError> {
    let mut numbered = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.auto_increment);
    let Some((number, column)) = numbered.next() else {
        return Ok(None);
    };
    if !matches!(column.kind, ColumnType::Integer { .. }) {
        return Err(error::wrong_specifier(&column.name));
    }
    let keyed = indexes
        .iter()
        .any(|index| index.columns.first() == Some(&number));
    if numbered.next().is_some() || !keyed {
        return Err(error::auto_column());
    }
    Ok(Some(number))
}

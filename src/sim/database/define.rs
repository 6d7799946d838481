//! CREATE TABLE, DROP TABLE, TRUNCATE, and what SHOW and DESCRIBE tell of tables.

use std::cmp::Reverse;
use std::sync::Arc;

use super::collation;
use super::column::{ColumnSpecification, ColumnType, Default, KeyKind, KeySpecification};
use super::error::{self, Outcome, SqlError};
use super::expression::{Scope, Source, check};
use super::fact::{DatabaseFact, RowFact, WriteFact, WriteKind};
use super::lock::{Class, Span};
use super::parse::Parser;
use super::reply::SqlReply;
use super::run::Run;
use super::state::variables;
use super::statement::Statement;
use super::syntax::{Change, Command, CreateTable, Patience, Span as Part};
use super::table::{Definition, Index, Key, MOST_TABLES, NamedCheck, Table};
use super::value::{Row, Value, Values};
use super::write::{Target, duplicate_error};

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
        let definition = self.checked_definition(create, self.statement)?;
        self.state.tables.push(Arc::new(Table::new(
            Arc::new(definition),
            create.auto_increment,
        )));
        Ok(SqlReply::Done { warnings: 0 })
    }

    /// The definition, with the names in its checks looked up.
    fn checked_definition(
        &self,
        create: &CreateTable,
        statement: &Statement,
    ) -> Outcome<Definition> {
        let definition = definition(create, statement)?;
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
    fn own_definition(&mut self, name: &str) -> Outcome<Arc<Table>> {
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

    pub(super) fn show_tables(&self, pattern: &str) -> SqlReply {
        let mut names: Vec<&str> = self
            .state
            .tables
            .iter()
            .map(|table| &*table.definition.name)
            .filter(|name| collation::like(name, pattern, '\\'))
            .collect();
        crate::sorted::sort(&mut names);
        let rows = names.into_iter().map(|name| vec![name.into()]);
        SqlReply::table("Tables_in_test", rows.collect())
    }

    pub(super) fn show_variables(&self, pattern: &str) -> Outcome<SqlReply> {
        let mut rows = Vec::new();
        for name in variables() {
            if collation::like(name, pattern, '\\') {
                let value = match (name, self.session.system_variable(name)?) {
                    ("autocommit", value) if value == Value::from(true) => "ON".into(),
                    ("autocommit", _) => "OFF".into(),
                    (_, value) => value.to_string().into(),
                };
                rows.push(vec![name.into(), value]);
            }
        }
        Ok(SqlReply::table("Variable_name|Value", rows))
    }

    pub(super) fn show_index(&self, name: &str) -> Outcome<SqlReply> {
        let definition = &self.state.table(name)?.definition;
        let mut rows = Vec::new();
        for index in &definition.indexes {
            for (place, column) in index.columns.iter().enumerate() {
                rows.push(vec![
                    name.into(),
                    Value::from(index.kind == KeyKind::Plain),
                    index.name.as_str().into(),
                    Value::from(place as i64 + 1),
                    definition.names[*column].as_str().into(),
                ]);
            }
        }
        let heads = "Table|Non_unique|Key_name|Seq_in_index|Column_name";
        Ok(SqlReply::table(heads, rows))
    }

    /// ALTER TABLE: the text of CREATE TABLE with the changes, and the rows as that makes them.
    pub(super) fn alter_table(&mut self, name: &str, changes: &[Change]) -> Outcome<SqlReply> {
        let table = self.own_definition(name)?;
        let old = &table.definition;
        let source = altered(old, changes)?;
        let statement = Statement::parse(&source)?;
        let Command::CreateTable(create) = statement.command() else {
            return Err(error::not_supported("ALTER TABLE").into());
        };
        let definition = Arc::new(self.checked_definition(create, &statement)?);
        let mut next = Table::new(
            definition.clone(),
            table.next_number.max(create.auto_increment),
        );
        for (number, (_, values)) in table.rows.iter().enumerate() {
            let number = number as u64 + 1;
            let row = self.altered_row(&table, &definition, values)?;
            let key: Key = match definition.clustered {
                true => definition.prefix(0, &row).into(),
                false => number.to_be_bytes().as_slice().into(),
            };
            for index in 0..definition.index_count() {
                let unique = definition.index(index).filter(|index| {
                    let given = |column: &usize| !row[*column].is_null();
                    index.kind != KeyKind::Plain && index.columns.iter().all(given)
                });
                let prefix = |row: &[Value]| definition.prefix(definition.position(index), row);
                let taken = |(_, other): &(Key, Values)| prefix(other) == prefix(&row);
                if unique.is_some() && next.rows.iter().any(taken) {
                    return Err(duplicate_error(&definition, index, &row).into());
                }
            }
            self.check_row(&next, &row)?;
            next.put(&key, Some(row));
            next.next_row = number + 1;
        }
        if let Some(stored) = self.state.table_mut(name) {
            *stored = next;
        }
        Ok(SqlReply::Done { warnings: 0 })
    }

    /// A row with the columns that the table has now: those that are new hold their default.
    fn altered_row(
        &self,
        table: &Arc<Table>,
        definition: &Arc<Definition>,
        values: &Values,
    ) -> Outcome<Values> {
        let fresh = Arc::new(Table::new(definition.clone(), 1));
        let target = Target {
            table: &fresh,
            alias: &definition.name,
            inserted: None,
            ignore: false,
            row: 1,
        };
        let mut row = Vec::with_capacity(definition.columns.len());
        for (number, column) in definition.columns.iter().enumerate() {
            let value = match table.definition.column(&column.name) {
                Some(known) => values[known].clone(),
                None if column.auto_increment => {
                    return Err(error::not_supported("ADD COLUMN with AUTO_INCREMENT").into());
                }
                None => {
                    let default = self.default(&target, number)?;
                    default.unwrap_or_else(|| column.kind.zero())
                }
            };
            if value.is_null() && column.not_null {
                return Err(error::null_in_key().into());
            }
            row.push(value);
        }
        Ok(row.into())
    }

    pub(super) fn describe(&self, name: &str) -> Outcome<SqlReply> {
        let table = self.state.table(name)?;
        let definition = &table.definition;
        let rows = definition
            .columns
            .iter()
            .enumerate()
            .map(|(number, column)| {
                let key = definition
                    .indexes
                    .iter()
                    .find(|index| index.columns.first() == Some(&number));
                let key = key.map_or("", |index| match index.kind {
                    KeyKind::Primary => "PRI",
                    KeyKind::Unique if index.columns.len() == 1 => "UNI",
                    _ => "MUL",
                });
                let primary = definition
                    .indexes
                    .iter()
                    .any(|index| index.kind == KeyKind::Primary && index.columns.contains(&number));
                let extra = match (&column.default, column.auto_increment) {
                    (_, true) => "auto_increment".to_string(),
                    (Some(Default::Now(_) | Default::Expression(_)), _) if column.on_update_now => {
                        "DEFAULT_GENERATED on update CURRENT_TIMESTAMP".to_string()
                    }
                    (Some(Default::Now(_) | Default::Expression(_)), _) => {
                        "DEFAULT_GENERATED".to_string()
                    }
                    _ => String::new(),
                };
                vec![
                    column.name.as_str().into(),
                    column.kind.print().into(),
                    if column.not_null { "NO" } else { "YES" }.into(),
                    if primary { "PRI" } else { key }.into(),
                    default_text(column),
                    extra.into(),
                ]
            });
        let heads = "Field|Type|Null|Key|Default|Extra";
        Ok(SqlReply::table(heads, rows.collect()))
    }

    pub(super) fn show_create(&self, name: &str) -> Outcome<SqlReply> {
        let definition = &self.state.table(name)?.definition;
        let source = definition.statement.source().trim().trim_end_matches(';');
        let rows = vec![vec![name.into(), source.into()]];
        Ok(SqlReply::table("Table|Create Table", rows))
    }
}

/// The text of CREATE TABLE after the changes.
fn altered(definition: &Definition, changes: &[Change]) -> Result<String, SqlError> {
    let source = definition.statement.source();
    let Command::CreateTable(create) = definition.statement.command() else {
        return Err(error::not_supported("ALTER TABLE"));
    };
    let (Some(first), Some(last)) = (create.parts.first(), create.parts.last()) else {
        return Err(error::not_supported("ALTER TABLE"));
    };
    let text = |span: &Part| source.get(span.start..span.end).unwrap_or("").to_string();
    let mut parts: Vec<String> = create.parts.iter().map(text).collect();
    for change in changes {
        match change {
            Change::Add { text, place } => {
                let column = |part: &String| read(part).columns.pop().map(|column| column.name);
                let at = match place {
                    Some(None) => 0,
                    Some(Some(after)) => {
                        let found = parts.iter().position(|part| {
                            column(part).is_some_and(|name| name.eq_ignore_ascii_case(after))
                        });
                        1 + found.ok_or_else(|| error::unknown_column(after, &definition.name))?
                    }
                    None if column(text).is_some() => parts
                        .iter()
                        .rposition(|part| column(part).is_some())
                        .map_or(0, |at| at + 1),
                    None => parts.len(),
                };
                parts.insert(at, text.clone());
            }
            Change::DropColumn(name) | Change::DropIndex(name) => {
                let is = |known: &str| known.eq_ignore_ascii_case(name);
                let index = matches!(change, Change::DropIndex(_));
                let found = parts.iter().position(|part| {
                    let part = read(part);
                    match index {
                        true => {
                            part.columns.is_empty()
                                && part
                                    .keys
                                    .iter()
                                    .any(|key| key.name.as_deref().is_some_and(is))
                        }
                        false => part.columns.iter().any(|column| is(&column.name)),
                    }
                });
                let known = definition.indexes.iter().any(|index| is(&index.name));
                match found {
                    Some(at) => drop(parts.remove(at)),
                    None if index && known => {
                        return Err(error::not_supported(
                            "DROP of an index that has no name of its own",
                        ));
                    }
                    None => return Err(error::cannot_drop(name)),
                }
            }
        }
    }
    let (head, tail) = (source.get(..first.start), source.get(last.end..));
    Ok([head.unwrap_or(""), &parts.join(", "), tail.unwrap_or("")].concat())
}

/// A part of CREATE TABLE by itself.
fn read(part: &str) -> CreateTable {
    let mut create = CreateTable::default();
    // It has been read before, within the whole.
    let _ = Parser::new(part).definition(&mut create);
    create
}

fn default_text(column: &ColumnSpecification) -> Value {
    match &column.default {
        Some(Default::Literal(value)) if !value.is_null() => {
            column.kind.store(value).value.to_string().into()
        }
        Some(Default::Now(0)) => "CURRENT_TIMESTAMP".into(),
        Some(Default::Now(digits)) => format!("CURRENT_TIMESTAMP({digits})").into(),
        _ => Value::Null,
    }
}

/// Checks what was written and completes it: keys in the order in which MySQL checks them, names
/// for those that have none.
fn definition(create: &CreateTable, statement: &Statement) -> Result<Definition, SqlError> {
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
    let mut unnamed = 0;
    for check in &create.checks {
        let name = check.name.clone().unwrap_or_else(|| {
            unnamed += 1;
            format!("{}_chk_{unnamed}", create.table)
        });
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
        statement: statement.clone(),
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

//! ALTER TABLE: columns, indexes and checks come and go, and the rows are made anew as INSERT would make them.

use std::sync::Arc;

use super::column::{ColumnSpecification, KeyKind, KeySpecification};
use super::error::{self, Outcome, SqlError};
use super::reply::SqlReply;
use super::run::Run;
use super::syntax::{Change, Check, CreateTable, Expression};
use super::table::{Definition, Key, Table};
use super::value::{Value, Values};
use super::write::{Target, duplicate_error, whole};

/// A definition in the course of being changed.
struct Altered {
    /// Indexes and checks; the columns join them at the end.
    create: CreateTable,
    /// Each with the number of the column whose values it takes over.
    columns: Vec<(Option<usize>, ColumnSpecification)>,
}

impl Run<'_> {
    pub(super) fn alter_table(&mut self, name: &str, changes: &[Change]) -> Outcome<SqlReply> {
        let table = self.own_definition(name)?;
        let mut altered = Altered::of(&table.definition);
        for change in changes {
            altered.change(change)?;
        }
        let Altered {
            mut create,
            columns,
        } = altered;
        let (origins, columns): (Vec<_>, _) = columns.into_iter().unzip();
        create.columns = columns;
        let mut definition = self.checked_definition(&create, "")?;
        let empty = Table::new(Arc::new(definition.clone()), 1);
        definition.source = self.create_statement(&empty).into();
        let definition = Arc::new(definition);
        let mut next = Table::new(definition.clone(), table.next_number);
        for (number, (_, values)) in table.rows.iter().enumerate() {
            let number = number as u64 + 1;
            let row = self.altered_row((&table, &next), &origins, values, number)?;
            self.add_altered(&mut next, row, number)?;
        }
        if let Some(stored) = self.state.table_mut(name) {
            *stored = next;
        }
        Ok(SqlReply::Done { warnings: 0 })
    }

    /// Puts a row into the new table, where no unique index and no check is against it.
    fn add_altered(&mut self, next: &mut Table, row: Values, number: u64) -> Outcome<()> {
        let definition = next.definition.clone();
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
        self.check_row(&Arc::new(next.clone()), &row)?;
        if let Some(given) = definition
            .auto_increment
            .and_then(|column| whole(&row[column]))
        {
            next.next_number = next.next_number.max(given.saturating_add(1));
        }
        next.put(&key, Some(row));
        next.next_row = number + 1;
        Ok(())
    }

    /// A row with the columns that the table has now: those that are new hold their default, and one that has become
    /// AUTO_INCREMENT the next number.
    fn altered_row(
        &self,
        (old, next): (&Table, &Table),
        origins: &[Option<usize>],
        values: &Values,
        number: u64,
    ) -> Outcome<Values> {
        let fresh = Arc::new(Table::new(next.definition.clone(), 1));
        let target = Target {
            table: &fresh,
            alias: &next.definition.name,
            inserted: None,
            new: None,
            ignore: false,
            row: number,
        };
        let mut row = Vec::with_capacity(origins.len());
        for (at, (origin, column)) in origins.iter().zip(&next.definition.columns).enumerate() {
            let known = origin.and_then(|origin| values.get(origin));
            let was_numbered = origin.is_some() && *origin == old.definition.auto_increment;
            let is_unnumbered =
                !was_numbered && known.is_none_or(|value| whole(value).unwrap_or(0) == 0);
            row.push(match known {
                _ if column.auto_increment && is_unnumbered => {
                    column.kind.store(&Value::Unsigned(next.next_number)).value
                }
                Some(Value::Null) if column.not_null => return Err(error::null_in_key().into()),
                Some(value) => self.stored(&target, at, value)?,
                None => {
                    let default = self.default(&target, at)?;
                    default.unwrap_or_else(|| column.kind.zero())
                }
            });
        }
        Ok(row.into())
    }
}

impl Altered {
    fn of(definition: &Definition) -> Altered {
        let keys = definition.indexes.iter().map(|index| KeySpecification {
            kind: index.kind,
            name: Some(index.name.clone()),
            columns: index
                .columns
                .iter()
                .map(|column| definition.names[*column].clone())
                .collect(),
        });
        let checks = definition.checks.iter().map(|check| Check {
            name: Some(check.name.clone()),
            expression: check.expression.clone(),
        });
        let columns = definition.columns.iter().cloned().enumerate();
        Altered {
            create: CreateTable {
                table: definition.name.to_string(),
                keys: keys.collect(),
                checks: checks.collect(),
                ..CreateTable::default()
            },
            columns: columns
                .map(|(number, column)| (Some(number), column))
                .collect(),
        }
    }

    fn change(&mut self, change: &Change) -> Result<(), SqlError> {
        match change {
            Change::Add { part, place } => self.add(part, place.as_ref(), None),
            Change::Modify { name, part, place } => self.modify(name, part, place.as_ref()),
            Change::DropColumn(name) => self.drop_column(name),
            Change::DropIndex(name) => {
                let keys = &mut self.create.keys;
                let is = |key: &KeySpecification| {
                    key.name
                        .as_deref()
                        .is_some_and(|known| known.eq_ignore_ascii_case(name))
                };
                let at = keys
                    .iter()
                    .position(is)
                    .ok_or_else(|| error::cannot_drop(name))?;
                keys.remove(at);
                Ok(())
            }
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|(_, column)| column.name.eq_ignore_ascii_case(name))
    }

    fn unknown(&self, name: &str) -> SqlError {
        error::unknown_column(name, &self.create.table)
    }

    /// Adds a part, a column at its place; `origin` is the column whose values it takes over.
    fn add(
        &mut self,
        part: &CreateTable,
        place: Option<&Option<String>>,
        origin: Option<(Option<usize>, usize)>,
    ) -> Result<(), SqlError> {
        self.create.keys.extend(part.keys.iter().cloned());
        self.create.checks.extend(part.checks.iter().cloned());
        let Some(column) = part.columns.first() else {
            return Ok(());
        };
        let at = match (place, origin) {
            (Some(None), _) => 0,
            (Some(Some(after)), _) => {
                1 + self.position(after).ok_or_else(|| self.unknown(after))?
            }
            (None, Some((_, at))) => at,
            (None, None) => self.columns.len(),
        };
        let from = origin.and_then(|(from, _)| from);
        self.columns.insert(at, (from, column.clone()));
        Ok(())
    }

    /// MODIFY, and CHANGE, which may give another name. Indexes stay on the column.
    fn modify(
        &mut self,
        name: &str,
        part: &CreateTable,
        place: Option<&Option<String>>,
    ) -> Result<(), SqlError> {
        let at = self.position(name).ok_or_else(|| self.unknown(name))?;
        let renamed = part
            .columns
            .first()
            .map(|column| column.name.clone())
            .unwrap_or_default();
        if !renamed.eq_ignore_ascii_case(name) {
            self.check_free(name)?;
        }
        let (from, _) = self.columns.remove(at);
        for column in self.create.keys.iter_mut().flat_map(|key| &mut key.columns) {
            if column.eq_ignore_ascii_case(name) {
                column.clone_from(&renamed);
            }
        }
        self.add(part, place, Some((from, at)))
    }

    fn drop_column(&mut self, name: &str) -> Result<(), SqlError> {
        let at = self
            .position(name)
            .ok_or_else(|| error::cannot_drop(name))?;
        self.check_free(name)?;
        self.columns.remove(at);
        let keys = &mut self.create.keys;
        for key in keys.iter_mut() {
            key.columns
                .retain(|column| !column.eq_ignore_ascii_case(name));
        }
        keys.retain(|key| !key.columns.is_empty());
        Ok(())
    }

    /// A column that a check looks at keeps its name.
    fn check_free(&self, name: &str) -> Result<(), SqlError> {
        let is = |part: &Expression| matches!(part, Expression::Column { name: known, .. } if known.eq_ignore_ascii_case(name));
        let user = self
            .create
            .checks
            .iter()
            .find(|check| check.expression.any(&is));
        match user.and_then(|check| check.name.as_deref()) {
            Some(check) => Err(error::checked_column(check, name)),
            None => Ok(()),
        }
    }
}

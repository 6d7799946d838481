//! INSERT, REPLACE, UPDATE and DELETE.

use std::sync::Arc;

use super::calendar::DateTime;
use super::column::{Default, KeyKind, Refusal};
use super::error::{self, Outcome, SqlError, Stop};
use super::expression::{Scope, Source, check, evaluate};
use super::fact::{Condition, DatabaseFact, RowFact, WriteFact, WriteKind};
use super::path::Path;
use super::reply::SqlReply;
use super::run::{EXCLUSIVE, EachRow, Examined, Progress, Run, Scan};
use super::select;
use super::syntax::{
    Assignment, Conjunct, Delete, Expression, Insert, InsertSource, Limit, Order, Update,
};
use super::table::{Definition, Key, Table};
use super::value::{Row, Value, Values};

/// What a write counts.
#[derive(Clone, Copy, Debug, std::default::Default)]
struct Count {
    matched: u64,
    changed: u64,
    /// As the driver is told without CLIENT_FOUND_ROWS, and with it.
    affected: u64,
    found: u64,
    /// Rows that got as far as the table, those that were new, those that took another's place.
    records: u64,
    copied: u64,
    replaced: u64,
    /// The first number that was generated, and that of the last row.
    last_insert_id: u64,
    last_number: u64,
}

impl Count {
    /// The last row that was written has this number.
    fn number(&mut self, definition: &Definition, row: &Values) {
        let number = definition
            .auto_increment
            .and_then(|column| row[column].number());
        // What is below 0 is told as if it were unsigned.
        self.last_number = number.map_or(0, |(number, _)| number.to_whole() as u64);
    }
}

/// A row, and what the conditions said of it.
type Spoken = (Key, Values, Vec<Option<bool>>);

/// Which rows an UPDATE or a DELETE is about.
struct Rows<'a> {
    alias: &'a str,
    condition: &'a [Conjunct],
    order: &'a [Order],
    limit: Option<&'a Limit>,
}

/// What an assignment is worked out on.
pub(super) struct Target<'a> {
    pub(super) table: &'a Arc<Table>,
    pub(super) alias: &'a str,
    pub(super) inserted: Option<&'a [Value]>,
    /// What `AS new` names, and the columns that it has of the table.
    pub(super) new: Option<(&'a Definition, &'a [usize])>,
    pub(super) ignore: bool,
    /// The number of the row, for messages.
    pub(super) row: u64,
}

impl Run<'_> {
    fn reply(&self, count: Count, information: String) -> SqlReply {
        let effects = self.effects.borrow();
        let found_rows = self.session.found_rows.unwrap_or(self.state.found_rows);
        SqlReply::Affected {
            matched: count.matched,
            changed: count.changed,
            affected: if found_rows {
                count.found
            } else {
                count.affected
            },
            last_insert_id: effects.last_insert_id.unwrap_or(count.last_insert_id),
            warnings: effects.conditions.count,
            information,
        }
    }

    fn warnings(&self) -> u64 {
        self.effects.borrow().conditions.count
    }

    fn fact(&mut self, table: &Table, kind: WriteKind) -> WriteFact {
        WriteFact {
            connection: self.connection,
            table: table.definition.name.to_string(),
            kind,
            conditions: Vec::new(),
            key_conditions: Vec::new(),
            rows: Vec::new(),
            assigned: Vec::new(),
            transaction: self.open,
        }
    }

    fn report(&mut self, fact: WriteFact) {
        self.facts.push(DatabaseFact::Write(fact));
    }

    /// Makes the value one of the column's type. Strict mode refuses what does not fit; IGNORE
    /// takes the nearest that does, with a warning.
    pub(super) fn stored(
        &self,
        target: &Target<'_>,
        column: usize,
        value: &Value,
    ) -> Outcome<Value> {
        let specification = &target.table.definition.columns[column];
        if value.is_null() && specification.not_null {
            if !target.ignore {
                return Err(error::null_in(&specification.name).into());
            }
            self.context().warn(error::null_in(&specification.name));
            return Ok(specification.kind.zero());
        }
        let stored = specification.kind.store(value);
        if let Some(refusal) = stored.refusal {
            let name = &specification.name;
            if !target.ignore {
                return Err(refusal.into_error(name, target.row).into());
            }
            let told = match refusal {
                Refusal::TooLong | Refusal::IncorrectTime(_) => Refusal::Truncated,
                other => other,
            };
            self.context().warn(told.into_error(name, target.row));
        } else if stored.note {
            let row = target.row.to_string();
            self.context()
                .note(error::truncated_column(&specification.name, &row));
        }
        Ok(stored.value)
    }

    /// The column's default; none when it has none.
    pub(super) fn default(&self, target: &Target<'_>, column: usize) -> Outcome<Option<Value>> {
        let specification = &target.table.definition.columns[column];
        let value = match &specification.default {
            None if specification.not_null => return Ok(None),
            None => return Ok(Some(Value::Null)),
            Some(Default::Literal(value)) => value.clone(),
            Some(Default::Now(digits)) => Value::DateTime(DateTime::from_millis(self.now, *digits)),
            Some(Default::Expression(expression)) => {
                let context = self.context();
                evaluate(&Scope::bare(&context), expression)?
            }
        };
        Ok(Some(self.stored(target, column, &value)?))
    }

    /// The default where DEFAULT is written or nothing is; without one it is an error, or with
    /// IGNORE the type's zero.
    fn default_or_error(&self, target: &Target<'_>, column: usize) -> Outcome<Value> {
        if let Some(value) = self.default(target, column)? {
            return Ok(value);
        }
        let specification = &target.table.definition.columns[column];
        if specification.auto_increment {
            return Ok(specification.kind.zero());
        }
        if !target.ignore {
            return Err(error::no_default(&specification.name).into());
        }
        self.context().warn(error::no_default(&specification.name));
        Ok(specification.kind.zero())
    }

    /// The table that the statement changes.
    fn open_target(&mut self, name: &str, alias: &str) -> Outcome<Arc<Table>> {
        let table = self.open_table(name)?;
        match self.statement.reads_its_target(name) {
            true => Err(error::reads_what_it_writes(alias).into()),
            false => Ok(table),
        }
    }

    // --- UPDATE ---

    #[inline(never)]
    pub(super) fn update(&mut self, update: &Update) -> Outcome<SqlReply> {
        self.strict = !update.ignore;
        let table = self.open_target(&update.table, &update.alias)?;
        let columns = self.check_write(
            &table,
            &update.alias,
            &update.assignments,
            &update.condition,
            &update.order,
        )?;
        self.lock_queries()?;
        let mut count = Count::default();
        let mut changes: Vec<(Key, Values, Option<Values>)> = Vec::new();
        let mut write = |run: &mut Run<'_>, row: &Examined| {
            count.matched += 1;
            let target = Target {
                table: &table,
                alias: &update.alias,
                inserted: None,
                new: None,
                ignore: update.ignore,
                row: count.matched,
            };
            let new = run.assign(&target, &columns, &update.assignments, &row.values)?;
            if new != row.values {
                let place = run.place_of(&table, &row.key, &new);
                let mark = run.mark(&table, &[&row.key, &place]);
                match run.replace_row(&table, &row.key, &row.values, &new) {
                    Ok(()) => {
                        count.changed += 1;
                        if table
                            .definition
                            .auto_increment
                            .is_some_and(|column| columns.contains(&column))
                        {
                            run.number_used(&table, &new);
                        }
                    }
                    Err(Stop::Error(error))
                        if update.ignore && matches!(error.code, 1062 | 3819) =>
                    {
                        run.context().warn(error);
                        run.take_back(&table, &mark);
                        changes.push((row.key.clone(), row.values.clone(), None));
                        return Ok(());
                    }
                    Err(stop) => return Err(stop),
                }
            }
            changes.push((row.key.clone(), new, Some(row.values.clone())));
            Ok(())
        };
        let rows = Rows {
            alias: &update.alias,
            condition: &update.condition,
            order: &update.order,
            limit: update.limit.as_ref(),
        };
        let (path, outcomes) = self.write_rows(&table, rows, Some(&columns), &mut write)?;
        count.affected = count.changed;
        count.found = count.matched;
        let fact = self.conditional_fact(
            &table,
            WriteKind::Update,
            (&update.condition, &update.alias),
            &path,
            outcomes,
            |row, key| {
                if let Some((_, new, _)) = changes.iter().find(|(changed, ..)| changed == key) {
                    row.matched = true;
                    row.after = Some(new.clone());
                }
            },
        );
        let fact = WriteFact {
            assigned: names(&update.assignments),
            ..fact
        };
        self.report(fact);
        let information = format!(
            "Rows matched: {}  Changed: {}  Warnings: {}",
            count.matched,
            count.changed,
            self.warnings()
        );
        Ok(self.reply(count, information))
    }

    /// Looks up every name before a row is read; gives the columns that are assigned.
    fn check_write(
        &self,
        table: &Table,
        alias: &str,
        assignments: &[Assignment],
        condition: &[Conjunct],
        order: &[Order],
    ) -> Outcome<Vec<usize>> {
        let context = self.context();
        let sources = [Source {
            alias,
            definition: &table.definition,
        }];
        let scope = Scope {
            sources: &sources,
            ..Scope::bare(&context)
        };
        let mut columns = Vec::with_capacity(assignments.len());
        for (name, value) in assignments {
            let column = table
                .definition
                .column(name)
                .ok_or_else(|| error::unknown_column(name, "field list"))?;
            columns.push(column);
            if let Some(value) = value {
                check(&scope, value, "field list", false)?;
            }
        }
        for conjunct in condition {
            check(&scope, &conjunct.expression, "where clause", false)?;
        }
        for order in order {
            check(&scope, &order.expression, "order clause", false)?;
        }
        Ok(columns)
    }

    /// Finds the rows of an UPDATE (with the columns that it assigns) or a DELETE and writes them one by
    /// one; gives the path, and what the conditions say of each row as it was.
    fn write_rows(
        &mut self,
        table: &Arc<Table>,
        rows: Rows<'_>,
        columns: Option<&[usize]>,
        write: EachRow<'_>,
    ) -> Outcome<(Path, Vec<Spoken>)> {
        let most = match rows.limit {
            Some(limit) => {
                let context = self.context();
                Some(select::count_of(&Scope::bare(&context), &limit.count)?)
            }
            None => None,
        };
        let in_order = self.order_is_key(rows.order, table);
        let scan = Scan {
            alias: rows.alias,
            condition: rows.condition,
            locking: EXCLUSIVE,
            most: most.filter(|_| in_order),
            semi_consistent: columns.is_some(),
            selects: false,
        };
        let path = self.path(table, &scan);
        let before = match path.identifying.is_empty() {
            true => self.view().current_rows(table).into_owned(),
            false => Vec::new(),
        };
        // Rows that would move in the index that is read are found first and written then.
        let index = table.definition.index(path.index);
        let moves = columns
            .unwrap_or(&[])
            .iter()
            .any(|column| index.is_some_and(|index| index.columns.contains(column)));
        let at_once = in_order && !moves;
        let mut examined = self.scan(table, &scan, &path, &mut |run, row| {
            if at_once && row.matches {
                write(run, row)?;
            }
            Ok(())
        })?;
        if !at_once {
            examined = self.in_order(table, &rows, examined)?;
            let matching = examined.iter().filter(|row| row.matches);
            for row in matching.take(most.unwrap_or(usize::MAX)) {
                write(self, row)?;
            }
        }
        let identified = examined.into_iter().map(|row| (row.key, row.values));
        let judged = match path.identifying.is_empty() {
            true => before,
            false => identified.collect(),
        };
        let outcomes = self.outcomes(table, &rows, &path, judged)?;
        Ok((path, outcomes))
    }

    /// The rows as ORDER BY puts them.
    fn in_order(
        &self,
        table: &Table,
        rows: &Rows<'_>,
        examined: Vec<Examined>,
    ) -> Outcome<Vec<Examined>> {
        let mut keyed = Vec::with_capacity(examined.len());
        for row in examined {
            let keys = self.with_row(table, rows.alias, &row.values, |scope| {
                rows.order
                    .iter()
                    .map(|order| evaluate(scope, &order.expression))
                    .collect::<Outcome<Vec<Value>>>()
            })?;
            keyed.push((keys, row));
        }
        select::sort_by(rows.order, &mut keyed);
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// The row after the assignments, worked out from left to right: each sees the ones before it.
    fn assign(
        &self,
        target: &Target<'_>,
        columns: &[usize],
        assignments: &[Assignment],
        old: &Values,
    ) -> Outcome<Values> {
        let mut row: Values = old.clone();
        for (column, (_, value)) in columns.iter().zip(assignments) {
            let value = match value {
                None => self.default_or_error(target, *column)?,
                Some(expression) => {
                    let context = self.context();
                    let own = Source {
                        alias: target.alias,
                        definition: &target.table.definition,
                    };
                    let (new, columns) = target.new.unwrap_or((own.definition, &[]));
                    let alias = &*new.name;
                    let sources = [
                        own,
                        Source {
                            alias,
                            definition: new,
                        },
                    ];
                    let count = 1 + usize::from(target.new.is_some());
                    let value_of = |column: &usize| {
                        target
                            .inserted
                            .map_or(Value::Null, |row| row[*column].clone())
                    };
                    let rows = [row.clone(), columns.iter().map(value_of).collect()];
                    let scope = Scope {
                        sources: &sources[..count],
                        rows: &rows[..count],
                        inserted: target.inserted,
                        ..Scope::bare(&context)
                    };
                    let value = evaluate(&scope, expression)?;
                    // A column assigned to itself is left alone.
                    let itself = matches!(expression, Expression::Column { name, .. }
                        if target.table.definition.column(name) == Some(*column));
                    if itself && value == row[*column] {
                        continue;
                    } else {
                        self.stored(target, *column, &value)?
                    }
                }
            };
            Arc::make_mut(&mut row)[*column] = value;
        }
        if row != *old {
            for (column, specification) in target.table.definition.columns.iter().enumerate() {
                if specification.on_update_now && !columns.contains(&column) {
                    let digits = if let super::column::ColumnType::DateTime { digits, .. } =
                        specification.kind
                    {
                        digits
                    } else {
                        0
                    };
                    Arc::make_mut(&mut row)[column] =
                        Value::DateTime(DateTime::from_millis(self.now, digits));
                }
            }
        }
        Ok(row)
    }

    /// Where a row comes to stand when it changes.
    fn place_of(&self, table: &Table, key: &Key, new: &Values) -> Key {
        match table.definition.clustered {
            true => table.definition.prefix(0, new).into(),
            false => key.clone(),
        }
    }

    /// Puts the new row in the old one's place, under another key where that has changed.
    fn replace_row(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        old: &Values,
        new: &Values,
    ) -> Outcome<()> {
        self.check_row(table, new)?;
        let definition = &table.definition;
        let new_key = self.place_of(table, key, new);
        let error = |index| Err(duplicate_error(definition, index, new).into());
        if new_key != *key {
            self.put(table, key, None);
            if self
                .duplicate(table, 0, new, self.may_meet_duplicates(), None)?
                .is_some()
            {
                return error(0);
            }
            self.bring(table, 0, &new_key, new)?;
        }
        self.put(table, &new_key, Some(new.clone()));
        self.stands_in(table, 0);
        for index in 1..definition.index_count() {
            let found = self.move_entry(table, index, (key, old), (&new_key, new))?;
            if found.is_some() {
                return error(index);
            }
            self.stands_in(table, index);
        }
        Ok(())
    }

    // --- DELETE ---

    #[inline(never)]
    pub(super) fn delete(&mut self, delete: &Delete) -> Outcome<SqlReply> {
        let table = self.open_target(&delete.table, &delete.alias)?;
        self.check_write(&table, &delete.alias, &[], &delete.condition, &delete.order)?;
        self.lock_queries()?;
        let mut count = Count::default();
        let mut deleted: Vec<Key> = Vec::new();
        let mut write = |run: &mut Run<'_>, row: &Examined| {
            run.remove(&table, &row.key, &row.values)?;
            deleted.push(row.key.clone());
            count.matched += 1;
            Ok(())
        };
        let rows = Rows {
            alias: &delete.alias,
            condition: &delete.condition,
            order: &delete.order,
            limit: delete.limit.as_ref(),
        };
        let (path, outcomes) = self.write_rows(&table, rows, None, &mut write)?;
        count.changed = count.matched;
        count.affected = count.matched;
        count.found = count.matched;
        let fact = self.conditional_fact(
            &table,
            WriteKind::Delete,
            (&delete.condition, &delete.alias),
            &path,
            outcomes,
            |row, key| {
                if deleted.contains(key) {
                    row.matched = true;
                    row.after = None;
                }
            },
        );
        self.report(fact);
        Ok(self.reply(count, String::new()))
    }

    // --- facts about writes with a WHERE ---

    /// What each condition that does not identify the row says by itself about each row that the
    /// key conditions point at, else about every row.
    fn outcomes(
        &self,
        table: &Arc<Table>,
        written: &Rows<'_>,
        path: &Path,
        rows: Vec<(Key, Values)>,
    ) -> Outcome<Vec<Spoken>> {
        let (alias, condition) = (written.alias, written.condition);
        let context = super::expression::Context {
            strict: true,
            ..self.context()
        };
        let sources = [Source {
            alias,
            definition: &table.definition,
        }];
        let conditions = self.effects.borrow().conditions.clone();
        let mut out = Vec::with_capacity(rows.len());
        for (key, values) in rows {
            let scope = Scope {
                sources: &sources,
                rows: std::slice::from_ref(&values),
                ..Scope::bare(&context)
            };
            let outcomes = condition
                .iter()
                .enumerate()
                .filter(|(number, _)| !path.identifying.contains(number))
                .map(|(_, conjunct)| {
                    let value = evaluate(&scope, &conjunct.expression).ok()?;
                    value.number().map(|(number, _)| !number.is_zero())
                })
                .collect();
            out.push((key, values, outcomes));
        }
        // Looking is not running: what it would warn of does not count.
        self.effects.borrow_mut().conditions = conditions;
        Ok(out)
    }

    fn conditional_fact(
        &mut self,
        table: &Table,
        kind: WriteKind,
        (condition, alias): (&[Conjunct], &str),
        path: &Path,
        outcomes: Vec<Spoken>,
        mut apply: impl FnMut(&mut Judged, &Key),
    ) -> WriteFact {
        let mut fact = self.fact(table, kind);
        {
            let context = self.context();
            let sources = [Source {
                alias,
                definition: &table.definition,
            }];
            let scope = Scope {
                sources: &sources,
                ..Scope::bare(&context)
            };
            for (number, conjunct) in condition.iter().enumerate() {
                let text = self.statement.filled(conjunct.span, self.parameters);
                if path.identifying.contains(&number) {
                    fact.key_conditions.push(text);
                } else {
                    let mut columns = Vec::new();
                    select::columns_in(&scope, &conjunct.expression, &mut columns);
                    fact.conditions.push(Condition { text, columns });
                }
            }
        }
        let names = &table.definition.names;
        for (key, before, outcomes) in outcomes {
            let mut judged = Judged {
                matched: false,
                after: Some(before.clone()),
            };
            apply(&mut judged, &key);
            fact.rows.push(RowFact {
                changed: judged.after.as_ref() != Some(&before),
                matched: judged.matched,
                before: Some(Row::new(names.clone(), before)),
                after: judged.after.map(|after| Row::new(names.clone(), after)),
                outcomes,
            });
        }
        fact
    }

    // --- INSERT and REPLACE ---

    #[inline(never)]
    pub(super) fn insert(&mut self, insert: &Insert) -> Outcome<SqlReply> {
        self.strict = !insert.ignore;
        let table = self.open_target(&insert.table, &insert.table)?;
        let definition = table.definition.clone();
        let columns = self.insert_columns(&definition, insert)?;
        let new = new_row(&definition, insert, &columns)?;
        self.check_insert(&table, insert, &columns, new.as_ref())?;
        self.lock_queries()?;
        let kind = if insert.replace {
            WriteKind::Replace
        } else {
            WriteKind::Insert
        };
        let mut fact = self.fact(&table, kind);
        fact.assigned = names(&insert.on_duplicate);
        let mut count = Count::default();
        let queried = match &insert.source {
            InsertSource::Rows(_) => None,
            InsertSource::Query(query) => {
                let context = self.context();
                let found = select::rows(&context, query, None)?;
                if found.columns.len() != columns.len() {
                    return Err(error::column_count("1").into());
                }
                Some(found.rows)
            }
        };
        let total = match (&insert.source, &queried) {
            (_, Some(rows)) => rows.len(),
            (InsertSource::Rows(rows), _) => rows.len(),
            _ => 0,
        };
        let none_given =
            matches!(&insert.source, InsertSource::Rows(rows) if rows.iter().all(Vec::is_empty));
        let given_columns = if none_given { &[][..] } else { &columns };
        self.check_defaults(&table, given_columns, insert.ignore)?;
        self.numbers.rows = if queried.is_some() { 0 } else { total as u64 };
        for number in 0..total {
            let target = Target {
                table: &table,
                alias: &insert.table,
                inserted: None,
                new: new.as_ref().map(|new| (new, &*columns)),
                ignore: insert.ignore,
                row: number as u64 + 1,
            };
            let given = match (&insert.source, &queried) {
                (InsertSource::Rows(rows), None) => Given::Expressions(&rows[number]),
                (_, Some(rows)) => Given::Values(&rows[number]),
                _ => continue,
            };
            let mut row = self.new_row(&target, &columns, given)?;
            let result = self.insert_row(insert, &target, &mut row, &mut count, &mut fact);
            match result {
                Err(Stop::Error(error)) if insert.ignore && matches!(error.code, 1062 | 3819) => {
                    self.context().warn(error);
                }
                other => other?,
            }
        }
        self.report(fact);
        let several = total > 1 || queried.is_some();
        let duplicates = if insert.ignore {
            count.records - count.copied
        } else {
            count.replaced
        };
        let information = match several {
            true => format!(
                "Records: {}  Duplicates: {duplicates}  Warnings: {}",
                count.records,
                self.warnings()
            ),
            false => String::new(),
        };
        if count.last_insert_id == 0 && count.affected > 0 {
            count.last_insert_id = count.last_number;
        }
        Ok(self.reply(count, information))
    }

    fn insert_columns(&self, definition: &Definition, insert: &Insert) -> Outcome<Vec<usize>> {
        let Some(names) = &insert.columns else {
            return Ok((0..definition.columns.len()).collect());
        };
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let column = definition
                .column(name)
                .ok_or_else(|| error::unknown_column(name, "field list"))?;
            if columns.contains(&column) {
                return Err(error::column_twice(name).into());
            }
            columns.push(column);
        }
        if let (true, InsertSource::Rows(rows)) = (names.is_empty(), &insert.source) {
            // `() VALUES ()` is a row of defaults.
            return Ok(if rows.iter().all(Vec::is_empty) {
                Vec::new()
            } else {
                (0..definition.columns.len()).collect()
            });
        }
        Ok(columns)
    }

    fn check_insert(
        &self,
        table: &Table,
        insert: &Insert,
        columns: &[usize],
        new: Option<&Definition>,
    ) -> Outcome<()> {
        let context = self.context();
        let own = Source {
            alias: &insert.table,
            definition: &table.definition,
        };
        let definition = new.unwrap_or(own.definition);
        let alias = &*definition.name;
        let sources = [own, Source { alias, definition }];
        let scope = Scope {
            sources: &sources[..1],
            ..Scope::bare(&context)
        };
        if let InsertSource::Rows(rows) = &insert.source {
            for (number, row) in rows.iter().enumerate() {
                let defaults = row.is_empty() && insert.columns.as_ref().is_none_or(Vec::is_empty);
                if row.len() != columns.len() && !defaults {
                    return Err(error::column_count(&(number + 1).to_string()).into());
                }
                for value in row.iter().flatten() {
                    check(&scope, value, "field list", false)?;
                }
            }
        }
        for (name, value) in &insert.on_duplicate {
            if table.definition.column(name).is_none() {
                return Err(error::unknown_column(name, "field list").into());
            }
            if let Some(value) = value {
                let sources = &sources[..1 + usize::from(new.is_some())];
                check(&Scope { sources, ..scope }, value, "field list", false)?;
            }
        }
        Ok(())
    }

    /// Columns that are left out need a default, once for all rows.
    fn check_defaults(&self, table: &Arc<Table>, columns: &[usize], ignore: bool) -> Outcome<()> {
        for (number, column) in table.definition.columns.iter().enumerate() {
            let needs = column.not_null && column.default.is_none() && !column.auto_increment;
            if needs && !columns.contains(&number) {
                if !ignore {
                    return Err(error::no_default(&column.name).into());
                }
                self.context().warn(error::no_default(&column.name));
            }
        }
        Ok(())
    }

    /// The row to insert, but for its number.
    fn new_row(
        &mut self,
        target: &Target<'_>,
        columns: &[usize],
        given: Given<'_>,
    ) -> Outcome<Values> {
        let definition = &target.table.definition;
        let mut row: Values = vec![Value::Null; definition.columns.len()].into();
        let empty = matches!(given, Given::Expressions([]));
        for (column, specification) in definition.columns.iter().enumerate() {
            let zero = || match specification.auto_increment {
                true => Value::Null,
                false => specification.kind.zero(),
            };
            let value = self.default(target, column)?.unwrap_or_else(zero);
            Arc::make_mut(&mut row)[column] = value;
        }
        if !empty {
            for (place, column) in columns.iter().enumerate() {
                let value = match &given {
                    Given::Values(values) => values[place].clone(),
                    Given::Expressions(expressions) => match &expressions[place] {
                        Some(expression) => {
                            self.with_row(target.table, target.alias, &row, |scope| {
                                evaluate(scope, expression)
                            })?
                        }
                        None => {
                            let value = self.default_or_error(target, *column)?;
                            Arc::make_mut(&mut row)[*column] = value;
                            continue;
                        }
                    },
                };
                let awaits_number = definition.auto_increment == Some(*column) && value.is_null();
                let value = if awaits_number {
                    Value::Null
                } else {
                    self.stored(target, *column, &value)?
                };
                Arc::make_mut(&mut row)[*column] = value;
            }
        }
        Ok(row)
    }

    /// Gives the row its number, when it has none of its own; called when nothing else is wrong.
    fn number_row(&mut self, table: &Table, row: &mut Values) -> Outcome<Option<u64>> {
        let Some(column) = table.definition.auto_increment else {
            return Ok(None);
        };
        let kind = table.definition.columns[column].kind;
        let given = whole(&row[column]).unwrap_or(0);
        if given > 0
            || row[column]
                .number()
                .is_some_and(|(number, _)| !number.is_zero())
        {
            self.numbers.pass(given);
            return Ok(None);
        }
        let number = self.next_number(table, kind.most())?;
        Arc::make_mut(row)[column] = kind.store(&Value::Unsigned(number)).value;
        Ok(Some(number))
    }

    /// The next number of AUTO_INCREMENT, reserved for the statement.
    fn next_number(&mut self, table: &Table, most: u64) -> Outcome<u64> {
        if let Some(number) = self.numbers.next() {
            return Ok(number);
        }
        let start = self.state.table(&table.definition.name)?.next_number;
        // The last number is given again and again, and fails as a duplicate.
        if start > most || start == u64::MAX {
            return Err(error::auto_read_failed().into());
        }
        let end = self.numbers.reserve(start);
        self.number_at_least(table, end);
        Ok(self.numbers.next().unwrap_or(start))
    }

    fn number_at_least(&mut self, table: &Table, number: u64) {
        let column = table
            .definition
            .auto_increment
            .and_then(|column| table.definition.columns.get(column));
        let number = column.map_or(number, |column| number.min(column.kind.most()));
        let known = self
            .state
            .table(&table.definition.name)
            .map_or(u64::MAX, |table| table.next_number);
        if known < number
            && let Some(table) = self.state.table_mut(&table.definition.name)
        {
            table.next_number = number;
        }
    }

    /// A number given by hand moves AUTO_INCREMENT on.
    fn number_used(&mut self, table: &Table, row: &Values) {
        let number = table
            .definition
            .auto_increment
            .and_then(|column| whole(&row[column]));
        if let Some(number) = number {
            self.number_at_least(table, number.saturating_add(1));
        }
    }

    fn insert_row(
        &mut self,
        insert: &Insert,
        target: &Target<'_>,
        row: &mut Values,
        count: &mut Count,
        fact: &mut WriteFact,
    ) -> Outcome<()> {
        let table = target.table;
        let definition = table.definition.clone();
        let updates = !insert.on_duplicate.is_empty();
        count.matched += 1;
        count.number(&definition, row);
        self.check_row(table, row)?;
        let upcoming = self.numbers.upcoming();
        let generated = self.number_row(table, row)?;
        count.number(&definition, row);
        count.records += 1;
        self.numbers.row_written();
        let mut replaced = 0;
        let mut before = None;
        let mut identical = false;
        let unique = |index: &usize| {
            definition
                .index(*index)
                .is_some_and(|index| index.kind != KeyKind::Plain)
        };
        let last = (0..definition.index_count()).rfind(unique).unwrap_or(0);
        let place = self.new_key(table, row)?;
        let mut mark = self.mark(table, &[&place]);
        let mut index = 0;
        let mut stood = Vec::new();
        while index < definition.index_count() {
            let own = (index > 0).then(|| (&place, stood.contains(&index)));
            let progress = (target.row, self.transaction.work.undo);
            let found = match self.met(table, progress) {
                Some((at, key, old)) => {
                    index = at;
                    Some((key, old))
                }
                None => self.duplicate(table, index, row, insert.replace || updates, own)?,
            };
            let Some((key, old)) = found else {
                self.bring(table, index, &place, row)?;
                if index == 0 {
                    self.check_room(table)?;
                    stood = self.where_it_stood(table, row, &place);
                    self.put(table, &place, Some(row.clone()));
                }
                self.stands_in(table, index);
                index += 1;
                continue;
            };
            self.take_back(table, &mark);
            if insert.replace || updates {
                // Wherever it waits from now on, it goes on with the row that it has met; what a later one met is not forgotten.
                let number = (target.row, self.transaction.work.undo);
                let later = |known: &Progress| known.scan == 0 && known.row >= number;
                if !self.progress.as_ref().is_some_and(later) {
                    self.progress = Some(Progress {
                        scan: 0,
                        interval: index,
                        entry: key.clone(),
                        examined: Vec::new(),
                        row: number,
                    });
                }
                self.lock_row(table, &key)?;
            }
            let old_fact = Some(Row::new(definition.names.clone(), old.clone()));
            if insert.replace {
                self.number_used(table, row);
                before = before.or(old_fact);
                identical = index == last && old == *row;
                replaced += u64::from(!identical);
                count.replaced += u64::from(!identical);
                if index == last {
                    // Nothing else can be in the way: the row is changed where it stands.
                    if !identical {
                        self.replace_row(table, &key, &old, row)?;
                    }
                    break;
                }
                self.remove(table, &key, &old)?;
                mark = self.mark(table, &[&place]);
                index = 0;
                continue;
            }
            self.numbers.give_back(upcoming, generated);
            if updates {
                return self.update_duplicate(insert, target, (&key, &old), row, count, fact);
            }
            if insert.ignore {
                let same = RowFact {
                    before: old_fact.clone(),
                    after: old_fact,
                    outcomes: Vec::new(),
                    matched: false,
                    changed: false,
                };
                fact.rows.push(same);
            }
            return Err(duplicate_error(&definition, index, row).into());
        }
        count.changed += 1;
        count.copied += 1;
        // A row that REPLACE finds as it would be, by the last key, is left alone and counts once.
        let affected = 1 + replaced;
        count.affected += affected;
        count.found += affected;
        if let (Some(number), 0) = (generated, count.last_insert_id) {
            count.last_insert_id = number;
            // LAST_INSERT_ID() tells it even if a later row fails.
            self.effects.borrow_mut().generated = Some(number);
        }
        self.number_used(table, row);
        fact.rows.push(RowFact {
            changed: !identical,
            before,
            after: Some(Row::new(definition.names.clone(), row.clone())),
            outcomes: Vec::new(),
            matched: true,
        });
        Ok(())
    }

    /// The row that this one had met before the statement waited for it, and the index: what came since is not looked at.
    fn met(&self, table: &Table, row: (u64, usize)) -> Option<(usize, Key, Values)> {
        let met = self.progress.as_ref()?;
        if met.scan > 0 || met.row != row {
            return None;
        }
        let old = self.view().current(table, &met.entry)?;
        Some((met.interval, met.entry.clone(), old))
    }

    /// The indexes in which an entry with these values stands already, of a row that was deleted from this place.
    fn where_it_stood(&self, table: &Arc<Table>, row: &Values, place: &Key) -> Vec<usize> {
        if !self.tracks {
            return Vec::new();
        }
        let stands = |index: &usize| {
            let entry = table.definition.entry(*index, row, place);
            let entries = self.view().entries(table, *index);
            entries.iter().any(|(known, _)| *known == entry)
        };
        (1..table.definition.index_count()).filter(stands).collect()
    }

    fn update_duplicate(
        &mut self,
        insert: &Insert,
        target: &Target<'_>,
        (key, old): (&Key, &Values),
        row: &Values,
        count: &mut Count,
        fact: &mut WriteFact,
    ) -> Outcome<()> {
        let table = target.table;
        let columns: Vec<usize> = insert
            .on_duplicate
            .iter()
            .filter_map(|(name, _)| table.definition.column(name))
            .collect();
        let inner = Target {
            inserted: Some(row),
            ..*target
        };
        let new = self.assign(&inner, &columns, &insert.on_duplicate, old)?;
        let changed = new != *old;
        if changed {
            self.replace_row(table, key, old, &new)?;
            count.changed += 1;
            count.affected += 2;
            count.replaced += 1;
        }
        count.number(&table.definition, &new);
        count.found += if changed { 2 } else { 1 };
        if !changed
            && columns
                .iter()
                .any(|column| is_default_under_null(table, *column, old))
        {
            count.affected += 1;
            count.found += 1;
        }
        let names = &table.definition.names;
        fact.rows.push(RowFact {
            before: Some(Row::new(names.clone(), old.clone())),
            after: Some(Row::new(names.clone(), new.clone())),
            outcomes: Vec::new(),
            matched: true,
            changed,
        });
        Ok(())
    }
}

/// Whether a column holds NULL that the server keeps over the bytes of a default. Setting it to NULL clears those bytes, which
/// ON DUPLICATE KEY UPDATE counts as a row although it is none (`compare_record` in MySQL's sql_insert.cc).
fn is_default_under_null(table: &Table, column: usize, row: &Values) -> bool {
    let specification = &table.definition.columns[column];
    row[column].is_null()
        && matches!(&specification.default, Some(Default::Literal(value))
            if !value.is_null() && *value != specification.kind.zero())
}

/// A number of AUTO_INCREMENT.
pub(super) fn whole(value: &Value) -> Option<u64> {
    value
        .number()
        .and_then(|(number, _)| u64::try_from(number.to_whole()).ok())
}

/// What a fact says of a row, before it is made.
struct Judged {
    matched: bool,
    after: Option<Values>,
}

/// Where an inserted row's values come from.
enum Given<'a> {
    Expressions(&'a [Option<Expression>]),
    Values(&'a [Value]),
}

fn names(assignments: &[Assignment]) -> Vec<String> {
    assignments.iter().map(|(name, _)| name.clone()).collect()
}

/// The error for a row that is there already, with the key's values joined by `-`.
pub(super) fn duplicate_error(definition: &Definition, index: usize, row: &[Value]) -> SqlError {
    let Some(unique) = definition.index(index) else {
        return error::duplicate_entry("", "");
    };
    let values: Vec<String> = unique
        .columns
        .iter()
        .map(|column| row[*column].to_string())
        .collect();
    error::duplicate_entry(
        &values.join("-"),
        &format!("{}.{}", definition.name, unique.name),
    )
}

/// What `AS new(a, b)` names: the row that was to be inserted, as a table of the columns that are given.
fn new_row(
    definition: &Definition,
    insert: &Insert,
    columns: &[usize],
) -> Outcome<Option<Definition>> {
    let Some(alias) = &insert.alias else {
        return Ok(None);
    };
    if *alias == insert.table {
        return Err(error::not_unique(alias).into());
    }
    let mut names: Vec<String> = insert.alias_columns.clone();
    if names.is_empty() {
        names = columns
            .iter()
            .map(|column| definition.names[*column].clone())
            .collect();
    }
    if names.len() != columns.len() {
        return Err(error::view_columns().into());
    }
    let mut new = Definition::bare(alias, names.into());
    for column in columns {
        new.columns.push(definition.columns[*column].clone());
    }
    Ok(Some(new))
}

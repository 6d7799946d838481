//! A statement: parsed once, run any number of times.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::error::SqlError;
use super::parse::Parser;
use super::syntax::{Command, Insert, InsertSource, Select, Span};
use super::value::Value;

/// One parsed SQL statement. Two are equal when their texts are.
#[derive(Clone)]
pub struct Statement(Arc<Inner>);

struct Inner {
    source: String,
    variables: Vec<String>,
    placeholders: Vec<Span>,
    command: Command,
}

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementKind {
    /// SELECT, also with FOR UPDATE.
    Select,
    /// SELECT ... INTO, which answers with no rows.
    SelectInto,
    /// INSERT.
    Insert,
    /// REPLACE.
    Replace,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// CREATE TABLE.
    CreateTable,
    /// DROP TABLE.
    DropTable,
    /// TRUNCATE TABLE.
    Truncate,
    /// BEGIN or START TRANSACTION.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK of the whole transaction.
    Rollback,
    /// SAVEPOINT, ROLLBACK TO and RELEASE.
    Savepoint,
    /// SET.
    Set,
    /// SHOW, DESCRIBE, DO and USE.
    Other,
}

impl Statement {
    /// Reads one statement of MySQL's dialect, with or without a semicolon at its end. `{name}`
    /// outside quotes is a value to be bound later, as `?` is in a prepared statement.
    ///
    /// # Errors
    ///
    /// Error 1064 with MySQL's text, and the byte at which reading stopped; 1235 for what MySQL
    /// takes and this database does not; 1065 for an empty text.
    pub fn parse(source: &str) -> Result<Statement, SqlError> {
        let mut parser = Parser::new(source);
        let command = parser.statement()?;
        let (variables, placeholders) = parser.placeholders.into_iter().unzip();
        Ok(Statement(Arc::new(Inner {
            source: source.to_string(),
            variables,
            placeholders,
            command,
        })))
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The text with these values as literals in place of its variables; NULL for one that has no value here.
    pub fn text_with(&self, parameters: &[(String, Value)]) -> String {
        let value_of = |name: &String| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map_or(Value::Null, |(_, value)| value.clone())
        };
        let values: Vec<Value> = self.variables().iter().map(value_of).collect();
        let whole = Span {
            start: 0,
            end: self.source().len(),
        };
        self.filled(whole, &values)
    }

    /// The text around its variables: each piece with the name of the variable behind it, `None` behind the last one.
    pub fn pieces(&self) -> Vec<(&str, Option<&str>)> {
        let mut pieces = Vec::new();
        let mut at = 0;
        for (placeholder, name) in self.0.placeholders.iter().zip(self.variables()) {
            let text = self.source().get(at..placeholder.start).unwrap_or("");
            pieces.push((text, Some(name.as_str())));
            at = placeholder.end;
        }
        pieces.push((self.source().get(at..).unwrap_or(""), None));
        pieces
    }

    /// Whether it ends with `\G`, for which the mysql client prints a line for each value.
    pub(super) fn is_vertical(&self) -> bool {
        self.source()
            .trim_end()
            .trim_end_matches(';')
            .ends_with("\\G")
    }

    /// The names of the placeholders, one for each occurrence, in the order of writing.
    pub fn variables(&self) -> &[String] {
        &self.0.variables
    }

    /// What the statement does.
    pub fn kind(&self) -> StatementKind {
        match self.command() {
            Command::Select(select) if !select.into.is_empty() => StatementKind::SelectInto,
            Command::Select(_) => StatementKind::Select,
            Command::Insert(insert) if insert.replace => StatementKind::Replace,
            Command::Insert(_) => StatementKind::Insert,
            Command::Update(_) => StatementKind::Update,
            Command::Delete(_) => StatementKind::Delete,
            Command::CreateTable(_) => StatementKind::CreateTable,
            Command::DropTable { .. } => StatementKind::DropTable,
            Command::Truncate(_) => StatementKind::Truncate,
            Command::Begin { .. } => StatementKind::Begin,
            Command::End { commit: true, .. } => StatementKind::Commit,
            Command::End { .. } => StatementKind::Rollback,
            Command::Savepoint(_) | Command::RollbackTo(_) | Command::Release(_) => {
                StatementKind::Savepoint
            }
            Command::Set(_) => StatementKind::Set,
            Command::Do(_)
            | Command::AlterTable(..)
            | Command::ShowTables(_)
            | Command::ShowVariables { .. }
            | Command::ShowIndex(_)
            | Command::ShowConditions { .. }
            | Command::Describe(..)
            | Command::ShowCreate(_)
            | Command::Use => StatementKind::Other,
        }
    }

    /// Whether it changes rows: INSERT, REPLACE, UPDATE, DELETE, TRUNCATE.
    pub fn is_write(&self) -> bool {
        use StatementKind as K;
        matches!(
            self.kind(),
            K::Insert | K::Replace | K::Update | K::Delete | K::Truncate
        )
    }

    /// The tables that it names, each once, the one that is written first.
    pub fn tables(&self) -> Vec<&str> {
        let mut tables: Vec<&str> = Vec::new();
        let mut add = |table| {
            if !tables.contains(&table) {
                tables.push(table);
            }
        };
        match self.command() {
            Command::Insert(insert) => add(insert.table.as_str()),
            Command::Update(update) => add(&update.table),
            Command::Delete(delete) => add(&delete.table),
            Command::CreateTable(create) => add(&create.table),
            Command::Truncate(table)
            | Command::Describe(table, _)
            | Command::ShowCreate(table)
            | Command::ShowIndex(table)
            | Command::AlterTable(table, _) => add(table),
            Command::DropTable { tables, .. } => tables.iter().for_each(|table| add(table)),
            _ => {}
        }
        self.each_query(&mut |query| query.tables().for_each(&mut add));
        tables
    }

    /// Calls back with every query in the statement.
    pub(super) fn each_query<'a>(&'a self, visit: &mut dyn FnMut(&'a Select)) {
        match self.command() {
            Command::Select(select) => select.each_query(visit),
            Command::Insert(insert) => {
                match &insert.source {
                    InsertSource::Query(query) => query.each_query(visit),
                    InsertSource::Rows(rows) => {
                        rows.iter()
                            .flatten()
                            .flatten()
                            .for_each(|value| value.each_query(visit));
                    }
                }
                insert
                    .on_duplicate
                    .iter()
                    .filter_map(|(_, value)| value.as_ref())
                    .for_each(|value| value.each_query(visit));
            }
            Command::Update(update) => {
                update
                    .assignments
                    .iter()
                    .filter_map(|(_, value)| value.as_ref())
                    .for_each(|value| value.each_query(visit));
                update
                    .condition
                    .iter()
                    .for_each(|conjunct| conjunct.expression.each_query(visit));
            }
            Command::Delete(delete) => {
                delete
                    .condition
                    .iter()
                    .for_each(|conjunct| conjunct.expression.each_query(visit));
            }
            Command::Do(expressions) => expressions
                .iter()
                .for_each(|expression| expression.each_query(visit)),
            _ => {}
        }
    }

    /// Whether a query in it reads the table that it changes. What is worked out first does not count: derived tables, and
    /// the query of INSERT ... SELECT.
    pub(super) fn reads_its_target(&self, target: &str) -> bool {
        let mut first: Vec<&Select> = Vec::new();
        if let Command::Insert(Insert {
            source: InsertSource::Query(query),
            ..
        }) = self.command()
        {
            query.each_query(&mut |inner| first.push(inner));
        }
        let mut found = false;
        self.each_query(&mut |query| {
            for from in &query.from {
                match &from.query {
                    Some(derived) => derived.each_query(&mut |inner| first.push(inner)),
                    None => {
                        let counts = !first.iter().any(|known| std::ptr::eq(*known, query));
                        found |= counts && from.table == target;
                    }
                }
            }
        });
        found
    }

    pub(super) fn command(&self) -> &Command {
        &self.0.command
    }

    /// A part of the text with its placeholders filled in as literals.
    pub(super) fn filled(&self, span: Span, values: &[Value]) -> String {
        let mut out = String::new();
        let mut at = span.start;
        for (placeholder, value) in self.0.placeholders.iter().zip(values) {
            if placeholder.start >= at && placeholder.end <= span.end {
                out.push_str(self.source().get(at..placeholder.start).unwrap_or(""));
                out.push_str(&value.to_literal());
                at = placeholder.end;
            }
        }
        out.push_str(self.source().get(at..span.end).unwrap_or(""));
        out
    }
}

impl PartialEq for Statement {
    fn eq(&self, other: &Statement) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.source == other.0.source
    }
}

impl Eq for Statement {}

impl Hash for Statement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.source.hash(state);
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Statement({:?})", self.0.source)
    }
}

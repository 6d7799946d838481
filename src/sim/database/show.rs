//! What SHOW and DESCRIBE tell of tables and settings.

use super::collation;
use super::column::{ColumnSpecification, ColumnType, Default, KeyKind};
use super::error::Outcome;
use super::expression::Scope;
use super::print;
use super::reply::SqlReply;
use super::run::Run;
use super::state::{Session, shown_variable, variables};
use super::table::{Definition, Index, Table};
use super::value::Value;

impl Run<'_> {
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
        let head = match pattern {
            "%" => "Tables_in_test".to_string(),
            pattern => ["Tables_in_test (", pattern, ")"].concat(),
        };
        SqlReply::table(&head, rows.collect())
    }

    pub(super) fn show_variables(&self, global: bool, pattern: &str) -> Outcome<SqlReply> {
        let mut rows = Vec::new();
        let default = Session::default();
        let session = if global { &default } else { &*self.session };
        for name in variables(global) {
            if collation::like(name, pattern, '\\') {
                rows.push(vec![name.into(), shown_variable(session, name)?]);
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

    pub(super) fn describe(&self, name: &str, pattern: &str) -> Outcome<SqlReply> {
        let table = self.state.table(name)?;
        let definition = &table.definition;
        let rows = definition
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| collation::like(&column.name, pattern, '\\'))
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
                    (_, true) => "auto_increment",
                    (Some(Default::Now(_) | Default::Expression(_)), _) => "DEFAULT_GENERATED",
                    _ => "",
                };
                let extra = match (column.on_update_now, column.kind) {
                    (true, ColumnType::DateTime { digits, .. }) => {
                        [extra, " on update ", &now_text(digits)].concat()
                    }
                    _ => extra.to_string(),
                };
                vec![
                    column.name.as_str().into(),
                    column.type_text().into(),
                    if column.not_null { "NO" } else { "YES" }.into(),
                    if primary { "PRI" } else { key }.into(),
                    default_text(column),
                    extra.trim_start().into(),
                ]
            });
        let heads = "Field|Type|Null|Key|Default|Extra";
        Ok(SqlReply::table(heads, rows.collect()))
    }

    pub(super) fn show_create(&self, name: &str) -> Outcome<SqlReply> {
        let text = self.create_statement(self.state.table(name)?);
        let rows = vec![vec![name.into(), text.into()]];
        Ok(SqlReply::table("Table|Create Table", rows))
    }

    /// CREATE TABLE as MySQL 8 prints it, but for comments, which are not kept.
    pub(super) fn create_statement(&self, table: &Table) -> String {
        let context = self.context();
        // Without sources names are printed without their table.
        let scope = Scope::bare(&context);
        let definition = &table.definition;
        let columns = definition.columns.iter();
        let mut parts: Vec<String> = columns.map(|column| column_text(&scope, column)).collect();
        let indexes = definition.indexes.iter();
        parts.extend(indexes.map(|index| index_text(definition, index)));
        for check in &definition.checks {
            let expression = print::expression(&scope, &check.expression);
            parts.push(format!("CONSTRAINT `{}` CHECK ({expression})", check.name));
        }
        let next = match table.next_number {
            1 => String::new(),
            number => format!(" AUTO_INCREMENT={number}"),
        };
        let (name, parts) = (&definition.name, parts.join(",\n  "));
        format!(
            "CREATE TABLE `{name}` (\n  {parts}\n) ENGINE=InnoDB{next} DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"
        )
    }
}

fn column_text(scope: &Scope<'_>, column: &ColumnSpecification) -> String {
    let mut text = format!("`{}` {}", column.name, column.type_text());
    let timestamp = matches!(
        column.kind,
        ColumnType::DateTime {
            timestamp: true,
            ..
        }
    );
    if column.not_null {
        text.push_str(" NOT NULL");
    } else if timestamp {
        text.push_str(" NULL");
    }
    let nothing = column.not_null || matches!(column.kind, ColumnType::Text(_));
    match &column.default {
        Some(Default::Expression(expression)) => {
            text.push_str(&format!(
                " DEFAULT ({})",
                print::expression(scope, expression)
            ));
        }
        _ => match default_text(column) {
            Value::Null if nothing => {}
            Value::Null => text.push_str(" DEFAULT NULL"),
            now if matches!(column.default, Some(Default::Now(_))) => {
                text.push_str(&format!(" DEFAULT {now}"));
            }
            value => text.push_str(&format!(" DEFAULT {}", value.to_literal())),
        },
    }
    if let (true, ColumnType::DateTime { digits, .. }) = (column.on_update_now, column.kind) {
        text.push_str(&format!(" ON UPDATE {}", now_text(digits)));
    }
    if column.auto_increment {
        text.push_str(" AUTO_INCREMENT");
    }
    text
}

fn index_text(definition: &Definition, index: &Index) -> String {
    let columns = index.columns.iter();
    let columns: Vec<String> = columns
        .map(|column| format!("`{}`", definition.names[*column]))
        .collect();
    let head = match index.kind {
        KeyKind::Primary => "PRIMARY KEY".to_string(),
        KeyKind::Unique => format!("UNIQUE KEY `{}`", index.name),
        KeyKind::Plain => format!("KEY `{}`", index.name),
    };
    format!("{head} ({})", columns.join(","))
}

fn now_text(digits: u8) -> String {
    match digits {
        0 => "CURRENT_TIMESTAMP".into(),
        digits => format!("CURRENT_TIMESTAMP({digits})"),
    }
}

fn default_text(column: &ColumnSpecification) -> Value {
    match &column.default {
        Some(Default::Literal(value)) if !value.is_null() => {
            column.kind.store(value).value.to_string().into()
        }
        Some(Default::Now(digits)) => now_text(*digits).into(),
        _ => Value::Null,
    }
}

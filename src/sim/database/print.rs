//! Prints expressions as MySQL's messages do: names in full, every operator in parentheses.

use super::error::DATABASE_NAME;
use super::expression::{Found, Scope};
use super::syntax::{Aggregate, Expression, Prefix};

fn list(scope: &Scope<'_>, parts: &[Expression], separator: &str) -> String {
    parts
        .iter()
        .map(|part| expression(scope, part))
        .collect::<Vec<_>>()
        .join(separator)
}

/// The expression, for a message.
pub(super) fn expression(scope: &Scope<'_>, whole: &Expression) -> String {
    match whole {
        Expression::Literal(value) => value.to_literal(),
        Expression::Placeholder(number) => scope
            .context
            .parameters
            .get(*number)
            .map_or_else(|| "?".into(), super::value::Value::to_literal),
        Expression::Column { table, name } => match scope.find(table.as_deref(), name, "") {
            Ok(Found::Column {
                scope,
                source,
                column,
            }) => {
                let source = &scope.sources[source];
                let name = &source.definition.columns[column].name;
                format!("`{DATABASE_NAME}`.`{}`.`{name}`", source.alias)
            }
            _ => format!("`{name}`"),
        },
        Expression::Inserted(name) => format!("values(`{name}`)"),
        Expression::Binary(operator, left, right) => {
            format!(
                "({} {} {})",
                expression(scope, left),
                operator.symbol(),
                expression(scope, right)
            )
        }
        Expression::Prefix(prefix, operand) => {
            let operand = expression(scope, operand);
            match prefix {
                Prefix::Not => format!("(not({operand}))"),
                Prefix::Minus => format!("-({operand})"),
                Prefix::BitNot => format!("~({operand})"),
            }
        }
        Expression::Call(function, arguments) => {
            format!(
                "{}({})",
                super::function::name_of(*function),
                list(scope, arguments, ",")
            )
        }
        Expression::Aggregate {
            kind,
            distinct,
            arguments,
        } => {
            let name = match kind {
                Aggregate::Count => "count",
                Aggregate::Sum => "sum",
                Aggregate::Average => "avg",
                Aggregate::Minimum => "min",
                Aggregate::Maximum => "max",
            };
            let distinct = if *distinct { "distinct " } else { "" };
            format!("{name}({distinct}{})", list(scope, arguments, ","))
        }
        Expression::Cast(to, operand) => {
            let to = match to {
                super::syntax::CastTo::Signed => "signed".to_string(),
                super::syntax::CastTo::Unsigned => "unsigned".to_string(),
                super::syntax::CastTo::Decimal(precision, scale) => {
                    format!("decimal({precision},{scale})")
                }
                super::syntax::CastTo::Text(_) => "char charset utf8mb4".to_string(),
                super::syntax::CastTo::Double => "double".to_string(),
                super::syntax::CastTo::DateTime(_) => "datetime".to_string(),
            };
            format!("cast({} as {to})", expression(scope, operand))
        }
        Expression::UserVariable(name) => format!("(@`{name}`)"),
        Expression::SystemVariable(name) => format!("@@{name}"),
        other => {
            let mut parts = Vec::new();
            other.each_part(&mut |part| parts.push(expression(scope, part)));
            format!("({})", parts.join(","))
        }
    }
}

//! Prints expressions as MySQL's messages and SHOW CREATE TABLE do: names in full, every operator in parentheses.

use super::error::DATABASE_NAME;
use super::expression::{Found, Scope};
use super::syntax::{Aggregate, Expression, Is, Operator, Prefix};

fn list(scope: &Scope<'_>, parts: &[Expression], separator: &str) -> String {
    parts
        .iter()
        .map(|part| expression(scope, part))
        .collect::<Vec<_>>()
        .join(separator)
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

/// The expression, for a message or for SHOW CREATE TABLE.
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
            let mut before = expression(scope, left);
            let joins = matches!(operator, Operator::And | Operator::Or);
            if joins && matches!(&**left, Expression::Binary(inner, ..) if inner == operator) {
                // A row of ANDs, or of ORs, is one list.
                before.pop();
                before.remove(0);
            }
            format!(
                "({before} {} {})",
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
        Expression::Is {
            negated,
            what,
            operand,
        } => {
            let what = match what {
                Is::Null => "null",
                Is::True => "true",
                Is::False => "false",
            };
            let operand = expression(scope, operand);
            format!("({operand} is {}{what})", not(*negated))
        }
        Expression::Between { negated, operands } => {
            let [value, low, high] = &**operands;
            let [value, low, high] = [value, low, high].map(|part| expression(scope, part));
            format!("({value} {}between {low} and {high})", not(*negated))
        }
        Expression::In {
            negated,
            needle,
            list: candidates,
        } => {
            let needle = expression(scope, needle);
            let candidates = list(scope, candidates, ",");
            format!("({needle} {}in ({candidates}))", not(*negated))
        }
        Expression::Like {
            negated, operands, ..
        } => {
            let [text, pattern] = &**operands;
            let [text, pattern] = [text, pattern].map(|part| expression(scope, part));
            format!("({text} {}like {pattern})", not(*negated))
        }
        Expression::Case {
            operand,
            arms,
            otherwise,
        } => {
            let part =
                |word: &str, part: &Expression| format!("{word} {} ", expression(scope, part));
            let operand = operand
                .iter()
                .map(|it| format!("{} ", expression(scope, it)));
            let arms = arms
                .iter()
                .map(|(when, then)| part("when", when) + &part("then", then));
            let otherwise = otherwise.iter().map(|it| part("else", it));
            let parts: String = operand.chain(arms).chain(otherwise).collect();
            format!("(case {parts}end)")
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

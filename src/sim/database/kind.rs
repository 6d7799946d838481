//! What kind of value an expression gives, known before any row is read: `COALESCE(qty, 'none')`
//! is a string even where qty is a number, `IF(1, 1, 2.50)` prints 1.00.

use super::column::ColumnType;
use super::decimal::{Decimal, MOST_SCALE};
use super::error::Outcome;
use super::expression::{Found, Scope};
use super::function::Function;
use super::syntax::{Aggregate, CastTo, Expression, Operator, Prefix};
use super::value::{Double, Value};

/// Kinds of values, as far as results differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Integer,
    Unsigned,
    /// With digits after the point.
    Decimal(u8),
    Double,
    Text,
    DateTime,
}

impl Kind {
    fn of_value(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Null,
            Value::Integer(_) => Kind::Integer,
            Value::Unsigned(_) => Kind::Unsigned,
            Value::Decimal(number) => Kind::Decimal(number.scale()),
            Value::Double(_) => Kind::Double,
            Value::Text(_) => Kind::Text,
            Value::DateTime(_) => Kind::DateTime,
        }
    }

    pub(super) fn of_column(kind: ColumnType) -> Kind {
        match kind {
            ColumnType::Integer { unsigned: true, .. } => Kind::Unsigned,
            ColumnType::Integer { .. } => Kind::Integer,
            ColumnType::Decimal { scale, .. } => Kind::Decimal(scale),
            ColumnType::Double { .. } => Kind::Double,
            ColumnType::Varchar(_) | ColumnType::Char(_) | ColumnType::Text(_) => Kind::Text,
            ColumnType::DateTime { .. } => Kind::DateTime,
        }
    }

    /// The type of a column that holds such values, for a derived table.
    pub(super) fn column(self) -> ColumnType {
        let integer = |unsigned| ColumnType::Integer { bytes: 8, unsigned };
        match self {
            Kind::Integer => integer(false),
            Kind::Unsigned => integer(true),
            Kind::Decimal(scale) => ColumnType::Decimal {
                precision: 36,
                scale,
                unsigned: false,
            },
            Kind::Double => ColumnType::Double { unsigned: false },
            Kind::Null | Kind::Text => ColumnType::Text(u32::MAX),
            Kind::DateTime => ColumnType::DateTime {
                digits: 6,
                timestamp: false,
            },
        }
    }

    fn scale(self) -> u8 {
        if let Kind::Decimal(scale) = self {
            scale
        } else {
            0
        }
    }

    /// The kind that holds values of both.
    fn with(self, other: Kind) -> Kind {
        use Kind as K;
        match (self, other) {
            (a, b) if a == b => a,
            (K::Null, kind) | (kind, K::Null) => kind,
            (K::Text, _) | (_, K::Text) | (K::DateTime, _) | (_, K::DateTime) => K::Text,
            (K::Double, _) | (_, K::Double) => K::Double,
            (a, b) => K::Decimal(a.scale().max(b.scale())),
        }
    }
}

/// The column's type, where the expression is a column.
fn column_type(scope: &Scope<'_>, expression: &Expression) -> Option<ColumnType> {
    let Expression::Column { table, name } = expression else {
        return None;
    };
    let Ok(Found::Column {
        scope,
        source,
        column,
    }) = scope.find(table.as_deref(), name, "")
    else {
        return None;
    };
    let column = scope.sources[source].definition.columns.get(column)?;
    Some(column.kind)
}

/// Whether the expression is a column for UNSIGNED numbers that are not whole, or one of several such.
pub(super) fn is_unsigned_column(scope: &Scope<'_>, expression: &Expression) -> bool {
    use ColumnType as T;
    use Function as F;
    let one =
        |part: &Expression| of(scope, part) == Kind::Unsigned || is_unsigned_column(scope, part);
    let all = match expression {
        // IF alone takes no notice of a NULL.
        Expression::Call(F::If, parts) => {
            let mut parts = parts.iter().skip(1);
            parts.all(|part| of(scope, part) == Kind::Null || one(part))
        }
        Expression::Call(F::IfNull | F::Coalesce | F::Greatest | F::Least | F::Abs, parts) => {
            parts.iter().all(one)
        }
        Expression::Case {
            arms, otherwise, ..
        } => arms.iter().all(|(_, then)| one(then)) && otherwise.iter().all(|part| one(part)),
        _ => false,
    };
    if all {
        return matches!(of(scope, expression), Kind::Decimal(_));
    }
    let kind = column_type(scope, expression);
    matches!(
        kind,
        Some(T::Decimal { unsigned: true, .. } | T::Double { unsigned: true })
    )
}

fn all<'e>(scope: &Scope<'_>, parts: impl IntoIterator<Item = &'e Expression>) -> Kind {
    parts
        .into_iter()
        .fold(Kind::Null, |kind, part| kind.with(of(scope, part)))
}

fn arithmetic(operator: Operator, left: Kind, right: Kind) -> Kind {
    use Kind as K;
    let inexact = |kind| matches!(kind, K::Double | K::Text);
    match operator {
        Operator::BitOr
        | Operator::BitAnd
        | Operator::BitXor
        | Operator::ShiftLeft
        | Operator::ShiftRight => K::Unsigned,
        Operator::WholeDivide if left == K::Unsigned || right == K::Unsigned => K::Unsigned,
        Operator::WholeDivide => K::Integer,
        _ if inexact(left) || inexact(right) => K::Double,
        Operator::Divide => K::Decimal((left.scale() + 4).min(MOST_SCALE)),
        Operator::Multiply if matches!((left, right), (K::Decimal(_), _) | (_, K::Decimal(_))) => {
            K::Decimal((left.scale() + right.scale()).min(MOST_SCALE))
        }
        _ if matches!((left, right), (K::Decimal(_), _) | (_, K::Decimal(_))) => {
            K::Decimal(left.scale().max(right.scale()))
        }
        Operator::Modulo => {
            if left == K::Unsigned {
                K::Unsigned
            } else {
                K::Integer
            }
        }
        _ if left == K::Unsigned || right == K::Unsigned => K::Unsigned,
        _ => K::Integer,
    }
}

/// The kind of the expression's value in this scope.
pub(super) fn of(scope: &Scope<'_>, expression: &Expression) -> Kind {
    match expression {
        Expression::Literal(value) => Kind::of_value(value),
        Expression::Placeholder(number) => scope
            .context
            .parameters
            .get(*number)
            .map_or(Kind::Null, Kind::of_value),
        Expression::Column { table, name } => match scope.find(table.as_deref(), name, "") {
            Ok(Found::Alias(alias)) => Kind::of_value(&scope.aliases[alias].1),
            _ => column_type(scope, expression).map_or(Kind::Null, Kind::of_column),
        },
        Expression::Inserted(name) => {
            let column = scope.sources.first().and_then(|source| {
                source
                    .definition
                    .column(name)
                    .and_then(|column| source.definition.columns.get(column))
            });
            column.map_or(Kind::Null, |column| Kind::of_column(column.kind))
        }
        Expression::Binary(operator, left, right) => {
            if (*operator as u8) < (Operator::BitOr as u8) {
                return Kind::Integer;
            }
            arithmetic(*operator, of(scope, left), of(scope, right))
        }
        Expression::Prefix(Prefix::Minus, operand) => match of(scope, operand) {
            Kind::Text => Kind::Double,
            Kind::Unsigned | Kind::DateTime => Kind::Integer,
            kind => kind,
        },
        Expression::Prefix(Prefix::BitNot, _) => Kind::Unsigned,
        Expression::Case {
            arms, otherwise, ..
        } => all(
            scope,
            arms.iter()
                .map(|(_, then)| then)
                .chain(otherwise.as_deref()),
        ),
        Expression::Call(function, arguments) => of_call(scope, *function, arguments),
        Expression::Aggregate {
            kind, arguments, ..
        } => match (kind, arguments.first().map(|first| of(scope, first))) {
            (Aggregate::Count, _) | (_, None) => Kind::Integer,
            (Aggregate::Minimum | Aggregate::Maximum, Some(kind)) => kind,
            (_, Some(Kind::Double | Kind::Text)) => Kind::Double,
            (Aggregate::Sum, Some(kind)) => Kind::Decimal(kind.scale()),
            (Aggregate::Average, Some(kind)) => Kind::Decimal((kind.scale() + 4).min(MOST_SCALE)),
        },
        Expression::Cast(to, _) => match to {
            CastTo::Signed => Kind::Integer,
            CastTo::Unsigned => Kind::Unsigned,
            CastTo::Decimal(_, scale) => Kind::Decimal(*scale),
            CastTo::Text(_) => Kind::Text,
            CastTo::Double => Kind::Double,
            CastTo::DateTime(_) => Kind::DateTime,
        },
        Expression::Shift { operands, .. } => match of(scope, &operands[0]) {
            Kind::DateTime => Kind::DateTime,
            _ => Kind::Text,
        },
        Expression::UserVariable(name) => {
            let effects = scope.context.effects.borrow();
            let known = effects.variables.iter().find(|(known, _)| known == name);
            known.map_or(Kind::Null, |(_, value)| Kind::of_value(value))
        }
        Expression::Assign(_, operand) => of(scope, operand),
        _ => Kind::Integer,
    }
}

fn of_call(scope: &Scope<'_>, function: Function, arguments: &[Expression]) -> Kind {
    use Function as F;
    let first = || {
        arguments
            .first()
            .map_or(Kind::Null, |first| of(scope, first))
    };
    match function {
        F::If => all(scope, arguments.iter().skip(1)),
        F::IfNull | F::Coalesce | F::Greatest | F::Least => all(scope, arguments),
        F::NullIf | F::Abs => first(),
        F::Concat
        | F::ConcatWithSeparator
        | F::PadLeft
        | F::PadRight
        | F::Upper
        | F::Lower
        | F::Substring
        | F::Left
        | F::Right
        | F::Trim
        | F::TrimLeft
        | F::TrimRight
        | F::Replace
        | F::Repeat
        | F::Database
        | F::Version
        | F::SubstringIndex => Kind::Text,
        F::Now | F::FromUnixTime => Kind::DateTime,
        F::Round | F::Truncate => match (first(), arguments.get(1)) {
            (Kind::Decimal(_), None) => Kind::Decimal(0),
            (Kind::Decimal(_), Some(Expression::Literal(digits))) => {
                let digits = digits.as_i64().unwrap_or(0).clamp(0, MOST_SCALE.into());
                Kind::Decimal(digits as u8)
            }
            (kind, _) => kind,
        },
        F::Modulo => arguments.get(1).map_or(Kind::Null, |second| {
            arithmetic(Operator::Modulo, first(), of(scope, second))
        }),
        _ => Kind::Integer,
    }
}

/// Makes the value one of the kind that the whole expression has.
pub(super) fn convert(_scope: &Scope<'_>, value: Value, kind: Kind) -> Outcome<Value> {
    let Some((number, _)) = value.number() else {
        return Ok(Value::Null);
    };
    Ok(match kind {
        Kind::Text if !matches!(value, Value::Text(_)) => value.text().into_owned().into(),
        Kind::Double => Value::Double(Double(number.to_f64())),
        Kind::Decimal(scale) => {
            let decimal: Option<Decimal> = number
                .to_decimal()
                .and_then(|decimal| decimal.shown_with(scale));
            decimal.map_or(value, Value::Decimal)
        }
        _ => value,
    })
}

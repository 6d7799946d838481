//! Arithmetic: whole numbers in 64 bits with MySQL's error where they do not fit, exact decimals,
//! doubles as soon as a string or a double takes part.

use super::column;
use super::error::{self, Outcome};
use super::expression::Scope;
use super::kind;
use super::print;
use super::syntax::{Expression, Operator};
use super::value::{Double, Number, Value};

/// The value as a number, with a note when a string is not wholly one.
fn number(scope: &Scope<'_>, value: &Value) -> Outcome<Option<Number>> {
    let Some((number, whole)) = value.number() else {
        return Ok(None);
    };
    if !whole {
        scope
            .context
            .lossy(error::truncated_value("DOUBLE", &value.text()))?;
    }
    Ok(Some(number))
}

fn overflow<T>(scope: &Scope<'_>, kind: &str, expression: &Expression) -> Outcome<T> {
    Err(error::out_of_range(kind, &print::expression(scope, expression)).into())
}

/// What SUM adds up: doubles as they are, all else exactly.
pub(super) fn summand(scope: &Scope<'_>, value: &Value) -> Outcome<Value> {
    let Some(number) = number(scope, value)? else {
        return Ok(Value::Null);
    };
    Ok(number.to_decimal().map_or(number.into(), Value::Decimal))
}

/// The 64 bits of a value, for bit operators.
pub(super) fn bits(value: &Value) -> Option<u64> {
    let (number, _) = value.number()?;
    Some(number.to_whole().clamp(i64::MIN.into(), u64::MAX.into()) as u64)
}

pub(super) fn negate(scope: &Scope<'_>, whole: &Expression, value: &Value) -> Outcome<Value> {
    let Some(number) = number(scope, value)? else {
        return Ok(Value::Null);
    };
    let result = match number {
        Number::Integer(number) => number.checked_neg(),
        Number::Unsigned(number) => i64::try_from(-i128::from(number)).ok(),
        Number::Decimal(number) => return Ok(Value::Decimal(number.negated())),
        // Zero has no sign.
        Number::Double(number) => return Ok(Value::Double(Double(0.0 - number))),
    };
    match result {
        Some(number) => Ok(Value::Integer(number)),
        // A constant is seen to be too big beforehand, and is a decimal then.
        None if super::path::is_constant(whole) => {
            let decimal = number.to_decimal().map(super::decimal::Decimal::negated);
            Ok(decimal.map_or(Value::Null, Value::Decimal))
        }
        None => overflow(scope, "BIGINT", whole),
    }
}

/// One operator on two values; `whole` is the expression for the message.
pub(super) fn binary(
    scope: &Scope<'_>,
    whole: &Expression,
    operator: Operator,
    left: &Value,
    right: &Value,
) -> Outcome<Value> {
    use Operator as O;
    if matches!(
        operator,
        O::BitOr | O::BitAnd | O::BitXor | O::ShiftLeft | O::ShiftRight
    ) {
        return Ok(bit_operation(operator, left, right));
    }
    let (Some(left), Some(right)) = (number(scope, left)?, number(scope, right)?) else {
        return Ok(Value::Null);
    };
    if matches!(operator, O::Divide | O::WholeDivide | O::Modulo) && right.is_zero() {
        scope.context.lossy(error::division_by_zero())?;
        return Ok(Value::Null);
    }
    if operator == O::WholeDivide {
        return whole_division(scope, whole, left, right);
    }
    if matches!(left, Number::Double(_)) || matches!(right, Number::Double(_)) {
        return doubles(scope, whole, operator, left.to_f64(), right.to_f64());
    }
    let exact = matches!(
        (left, right),
        (Number::Decimal(_), _) | (_, Number::Decimal(_))
    );
    if exact || operator == O::Divide {
        return decimals(scope, whole, operator, left, right);
    }
    whole_numbers(scope, whole, operator, left, right)
}

fn bit_operation(operator: Operator, left: &Value, right: &Value) -> Value {
    let (Some(left), Some(right)) = (bits(left), bits(right)) else {
        return Value::Null;
    };
    let shift = |by: u64| u32::try_from(by).unwrap_or(64);
    Value::Unsigned(match operator {
        Operator::BitOr => left | right,
        Operator::BitAnd => left & right,
        Operator::BitXor => left ^ right,
        Operator::ShiftLeft => left.checked_shl(shift(right)).unwrap_or(0),
        _ => left.checked_shr(shift(right)).unwrap_or(0),
    })
}

fn whole_numbers(
    scope: &Scope<'_>,
    whole: &Expression,
    operator: Operator,
    left: Number,
    right: Number,
) -> Outcome<Value> {
    let unsigned = left.is_unsigned() || right.is_unsigned();
    let (a, b) = (left.to_whole(), right.to_whole());
    let (result, unsigned) = match operator {
        Operator::Add => (Some(a + b), unsigned),
        // The server's own check lets this one wrap around.
        Operator::Subtract if a == 0 && b == i128::from(i64::MIN) => (Some(b), false),
        Operator::Subtract => (Some(a - b), unsigned),
        Operator::Multiply => (a.checked_mul(b), unsigned),
        _ => (Some(a % b), left.is_unsigned()),
    };
    fitting(scope, whole, result, unsigned)
}

fn fitting(
    scope: &Scope<'_>,
    whole: &Expression,
    result: Option<i128>,
    unsigned: bool,
) -> Outcome<Value> {
    let value = match result {
        Some(number) if unsigned => u64::try_from(number).ok().map(Value::Unsigned),
        Some(number) => i64::try_from(number).ok().map(Value::Integer),
        None => None,
    };
    match value {
        Some(value) => Ok(value),
        None => overflow(
            scope,
            if unsigned {
                "BIGINT UNSIGNED"
            } else {
                "BIGINT"
            },
            whole,
        ),
    }
}

fn whole_division(
    scope: &Scope<'_>,
    whole: &Expression,
    left: Number,
    right: Number,
) -> Outcome<Value> {
    let columns = match whole {
        Expression::Binary(_, left, right) => [left, right],
        _ => return Ok(Value::Null),
    };
    let unsigned = left.is_unsigned()
        || right.is_unsigned()
        || columns
            .iter()
            .any(|column| kind::is_unsigned_column(scope, column));
    let exact = |number: Number| match number {
        Number::Double(double) => column::decimal_of(double),
        other => other.to_decimal(),
    };
    let quotient = match (exact(left), exact(right)) {
        (Some(a), Some(b)) => match (left, right) {
            (
                Number::Integer(_) | Number::Unsigned(_),
                Number::Integer(_) | Number::Unsigned(_),
            ) => left.to_whole().checked_div(right.to_whole()),
            _ => a
                .divide(b)
                .map(|quotient| quotient.truncated(0).digits_shown()),
        },
        _ => None,
    };
    fitting(scope, whole, quotient, unsigned)
}

fn decimals(
    scope: &Scope<'_>,
    whole: &Expression,
    operator: Operator,
    left: Number,
    right: Number,
) -> Outcome<Value> {
    let (Some(a), Some(b)) = (left.to_decimal(), right.to_decimal()) else {
        return Ok(Value::Null);
    };
    let result = match operator {
        Operator::Add => a.add(b),
        Operator::Subtract => a.subtract(b),
        Operator::Multiply => a.multiply(b),
        Operator::Divide => a.divide(b),
        _ => a.remainder(b),
    };
    match result {
        Some(decimal) => Ok(Value::Decimal(decimal)),
        None => overflow(scope, "DECIMAL", whole),
    }
}

fn doubles(
    scope: &Scope<'_>,
    whole: &Expression,
    operator: Operator,
    a: f64,
    b: f64,
) -> Outcome<Value> {
    let result = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        _ => a % b,
    };
    if result.is_finite() {
        Ok(Value::Double(Double(result)))
    } else {
        overflow(scope, "DOUBLE", whole)
    }
}

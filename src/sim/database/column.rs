//! Column types: what a column takes, and what it makes of a value that is stored in it, in
//! strict mode as MySQL 8 comes.

use std::borrow::Cow;
use std::sync::Arc;

use super::calendar::DateTime;
use super::error::{self, SqlError};
use super::syntax::Expression;
use super::value::{self, Double, Number, Value};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ColumnType {
    /// TINYINT (1 byte) to BIGINT (8).
    Integer {
        bytes: u8,
        unsigned: bool,
    },
    Decimal {
        precision: u8,
        scale: u8,
        unsigned: bool,
    },
    Double {
        unsigned: bool,
    },
    /// Most characters.
    Varchar(u32),
    Char(u32),
    /// Most bytes.
    Text(u32),
    DateTime {
        digits: u8,
        timestamp: bool,
    },
}

/// What a column holds when a row does not say.
#[derive(Clone, Debug)]
pub(super) enum Default {
    Literal(Value),
    /// CURRENT_TIMESTAMP with so many digits.
    Now(u8),
    Expression(Arc<Expression>),
}

#[derive(Clone, Debug)]
pub(super) struct ColumnSpecification {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    /// Whether it was defined as BOOLEAN or TINYINT(1), which is printed so.
    pub(super) boolean: bool,
    pub(super) not_null: bool,
    /// Whether NULL was written, so that a key cannot make it NOT NULL silently.
    pub(super) explicit_null: bool,
    pub(super) default: Option<Default>,
    pub(super) auto_increment: bool,
    pub(super) on_update_now: bool,
}

impl ColumnSpecification {
    /// A column of which nothing is said but its type.
    pub(super) fn nullable(name: &str, kind: ColumnType) -> ColumnSpecification {
        ColumnSpecification {
            name: name.to_string(),
            kind,
            boolean: false,
            not_null: false,
            explicit_null: false,
            default: None,
            auto_increment: false,
            on_update_now: false,
        }
    }

    /// The type as SHOW CREATE TABLE prints it in MySQL 8, which knows no other display width.
    pub(super) fn type_text(&self) -> String {
        match self.boolean {
            true => "tinyint(1)".into(),
            false => self.kind.print(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyKind {
    Primary,
    Unique,
    Plain,
}

#[derive(Clone, Debug)]
pub(super) struct KeySpecification {
    pub(super) kind: KeyKind,
    pub(super) name: Option<String>,
    pub(super) columns: Vec<String>,
}

/// Why a column does not take a value. The caller knows the column's name and the row's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    OutOfRange,
    TooLong,
    Truncated,
    Incorrect { kind: &'static str, value: String },
    IncorrectTime(String),
}

/// A value as the column holds it, and what was lost on the way, if that is only worth a note.
pub(super) struct Stored {
    pub(super) value: Value,
    pub(super) refusal: Option<Refusal>,
    pub(super) note: bool,
}

impl Refusal {
    pub(super) fn into_error(self, column: &str, row: u64) -> SqlError {
        let row = row.to_string();
        match self {
            Refusal::OutOfRange => error::out_of_range_column(column, &row),
            Refusal::TooLong => error::too_long(column, &row),
            Refusal::Truncated => error::truncated_column(column, &row),
            Refusal::Incorrect { kind, value } => {
                error::incorrect_value(kind, &value, column, &row)
            }
            Refusal::IncorrectTime(value) => error::incorrect_datetime(&value, column, &row),
        }
    }
}

fn kept(value: Value) -> Stored {
    Stored {
        value,
        refusal: None,
        note: false,
    }
}

fn refused(value: Value, refusal: Refusal) -> Stored {
    Stored {
        value,
        refusal: Some(refusal),
        note: false,
    }
}

impl ColumnType {
    /// Lowest and highest whole number.
    fn range(bytes: u8, unsigned: bool) -> (i128, i128) {
        let bits = u32::from(bytes) * 8;
        if unsigned {
            (0, (1 << bits) - 1)
        } else {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        }
    }

    /// The highest number that AUTO_INCREMENT may reach.
    pub(super) fn most(self) -> u64 {
        match self {
            ColumnType::Integer { bytes, unsigned } => ColumnType::range(bytes, unsigned).1 as u64,
            _ => u64::MAX,
        }
    }

    fn print(self) -> String {
        let sign = |unsigned| if unsigned { " unsigned" } else { "" };
        match self {
            ColumnType::Integer { bytes, unsigned } => {
                let name = match bytes {
                    1 => "tinyint",
                    2 => "smallint",
                    3 => "mediumint",
                    4 => "int",
                    _ => "bigint",
                };
                format!("{name}{}", sign(unsigned))
            }
            ColumnType::Decimal {
                precision,
                scale,
                unsigned,
            } => {
                format!("decimal({precision},{scale}){}", sign(unsigned))
            }
            ColumnType::Double { unsigned } => format!("double{}", sign(unsigned)),
            ColumnType::Varchar(most) => format!("varchar({most})"),
            ColumnType::Char(most) => format!("char({most})"),
            ColumnType::Text(most) => match most {
                255 => "tinytext",
                65_535 => "text",
                16_777_215 => "mediumtext",
                _ => "longtext",
            }
            .to_string(),
            ColumnType::DateTime { digits, timestamp } => {
                let name = if timestamp { "timestamp" } else { "datetime" };
                if digits == 0 {
                    name.to_string()
                } else {
                    format!("{name}({digits})")
                }
            }
        }
    }

    /// What INSERT IGNORE stores for a NULL that is not allowed.
    pub(super) fn zero(self) -> Value {
        match self {
            ColumnType::Integer {
                unsigned: false, ..
            } => Value::Integer(0),
            ColumnType::Integer { .. } => Value::Unsigned(0),
            ColumnType::Decimal { scale, .. } => {
                Value::Decimal(super::decimal::Decimal::new(0, scale))
            }
            ColumnType::Double { .. } => Value::Double(Double(0.0)),
            ColumnType::Varchar(_) | ColumnType::Char(_) | ColumnType::Text(_) => "".into(),
            ColumnType::DateTime { digits, .. } => Value::DateTime(DateTime::zero(digits)),
        }
    }

    /// Makes the value one of this type; NULL stays NULL. What does not fit comes with a refusal
    /// and the nearest value that does, which IGNORE stores.
    pub(super) fn store(self, value: &Value) -> Stored {
        if value.is_null() {
            return kept(Value::Null);
        }
        match self {
            ColumnType::Integer { bytes, unsigned } => store_integer(value, bytes, unsigned),
            ColumnType::Decimal {
                precision,
                scale,
                unsigned,
            } => store_decimal(value, precision, scale, unsigned),
            ColumnType::Double { unsigned } => store_double(value, unsigned),
            ColumnType::Varchar(most) => store_text(value, most as usize, false),
            ColumnType::Char(most) => store_text(value, most as usize, true),
            ColumnType::Text(most) => {
                let text = stored_text(value, usize::MAX);
                if text.len() <= most as usize {
                    return kept(text.into_owned().into());
                }
                let mut end = most as usize;
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                refused(text[..end].into(), Refusal::TooLong)
            }
            ColumnType::DateTime { digits, timestamp } => store_time(value, digits, timestamp),
        }
    }
}

/// The number that a value stands for, strings read exactly, and what is wrong with a string.
fn exact_number(value: &Value, kind: &'static str) -> (Number, Option<Refusal>) {
    let Value::Text(text) = value else {
        return (
            value
                .number()
                .map_or(Number::Integer(0), |(number, _)| number),
            None,
        );
    };
    let prefix = value::number_prefix(text);
    let refusal = if prefix.number.is_empty() {
        Some(Refusal::Incorrect {
            kind,
            value: text.to_string(),
        })
    } else if !prefix.whole {
        Some(Refusal::Truncated)
    } else {
        None
    };
    let number = if prefix.exponent {
        None
    } else {
        super::decimal::Decimal::parse(prefix.number)
    };
    let double = || Number::Double(prefix.number.parse().unwrap_or(0.0));
    (number.map_or_else(double, Number::Decimal), refusal)
}

fn store_integer(given: &Value, bytes: u8, unsigned: bool) -> Stored {
    let (number, refusal) = exact_number(given, "integer");
    // Strings round half away from zero even with an exponent.
    let whole = match (given, number) {
        (Value::Text(_), Number::Double(number)) => number.round() as i128,
        _ => number.to_whole(),
    };
    let (low, high) = ColumnType::range(bytes, unsigned);
    let cut = whole.clamp(low, high);
    let value = if unsigned {
        Value::Unsigned(cut as u64)
    } else {
        Value::Integer(cut as i64)
    };
    // A negative decimal is out of range even where it would round to zero.
    let below = unsigned
        && matches!((given, number), (Value::Decimal(_), Number::Decimal(number)) if number.signum() < 0);
    match refusal {
        _ if cut != whole || below => refused(value, Refusal::OutOfRange),
        Some(refusal) => refused(value, refusal),
        None => kept(value),
    }
}

fn store_decimal(value: &Value, precision: u8, scale: u8, unsigned: bool) -> Stored {
    use super::decimal::Decimal;
    let (number, refusal) = exact_number(value, "decimal");
    let decimal = match number {
        Number::Double(double) => decimal_of(double),
        other => other.to_decimal(),
    };
    let most = 10_i128.pow(u32::from(precision)) - 1;
    let low = if unsigned { 0 } else { -most };
    // A negative number is out of range even where it would round to zero.
    let below = unsigned && decimal.is_some_and(|decimal| decimal.signum() < 0);
    let rounded = decimal
        .and_then(|decimal| decimal.rounded(scale))
        .filter(|_| !below);
    let Some(rounded) = rounded.filter(|rounded| (low..=most).contains(&rounded.digits_shown()))
    else {
        let negative = number.to_f64() < 0.0;
        let nearest = if negative { low } else { most };
        return refused(
            Value::Decimal(Decimal::new(nearest, scale)),
            refusal.unwrap_or(Refusal::OutOfRange),
        );
    };
    let note = decimal.is_some_and(|decimal| decimal.compare(rounded) != std::cmp::Ordering::Equal);
    Stored {
        value: Value::Decimal(rounded),
        refusal,
        note,
    }
}

/// A double's shortest digits as a decimal, as MySQL converts.
pub(super) fn decimal_of(double: f64) -> Option<super::decimal::Decimal> {
    if double.abs() >= 1e36 {
        return None;
    }
    super::decimal::Decimal::parse(&format!("{double}"))
}

fn store_double(value: &Value, unsigned: bool) -> Stored {
    let (number, refusal) = match value {
        Value::Text(text) => {
            let (_, refusal) = exact_number(value, "double");
            (
                value::number_prefix(text).number.parse().unwrap_or(0.0),
                refusal,
            )
        }
        other => (
            other.number().map_or(0.0, |(number, _)| number.to_f64()),
            None,
        ),
    };
    if !number.is_finite() || (unsigned && number < 0.0) {
        let nearest = if number < 0.0 {
            if unsigned { 0.0 } else { f64::MIN }
        } else {
            f64::MAX
        };
        return refused(Value::Double(Double(nearest)), Refusal::OutOfRange);
    }
    // Zero has no sign.
    let value = Value::Double(Double(number + 0.0));
    match refusal {
        Some(refusal) => refused(value, refusal),
        None => kept(value),
    }
}

/// The value as a column of `most` characters gets it: of a decimal every digit that is held and no other, of a
/// double as many digits as fit.
fn stored_text(value: &Value, most: usize) -> Cow<'_, str> {
    match value {
        Value::Decimal(number) => number.unrounded().to_string().into(),
        Value::Double(Double(number)) => value::print_double_within(*number, most).into(),
        other => other.text(),
    }
}

fn store_text(value: &Value, most: usize, pad: bool) -> Stored {
    let text = stored_text(value, most);
    let (mut fitting, mut rest) = (text.as_ref(), "");
    if let Some((end, _)) = text.char_indices().nth(most) {
        (fitting, rest) = text.split_at(end);
    }
    if pad {
        fitting = fitting.trim_end_matches(' ');
    }
    let stored = match value {
        Value::Text(whole) if whole.len() == fitting.len() => value.clone(),
        _ => Value::from(fitting),
    };
    if rest.is_empty() {
        kept(stored)
    } else if rest.bytes().all(|byte| byte == b' ') {
        // Spaces too many are dropped with no more than a note.
        Stored {
            value: stored,
            refusal: None,
            note: !pad,
        }
    } else {
        refused(stored, Refusal::TooLong)
    }
}

fn store_time(value: &Value, digits: u8, timestamp: bool) -> Stored {
    let time = match value {
        Value::DateTime(time) => Some(*time),
        Value::Text(text) => DateTime::parse(text),
        other => other
            .number()
            .and_then(|(number, _)| DateTime::from_number(i64::try_from(number.to_whole()).ok()?)),
    };
    match time {
        Some(time) if time.is_zero() => refused(
            Value::DateTime(time.rounded(digits)),
            Refusal::IncorrectTime(DateTime::zero(0).to_string()),
        ),
        Some(time) if timestamp && !time.is_timestamp() => refused(
            Value::DateTime(DateTime::zero(digits)),
            Refusal::IncorrectTime(value.text().into_owned()),
        ),
        Some(time) => kept(Value::DateTime(time.rounded(digits))),
        None => refused(
            Value::DateTime(DateTime::zero(digits)),
            Refusal::IncorrectTime(value.text().into_owned()),
        ),
    }
}

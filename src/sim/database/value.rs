//! Values, what they are as numbers and as strings, and how they compare.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::calendar::DateTime;
use super::collation;
use super::decimal::Decimal;

/// A DOUBLE; equal when the bits are.
#[derive(Clone, Copy, Debug)]
pub struct Double(pub f64);

impl PartialEq for Double {
    fn eq(&self, other: &Double) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Double {}

impl std::hash::Hash for Double {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// One SQL value. Equality is of representation; SQL's own comparison is done by statements.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A signed whole number of up to 64 bits; also TRUE (1) and FALSE (0).
    Integer(i64),
    /// A whole number of an UNSIGNED type.
    Unsigned(u64),
    /// An exact decimal.
    Decimal(Decimal),
    /// A double.
    Double(Double),
    /// A string.
    Text(Arc<str>),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTime),
}

/// The values of one row, in the order of the columns.
pub(super) type Values = Arc<[Value]>;

/// A row with the names of its columns, as facts carry it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    columns: Arc<[String]>,
    values: Values,
}

impl Row {
    pub(super) fn new(columns: Arc<[String]>, values: Values) -> Row {
        Row { columns, values }
    }

    /// The value in the column so named; names are compared without case, as MySQL does.
    pub fn get(&self, column: &str) -> Option<&Value> {
        let index = self
            .columns
            .iter()
            .position(|name| name.eq_ignore_ascii_case(column))?;
        self.values.get(index)
    }

    /// The row with those of its columns alone that are so named; names are compared without case.
    pub fn only(&self, names: &[&str]) -> Row {
        let is_kept = |column: &str| names.iter().any(|name| name.eq_ignore_ascii_case(column));
        let kept = self.columns.iter().zip(self.values.iter());
        let (columns, values): (Vec<String>, Vec<Value>) = kept
            .filter(|(column, _)| is_kept(column))
            .map(|(column, value)| (column.clone(), value.clone()))
            .unzip();
        Row {
            columns: columns.into(),
            values: values.into(),
        }
    }

    /// The names of the columns, in the order of the table's definition.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The values, in the order of the columns.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

/// A value where a number is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Integer(i64),
    Unsigned(u64),
    Decimal(Decimal),
    Double(f64),
}

impl Number {
    pub(super) fn to_f64(self) -> f64 {
        match self {
            Number::Integer(number) => number as f64,
            Number::Unsigned(number) => number as f64,
            Number::Decimal(number) => number.to_f64(),
            Number::Double(number) => number,
        }
    }

    /// As an exact decimal; a double is not one.
    pub(super) fn to_decimal(self) -> Option<Decimal> {
        match self {
            Number::Integer(number) => Some(Decimal::new(number.into(), 0)),
            Number::Unsigned(number) => Some(Decimal::new(number.into(), 0)),
            Number::Decimal(number) => Some(number),
            Number::Double(_) => None,
        }
    }

    /// Rounded to a whole number: decimals half away from zero, doubles half to even.
    pub(super) fn to_whole(self) -> i128 {
        match self {
            Number::Integer(number) => number.into(),
            Number::Unsigned(number) => number.into(),
            Number::Decimal(number) => number.rounded(0).map_or(i128::MAX, Decimal::digits_shown),
            Number::Double(number) => number.round_ties_even() as i128,
        }
    }

    pub(super) fn is_unsigned(self) -> bool {
        matches!(self, Number::Unsigned(_))
    }

    pub(super) fn is_zero(self) -> bool {
        match self {
            Number::Integer(number) => number == 0,
            Number::Unsigned(number) => number == 0,
            Number::Decimal(number) => number.signum() == 0,
            Number::Double(number) => number == 0.0,
        }
    }

    pub(super) fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a.cmp(&b),
            (Number::Double(_), _) | (_, Number::Double(_)) => self
                .to_f64()
                .partial_cmp(&other.to_f64())
                .unwrap_or(Ordering::Equal),
            (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
                match (self.to_decimal(), other.to_decimal()) {
                    (Some(a), Some(b)) => a.compare(b),
                    _ => Ordering::Equal,
                }
            }
            _ => self.to_whole().cmp(&other.to_whole()),
        }
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        match number {
            Number::Integer(number) => Value::Integer(number),
            Number::Unsigned(number) => Value::Unsigned(number),
            Number::Decimal(number) => Value::Decimal(number),
            Number::Double(number) => Value::Double(Double(number)),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Integer(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Integer(truth.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

/// The longest beginning of a string that reads as a number.
#[derive(Clone, Copy)]
pub(super) struct Prefix<'a> {
    /// Without spaces around it; empty when there is none.
    pub(super) number: &'a str,
    /// Whether nothing but spaces follows.
    pub(super) whole: bool,
    /// Whether it has an exponent.
    pub(super) exponent: bool,
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

pub(super) fn number_prefix(text: &str) -> Prefix<'_> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let sign = usize::from(text.starts_with(['-', '+']));
    let rest = &text[sign..];
    let whole = digits(rest);
    let fraction = match rest[whole..].strip_prefix('.') {
        Some(fraction) => 1 + digits(fraction),
        None => 0,
    };
    let mut end = sign + whole + fraction;
    if whole == 0 && fraction <= 1 {
        return Prefix {
            number: "",
            whole: false,
            exponent: false,
        };
    }
    let mut exponent = false;
    if let Some(after) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(after.starts_with(['-', '+']));
        let count = digits(&after[sign..]);
        if count > 0 {
            end += 1 + sign + count;
            exponent = true;
        }
    }
    Prefix {
        number: &text[..end],
        whole: text[end..].trim_end_matches(' ').is_empty(),
        exponent,
    }
}

/// Prints a double as MySQL does: the shortest digits that read back, of two that are as near the even
/// ones, with an exponent below 1e-15 and from 1e15 on.
pub(super) fn print_double(number: f64) -> String {
    // Zero has no sign.
    let number = number + 0.0;
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // So many digits again: the shortest ones are not even where two are as near.
    let fraction = digits.trim_start_matches('-').len().saturating_sub(2);
    if (-15..15).contains(&exponent) {
        let fraction = (fraction as i32 - exponent).max(0) as usize;
        format!("{number:.fraction$}")
    } else {
        format!("{number:.fraction$e}")
    }
}

/// The text of a double in `most` characters, with as many digits as fit; a longer one where none do.
pub(super) fn print_double_within(number: f64, most: usize) -> String {
    let whole = print_double(number);
    if whole.len() <= most {
        return whole;
    }
    let rounded = |fraction: usize| {
        format!("{number:.fraction$e}")
            .parse::<f64>()
            .unwrap_or(number)
    };
    let texts = (1..17).rev().map(rounded);
    let mut texts = texts.flat_map(|number| [print_double(number), format!("{number:e}")]);
    if let Some(text) = texts.find(|text| text.len() <= most) {
        return text;
    }
    let one = print_double(rounded(0));
    if one.len() <= most && !one.contains('e') {
        one
    } else {
        // The room for a point is kept, though none follows a single digit.
        format!("{:e}.", rounded(0))
    }
}

impl Value {
    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The whole number, when the value is one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Unsigned(number) => i64::try_from(*number).ok(),
            Value::Decimal(number) if number.scale() == 0 => {
                i64::try_from(number.digits_shown()).ok()
            }
            _ => None,
        }
    }

    /// The value as SQL writes it: strings and times in quotes.
    pub fn to_literal(&self) -> String {
        match self {
            Value::Text(text) => {
                let mut out = String::with_capacity(text.len() + 2);
                out.push('\'');
                for character in text.chars() {
                    match character {
                        '\'' => out.push_str("''"),
                        '\\' => out.push_str("\\\\"),
                        '\n' => out.push_str("\\n"),
                        '\0' => out.push_str("\\0"),
                        _ => out.push(character),
                    }
                }
                out.push('\'');
                out
            }
            Value::DateTime(time) => format!("'{time}'"),
            other => other.to_string(),
        }
    }

    /// The whole number that it is, where it is one of a whole-number type and fits.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Unsigned(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The value as a string; NULL is empty.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Value::Text(text) => Cow::Borrowed(text),
            Value::Null => Cow::Borrowed(""),
            other => Cow::Owned(other.to_string()),
        }
    }

    /// The value as a number, and whether all of a string was one. NULL is no number.
    pub(super) fn number(&self) -> Option<(Number, bool)> {
        Some(match self {
            Value::Null => return None,
            Value::Integer(number) => (Number::Integer(*number), true),
            Value::Unsigned(number) => (Number::Unsigned(*number), true),
            Value::Decimal(number) => (Number::Decimal(*number), true),
            Value::Double(Double(number)) => (Number::Double(*number), true),
            Value::Text(text) => {
                let prefix = number_prefix(text);
                (
                    Number::Double(prefix.number.parse().unwrap_or(0.0)),
                    prefix.whole,
                )
            }
            Value::DateTime(time) if time.digits == 0 => (Number::Integer(time.number()), true),
            Value::DateTime(time) => {
                let micros = i128::from(time.number()) * 1_000_000 + i128::from(time.parts()[6]);
                let number = Decimal::new(micros, 6).truncated(time.digits);
                (Number::Decimal(number), true)
            }
        })
    }

    /// A decimal with every digit that is held shown; BETWEEN, CASE and IN compare those.
    pub(super) fn unrounded(self) -> Value {
        match self {
            Value::Decimal(number) => Value::Decimal(number.unrounded()),
            other => other,
        }
    }

    /// Appends bytes that sort as values of one column compare; NULL is first.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        if self.is_null() {
            return out.push(0);
        }
        out.push(1);
        match self {
            Value::Null => {}
            Value::Integer(number) => out.extend((*number as u64 ^ (1 << 63)).to_be_bytes()),
            Value::Unsigned(number) => out.extend(number.to_be_bytes()),
            Value::Decimal(number) => {
                out.extend((number.digits_shown() as u128 ^ (1 << 127)).to_be_bytes());
            }
            Value::Double(Double(number)) => {
                let bits = (number + 0.0).to_bits();
                let sortable = if bits >> 63 == 1 {
                    !bits
                } else {
                    bits | 1 << 63
                };
                out.extend(sortable.to_be_bytes());
            }
            Value::Text(text) => collation::encode(text, out),
            Value::DateTime(time) => out.extend((time.micros as u64 ^ (1 << 63)).to_be_bytes()),
        }
    }
}

impl fmt::Display for Value {
    /// As the mysql client prints it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => out.write_str("NULL"),
            Value::Integer(number) => write!(out, "{number}"),
            Value::Unsigned(number) => write!(out, "{number}"),
            Value::Decimal(number) => write!(out, "{number}"),
            Value::Double(Double(number)) => out.write_str(&print_double(*number)),
            Value::Text(text) => out.write_str(text),
            Value::DateTime(time) => write!(out, "{time}"),
        }
    }
}

/// Compares as MySQL does ("Type Conversion in Expression Evaluation"): strings by collation,
/// whole numbers and decimals exactly, a time with a string as times, and all else as doubles.
/// `None` when one is NULL; `truncated` learns of a string that is not wholly a number.
pub(super) fn compare(
    left: &Value,
    right: &Value,
    truncated: &mut dyn FnMut(&str),
) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(collation::compare(a, b)),
        (Value::DateTime(a), Value::DateTime(b)) => Some(a.micros.cmp(&b.micros)),
        (Value::DateTime(a), Value::Text(b)) => match DateTime::parse(b) {
            Some(b) => Some(a.micros.cmp(&b.micros)),
            None => Some(collation::compare(&left.text(), b)),
        },
        (Value::Text(_), Value::DateTime(_)) => {
            compare(right, left, truncated).map(Ordering::reverse)
        }
        _ => {
            let (a, a_whole) = left.number()?;
            let (b, b_whole) = right.number()?;
            for (value, whole) in [(left, a_whole), (right, b_whole)] {
                if !whole {
                    truncated(&value.text());
                }
            }
            Some(a.compare(b))
        }
    }
}

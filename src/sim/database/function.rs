//! MySQL's functions: the table of names with their numbers of arguments, and what they give.

use super::arithmetic;
use super::calendar::{DateTime, SECOND};
use super::error::{self, Outcome, Stop};
use super::expression::{Scope, compare, evaluate, is_true, time_of};
use super::kind;
use super::letter_case;
use super::lock::{self, NamedLock, Request, Target};
use super::syntax::{Expression, Operator};
use super::value::{Double, Number, Value};

/// The longest string that a function gives, in bytes.
pub(super) const MOST_TEXT: usize = 16_384;

/// A function of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Ceiling,
    CharLength,
    Coalesce,
    Concat,
    ConcatWithSeparator,
    ConnectionId,
    Database,
    Floor,
    FromUnixTime,
    GetLock,
    Greatest,
    If,
    IfNull,
    InString,
    IsFreeLock,
    IsNull,
    IsUsedLock,
    LastInsertId,
    Least,
    Left,
    Length,
    Locate,
    Lower,
    Modulo,
    Now,
    NullIf,
    PadLeft,
    PadRight,
    ReleaseAllLocks,
    ReleaseLock,
    Repeat,
    Replace,
    Right,
    Round,
    RowCount,
    Sign,
    StringCompare,
    Substring,
    SubstringIndex,
    Trim,
    TrimLeft,
    TrimRight,
    Truncate,
    UnixTimestamp,
    Upper,
    User,
    Version,
}

const MANY: usize = 1000;

/// Name, function, fewest and most arguments; the first name of a function is the one printed.
const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("ABS", Function::Abs, 1, 1),
    ("CEILING", Function::Ceiling, 1, 1),
    ("CEIL", Function::Ceiling, 1, 1),
    ("CHAR_LENGTH", Function::CharLength, 1, 1),
    ("CHARACTER_LENGTH", Function::CharLength, 1, 1),
    ("COALESCE", Function::Coalesce, 1, MANY),
    ("CONCAT", Function::Concat, 1, MANY),
    ("CONCAT_WS", Function::ConcatWithSeparator, 2, MANY),
    ("CONNECTION_ID", Function::ConnectionId, 0, 0),
    ("DATABASE", Function::Database, 0, 0),
    ("SCHEMA", Function::Database, 0, 0),
    ("FLOOR", Function::Floor, 1, 1),
    ("FROM_UNIXTIME", Function::FromUnixTime, 1, 1),
    ("GET_LOCK", Function::GetLock, 2, 2),
    ("GREATEST", Function::Greatest, 2, MANY),
    ("IF", Function::If, 3, 3),
    ("IFNULL", Function::IfNull, 2, 2),
    ("INSTR", Function::InString, 2, 2),
    ("IS_FREE_LOCK", Function::IsFreeLock, 1, 1),
    ("ISNULL", Function::IsNull, 1, 1),
    ("IS_USED_LOCK", Function::IsUsedLock, 1, 1),
    ("LAST_INSERT_ID", Function::LastInsertId, 0, 1),
    ("LEAST", Function::Least, 2, MANY),
    ("LEFT", Function::Left, 2, 2),
    ("LENGTH", Function::Length, 1, 1),
    ("OCTET_LENGTH", Function::Length, 1, 1),
    ("LOCATE", Function::Locate, 2, 3),
    ("LOWER", Function::Lower, 1, 1),
    ("LCASE", Function::Lower, 1, 1),
    ("MOD", Function::Modulo, 2, 2),
    ("NOW", Function::Now, 0, 1),
    ("CURRENT_TIMESTAMP", Function::Now, 0, 1),
    ("LOCALTIME", Function::Now, 0, 1),
    ("LOCALTIMESTAMP", Function::Now, 0, 1),
    ("SYSDATE", Function::Now, 0, 1),
    ("UTC_TIMESTAMP", Function::Now, 0, 1),
    ("NULLIF", Function::NullIf, 2, 2),
    ("LPAD", Function::PadLeft, 3, 3),
    ("RPAD", Function::PadRight, 3, 3),
    ("RELEASE_ALL_LOCKS", Function::ReleaseAllLocks, 0, 0),
    ("RELEASE_LOCK", Function::ReleaseLock, 1, 1),
    ("REPEAT", Function::Repeat, 2, 2),
    ("REPLACE", Function::Replace, 3, 3),
    ("RIGHT", Function::Right, 2, 2),
    ("ROUND", Function::Round, 1, 2),
    ("ROW_COUNT", Function::RowCount, 0, 0),
    ("SIGN", Function::Sign, 1, 1),
    ("STRCMP", Function::StringCompare, 2, 2),
    ("SUBSTRING", Function::Substring, 2, 3),
    ("SUBSTR", Function::Substring, 2, 3),
    ("MID", Function::Substring, 3, 3),
    ("SUBSTRING_INDEX", Function::SubstringIndex, 3, 3),
    ("TRIM", Function::Trim, 1, 1),
    ("LTRIM", Function::TrimLeft, 1, 1),
    ("RTRIM", Function::TrimRight, 1, 1),
    ("TRUNCATE", Function::Truncate, 2, 2),
    ("UNIX_TIMESTAMP", Function::UnixTimestamp, 0, 1),
    ("UPPER", Function::Upper, 1, 1),
    ("UCASE", Function::Upper, 1, 1),
    ("USER", Function::User, 0, 0),
    ("CURRENT_USER", Function::User, 0, 0),
    ("SESSION_USER", Function::User, 0, 0),
    ("SYSTEM_USER", Function::User, 0, 0),
    ("VERSION", Function::Version, 0, 0),
];

/// Functions that MySQL has and this database does not; randomness and the wall clock are among
/// them on purpose.
const MYSQLS: &str = " ACOS ADDTIME AES_DECRYPT AES_ENCRYPT ANY_VALUE ASCII ASIN ATAN ATAN2 AVG BENCHMARK BIN BIN_TO_UUID BIT_AND BIT_COUNT BIT_LENGTH BIT_OR BIT_XOR CHAR CHARSET COERCIBILITY COLLATION COMPRESS CONV CONVERT_TZ COS COT CRC32 CUME_DIST CURDATE CURRENT_DATE CURRENT_ROLE CURRENT_TIME CURTIME DATE DATEDIFF DATE_FORMAT DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEGREES DENSE_RANK ELT EXP EXPORT_SET EXTRACT EXTRACTVALUE FIELD FIND_IN_SET FIRST_VALUE FORMAT FORMAT_BYTES FOUND_ROWS FROM_BASE64 FROM_DAYS GET_FORMAT GROUPING GROUP_CONCAT HEX HOUR INET6_ATON INET6_NTOA INET_ATON INET_NTOA INSERT INTERVAL IS_IPV4 IS_IPV6 IS_UUID LAG LAST_DAY LAST_VALUE LEAD LN LOAD_FILE LOG LOG10 LOG2 MAKEDATE MAKETIME MAKE_SET MD5 MICROSECOND MINUTE MONTH MONTHNAME NAME_CONST NTH_VALUE NTILE OCT ORD PERCENT_RANK PERIOD_ADD PERIOD_DIFF PI POSITION POW POWER PS_CURRENT_THREAD_ID PS_THREAD_ID QUARTER QUOTE RADIANS RAND RANDOM_BYTES RANK REGEXP_INSTR REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR REVERSE ROW_NUMBER SECOND SEC_TO_TIME SHA SHA1 SHA2 SIN SLEEP SOUNDEX SOURCE_POS_WAIT SPACE SQRT STATEMENT_DIGEST STD STDDEV STDDEV_POP STDDEV_SAMP STR_TO_DATE SUBTIME TAN TIME TIMEDIFF TIMESTAMP TIME_FORMAT TIME_TO_SEC TO_BASE64 TO_DAYS TO_SECONDS UNCOMPRESS UNHEX UPDATEXML UTC_DATE UTC_TIME UUID UUID_SHORT UUID_TO_BIN VARIANCE VAR_POP VAR_SAMP WAIT_FOR_EXECUTED_GTID_SET WEEK WEEKDAY WEEKOFYEAR WEIGHT_STRING YEAR YEARWEEK ";

/// The function so named, in capitals, with its fewest and most arguments.
pub(super) fn named(name: &str) -> Option<(Function, usize, usize)> {
    let found = FUNCTIONS.iter().find(|(known, ..)| *known == name)?;
    Some((found.1, found.2, found.3))
}

/// Whether MySQL has a function so named that this database lacks.
pub(super) fn is_mysqls(name: &str) -> bool {
    name.starts_with("JSON_")
        || name.starts_with("ST_")
        || MYSQLS.contains(&[" ", name, " "].concat())
}

/// The name as messages print it.
pub(super) fn name_of(function: Function) -> String {
    let found = FUNCTIONS.iter().find(|(_, known, ..)| *known == function);
    found.map_or_else(String::new, |(name, ..)| name.to_ascii_lowercase())
}

fn text(text: impl Into<String>) -> Value {
    let text: String = text.into();
    Value::from(text)
}

/// Characters `from` to `from + count`.
fn part(text: &str, from: usize, count: usize) -> String {
    text.chars().skip(from).take(count).collect()
}

/// The value of a call.
pub(super) fn call(
    scope: &Scope<'_>,
    whole: &Expression,
    function: Function,
    arguments: &[Expression],
) -> Outcome<Value> {
    match function {
        // These leave some of their arguments alone.
        Function::If => {
            let condition = evaluate(scope, &arguments[0])?;
            let chosen = if is_true(scope, &condition)? {
                &arguments[1]
            } else {
                &arguments[2]
            };
            kind::convert(scope, evaluate(scope, chosen)?, kind::of(scope, whole))
        }
        Function::IfNull | Function::Coalesce => {
            for argument in arguments {
                let value = evaluate(scope, argument)?;
                if !value.is_null() {
                    return kind::convert(scope, value, kind::of(scope, whole));
                }
            }
            Ok(Value::Null)
        }
        Function::NullIf => {
            let value = evaluate(scope, &arguments[0])?;
            if value.is_null() {
                return Ok(Value::Null);
            }
            let other = evaluate(scope, &arguments[1])?;
            let equal = compare(scope, &value, &other)?.is_some_and(std::cmp::Ordering::is_eq);
            Ok(if equal { Value::Null } else { value })
        }
        Function::Modulo => {
            super::expression::binary(scope, whole, Operator::Modulo, &arguments[0], &arguments[1])
        }
        _ => {
            let takes_null = matches!(
                function,
                Function::ConcatWithSeparator
                    | Function::IsNull
                    | Function::LastInsertId
                    | Function::GetLock
                    | Function::IsFreeLock
                    | Function::IsUsedLock
                    | Function::ReleaseLock
            );
            let mut values = Vec::with_capacity(arguments.len());
            for argument in arguments {
                let value = evaluate(scope, argument)?;
                // What comes behind a NULL is not worked out.
                if value.is_null() && !takes_null {
                    return Ok(Value::Null);
                }
                values.push(value);
            }
            of_values(scope, whole, function, &values)
        }
    }
}

fn of_values(
    scope: &Scope<'_>,
    whole: &Expression,
    function: Function,
    values: &[Value],
) -> Outcome<Value> {
    use Function as F;
    match function {
        F::ConcatWithSeparator => return concat_with_separator(scope, values),
        F::IsNull => return Ok(Value::from(values[0].is_null())),
        F::LastInsertId if !values.is_empty() => {
            let id = arithmetic::bits(&values[0]);
            scope.context.effects.borrow_mut().last_insert_id = Some(id.unwrap_or(0));
            return Ok(id.map_or(Value::Null, Value::Unsigned));
        }
        _ => {}
    }
    match function {
        F::Greatest | F::Least => extreme(scope, whole, function == F::Greatest, values),
        F::Abs | F::Sign | F::Floor | F::Ceiling | F::Round | F::Truncate => {
            number(scope, whole, function, values)
        }
        F::StringCompare => Ok(Value::Integer(super::collation::compare(
            &values[0].text(),
            &values[1].text(),
        ) as i64)),
        F::Now => Ok(Value::DateTime(DateTime::from_millis(
            scope.context.now,
            fraction(values),
        ))),
        F::UnixTimestamp => unix_timestamp(scope, values),
        F::FromUnixTime => {
            let Some((number, _)) = values[0].number() else {
                return Ok(Value::Null);
            };
            let micros = (number.to_f64() * SECOND as f64).round_ties_even();
            let digits = if let Number::Decimal(decimal) = number {
                decimal.scale().min(6)
            } else {
                0
            };
            let fits = (0.0..4e15).contains(&micros);
            Ok(if fits {
                Value::DateTime(
                    DateTime {
                        micros: micros as i64,
                        digits,
                    }
                    .cut(digits),
                )
            } else {
                Value::Null
            })
        }
        F::RowCount => Ok(Value::Integer(scope.context.session.row_count)),
        F::LastInsertId => Ok(Value::Unsigned(scope.context.session.last_insert_id)),
        F::ConnectionId => Ok(Value::Unsigned(u64::from(scope.context.connection.0))),
        F::Database => Ok(error::DATABASE_NAME.into()),
        F::User => Ok("root@localhost".into()),
        F::Version => Ok("8.4.0".into()),
        F::GetLock | F::ReleaseLock | F::IsFreeLock | F::IsUsedLock | F::ReleaseAllLocks => {
            named_lock(scope, function, values)
        }
        F::Length => Ok(Value::Integer(values[0].text().len() as i64)),
        F::CharLength => Ok(Value::Integer(values[0].text().chars().count() as i64)),
        F::InString => Ok(Value::Integer(position(
            &values[0].text(),
            &values[1].text(),
            1,
        ))),
        F::Locate => {
            let from = values
                .get(2)
                .and_then(Value::number)
                .map_or(1, |(number, _)| number.to_whole());
            Ok(Value::Integer(position(
                &values[1].text(),
                &values[0].text(),
                from,
            )))
        }
        _ => strings(scope, function, values),
    }
}

fn fraction(values: &[Value]) -> u8 {
    values
        .first()
        .and_then(Value::as_i64)
        .map_or(0, |digits| digits.clamp(0, 6) as u8)
}

fn extreme(
    scope: &Scope<'_>,
    whole: &Expression,
    greatest: bool,
    values: &[Value],
) -> Outcome<Value> {
    let wanted = if greatest {
        std::cmp::Ordering::Greater
    } else {
        std::cmp::Ordering::Less
    };
    let mut best = &values[0];
    for value in &values[1..] {
        if compare(scope, value, best)? == Some(wanted) {
            best = value;
        }
    }
    kind::convert(scope, best.clone(), kind::of(scope, whole))
}

fn number(
    scope: &Scope<'_>,
    whole: &Expression,
    function: Function,
    values: &[Value],
) -> Outcome<Value> {
    let Some((number, all)) = values[0].number() else {
        return Ok(Value::Null);
    };
    if !all {
        scope
            .context
            .lossy(error::truncated_value("DOUBLE", &values[0].text()))?;
    }
    let digits = values
        .get(1)
        .and_then(Value::number)
        .map_or(0, |(number, _)| number.to_whole());
    let digits = digits.clamp(-30, 30) as i32;
    let fail = || {
        Stop::from(error::out_of_range(
            "BIGINT",
            &super::print::expression(scope, whole),
        ))
    };
    Ok(match (function, number) {
        (Function::Abs, Number::Integer(number)) => {
            Value::Integer(number.checked_abs().ok_or_else(fail)?)
        }
        (Function::Abs, Number::Decimal(number)) if number.signum() < 0 => {
            Value::Decimal(number.negated())
        }
        (Function::Abs, Number::Double(number)) => Value::Double(Double(number.abs())),
        (Function::Abs, number) => number.into(),
        // The sign of what is held, whatever is shown of it.
        (Function::Sign, Number::Decimal(number)) => Value::Integer(number.signum() as i64),
        (Function::Sign, number) => Value::Integer(number.compare(Number::Integer(0)) as i64),
        (_, Number::Double(number)) => {
            let scale = 10_f64.powi(digits);
            let scaled = number * scale;
            let rounded = match function {
                Function::Floor => return Ok(Value::Double(Double(number.floor()))),
                Function::Ceiling => return Ok(Value::Double(Double(number.ceil()))),
                Function::Round => scaled.round_ties_even() / scale,
                _ => scaled.trunc() / scale,
            };
            Value::Double(Double(if rounded.is_finite() { rounded } else { number }))
        }
        (Function::Floor | Function::Ceiling, Number::Decimal(number)) => {
            let whole = number.truncated(0);
            let up = i128::from(function == Function::Ceiling && number.compare(whole).is_gt());
            let down = i128::from(function == Function::Floor && number.compare(whole).is_lt());
            let result = whole.digits_shown() + up - down;
            i64::try_from(result).map_or_else(
                |_| Value::Decimal(super::decimal::Decimal::new(result, 0)),
                Value::Integer,
            )
        }
        (Function::Floor | Function::Ceiling, number) => number.into(),
        (_, Number::Decimal(number)) if digits >= 0 => {
            let digits = digits as u8;
            let cut = if function == Function::Round {
                number.rounded(digits)
            } else {
                Some(number.truncated(digits))
            };
            Value::Decimal(cut.ok_or_else(fail)?)
        }
        (_, number) if digits >= 0 => number.into(),
        (_, number) => {
            let unit = 10_i128.pow(digits.unsigned_abs());
            let whole_part = match number {
                Number::Decimal(number) => number.truncated(0).digits_shown(),
                other => other.to_whole(),
            };
            let half = if function == Function::Round {
                unit / 2 * whole_part.signum()
            } else {
                0
            };
            let result = (whole_part + half) / unit * unit;
            match number {
                Number::Unsigned(_) => Value::Unsigned(u64::try_from(result).map_err(|_| fail())?),
                Number::Decimal(_) => Value::Decimal(super::decimal::Decimal::new(result, 0)),
                _ => Value::Integer(i64::try_from(result).map_err(|_| fail())?),
            }
        }
    })
}

fn unix_timestamp(scope: &Scope<'_>, values: &[Value]) -> Outcome<Value> {
    let Some(value) = values.first() else {
        return Ok(Value::Integer((scope.context.now / 1000) as i64));
    };
    let Some(time) = time_of(scope, value)? else {
        return Ok(Value::Null);
    };
    // What is before 1970 is out of range, and 0.
    let micros = time.micros.max(0);
    if time.digits == 0 {
        return Ok(Value::Integer(micros / SECOND));
    }
    let number = super::decimal::Decimal::new(micros.into(), 6).truncated(time.digits);
    Ok(Value::Decimal(number))
}

/// Where the needle first stands at or after character `from`, counted from 1; 0 when nowhere.
fn position(haystack: &str, needle: &str, from: i128) -> i64 {
    let fold = |text: &str| {
        text.chars()
            .map(super::collation::weight)
            .collect::<Vec<_>>()
    };
    let (haystack, needle) = (fold(haystack), fold(needle));
    let Ok(from) = usize::try_from(from - 1) else {
        return 0;
    };
    if from > haystack.len() {
        return 0;
    }
    if needle.is_empty() {
        return from as i64 + 1;
    }
    let found = haystack[from..]
        .windows(needle.len())
        .position(|window| window == needle);
    found.map_or(0, |at| (from + at) as i64 + 1)
}

/// The string, or NULL with a warning when it is longer than strings may be.
fn bounded(scope: &Scope<'_>, value: String) -> Outcome<Value> {
    if value.len() > MOST_TEXT {
        scope
            .context
            .lossy(error::text_too_long("concat", &MOST_TEXT.to_string()))?;
        return Ok(Value::Null);
    }
    Ok(text(value))
}

fn concat_with_separator(scope: &Scope<'_>, values: &[Value]) -> Outcome<Value> {
    if values[0].is_null() {
        return Ok(Value::Null);
    }
    let separator = values[0].text();
    let parts: Vec<_> = values[1..]
        .iter()
        .filter(|value| !value.is_null())
        .map(Value::text)
        .collect();
    bounded(scope, parts.join(&separator))
}

fn strings(scope: &Scope<'_>, function: Function, values: &[Value]) -> Outcome<Value> {
    use Function as F;
    let first = values[0].text();
    let whole = |index: usize| {
        values
            .get(index)
            .and_then(Value::number)
            .map_or(0, |(number, _)| number.to_whole())
    };
    let count = |index: usize| usize::try_from(whole(index).clamp(0, 1 << 30)).unwrap_or(0);
    Ok(match function {
        F::Concat => {
            let mut all = String::new();
            values.iter().for_each(|value| all.push_str(&value.text()));
            return bounded(scope, all);
        }
        F::Upper => text(letter_case::upper(&first)),
        F::Lower => text(letter_case::lower(&first)),
        F::Left => text(part(&first, 0, count(1))),
        F::Right => {
            let length = first.chars().count();
            text(part(&first, length.saturating_sub(count(1)), usize::MAX))
        }
        F::Trim => text(first.trim_matches(' ')),
        F::TrimLeft => text(first.trim_start_matches(' ')),
        F::TrimRight => text(first.trim_end_matches(' ')),
        F::Substring => {
            let length = first.chars().count() as i128;
            let from = whole(1);
            let start = if from > 0 { from - 1 } else { length + from };
            if from == 0 || start < 0 || start >= length {
                return Ok("".into());
            }
            text(part(
                &first,
                start as usize,
                if values.len() > 2 {
                    count(2)
                } else {
                    usize::MAX
                },
            ))
        }
        F::SubstringIndex => {
            let separator = values[1].text();
            let wanted = whole(2);
            if wanted == 0 || separator.is_empty() {
                return Ok("".into());
            }
            let parts: Vec<&str> = first.split(&*separator).collect();
            let kept = usize::try_from(wanted.unsigned_abs())
                .unwrap_or(usize::MAX)
                .min(parts.len());
            let kept = if wanted > 0 {
                &parts[..kept]
            } else {
                &parts[parts.len() - kept..]
            };
            text(kept.join(&separator))
        }
        F::Replace => {
            let from = values[1].text();
            if from.is_empty() {
                return Ok(text(first));
            }
            // The length is known before the string is made.
            let found = first.matches(&*from).count();
            if first.len() + found * values[2].text().len() > MOST_TEXT * 2 {
                return bounded(scope, " ".repeat(MOST_TEXT + 1));
            }
            return bounded(scope, first.replace(&*from, &values[2].text()));
        }
        F::Repeat => {
            if first.len().saturating_mul(count(1)) > MOST_TEXT {
                scope
                    .context
                    .lossy(error::text_too_long("repeat", &MOST_TEXT.to_string()))?;
                return Ok(Value::Null);
            }
            text(first.repeat(count(1)))
        }
        F::PadLeft | F::PadRight => {
            return pad(
                scope,
                function == F::PadLeft,
                &first,
                whole(1),
                &values[2].text(),
            );
        }
        _ => Value::Null,
    })
}

fn pad(scope: &Scope<'_>, left: bool, first: &str, length: i128, filler: &str) -> Outcome<Value> {
    let Ok(length) = usize::try_from(length) else {
        return Ok(Value::Null);
    };
    let have = first.chars().count();
    if length <= have {
        return Ok(text(part(first, 0, length)));
    }
    if length > MOST_TEXT {
        scope
            .context
            .lossy(error::text_too_long("lpad", &MOST_TEXT.to_string()))?;
        return Ok(Value::Null);
    }
    if filler.is_empty() {
        return Ok("".into());
    }
    let fill: String = filler.chars().cycle().take(length - have).collect();
    Ok(text(if left {
        format!("{fill}{first}")
    } else {
        format!("{first}{fill}")
    }))
}

/// GET_LOCK and its companions (MySQL Reference Manual, "Locking Functions"). A lock belongs to
/// the connection, can be taken several times, and outlives transactions.
fn named_lock(scope: &Scope<'_>, function: Function, values: &[Value]) -> Outcome<Value> {
    let own = scope.context.connection;
    let mut effects = scope.context.effects.borrow_mut();
    if function == Function::ReleaseAllLocks {
        let released: u32 = effects
            .named
            .iter()
            .filter(|lock| lock.owner == own)
            .map(|lock| lock.count)
            .sum();
        effects.named.retain(|lock| lock.owner != own);
        return Ok(Value::Integer(released.into()));
    }
    let name = letter_case::lower(&values[0].text());
    if values[0].is_null() || name.is_empty() || name.chars().count() > lock::MOST_NAME {
        return Err(error::wrong_lock_name(&values[0].to_string()).into());
    }
    let found = effects.named.iter().position(|lock| lock.name == name);
    let owner = found.map(|at| effects.named[at].owner);
    match function {
        Function::IsFreeLock => return Ok(Value::from(owner.is_none())),
        Function::IsUsedLock => {
            return Ok(owner.map_or(Value::Null, |owner| Value::Unsigned(u64::from(owner.0))));
        }
        Function::ReleaseLock => {
            let Some(at) = found else {
                return Ok(Value::Null);
            };
            if owner != Some(own) {
                return Ok(Value::Integer(0));
            }
            effects.named[at].count -= 1;
            if effects.named[at].count == 0 {
                effects.named.remove(at);
            }
            return Ok(Value::Integer(1));
        }
        _ => {}
    }
    if effects.granted.as_ref() == Some(&name) {
        effects.granted = None;
        return Ok(Value::Integer(1));
    }
    if effects.timed_out.as_ref() == Some(&name) {
        effects.timed_out = None;
        return Ok(Value::Integer(0));
    }
    match found {
        Some(at) if owner == Some(own) => effects.named[at].count += 1,
        None => {
            let at = effects.named.partition_point(|lock| lock.name < name);
            effects.named.insert(
                at,
                NamedLock {
                    name,
                    owner: own,
                    count: 1,
                },
            );
        }
        Some(_) => {
            let seconds = values[1]
                .number()
                .map_or(0.0, |(number, _)| number.to_f64());
            if seconds == 0.0 {
                return Ok(Value::Integer(0));
            }
            // A negative time is for ever; a year will do.
            let millis = if seconds < 0.0 {
                31_536_000_000
            } else {
                (seconds * 1000.0).min(31_536_000_000.0) as u64
            };
            return Err(Stop::Wait(Box::new(Request {
                target: Target::Named(name),
                gap: None,
                patience: millis,
            })));
        }
    }
    Ok(Value::Integer(1))
}

/// Whether the call takes or gives up a lock by name; such calls may stand only where they run once.
pub(super) fn locks_by_name(expression: &Expression) -> bool {
    expression.any(&|part| {
        matches!(
            part,
            Expression::Call(
                Function::GetLock | Function::ReleaseLock | Function::ReleaseAllLocks,
                _
            )
        )
    })
}

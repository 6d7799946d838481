//! Works out expressions: three-valued logic, MySQL's comparison and arithmetic, and the names of
//! columns.

use std::cell::RefCell;
use std::cmp::Ordering;

use super::ConnectionId;
use super::arithmetic;
use super::calendar::{DateTime, SECOND, Unit};
use super::collation;
use super::error::{self, Conditions, Level, Outcome, SqlError};
use super::function;
use super::kind::{self, Kind};
use super::lock::NamedLock;
use super::select;
use super::state::{Session, View};
use super::syntax::{Aggregate, CastTo, Expression, Is, Operator, Prefix};
use super::table::Definition;
use super::value::{self, Number, Value, Values};

/// What working out an expression leaves behind, besides its value.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub(super) conditions: Conditions,
    /// What LAST_INSERT_ID(expression) was given.
    pub(super) last_insert_id: Option<u64>,
    /// The first number that AUTO_INCREMENT gave.
    pub(super) generated: Option<u64>,
    /// User variables as they are now, sorted by name.
    pub(super) variables: Vec<(String, Value)>,
    /// The locks of GET_LOCK.
    pub(super) named: Vec<NamedLock>,
    /// The lock that this statement has just been given, or has waited for in vain.
    pub(super) granted: Option<String>,
    pub(super) timed_out: Option<String>,
}

/// What does not change while one statement runs.
pub(super) struct Context<'a> {
    pub(super) view: View<'a>,
    pub(super) session: &'a Session,
    pub(super) connection: ConnectionId,
    pub(super) parameters: &'a [Value],
    /// Milliseconds since 1970.
    pub(super) now: u64,
    /// Whether a lossy conversion is an error, as in every statement that writes.
    pub(super) strict: bool,
    pub(super) effects: &'a RefCell<Effects>,
}

/// A table that names can refer to.
#[derive(Clone)]
pub(super) struct Source<'a> {
    pub(super) alias: &'a str,
    pub(super) definition: &'a Definition,
}

/// What names mean where an expression stands.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) sources: &'a [Source<'a>],
    /// One row of each source.
    pub(super) rows: &'a [Values],
    /// The row that VALUES(column) means.
    pub(super) inserted: Option<&'a [Value]>,
    /// The rows that aggregates run over.
    pub(super) group: Option<&'a [Vec<Values>]>,
    /// Names given in the select list, with their values.
    pub(super) aliases: &'a [(&'a str, Value)],
    /// The query around this one.
    pub(super) outer: Option<&'a Scope<'a>>,
}

impl Context<'_> {
    pub(super) fn warn(&self, error: SqlError) {
        let conditions = &mut self.effects.borrow_mut().conditions;
        conditions.add(Level::Warning, error);
    }

    pub(super) fn note(&self, error: SqlError) {
        let conditions = &mut self.effects.borrow_mut().conditions;
        conditions.add(Level::Note, error);
    }

    /// A note, or in a statement that writes the error itself.
    pub(super) fn lossy(&self, error: SqlError) -> Outcome<()> {
        if self.strict {
            return Err(error.into());
        }
        self.warn(error);
        Ok(())
    }
}

/// Where a column's value is.
pub(super) enum Found<'a> {
    Alias(usize),
    Column {
        scope: &'a Scope<'a>,
        source: usize,
        column: usize,
    },
}

impl<'a> Scope<'a> {
    /// A scope without tables.
    pub(super) fn bare(context: &'a Context<'a>) -> Scope<'a> {
        Scope {
            context,
            sources: &[],
            rows: &[],
            inserted: None,
            group: None,
            aliases: &[],
            outer: None,
        }
    }

    /// Finds what a name means: a column here, a name of the select list, a column further out.
    pub(super) fn find(
        &'a self,
        table: Option<&str>,
        name: &str,
        clause: &str,
    ) -> Result<Found<'a>, SqlError> {
        // Where names of the select list count at all, in HAVING and ORDER BY, they count first.
        if table.is_none()
            && let Some(alias) = self
                .aliases
                .iter()
                .position(|(alias, _)| alias.eq_ignore_ascii_case(name))
        {
            return Ok(Found::Alias(alias));
        }
        let mut scope = self;
        loop {
            if let Some((source, column)) = scope.find_here(table, name, clause)? {
                return Ok(Found::Column {
                    scope,
                    source,
                    column,
                });
            }
            match scope.outer {
                Some(outer) => scope = outer,
                None => return Err(error::unknown_column(&full_name(table, name), clause)),
            }
        }
    }

    fn find_here(
        &self,
        table: Option<&str>,
        name: &str,
        clause: &str,
    ) -> Result<Option<(usize, usize)>, SqlError> {
        let mut found = None;
        for (index, source) in self.sources.iter().enumerate() {
            if table.is_some_and(|table| table != source.alias) {
                continue;
            }
            if let Some(column) = source.definition.column(name) {
                if found.is_some() {
                    return Err(error::ambiguous(&full_name(table, name), clause));
                }
                found = Some((index, column));
            }
        }
        Ok(found)
    }
}

pub(super) fn full_name(table: Option<&str>, name: &str) -> String {
    table.map_or_else(|| name.to_string(), |table| format!("{table}.{name}"))
}

fn truth(value: &Value) -> Option<bool> {
    value.number().map(|(number, _)| !number.is_zero())
}

/// Whether the value counts as true; NULL does not.
pub(super) fn is_true(scope: &Scope<'_>, value: &Value) -> Outcome<bool> {
    Ok(logical(scope, value)? == Some(true))
}

fn logical(scope: &Scope<'_>, value: &Value) -> Outcome<Option<bool>> {
    if let Value::Text(text) = value
        && !value::number_prefix(text).whole
    {
        scope
            .context
            .lossy(error::truncated_value("DOUBLE", text))?;
    }
    Ok(truth(value))
}

fn boolean(value: Option<bool>) -> Value {
    value.map_or(Value::Null, Value::from)
}

/// Compares two values as MySQL does, with a note for each string that is no number.
pub(super) fn compare(scope: &Scope<'_>, left: &Value, right: &Value) -> Outcome<Option<Ordering>> {
    let mut lossy = None;
    let order = value::compare(left, right, &mut |text| lossy = Some(text.to_string()));
    if let Some(text) = lossy {
        scope
            .context
            .lossy(error::truncated_value("DOUBLE", &text))?;
    }
    Ok(order)
}

/// The value of the expression in this scope.
pub(super) fn evaluate(scope: &Scope<'_>, expression: &Expression) -> Outcome<Value> {
    match expression {
        Expression::Literal(value) => Ok(value.clone()),
        Expression::Placeholder(number) => match scope.context.parameters.get(*number) {
            Some(value) => Ok(value.clone()),
            None => Err(error::wrong_arguments("EXECUTE").into()),
        },
        Expression::Column { table, name } => column(scope, table.as_deref(), name),
        Expression::Binary(operator, left, right) => {
            binary(scope, expression, *operator, left, right)
        }
        Expression::Prefix(prefix, operand) => {
            let value = evaluate(scope, operand)?;
            match prefix {
                Prefix::Not => Ok(boolean(logical(scope, &value)?.map(|truth| !truth))),
                Prefix::Minus => arithmetic::negate(scope, expression, &value),
                Prefix::BitNot => {
                    Ok(arithmetic::bits(&value).map_or(Value::Null, |bits| Value::Unsigned(!bits)))
                }
            }
        }
        Expression::Between { negated, operands } => {
            let [value, low, high] = &**operands;
            let value = evaluate(scope, value)?.unrounded();
            let low = evaluate(scope, low)?.unrounded();
            let high = evaluate(scope, high)?.unrounded();
            let above = compare(scope, &value, &low)?.map(Ordering::is_ge);
            let below = compare(scope, &value, &high)?.map(Ordering::is_le);
            Ok(boolean(and(above, below).map(|inside| inside != *negated)))
        }
        Expression::In {
            negated,
            needle,
            list,
        } => {
            // One value is compared as `=` does it; among several IN looks at digits that `=` rounds away.
            let mut needle = evaluate(scope, needle)?;
            if list.len() > 1 {
                needle = needle.unrounded();
            }
            let mut result = Some(false);
            for candidate in list {
                let candidate = evaluate(scope, candidate)?;
                result = or(
                    result,
                    compare(scope, &needle, &candidate)?.map(Ordering::is_eq),
                );
            }
            Ok(boolean(result.map(|found| found != *negated)))
        }
        Expression::Is {
            negated,
            what,
            operand,
        } => {
            let value = evaluate(scope, operand)?;
            let is = match what {
                Is::Null => value.is_null(),
                Is::True => logical(scope, &value)? == Some(true),
                Is::False => logical(scope, &value)? == Some(false),
            };
            Ok(Value::from(is != *negated))
        }
        Expression::Like {
            negated,
            operands,
            escape,
        } => {
            let (text, pattern) = (
                evaluate(scope, &operands[0])?,
                evaluate(scope, &operands[1])?,
            );
            if text.is_null() || pattern.is_null() {
                return Ok(Value::Null);
            }
            Ok(Value::from(
                collation::like(&text.text(), &pattern.text(), *escape) != *negated,
            ))
        }
        Expression::Case {
            operand,
            arms,
            otherwise,
        } => {
            let value = case(scope, operand.as_deref(), arms, otherwise.as_deref())?;
            kind::convert(scope, value, kind::of(scope, expression))
        }
        Expression::Call(function, arguments) => {
            function::call(scope, expression, *function, arguments)
        }
        Expression::Aggregate {
            kind,
            distinct,
            arguments,
        } => aggregate(scope, expression, *kind, *distinct, arguments),
        Expression::Shift {
            operands,
            unit,
            minus,
        } => {
            let (time, amount) = (
                evaluate(scope, &operands[0])?,
                evaluate(scope, &operands[1])?,
            );
            // Seconds alone may have a fraction.
            let fraction = match &amount {
                _ if !matches!(unit, Unit::Fixed(SECOND)) => 0,
                Value::Decimal(decimal) => decimal.scale().min(6),
                Value::Text(_) | Value::Double(_) => 6,
                _ => 0,
            };
            let Some((amount, _)) = amount.number() else {
                return Ok(Value::Null);
            };
            let text = matches!(time, Value::Text(_));
            let given = time.text().trim().len();
            let Some(time) = time_of(scope, &time)? else {
                return Ok(Value::Null);
            };
            if time.is_zero() {
                let error = format!("Incorrect datetime value: '{}'", DateTime::zero(0));
                scope.context.lossy(SqlError::new(1292, "22007", error))?;
                return Ok(Value::Null);
            }
            let (amount, unit) = match (fraction, amount) {
                (0, amount) => (i64::try_from(amount.to_whole()), *unit),
                (_, Number::Decimal(seconds)) => (
                    i64::try_from(seconds.truncated(6).digits_shown()),
                    Unit::Fixed(1),
                ),
                (_, seconds) => {
                    let micros = (seconds.to_f64() * SECOND as f64).round();
                    (Ok(micros as i64), Unit::Fixed(1))
                }
            };
            let amount = amount.unwrap_or(i64::MAX);
            let amount = if *minus {
                amount.checked_neg()
            } else {
                Some(amount)
            };
            let moved = amount.and_then(|amount| time.plus(amount, unit));
            let moved = moved.map(|moved| match fraction {
                0 => moved,
                _ => DateTime {
                    digits: time.digits.max(fraction),
                    ..moved
                },
            });
            match moved {
                Some(moved) if text => {
                    // Days on a day give a day.
                    let days = given <= "0000-00-00".len() && unit.is_days();
                    let text = moved.to_string();
                    Ok(text[..if days { 10 } else { text.len() }].into())
                }
                Some(time) => Ok(Value::DateTime(time)),
                None => {
                    scope.context.warn(error::time_overflow());
                    Ok(Value::Null)
                }
            }
        }
        Expression::Difference { operands, unit } => {
            let (from, to) = (
                evaluate(scope, &operands[0])?,
                evaluate(scope, &operands[1])?,
            );
            match (time_of(scope, &from)?, time_of(scope, &to)?) {
                (Some(from), Some(to)) => Ok(from
                    .units_until(to, *unit)
                    .map_or(Value::Null, Value::Integer)),
                _ => Ok(Value::Null),
            }
        }
        Expression::Cast(to, operand) => cast(scope, *to, evaluate(scope, operand)?),
        Expression::Inserted(name) => inserted(scope, name),
        Expression::UserVariable(name) => {
            let effects = scope.context.effects.borrow();
            let found = effects
                .variables
                .binary_search_by(|(known, _)| known.cmp(name));
            Ok(found
                .ok()
                .and_then(|at| effects.variables.get(at))
                .map_or(Value::Null, |(_, value)| value.clone()))
        }
        Expression::Assign(name, operand) => {
            let value = evaluate(scope, operand)?.unrounded();
            scope
                .context
                .effects
                .borrow_mut()
                .assign(name, value.clone());
            Ok(value)
        }
        Expression::SystemVariable(name) => scope.context.session.system_variable(name),
        Expression::Query(_) | Expression::Exists(_) | Expression::InQuery { .. } => {
            query(scope, expression)
        }
    }
}

impl Effects {
    /// Sets a user variable.
    pub(super) fn assign(&mut self, name: &str, value: Value) {
        // A variable holds numbers, with all their digits, and strings; a time becomes one.
        let value = match value {
            Value::DateTime(_) => value.to_string().into(),
            other => other.unrounded(),
        };
        match self
            .variables
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
        {
            Ok(at) => self.variables[at].1 = value,
            Err(at) => self.variables.insert(at, (name.to_string(), value)),
        }
    }
}

fn column(scope: &Scope<'_>, table: Option<&str>, name: &str) -> Outcome<Value> {
    match scope.find(table, name, "field list")? {
        Found::Alias(alias) => Ok(scope.aliases[alias].1.clone()),
        Found::Column {
            scope,
            source,
            column,
        } => Ok(scope
            .rows
            .get(source)
            .and_then(|row| row.get(column))
            .cloned()
            .unwrap_or_default()),
    }
}

fn inserted(scope: &Scope<'_>, name: &str) -> Outcome<Value> {
    let Some(source) = scope.sources.first() else {
        return Err(error::unknown_column(name, "field list").into());
    };
    let Some(column) = source.definition.column(name) else {
        return Err(error::unknown_column(name, "field list").into());
    };
    Ok(scope
        .inserted
        .and_then(|row| row.get(column))
        .cloned()
        .unwrap_or_default())
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    and(left.map(|truth| !truth), right.map(|truth| !truth)).map(|truth| !truth)
}

/// One operator on two expressions; `whole` is what they stand in, for its kind and for messages.
pub(super) fn binary(
    scope: &Scope<'_>,
    whole: &Expression,
    operator: Operator,
    left: &Expression,
    right: &Expression,
) -> Outcome<Value> {
    if matches!(operator, Operator::And | Operator::Or) {
        let first = evaluate(scope, left)?;
        let first = logical(scope, &first)?;
        // The other side is left alone where it cannot matter.
        if first == Some(operator == Operator::Or) {
            return Ok(boolean(first));
        }
        let second = evaluate(scope, right)?;
        let second = logical(scope, &second)?;
        return Ok(boolean(if operator == Operator::And {
            and(first, second)
        } else {
            or(first, second)
        }));
    }
    let (first, second) = (left, right);
    let left = evaluate(scope, first)?;
    // What comes behind a NULL is not worked out, but for whole numbers and doubles.
    if left.is_null() && !works_out_both(scope, whole, operator, [first, second]) {
        return Ok(Value::Null);
    }
    let right = evaluate(scope, second)?;
    let order = |test: fn(Ordering) -> bool| Ok(boolean(compare(scope, &left, &right)?.map(test)));
    match operator {
        Operator::Equal => order(Ordering::is_eq),
        Operator::NotEqual => order(Ordering::is_ne),
        Operator::Less => order(Ordering::is_lt),
        Operator::LessEqual => order(Ordering::is_le),
        Operator::Greater => order(Ordering::is_gt),
        Operator::GreaterEqual => order(Ordering::is_ge),
        Operator::NullSafe => {
            let equal = match compare(scope, &left, &right)? {
                Some(order) => order.is_eq(),
                None => left.is_null() && right.is_null(),
            };
            Ok(Value::from(equal))
        }
        Operator::Xor => {
            let (left, right) = (logical(scope, &left)?, logical(scope, &right)?);
            Ok(boolean(left.zip(right).map(|(left, right)| left != right)))
        }
        _ => arithmetic::binary(scope, whole, operator, &left, &right),
    }
}

fn works_out_both(
    scope: &Scope<'_>,
    whole: &Expression,
    operator: Operator,
    operands: [&Expression; 2],
) -> bool {
    match operator {
        Operator::NullSafe => true,
        Operator::WholeDivide => operands
            .iter()
            .all(|operand| matches!(kind::of(scope, operand), Kind::Integer | Kind::Unsigned)),
        Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo => !matches!(kind::of(scope, whole), Kind::Decimal(_)),
        _ => false,
    }
}

fn case(
    scope: &Scope<'_>,
    operand: Option<&Expression>,
    arms: &[(Expression, Expression)],
    otherwise: Option<&Expression>,
) -> Outcome<Value> {
    let operand = operand
        .map(|operand| evaluate(scope, operand).map(Value::unrounded))
        .transpose()?;
    for (when, then) in arms {
        let when = evaluate(scope, when)?;
        let chosen = match &operand {
            Some(operand) => {
                compare(scope, operand, &when.unrounded())?.is_some_and(Ordering::is_eq)
            }
            None => is_true(scope, &when)?,
        };
        if chosen {
            return evaluate(scope, then);
        }
    }
    otherwise.map_or(Ok(Value::Null), |otherwise| evaluate(scope, otherwise))
}

/// A value as a point in time; NULL, with a note, when it is none.
pub(super) fn time_of(scope: &Scope<'_>, value: &Value) -> Outcome<Option<DateTime>> {
    let time = match value {
        Value::Null => return Ok(None),
        Value::DateTime(time) => Some(*time),
        Value::Text(text) => DateTime::parse(text),
        other => other
            .number()
            .and_then(|(number, _)| DateTime::from_number(i64::try_from(number.to_whole()).ok()?)),
    };
    if time.is_none() {
        let text = value.text();
        scope.context.lossy(SqlError::new(
            1292,
            "22007",
            format!("Incorrect datetime value: '{text}'"),
        ))?;
    }
    Ok(time)
}

fn cast(scope: &Scope<'_>, to: CastTo, value: Value) -> Outcome<Value> {
    let Some((number, whole)) = value.number() else {
        return Ok(Value::Null);
    };
    let lossy = |kind: &str| {
        if whole {
            Ok(())
        } else {
            scope
                .context
                .lossy(error::truncated_value(kind, &value.text()))
        }
    };
    match to {
        CastTo::Signed | CastTo::Unsigned => {
            let number = match &value {
                Value::Text(text) => {
                    let digits = value::number_prefix(text);
                    let end = digits
                        .number
                        .find(['.', 'e', 'E'])
                        .unwrap_or(digits.number.len());
                    let whole_part = &digits.number[..end];
                    if !digits.whole || end < digits.number.len() {
                        scope
                            .context
                            .lossy(error::truncated_value("INTEGER", text))?;
                    }
                    let parsed: i128 = whole_part.parse().unwrap_or(0);
                    parsed.clamp(i64::MIN.into(), u64::MAX.into())
                }
                Value::Double(_) | Value::Decimal(_)
                    if to == CastTo::Unsigned && number.to_f64() < 0.0 =>
                {
                    number.to_whole().clamp(i64::MIN.into(), 0)
                }
                _ => number.to_whole(),
            };
            Ok(match to {
                CastTo::Signed
                    if number > i64::MAX.into()
                        && !matches!(value, Value::Text(_) | Value::Unsigned(_)) =>
                {
                    Value::Integer(i64::MAX)
                }
                CastTo::Signed => {
                    Value::Integer(number.clamp(i64::MIN.into(), u64::MAX.into()) as i64)
                }
                _ => Value::Unsigned(number.clamp(i64::MIN.into(), u64::MAX.into()) as u64),
            })
        }
        CastTo::Decimal(precision, scale) => {
            lossy("DECIMAL")?;
            let kind = super::column::ColumnType::Decimal {
                precision: precision.max(1),
                scale,
                unsigned: false,
            };
            let stored = kind.store(&value);
            if stored.refusal == Some(super::column::Refusal::OutOfRange) {
                scope
                    .context
                    .lossy(error::out_of_range_column(&value.text(), "1"))?;
            }
            Ok(stored.value)
        }
        CastTo::Double => {
            lossy("DOUBLE")?;
            Ok(Value::Double(value::Double(number.to_f64())))
        }
        CastTo::Text(most) => {
            let text = value.text();
            let most = most.map_or(usize::MAX, |most| most as usize);
            match text.char_indices().nth(most) {
                Some((end, _)) => {
                    scope
                        .context
                        .lossy(error::truncated_value(&format!("CHAR({most})"), &text))?;
                    Ok(text[..end].into())
                }
                None => Ok(text.into_owned().into()),
            }
        }
        CastTo::DateTime(digits) => Ok(time_of(scope, &value)?
            .map_or(Value::Null, |time| Value::DateTime(time.rounded(digits)))),
    }
}

fn aggregate(
    scope: &Scope<'_>,
    whole: &Expression,
    kind: Aggregate,
    distinct: bool,
    arguments: &[Expression],
) -> Outcome<Value> {
    let Some(group) = scope.group else {
        return Err(error::group_function().into());
    };
    if arguments.is_empty() {
        return Ok(Value::Integer(
            i64::try_from(group.len()).unwrap_or(i64::MAX),
        ));
    }
    let mut seen: crate::sorted::SortedSet<Vec<u8>> = crate::sorted::SortedSet::new();
    let mut count: i64 = 0;
    let mut result = Value::Null;
    for rows in group {
        let inner = Scope {
            rows,
            group: None,
            aliases: &[],
            ..*scope
        };
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(evaluate(&inner, argument)?);
        }
        if values.iter().any(Value::is_null) {
            continue;
        }
        if distinct {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| value.encode(&mut bytes));
            if !seen.insert(bytes) {
                continue;
            }
        }
        count += 1;
        let Some(value) = values.pop() else { continue };
        result = match kind {
            Aggregate::Count => Value::Null,
            Aggregate::Sum | Aggregate::Average => {
                let summand = arithmetic::summand(scope, &value)?;
                if result.is_null() {
                    summand
                } else {
                    arithmetic::binary(scope, whole, Operator::Add, &result, &summand)?
                }
            }
            Aggregate::Minimum | Aggregate::Maximum => {
                let better = if kind == Aggregate::Minimum {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
                let replaces = result.is_null() || compare(scope, &value, &result)? == Some(better);
                if replaces { value } else { result }
            }
        };
    }
    match kind {
        Aggregate::Count => Ok(Value::Integer(count)),
        Aggregate::Average if count > 0 => arithmetic::binary(
            scope,
            whole,
            Operator::Divide,
            &result,
            &Value::Integer(count),
        ),
        _ => Ok(result),
    }
}

/// Queries inside expressions.
fn query(scope: &Scope<'_>, expression: &Expression) -> Outcome<Value> {
    match expression {
        Expression::Exists(query) => {
            let result = select::rows(scope.context, query, Some(scope))?;
            Ok(Value::from(!result.rows.is_empty()))
        }
        Expression::Query(query) => {
            let mut result = select::rows(scope.context, query, Some(scope))?;
            if result.columns.len() != 1 {
                return Err(error::select_columns("1").into());
            }
            if result.rows.len() > 1 {
                return Err(error::several_rows().into());
            }
            Ok(result
                .rows
                .pop()
                .and_then(|mut row| row.pop())
                .unwrap_or_default())
        }
        Expression::InQuery {
            negated,
            needle,
            query,
        } => {
            let needle = evaluate(scope, needle)?;
            let result = select::rows(scope.context, query, Some(scope))?;
            if result.columns.len() != 1 {
                return Err(error::select_columns("1").into());
            }
            let mut found = Some(false);
            for candidate in result.rows.iter().flatten() {
                found = or(
                    found,
                    compare(scope, &needle, candidate)?.map(Ordering::is_eq),
                );
            }
            Ok(boolean(found.map(|found| found != *negated)))
        }
        _ => Ok(Value::Null),
    }
}

/// Looks every name up before a row is read, so that a wrong name is an error in an empty table
/// too; `clause` is how the message calls the place. Aggregates are refused unless `grouped`.
pub(super) fn check(
    scope: &Scope<'_>,
    expression: &Expression,
    clause: &str,
    grouped: bool,
) -> Outcome<()> {
    match expression {
        Expression::Column { table, name } => {
            scope.find(table.as_deref(), name, clause)?;
            return Ok(());
        }
        Expression::Inserted(name) => {
            let known = scope
                .sources
                .first()
                .is_some_and(|source| source.definition.column(name).is_some());
            return if known {
                Ok(())
            } else {
                Err(error::unknown_column(name, clause).into())
            };
        }
        Expression::Aggregate { .. } if !grouped => return Err(error::group_function().into()),
        _ => {}
    }
    let inside = grouped && !matches!(expression, Expression::Aggregate { .. });
    let mut result = Ok(());
    expression.each_part(&mut |part| {
        if result.is_ok() {
            result = check(scope, part, clause, inside);
        }
    });
    result
}

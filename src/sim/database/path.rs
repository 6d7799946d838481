//! Which part of which index a WHERE leads to. It decides which rows a locking statement locks and
//! which conditions only say which row is meant.

use super::calendar::DateTime;
use super::column::{ColumnType, KeyKind};
use super::expression::{Scope, evaluate};
use super::function::Function;
use super::syntax::{Conjunct, Expression, Operator};
use super::table::Definition;
use super::value::{Number, Value};

/// Entries from `low` on, below `high`.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) low: Vec<u8>,
    pub(super) high: Option<Vec<u8>>,
    /// At most one entry: all columns of a unique key are given and none is NULL.
    pub(super) point: bool,
    /// A range of one column from `low` on that was written with `>=` or BETWEEN.
    pub(super) inclusive: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Path {
    /// 0 is the rows themselves.
    pub(super) index: usize,
    /// In order, disjoint.
    pub(super) intervals: Vec<Interval>,
    /// The conjuncts that identify the row, by number; empty unless they do.
    pub(super) identifying: Vec<usize>,
}

impl Interval {
    pub(super) fn contains(&self, entry: &[u8]) -> bool {
        entry >= self.low.as_slice() && self.high.as_deref().is_none_or(|high| entry < high)
    }
}

/// The first bytes behind everything that begins with the prefix.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = prefix.to_vec();
    while let Some(last) = bytes.pop() {
        if last < u8::MAX {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

/// A value as an index over the column holds it, when comparing with it means comparing those.
fn key_bytes(kind: ColumnType, value: &Value) -> Option<Vec<u8>> {
    if value.is_null() {
        return None;
    }
    let stored = match (kind, value) {
        (ColumnType::Varchar(_) | ColumnType::Char(_) | ColumnType::Text(_), Value::Text(_)) => {
            value.clone()
        }
        (ColumnType::Varchar(_) | ColumnType::Char(_) | ColumnType::Text(_), _) => return None,
        (ColumnType::DateTime { .. }, Value::DateTime(_)) => value.clone(),
        (ColumnType::DateTime { .. }, Value::Text(text)) => Value::DateTime(DateTime::parse(text)?),
        (ColumnType::DateTime { .. }, _) => return None,
        _ => {
            let stored = kind.store(value);
            let (own, _) = stored.value.number()?;
            let (given, whole) = value.number()?;
            let same = match (own, given) {
                (Number::Double(_), _) => true,
                (_, given) => own.compare(given).is_eq(),
            };
            if stored.refusal.is_some() || !whole || !same {
                return None;
            }
            stored.value
        }
    };
    let mut bytes = Vec::new();
    stored.encode(&mut bytes);
    Some(bytes)
}

/// Whether the value is the same for every row.
pub(super) fn is_constant(expression: &Expression) -> bool {
    !expression.any(&|part| {
        matches!(
            part,
            Expression::Column { .. }
                | Expression::Inserted(_)
                | Expression::Aggregate { .. }
                | Expression::Query(_)
                | Expression::Exists(_)
                | Expression::InQuery { .. }
                | Expression::Assign(..)
                | Expression::Call(
                    Function::GetLock | Function::ReleaseLock | Function::ReleaseAllLocks,
                    _
                )
                | Expression::Call(Function::LastInsertId, _)
        )
    })
}

/// What a conjunct says about one column.
struct Bound {
    column: usize,
    conjunct: usize,
    what: What,
}

enum What {
    Equal(Vec<u8>),
    /// One of these, sorted.
    OneOf(Vec<Vec<u8>>),
    /// From here on, below there; whether the first was named itself.
    Between(Vec<u8>, Option<Vec<u8>>, bool),
}

struct Bounds<'s, 'a> {
    scope: &'s Scope<'a>,
    definition: &'s Definition,
    alias: &'s str,
}

impl Bounds<'_, '_> {
    fn column(&self, expression: &Expression) -> Option<usize> {
        match expression {
            Expression::Column { table, name }
                if table.as_deref().is_none_or(|table| table == self.alias) =>
            {
                self.definition.column(name)
            }
            _ => None,
        }
    }

    fn bytes(&self, column: usize, expression: &Expression) -> Option<Vec<u8>> {
        if !is_constant(expression) {
            return None;
        }
        let kind = self.definition.columns.get(column)?.kind;
        key_bytes(kind, &evaluate(self.scope, expression).ok()?)
    }

    fn of(&self, conjunct: usize, expression: &Expression) -> Option<Bound> {
        let (column, what) = match expression {
            Expression::Binary(operator, left, right) => {
                let (column, operator, value) = match (self.column(left), self.column(right)) {
                    (Some(column), _) => (column, *operator, right),
                    (None, Some(column)) => (column, mirrored(*operator), left),
                    (None, None) => return None,
                };
                let bytes = self.bytes(column, value)?;
                let null = vec![1];
                (
                    column,
                    match operator {
                        Operator::Equal | Operator::NullSafe => What::Equal(bytes),
                        Operator::Less => What::Between(null, Some(bytes), false),
                        Operator::LessEqual => What::Between(null, behind(&bytes), false),
                        Operator::Greater => What::Between(behind(&bytes)?, None, false),
                        Operator::GreaterEqual => What::Between(bytes, None, true),
                        _ => return None,
                    },
                )
            }
            Expression::Between {
                negated: false,
                operands,
            } => {
                let column = self.column(&operands[0])?;
                let (low, high) = (
                    self.bytes(column, &operands[1])?,
                    self.bytes(column, &operands[2])?,
                );
                (column, What::Between(low, behind(&high), true))
            }
            Expression::In {
                negated: false,
                needle,
                list,
            } => {
                let column = self.column(needle)?;
                let mut values = Vec::with_capacity(list.len());
                for value in list {
                    values.push(self.bytes(column, value)?);
                }
                crate::sorted::sort(&mut values);
                values.dedup();
                (
                    column,
                    if values.len() == 1 {
                        What::Equal(values.remove(0))
                    } else {
                        What::OneOf(values)
                    },
                )
            }
            _ => return None,
        };
        Some(Bound {
            column,
            conjunct,
            what,
        })
    }
}

fn mirrored(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessEqual => Operator::GreaterEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterEqual => Operator::LessEqual,
        other => other,
    }
}

/// Chooses the path: a unique key that is given in full, else the rows by a beginning of the
/// clustering key, else another index whose first columns are given, else everything.
pub(super) fn choose(
    scope: &Scope<'_>,
    definition: &Definition,
    alias: &str,
    condition: &[Conjunct],
) -> Path {
    let of = Bounds {
        scope,
        definition,
        alias,
    };
    let bounds: Vec<Bound> = condition
        .iter()
        .enumerate()
        .filter_map(|(number, conjunct)| of.of(number, &conjunct.expression))
        .collect();
    let first = usize::from(!definition.clustered);
    let equal = |column: usize| {
        bounds.iter().find_map(|bound| match &bound.what {
            What::Equal(bytes) if bound.column == column => Some((bound.conjunct, bytes)),
            _ => None,
        })
    };
    for (number, index) in definition.indexes.iter().enumerate() {
        let parts: Vec<_> = index
            .columns
            .iter()
            .filter_map(|column| equal(*column))
            .collect();
        if index.kind != KeyKind::Plain && parts.len() == index.columns.len() {
            let low: Vec<u8> = parts
                .iter()
                .flat_map(|(_, bytes)| bytes.iter().copied())
                .collect();
            let high = behind(&low);
            // The same column may be given twice; every equality on the key identifies.
            let identifying = bounds
                .iter()
                .filter(|bound| {
                    matches!(bound.what, What::Equal(_)) && index.columns.contains(&bound.column)
                })
                .map(|bound| bound.conjunct)
                .collect();
            let intervals = vec![Interval {
                low,
                high,
                point: true,
                inclusive: false,
            }];
            return Path {
                index: first + number,
                intervals,
                identifying,
            };
        }
    }
    for (number, index) in definition.indexes.iter().enumerate() {
        let clustering = number == 0 && definition.clustered;
        let mut low = Vec::new();
        let mut given = 0;
        for column in &index.columns {
            let Some((_, bytes)) = equal(*column) else {
                break;
            };
            low.extend_from_slice(bytes);
            given += 1;
        }
        let next = index.columns.get(given);
        let more = bounds.iter().find(|bound| {
            Some(&bound.column) == next
                && (clustering || given > 0 || matches!(bound.what, What::OneOf(_)))
        });
        if given == 0 && more.is_none() {
            continue;
        }
        let with = |bytes: &Vec<u8>| [low.as_slice(), bytes].concat();
        let whole = given + 1 == index.columns.len() && index.kind != KeyKind::Plain;
        let intervals = match more.map(|bound| &bound.what) {
            Some(What::OneOf(values)) => values
                .iter()
                .map(|value| Interval {
                    low: with(value),
                    high: behind(&with(value)),
                    point: whole,
                    inclusive: false,
                })
                .collect(),
            Some(What::Between(from, to, inclusive)) => {
                let high = to
                    .as_ref()
                    .map_or_else(|| behind(&low), |to| Some(with(to)));
                vec![Interval {
                    low: with(from),
                    high,
                    point: false,
                    inclusive: *inclusive && index.columns.len() == given + 1,
                }]
            }
            _ => vec![Interval {
                high: behind(&low),
                low,
                point: false,
                inclusive: false,
            }],
        };
        return Path {
            index: first + number,
            intervals,
            identifying: Vec::new(),
        };
    }
    Path {
        index: 0,
        intervals: vec![Interval {
            low: Vec::new(),
            high: None,
            point: false,
            inclusive: false,
        }],
        identifying: Vec::new(),
    }
}

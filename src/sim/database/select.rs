//! Queries: FROM and WHERE give rows, GROUP BY makes groups of them, the select list makes results,
//! then HAVING, DISTINCT, ORDER BY and LIMIT.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use super::column::ColumnSpecification;
use super::error::{self, Outcome};
use super::expression::{Context, Scope, Source, check, evaluate, full_name, is_true};
use super::kind::{self, Kind};
use super::path;
use super::syntax::{Conjunct, Expression, Item, Join, Limit, Order, Select};
use super::table::{Definition, Key, Table};
use super::value::{self, Value, Values};

/// How many combinations of rows one query may look at.
const MOST_EXAMINED: usize = 200_000;

/// What a query gives.
pub(super) struct Found {
    pub(super) columns: Vec<String>,
    kinds: Vec<Kind>,
    pub(super) rows: Vec<Vec<Value>>,
}

/// Runs a query on what a plain SELECT sees; `outer` is the query around it.
pub(super) fn rows(
    context: &Context<'_>,
    query: &Select,
    outer: Option<&Scope<'_>>,
) -> Outcome<Found> {
    run(context, query, outer, None)
}

/// Runs a query; `given` are the rows of its tables, WHERE applied, where they have been read and
/// locked already.
pub(super) fn run(
    context: &Context<'_>,
    query: &Select,
    outer: Option<&Scope<'_>>,
    given: Option<Vec<Vec<Values>>>,
) -> Outcome<Found> {
    let tables = tables(context, query)?;
    let sources: Vec<Source<'_>> = query
        .from
        .iter()
        .zip(&tables)
        .map(|(from, table)| Source {
            alias: &from.alias,
            definition: &table.definition,
        })
        .collect();
    let scope = Scope {
        sources: &sources,
        outer,
        ..Scope::bare(context)
    };
    let items = items(&scope, query)?;
    let grouped = is_grouped(query, &items);
    check_names(&scope, query, &items, grouped)?;
    if grouped {
        check_groups(&scope, query, &items)?;
    }
    if !query.into.is_empty() && query.into.len() != items.len() {
        return Err(error::different_columns().into());
    }
    let joined = match given {
        Some(given) => given,
        None => join(&scope, query, &tables)?,
    };
    let mut results = if grouped {
        groups(&scope, query, &items, joined)?
    } else {
        let mut results = Vec::with_capacity(joined.len());
        let ends = query.order.is_empty() && !query.distinct;
        let wanted = query
            .limit
            .as_ref()
            .filter(|_| ends)
            .map(|limit| wanted(&scope, limit))
            .transpose()?;
        for rows in &joined {
            if wanted.is_some_and(|wanted| results.len() >= wanted) {
                break;
            }
            let scope = Scope { rows, ..scope };
            results.extend(result(&scope, query, &items)?);
        }
        results
    };
    if query.distinct {
        let mut seen = crate::sorted::SortedSet::new();
        results.retain(|(values, _)| seen.insert(encoded(values)));
    }
    if !query.order.is_empty() {
        crate::sorted::sort_by(&mut results, &mut |(_, a), (_, b)| {
            order(&query.order, a, b)
        });
    }
    let results = limited(&scope, query.limit.as_ref(), results)?;
    Ok(Found {
        columns: items.iter().map(|(name, _)| name.to_string()).collect(),
        kinds: items
            .iter()
            .map(|(_, item)| kind_of(&scope, item))
            .collect(),
        rows: results.into_iter().map(|(values, _)| values).collect(),
    })
}

/// The tables of FROM.
fn tables(context: &Context<'_>, query: &Select) -> Outcome<Vec<Arc<Table>>> {
    let mut tables = Vec::with_capacity(query.from.len());
    for (number, from) in query.from.iter().enumerate() {
        let before = query.from.iter().take(number);
        if before.into_iter().any(|other| other.alias == from.alias) {
            return Err(error::not_unique(&from.alias).into());
        }
        tables.push(match &from.query {
            Some(query) => Arc::new(derived(context, &from.alias, query)?),
            None => context.view.state.table(&from.table)?.clone(),
        });
    }
    Ok(tables)
}

/// What a query in FROM gives, as a table. It sees nothing of the query around it.
fn derived(context: &Context<'_>, alias: &str, query: &Select) -> Outcome<Table> {
    let found = run(context, query, None, None)?;
    let mut definition = Definition::bare(alias, found.columns.into());
    for (name, kind) in definition.names.iter().zip(found.kinds) {
        let known = |column: &ColumnSpecification| column.name.eq_ignore_ascii_case(name);
        if definition.columns.iter().any(known) {
            return Err(error::duplicate_column(name).into());
        }
        let column = ColumnSpecification::nullable(name, kind.column());
        definition.columns.push(column);
    }
    let mut table = Table::new(Arc::new(definition), 1);
    for (row, number) in found.rows.into_iter().zip(1_u64..) {
        let key: Key = number.to_be_bytes().as_slice().into();
        table.rows.push((key, row.into()));
    }
    Ok(table)
}

fn kind_of(scope: &Scope<'_>, item: &Selected<'_>) -> Kind {
    match item {
        Selected::Expression(expression) => kind::of(scope, expression),
        Selected::Column(source, column) => {
            Kind::of_column(scope.sources[*source].definition.columns[*column].kind)
        }
    }
}

enum Selected<'a> {
    Expression(&'a Expression),
    Column(usize, usize),
}

type Items<'a> = Vec<(&'a str, Selected<'a>)>;

fn items<'a>(scope: &Scope<'a>, query: &'a Select) -> Outcome<Items<'a>> {
    let mut items: Items<'a> = Vec::new();
    for item in &query.items {
        match item {
            Item::One { expression, name } => items.push((name, Selected::Expression(expression))),
            Item::All(table) => {
                let before = items.len();
                for (number, source) in scope.sources.iter().enumerate() {
                    if table.as_ref().is_none_or(|table| table == source.alias) {
                        let names = source.definition.names.iter().enumerate();
                        items.extend(names.map(|(column, name)| {
                            (name.as_str(), Selected::Column(number, column))
                        }));
                    }
                }
                match table {
                    Some(table) if items.len() == before => {
                        return Err(error::SqlError::new(
                            1051,
                            "42S02",
                            format!("Unknown table '{table}'"),
                        )
                        .into());
                    }
                    None if scope.sources.is_empty() => return Err(error::no_tables_used().into()),
                    _ => {}
                }
            }
        }
    }
    Ok(items)
}

fn is_grouped(query: &Select, items: &Items<'_>) -> bool {
    let in_items = items
        .iter()
        .any(|(_, item)| matches!(item, Selected::Expression(e) if e.aggregates()));
    !query.group.is_empty()
        || in_items
        || query.having.as_ref().is_some_and(Expression::aggregates)
        || query
            .order
            .iter()
            .any(|order| order.expression.aggregates())
}

/// The names of the select list, to look names up by.
fn aliases<'a>(items: &Items<'a>, values: &[Value]) -> Vec<(&'a str, Value)> {
    let value = |at: usize| values.get(at).cloned().unwrap_or_default();
    items
        .iter()
        .enumerate()
        .map(|(at, (name, _))| (*name, value(at)))
        .collect()
}

/// The place in the select list that `ORDER BY 2` or `GROUP BY 2` means.
fn ordinal(expression: &Expression) -> Option<usize> {
    match expression {
        Expression::Literal(Value::Integer(number)) => Some(usize::try_from(*number).unwrap_or(0)),
        _ => None,
    }
}

fn check_names(scope: &Scope<'_>, query: &Select, items: &Items<'_>, grouped: bool) -> Outcome<()> {
    for (_, item) in items {
        if let Selected::Expression(expression) = item {
            check(scope, expression, "field list", true)?;
        }
    }
    for (from, count) in query.from.iter().zip(1..) {
        if let Some(on) = &from.on {
            let scope = Scope {
                sources: &scope.sources[..count],
                ..*scope
            };
            check(&scope, on, "on clause", false)?;
        }
    }
    for conjunct in &query.condition {
        check(scope, &conjunct.expression, "where clause", false)?;
    }
    let aliases = aliases(items, &[]);
    let named = Scope {
        aliases: &aliases,
        ..*scope
    };
    for (list, clause) in [(&query.group, "group statement")] {
        for expression in list {
            in_list(expression, items.len(), clause)?;
            check(&named, expression, clause, false)?;
        }
    }
    for order in &query.order {
        in_list(&order.expression, items.len(), "order clause")?;
        check(&named, &order.expression, "order clause", true)?;
    }
    if let Some(having) = &query.having {
        check(&named, having, "having clause", true)?;
        if !grouped {
            // Without groups HAVING sees what the select list names.
            let only = Scope {
                sources: &[],
                ..named
            };
            check(&only, having, "having clause", true)?;
        }
    }
    Ok(())
}

fn in_list(expression: &Expression, count: usize, clause: &str) -> Outcome<()> {
    match ordinal(expression) {
        Some(number) if number == 0 || number > count => {
            Err(error::unknown_column(&number.to_string(), clause).into())
        }
        _ => Ok(()),
    }
}

/// sql_mode ONLY_FULL_GROUP_BY: a column outside aggregates must be in GROUP BY, or depend on it.
fn check_groups(scope: &Scope<'_>, query: &Select, items: &Items<'_>) -> Outcome<()> {
    let mut fixed: Vec<&Expression> = Vec::new();
    for expression in &query.group {
        fixed.push(expression);
        let by_name = |name: &str| {
            items
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        let item = match (ordinal(expression), expression) {
            (Some(number), _) => items.get(number - 1),
            (None, Expression::Column { table: None, name }) => by_name(name),
            _ => None,
        };
        if let Some((_, Selected::Expression(expression))) = item {
            fixed.push(expression);
        }
    }
    let columns: Vec<(usize, usize)> = fixed
        .iter()
        .filter_map(|expression| place(scope, expression))
        .collect();
    // All columns of a table whose unique key is grouped by are fixed.
    let whole_tables: Vec<usize> = (0..scope.sources.len())
        .filter(|source| {
            let definition = scope.sources[*source].definition;
            definition.indexes.iter().any(|index| {
                index.kind != super::column::KeyKind::Plain
                    && index.columns.iter().all(|column| {
                        columns.contains(&(*source, *column))
                            && definition.columns[*column].not_null
                    })
            })
        })
        .collect();
    let test = GroupTest {
        scope,
        fixed: &fixed,
        columns: &columns,
        whole_tables: &whole_tables,
    };
    for (number, (_, item)) in items.iter().enumerate() {
        let loose = match item {
            Selected::Column(source, column) => test.loose_column(*source, *column),
            Selected::Expression(expression) => test.loose(expression),
        };
        test.report(loose, number + 1, "SELECT list", query)?;
    }
    for (number, order) in query.order.iter().enumerate() {
        let alias = matches!(&order.expression, Expression::Column { table: None, name }
            if items.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)));
        if !alias {
            test.report(test.loose(&order.expression), number + 1, "ORDER BY", query)?;
        }
    }
    Ok(())
}

fn place(scope: &Scope<'_>, expression: &Expression) -> Option<(usize, usize)> {
    let Expression::Column { table, name } = expression else {
        return None;
    };
    match scope.find(table.as_deref(), name, "") {
        Ok(super::expression::Found::Column {
            scope: owner,
            source,
            column,
        }) if std::ptr::eq(owner, scope) => Some((source, column)),
        _ => None,
    }
}

struct GroupTest<'a> {
    scope: &'a Scope<'a>,
    fixed: &'a [&'a Expression],
    columns: &'a [(usize, usize)],
    whole_tables: &'a [usize],
}

impl GroupTest<'_> {
    fn loose_column(&self, source: usize, column: usize) -> Option<String> {
        if self.columns.contains(&(source, column)) || self.whole_tables.contains(&source) {
            return None;
        }
        let source = &self.scope.sources[source];
        Some(format!(
            "{}.{}.{}",
            error::DATABASE_NAME,
            source.alias,
            source.definition.columns[column].name
        ))
    }

    /// The first column that is not fixed within a group.
    fn loose(&self, expression: &Expression) -> Option<String> {
        if matches!(expression, Expression::Aggregate { .. }) {
            return None;
        }
        let text = |expression| super::print::expression(self.scope, expression);
        let compound = !matches!(
            expression,
            Expression::Column { .. } | Expression::Literal(_)
        );
        if compound
            && self
                .fixed
                .iter()
                .any(|fixed| text(fixed) == text(expression))
        {
            return None;
        }
        if let Some((source, column)) = place(self.scope, expression) {
            return self.loose_column(source, column);
        }
        let mut found = None;
        expression.each_part(&mut |part| {
            if found.is_none() {
                found = self.loose(part);
            }
        });
        found
    }

    fn report(
        &self,
        loose: Option<String>,
        number: usize,
        place: &str,
        query: &Select,
    ) -> Outcome<()> {
        let Some(column) = loose else { return Ok(()) };
        let number = number.to_string();
        if query.group.is_empty() {
            return Err(error::mixed_groups(&number, place, &column).into());
        }
        Err(error::not_in_group_by(&number, place, &column).into())
    }
}

/// The rows of FROM that pass WHERE.
fn join(scope: &Scope<'_>, query: &Select, tables: &[Arc<Table>]) -> Outcome<Vec<Vec<Values>>> {
    let mut joined: Vec<Vec<Values>> = vec![Vec::new()];
    let mut examined = 0;
    for (number, (from, table)) in query.from.iter().zip(tables).enumerate() {
        let all = match from.query {
            Some(_) => Cow::Borrowed(table.rows.as_slice()),
            None => scope.context.view.consistent_rows(table)?,
        };
        let mut candidates: &[(super::table::Key, Values)] = &all;
        if tables.len() == 1 {
            // With one table the rows outside the path need no look.
            let found = path::choose(scope, &table.definition, &from.alias, &query.condition);
            if let (0, [interval]) = (found.index, found.intervals.as_slice()) {
                let start = all.partition_point(|(key, _)| **key < *interval.low);
                let end = interval.high.as_ref().map_or(all.len(), |high| {
                    all.partition_point(|(key, _)| **key < **high)
                });
                candidates = all.get(start..end).unwrap_or(&[]);
            }
        }
        let mut next = Vec::new();
        for rows in &joined {
            let mut matched = false;
            for (_, row) in candidates {
                examined += 1;
                if examined > MOST_EXAMINED {
                    return Err(error::too_many_rows(&MOST_EXAMINED.to_string()).into());
                }
                let mut rows = rows.clone();
                rows.push(row.clone());
                let inner = Scope {
                    sources: &scope.sources[..=number],
                    rows: &rows,
                    ..*scope
                };
                let fits = match &from.on {
                    Some(on) => is_true(&inner, &evaluate(&inner, on)?)?,
                    None => true,
                };
                if fits {
                    matched = true;
                    next.push(rows);
                }
            }
            if !matched && from.join == Join::Left {
                let mut rows = rows.clone();
                rows.push(vec![Value::Null; table.definition.columns.len()].into());
                next.push(rows);
            }
        }
        joined = next;
    }
    let mut passed = Vec::with_capacity(joined.len());
    for rows in joined {
        if passes(
            &Scope {
                rows: &rows,
                ..*scope
            },
            &query.condition,
        )? {
            passed.push(rows);
        }
    }
    Ok(passed)
}

/// Whether all conjuncts are true, tried in order until one is not.
pub(super) fn passes(scope: &Scope<'_>, condition: &[Conjunct]) -> Outcome<bool> {
    for conjunct in condition {
        let value = evaluate(scope, &conjunct.expression)?;
        if !is_true(scope, &value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The values of the select list, and the values to sort by.
type ResultRow = (Vec<Value>, Vec<Value>);

/// One row of the result, if HAVING lets it pass.
fn result(scope: &Scope<'_>, query: &Select, items: &Items<'_>) -> Outcome<Option<ResultRow>> {
    let mut values = Vec::with_capacity(items.len());
    for (_, item) in items {
        values.push(match item {
            Selected::Expression(expression) => evaluate(scope, expression)?,
            Selected::Column(source, column) => scope
                .rows
                .get(*source)
                .and_then(|row| row.get(*column))
                .cloned()
                .unwrap_or_default(),
        });
    }
    if query.having.is_none() && query.order.is_empty() {
        return Ok(Some((values, Vec::new())));
    }
    let aliases = aliases(items, &values);
    let named = Scope {
        aliases: &aliases,
        ..*scope
    };
    if let Some(having) = &query.having
        && !is_true(&named, &evaluate(&named, having)?)?
    {
        return Ok(None);
    }
    let mut keys = Vec::with_capacity(query.order.len());
    for order in &query.order {
        keys.push(match ordinal(&order.expression) {
            Some(number) => values
                .get(number.wrapping_sub(1))
                .cloned()
                .unwrap_or_default(),
            None => evaluate(&named, &order.expression)?,
        });
    }
    Ok(Some((values, keys)))
}

fn encoded(values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| value.encode(&mut bytes));
    bytes
}

fn groups(
    scope: &Scope<'_>,
    query: &Select,
    items: &Items<'_>,
    joined: Vec<Vec<Values>>,
) -> Outcome<Vec<ResultRow>> {
    let mut places: crate::sorted::SortedMap<Vec<u8>, usize> = crate::sorted::SortedMap::new();
    let mut groups: Vec<Vec<Vec<Values>>> = Vec::new();
    if query.group.is_empty() {
        groups.push(joined);
    } else {
        for rows in joined {
            let inner = Scope {
                rows: &rows,
                ..*scope
            };
            let mut by = Vec::with_capacity(query.group.len());
            for expression in &query.group {
                by.push(group_value(&inner, items, expression)?);
            }
            let next = groups.len();
            let place = *places.or_insert_with(encoded(&by), || next);
            if place == next {
                groups.push(Vec::new());
            }
            groups[place].push(rows);
        }
    }
    let empty: Vec<Values> = scope
        .sources
        .iter()
        .map(|source| vec![Value::Null; source.definition.columns.len()].into())
        .collect();
    let mut results = Vec::with_capacity(groups.len());
    for group in &groups {
        let rows = group.first().unwrap_or(&empty);
        let inner = Scope {
            rows,
            group: Some(group),
            ..*scope
        };
        results.extend(result(&inner, query, items)?);
    }
    Ok(results)
}

/// GROUP BY takes a column before a name of the select list, and numbers too.
fn group_value(scope: &Scope<'_>, items: &Items<'_>, expression: &Expression) -> Outcome<Value> {
    let item = match (ordinal(expression), expression) {
        (Some(number), _) => items.get(number - 1),
        (None, Expression::Column { table: None, name }) if scope.find(None, name, "").is_err() => {
            items
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
        }
        _ => None,
    };
    match item {
        Some((_, Selected::Expression(expression))) => evaluate(scope, expression),
        Some((_, Selected::Column(source, column))) => Ok(scope.rows[*source][*column].clone()),
        None => evaluate(scope, expression),
    }
}

/// NULL sorts first.
fn order(orders: &[Order], a: &[Value], b: &[Value]) -> Ordering {
    for (order, (a, b)) in orders.iter().zip(a.iter().zip(b)) {
        let ordering =
            value::compare(a, b, &mut |_| {}).unwrap_or_else(|| b.is_null().cmp(&a.is_null()));
        if ordering.is_ne() {
            return if order.descending {
                ordering.reverse()
            } else {
                ordering
            };
        }
    }
    Ordering::Equal
}

/// Sorts rows that carry what ORDER BY says of them.
pub(super) fn sort_by<T>(orders: &[Order], rows: &mut [(Vec<Value>, T)]) {
    crate::sorted::sort_by(rows, &mut |(a, _), (b, _)| order(orders, a, b));
}

/// The number that LIMIT or OFFSET gives.
pub(super) fn count_of(scope: &Scope<'_>, expression: &Expression) -> Outcome<usize> {
    let value = evaluate(scope, expression)?;
    match value.as_i64().map(usize::try_from) {
        Some(Ok(count)) => Ok(count),
        _ => Err(error::wrong_arguments("EXECUTE").into()),
    }
}

/// How many rows there need to be for LIMIT and OFFSET.
pub(super) fn wanted(scope: &Scope<'_>, limit: &Limit) -> Outcome<usize> {
    let offset = limit
        .offset
        .as_ref()
        .map_or(Ok(0), |offset| count_of(scope, offset))?;
    Ok(count_of(scope, &limit.count)?.saturating_add(offset))
}

fn limited<T>(scope: &Scope<'_>, limit: Option<&Limit>, rows: Vec<T>) -> Outcome<Vec<T>> {
    let Some(limit) = limit else { return Ok(rows) };
    let offset = limit
        .offset
        .as_ref()
        .map_or(Ok(0), |offset| count_of(scope, offset))?;
    let count = count_of(scope, &limit.count)?;
    Ok(rows.into_iter().skip(offset).take(count).collect())
}

/// The columns in an expression, as the table names them.
pub(super) fn columns_in(scope: &Scope<'_>, expression: &Expression, out: &mut Vec<String>) {
    if let Expression::Column { table, name } = expression {
        let known = place(scope, expression).map(|(source, column)| {
            scope.sources[source].definition.columns[column]
                .name
                .clone()
        });
        let name = known.unwrap_or_else(|| full_name(table.as_deref(), name));
        if !out.contains(&name) {
            out.push(name);
        }
    }
    expression.each_part(&mut |part| columns_in(scope, part, out));
}

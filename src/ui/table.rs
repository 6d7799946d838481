//! The tables: their rows, what the last action changed in them, and the high-water mark.

use super::view::*;

use super::controls::{Key, token};
use crate::session::Session;
use crate::sim::database::Value;
use crate::words;

/// The most rows of a table that are shown.
const MOST_ROWS: usize = 50;

/// A table as it is shown.
#[derive(Clone, PartialEq)]
pub struct TableShown {
    name: String,
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<Cell>>,
    more: usize,
    high_water: Option<(String, Option<String>)>,
}

#[derive(Clone, PartialEq)]
struct Cell {
    words: String,
    was: Option<String>,
}

/// The tables at the cursor, those that are watched first.
pub fn tables_of(session: &Session) -> Vec<(Key, TableShown)> {
    let tables = session.tables().into_iter().enumerate();
    tables
        .map(|(place, table)| (place as Key, shown(session, &table)))
        .collect()
}

fn shown(session: &Session, table: &crate::session::TableNow) -> TableShown {
    let is_number = |column: usize| {
        table.rows.iter().all(|row| {
            row.get(column)
                .is_none_or(|(value, _)| !matches!(value, Value::Text(_) | Value::DateTime(_)))
        })
    };
    let columns = table.columns.iter().enumerate();
    TableShown {
        name: table.name.clone(),
        columns: columns
            .map(|(place, column)| (column.clone(), is_number(place)))
            .collect(),
        rows: table
            .rows
            .iter()
            .take(MOST_ROWS)
            .map(|row| row.iter().map(cell).collect())
            .collect(),
        more: table.rows.len().saturating_sub(MOST_ROWS),
        high_water: high_water(session, table),
    }
}

fn cell((value, was): &(Value, Option<Value>)) -> Cell {
    Cell {
        words: words::shortened(&value.to_literal(), 40),
        was: was.as_ref().map(Value::to_literal),
    }
}

/// The largest token that the table has stored, where a `watch` line says in which column.
fn high_water(
    session: &Session,
    table: &crate::session::TableNow,
) -> Option<(String, Option<String>)> {
    let fences = session
        .setup()
        .watches
        .iter()
        .filter_map(|watch| watch.fence.as_ref());
    let fence = fences
        .into_iter()
        .find(|fence| fence.table.eq_ignore_ascii_case(&table.name))?;
    let place = table
        .columns
        .iter()
        .position(|column| column.eq_ignore_ascii_case(&fence.column))?;
    let largest = table
        .rows
        .iter()
        .filter_map(|row| row.get(place)?.0.as_integer())
        .max();
    Some((
        fence.column.clone(),
        largest.map(|largest| largest.to_string()),
    ))
}

/// A table on the page.
pub fn draw(table: TableShown) -> AnyView {
    let TableShown {
        name,
        columns,
        rows,
        more,
        high_water,
    } = table;
    let class = |is_number: bool| if is_number { "cell--number" } else { "" };
    let numbers: Vec<bool> = columns.iter().map(|(_, is_number)| *is_number).collect();
    let heads = columns
        .into_iter()
        .map(|(column, is_number)| view! { <th scope="col" class=class(is_number)>{column}</th> });
    let has_rows = !rows.is_empty();
    let rows = rows.into_iter().map(|row| {
        let cells = row
            .into_iter()
            .enumerate()
            .map(|(place, cell)| draw_cell(cell, numbers.get(place) == Some(&true)));
        view! { <tr>{cells.collect_view()}</tr> }
    });
    let mark = high_water.map(|(column, largest)| {
        let largest = largest.map_or_else(|| "NULL".into_any(), |largest| token(&largest));
        view! { <span class="server__tools high-water" title="the high-water mark">"MAX("{column}") "{largest}</span> }
    });
    let more = (more > 0)
        .then(|| view! { <p class="empty">"and "{words::count(more, "row", "rows")}" more"</p> });
    view! {
        <section class="server">
            <header class="server__head">
                <h3 class="server__title">"Table"</h3>
                <span class="server__note">{name}</span>
                {mark}
            </header>
            <div class="rows__scroll">
                <table class="rows">
                    <thead><tr>{heads.collect_view()}</tr></thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
            {(!has_rows).then(|| view! { <p class="empty">"no rows"</p> })}
            {more}
        </section>
    }
    .into_any()
}

fn draw_cell(cell: Cell, is_number: bool) -> AnyView {
    let Cell { words, was } = cell;
    let class = match (is_number, was.is_some()) {
        (true, true) => "cell--number cell--changed",
        (true, false) => "cell--number",
        (false, true) => "cell--changed",
        (false, false) => "",
    };
    let was = was.map(|was| view! { <s class="cell__was">{was}</s> });
    view! { <td class=class>{was}{words}</td> }.into_any()
}

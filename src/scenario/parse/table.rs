//! `table NAME (COLUMNS)` and its rows.

use super::super::error::{Errors, Place, quoted};
use super::super::lines::{Line, Parentheses, Quotes};
use super::super::scan::{Cursor, is_plain};
use super::super::syntax::{Entry, Named, Passage, Table};
use super::{comment_of, entries, goes_on, written};

/// Reads the block.
pub(super) fn table(header: Line<'_>, body: &[Line<'_>], errors: &mut Errors<'_>) -> Option<Table> {
    let line = written(header, Quotes::Code);
    let mut cursor = Cursor::new(header.number, 0, &line.text);
    cursor.eat_words("table");
    let name = table_name(&mut cursor, errors)?;
    if cursor.peek() != Some('(') {
        return errors.add(
            cursor.here(),
            "the columns are missing",
            "`(` and the columns as in CREATE TABLE, such as `(sku VARCHAR(32) PRIMARY KEY)`",
        );
    }
    let mut first = line.clone();
    first.text = cursor.take_rest().text;
    first.place.start = first.place.end - first.text.len();
    let mut definition: Passage = vec![Entry::Of(first)];
    let mut parentheses = Parentheses::default();
    let mut is_open = goes_on(&mut parentheses, &line.text);
    let mut rows = body;
    while let Some((next, others)) = rows.split_first().filter(|_| is_open) {
        rows = others;
        if next.is_damaged {
            continue;
        }
        definition.push(match (next.is_blank(), next.comment()) {
            (true, _) => Entry::Blank,
            (false, Some(comment)) => comment_of(comment),
            (false, None) => {
                is_open = goes_on(&mut parentheses, next.content());
                Entry::Of(written(*next, Quotes::Code))
            }
        });
    }
    if is_open {
        let place = Place {
            start: line.place.end - 1,
            ..line.place
        };
        return errors.add(place, "the columns' parenthesis is never closed", "`)`");
    }
    let rows = entries(rows, |line| Some(written(line, Quotes::Code)));
    Some(Table {
        name,
        definition,
        rows,
    })
}

/// A table's or a column's name: letters, digits, `_` and `$`, or anything in backquotes, which stay.
pub(super) fn table_name(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Named> {
    let here = cursor.here();
    if cursor.eat("`") {
        let inner = cursor.take_while(|other| other != '`');
        if !cursor.eat("`") || inner.text.is_empty() {
            return errors.add(
                here,
                "the backquotes are not closed",
                "a name and a closing `",
            );
        }
        let place = Place {
            end: here.start + inner.text.len() + 2,
            ..here
        };
        return Some(Named {
            text: format!("`{}`", inner.text),
            place,
        });
    }
    let name = cursor.take_while(is_plain);
    if name.text.is_empty() {
        let rest = cursor.rest();
        let message = match rest.is_empty() {
            true => "the name is missing".to_owned(),
            false => format!(
                "{} is no name",
                quoted(rest.split(' ').next().unwrap_or_default())
            ),
        };
        return errors.add(here, message, "a name as in SQL");
    }
    Some(name)
}

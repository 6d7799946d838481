//! One line of the expectations.

use super::super::error::{Errors, Place, quoted};
use super::super::limits;
use super::super::lines::{Line, Quotes, end_of_quote, without_comment};
use super::super::scan::{Cursor, is_plain};
use super::super::syntax::{ExpectEntry, ExpectedClaim, ExpectedVerdict, Named};
use super::table::table_name;
use super::{key, on_server};

/// What an expectation looks like.
const AN_EXPECTATION: &str = "`broken: SENTENCE`, `holds: SENTENCE`, `not tested: SENTENCE`, `TABLE 'KEY': COLUMN VALUE`, `key KEY: VALUE`, `writes: ...`, `charges: ...` or `client NAME: STATE`";

/// Reads a line of the expectations.
pub(super) fn expect_entry(line: Line<'_>, errors: &mut Errors<'_>) -> Option<ExpectEntry> {
    let (verdict, prefix) = verdict(line.content());
    let quotes = if verdict.is_some() {
        Quotes::Prose
    } else {
        Quotes::Reply
    };
    let (content, comment) = without_comment(line.content(), quotes);
    let mut cursor = Cursor::new(line.number, line.indent, content);
    let place = Place::within(line.number, line.indent, line.indent + content.len());
    cursor.eat(prefix);
    let claim = match verdict {
        Some(verdict) => {
            let sentence = cursor.take_rest();
            if sentence.text.is_empty() {
                let expected = "a property's sentence";
                return errors.add(sentence.place, "the property is missing", expected);
            }
            ExpectedClaim::Property { verdict, sentence }
        }
        None => claim(&mut cursor, errors)?,
    };
    Some(ExpectEntry {
        claim,
        comment: comment.map(str::to_owned),
        place,
    })
}

/// The verdict with which the line begins.
fn verdict(content: &str) -> (Option<ExpectedVerdict>, &'static str) {
    let verdicts = [
        (ExpectedVerdict::Holds, "holds:"),
        (ExpectedVerdict::Broken, "broken:"),
        (ExpectedVerdict::NotTested, "not tested:"),
    ];
    verdicts
        .into_iter()
        .find(|(_, prefix)| content.starts_with(prefix))
        .map_or((None, ""), |(verdict, prefix)| (Some(verdict), prefix))
}

/// What a search can reach: rows, keys, charges, and where clients are.
pub(super) fn reached(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<ExpectedClaim> {
    let rest = cursor.rest();
    if rest.starts_with("writes:") || verdict(rest).0.is_some() {
        let message = format!("{} is nothing that a world shows", quoted(rest));
        let expected =
            "`TABLE 'KEY': COLUMN VALUE`, `key KEY: VALUE`, `charges: ...` or `client NAME: STATE`";
        return errors.add(cursor.place_of_rest(), message, expected);
    }
    claim(cursor, errors)
}

fn claim(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<ExpectedClaim> {
    if cursor.eat("writes:") {
        return writes(cursor, errors);
    }
    if cursor.eat("charges:") {
        return charges(cursor, errors);
    }
    if cursor.eat_words("key") {
        let key = key(cursor, ":", errors)?;
        let server = on_server(cursor, errors)?;
        colon(cursor, "the key", errors)?;
        return key_claim(key, server, cursor, errors);
    }
    if cursor.eat_words("client") {
        let name = cursor.name("the client's name", errors)?;
        colon(cursor, "the client's name", errors)?;
        let state = cursor.take_rest();
        if state.text.is_empty() {
            let expected = "the client's state in words, such as `done` or `paused before write`";
            return errors.add(state.place, "the client's state is missing", expected);
        }
        return Some(ExpectedClaim::Client {
            name,
            state: state.text,
        });
    }
    row(cursor, errors)
}

fn colon(cursor: &mut Cursor<'_>, what: &str, errors: &mut Errors<'_>) -> Option<()> {
    match cursor.eat(":") {
        true => Some(()),
        false => errors.add(cursor.here(), format!("{what} has no `:` behind it"), "`:`"),
    }
}

fn key_claim(
    key: Vec<u8>,
    server: Option<Named>,
    cursor: &mut Cursor<'_>,
    errors: &mut Errors<'_>,
) -> Option<ExpectedClaim> {
    let rest = cursor.take_rest();
    if rest.text == "none" {
        return Some(ExpectedClaim::Key {
            key,
            server,
            value: None,
            ttl: None,
        });
    }
    let (value, ttl) = match (
        rest.text.strip_suffix(" no ttl"),
        rest.text.rsplit_once(" ttl "),
    ) {
        (Some(value), _) => (value, Some(None)),
        (None, Some((value, ttl))) if !ttl.contains(['"', ']']) => {
            let offset = rest.place.end - ttl.len();
            let mut cursor = Cursor::new(rest.place.line, offset, ttl);
            let ttl = cursor.duration(errors)?;
            cursor.end("the end of the expectation", errors)?;
            (value, Some(Some(ttl)))
        }
        _ => (rest.text.as_str(), None),
    };
    let value = value.trim_end_matches(' ');
    if value.is_empty() || value == "none" {
        let expected = "the key's value in short form, such as `\"A-1\"`, or `none` alone";
        return errors.add(rest.place, "the key's value is missing", expected);
    }
    Some(ExpectedClaim::Key {
        key,
        server,
        value: Some(value.to_owned()),
        ttl,
    })
}

/// `inventory 'sku-1': qty 8, fence_token 2`.
fn row(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<ExpectedClaim> {
    let begins_with_name = cursor
        .peek()
        .is_some_and(|first| is_plain(first) || first == '`');
    let words = cursor.rest().split([' ', ':']).next().unwrap_or_default();
    let looks_like_row = begins_with_name
        && cursor.rest().contains(' ')
        && !cursor.rest().starts_with(&format!("{words}:"));
    if !looks_like_row {
        let message = format!("{} is no expectation", quoted(cursor.rest()));
        return errors.add(cursor.place_of_rest(), message, AN_EXPECTATION);
    }
    let table = table_name(cursor, errors)?;
    let mut key = Vec::new();
    loop {
        key.push(literal(cursor, "the primary key's value", errors)?);
        if key.len() >= limits::ITEMS || !cursor.eat(",") {
            break;
        }
    }
    colon(cursor, "the primary key", errors)?;
    // A column can be called `none`; the word alone says that there is no row.
    let mut ahead = cursor.clone();
    if ahead.eat_words("none") && ahead.is_at_end() {
        return Some(ExpectedClaim::Row {
            table,
            key,
            columns: None,
        });
    }
    let mut columns = Vec::new();
    loop {
        let column = table_name(cursor, errors)?;
        columns.push((column, literal(cursor, "the column's value", errors)?));
        if columns.len() >= limits::ITEMS || !cursor.eat(",") {
            break;
        }
    }
    cursor.end("`,` and another column", errors)?;
    Some(ExpectedClaim::Row {
        table,
        key,
        columns: Some(columns),
    })
}

/// An SQL literal: a string in quotes, a number or a word such as NULL.
fn literal(cursor: &mut Cursor<'_>, what: &str, errors: &mut Errors<'_>) -> Option<String> {
    let place = cursor.here();
    let expected = "an SQL literal, such as 'sku-1', 8 or NULL";
    if let Some('\'' | '"') = cursor.peek() {
        return match end_of_literal(cursor.rest()) {
            Some(end) => {
                let text = cursor.rest().get(..end).unwrap_or_default().to_owned();
                cursor.eat(&text);
                Some(text)
            }
            None => errors.add(place, "the quotes are not closed", expected),
        };
    }
    let word = cursor.take_while(|other| !matches!(other, ' ' | ',' | ':' | '\'' | '"'));
    match word.text.as_str() {
        "" => errors.add(place, format!("{what} is missing"), expected),
        text => Some(text.to_owned()),
    }
}

/// The byte behind a string in quotes, in which the quote can be doubled.
fn end_of_literal(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes.first()?;
    let mut end = end_of_quote(bytes, 0)? + 1;
    while bytes.get(end) == Some(quote) {
        end = end_of_quote(bytes, end)? + 1;
    }
    Some(end)
}

/// Takes a text apart at `;` outside quotes and parentheses.
fn parts_between_semicolons(rest: &Named) -> Vec<Cursor<'_>> {
    let bytes = rest.text.as_bytes();
    let mut parts = Vec::new();
    let (mut start, mut depth, mut at, mut has_quotes) = (0, 0_usize, 0, true);
    while at <= bytes.len() {
        match bytes.get(at) {
            Some(b'\'' | b'"' | b'`') if has_quotes => match end_of_quote(bytes, at) {
                Some(end) => at = end,
                None => has_quotes = false,
            },
            Some(b'(') => depth += 1,
            Some(b')') => depth = depth.saturating_sub(1),
            Some(b';') if depth == 0 => {
                parts.push((start, at));
                start = at + 1;
            }
            None => parts.push((start, at)),
            _ => {}
        }
        at += 1;
    }
    let cursor = |(start, end): (usize, usize)| {
        let text = rest
            .text
            .get(start..end)
            .unwrap_or_default()
            .trim_end_matches(' ');
        Cursor::new(rest.place.line, rest.place.start + start, text)
    };
    parts.into_iter().map(cursor).collect()
}

fn writes(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<ExpectedClaim> {
    let rest = cursor.take_rest();
    if rest.text == "none" {
        return Some(ExpectedClaim::Writes(Vec::new()));
    }
    let mut writes = Vec::new();
    for mut part in parts_between_semicolons(&rest) {
        let who = part.name("who wrote", errors)?;
        let verdict = part.take_rest();
        if !verdict.text.starts_with("accepted") && !verdict.text.starts_with("rejected") {
            let expected = "`accepted` or `rejected (REASON)`, then `, stale` for a stale writer";
            let message = format!("{} is no verdict on a write", quoted(&verdict.text));
            return errors.add(verdict.place, message, expected);
        }
        writes.push((who, verdict.text));
    }
    Some(ExpectedClaim::Writes(writes))
}

fn charges(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<ExpectedClaim> {
    let rest = cursor.take_rest();
    if rest.text == "none" {
        return Some(ExpectedClaim::Charges(Vec::new()));
    }
    let mut charges = Vec::new();
    for mut part in parts_between_semicolons(&rest) {
        let charge = part.take_rest();
        let words: Vec<&str> = charge
            .text
            .split(' ')
            .filter(|word| !word.is_empty())
            .collect();
        let is_charge = match words.as_slice() {
            [_, _, amount] | [_, _, amount, "refunded"] => {
                amount.bytes().all(|byte| byte.is_ascii_digit())
            }
            _ => false,
        };
        if !is_charge {
            let expected = "charge, order and amount, such as `ch-1 order-1 100`, then `refunded` if it was; or `none`";
            let message = format!("{} is no charge", quoted(&charge.text));
            return errors.add(charge.place, message, expected);
        }
        charges.push(words.join(" "));
    }
    Some(ExpectedClaim::Charges(charges))
}

//! `client A, B: PROTOCOL x2 order=order-1`.

use crate::sim::event::Value;

use super::super::error::{Errors, quoted};
use super::super::limits;
use super::super::scan::{Cursor, Word, is_variable_name, whole_number};
use super::super::syntax::{Clients, Named};

/// Words that begin a line of the schedule and can be no client's name.
const RESERVED: [&str; 9] = [
    "operator", "pause", "resume", "crash", "restart", "lose", "clock", "expire", "wipe",
];

/// Whether a word can be no client's name.
pub(in super::super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Reads the declaration.
pub(super) fn clients(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Clients> {
    let names = names(cursor, errors)?;
    let mut clients = Clients {
        names,
        protocol: None,
        rounds: 1,
        parameters: Vec::new(),
    };
    if !cursor.eat(":") {
        cursor.end("`:` and a protocol, or `,` and another client", errors)?;
        return Some(clients);
    }
    clients.protocol = Some(cursor.name("the protocol's name", errors)?);
    let mut has_rounds = false;
    while !cursor.is_at_end() {
        match rounds(cursor, errors)? {
            Some(_) if has_rounds => {
                return errors.add(cursor.here(), "the runs are given twice", "one `xN`");
            }
            Some(rounds) => {
                clients.rounds = rounds;
                has_rounds = true;
            }
            None => {
                let parameter = parameter(cursor, errors)?;
                let is_double = |(name, _): &(Named, Value)| name.text == parameter.0.text;
                if clients.parameters.iter().any(is_double) {
                    let message = format!("{} is given twice", quoted(&parameter.0.text));
                    return errors.add(parameter.0.place, message, "each parameter once");
                }
                if clients.parameters.len() >= limits::ITEMS {
                    let expected = format!("at most {}", limits::ITEMS);
                    return errors.add(parameter.0.place, "too many parameters", expected);
                }
                clients.parameters.push(parameter);
            }
        }
    }
    Some(clients)
}

fn names(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Vec<Named>> {
    let mut names = Vec::new();
    loop {
        let name = cursor.name("the client's name", errors)?;
        if is_reserved(&name.text) {
            let message = format!("no client can be called {}", quoted(&name.text));
            let expected = "a name that means nothing else in a schedule, such as `A`";
            return errors.add(name.place, message, expected);
        }
        if names.len() >= limits::CLIENTS {
            let expected = format!("at most {}", limits::CLIENTS);
            return errors.add(name.place, "too many clients", expected);
        }
        names.push(name);
        if !cursor.eat(",") {
            return Some(names);
        }
    }
}

/// `x2`, if it comes next.
fn rounds(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Option<u32>> {
    let mut ahead = cursor.clone();
    let word = ahead.take_while(|other| other != ' ');
    let Some(number) = word.text.strip_prefix('x').and_then(whole_number) else {
        return Some(None);
    };
    *cursor = ahead;
    match u32::try_from(number) {
        Ok(rounds) if (1..=limits::ROUNDS).contains(&rounds) => Some(Some(rounds)),
        _ => {
            let message = format!("{} runs cannot be had", quoted(&word.text));
            errors.add(word.place, message, format!("x1 to x{}", limits::ROUNDS))
        }
    }
}

fn parameter(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<(Named, Value)> {
    let name = cursor.take_while(|other| other != ' ' && other != '=');
    let expected = "`xN` or `name=value`, a name of letters, digits and `_`";
    if !cursor.rest().starts_with('=') || !is_variable_name(&name.text) {
        return errors.add(
            name.place,
            format!("{} is not understood", quoted(&name.text)),
            expected,
        );
    }
    if name.text == "me" {
        return errors.add(
            name.place,
            "`me` is given by the client's own attempts",
            expected,
        );
    }
    cursor.eat("=");
    if cursor.rest().starts_with(' ') || cursor.rest().is_empty() {
        let expected = "a value, such as `order=order-1`; the empty one is `\"\"`";
        return errors.add(cursor.here(), "the value is missing", expected);
    }
    Some((name, value(cursor.word("a value", "", errors)?)))
}

/// A number in its usual form is an integer, everything else is text.
fn value(word: Word) -> Value {
    let integer = std::str::from_utf8(&word.bytes)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    match integer {
        Some(integer) if !word.quoted && integer.to_string().as_bytes() == word.bytes => {
            Value::Integer(integer)
        }
        _ => Value::Text(word.bytes),
    }
}

//! Which answers a pattern takes, and what it binds.

use crate::sim::client::protocol::{Element, Pattern};
use crate::sim::database::SqlReply;
use crate::sim::event::{Answer, Value};
use crate::sim::store::reply::Reply;

/// Whether a pattern takes an answer that comes to a client of this name.
pub(super) fn fits(pattern: &Pattern, answer: &Answer, me: Option<&Value>) -> bool {
    match pattern {
        Pattern::Else => true,
        Pattern::NoReply { .. } => *answer == Answer::Lost,
        Pattern::Error(name) => error_of(answer)
            .is_some_and(|error| name.as_ref().is_none_or(|name| is_called(&error, name))),
        Pattern::Status(text) => reply_of(answer) == Some(&Reply::Status(text.clone())),
        Pattern::Message => match reply_of(answer) {
            Some(Reply::Bulk(_)) => true,
            Some(Reply::Status(text)) => text == "message",
            _ => false,
        },
        Pattern::Nil => reply_of(answer) == Some(&Reply::Nil),
        Pattern::Integer(wanted) => single_value(answer) == Some(Value::Integer(*wanted)),
        Pattern::Text(wanted) => single_value(answer) == Some(Value::Text(wanted.clone())),
        Pattern::Rows(wanted) => rows_of(answer) == Some(*wanted),
        Pattern::Bind(elements) => {
            let values = values_in(answer);
            values.len() >= elements.len()
                && elements
                    .iter()
                    .zip(&values)
                    .all(|(element, value)| is_such(element, value, me))
        }
    }
}

fn is_such(element: &Element, value: &Value, me: Option<&Value>) -> bool {
    match element {
        Element::Variable(_) => true,
        Element::Me => Some(value) == me,
        Element::Integer(wanted) => *value == Value::Integer(*wanted),
        Element::Text(wanted) => *value == Value::Text(wanted.clone()),
        Element::Nil => *value == Value::Null,
    }
}

/// Whether this is the error's first word (`WRONGTYPE`) or its number (`1062` of `ERROR 1062 (23000): ...`).
fn is_called(error: &str, name: &str) -> bool {
    let error = error.strip_prefix("ERROR ").unwrap_or(error);
    error.split(' ').next() == Some(name)
}

fn reply_of(answer: &Answer) -> Option<&Reply> {
    match answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => Some(reply),
        Answer::Database(_) | Answer::Lost => None,
    }
}

fn error_of(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Store(Reply::Error(error))
        | Answer::Gateway(Reply::Error(error))
        | Answer::Client(Reply::Error(error)) => Some(error.clone()),
        Answer::Database(reply @ SqlReply::Error(_)) => Some(reply.print_short()),
        _ => None,
    }
}

/// Why an answer that no clause took ends a run, as an exception would; `None` for an ordinary answer.
pub(super) fn failure(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Lost => Some("no reply came back".to_string()),
        answer => error_of(answer),
    }
}

/// Affected rows as the driver reports them under the connection's CLIENT_FOUND_ROWS flag, or how many rows a SELECT gave.
fn rows_of(answer: &Answer) -> Option<u64> {
    match answer {
        Answer::Database(SqlReply::Affected { affected, .. }) => Some(*affected),
        Answer::Database(SqlReply::Rows { rows, .. }) => Some(rows.len() as u64),
        _ => None,
    }
}

/// The one value of an answer that has just one.
fn single_value(answer: &Answer) -> Option<Value> {
    match answer {
        Answer::Store(Reply::Array(_)) => None,
        Answer::Database(SqlReply::Rows { rows, .. }) if rows.len() != 1 => None,
        answer => match values_in(answer).as_slice() {
            [value] => Some(value.clone()),
            _ => None,
        },
    }
}

/// What `on {a}, {b}` binds: the reply, the elements of an array, the columns of the first row. Empty for nil, errors, a lost
/// reply, no rows, and statements that give no rows.
pub(super) fn values_in(answer: &Answer) -> Vec<Value> {
    match answer {
        Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => match reply {
            Reply::Array(elements) => elements
                .iter()
                .map(|element| value_of_reply(element).unwrap_or(Value::Null))
                .collect(),
            reply => value_of_reply(reply).into_iter().collect(),
        },
        Answer::Database(SqlReply::Rows { rows, .. }) => rows
            .first()
            .map(|row| row.iter().cloned().map(Value::from).collect())
            .unwrap_or_default(),
        Answer::Database(_) | Answer::Lost => Vec::new(),
    }
}

fn value_of_reply(reply: &Reply) -> Option<Value> {
    match reply {
        Reply::Status(text) => Some(Value::Text(text.clone().into_bytes())),
        Reply::Integer(integer) => Some(Value::Integer(*integer)),
        Reply::Bulk(bytes) => Some(Value::Text(bytes.clone())),
        Reply::Nil | Reply::Error(_) | Reply::Array(_) => None,
    }
}

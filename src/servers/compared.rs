//! What is the same, and what differs.

use super::link::{Answer, Request, command};
use crate::sim::database::{SqlReply, Value as SqlValue, WHERE_MYSQL_DIFFERS};
use crate::sim::store::Value as StoreValue;
use crate::sim::store::reply::Reply;

/// By how much a reply may differ that depends on how much time has passed, in milliseconds.
pub(super) const TOLERANCE: i64 = 2000;

/// How a key is read, and what the playground has in it.
pub(super) fn contents(key: &[u8], value: Option<&StoreValue>) -> (Request, Reply) {
    let parts = |value: &StoreValue| Reply::Array(value.parts().iter().map(Reply::bulk).collect());
    match value {
        None => (command(&[b"EXISTS", key]), Reply::Integer(0)),
        Some(StoreValue::String(bytes)) => (command(&[b"GET", key]), Reply::bulk(bytes)),
        Some(value @ StoreValue::List(_)) => {
            (command(&[b"LRANGE", key, b"0", b"-1"]), parts(value))
        }
        Some(value @ StoreValue::Hash(_)) => (command(&[b"HGETALL", key]), parts(value)),
        Some(value @ StoreValue::Set(_)) => (command(&[b"SMEMBERS", key]), parts(value)),
        // Scores may be times.
        Some(StoreValue::SortedSet(set)) => {
            let members = set.iter().map(|(_, member)| Reply::bulk(member));
            (
                command(&[b"ZRANGE", key, b"0", b"-1"]),
                Reply::Array(members.collect()),
            )
        }
    }
}

/// A reply whose elements are in an order of their own.
pub(super) fn sorted(reply: &Reply) -> Reply {
    match reply {
        Reply::Array(elements) => {
            let mut elements = elements.clone();
            elements.sort();
            Reply::Array(elements)
        }
        other => other.clone(),
    }
}

/// Whether a reply tells that a channel has been left.
fn leaves(reply: &[Reply]) -> bool {
    matches!(reply.first(), Some(Reply::Bulk(word)) if word.ends_with(b"unsubscribe"))
}

/// Whether a server of Redis has answered as the playground does. `is_loose`: numbers may be times, and differ by how much has passed.
pub(super) fn is_same_reply(
    told: &Reply,
    got: &Reply,
    is_loose: bool,
    scripts_differ: bool,
) -> bool {
    match (told, got) {
        // In which order UNSUBSCRIBE without names leaves its channels is Redis's own affair.
        (Reply::Array(told), Reply::Array(got)) if leaves(told) && leaves(got) => {
            told.first() == got.first() && told.last() == got.last()
        }
        (Reply::Integer(told), Reply::Integer(got)) if is_loose => (told - got).abs() <= TOLERANCE,
        (Reply::Array(told), Reply::Array(got)) => {
            told.len() == got.len()
                && told
                    .iter()
                    .zip(got)
                    .all(|(told, got)| is_same_reply(told, got, is_loose, scripts_differ))
        }
        // Errors of scripts name the line, which is another one behind the lines of the clock.
        (Reply::Error(told), Reply::Error(got)) if scripts_differ => {
            told.split(' ').next() == got.split(' ').next()
        }
        (told, got) => told == got,
    }
}

/// Whether the database has answered as the playground does.
pub(super) fn is_same_answer(told: &SqlReply, got: &Answer) -> bool {
    match (told, got) {
        (SqlReply::Done { .. }, Answer::Affected(0)) => true,
        (SqlReply::Affected { affected, .. }, Answer::Affected(got)) => affected == got,
        (SqlReply::Error(error), Answer::Error { code, .. }) => {
            error.code == *code
                || WHERE_MYSQL_DIFFERS
                    .iter()
                    .any(|(mysql, mariadb, _)| *mysql == error.code && mariadb == code)
        }
        (SqlReply::Rows { rows, .. }, Answer::Rows(got)) => {
            let text = |value: &SqlValue| (!value.is_null()).then(|| value.to_string());
            let told = rows
                .iter()
                .map(|row| row.iter().map(text).collect::<Vec<_>>());
            told.eq(got.iter().cloned())
        }
        _ => false,
    }
}

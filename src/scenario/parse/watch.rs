//! `watch lock KEY, counter KEY, fence TABLE.COLUMN, stock TABLE.COLUMN`.

use super::super::error::Errors;
use super::super::limits;
use super::super::scan::Cursor;
use super::super::syntax::{Named, Role, WrittenColumn};
use super::key;
use super::table::table_name;

const ROLES: [&str; 4] = ["lock", "counter", "fence", "stock"];

/// Reads the roles.
pub(super) fn watch(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Vec<Role>> {
    let mut roles: Vec<Role> = Vec::new();
    loop {
        let word = cursor.take_while(|other| other != ' ' && other != ',');
        let role = match word.text.as_str() {
            "lock" => {
                let key = key(cursor, ",", errors)?;
                Role::Lock(key, lock_servers(cursor, errors)?)
            }
            "counter" => Role::Counter(key(cursor, ",", errors)?),
            "fence" => Role::Fence(column(cursor, errors)?),
            "stock" => Role::Stock(column(cursor, errors)?),
            "" => {
                let expected = "a role and what plays it, such as `lock lock:sku-1`";
                return errors.add(word.place, "the role is missing", expected);
            }
            other => {
                return errors.unknown(word.place, "no role is called", other, ROLES.into_iter());
            }
        };
        let is_double =
            |other: &Role| std::mem::discriminant(other) == std::mem::discriminant(&role);
        if roles.iter().any(is_double) {
            let message = format!("the role `{}` is given twice", word.text);
            return errors.add(
                word.place,
                message,
                "each role once; a second set of roles stands in a `watch` line of its own",
            );
        }
        if roles.len() >= limits::ITEMS {
            return errors.add(word.place, "too many roles", "at most four");
        }
        roles.push(role);
        if !cursor.eat(",") {
            break;
        }
    }
    cursor.end("`,` and another role", errors)?;
    Some(roles)
}

/// `on r1 r2 r3`, if it comes next.
fn lock_servers(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<Vec<Named>> {
    let mut servers = Vec::new();
    if cursor.eat_words("on") {
        while servers.is_empty() || !matches!(cursor.peek(), None | Some(',')) {
            if servers.len() >= limits::SERVERS {
                return errors.add(cursor.here(), "too many servers", "each server once");
            }
            servers.push(cursor.name("the server's name", errors)?);
        }
    }
    Some(servers)
}

fn column(cursor: &mut Cursor<'_>, errors: &mut Errors<'_>) -> Option<WrittenColumn> {
    let table = table_name(cursor, errors)?;
    if !cursor.rest().starts_with('.') {
        let expected = "`.` and a column, such as `inventory.qty`";
        return errors.add(cursor.here(), "the column is missing", expected);
    }
    cursor.eat(".");
    let column = table_name(cursor, errors)?;
    Some(WrittenColumn { table, column })
}

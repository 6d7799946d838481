//! Statements, a line each, on two connections in turn: whatever they are, the database answers or waits for the other's lock.
#![no_main]

use latchkey::sim::ConnectionId;
use latchkey::sim::database::{Database, DatabaseInput, Statement};
use libfuzzer_sys::fuzz_target;

/// 2026-01-01 10:00:00 in milliseconds.
const NOW: u64 = 1_767_261_600_000;

const TABLE: &str = "CREATE TABLE stock (sku VARCHAR(20) PRIMARY KEY, qty INT NOT NULL, fence_token BIGINT DEFAULT 0, \
    price DECIMAL(8,2), seen DATETIME NULL, UNIQUE (seen))";
const ROW: &str = "INSERT INTO stock VALUES ('sku-1', 3, 5, 9.50, NULL), ('sku-2', 0, 0, NULL, '2026-01-01 10:00:00')";

fn say(database: &mut Database, connection: ConnectionId, source: &str) {
    let Ok(statement) = Statement::parse(source) else {
        return;
    };
    if database.is_waiting(connection) {
        database.apply(DatabaseInput::Elapse { ms: 60_000 });
        assert!(
            !database.is_waiting(connection),
            "a wait ends with its timeout"
        );
    }
    let output = database.apply(DatabaseInput::Statement {
        connection,
        statement: &statement,
        parameters: &[],
        now: NOW,
    });
    let answered = output.replies.iter().any(|(to, _)| *to == connection);
    assert!(
        answered || database.is_waiting(connection),
        "neither answered nor waiting"
    );
}

fuzz_target!(|text: &str| {
    let mut database = Database::default();
    say(&mut database, ConnectionId(0), TABLE);
    say(&mut database, ConnectionId(0), ROW);
    for (place, source) in text.lines().take(40).enumerate() {
        say(&mut database, ConnectionId(place as u32 % 2), source);
    }
    for connection in [ConnectionId(0), ConnectionId(1)] {
        database.apply(DatabaseInput::Disconnect { connection });
    }
});

//! Commands as they are typed, a line each, on two connections in turn, with time passing between them: whatever they are, nothing
//! panics, and a third connection is answered at the end.
#![no_main]

use latchkey::sim::ConnectionId;
use latchkey::sim::store::{Store, StoreInput, split_arguments};
use libfuzzer_sys::fuzz_target;

/// 2026-01-01 10:00:00 in milliseconds.
const NOW: u64 = 1_767_261_600_000;
/// After each line; so a key with a short deadline lapses on the way.
const PAUSE: u64 = 400;

fuzz_target!(|text: &str| {
    let mut store = Store::default();
    let mut now = NOW;
    for (place, line) in text.lines().take(60).enumerate() {
        let connection = ConnectionId(place as u32 % 2);
        let Ok(arguments) = split_arguments(line) else {
            continue;
        };
        if arguments.is_empty() || store.blocked(connection).is_some() {
            continue;
        }
        let argv: Vec<Vec<u8>> = arguments
            .into_iter()
            .map(|argument| argument.bytes)
            .collect();
        store.apply(StoreInput::Command {
            connection,
            argv: &argv,
            now,
        });
        store.apply(StoreInput::Elapse { ms: PAUSE });
        now += PAUSE;
    }
    let argv = [b"PING".to_vec()];
    let output = store.apply(StoreInput::Command {
        connection: ConnectionId(2),
        argv: &argv,
        now,
    });
    assert_eq!(output.replies.len(), 1);
});

//! A script: whatever it is, the server answers, and goes on answering.
#![no_main]

use latchkey::sim::ConnectionId;
use latchkey::sim::store::reply::Reply;
use latchkey::sim::store::{Store, StoreInput};
use libfuzzer_sys::fuzz_target;

/// 2026-01-01 10:00:00 in milliseconds.
const NOW: u64 = 1_767_261_600_000;

fn ask(store: &mut Store, words: &[&[u8]]) -> Vec<Reply> {
    let argv: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    let input = StoreInput::Command {
        connection: ConnectionId(0),
        argv: &argv,
        now: NOW,
    };
    store
        .apply(input)
        .replies
        .into_iter()
        .map(|(_, reply)| reply)
        .collect()
}

fuzz_target!(|script: &[u8]| {
    let mut store = Store::default();
    ask(&mut store, &[b"SET", b"counter", b"41"]);
    ask(&mut store, &[b"RPUSH", b"waiters", b"A", b"B"]);
    let keys: [&[u8]; 4] = [b"2", b"counter", b"waiters", b"A-1"];
    for command in [&b"EVAL"[..], b"EVAL_RO"] {
        let mut words = vec![command, script];
        words.extend(keys);
        assert_eq!(ask(&mut store, &words).len(), 1, "a script has one reply");
    }
    assert_eq!(
        ask(&mut store, &[b"PING"]).len(),
        1,
        "the server answers after a script"
    );
});

//! Commands and their replies, case by case (`tests/cases/store.txt`), and what the store tells about
//! them. That the replies are those of a real server is checked in `store_differential.rs`.

#[path = "support/cases.rs"]
mod cases;

use cases::{Case, Happening, START, cases, print};
use latchkey::sim::ConnectionId;
use latchkey::sim::store::{Store, StoreInput};

#[test]
fn every_case_is_answered_as_it_says() {
    let cases = cases(include_str!("cases/store.txt"));
    assert!(cases.len() > 40);
    let wrong: Vec<String> = cases.iter().filter_map(|case| replay(case).err()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Replays a case; an error shows the first line whose replies differ.
fn replay(case: &Case) -> Result<(), String> {
    let mut store = Store::default();
    let mut now = START;
    for (line, happening, expected) in &case.lines {
        let (sender, output) = match happening {
            Happening::Elapse(ms) => {
                now += ms;
                (None, store.apply(StoreInput::Elapse { ms: *ms }))
            }
            Happening::Command { connection, argv } => {
                let id = ConnectionId(*connection as u32);
                (
                    Some(*connection),
                    store.apply(StoreInput::Command {
                        connection: id,
                        argv,
                        now,
                    }),
                )
            }
        };
        let replies: Vec<_> = output
            .replies
            .into_iter()
            .map(|(to, reply)| (to.0 as usize, reply))
            .collect();
        let got = print(sender, &replies);
        if got != *expected {
            return Err(format!(
                "{}\n{line}\n  expected {expected:#?}\n  got {got:#?}",
                case.title
            ));
        }
    }
    Ok(())
}

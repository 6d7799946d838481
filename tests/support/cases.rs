//! The notation of `tests/cases/store.txt`: commands, the clock, and the replies.
//!
//! `# title` begins a case on an empty server. `> command` is sent by connection `>`, `A> command` by
//! connection A; `+250` lets 250 milliseconds pass. The lines after that are what comes back:
//! replies to the sender as they are, `B< reply` to another connection.

use latchkey::sim::store::reply::Reply;
use latchkey::sim::store::split_arguments;

/// The wall clock at the beginning of every case.
pub const START: u64 = 1_700_000_000_000;

/// The connections of a case; the first is the one without a name.
pub const NAMES: [&str; 4] = ["", "A", "B", "C"];

/// One thing that happens in a case.
pub enum Happening {
    Elapse(u64),
    Command {
        connection: usize,
        argv: Vec<Vec<u8>>,
    },
}

/// A case: its title, and each line that makes something happen with the replies that follow it.
pub struct Case {
    pub title: String,
    pub lines: Vec<(String, Happening, Vec<String>)>,
}

/// The text's cases; a line that cannot be read ends the test.
pub fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            cases.push(Case {
                title: title.to_owned(),
                lines: Vec::new(),
            });
            continue;
        }
        let Some(case) = cases.last_mut() else {
            panic!("a line before the first title: {line}");
        };
        match happening(line) {
            Some(happening) => case.lines.push((line.to_owned(), happening, Vec::new())),
            None => match case.lines.last_mut() {
                Some((_, _, replies)) => replies.push(line.to_owned()),
                None => panic!("a reply before the first command: {line}"),
            },
        }
    }
    cases
}

fn happening(line: &str) -> Option<Happening> {
    if let Some(ms) = line.strip_prefix('+') {
        return Some(Happening::Elapse(ms.parse().ok()?));
    }
    let (name, command) = line.split_once("> ")?;
    let connection = NAMES.iter().position(|known| *known == name)?;
    let argv = split_arguments(command).unwrap_or_else(|error| panic!("{line}: {error:?}"));
    Some(Happening::Command {
        connection,
        argv: argv.into_iter().map(|argument| argument.bytes).collect(),
    })
}

/// Replies as lines of the notation: those to the sender first, then by connection, because across
/// connections there is no order.
pub fn print(sender: Option<usize>, replies: &[(usize, Reply)]) -> Vec<String> {
    let line = |(to, reply): &(usize, Reply)| {
        let mark = if Some(*to) == sender {
            String::new()
        } else {
            format!("{}< ", NAMES[*to])
        };
        format!("{mark}{}", reply.print_short())
    };
    let mut ordered: Vec<&(usize, Reply)> = replies.iter().collect();
    ordered.sort_by_key(|(to, _)| (Some(*to) != sender, *to));
    ordered.into_iter().map(line).collect()
}

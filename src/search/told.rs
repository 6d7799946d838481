//! What a search tells whoever runs it elsewhere, as a string: nothing else crosses from a worker to its page.
//!
//! ```text
//! worlds transitions faults depth bytes over ␀ kind ␀ part ␀ part …
//! ```
//!
//! The parts are those of the outcome, where there is one.

use super::{Outcome, Progress};
use crate::property::Property;

/// Between parts: no text has it.
const BORDER: char = '\0';

/// How far a search has come, and what came of it once it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// How far it has come.
    pub progress: Progress,
    /// What came of it; `None` while it goes on.
    pub outcome: Option<Outcome>,
}

/// Writes it as a string.
pub fn print(progress: &Progress, outcome: Option<&Outcome>) -> String {
    let mut said = String::new();
    for number in [
        progress.worlds,
        progress.transitions,
        progress.faults.into(),
        progress.depth.into(),
        progress.bytes,
        progress.finished.into(),
    ] {
        said.push_str(&number.to_string());
        said.push(' ');
    }
    let mut part = |part: &str| {
        said.push(BORDER);
        said.push_str(part);
    };
    match outcome {
        None => {}
        Some(Outcome::Found {
            text,
            steps,
            faults,
            breaks,
            ties,
            ..
        }) => {
            part("found");
            part(&steps.to_string());
            part(&faults.to_string());
            part(breaks.map_or("", Property::sentence));
            part(text);
            ties.iter().for_each(|tie| part(tie));
        }
        Some(Outcome::Nothing { left_out, .. }) => {
            part("nothing");
            left_out.iter().for_each(|words| part(words));
        }
        Some(Outcome::LimitReached {
            faults,
            depth,
            left_out,
            ..
        }) => {
            part("limit");
            part(&faults.to_string());
            part(&depth.to_string());
            left_out.iter().for_each(|words| part(words));
        }
    }
    said
}

/// Reads what [`print()`] wrote; `None`: it was something else.
pub fn read(said: &str) -> Option<Told> {
    let mut parts = said.split(BORDER);
    let mut numbers = parts.next()?.split_whitespace();
    let mut number = || numbers.next()?.parse::<u64>().ok();
    let progress = Progress {
        worlds: number()?,
        transitions: number()?,
        faults: number()? as u32,
        depth: number()? as u32,
        bytes: number()?,
        finished: number()? > 0,
    };
    let (worlds, transitions) = (progress.worlds, progress.transitions);
    let mut rest = parts.map(str::to_string);
    let outcome = match rest.next().as_deref() {
        None => None,
        Some("found") => Some(Outcome::Found {
            steps: rest.next()?.parse().ok()?,
            faults: rest.next()?.parse().ok()?,
            breaks: Property::named(&rest.next()?).ok(),
            text: rest.next()?,
            ties: rest.collect(),
            worlds,
            transitions,
        }),
        Some("limit") => Some(Outcome::LimitReached {
            faults: rest.next()?.parse().ok()?,
            depth: rest.next()?.parse().ok()?,
            left_out: rest.collect(),
            worlds,
            transitions,
        }),
        Some("nothing") => Some(Outcome::Nothing {
            left_out: rest.collect(),
            worlds,
            transitions,
        }),
        Some(_) => return None,
    };
    Some(Told { progress, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Bounds, Goal, Search};

    #[test]
    fn what_is_told_is_what_is_heard() {
        let story = crate::scenario::library::story_named("07a-split-acquire").unwrap();
        let check = |bounds: Bounds, goal: Goal, kind: &str| {
            let mut search = Search::new(story.text, 0, bounds, goal).unwrap();
            let begun = search.progress();
            assert_eq!(
                read(&print(&begun, None)),
                Some(Told {
                    progress: begun,
                    outcome: None
                })
            );
            let outcome = search.finish().clone();
            let progress = search.progress();
            let said = print(&progress, Some(&outcome));
            assert_eq!(said.split(BORDER).nth(1), Some(kind));
            let told = Told {
                progress,
                outcome: Some(outcome),
            };
            assert_eq!(read(&said), Some(told));
        };
        let stale = || Goal::Breaks(vec![Property::NoStaleWrite]);
        check(Bounds::default(), stale(), "found");
        check(Bounds::none(), stale(), "nothing");
        let cut = Bounds {
            worlds: 3,
            ..Bounds::none()
        };
        check(cut, stale(), "limit");
        assert_eq!(read("nonsense"), None);
        assert_eq!(read("1 2 3 4 5 0 \0nonsense"), None);
    }
}

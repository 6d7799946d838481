//! What a search reads from and writes into texts: its block, and the schedule that it found.

use crate::property::Property;
use crate::search::{Bounds, Budget, Finds, Goal, Request, Start};

use super::error::Place;
use super::print;
use super::syntax::{ExpectedClaim, ExpectedVerdict, Limit, Named, SearchLimit, SearchLine};
use super::{Expectation, Reading};

/// What the titles of schedules begin with that a search found.
const TITLES: [&str; 2] = ["Broken in ", "Reached in "];

/// Whether a text of this title says itself that a search found its schedule.
pub(crate) fn is_found(title: &str) -> bool {
    TITLES.iter().any(|begin| title.starts_with(begin))
}

/// The comments that a text with a found schedule begins with: what it breaks or reaches in so many steps, and within which bounds.
pub(crate) fn title_of_found(
    reading: &Reading,
    bounds: &Bounds,
    (steps, faults): (u32, u32),
    goal: &Goal,
    breaks: Option<Property>,
) -> [String; 3] {
    let cost = print_finds(Finds::Steps { steps, faults });
    let (begin, what) = match (breaks, goal) {
        (Some(property), _) => (TITLES[0], property.sentence().to_owned()),
        (None, Goal::Reach(reached)) => {
            let reached: Vec<String> = reached.iter().map(print_expectation).collect();
            (TITLES[1], reached.join(", "))
        }
        (None, Goal::Breaks(_)) => (TITLES[0], "a property".to_owned()),
    };
    let [open, of, close] = match reading.title.as_str() {
        title if title.is_empty() || is_found(title) => [""; 3],
        title => [" for the clients of “", title, "”"],
    };
    let limits = limits_of(bounds);
    let within = match limits.is_empty() {
        true => "no fault, only the order of the steps".to_owned(),
        false => print::search_line(&SearchLine::Limits(limits)),
    };
    let shortest = ": none has fewer faults, and none with as few has fewer steps.";
    [
        ["# ", begin, &cost, ": ", &what].concat(),
        ["# A search found this schedule", open, of, close, shortest].concat(),
        ["# It tried everything within these bounds: ", &within, "."].concat(),
    ]
}

/// The text with these comments in place of its title and its description.
pub(crate) fn with_title(text: &str, title: &[String]) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    let mut below = lines
        .skip_while(|line| line.trim_start().starts_with('#'))
        .peekable();
    let gap = below
        .next_if(|line| !line.trim().is_empty())
        .map(|line| ["", line]);
    let title = title.iter().map(String::as_str);
    let all = title.chain(gap.into_iter().flatten()).chain(below);
    all.flat_map(|line| [line, "\n"]).collect()
}

/// The text with these lines in place of the schedule behind its first `at` actions, and with these expectations in place of its
/// own. Nothing else changes, but that a search from the end of the schedule says from which action on.
pub(crate) fn with_schedule(
    text: &str,
    reading: &Reading,
    at: usize,
    schedule: &[String],
    expectations: &[String],
) -> String {
    let layout = &reading.layout;
    let last_kept = match at.checked_sub(1) {
        Some(last) => reading.schedule.get(last).map(|line| line.line),
        None => layout.schedule.map(|lines| lines.first),
    };
    let mut lines: Vec<String> = Vec::new();
    let indented = |line: &String| format!("  {line}");
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        let in_schedule = layout.schedule.is_some_and(|lines| lines.contains(number));
        let in_expect = layout.expect.is_some_and(|lines| lines.contains(number));
        let in_search = reading
            .searches
            .iter()
            .any(|search| search.lines.contains(number));
        if in_schedule {
            if last_kept.is_some_and(|last| number <= last) {
                lines.push(line.to_owned());
            }
            if last_kept == Some(number) {
                lines.extend(schedule.iter().map(indented));
            }
        } else if in_expect {
            if layout.expect.is_some_and(|lines| lines.first == number) {
                lines.push("expect".to_owned());
                lines.extend(expectations.iter().map(indented));
            }
        } else if in_search && line.trim() == "from: end" {
            lines.push(format!("  from: action {at}"));
        } else {
            lines.push(line.to_owned());
        }
    }
    let mut behind = Vec::new();
    if layout.schedule.is_none() {
        behind.push(("schedule", schedule));
    }
    if layout.expect.is_none() {
        behind.push(("expect", expectations));
    }
    for (header, body) in behind {
        if lines.last().is_some_and(|line| !line.is_empty()) {
            lines.push(String::new());
        }
        lines.push(header.to_owned());
        lines.extend(body.iter().map(indented));
    }
    lines.join("\n") + "\n"
}

fn named(text: &str) -> Named {
    Named {
        text: text.to_owned(),
        place: Place::default(),
    }
}

/// An expectation as a line of the text.
pub(crate) fn print_expectation(expectation: &Expectation) -> String {
    print::claim(&claim_of(expectation))
}

fn claim_of(expectation: &Expectation) -> ExpectedClaim {
    let verdict = |verdict, property: Property| ExpectedClaim::Property {
        verdict,
        sentence: named(property.sentence()),
    };
    match expectation {
        Expectation::Holds(property) => verdict(ExpectedVerdict::Holds, *property),
        Expectation::Broken(property) => verdict(ExpectedVerdict::Broken, *property),
        Expectation::NotTested(property) => verdict(ExpectedVerdict::NotTested, *property),
        Expectation::Row {
            table,
            key,
            columns,
        } => ExpectedClaim::Row {
            table: named(table),
            key: key.clone(),
            columns: columns.as_ref().map(|columns| {
                columns
                    .iter()
                    .map(|(name, value)| (named(name), value.clone()))
                    .collect()
            }),
        },
        Expectation::Key {
            key,
            server,
            value,
            ttl,
        } => ExpectedClaim::Key {
            key: key.clone(),
            server: server.as_deref().map(named),
            value: value.clone(),
            ttl: *ttl,
        },
        Expectation::Writes(writes) => ExpectedClaim::Writes(
            writes
                .iter()
                .map(|write| (named(&write.who), write.verdict.clone()))
                .collect(),
        ),
        Expectation::Charges(charges) => ExpectedClaim::Charges(charges.clone()),
        Expectation::Client { name, state } => ExpectedClaim::Client {
            name: named(name),
            state: state.clone(),
        },
    }
}

/// What a search finds, as the text writes it.
pub(crate) fn print_finds(finds: Finds) -> String {
    print::finds(finds)
}

/// A search as a block of the text, with a line break at its end.
pub(crate) fn print_request(request: &Request) -> String {
    let mut text = "search\n".to_owned();
    for line in lines_of(request) {
        text.push_str("  ");
        text.push_str(&print::search_line(&line));
        text.push('\n');
    }
    text
}

fn lines_of(request: &Request) -> Vec<SearchLine> {
    let mut lines = Vec::new();
    if request.start != Start::Start {
        lines.push(SearchLine::From(request.start));
    }
    let limits = limits_of(&request.bounds);
    if !limits.is_empty() {
        lines.push(SearchLine::Limits(limits));
    }
    if !request.bounds.without.is_empty() {
        lines.push(SearchLine::Without(request.bounds.without.clone()));
    }
    match &request.goal {
        Goal::Breaks(properties) if properties.is_empty() => lines.push(SearchLine::Breaks(None)),
        Goal::Breaks(properties) => lines.extend(
            properties
                .iter()
                .map(|property| SearchLine::Breaks(Some(named(property.sentence())))),
        ),
        Goal::Reach(expectations) => lines.extend(
            expectations
                .iter()
                .map(|expectation| SearchLine::Reaches(claim_of(expectation))),
        ),
    }
    lines.extend(request.finds.map(SearchLine::Finds));
    lines.extend(request.is_challenge.then_some(SearchLine::Challenge));
    lines
}

/// What differs from a search without any fault.
fn limits_of(bounds: &Bounds) -> Vec<SearchLimit> {
    let none = Bounds::none();
    let limit = |limit, count: u64| SearchLimit {
        limit,
        count,
        keys: Vec::new(),
    };
    let mut limits = Vec::new();
    limits.extend(bounds.faults.map(|most| limit(Limit::Faults, most.into())));
    for budget in Budget::ALL {
        if bounds.budget(budget) > 0 {
            limits.push(SearchLimit {
                keys: bounds.keys(budget).to_vec(),
                ..limit(Limit::Budget(budget), bounds.budget(budget).into())
            });
        }
    }
    limits.extend(bounds.steps.map(|most| limit(Limit::Steps, most.into())));
    if bounds.attempts != none.attempts {
        limits.push(limit(Limit::Attempts, bounds.attempts.into()));
    }
    if bounds.worlds != none.worlds {
        limits.push(limit(Limit::Worlds, bounds.worlds));
    }
    limits
}

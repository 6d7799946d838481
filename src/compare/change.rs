//! What can be changed in a text to compare with, and the text with it.

use crate::scenario::library::{self, LibraryProtocol};
use crate::scenario::{self, Reading, TextError, edit};
use crate::sim::setup::Setup;

/// Something that a text could have otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Every condition that compares this column with a variable reads so.
    Fence {
        /// The watched column, without its table.
        column: String,
        /// How it is compared.
        fence: Fence,
    },
    /// Whoever runs one protocol runs the other.
    Protocol {
        /// The one that the text has.
        from: String,
        /// The other, of the text or of the library.
        to: String,
    },
}

/// How a statement compares a row's token with its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// `fence_token < {token}`: the same token does not pass twice.
    Less,
    /// `fence_token <= {token}`: a holder may write again, and so may whoever was given the same token.
    LessOrEqual,
    /// It does not.
    None,
}

/// All ways to compare, in the order in which they are offered.
const FENCES: [Fence; 3] = [Fence::Less, Fence::LessOrEqual, Fence::None];

impl Fence {
    /// The operators with the column at the left, and at the right.
    fn operators(self) -> [&'static str; 2] {
        match self {
            Fence::Less => ["<", ">"],
            Fence::LessOrEqual => ["<=", ">="],
            Fence::None => ["", ""],
        }
    }
}

impl Change {
    /// What is otherwise, for a choice or a title.
    pub fn in_words(&self) -> String {
        match self {
            Change::Fence {
                fence: Fence::None, ..
            } => "no fence".to_owned(),
            Change::Fence { column, fence } => {
                let [operator, _] = fence.operators();
                format!("the fence {column} {operator} {{token}}")
            }
            Change::Protocol { to, .. } => format!("the protocol {to}"),
        }
    }

    /// Everything that this text could have otherwise: its fences first, then the protocols that have steps of the same labels, those
    /// of the text before those of the library, and the most alike first.
    pub fn all(text: &str, reading: &Reading) -> Vec<Change> {
        let mut changes = Vec::new();
        for column in fence_columns(&reading.setup) {
            let as_it_is: String = text.lines().flat_map(|line| [line, "\n"]).collect();
            let is_other = |fence: &Fence| with_fences(text, reading, &column, *fence) != as_it_is;
            changes.extend(FENCES.into_iter().filter(is_other).map(|fence| {
                let column = column.clone();
                Change::Fence { column, fence }
            }));
        }
        changes.extend(protocols(text, reading));
        changes
    }

    /// The text with this change and without a schedule, expectations and searches.
    ///
    /// # Errors
    /// What could not be read, once it is changed.
    pub(super) fn apply(&self, text: &str, reading: &Reading) -> Result<String, Vec<TextError>> {
        match self {
            Change::Fence { column, fence } => {
                Ok(bare(&with_fences(text, reading, column, *fence), reading))
            }
            Change::Protocol { from, to } => {
                let mut text = bare(text, reading);
                let mut to = to.clone();
                if !has_protocol(&reading.setup, &to) {
                    text = edit::add_protocol(&text, &to)?;
                    let new = scenario::read(&text)?;
                    let added = new.setup.protocols.iter().map(|protocol| &protocol.name);
                    let mut added = added.filter(|name| !has_protocol(&reading.setup, name));
                    to = added.next().cloned().unwrap_or(to);
                }
                let plain = edit::run_instead(&text, from, &to, None)?;
                match scenario::read(&plain) {
                    Ok(_) => Ok(plain),
                    Err(_) => {
                        let parameters = library::parameters_of(&to).unwrap_or_default();
                        edit::run_instead(&text, from, &to, Some(&parameters))
                    }
                }
            }
        }
    }
}

fn has_protocol(setup: &Setup, name: &str) -> bool {
    setup.protocols.iter().any(|other| other.name == name)
}

/// The watched columns that remember tokens, each once.
fn fence_columns(setup: &Setup) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for fence in setup
        .watches
        .iter()
        .filter_map(|watch| watch.fence.as_ref())
    {
        if !columns.contains(&fence.column) {
            columns.push(fence.column.clone());
        }
    }
    columns
}

/// The text without its schedule, its expectations and its searches, and without what its description says of them: the title stays.
fn bare(text: &str, reading: &Reading) -> String {
    let layout = &reading.layout;
    let is_left_out = |number: usize| {
        let in_block = [layout.schedule, layout.expect]
            .into_iter()
            .flatten()
            .any(|lines| lines.contains(number));
        in_block
            || reading
                .searches
                .iter()
                .any(|search| search.lines.contains(number))
    };
    let described = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .count()
        .max(1);
    text.lines()
        .enumerate()
        .filter(|(place, _)| !(1..described).contains(place) && !is_left_out(place + 1))
        .flat_map(|(_, line)| [line, "\n"])
        .collect()
}

/// The text with other fences in its protocols.
fn with_fences(text: &str, reading: &Reading, column: &str, fence: Fence) -> String {
    let is_of_protocol = |number: usize| {
        reading
            .layout
            .protocols
            .iter()
            .any(|protocol| protocol.lines.contains(number))
    };
    let lines = text.lines().enumerate().map(|(place, line)| {
        let changed = is_of_protocol(place + 1)
            .then(|| with_fence(line, column, fence))
            .flatten();
        changed.unwrap_or_else(|| line.to_owned()) + "\n"
    });
    lines.collect()
}

/// Where a line compares the column with a variable: the whole condition, its operator, and whether the column is at the right.
struct Condition {
    from: usize,
    to: usize,
    operator: (usize, usize),
    is_flipped: bool,
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '`')
}

/// The first condition on the column in a line.
fn condition_in(line: &str, column: &str) -> Option<Condition> {
    let lower = line.to_ascii_lowercase();
    let wanted = column.to_ascii_lowercase();
    let mut places = lower.match_indices(&wanted).map(|(at, _)| at);
    places.find_map(|at| {
        let end = at + wanted.len();
        let start = line[..at].trim_end_matches(is_of_name).len();
        let is_name = line[start..at].is_empty() || line[start..at].ends_with(['.', '`']);
        let end = end + usize::from(line[end..].starts_with('`'));
        if !is_name || line[end..].starts_with(is_of_name) {
            return None;
        }
        column_first(line, start, end).or_else(|| column_last(line, start, end))
    })
}

/// `fence_token < {token}`.
fn column_first(line: &str, start: usize, end: usize) -> Option<Condition> {
    let operator = end + line[end..].len() - line[end..].trim_start().len();
    let rest = &line[operator..];
    let length = rest.chars().take_while(|c| "<>=!".contains(*c)).count();
    matches!(&rest[..length], "<" | "<=").then_some(())?;
    let variable = rest[length..].trim_start();
    variable.starts_with('{').then_some(())?;
    let to = line.len() - variable.len() + variable.find('}')? + 1;
    Some(Condition {
        from: start,
        to,
        operator: (operator, operator + length),
        is_flipped: false,
    })
}

/// `{token} > fence_token`.
fn column_last(line: &str, start: usize, end: usize) -> Option<Condition> {
    let before = line[..start].trim_end();
    let variable = before.trim_end_matches(['<', '>', '=', '!']);
    matches!(&before[variable.len()..], ">" | ">=").then_some(())?;
    let named = variable.trim_end();
    named.ends_with('}').then_some(())?;
    Some(Condition {
        from: named.rfind('{')?,
        to: end,
        operator: (variable.len(), before.len()),
        is_flipped: true,
    })
}

/// The line with another fence; `None`: it has none on this column.
fn with_fence(line: &str, column: &str, fence: Fence) -> Option<String> {
    let condition = condition_in(line, column)?;
    let (from, to) = condition.operator;
    Some(match fence {
        Fence::None => without(line, condition.from, condition.to),
        _ => {
            let operator = fence.operators()[usize::from(condition.is_flipped)];
            [&line[..from], operator, &line[to..]].concat()
        }
    })
}

/// The line without a condition and the AND that joined it to another one; where no AND stands beside it, it is true for every row.
fn without(line: &str, from: usize, to: usize) -> String {
    let (before, after) = (&line[..from], &line[to..]);
    let and_before = before.trim_end();
    let and_after = after.trim_start();
    if and_before.to_ascii_uppercase().ends_with(" AND") {
        let kept = and_before[..and_before.len() - "AND".len()].trim_end();
        return [kept, after].concat();
    }
    if and_after.to_ascii_uppercase().starts_with("AND ") {
        return [before, and_after["AND ".len()..].trim_start()].concat();
    }
    [before, "TRUE", after].concat()
}

/// A protocol as it stands in a text.
struct Candidate<'t> {
    name: &'t str,
    source: &'t str,
}

impl Candidate<'_> {
    /// The labels of its steps.
    fn labels(&self) -> impl Iterator<Item = &str> {
        let steps = self.source.lines().filter_map(|line| {
            let step = line
                .strip_prefix("  ")
                .filter(|step| !step.starts_with(' '))?;
            step.split_once(':').map(|(label, _)| label)
        });
        steps.filter(|label| *label != "claims")
    }

    /// How many labels the two share, where the other takes the same watched locks, begins with the same step and has two in three labels
    /// in common with this one.
    fn likeness(&self, other: &Candidate<'_>, setup: &Setup) -> Option<usize> {
        let locks = setup.watches.iter().filter_map(|watch| watch.lock.as_ref());
        let mut locks = locks.map(|lock| String::from_utf8_lossy(lock));
        let same_locks = locks.all(|lock| {
            self.source.contains(lock.as_ref()) == other.source.contains(lock.as_ref())
        });
        let is_shared = |label: &&str| other.labels().any(|theirs| theirs == *label);
        let shared = self.labels().filter(is_shared).count();
        let same_start = self.labels().next() == other.labels().next();
        let either = self.labels().count() + other.labels().count() - shared;
        (same_locks && same_start && shared * 3 >= either * 2).then_some(shared)
    }
}

/// Whether the tables of a protocol of the library are those of the text, column by column, where the text has tables of these names.
fn fits(text: &str, protocol: &LibraryProtocol) -> bool {
    protocol.tables.iter().all(|table| {
        let header = table.text.lines().next().unwrap_or_default();
        let named = header.split('(').next().unwrap_or_default();
        let mut same = text.lines().filter(|line| line.starts_with(named));
        same.all(|line| line == header)
    })
}

/// Every pair of a protocol that somebody runs and one that is like it: those of the text, and those of the library, the most alike
/// first.
fn protocols(text: &str, reading: &Reading) -> Vec<Change> {
    let setup = &reading.setup;
    let own: Vec<Candidate<'_>> = setup
        .protocols
        .iter()
        .zip(&reading.layout.protocols)
        .map(|(protocol, layout)| Candidate {
            name: &protocol.name,
            source: &layout.source,
        })
        .collect();
    let is_new = |name: &str| own.iter().all(|own| own.name != name);
    let of_library = library::protocols().iter();
    let of_library = of_library.filter(|other| is_new(other.name) && fits(text, other));
    let mut of_library: Vec<Candidate<'_>> = of_library
        .map(|other| Candidate {
            name: other.name,
            source: other.block,
        })
        .collect();
    let runs = |place: usize| {
        let mut clients = setup.clients.iter();
        clients.any(|client| client.protocol == Some(place))
    };
    let mut changes = Vec::new();
    for from in own.iter().enumerate().filter(|(place, _)| runs(*place)) {
        let from = from.1;
        crate::sorted::sort_by_key(&mut of_library, |other| {
            std::cmp::Reverse(from.likeness(other, setup))
        });
        let of_text = own.iter().filter(|other| other.name != from.name);
        let of_library = of_library.iter();
        let of_library = of_library.filter(|other| from.likeness(other, setup).is_some());
        let others = of_text.chain(of_library);
        changes.extend(others.map(|to| Change::Protocol {
            from: from.name.to_owned(),
            to: to.name.to_owned(),
        }));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_found_and_written_anew() {
        let check = |line: &str, expected: [Option<&str>; 3]| {
            let written = FENCES.map(|fence| with_fence(line, "fence_token", fence));
            assert_eq!(written.each_ref().map(Option::as_deref), expected, "{line}");
        };
        check(
            "  WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < {token}",
            [
                Some("  WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < {token}"),
                Some("  WHERE sku = 'sku-1' AND qty >= 1 AND fence_token <= {token}"),
                Some("  WHERE sku = 'sku-1' AND qty >= 1"),
            ],
        );
        check(
            "WHERE inventory.`fence_token`<={t} AND qty > 0  # why",
            [
                Some("WHERE inventory.`fence_token`<{t} AND qty > 0  # why"),
                Some("WHERE inventory.`fence_token`<={t} AND qty > 0  # why"),
                Some("WHERE qty > 0  # why"),
            ],
        );
        check(
            "UPDATE inventory SET fence_token = {token} WHERE {token} > FENCE_TOKEN",
            [
                Some("UPDATE inventory SET fence_token = {token} WHERE {token} > FENCE_TOKEN"),
                Some("UPDATE inventory SET fence_token = {token} WHERE {token} >= FENCE_TOKEN"),
                Some("UPDATE inventory SET fence_token = {token} WHERE TRUE"),
            ],
        );
        for line in [
            "SET fence_token = {token}",
            "WHERE old_fence_token < {token}",
            "WHERE fence_tokens < {token}",
            "WHERE fence_token < 5",
            "WHERE fence_token <> {token}",
        ] {
            check(line, [None, None, None]);
        }
    }
}

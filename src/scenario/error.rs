//! What is wrong with a text: every error with its place and with what was expected there.

use std::fmt;

/// How many errors are reported of one text; the rest is counted.
const MOST_ERRORS: usize = 100;

/// How many characters of the user's text an error repeats.
const MOST_QUOTED: usize = 60;

/// How many known names an error lists.
const MOST_KNOWN: usize = 16;

/// One thing that is wrong with a text.
///
/// Its display is `line 3, column 7: MESSAGE: expected EXPECTED`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The first character of the line that it is about, from 1, in characters.
    pub column: usize,
    /// How many characters it is about; at least 1, even at the end of a line.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// What was expected instead; empty where the message says it all.
    pub expected: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextError {
            line,
            column,
            message,
            expected,
            ..
        } = self;
        write!(formatter, "line {line}, column {column}: {message}")?;
        match expected.as_str() {
            "" => Ok(()),
            expected => write!(formatter, ": expected {expected}"),
        }
    }
}

impl std::error::Error for TextError {}

/// Where something stands in a text.
///
/// Any two places are equal: where a thing stands is no part of what it says, and so two syntax trees are equal when they say
/// the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The first byte within the line, from 0.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
    /// The last line, for things of several lines.
    pub last: usize,
}

impl Place {
    /// A place within one line.
    pub(super) fn within(line: usize, start: usize, end: usize) -> Place {
        Place {
            line,
            start,
            end,
            last: line,
        }
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

impl Eq for Place {}

/// The errors of one text as they are found.
pub(super) struct Errors<'a> {
    lines: &'a [&'a str],
    found: Vec<TextError>,
    left_out: usize,
}

impl<'a> Errors<'a> {
    /// No errors yet in these lines.
    pub fn new(lines: &'a [&'a str]) -> Errors<'a> {
        Errors {
            lines,
            found: Vec::new(),
            left_out: 0,
        }
    }

    /// Adds one; always `None`, for the caller to return.
    pub fn add<T>(
        &mut self,
        place: Place,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Option<T> {
        self.put(place, message.into(), expected.into());
        None
    }

    #[inline(never)]
    fn put(&mut self, place: Place, message: String, expected: String) {
        if self.found.len() >= MOST_ERRORS {
            self.left_out += 1;
            return;
        }
        let line = self
            .lines
            .get(place.line.saturating_sub(1))
            .copied()
            .unwrap_or("");
        let characters = |text: Option<&str>| text.map_or(0, |text| text.chars().count());
        self.found.push(TextError {
            line: place.line,
            column: characters(line.get(..place.start)) + 1,
            length: characters(line.get(place.start..place.end)).max(1),
            message,
            expected,
        });
    }

    /// Adds that a name means nothing, with the nearest of the known names.
    pub fn unknown<'n, T>(
        &mut self,
        place: Place,
        message: &str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> Option<T> {
        if self.found.len() >= MOST_ERRORS {
            self.left_out += 1;
            return None;
        }
        let known: Vec<&str> = known.collect();
        let near = match nearest(name, &known) {
            Some(near) => format!(" (did you mean {}?)", quoted(near)),
            None => String::new(),
        };
        self.add(
            place,
            format!("{message} {}{near}", quoted(name)),
            one_of(&known),
        )
    }

    /// The part of a line where this text stands, at the first byte from `place` on; the place itself where it does not.
    pub fn find(&self, place: Place, text: &str) -> Place {
        (place.line..=place.last.max(place.line))
            .find_map(|number| {
                let from = if number == place.line { place.start } else { 0 };
                let line = self.lines.get(number.checked_sub(1)?)?;
                let start = from + line.get(from..)?.find(text)?;
                Some(Place::within(number, start, start + text.len()))
            })
            .unwrap_or(place)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.found.len() + self.left_out
    }

    /// Whether nothing was wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them in the order of the text; the last one says how many were left out.
    pub fn finish(mut self) -> Vec<TextError> {
        crate::sorted::sort_by_key(&mut self.found, |error| (error.line, error.column));
        if let Some(last) = self.found.last().filter(|_| self.left_out > 0).cloned() {
            let message = format!("{} more errors are not shown", self.left_out);
            self.found.push(TextError {
                message,
                expected: String::new(),
                ..last
            });
        }
        self.found
    }
}

/// A piece of the user's text as messages show it: in backquotes, shortened where it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

/// `a`, `b` or `c`.
pub(super) fn one_of(known: &[&str]) -> String {
    let mut names: Vec<String> = known
        .iter()
        .take(MOST_KNOWN)
        .map(|name| quoted(name))
        .collect();
    if known.len() > MOST_KNOWN {
        names.push(format!("one of {} more", known.len() - MOST_KNOWN));
    }
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// The known name that takes the fewest changes of one character, if they are few.
pub(super) fn nearest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    // A variable's braces say nothing about how alike two names are.
    let bare = |name: &str| name.trim_matches(['{', '}']).to_ascii_lowercase();
    let length = bare(name).chars().count();
    if length > MOST_QUOTED {
        return None;
    }
    known
        .iter()
        .filter(|known| known.chars().count() <= MOST_QUOTED)
        .map(|known| (changes(&bare(name), &bare(known)), *known))
        .filter(|(changes, known)| *changes <= length.min(bare(known).chars().count()) / 3)
        .min_by_key(|(changes, _)| *changes)
        .map(|(_, known)| known)
}

/// How many characters have to be put in, taken out, replaced or swapped with their neighbour to make `to` of `from`.
fn changes(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if swapped {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_when_it_is_near() {
        let check = |name: &str, expected: Option<&str>| {
            let known = ["acquire", "release", "write", "A"];
            assert_eq!(nearest(name, &known), expected, "{name}");
        };
        check("aqcuire", Some("acquire"));
        check("Release", Some("release"));
        check("wirte", Some("write"));
        check("writes", Some("write"));
        check("token", None);
        check("a", Some("A"));
        check(&"acquire".repeat(100), None);
    }

    #[test]
    fn lists_of_names_read_as_sentences() {
        assert_eq!(one_of(&[]), "");
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b", "c"]), "`a`, `b` or `c`");
        let many: Vec<&str> = vec!["x"; 20];
        assert!(one_of(&many).ends_with("`x` or one of 4 more"));
    }

    #[test]
    fn columns_count_characters_and_errors_beyond_the_limit_are_counted() {
        let lines = ["é ö x"];
        let mut errors = Errors::new(&lines);
        for _ in 0..MOST_ERRORS + 2 {
            errors.add::<()>(Place::within(1, 6, 7), "wrong", "right");
        }
        let found = errors.finish();
        assert_eq!(found.len(), MOST_ERRORS + 1);
        assert_eq!((found[0].column, found[0].length), (5, 1));
        assert_eq!(
            found[0].to_string(),
            "line 1, column 5: wrong: expected right"
        );
        assert_eq!(found[MOST_ERRORS].message, "2 more errors are not shown");
    }
}

//! Reads one line, or a part of it, from left to right.

use crate::sim::store::reply::quote;
use crate::sim::store::split_arguments;

use super::error::{Errors, Place, quoted};
use super::limits;
use super::lines::end_of_quote;
use super::syntax::Named;

/// A part of a line, and how far it has been read.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    line: usize,
    text: &'a str,
    /// Where the text begins in the line.
    offset: usize,
    at: usize,
}

/// One argument as redis-cli reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Its bytes, quotes and escapes resolved.
    pub bytes: Vec<u8>,
    /// Whether any part of it stood in quotes.
    pub quoted: bool,
    /// Where it stands.
    pub place: Place,
}

impl Word {
    /// The variable that it stands for: an unquoted `{name}` and nothing else.
    pub fn variable(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.bytes)
            .ok()
            .filter(|_| !self.quoted)?;
        let name = text.strip_prefix('{')?.strip_suffix('}')?;
        is_variable_name(name).then_some(name)
    }

    /// Its bytes as a text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Whether a variable may be called that: `[A-Za-z_][A-Za-z0-9_]*`.
pub(super) fn is_variable_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
        && name.len() <= limits::NAME
}

/// Whether a name of a table or a column can have this letter without backquotes, as MySQL has it: all beyond ASCII can be.
pub(super) fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '\u{80}'..)
}

/// Whether a client, a protocol, a script or a step may be called that: `[A-Za-z_][A-Za-z0-9_-]*`.
pub(super) fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || matches!(other, '_' | '-'))
        && name.len() <= limits::NAME
}

impl<'a> Cursor<'a> {
    /// Reads this text, which begins at this byte of this line.
    pub fn new(line: usize, offset: usize, text: &'a str) -> Cursor<'a> {
        Cursor {
            line,
            text,
            offset,
            at: 0,
        }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Whether nothing but blanks is left.
    pub fn is_at_end(&self) -> bool {
        self.rest().trim_start_matches(' ').is_empty()
    }

    /// Passes over blanks.
    pub fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(' ').len();
    }

    /// The next character after blanks.
    pub fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest().chars().next()
    }

    /// The place of the next word, or of the end.
    pub fn here(&mut self) -> Place {
        self.skip_blanks();
        let word = self.rest().split(' ').next().unwrap_or_default();
        self.place(self.at, self.at + word.len())
    }

    /// The place of all that is left.
    pub fn place_of_rest(&mut self) -> Place {
        self.skip_blanks();
        self.place(self.at, self.text.len())
    }

    fn place(&self, start: usize, end: usize) -> Place {
        Place::within(self.line, self.offset + start, self.offset + end)
    }

    /// The rest of the line after blanks, read.
    pub fn take_rest(&mut self) -> Named {
        let place = self.place_of_rest();
        let text = self.rest().to_owned();
        self.at = self.text.len();
        Named { text, place }
    }

    /// Reads these words if they come next, with any number of blanks between them, and end there.
    pub fn eat_words(&mut self, words: &str) -> bool {
        let mut rest = self.rest();
        for word in words.split(' ') {
            rest = rest.trim_start_matches(' ');
            match rest.strip_prefix(word) {
                Some(after) if after.is_empty() || after.starts_with([' ', ',', ':', ';']) => {
                    rest = after;
                }
                _ => return false,
            }
        }
        self.at = self.text.len() - rest.len();
        true
    }

    /// Reads this mark if it comes next.
    pub fn eat(&mut self, mark: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    /// Reads characters after blanks, as long as they fit.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) -> Named {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest
            .find(|character| !fits(character))
            .unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default().to_owned();
        let place = self.place(self.at, self.at + end);
        self.at += end;
        Named { text, place }
    }

    /// Reads a name, see [`is_name`].
    pub fn name(&mut self, what: &str, errors: &mut Errors<'_>) -> Option<Named> {
        let here = self.here();
        let name =
            self.take_while(|other| other.is_ascii_alphanumeric() || matches!(other, '_' | '-'));
        let letters = "letters, digits, `_` or `-`, beginning with a letter";
        if name.text.is_empty() {
            return match self.rest().chars().next() {
                None => errors.add(here, format!("{what} is missing"), letters),
                Some(other) => {
                    errors.add(here, format!("`{other}` does not begin {what}"), letters)
                }
            };
        }
        if name.text.len() > limits::NAME {
            let message = format!("{what} is {} characters long", name.text.len());
            return errors.add(name.place, message, format!("at most {}", limits::NAME));
        }
        if !is_name(&name.text) {
            let message = format!("{} cannot be {what}", quoted(&name.text));
            return errors.add(name.place, message, letters);
        }
        Some(name)
    }

    /// Reads one argument as redis-cli does; outside quotes it also ends before one of these marks with a blank or nothing
    /// behind it.
    pub fn word(&mut self, what: &str, marks: &str, errors: &mut Errors<'_>) -> Option<Word> {
        self.skip_blanks();
        let end = self.end_of_word(marks);
        let raw = self.rest().get(..end).unwrap_or_default();
        let place = self.place(self.at, self.at + end);
        if raw.is_empty() {
            return errors.add(self.here(), format!("{what} is missing"), what.to_owned());
        }
        self.at += end;
        match split_arguments(raw).as_deref() {
            Ok([only]) => Some(Word {
                bytes: only.bytes.clone(),
                quoted: only.quoted,
                place,
            }),
            Ok(_) => errors.add(place, "several words", what.to_owned()),
            Err(error) => errors.add(place, "the quotes are not balanced", error.message),
        }
    }

    fn end_of_word(&self, marks: &str) -> usize {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let stands_last = matches!(bytes.get(at + 1), None | Some(b' '));
            match byte {
                b' ' => break,
                b'"' | b'\'' => at = end_of_quote(bytes, at).unwrap_or(rest.len()),
                byte if marks.as_bytes().contains(byte) && stands_last => break,
                _ => {}
            }
            at += 1;
        }
        at.min(rest.len())
    }

    /// Reads a duration: `10000ms`, `10s` or `1m`, in milliseconds.
    pub fn duration(&mut self, errors: &mut Errors<'_>) -> Option<u64> {
        let word = self.take_while(|other| other != ' ' && other != ',');
        self.duration_in(word, errors)
    }

    /// Reads a duration behind which a colon may stand.
    pub fn duration_before_colon(&mut self, errors: &mut Errors<'_>) -> Option<u64> {
        let word = self.take_while(|other| other != ' ' && other != ':');
        self.duration_in(word, errors)
    }

    fn duration_in(&self, word: Named, errors: &mut Errors<'_>) -> Option<u64> {
        match duration(&word.text) {
            Some(milliseconds) if milliseconds <= limits::DURATION => Some(milliseconds),
            Some(_) => errors.add(
                word.place,
                format!("{} is too long", quoted(&word.text)),
                format!("at most {}ms", limits::DURATION),
            ),
            None if word.text.is_empty() => {
                errors.add(word.place, "the duration is missing", A_DURATION)
            }
            None => {
                let message = format!("{} is no duration", quoted(&word.text));
                errors.add(word.place, message, A_DURATION)
            }
        }
    }

    /// Complains about what is left, if anything is.
    pub fn end(&mut self, expected: &str, errors: &mut Errors<'_>) -> Option<()> {
        if self.is_at_end() {
            return Some(());
        }
        let place = self.place_of_rest();
        errors.add(
            place,
            format!("{} is not understood", quoted(self.rest())),
            expected,
        )
    }
}

/// What a duration looks like.
const A_DURATION: &str = "a whole number with ms, s or m behind it, such as 100ms";

/// A duration in milliseconds.
fn duration(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|other: char| other.is_ascii_alphabetic());
    let scale = match text.get(digits.len()..)? {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    };
    Some(whole_number(digits)?.saturating_mul(scale))
}

/// A whole number in digits alone; one that is too large is as large as can be.
pub(super) fn whole_number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// An argument as the text writes it: as it is where that reads back as the same bytes, otherwise as redis-cli quotes it.
pub(super) fn print_word(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if can_stand_unquoted(text) => text.to_owned(),
        _ => quote(bytes),
    }
}

fn can_stand_unquoted(text: &str) -> bool {
    let is_variable = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'))
        .is_some_and(is_variable_name);
    let is_plain =
        |other: char| !other.is_control() && !matches!(other, ' ' | '"' | '\'' | '`' | '\\');
    !text.is_empty()
        && !is_variable
        && !text.starts_with(['#', '='])
        && !text.ends_with([',', ':', ';'])
        && text.chars().all(is_plain)
}

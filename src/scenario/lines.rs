//! The first stage: a text becomes lines, and lines become blocks.
//!
//! A block is a line that begins in column 1 and the indented lines under it. Blank lines and comments behind its last
//! indented line stand between blocks. A line that holds a tab or another control character is reported here, once, and
//! passed over by every later stage.

use super::error::{Errors, Place};
use super::limits;

/// One line of a text, without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// All of it.
    pub text: &'a str,
    /// How many blanks it begins with.
    pub indent: usize,
    /// Whether it was reported and has to be passed over.
    pub is_damaged: bool,
}

impl<'a> Line<'a> {
    /// A text that is one line; `None` where it was reported.
    pub fn alone(text: &'a str, errors: &mut Errors<'_>) -> Option<Line<'a>> {
        let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
        let line = Line {
            number: 1,
            text,
            indent,
            is_damaged: false,
        };
        Some(checked(line, false, errors)).filter(|line| !line.is_damaged)
    }

    /// It without the blanks on both sides.
    pub fn content(&self) -> &'a str {
        self.text.trim_matches([' ', '\t'])
    }

    /// Whether nothing stands in it.
    pub fn is_blank(&self) -> bool {
        self.content().is_empty()
    }

    /// The comment that it is, if it is one: what stands behind the `#`.
    pub fn comment(&self) -> Option<&'a str> {
        self.content().strip_prefix('#')
    }

    /// The whole content as a place.
    pub fn place(&self) -> Place {
        Place::within(self.number, self.indent, self.indent + self.content().len())
    }
}

/// A run of lines that belongs together.
#[derive(Clone, Debug)]
pub(super) enum Chunk<'a> {
    /// A blank line between blocks.
    Blank,
    /// A comment between blocks: what stands behind the `#`.
    Comment(&'a str),
    /// A line that was reported, and what stood under it.
    Damaged,
    /// A block.
    Block {
        /// Its first line.
        header: Line<'a>,
        /// The lines under it; the last one is neither blank nor a comment in column 1.
        body: Vec<Line<'a>>,
    },
}

/// Takes line ends off, LF or CRLF, and a byte order mark at the start.
pub(super) fn split(text: &str) -> Vec<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().collect()
}

/// Puts lines into blocks.
pub(super) fn chunks<'a>(lines: &[&'a str], errors: &mut Errors<'_>) -> Vec<Chunk<'a>> {
    let lines: Vec<Line<'a>> = lines
        .iter()
        .enumerate()
        .map(|(index, text)| Line {
            number: index + 1,
            text,
            indent: text.len() - text.trim_start_matches([' ', '\t']).len(),
            is_damaged: false,
        })
        .collect();
    let mut chunks = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let end = if line.is_blank() || line.comment().is_some() || line.indent > 0 {
            at + 1
        } else {
            end_of_block(&lines, at)
        };
        let body = lines.get(at + 1..end).unwrap_or_default();
        chunks.push(chunk(*line, body, errors).unwrap_or(Chunk::Damaged));
        at = end;
    }
    chunks
}

/// The index behind the last line of the block that begins here.
fn end_of_block(lines: &[Line<'_>], start: usize) -> usize {
    let is_script = first_word(lines[start].text) == "script";
    let mut depth = Parentheses::default();
    if first_word(lines[start].text) == "table" {
        depth.read(lines[start].text);
    }
    let mut end = start + 1;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        let closes_table = depth.are_open() && line.text.starts_with(')');
        if line.is_blank() || (line.indent == 0 && line.comment().is_some() && !is_script) {
            continue;
        }
        if line.indent == 0 && !closes_table {
            break;
        }
        if depth.are_open() {
            depth.read(line.text);
        }
        end = index + 1;
    }
    end
}

fn chunk<'a>(line: Line<'a>, body: &[Line<'a>], errors: &mut Errors<'_>) -> Option<Chunk<'a>> {
    if line.is_blank() {
        return Some(Chunk::Blank);
    }
    let is_script = first_word(line.text) == "script";
    let line = checked(line, false, errors);
    if let Some(comment) = line.comment() {
        return Some(Chunk::Comment(comment)).filter(|_| !line.is_damaged);
    }
    if line.is_damaged {
        return None;
    }
    if line.indent > 0 {
        return errors.add(
            line.place(),
            "this line is indented but stands under no block",
            "a word such as `protocol`, `client` or `schedule` in column 1 above it",
        );
    }
    let body = body
        .iter()
        .map(|line| checked(*line, is_script, errors))
        .collect();
    Some(Chunk::Block { header: line, body })
}

/// The line, marked as damaged after a report of what must not stand in it.
fn checked<'a>(line: Line<'a>, is_script: bool, errors: &mut Errors<'_>) -> Line<'a> {
    if line.is_blank() {
        return line;
    }
    let wrong = line
        .text
        .char_indices()
        .find(|(at, character)| match character {
            '\t' => !is_script || *at == 0,
            other => other.is_control(),
        });
    let length = line.text.len();
    match wrong {
        Some((at, '\t')) => errors.add(
            Place::within(line.number, at, at + 1),
            "a tab, whose width nobody knows",
            "spaces",
        ),
        Some((at, other)) => errors.add(
            Place::within(line.number, at, at + other.len_utf8()),
            format!("the control character U+{:04X}", u32::from(other)),
            "printable text; within double quotes \\n or \\xHH stand for such characters",
        ),
        None if length > limits::LINE => errors.add(
            line.place(),
            format!("the line is {length} bytes long"),
            format!("at most {} bytes", limits::LINE),
        ),
        None => return line,
    }
    .unwrap_or(Line {
        is_damaged: true,
        ..line
    })
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// Counts the parentheses of a table's definition, outside quotes and comments.
#[derive(Default)]
pub(super) struct Parentheses {
    depth: usize,
    closes_too_many: bool,
}

impl Parentheses {
    /// Reads one line.
    pub fn read(&mut self, line: &str) {
        let (content, _) = without_comment(line, Quotes::Code);
        let mut at = 0;
        let bytes = content.as_bytes();
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'(' => self.depth += 1,
                b')' if self.depth == 0 => self.closes_too_many = true,
                b')' => self.depth -= 1,
                b'\'' | b'"' | b'`' => at = end_of_quote(bytes, at).unwrap_or(bytes.len()),
                _ => {}
            }
            at += 1;
        }
    }

    /// Whether each parenthesis of a line is closed in it, and none that it does not open.
    pub fn are_balanced(line: &str) -> bool {
        let mut parentheses = Parentheses::default();
        parentheses.read(line);
        parentheses.depth == 0 && !parentheses.closes_too_many
    }

    /// Whether one is still to be closed.
    pub fn are_open(&self) -> bool {
        self.depth > 0
    }
}

/// What quotes mean in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Nothing: the line is prose, and `'` an apostrophe.
    Prose,
    /// They hide what they hold; one that is never closed hides the rest of the line.
    Code,
    /// They hide what they hold; one that is never closed is an apostrophe.
    Reply,
}

/// A line's content without its trailing comment and the blanks before it, and the comment: what stands behind the `#`.
pub(super) fn without_comment(text: &str, quotes: Quotes) -> (&str, Option<&str>) {
    let bytes = text.as_bytes();
    let mut has_quotes = quotes != Quotes::Prose;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' if at >= 2 && bytes[at - 1] == b' ' && bytes[at - 2] == b' ' => {
                let content = text.get(..at).unwrap_or_default().trim_end_matches(' ');
                let comment = text.get(at + 1..).unwrap_or_default().trim_end_matches(' ');
                return (content, Some(comment));
            }
            b'\'' | b'"' | b'`' if has_quotes => match end_of_quote(bytes, at) {
                Some(end) => at = end,
                None if quotes == Quotes::Code => break,
                None => has_quotes = false,
            },
            _ => {}
        }
        at += 1;
    }
    (text.trim_end_matches(' '), None)
}

/// The index of the quote that closes the one at `start`; a backslash hides the character behind it, except in backquotes.
pub(super) fn end_of_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = *bytes.get(start)?;
    let mut at = start + 1;
    loop {
        match *bytes.get(at)? {
            byte if byte == quote => return Some(at),
            b'\\' if quote != b'`' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_follow_two_spaces_outside_quotes() {
        let check = |text: &str, quotes, content: &str, comment: Option<&str>| {
            assert_eq!(without_comment(text, quotes), (content, comment), "{text}");
        };
        check("GET a  # why ", Quotes::Code, "GET a", Some(" why"));
        check("GET a #b", Quotes::Code, "GET a #b", None);
        check("GET 'a  # b'   #", Quotes::Code, "GET 'a  # b'", Some(""));
        check(
            r#"GET "\"  # b"  # c"#,
            Quotes::Code,
            r#"GET "\"  # b""#,
            Some(" c"),
        );
        check("it's  # c", Quotes::Code, "it's  # c", None);
        check("holder's  # it's", Quotes::Prose, "holder's", Some(" it's"));
    }

    #[test]
    fn blocks_end_where_the_next_one_begins() {
        let check = |text: &str, expected: &str| {
            let lines = split(text);
            let mut errors = Errors::new(&lines);
            let shape: Vec<String> = chunks(&lines, &mut errors)
                .iter()
                .map(|chunk| match chunk {
                    Chunk::Blank => "blank".to_owned(),
                    Chunk::Comment(text) => format!("#{text}"),
                    Chunk::Damaged => "damaged".to_owned(),
                    Chunk::Block { header, body } => format!("{}+{}", header.text, body.len()),
                })
                .collect();
            let errors: Vec<String> = errors
                .finish()
                .iter()
                .map(|error| error.to_string())
                .collect();
            assert_eq!(
                format!("{} {}", shape.join(" "), errors.join("; ")).trim(),
                expected
            );
        };
        check(
            "# a\n\nx\n  b\n\n# c\n  # d\n\n# e\ny",
            "# a blank x+4 blank # e y+0",
        );
        check(
            "script s\n  a\n# b\n  c",
            "script s+1 # b damaged line 4, column 3: this line is indented but stands under no block: expected a word such as `protocol`, `client` or `schedule` in column 1 above it",
        );
        check("table t (\n  a INT,\n)\n  1\nx", "table t (+3 x+0");
        check("table t (a INT)\n)", "table t (a INT)+0 )+0");
        check(
            "x\n\ty",
            "x+1 line 2, column 1: a tab, whose width nobody knows: expected spaces",
        );
        check("script x\n  \ty", "script x+1");
        check(
            "x \u{1}",
            "damaged line 1, column 3: the control character U+0001: expected printable text; within double quotes \\n or \\xHH stand for such characters",
        );
    }
}

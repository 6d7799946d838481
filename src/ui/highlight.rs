//! Which part of a line of the scenario text is what, for its colours. It looks at one line at a time and never fails: a text
//! that does not parse is coloured all the same.

/// A part of a line, and the classes that colour it; none for plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The classes.
    pub class: &'static str,
    /// The text.
    pub text: String,
    /// Whether something is wrong here.
    pub is_wrong: bool,
}

const TOP_LEVEL: [&str; 11] = [
    "option", "table", "database", "store", "script", "watch", "protocol", "client", "schedule",
    "expect", "search",
];

/// The word of the block that this line stands in: of the nearest line above that begins in the first column.
pub fn block_of<'a>(lines: &[&'a str], line: usize) -> &'a str {
    let above = lines.iter().take(line).rev();
    above
        .map(|line| top_level_word(line))
        .find(|word| !word.is_empty())
        .unwrap_or("")
}

/// The word with which a line begins a block; empty for a line within one, a comment and a blank line.
pub fn top_level_word(line: &str) -> &str {
    match line.starts_with([' ', '\t', '#']) {
        true => "",
        false => line.split([' ', '\t', ':']).next().unwrap_or(""),
    }
}

/// The parts of a line within a block.
pub fn pieces(line: &str, block: &str) -> Vec<Piece> {
    let word = top_level_word(line);
    let mut pieces = Vec::new();
    if line.trim_start().starts_with('#')
        && !(block == "script" && word.is_empty() && line.starts_with(' '))
    {
        push(&mut pieces, "x-comment", line);
        return pieces;
    }
    if block == "script" && word.is_empty() {
        push(&mut pieces, "", line);
        return pieces;
    }
    let (line, comment) = line.split_at(comment_at(line));
    let (line, reply) = line.split_at(if block == "schedule" {
        line.find("=>").unwrap_or(line.len())
    } else {
        line.len()
    });
    let rest = match (TOP_LEVEL.contains(&word), block) {
        (true, _) => {
            push(&mut pieces, "x-word", word);
            &line[word.len()..]
        }
        (false, "protocol") => begin_of_step(&mut pieces, line),
        (false, "expect") => begin_of_expectation(&mut pieces, line),
        (false, "search") => begin_of_search_line(&mut pieces, line),
        _ => line,
    };
    variables(&mut pieces, rest);
    push(&mut pieces, "x-reply", reply);
    push(&mut pieces, "x-comment", comment);
    pieces
}

fn push(pieces: &mut Vec<Piece>, class: &'static str, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece {
            class,
            text: text.to_string(),
            is_wrong: false,
        });
    }
}

/// Where a comment begins: two spaces and a `#` outside quotes; the line's end where there is none.
fn comment_at(line: &str) -> usize {
    let mut quote = None;
    let bytes = line.as_bytes();
    for (place, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), byte) if *byte == open => quote = None,
            (None, b'#') if place >= 2 && &bytes[place - 2..place] == b"  " => return place,
            _ => {}
        }
    }
    line.len()
}

/// The label of a step, or the `on` of a clause; gives back what follows.
fn begin_of_step<'a>(pieces: &mut Vec<Piece>, line: &'a str) -> &'a str {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    if let Some(rest) = trimmed.strip_prefix("on ") {
        push(pieces, "", &line[..indent]);
        push(pieces, "x-word", "on");
        return &trimmed[trimmed.len() - rest.len() - 1..];
    }
    let label = trimmed.split(':').next().unwrap_or("");
    let is_label = label.len() < trimmed.len()
        && indent == 2
        && label.chars().all(|letter| !"(){}'\"=".contains(letter));
    if !is_label {
        return line;
    }
    push(pieces, "", &line[..indent]);
    push(pieces, "x-label", label);
    &trimmed[label.len()..]
}

/// The verdict with which an expectation begins; gives back what follows.
fn begin_of_expectation<'a>(pieces: &mut Vec<Piece>, line: &'a str) -> &'a str {
    let trimmed = line.trim_start();
    let word = trimmed.split(':').next().unwrap_or("");
    if !["holds", "broken", "not tested", "writes", "charges"].contains(&word) {
        return line;
    }
    push(pieces, "", &line[..line.len() - trimmed.len()]);
    push(pieces, "x-label", word);
    &trimmed[word.len()..]
}

/// What a line of a search is about; gives back what follows.
fn begin_of_search_line<'a>(pieces: &mut Vec<Piece>, line: &'a str) -> &'a str {
    let trimmed = line.trim_start();
    let word = trimmed.split(':').next().unwrap_or("");
    if word.len() == trimmed.len() {
        return line;
    }
    push(pieces, "", &line[..line.len() - trimmed.len()]);
    push(pieces, "x-label", word);
    &trimmed[word.len()..]
}

/// The variables in braces.
fn variables(pieces: &mut Vec<Piece>, text: &str) {
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let Some(length) = rest[open..].find('}').map(|close| close + 1) else {
            break;
        };
        push(pieces, "", &rest[..open]);
        push(pieces, "x-var", &rest[open..open + length]);
        rest = &rest[open + length..];
    }
    push(pieces, "", rest);
}

/// Marks `length` characters from this column (from 1) as wrong; beyond the line's end, one space more.
pub fn mark_wrong(pieces: Vec<Piece>, column: usize, length: usize) -> Vec<Piece> {
    let (start, end) = (
        column.saturating_sub(1),
        column.saturating_sub(1) + length.max(1),
    );
    let mut marked = Vec::new();
    let mut place = 0;
    for piece in pieces {
        let letters = piece.text.chars().count();
        let cut = |at: usize| at.clamp(place, place + letters) - place;
        let parts = [(0, cut(start)), (cut(start), cut(end)), (cut(end), letters)];
        for (part, (from, to)) in parts.into_iter().enumerate() {
            if from < to {
                let text = piece.text.chars().skip(from).take(to - from).collect();
                marked.push(Piece {
                    class: piece.class,
                    text,
                    is_wrong: part == 1,
                });
            }
        }
        place += letters;
    }
    if start >= place {
        marked.push(Piece {
            class: "",
            text: " ".to_string(),
            is_wrong: true,
        });
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces as `class(text)`, plain ones bare.
    fn check(line: &str, block: &str, expected: &str) {
        let pieces = pieces(line, block);
        let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(whole, line, "nothing is lost");
        let shown: String = pieces
            .iter()
            .map(|piece| match piece.class {
                "" => piece.text.clone(),
                class => format!("{}({})", &class[2..], piece.text),
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn each_part_of_a_line_has_its_colour() {
        check("# a title", "", "comment(# a title)");
        check("schedule", "schedule", "word(schedule)");
        check(
            "client A, B: split-acquire",
            "client",
            "word(client) A, B: split-acquire",
        );
        check(
            "  A acquire  => OK",
            "schedule",
            "  A acquire  reply(=> OK)",
        );
        check(
            "  A acquire  => OK  # why",
            "schedule",
            "  A acquire  reply(=> OK  )comment(# why)",
        );
        check(
            "  acquire: SET k {me} NX",
            "protocol",
            "  label(acquire): SET k var({me}) NX",
        );
        check(
            "    on {token}: draws {token}",
            "protocol",
            "    word(on) var({token}): draws var({token})",
        );
        check(
            "         WHERE sku = 'a:b' AND q = {token}",
            "protocol",
            "         WHERE sku = 'a:b' AND q = var({token})",
        );
        check(
            "  if redis.call('GET', KEYS[1]) == {} then",
            "script",
            "  if redis.call('GET', KEYS[1]) == {} then",
        );
        check("  # KEYS", "script", "  # KEYS");
        check("  'a  # b', 1", "table", "  'a  # b', 1");
        check("  broken: a stale", "expect", "  label(broken): a stale");
        check("  é {ü} {", "protocol", "  é var({ü}) {");
        check("", "", "");
    }

    #[test]
    fn a_block_reaches_to_the_next_line_in_the_first_column() {
        let lines = ["script a", "  x", "", "  # y", "schedule", "  A b"];
        assert_eq!(block_of(&lines, 3), "script");
        assert_eq!(block_of(&lines, 5), "schedule");
        assert_eq!(block_of(&lines, 0), "");
    }

    #[test]
    fn wrong_places_are_marked_within_and_beyond_a_line() {
        let check = |line: &str, column, length, expected: &str| {
            let marked = mark_wrong(pieces(line, "protocol"), column, length);
            let wrong: String = marked
                .iter()
                .filter(|piece| piece.is_wrong)
                .map(|piece| piece.text.as_str())
                .collect();
            assert_eq!(wrong, expected);
        };
        check("  acquire: SET k {me} NXX", 23, 3, "NXX");
        check("  acquire: SET k {me} NXX", 12, 10, "SET k {me}");
        check("  ä", 3, 1, "ä");
        check("  ä", 9, 2, " ");
        check("", 1, 1, " ");
    }
}

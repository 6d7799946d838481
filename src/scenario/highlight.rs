//! Which part of a line of the scenario text is what, for its colours. It looks at one line at a time and never fails: a text
//! that does not parse is coloured all the same.

use super::complete::top_level_word;
use super::lines::{Quotes, end_of_quote, without_comment};
use super::request::is_sql;
use super::scan::is_plain;

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

const TOP_LEVEL: [&str; 13] = [
    "option", "server", "replica", "table", "database", "store", "script", "watch", "protocol",
    "client", "schedule", "expect", "search",
];

/// What a line of the schedule begins with that is no client.
const ACTIONS: [&str; 14] = [
    "pause",
    "resume",
    "clock",
    "crash",
    "restart",
    "lose",
    "delay",
    "deliver",
    "expire",
    "wipe",
    "evict",
    "replicate",
    "failover",
    "to",
];

/// The words of Lua.
const LUA: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// The parts of a line within a block.
pub fn pieces(line: &str, block: &str) -> Vec<Piece> {
    let word = top_level_word(line);
    let mut pieces = Vec::new();
    if block == "script" && word.is_empty() && !line.starts_with('#') {
        tokens(&mut pieces, line, Language::Lua);
        return pieces;
    }
    if line.trim_start().starts_with('#') {
        push(&mut pieces, "x-comment", line);
        return pieces;
    }
    let (line, comment) = line.split_at(without_comment(line, Quotes::Reply).0.len());
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
        (false, "expect" | "search") => begin_of_claim(&mut pieces, line),
        (false, "schedule") => begin_of_action(&mut pieces, line),
        _ => line,
    };
    // A sentence, in which an apostrophe is no quote.
    let is_prose = ["claims", "holds", "broken", "not tested", "breaks"];
    let begin = pieces.last().map_or("", |piece| piece.text.as_str());
    match is_prose.contains(&begin) {
        true => push(&mut pieces, "", rest),
        false => {
            let language = language(begin, rest, block);
            tokens(&mut pieces, rest, language);
        }
    }
    push(&mut pieces, "x-reply", reply);
    push(&mut pieces, "x-comment", comment);
    pieces
}

/// By whose rules a line is cut into tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    /// Redis's and the scenario's own: a variable is a whole argument.
    Words,
    /// A clause, in which a variable may also be a number of milliseconds.
    Clause,
    /// A statement, in which a variable stands wherever a value may.
    Sql,
    /// A script, which has no variables of the scenario.
    Lua,
}

/// The language of a line of a protocol or a schedule, by the request behind its label; a line without one goes on with a statement.
fn language(begin: &str, rest: &str, block: &str) -> Language {
    let request = rest.trim_start_matches([':', ' ']);
    let goes_on = block == "protocol" && rest.starts_with("   ");
    match begin {
        "on" => Language::Clause,
        _ if goes_on || is_sql(request) => Language::Sql,
        _ => Language::Words,
    }
}

fn push(pieces: &mut Vec<Piece>, class: &'static str, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.class == class => last.text.push_str(text),
        _ => pieces.push(Piece {
            class,
            text: text.to_string(),
            is_wrong: false,
        }),
    }
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

/// What an expectation or a line of a search is about; gives back what follows.
fn begin_of_claim<'a>(pieces: &mut Vec<Piece>, line: &'a str) -> &'a str {
    let (indent, word) = first_word(line, &[':']);
    let end = indent + word.len();
    // A colon within a key comes before no blank.
    let is_label = line[end..].starts_with(": ") && !word.contains('\'');
    if !is_label {
        return line;
    }
    push(pieces, "", &line[..indent]);
    push(pieces, "x-label", word);
    &line[end..]
}

/// The client that acts, or what is done; gives back what follows.
fn begin_of_action<'a>(pieces: &mut Vec<Piece>, line: &'a str) -> &'a str {
    let (indent, word) = first_word(line, &[' ']);
    let class = if ACTIONS.contains(&word) {
        "x-word"
    } else {
        "x-label"
    };
    push(pieces, "", &line[..indent]);
    push(pieces, class, word);
    &line[indent + word.len()..]
}

/// How far a line is indented, and what stands before such a mark.
fn first_word<'a>(line: &'a str, marks: &[char]) -> (usize, &'a str) {
    let trimmed = line.trim_start();
    let word = trimmed.split(marks).next().unwrap_or("");
    (line.len() - trimmed.len(), word)
}

/// Strings, numbers, variables, commands and the words of Lua.
fn tokens(pieces: &mut Vec<Piece>, text: &str, language: Language) {
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let (class, length) = token(rest, first, before, language);
        let (token, others) = rest.split_at(length);
        push(pieces, class, token);
        before = token.chars().next_back().unwrap_or(' ');
        rest = others;
    }
}

/// What comes first, and how long it is.
fn token(text: &str, first: char, before: char, language: Language) -> (&'static str, usize) {
    let is_lua = language == Language::Lua;
    let is_of_word = |letter: char| is_plain(letter) || "-:.%".contains(letter);
    match first {
        '\'' | '"' => match end_of_quote(text.as_bytes(), 0) {
            Some(end) => ("x-string", end + 1),
            None => ("", 1),
        },
        '-' if is_lua && text.starts_with("--") => ("x-comment", text.len()),
        '{' if !is_lua => match text.find(['}', ' ']) {
            Some(end) if end > 1 && text[end..].starts_with('}') => {
                let rest = text[end + 1..].trim_start_matches([',', ':']);
                let rest = match language {
                    Language::Clause => rest.trim_start_matches("ms"),
                    _ => rest,
                };
                let is_whole = before == ' ' && (rest.is_empty() || rest.starts_with(' '));
                match is_whole || language == Language::Sql {
                    true => ("x-var", end + 1),
                    false => ("", end + 1),
                }
            }
            _ => ("", 1),
        },
        _ if is_plain(first) => {
            let end = text.find(|letter| !is_of_word(letter));
            let word = &text[..end.unwrap_or(text.len())];
            (class_of_word(word, is_lua), word.len())
        }
        _ => ("", first.len_utf8()),
    }
}

fn class_of_word(word: &str, is_lua: bool) -> &'static str {
    let is_number =
        word.starts_with(|first: char| first.is_ascii_digit()) && !word.contains(['-', ':', '_']);
    let is_command = word.len() > 1
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    match (is_number, is_command) {
        (true, _) => "x-number",
        (_, true) => "x-command",
        _ if is_lua && LUA.contains(&word) => "x-word",
        _ => "",
    }
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
            "client A, B: split-acquire x2",
            "client",
            "word(client) A, B: split-acquire x2",
        );
        check(
            "table t (k VARCHAR(32), qty INT)",
            "table",
            "word(table) t (k command(VARCHAR)(number(32)), qty command(INT))",
        );
        check(
            "  'sku-1', 10, NULL",
            "table",
            "  string('sku-1'), number(10), command(NULL)",
        );
        check("  'a  # b', 1", "table", "  string('a  # b'), number(1)");
        check("", "", "");
    }

    #[test]
    fn schedules_have_clients_actions_and_replies() {
        check(
            "  A acquire  => OK",
            "schedule",
            "  label(A) acquire  reply(=> OK)",
        );
        check(
            "  A acquire  => OK  # why",
            "schedule",
            "  label(A) acquire  reply(=> OK)comment(  # why)",
        );
        check(
            "  pause A before token",
            "schedule",
            "  word(pause) A before token",
        );
        check(
            "  clock +10001ms",
            "schedule",
            "  word(clock) +number(10001ms)",
        );
        check(
            "  operator> SET k \"it\\\"s\" PX 5",
            "schedule",
            "  label(operator>) command(SET) k string(\"it\\\"s\") command(PX) number(5)",
        );
    }

    #[test]
    fn protocols_have_labels_commands_and_variables() {
        check(
            "  acquire: SET lock:sku-1 {me} NX PX 100",
            "protocol",
            "  label(acquire): command(SET) lock:sku-1 var({me}) command(NX) command(PX) number(100)",
        );
        check(
            "    on {token}: draws {token}",
            "protocol",
            "    word(on) var({token}): draws var({token})",
        );
        check(
            "         WHERE sku = 'a:b' AND q = {token}",
            "protocol",
            "         command(WHERE) sku = string('a:b') command(AND) q = var({token})",
        );
        check(
            "  claims: a holder's",
            "protocol",
            "  label(claims): a holder's",
        );
        check("  é {ü} {", "protocol", "  é var({ü}) {");
        check(
            "  get: GET lock:{sku} '{me}' {me} {me}:x {me}",
            "protocol",
            "  label(get): command(GET) lock:{sku} string('{me}') var({me}) {me}:x var({me})",
        );
        check(
            "    on {a}, {b}: holds {key} for {c}ms",
            "protocol",
            "    word(on) var({a}), var({b}): holds var({key}) for var({c})ms",
        );
        check(
            "      WHERE a={a} AND b IN ({b},'{c}')",
            "protocol",
            "      command(WHERE) a=var({a}) command(AND) b command(IN) (var({b}),string('{c}'))",
        );
        check("  it's", "protocol", "  it's");
    }

    #[test]
    fn scripts_are_coloured_as_lua() {
        check(
            "  if redis.call('GET', KEYS[1]) == {} then -- why",
            "script",
            "  word(if) redis.call(string('GET'), command(KEYS)[number(1)]) == {} word(then) comment(-- why)",
        );
        check("  # KEYS", "script", "  # command(KEYS)");
    }

    #[test]
    fn expectations_and_searches_say_what_they_are_about() {
        check(
            "  broken: a stale 1",
            "expect",
            "  label(broken): a stale 1",
        );
        check(
            "  inventory 'a: b': qty 8",
            "expect",
            "  inventory string('a: b'): qty number(8)",
        );
        check(
            "  lapses: 1, wipes: 2",
            "search",
            "  label(lapses): number(1), wipes: number(2)",
        );
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

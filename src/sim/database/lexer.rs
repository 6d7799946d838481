//! Cuts a statement into tokens. Placeholders such as `{token}` are tokens of their own outside
//! quotes and comments, and plain characters inside.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A bare word: a keyword or a name.
    Word,
    /// A name in backticks.
    Quoted,
    /// `12`
    Whole,
    /// `1.5`
    Point,
    /// `1e3`
    Exponent,
    /// A string in quotes.
    Text,
    /// `{token}`
    Placeholder,
    /// `@name`
    UserVariable,
    /// `@@name`
    SystemVariable,
    /// An operator or a mark of punctuation.
    Symbol,
    /// What no token starts with, or a quote that is never closed.
    Wrong,
    /// Behind the last token.
    End,
}

/// One token: where it stands in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

const SYMBOLS: &[&str] = &[
    "<=>", "<=", ">=", "<>", "!=", "<<", ">>", "||", "&&", ":=", "\\G", "\\g",
];

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn run(bytes: &[u8], from: usize, test: impl Fn(u8) -> bool) -> usize {
    from + bytes[from..].iter().take_while(|byte| test(**byte)).count()
}

/// Where the comment or space that starts here ends; the place itself when there is none. `None`
/// for a comment that never ends.
fn skip_blank(source: &str, at: usize) -> Option<usize> {
    let rest = &source[at..];
    let line = || Some(rest.find('\n').map_or(source.len(), |end| at + end + 1));
    if rest.starts_with('#') {
        return line();
    }
    if let Some(after) = rest.strip_prefix("--")
        && (after.is_empty()
            || after.starts_with(|c: char| c.is_ascii_whitespace() || c.is_ascii_control()))
    {
        return line();
    }
    // What MySQL alone is to run, with the version from which on: `/*!40101 SET NAMES utf8 */`.
    if let Some(version) = rest.strip_prefix("/*!") {
        let digits = run(version.as_bytes(), 0, |byte| byte.is_ascii_digit());
        return Some(at + 3 + digits);
    }
    if rest.starts_with("*/") {
        return Some(at + 2);
    }
    if rest.starts_with("/*") {
        return rest.get(2..)?.find("*/").map(|end| at + 2 + end + 2);
    }
    Some(run(source.as_bytes(), at, |byte| {
        byte.is_ascii_whitespace()
    }))
}

/// Where the quoted text that starts here ends, behind its closing quote.
fn quoted_end(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        if bytes[at] == b'\\' && quote != b'`' {
            at += 2;
        } else if bytes[at] == quote {
            if bytes.get(at + 1) != Some(&quote) {
                return Some(at + 1);
            }
            at += 2;
        } else {
            at += 1;
        }
    }
    None
}

fn number_token(bytes: &[u8], start: usize) -> (Kind, usize) {
    let mut end = run(bytes, start, |byte| byte.is_ascii_digit());
    let mut kind = Kind::Whole;
    if bytes.get(end) == Some(&b'.') {
        kind = Kind::Point;
        end = run(bytes, end + 1, |byte| byte.is_ascii_digit());
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let digits = run(bytes, (end + 1 + sign).min(bytes.len()), |byte| {
            byte.is_ascii_digit()
        });
        if digits > end + 1 + sign {
            return (Kind::Exponent, digits);
        }
    }
    // `1abc` is a name in MySQL.
    if kind == Kind::Whole && bytes.get(end).is_some_and(|byte| is_word(*byte)) {
        return (Kind::Word, run(bytes, end, is_word));
    }
    (kind, end)
}

fn placeholder_end(bytes: &[u8], start: usize) -> Option<usize> {
    let end = run(bytes, start + 1, |byte| {
        is_word(byte) || byte == b'-' || byte == b'.'
    });
    (end > start + 1 && bytes.get(end) == Some(&b'}')).then_some(end + 1)
}

fn next_token(source: &str, start: usize) -> Token {
    let bytes = source.as_bytes();
    let quoted = |kind| match quoted_end(bytes, start) {
        Some(end) => (kind, end.min(bytes.len())),
        None => (Kind::Wrong, bytes.len()),
    };
    let digit_follows = bytes.get(start + 1).is_some_and(u8::is_ascii_digit);
    let (kind, end) = match bytes[start] {
        b'\'' | b'"' => quoted(Kind::Text),
        b'`' => quoted(Kind::Quoted),
        b'0'..=b'9' => number_token(bytes, start),
        b'.' if digit_follows => number_token(bytes, start),
        b'{' => match placeholder_end(bytes, start) {
            Some(end) => (Kind::Placeholder, end),
            None => (Kind::Wrong, start + 1),
        },
        b'@' if bytes.get(start + 1) == Some(&b'@') => (
            Kind::SystemVariable,
            run(bytes, start + 2, |byte| is_word(byte) || byte == b'.'),
        ),
        b'@' => (
            Kind::UserVariable,
            run(bytes, start + 1, |byte| is_word(byte) || byte == b'.'),
        ),
        byte if is_word(byte) => (Kind::Word, run(bytes, start, is_word)),
        _ => {
            let rest = &source[start..];
            match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Kind::Symbol, start + symbol.len()),
                None if b"+-*/%=<>!(),.;&|^~".contains(&bytes[start]) => (Kind::Symbol, start + 1),
                None => (Kind::Wrong, start + 1),
            }
        }
    };
    Token { kind, start, end }
}

/// All tokens, with [`Kind::End`] last. What cannot be read becomes [`Kind::Wrong`], which no rule
/// of the grammar takes.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < source.len() {
        match skip_blank(source, at) {
            Some(after) if after > at => at = after,
            Some(_) => {
                let mut token = next_token(source, at);
                // A token never ends inside a character.
                while !source.is_char_boundary(token.end) {
                    token.end += 1;
                }
                at = token.end;
                tokens.push(token);
            }
            None => {
                tokens.push(Token {
                    kind: Kind::Wrong,
                    start: at,
                    end: source.len(),
                });
                at = source.len();
            }
        }
    }
    tokens.push(Token {
        kind: Kind::End,
        start: source.len(),
        end: source.len(),
    });
    tokens
}

/// What a string in quotes stands for (MySQL Reference Manual, "String Literals").
pub(super) fn unquoted(quoted: &str) -> String {
    let Some(quote) = quoted.chars().next() else {
        return String::new();
    };
    let inner = quoted.get(1..quoted.len() - 1).unwrap_or("");
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character == quote {
            characters.next();
            out.push(quote);
        } else if character == '\\' && quote != '`' {
            match characters.next() {
                Some('0') => out.push('\0'),
                Some('b') => out.push('\u{8}'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('Z') => out.push('\u{1a}'),
                // In a pattern `\%` stays as it is.
                Some(wild @ ('%' | '_')) => out.extend(['\\', wild]),
                Some(other) => out.push(other),
                None => out.push('\\'),
            }
        } else {
            out.push(character);
        }
    }
    out
}

//! A line of text, split into arguments as redis-cli splits it (`sdssplitargs`).
//!
//! Arguments stand between blanks. Within double quotes `\n \r \t \b \a \xHH` and `\` before any
//! other character are escapes; within single quotes only `\'` is one. A closing quote must be
//! followed by a blank or the end of the line.

/// One argument of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The bytes, with quotes and escapes resolved.
    pub bytes: Vec<u8>,
    /// Whether any part of it stood in quotes.
    pub quoted: bool,
    /// Where it begins: the first character of the line is column 1.
    pub column: usize,
}

/// A line that cannot be split: redis-cli's "Invalid argument(s)", with the place and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The column of the quote at fault, the first character of the line being column 1.
    pub column: usize,
    /// What was expected.
    pub message: &'static str,
}

/// Splits a line into arguments.
///
/// # Errors
/// A quote that is never closed, or closed and followed by something other than a blank.
pub fn split_arguments(line: &str) -> Result<Vec<Argument>, ArgumentError> {
    let mut splitter = Splitter {
        bytes: line.as_bytes(),
        at: 0,
        column: 1,
    };
    let mut arguments = Vec::new();
    loop {
        while splitter.peek().is_some_and(is_blank) {
            splitter.advance();
        }
        if splitter.peek().is_none_or(|byte| byte == 0) {
            return Ok(arguments);
        }
        arguments.push(splitter.argument()?);
    }
}

/// One argument as a line of redis-cli needs it: as it is where that is safe, in double quotes otherwise. Text that looks like one of a
/// scenario's variables is quoted too.
pub fn quote_argument(bytes: &[u8]) -> String {
    let plain = !bytes.is_empty()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\'))
        && !bytes.starts_with(b"{");
    match std::str::from_utf8(bytes) {
        Ok(text) if plain => text.to_string(),
        _ => super::reply::quote(bytes),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}

struct Splitter<'a> {
    bytes: &'a [u8],
    at: usize,
    column: usize,
}

impl Splitter<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Steps over one byte; only the first byte of a character moves the column.
    fn advance(&mut self) {
        self.at += 1;
        if self.peek().is_none_or(|byte| byte & 0xC0 != 0x80) {
            self.column += 1;
        }
    }

    fn argument(&mut self) -> Result<Argument, ArgumentError> {
        let mut argument = Argument {
            bytes: Vec::new(),
            quoted: false,
            column: self.column,
        };
        loop {
            match self.peek() {
                None | Some(0 | b' ' | b'\n' | b'\r' | b'\t') => return Ok(argument),
                Some(quote @ (b'"' | b'\'')) => {
                    argument.quoted = true;
                    self.quoted(quote, &mut argument.bytes)?;
                    if self.peek().is_some_and(|byte| !is_blank(byte)) {
                        let message = "a blank or the end of the line after the closing quote";
                        return Err(ArgumentError {
                            column: self.column,
                            message,
                        });
                    }
                    return Ok(argument);
                }
                Some(byte) => {
                    argument.bytes.push(byte);
                    self.advance();
                }
            }
        }
    }

    fn quoted(&mut self, quote: u8, bytes: &mut Vec<u8>) -> Result<(), ArgumentError> {
        let opened = self.column;
        self.advance();
        loop {
            let Some(byte) = self.peek() else {
                let message = if quote == b'"' {
                    "a closing \""
                } else {
                    "a closing '"
                };
                return Err(ArgumentError {
                    column: opened,
                    message,
                });
            };
            self.advance();
            match byte {
                _ if byte == quote => return Ok(()),
                b'\\' if quote == b'"' => self.escape(bytes),
                b'\\' if self.peek() == Some(b'\'') => {
                    bytes.push(b'\'');
                    self.advance();
                }
                _ => bytes.push(byte),
            }
        }
    }

    /// What stands after a backslash within double quotes; at the end of the line the backslash
    /// stands for itself.
    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let Some(byte) = self.peek() else {
            return bytes.push(b'\\');
        };
        self.advance();
        bytes.push(match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'a' => 7,
            b'x' => match (self.hex_digit(0), self.hex_digit(1)) {
                (Some(high), Some(low)) => {
                    self.advance();
                    self.advance();
                    high * 16 + low
                }
                _ => b'x',
            },
            other => other,
        });
    }

    fn hex_digit(&self, ahead: usize) -> Option<u8> {
        let digit = char::from(*self.bytes.get(self.at + ahead)?).to_digit(16)?;
        u8::try_from(digit).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let got = match split_arguments(line) {
            Ok(arguments) => arguments
                .iter()
                .map(|one| {
                    let mark = if one.quoted { "q" } else { "" };
                    format!("{}{mark}:{}", one.column, one.bytes.escape_ascii())
                })
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => format!("{}! {}", error.column, error.message),
        };
        assert_eq!(got, expected, "{line}");
    }

    #[test]
    fn lines_split_as_redis_cli_splits_them() {
        check("", "");
        check("  SET  k v ", "3:SET 8:k 10:v");
        check(r#"SET k "a b""#, r"1:SET 5:k 7q:a b");
        check(r#"a "\x41\xfg\n\"\q" c"#, r#"1:a 3q:Axfg\n\"q 20:c"#);
        check(r"a 'b\'c\n' d", r"1:a 3q:b\'c\\n 12:d");
        check(r#"pre"post" x"#, "1q:prepost 11:x");
        check("é 'ö' x", r"1:\xc3\xa9 3q:\xc3\xb6 7:x");
        check("\"\" ''", "1q: 4q:");
        check(r#"a "b"#, "3! a closing \"");
        check("a 'b", "3! a closing '");
        check(
            r#"a "b"c"#,
            "6! a blank or the end of the line after the closing quote",
        );
        check(r#"a "b\"#, "3! a closing \"");
    }
}

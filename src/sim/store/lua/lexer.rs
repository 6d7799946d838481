//! A script's text as tokens, with Lua 5.1's rules and its error texts.

use std::rc::Rc;

use super::number;

/// The names that a script uses are shared between its tokens, its variables and its constants.
pub(super) type Name = Rc<[u8]>;
/// The text does not compile; the lexer holds the error ([`Lexer::failure`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure;

macro_rules! words {
    ($($name:ident $text:literal)*) => {
        /// A reserved word or an operator of more than one character.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Word { $($name),* }
        const WORDS: &[(Word, &str)] = &[$((Word::$name, $text)),*];
    };
}

words! {
    And "and" Break "break" Do "do" Else "else" Elseif "elseif" End "end" False "false" For "for"
    Function "function" If "if" In "in" Local "local" Nil "nil" Not "not" Or "or" Repeat "repeat"
    Return "return" Then "then" True "true" Until "until" While "while"
    Concat ".." Dots "..." Equal "==" GreaterEqual ">=" LessEqual "<=" NotEqual "~="
}

/// How many of them are reserved words.
const RESERVED: usize = 21;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Char(u8),
    Word(Word),
    Number(f64),
    Name(Name),
    String(Name),
    End,
}

impl Token {
    /// How an error names a token that was expected.
    pub fn expected_text(&self) -> Vec<u8> {
        match self {
            Token::Char(c) if c.is_ascii_control() => format!("char({c})").into_bytes(),
            Token::Char(c) => vec![*c],
            Token::Word(word) => WORDS
                .iter()
                .find(|(other, _)| other == word)
                .map_or_else(Vec::new, |(_, text)| text.as_bytes().to_vec()),
            Token::Number(_) => b"<number>".to_vec(),
            Token::Name(_) => b"<name>".to_vec(),
            Token::String(_) => b"<string>".to_vec(),
            Token::End => b"<eof>".to_vec(),
        }
    }
}

/// Cuts a text into tokens, one ahead of the parser.
pub(super) struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    /// What errors call the text, such as `user_script`.
    pub chunk: &'a [u8],
    /// Line of the token that was read last.
    pub line: u32,
    /// Line of the token before the current one.
    pub last_line: u32,
    pub token: Token,
    ahead: Option<Token>,
    /// The bytes of the token being read.
    buffer: Vec<u8>,
    /// The error's text, complete with place.
    pub failure: Vec<u8>,
}

impl<'a> Lexer<'a> {
    pub fn new(source: &'a [u8], chunk: &'a [u8]) -> Lexer<'a> {
        Lexer {
            source,
            at: 0,
            chunk,
            line: 1,
            last_line: 1,
            token: Token::End,
            ahead: None,
            buffer: Vec::new(),
            failure: Vec::new(),
        }
    }

    /// Moves on to the next token.
    pub fn advance(&mut self) -> Result<(), Failure> {
        self.last_line = self.line;
        self.token = match self.ahead.take() {
            Some(token) => token,
            None => self.read()?,
        };
        Ok(())
    }

    /// Looks at the token after the current one.
    pub fn look_ahead(&mut self) -> Result<&Token, Failure> {
        let token = match self.ahead.take() {
            Some(token) => token,
            None => self.read()?,
        };
        Ok(self.ahead.insert(token))
    }

    /// An error at the current token.
    pub fn error(&mut self, message: &[u8]) -> Failure {
        let token = self.token.clone();
        self.error_near(message, Some(&token))
    }

    /// An error, near a token or without one.
    pub fn error_near(&mut self, message: &[u8], token: Option<&Token>) -> Failure {
        let mut text = number::until_zero(self.chunk).to_vec();
        text.extend_from_slice(format!(":{}: ", self.line).as_bytes());
        text.extend_from_slice(message);
        // Lua takes the token of a zero byte for none.
        if let Some(token) = token.filter(|token| !matches!(token, Token::Char(0))) {
            text.extend_from_slice(b" near '");
            match token {
                Token::Name(_) | Token::String(_) | Token::Number(_) => {
                    text.extend_from_slice(number::until_zero(&self.buffer));
                }
                other => text.extend_from_slice(&other.expected_text()),
            }
            text.push(b'\'');
        }
        self.failure = text;
        Failure
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    /// Keeps the current byte and moves on.
    fn keep(&mut self) {
        if let Some(byte) = self.peek() {
            self.buffer.push(byte);
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    /// Passes an end of line: one byte, or two different ones.
    fn new_line(&mut self) {
        let first = self.peek();
        self.at += 1;
        let second = self.peek();
        if matches!(second, Some(b'\n' | b'\r')) && second != first {
            self.at += 1;
        }
        self.line += 1;
    }

    fn read(&mut self) -> Result<Token, Failure> {
        self.buffer.clear();
        loop {
            let Some(byte) = self.peek() else {
                return Ok(Token::End);
            };
            match byte {
                b'\n' | b'\r' => self.new_line(),
                b'-' => {
                    self.at += 1;
                    if self.peek() != Some(b'-') {
                        return Ok(Token::Char(b'-'));
                    }
                    self.at += 1;
                    self.comment()?;
                }
                b'[' => {
                    let level = self.bracket_level();
                    match level {
                        Some(level) => return self.long_string(level, false),
                        None if self.buffer.len() == 1 => return Ok(Token::Char(b'[')),
                        None => {
                            let near = Token::String(Name::from(&b""[..]));
                            return Err(
                                self.error_near(b"invalid long string delimiter", Some(&near))
                            );
                        }
                    }
                }
                b'=' => return Ok(self.maybe_equal(Word::Equal)),
                b'<' => return Ok(self.maybe_equal(Word::LessEqual)),
                b'>' => return Ok(self.maybe_equal(Word::GreaterEqual)),
                b'~' => return Ok(self.maybe_equal(Word::NotEqual)),
                b'"' | b'\'' => return self.string(byte),
                b'.' => return self.dots(),
                _ if number::is_space(byte) => self.at += 1,
                b'0'..=b'9' => return self.numeral(),
                _ if byte.is_ascii_alphabetic() || byte == b'_' => return Ok(self.name()),
                _ => {
                    self.at += 1;
                    return Ok(Token::Char(byte));
                }
            }
        }
    }

    fn maybe_equal(&mut self, word: Word) -> Token {
        let byte = self.source[self.at];
        self.at += 1;
        if self.accept(b'=') {
            Token::Word(word)
        } else {
            Token::Char(byte)
        }
    }

    fn comment(&mut self) -> Result<(), Failure> {
        if self.peek() == Some(b'[') {
            let level = self.bracket_level();
            self.buffer.clear();
            if let Some(level) = level {
                self.long_string(level, true)?;
                self.buffer.clear();
                return Ok(());
            }
        }
        while !matches!(self.peek(), None | Some(b'\n' | b'\r')) {
            self.at += 1;
        }
        Ok(())
    }

    /// Reads `[` and the `=` after it; how many of them, when another `[` follows.
    fn bracket_level(&mut self) -> Option<usize> {
        let bracket = self.peek();
        self.keep();
        let mut level = 0;
        while self.peek() == Some(b'=') {
            self.keep();
            level += 1;
        }
        (self.peek() == bracket).then_some(level)
    }

    fn long_string(&mut self, level: usize, comment: bool) -> Result<Token, Failure> {
        self.keep();
        if matches!(self.peek(), Some(b'\n' | b'\r')) {
            self.new_line();
        }
        loop {
            match self.peek() {
                None => {
                    let what = if comment { "comment" } else { "string" };
                    let message = format!("unfinished long {what}");
                    return Err(self.error_near(message.as_bytes(), Some(&Token::End)));
                }
                Some(b'[') => {
                    if self.bracket_level() == Some(level) {
                        self.keep();
                        if level == 0 {
                            return Err(self.error_near(
                                b"nesting of [[...]] is deprecated",
                                Some(&Token::Char(b'[')),
                            ));
                        }
                    }
                }
                Some(b']') => {
                    if self.bracket_level() == Some(level) {
                        self.keep();
                        break;
                    }
                }
                Some(b'\n' | b'\r') => {
                    self.new_line();
                    self.buffer.push(b'\n');
                }
                Some(_) if comment => self.at += 1,
                Some(_) => self.keep(),
            }
            if comment {
                self.buffer.clear();
            }
        }
        if comment {
            return Ok(Token::End);
        }
        let edge = level + 2;
        Ok(Token::String(Name::from(
            &self.buffer[edge..self.buffer.len() - edge],
        )))
    }

    fn string(&mut self, quote: u8) -> Result<Token, Failure> {
        self.keep();
        loop {
            match self.peek() {
                None => return Err(self.error_near(b"unfinished string", Some(&Token::End))),
                Some(b'\n' | b'\r') => {
                    let near = Token::String(Name::from(&b""[..]));
                    return Err(self.error_near(b"unfinished string", Some(&near)));
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(byte) if byte == quote => {
                    self.keep();
                    return Ok(Token::String(Name::from(
                        &self.buffer[1..self.buffer.len() - 1],
                    )));
                }
                Some(_) => self.keep(),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Failure> {
        let Some(byte) = self.peek() else {
            return Ok(());
        };
        let meant = match byte {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\n' | b'\r' => {
                self.new_line();
                self.buffer.push(b'\n');
                return Ok(());
            }
            b'0'..=b'9' => return self.decimal_escape(),
            other => other,
        };
        self.at += 1;
        self.buffer.push(meant);
        Ok(())
    }

    fn decimal_escape(&mut self) -> Result<(), Failure> {
        let mut code = 0u32;
        for _ in 0..3 {
            match self.peek() {
                Some(digit @ b'0'..=b'9') => code = 10 * code + u32::from(digit - b'0'),
                _ => break,
            }
            self.at += 1;
        }
        match u8::try_from(code) {
            Ok(byte) => {
                self.buffer.push(byte);
                Ok(())
            }
            Err(_) => {
                let near = Token::String(Name::from(&b""[..]));
                Err(self.error_near(b"escape sequence too large", Some(&near)))
            }
        }
    }

    fn dots(&mut self) -> Result<Token, Failure> {
        if self.source.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            return self.numeral();
        }
        self.at += 1;
        if !self.accept(b'.') {
            return Ok(Token::Char(b'.'));
        }
        Ok(Token::Word(if self.accept(b'.') {
            Word::Dots
        } else {
            Word::Concat
        }))
    }

    fn numeral(&mut self) -> Result<Token, Failure> {
        while matches!(self.peek(), Some(b'0'..=b'9' | b'.')) {
            self.keep();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.keep();
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.keep();
            }
        }
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            self.keep();
        }
        match number::parse(&self.buffer) {
            Some(number) => Ok(Token::Number(number)),
            None => Err(self.error_near(b"malformed number", Some(&Token::Number(0.0)))),
        }
    }

    fn name(&mut self) -> Token {
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            self.keep();
        }
        let reserved = WORDS[..RESERVED]
            .iter()
            .find(|(_, text)| text.as_bytes() == self.buffer);
        match reserved {
            Some((word, _)) => Token::Word(*word),
            None => Token::Name(Name::from(&self.buffer[..])),
        }
    }
}

//! The Lua that a model can say: `if`, `local`, `return`, comparisons, and calls of `redis.call` with keys and arguments.

use super::super::Refusal;

/// A script, read.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Local(String, Value),
    Call(Value),
    Return(Value),
    If(Value, Vec<Line>, Vec<Line>),
}

/// An expression of a script.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Nil,
    Truth(bool),
    Number(i64),
    Text(String),
    Key(usize),
    Argument(usize),
    Local(String),
    /// `redis.call` with the command and its arguments.
    Call(Vec<Value>),
    /// Whether two values are equal, or are not.
    Compare(bool, Box<Value>, Box<Value>),
    Not(Box<Value>),
}

/// Reads a script.
///
/// # Errors
/// What in it a model cannot say.
pub(super) fn read(source: &str) -> Result<Vec<Line>, Refusal> {
    let words = words(source)?;
    let mut reader = Reader { words, at: 0 };
    let lines = reader.block()?;
    match reader.peek() {
        "" => Ok(lines),
        _ => Err(reader.refuse()),
    }
}

/// The words of a script: names with their dots, numbers, texts with a quote in front, signs.
fn words(source: &str) -> Result<Vec<String>, Refusal> {
    let mut words = Vec::new();
    for line in source.lines() {
        let mut rest = line.split("--").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let is_part = |part: char| part.is_ascii_alphanumeric() || part == '_' || part == '.';
            let length = match first {
                '\'' | '"' => {
                    let end = rest[1..].find(first).ok_or_else(|| cannot(rest))?;
                    words.push(format!("'{}", &rest[1..=end]));
                    rest = rest[end + 2..].trim_start();
                    continue;
                }
                _ if is_part(first) => rest.find(|part| !is_part(part)).unwrap_or(rest.len()),
                '=' | '~' if rest[1..].starts_with('=') => 2,
                _ => first.len_utf8(),
            };
            words.push(rest[..length].to_string());
            rest = rest[length..].trim_start();
        }
    }
    Ok(words)
}

fn cannot(what: &str) -> Refusal {
    Refusal(format!(
        "its script goes beyond `if`, `local`, `return` and `redis.call` at `{what}`"
    ))
}

struct Reader {
    words: Vec<String>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> &str {
        self.words.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let word = self.peek().to_string();
        self.at += 1;
        word
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), Refusal> {
        match self.accept(word) {
            true => Ok(()),
            false => Err(self.refuse()),
        }
    }

    fn refuse(&self) -> Refusal {
        cannot(self.peek().trim_start_matches('\''))
    }

    fn block(&mut self) -> Result<Vec<Line>, Refusal> {
        let mut lines = Vec::new();
        while !matches!(self.peek(), "" | "end" | "else" | "elseif") {
            lines.push(self.line()?);
        }
        Ok(lines)
    }

    fn line(&mut self) -> Result<Line, Refusal> {
        if self.accept("if") {
            return self.condition();
        }
        if self.accept("return") {
            let is_bare = matches!(self.peek(), "" | "end" | "else");
            return Ok(Line::Return(match is_bare {
                true => Value::Nil,
                false => self.value()?,
            }));
        }
        if self.accept("local") {
            let name = self.next();
            self.expect("=")?;
            return Ok(Line::Local(name, self.value()?));
        }
        match self.value()? {
            call @ Value::Call(_) => Ok(Line::Call(call)),
            _ => Err(self.refuse()),
        }
    }

    /// What stands behind `if`, to its `end`.
    fn condition(&mut self) -> Result<Line, Refusal> {
        let condition = self.value()?;
        self.expect("then")?;
        let then = self.block()?;
        if self.accept("elseif") {
            let otherwise = vec![self.condition()?];
            return Ok(Line::If(condition, then, otherwise));
        }
        let otherwise = match self.accept("else") {
            true => self.block()?,
            false => Vec::new(),
        };
        self.expect("end")?;
        Ok(Line::If(condition, then, otherwise))
    }

    fn value(&mut self) -> Result<Value, Refusal> {
        if self.accept("not") {
            return Ok(Value::Not(Box::new(self.value()?)));
        }
        let left = self.operand()?;
        let is_equal = match self.peek() {
            "==" => true,
            "~=" => false,
            "and" | "or" | "+" | "-" | "*" | "/" | "<" | ">" | "<=" | ">=" | "[" => {
                return Err(self.refuse());
            }
            _ => return Ok(left),
        };
        self.at += 1;
        let right = self.operand()?;
        Ok(Value::Compare(is_equal, Box::new(left), Box::new(right)))
    }

    fn operand(&mut self) -> Result<Value, Refusal> {
        let word = self.next();
        match word.as_str() {
            "nil" => Ok(Value::Nil),
            "true" | "false" => Ok(Value::Truth(word == "true")),
            "KEYS" | "ARGV" => {
                self.expect("[")?;
                let place = self.next().parse().ok().filter(|place| *place > 0);
                let place: usize = place.ok_or_else(|| self.refuse())?;
                self.expect("]")?;
                Ok(match word.as_str() {
                    "KEYS" => Value::Key(place - 1),
                    _ => Value::Argument(place - 1),
                })
            }
            "redis.call" | "redis.pcall" => {
                self.expect("(")?;
                let mut arguments = vec![self.operand()?];
                while self.accept(",") {
                    arguments.push(self.operand()?);
                }
                self.expect(")")?;
                Ok(Value::Call(arguments))
            }
            "(" => {
                let value = self.value()?;
                self.expect(")")?;
                Ok(value)
            }
            _ => self.literal_or_name(&word),
        }
    }

    fn literal_or_name(&mut self, word: &str) -> Result<Value, Refusal> {
        if let Some(text) = word.strip_prefix('\'') {
            return Ok(Value::Text(text.to_string()));
        }
        if let Ok(number) = word.parse() {
            return Ok(Value::Number(number));
        }
        let is_name = word
            .chars()
            .all(|part| part.is_ascii_alphanumeric() || part == '_');
        if is_name && !word.is_empty() && self.peek() != "(" {
            return Ok(Value::Local(word.to_string()));
        }
        Err(cannot(word))
    }
}

//! The SQL that a model can say: an UPDATE, or a SELECT, of one row that WHERE names by its primary key, in whole numbers.

use super::super::Refusal;
use super::Comparison;
use crate::sim::database::Statement;

/// A statement, read.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub table: String,
    /// The columns that a SELECT asks for; none in an UPDATE.
    pub selected: Option<Vec<String>>,
    pub assigned: Vec<(String, Sum)>,
    pub conditions: Vec<Condition>,
}

/// `left < right`
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub comparison: Comparison,
    pub left: Sum,
    pub right: Sum,
}

/// `qty - 1`: terms that are added, or taken away.
pub(super) type Sum = Vec<(bool, Term)>;

/// A column, a number, a text or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Column(String),
    Number(i64),
    Text(String),
    Variable(String),
}

/// Reads a statement.
///
/// # Errors
/// What in it a model cannot say.
pub(super) fn read(statement: &Statement) -> Result<Written, Refusal> {
    let mut words = Vec::new();
    for (text, variable) in statement.pieces() {
        split(text, &mut words)?;
        words.extend(variable.map(|name| Word::Term(Term::Variable(name.to_string()))));
    }
    let mut reader = Reader { words, at: 0 };
    let written = reader.statement()?;
    reader.accept(";");
    match reader.peek() {
        None => Ok(written),
        Some(_) => Err(reader.refuse()),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Term(Term),
    Sign(String),
}

fn split(text: &str, words: &mut Vec<Word>) -> Result<(), Refusal> {
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_part = |part: char| part.is_ascii_alphanumeric() || part == '_';
        let length = match first {
            '\'' | '`' => {
                let end = rest[1..].find(first).ok_or_else(|| cannot(rest))?;
                let inner = rest[1..=end].to_string();
                words.push(Word::Term(match first {
                    '`' => Term::Column(inner),
                    _ => Term::Text(inner),
                }));
                rest = rest[end + 2..].trim_start();
                continue;
            }
            _ if is_part(first) => rest.find(|part| !is_part(part)).unwrap_or(rest.len()),
            '<' | '>' | '!' => {
                1 + rest[1..]
                    .chars()
                    .take_while(|sign| "=>".contains(*sign))
                    .count()
            }
            _ => first.len_utf8(),
        };
        let word = &rest[..length];
        words.push(match (word.parse(), is_part(first)) {
            (Ok(number), _) => Word::Term(Term::Number(number)),
            (_, true) => Word::Term(Term::Column(word.to_string())),
            (_, false) => Word::Sign(word.to_string()),
        });
        rest = rest[length..].trim_start();
    }
    Ok(())
}

fn cannot(what: &str) -> Refusal {
    Refusal(format!(
        "its statement goes beyond an UPDATE or a SELECT of one row by its key at `{what}`"
    ))
}

struct Reader {
    words: Vec<Word>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    fn refuse(&self) -> Refusal {
        cannot(&match self.peek() {
            None => "its end".to_string(),
            Some(Word::Sign(sign)) => sign.clone(),
            Some(Word::Term(Term::Number(number))) => number.to_string(),
            Some(Word::Term(Term::Column(name) | Term::Text(name) | Term::Variable(name))) => {
                name.clone()
            }
        })
    }

    /// Takes a keyword or a sign.
    fn accept(&mut self, wanted: &str) -> bool {
        let found = match self.peek() {
            Some(Word::Term(Term::Column(word)) | Word::Sign(word)) => {
                word.eq_ignore_ascii_case(wanted)
            }
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: &str) -> Result<(), Refusal> {
        match self.accept(wanted) {
            true => Ok(()),
            false => Err(self.refuse()),
        }
    }

    fn term(&mut self) -> Result<Term, Refusal> {
        match self.peek() {
            Some(Word::Term(term)) => {
                let term = term.clone();
                self.at += 1;
                Ok(term)
            }
            _ => Err(self.refuse()),
        }
    }

    fn name(&mut self) -> Result<String, Refusal> {
        match self.term()? {
            Term::Column(name) => Ok(name),
            _ => Err(self.refuse()),
        }
    }

    fn statement(&mut self) -> Result<Written, Refusal> {
        let mut written = Written {
            table: String::new(),
            selected: None,
            assigned: Vec::new(),
            conditions: Vec::new(),
        };
        if self.accept("SELECT") {
            let mut columns = vec![self.name()?];
            while self.accept(",") {
                columns.push(self.name()?);
            }
            written.selected = Some(columns);
            self.expect("FROM")?;
            written.table = self.name()?;
        } else {
            self.expect("UPDATE")?;
            written.table = self.name()?;
            self.expect("SET")?;
            loop {
                let column = self.name()?;
                self.expect("=")?;
                let value = self.sum()?;
                written.assigned.push((column, value));
                if !self.accept(",") {
                    break;
                }
            }
        }
        self.expect("WHERE")?;
        loop {
            written.conditions.push(self.condition()?);
            if !self.accept("AND") {
                return Ok(written);
            }
        }
    }

    fn sum(&mut self) -> Result<Sum, Refusal> {
        let mut sum = vec![(true, self.term()?)];
        loop {
            let is_added = match self.peek() {
                Some(Word::Sign(sign)) if sign == "+" => true,
                Some(Word::Sign(sign)) if sign == "-" => false,
                _ => return Ok(sum),
            };
            self.at += 1;
            sum.push((is_added, self.term()?));
        }
    }

    fn condition(&mut self) -> Result<Condition, Refusal> {
        let left = self.sum()?;
        let Some(Word::Sign(sign)) = self.peek().cloned() else {
            return Err(self.refuse());
        };
        let (comparison, swaps) = match sign.as_str() {
            "=" => (Comparison::Equal, false),
            "<>" | "!=" => (Comparison::NotEqual, false),
            "<" => (Comparison::Less, false),
            "<=" => (Comparison::LessOrEqual, false),
            ">" => (Comparison::Less, true),
            ">=" => (Comparison::LessOrEqual, true),
            _ => return Err(self.refuse()),
        };
        self.at += 1;
        let right = self.sum()?;
        let (left, right) = if swaps { (right, left) } else { (left, right) };
        Ok(Condition {
            comparison,
            left,
            right,
        })
    }
}

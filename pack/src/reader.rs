//! Bytes read from the front, with what is wrong and where.

use std::fmt;
use std::ops::Range;

/// Why a program cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    expected: String,
    place: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "byte {}: expected {}", self.place, self.expected)
    }
}

impl std::error::Error for Malformed {}

pub(crate) struct Reader<'a> {
    program: &'a [u8],
    range: Range<usize>,
}

impl<'a> Reader<'a> {
    pub fn new(program: &'a [u8], range: Range<usize>) -> Reader<'a> {
        Reader { program, range }
    }

    pub fn place(&self) -> usize {
        self.range.start
    }

    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    pub fn malformed(&self, expected: &str) -> Malformed {
        Malformed {
            expected: expected.to_string(),
            place: self.range.start,
        }
    }

    /// The bytes since a place that was read before.
    pub fn since(&self, place: usize) -> &'a [u8] {
        &self.program[place..self.range.start]
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        if length > self.range.len() {
            return Err(self.malformed(&format!("{length} more bytes")));
        }
        let begin = self.range.start;
        self.range.start += length;
        Ok(self.since(begin))
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    /// A number in LEB128, of either sign, as it stands there.
    pub fn leb(&mut self) -> Result<&'a [u8], Malformed> {
        let begin = self.range.start;
        while self.byte()? > 127 {}
        Ok(self.since(begin))
    }

    pub fn number(&mut self) -> Result<u64, Malformed> {
        Ok(unsigned(self.leb()?))
    }

    /// A number that is no longer than it has to be, as `unpack.js` will write it.
    pub fn shortest(&mut self) -> Result<u64, Malformed> {
        let bytes = self.leb()?;
        if bytes.len() > 1 && bytes.ends_with(&[0]) {
            return Err(self.malformed("a length before here that is written as shortly as can be"));
        }
        Ok(unsigned(bytes))
    }
}

/// The value of an unsigned number in LEB128.
fn unsigned(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |number, byte| number << 7 | u64::from(byte & 127))
}

/// The value of a signed number in LEB128.
pub(crate) fn signed(bytes: &[u8]) -> i64 {
    let bits = bytes.len() * 7;
    let number = bytes
        .iter()
        .rev()
        .fold(0i128, |number, byte| number << 7 | i128::from(byte & 127));
    let is_negative = bytes.last().is_some_and(|byte| byte & 64 != 0);
    (number - if is_negative { 1 << bits } else { 0 }) as i64
}

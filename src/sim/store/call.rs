//! One call of a command: its arguments, read as Redis reads them, and the texts of its errors.

use std::borrow::Cow;

use super::blocking::{self, Waiting};
use super::number;
use super::reply::Reply;
use super::table::Command;

/// What a handler gives back: one reply, or what stands in its place.
pub(super) type Answer = Result<Reply, Instead>;

/// What a command has instead of one reply.
#[derive(Debug)]
pub(super) enum Instead {
    /// An error, with its prefix.
    Error(Cow<'static, str>),
    /// No reply yet: the connection waits.
    Wait(Waiting),
    /// Several replies, as SUBSCRIBE sends them.
    Several(Vec<Reply>),
}

impl From<&'static str> for Instead {
    fn from(text: &'static str) -> Instead {
        Instead::Error(Cow::Borrowed(text))
    }
}

impl From<String> for Instead {
    fn from(text: String) -> Instead {
        Instead::Error(Cow::Owned(text))
    }
}

pub(super) const SYNTAX: &str = "ERR syntax error";
pub(super) const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
pub(super) const NOT_A_FLOAT: &str = "ERR value is not a valid float";
pub(super) const WRONG_TYPE: &str =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
pub(super) const NO_SUCH_KEY: &str = "ERR no such key";
pub(super) const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";
pub(super) const OVERFLOW: &str = "ERR increment or decrement would overflow";
pub(super) const NOT_POSITIVE: &str = "ERR value is out of range, must be positive";

/// A command with the arguments of one call; the table has checked how many there are.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) command: &'static Command,
    pub(super) argv: &'a [Vec<u8>],
}

impl<'a> Call<'a> {
    /// The argument at this place, the command's name being 0; empty beyond the last.
    pub(super) fn arg(&self, at: usize) -> &'a [u8] {
        self.argv.get(at).map_or(&[], Vec::as_slice)
    }

    /// How many there are, with the command's name.
    pub(super) fn len(&self) -> usize {
        self.argv.len()
    }

    /// All arguments from this place on.
    pub(super) fn from(&self, at: usize) -> &'a [Vec<u8>] {
        self.argv.get(at..).unwrap_or(&[])
    }

    /// Whether the argument at this place is this word, in whatever case.
    pub(super) fn is(&self, at: usize, word: &str) -> bool {
        at < self.argv.len() && self.arg(at).eq_ignore_ascii_case(word.as_bytes())
    }

    /// The argument as an integer.
    pub(super) fn integer(&self, at: usize) -> Result<i64, Instead> {
        number::parse_integer(self.arg(at)).ok_or_else(|| NOT_AN_INTEGER.into())
    }

    /// The argument as an integer from this range, as `getRangeLongFromObjectOrReply` has it.
    pub(super) fn integer_within(
        &self,
        at: usize,
        lowest: i64,
        highest: i64,
        error: &'static str,
    ) -> Result<i64, Instead> {
        let number = number::parse_integer(self.arg(at))
            .filter(|number| (lowest..=highest).contains(number));
        number.ok_or_else(|| error.into())
    }

    /// The argument as an integer that stays one with its sign turned.
    pub(super) fn negatable(&self, at: usize) -> Result<i64, Instead> {
        match self.integer(at)? {
            i64::MIN => Err("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807".into()),
            number => Ok(number),
        }
    }

    /// The argument as an integer of 32 bits.
    pub(super) fn short_integer(&self, at: usize) -> Result<i32, Instead> {
        let out_of_range =
            "ERR value is out of range, value must between -2147483648 and 2147483647";
        i32::try_from(self.integer(at)?).map_err(|_| out_of_range.into())
    }

    /// The argument as an integer that is not negative.
    pub(super) fn not_negative(&self, at: usize) -> Result<i64, Instead> {
        self.integer_within(at, 0, i64::MAX, NOT_POSITIVE)
    }

    /// The keys whose number stands at this place, as LMPOP and ZMPOP take them, and the place after
    /// them, where something must stand.
    pub(super) fn counted_keys(&self, at: usize) -> Result<(&'a [Vec<u8>], usize), Instead> {
        let number =
            self.integer_within(at, 1, i64::MAX, "ERR numkeys should be greater than 0")?;
        let after = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_add(at + 1));
        let after = after.filter(|after| *after < self.len()).ok_or(SYNTAX)?;
        Ok((self.argv.get(at + 1..after).unwrap_or(&[]), after))
    }

    /// How many elements LMPOP and ZMPOP shall pop: 1, or what COUNT says from this place on.
    pub(super) fn pop_count(&self, at: usize) -> Result<i64, Instead> {
        if at >= self.len() {
            return Ok(1);
        }
        if !self.is(at, "COUNT") || at + 1 >= self.len() {
            return Err(SYNTAX.into());
        }
        let number =
            self.integer_within(at + 1, 1, i64::MAX, "ERR count should be greater than 0")?;
        if at + 2 < self.len() {
            Err(SYNTAX.into())
        } else {
            Ok(number)
        }
    }

    /// The keys and the timeout of BLPOP and its kin, which take the timeout last.
    pub(super) fn keys_and_timeout(&self) -> Result<(&'a [Vec<u8>], Option<u64>), Instead> {
        let last = self.len().saturating_sub(1);
        Ok((
            self.argv.get(1..last).unwrap_or(&[]),
            blocking::seconds(self, last)?,
        ))
    }

    /// The arguments in pairs from this place on; a last one alone is left out.
    pub(super) fn pairs(&self, at: usize) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.from(at)
            .chunks_exact(2)
            .map(|pair| (pair[0].as_slice(), pair[1].as_slice()))
    }

    /// The error of a wrong number of arguments.
    pub(super) fn wrong_arity(&self) -> Instead {
        self.command.wrong_arity().into()
    }

    /// The error of a time to live that is not positive or overflows.
    pub(super) fn invalid_expire(&self) -> Instead {
        format!(
            "ERR invalid expire time in '{}' command",
            self.command.shown_name()
        )
        .into()
    }
}

/// The beginning of a text as C prints it: up to a zero byte and a number of bytes.
pub(super) fn shown(text: &[u8], longest: usize) -> String {
    let end = text
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(text.len())
        .min(longest);
    String::from_utf8_lossy(&text[..end]).into_owned()
}

/// An error text that holds a user's words, fit for a reply of one line.
pub(super) fn on_one_line(text: &str) -> String {
    text.trim_end_matches(['\r', '\n'])
        .replace(['\r', '\n'], " ")
}

/// What the bounds of a range such as GETRANGE's or LRANGE's select of `length` places, as first and
/// one past the last: negative bounds count from the end.
pub(super) fn range(start: i64, stop: i64, length: usize) -> std::ops::Range<usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = |bound: i64| {
        if bound < 0 {
            bound.saturating_add(length).max(0)
        } else {
            bound
        }
    };
    let after_end = if stop < 0 {
        stop.saturating_add(length).saturating_add(1).max(0)
    } else {
        stop.saturating_add(1).min(length)
    };
    let start = place(start);
    if start >= after_end {
        0..0
    } else {
        index(start)..index(after_end)
    }
}

/// A place that is known to lie within something in memory.
pub(super) fn index(place: i64) -> usize {
    usize::try_from(place).unwrap_or(0)
}

/// A number of elements that a command asks for, cut to what memory can hold; a negative one is
/// without limit.
pub(super) fn at_most(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A length as a reply has it.
pub(super) fn count(length: usize) -> Reply {
    Reply::Integer(i64::try_from(length).unwrap_or(i64::MAX))
}

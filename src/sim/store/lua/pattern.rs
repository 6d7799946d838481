//! Lua's patterns. Matching backtracks, so every step is counted against the fuel, and its recursion,
//! which follows the pattern and not the subject, against a depth.

/// Captures of one pattern.
pub(super) const MAX_CAPTURES: usize = 32;
/// Recursion of the matcher: one level for each repetition and capture of a pattern.
const MAX_DEPTH: u32 = 400;
const ESCAPE: u8 = b'%';

/// How far a capture has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Unfinished,
    /// `()`: only the place counts.
    Position,
    Bytes(usize),
}

/// What a pair of parentheses captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    pub start: usize,
    pub length: Length,
}

/// Why matching stopped.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
    Pattern(&'static str),
    Fuel,
}

/// A pattern being matched against a subject.
pub(super) struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    pub captures: [Capture; MAX_CAPTURES],
    pub level: usize,
    depth: u32,
    /// Steps that are left.
    pub steps: u64,
}

type Matched = Result<Option<usize>, Trouble>;

impl<'a> Matcher<'a> {
    /// The pattern ends at its first zero byte, as in Lua 5.1.
    pub fn new(subject: &'a [u8], pattern: &'a [u8], steps: u64) -> Matcher<'a> {
        let none = Capture {
            start: 0,
            length: Length::Unfinished,
        };
        let captures = [none; MAX_CAPTURES];
        Matcher {
            subject,
            pattern,
            captures,
            level: 0,
            depth: 0,
            steps,
        }
    }

    /// Matches the pattern (from `at` in it) at a place of the subject; the end of the match.
    pub fn match_at(&mut self, start: usize, at: usize) -> Matched {
        self.level = 0;
        self.depth = 0;
        self.matches(start, at)
    }

    fn step(&mut self) -> Result<(), Trouble> {
        if self.steps == 0 {
            return Err(Trouble::Fuel);
        }
        self.steps -= 1;
        Ok(())
    }

    fn deeper(&mut self, s: usize, p: usize) -> Matched {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Trouble::Pattern("pattern too complex"));
        }
        let result = self.matches(s, p);
        self.depth -= 1;
        result
    }

    fn matches(&mut self, start: usize, at: usize) -> Matched {
        let (mut s, mut p) = (start, at);
        loop {
            self.step()?;
            let Some(&c) = self.pattern.get(p) else {
                return Ok(Some(s));
            };
            let next = self.pattern.get(p + 1).copied();
            match c {
                b'(' if next == Some(b')') => {
                    return self.start_capture(s, p + 2, Length::Position);
                }
                b'(' => return self.start_capture(s, p + 1, Length::Unfinished),
                b')' => return self.end_capture(s, p + 1),
                b'$' if next.is_none() => {
                    return Ok((s == self.subject.len()).then_some(s));
                }
                ESCAPE if next == Some(b'b') => match self.balance(s, p + 2)? {
                    Some(end) => {
                        s = end;
                        p += 4;
                        continue;
                    }
                    None => return Ok(None),
                },
                ESCAPE if next == Some(b'f') => {
                    p += 2;
                    if self.pattern.get(p) != Some(&b'[') {
                        return Err(Trouble::Pattern("missing '[' after '%f' in pattern"));
                    }
                    let end = self.class_end(p)?;
                    let before = if s == 0 { 0 } else { self.subject[s - 1] };
                    let here = self.subject.get(s).copied().unwrap_or(0);
                    if self.in_set(before, p, end - 1) || !self.in_set(here, p, end - 1) {
                        return Ok(None);
                    }
                    p = end;
                    continue;
                }
                ESCAPE if next.is_some_and(|c| c.is_ascii_digit()) => {
                    match self.back_reference(s, next.unwrap_or(b'0'))? {
                        Some(end) => {
                            s = end;
                            p += 2;
                            continue;
                        }
                        None => return Ok(None),
                    }
                }
                _ => {}
            }
            let end = self.class_end(p)?;
            let single = s < self.subject.len() && self.single(self.subject[s], p, end);
            match self.pattern.get(end) {
                Some(b'?') => {
                    if single && let Some(found) = self.deeper(s + 1, end + 1)? {
                        return Ok(Some(found));
                    }
                    p = end + 1;
                }
                Some(b'*') => return self.longest(s, p, end),
                Some(b'+') => {
                    return if single {
                        self.longest(s + 1, p, end)
                    } else {
                        Ok(None)
                    };
                }
                Some(b'-') => return self.shortest(s, p, end),
                _ if !single => return Ok(None),
                _ => {
                    s += 1;
                    p = end;
                }
            }
        }
    }

    fn longest(&mut self, s: usize, p: usize, end: usize) -> Matched {
        let mut count = 0;
        while s + count < self.subject.len() && self.single(self.subject[s + count], p, end) {
            self.step()?;
            count += 1;
        }
        loop {
            if let Some(found) = self.deeper(s + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    fn shortest(&mut self, start: usize, p: usize, end: usize) -> Matched {
        let mut s = start;
        loop {
            if let Some(found) = self.deeper(s, end + 1)? {
                return Ok(Some(found));
            }
            if s >= self.subject.len() || !self.single(self.subject[s], p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn start_capture(&mut self, s: usize, p: usize, length: Length) -> Matched {
        if self.level >= MAX_CAPTURES {
            return Err(Trouble::Pattern("too many captures"));
        }
        self.captures[self.level] = Capture { start: s, length };
        self.level += 1;
        let result = self.deeper(s, p)?;
        if result.is_none() {
            self.level -= 1;
        }
        Ok(result)
    }

    fn end_capture(&mut self, s: usize, p: usize) -> Matched {
        let open = (0..self.level)
            .rev()
            .find(|i| self.captures[*i].length == Length::Unfinished);
        let Some(open) = open else {
            return Err(Trouble::Pattern("invalid pattern capture"));
        };
        self.captures[open].length = Length::Bytes(s - self.captures[open].start);
        let result = self.deeper(s, p)?;
        if result.is_none() {
            self.captures[open].length = Length::Unfinished;
        }
        Ok(result)
    }

    fn balance(&mut self, s: usize, p: usize) -> Matched {
        let (Some(&open), Some(&close)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return Err(Trouble::Pattern("unbalanced pattern"));
        };
        if self.subject.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for (i, &c) in self.subject.iter().enumerate().skip(s + 1) {
            self.step()?;
            if c == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(i + 1));
                }
            } else if c == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    fn back_reference(&mut self, s: usize, digit: u8) -> Matched {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let capture = match self.captures.get(index) {
            Some(capture) if index < self.level => *capture,
            _ => return Err(Trouble::Pattern("invalid capture index")),
        };
        let length = match capture.length {
            Length::Bytes(length) => length,
            Length::Unfinished => return Err(Trouble::Pattern("invalid capture index")),
            // Lua takes the mark for a length that no subject has.
            Length::Position => return Ok(None),
        };
        let captured = &self.subject[capture.start..capture.start + length];
        Ok(self.subject[s..]
            .starts_with(captured)
            .then_some(s + length))
    }

    /// Where the single character class that starts at `p` ends.
    fn class_end(&self, p: usize) -> Result<usize, Trouble> {
        match self.pattern[p] {
            ESCAPE if p + 1 >= self.pattern.len() => {
                Err(Trouble::Pattern("malformed pattern (ends with '%')"))
            }
            ESCAPE => Ok(p + 2),
            b'[' => self.set_end(p),
            _ => Ok(p + 1),
        }
    }

    fn set_end(&self, p: usize) -> Result<usize, Trouble> {
        let missing = Trouble::Pattern("malformed pattern (missing ']')");
        let mut p = p + 1;
        if self.pattern.get(p) == Some(&b'^') {
            p += 1;
        }
        loop {
            let c = *self.pattern.get(p).ok_or(missing)?;
            p += 1;
            if c == ESCAPE && p < self.pattern.len() {
                p += 1;
            }
            if self.pattern.get(p) == Some(&b']') {
                return Ok(p + 1);
            }
        }
    }

    fn single(&self, c: u8, p: usize, end: usize) -> bool {
        match self.pattern[p] {
            b'.' => true,
            ESCAPE => in_class(c, self.pattern[p + 1]),
            b'[' => self.in_set(c, p, end - 1),
            other => other == c,
        }
    }

    /// Whether a set, from its `[` at `p` to its `]` at `end`, holds a byte.
    fn in_set(&self, c: u8, p: usize, end: usize) -> bool {
        let mut p = p + 1;
        let mut found = true;
        if self.pattern[p] == b'^' {
            found = false;
            p += 1;
        }
        while p < end {
            let first = self.pattern[p];
            if first == ESCAPE {
                p += 1;
                if in_class(c, self.pattern[p]) {
                    return found;
                }
                p += 1;
            } else if self.pattern[p + 1] == b'-' && p + 2 < end {
                if (first..=self.pattern[p + 2]).contains(&c) {
                    return found;
                }
                p += 3;
            } else {
                if first == c {
                    return found;
                }
                p += 1;
            }
        }
        !found
    }
}

fn in_class(c: u8, class: u8) -> bool {
    let found = match class.to_ascii_lowercase() {
        b'a' => c.is_ascii_alphabetic(),
        b'c' => c.is_ascii_control(),
        b'd' => c.is_ascii_digit(),
        b'l' => c.is_ascii_lowercase(),
        b'p' => c.is_ascii_punctuation(),
        b's' => super::number::is_space(c),
        b'u' => c.is_ascii_uppercase(),
        b'w' => c.is_ascii_alphanumeric(),
        b'x' => c.is_ascii_hexdigit(),
        b'z' => c == 0,
        _ => return class == c,
    };
    found != class.is_ascii_uppercase()
}

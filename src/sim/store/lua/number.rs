//! Numbers to text and back as C's library does it, for which Lua's `tostring`, `tonumber` and
//! `string.format` are windows.

use std::fmt::Write;

/// Blank in C's locale: space, tab, newline, vertical tab, form feed, carriage return.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}

/// The part of a string that C sees: up to its first zero byte.
pub(super) fn until_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    &bytes[..end]
}

/// A whole string as a number (`luaO_str2d`): blanks around it, decimal, hexadecimal, `inf`, `nan`.
pub(super) fn parse(bytes: &[u8]) -> Option<f64> {
    let bytes = until_zero(bytes);
    let (number, used) = parse_prefix(bytes)?;
    bytes[used..]
        .iter()
        .all(|byte| is_space(*byte))
        .then_some(number)
}

/// The longest number at the start of a string and how many bytes it took (`strtod`).
pub(super) fn parse_prefix(bytes: &[u8]) -> Option<(f64, usize)> {
    let mut at = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let negative = bytes.get(at) == Some(&b'-');
    if negative || bytes.get(at) == Some(&b'+') {
        at += 1;
    }
    let rest = &bytes[at..];
    let (size, used) = if starts_with(rest, b"0x") {
        parse_hexadecimal(&rest[2..]).map_or((0.0, 1), |(n, used)| (n, used + 2))
    } else if starts_with(rest, b"infinity") {
        (f64::INFINITY, 8)
    } else if starts_with(rest, b"inf") {
        (f64::INFINITY, 3)
    } else if starts_with(rest, b"nan") {
        (f64::NAN, 3 + payload_length(&rest[3..]))
    } else {
        parse_decimal(rest)?
    };
    Some((if negative { -size } else { size }, at + used))
}

fn starts_with(bytes: &[u8], word: &[u8]) -> bool {
    bytes
        .get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// How many bytes the `(...)` after `nan` takes.
fn payload_length(bytes: &[u8]) -> usize {
    let inside = bytes
        .iter()
        .skip(1)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    let closed = bytes.first() == Some(&b'(') && bytes.get(inside + 1) == Some(&b')');
    if closed { inside + 2 } else { 0 }
}

fn digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

/// How many bytes an exponent after its letter takes: none when there is no digit.
fn exponent_length(bytes: &[u8]) -> usize {
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    match digits(&bytes[sign..]) {
        0 => 0,
        count => sign + count,
    }
}

fn parse_decimal(bytes: &[u8]) -> Option<(f64, usize)> {
    let whole = digits(bytes);
    let mut end = whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(&bytes[end + 1..]);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = exponent_length(&bytes[end + 1..]);
        if exponent > 0 {
            end += 1 + exponent;
        }
    }
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((text.parse().ok()?, end))
}

/// What follows `0x`: digits, a point, a binary exponent.
fn parse_hexadecimal(bytes: &[u8]) -> Option<(f64, usize)> {
    let mut mantissa: u64 = 0;
    let mut sticky = false;
    let mut exponent: i64 = 0;
    let mut any = false;
    let mut point = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'.' && !point {
            point = true;
        } else if let Some(digit) = char::from(*byte).to_digit(16) {
            any = true;
            if mantissa >> 60 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                exponent -= if point { 4 } else { 0 };
            } else {
                sticky |= digit != 0;
                exponent += if point { 0 } else { 4 };
            }
        } else {
            break;
        }
        at += 1;
    }
    if !any {
        return None;
    }
    if matches!(bytes.get(at), Some(b'p' | b'P')) {
        let length = exponent_length(&bytes[at + 1..]);
        if length > 0 {
            let text = std::str::from_utf8(&bytes[at + 1..at + 1 + length]).ok()?;
            exponent += text.parse::<i64>().unwrap_or(if text.starts_with('-') {
                -100_000
            } else {
                100_000
            });
            at += 1 + length;
        }
    }
    let exponent = exponent.clamp(-5000, 5000) as i32;
    Some((
        libm::scalbn((mantissa | u64::from(sticky)) as f64, exponent),
        at,
    ))
}

/// Digits of a base as C's `strtoul` reads them, the whole string or nothing: wraps below zero, stays at
/// the top above it.
pub(super) fn parse_in_base(bytes: &[u8], base: u32) -> Option<f64> {
    let bytes = until_zero(bytes);
    let mut at = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let negative = bytes.get(at) == Some(&b'-');
    if negative || bytes.get(at) == Some(&b'+') {
        at += 1;
    }
    let hexadecimal = base == 16
        && starts_with(&bytes[at..], b"0x")
        && bytes
            .get(at + 2)
            .is_some_and(|byte| byte.is_ascii_hexdigit());
    if hexadecimal {
        at += 2;
    }
    let start = at;
    let mut number = Some(0u64);
    while let Some(digit) = bytes
        .get(at)
        .and_then(|byte| char::from(*byte).to_digit(base))
    {
        number = number
            .and_then(|n| n.checked_mul(u64::from(base)))
            .and_then(|n| n.checked_add(u64::from(digit)));
        at += 1;
    }
    if at == start || !bytes[at..].iter().all(|byte| is_space(*byte)) {
        return None;
    }
    let number = match number {
        None => u64::MAX,
        Some(n) if negative => n.wrapping_neg(),
        Some(n) => n,
    };
    Some(number as f64)
}

/// A double as a 64-bit integer, as the processor does it: what does not fit becomes the smallest one.
pub(super) fn to_i64(n: f64) -> i64 {
    if (-9223372036854775808.0..9223372036854775808.0).contains(&n) {
        n as i64
    } else {
        i64::MIN
    }
}

/// A double as an `int`, by way of a 64-bit integer, as `luaL_checkint` does it.
pub(super) fn to_i32(n: f64) -> i32 {
    to_i64(n) as i32
}

/// A double as an `int` directly: what does not fit becomes the smallest one.
pub(super) fn to_int(n: f64) -> i32 {
    if (-2147483648.0..2147483648.0).contains(&n) {
        n as i32
    } else {
        i32::MIN
    }
}

/// The not-a-number that a processor of the x86 family makes, with its sign; WebAssembly leaves the sign
/// open, and scripts see it (`-nan`).
const NOT_A_NUMBER: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// The result of an operation, with the sign of a not-a-number settled: that of the operand it came from.
pub(super) fn settle(result: f64, a: f64, b: f64) -> f64 {
    if !result.is_nan() {
        result
    } else if a.is_nan() {
        a
    } else if b.is_nan() {
        b
    } else {
        NOT_A_NUMBER
    }
}

/// The largest whole exponent that is worked out by multiplying.
const MAX_WHOLE_EXPONENT: f64 = 1024.0;

/// A power, as exact as C's library gives it: the `libm` crate's own is off in the last digit more often.
pub(super) fn power(x: f64, y: f64) -> f64 {
    let whole = y.floor() == y && y.abs() <= MAX_WHOLE_EXPONENT;
    if x.is_nan() && whole && y % 2.0 != 0.0 && x.is_sign_negative() {
        return f64::NAN;
    }
    if whole && let Some(result) = whole_power(Double { high: x, low: 0.0 }, y) {
        return result;
    }
    settle(libm::pow(x, y), x, y)
}

/// A power of e, as exact as C's library gives it for a whole number.
pub(super) fn exponential(x: f64) -> f64 {
    let e = Double {
        high: std::f64::consts::E,
        low: 1.445_646_891_729_250_2e-16,
    };
    let whole = x.floor() == x && x.abs() <= MAX_WHOLE_EXPONENT;
    let result = if whole { whole_power(e, x) } else { None };
    result.unwrap_or_else(|| libm::exp(x))
}

/// A power by repeated squaring with twice the digits of a double; none where these would not hold.
fn whole_power(x: Double, y: f64) -> Option<f64> {
    let in_range = |n: f64| (1e-280..1e280).contains(&n.abs());
    let mut exponent = y.abs() as u32;
    let mut square = x;
    let mut result = Double {
        high: 1.0,
        low: 0.0,
    };
    while exponent > 0 {
        if !in_range(square.high) {
            return None;
        }
        if exponent & 1 == 1 {
            result = result.times(square);
        }
        exponent >>= 1;
        if exponent > 0 {
            square = square.times(square);
        }
    }
    if !in_range(result.high) {
        return None;
    }
    Some(if y < 0.0 {
        result.reciprocal()
    } else {
        result.high + result.low
    })
}

/// A number as the sum of two doubles, the second of them small.
#[derive(Clone, Copy)]
struct Double {
    high: f64,
    low: f64,
}

impl Double {
    fn times(self, other: Double) -> Double {
        let product = self.high * other.high;
        let (a, b) = (halves(self.high), halves(other.high));
        let error = ((a.0 * b.0 - product) + a.0 * b.1 + a.1 * b.0) + a.1 * b.1;
        let low = error + (self.high * other.low + self.low * other.high);
        let high = product + low;
        Double {
            high,
            low: low - (high - product),
        }
    }

    fn reciprocal(self) -> f64 {
        let guess = 1.0 / self.high;
        let product = Double {
            high: guess,
            low: 0.0,
        }
        .times(self);
        guess + guess * ((1.0 - product.high) - product.low)
    }
}

/// A double as a sum of two with half the digits each, whose products are exact (Dekker).
fn halves(n: f64) -> (f64, f64) {
    let scaled = n * 134_217_729.0;
    let high = scaled - (scaled - n);
    (high, n - high)
}

/// A double as an unsigned 64-bit integer, as the processor does it.
pub(super) fn to_u64(n: f64) -> u64 {
    if n >= 9223372036854775808.0 {
        (to_i64(n - 9223372036854775808.0) as u64) ^ (1 << 63)
    } else {
        to_i64(n) as u64
    }
}

/// Lua's `tostring` of a number: `%.14g`.
pub(super) fn to_text(n: f64) -> String {
    if n.abs() < 1e14 && n == (n as i64) as f64 && (n != 0.0 || n.is_sign_positive()) {
        return integer_text(n as i64);
    }
    general(n, 14)
}

fn integer_text(n: i64) -> String {
    let mut text = String::new();
    let _ = write!(text, "{n}");
    text
}

/// `%.<precision>g`.
pub(super) fn general(n: f64, precision: usize) -> String {
    Conversion {
        precision: Some(precision),
        ..Conversion::default()
    }
    .float(b'g', n)
}

/// A conversion of C's `printf`, between its `%` and its letter.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversion {
    pub left: bool,
    pub plus: bool,
    pub space: bool,
    pub alternate: bool,
    pub zero: bool,
    pub width: usize,
    pub precision: Option<usize>,
}

impl Conversion {
    /// `%d` and `%i`.
    pub fn signed(&self, n: i64) -> String {
        self.integer(self.sign(n < 0), n.unsigned_abs().to_string(), n == 0)
    }

    /// `%u`, `%o`, `%x`, `%X`.
    pub fn unsigned(&self, letter: u8, n: u64) -> String {
        let (prefix, digits) = match letter {
            b'o' => {
                let digits = format!("{n:o}");
                let lead = self.alternate && n != 0 && self.precision.unwrap_or(0) <= digits.len();
                (
                    "",
                    if lead {
                        "0".to_owned() + &digits
                    } else {
                        digits
                    },
                )
            }
            b'x' => ("0x", format!("{n:x}")),
            b'X' => ("0X", format!("{n:X}")),
            _ => ("", n.to_string()),
        };
        self.integer(
            if self.alternate && n != 0 { prefix } else { "" },
            digits,
            n == 0,
        )
    }

    fn integer(&self, prefix: &str, digits: String, is_zero: bool) -> String {
        let digits = match self.precision {
            Some(0) if is_zero => String::new(),
            Some(precision) if digits.len() < precision => {
                "0".repeat(precision - digits.len()) + &digits
            }
            _ => digits,
        };
        self.pad(prefix, &digits, self.zero && self.precision.is_none())
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn pad(&self, prefix: &str, body: &str, zeros: bool) -> String {
        let missing = self.width.saturating_sub(prefix.len() + body.len());
        let mut text = String::new();
        if !self.left && !zeros {
            text.extend(std::iter::repeat_n(' ', missing));
        }
        text.push_str(prefix);
        if !self.left && zeros {
            text.extend(std::iter::repeat_n('0', missing));
        }
        text.push_str(body);
        if self.left {
            text.extend(std::iter::repeat_n(' ', missing));
        }
        text
    }

    /// `%s` and `%c`: the bytes, cut to the precision and filled up to the width.
    pub fn bytes(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let cut = &bytes[..bytes.len().min(self.precision.unwrap_or(usize::MAX))];
        let missing = self.width.saturating_sub(cut.len());
        if !self.left {
            out.extend(std::iter::repeat_n(b' ', missing));
        }
        out.extend_from_slice(cut);
        if self.left {
            out.extend(std::iter::repeat_n(b' ', missing));
        }
    }

    /// `%e`, `%f`, `%g`, `%a` and their capital forms.
    pub fn float(&self, letter: u8, n: f64) -> String {
        let sign = self.sign(n.is_sign_negative());
        let size = n.abs();
        let precision = self.precision.unwrap_or(6);
        let (prefix, body) = match letter.to_ascii_lowercase() {
            _ if n.is_nan() => ("", "nan".to_owned()),
            _ if n.is_infinite() => ("", "inf".to_owned()),
            b'e' => ("", self.scientific(size, precision)),
            b'f' => ("", self.with_point(format!("{size:.precision$}"))),
            b'a' => ("0x", self.hexadecimal(size)),
            _ => ("", self.shorter(size, precision.max(1))),
        };
        let text = self.pad(
            &(sign.to_owned() + prefix),
            &body,
            self.zero && n.is_finite(),
        );
        if letter.is_ascii_uppercase() {
            text.to_ascii_uppercase()
        } else {
            text
        }
    }

    fn with_point(&self, mut text: String) -> String {
        if self.alternate && !text.contains('.') {
            text.push('.');
        }
        text
    }

    fn scientific(&self, size: f64, precision: usize) -> String {
        let text = format!("{size:.precision$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent = exponent.parse().unwrap_or(0);
        with_exponent(self.with_point(mantissa.to_owned()), exponent)
    }

    fn shorter(&self, size: f64, precision: usize) -> String {
        let rounded = format!("{:.*e}", precision - 1, size);
        let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        if exponent < -4 || exponent >= precision as i32 {
            return with_exponent(self.without_zeros(mantissa.to_owned()), exponent);
        }
        let places = (precision as i32 - 1 - exponent) as usize;
        self.without_zeros(format!("{size:.places$}"))
    }

    fn without_zeros(&self, text: String) -> String {
        if self.alternate {
            return self.with_point(text);
        }
        if !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    fn hexadecimal(&self, size: f64) -> String {
        let bits = size.to_bits();
        let mut fraction = bits & ((1 << 52) - 1);
        let mut lead = u64::from(bits >> 52 != 0);
        let exponent = match bits >> 52 {
            0 if fraction == 0 => 0,
            0 => -1022,
            biased => biased as i32 - 1023,
        };
        if let Some(precision) = self.precision
            && precision < 13
        {
            let cut = 52 - 4 * precision as u32;
            let whole = lead << 52 | fraction;
            let half = 1u64 << (cut - 1);
            let odd = whole >> cut & 1;
            let rounded = (whole + half - 1 + odd) >> cut << cut;
            lead = rounded >> 52;
            fraction = rounded & ((1 << 52) - 1);
        }
        let mut digits = format!("{fraction:013x}");
        match self.precision {
            None => digits.truncate(digits.trim_end_matches('0').len()),
            Some(precision) if precision < 13 => digits.truncate(precision),
            Some(precision) => digits.extend(std::iter::repeat_n('0', precision - 13)),
        }
        let point = if digits.is_empty() && !self.alternate {
            ""
        } else {
            "."
        };
        format!("{lead}{point}{digits}p{exponent:+}")
    }
}

fn with_exponent(mut mantissa: String, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(mantissa, "e{sign}{:02}", exponent.unsigned_abs());
    mantissa
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn whole_powers_are_exact_to_the_last_digit() {
        // Worked out with a few hundred digits and rounded once.
        for (x, y, expected) in [
            (7.0, 65.0, 8.538323413450849e54),
            (10.0, 22.0, 1e22),
            (10.0, -5.0, 1e-5),
            (10.0, 300.0, 1e300),
            (2.0, 1023.0, 8.98846567431158e307),
            (2.0, -1074.0, 5e-324),
            (1.1, 10.0, 2.5937424601000023),
            (-3.0, 3.0, -27.0),
            (0.1, 3.0, 0.0010000000000000002),
            (3.0, 40.0, 1.2157665459056929e19),
            (0.0, 0.0, 1.0),
            (5.0, -1.0, 0.2),
        ] {
            assert_eq!(power(x, y), expected, "{x} ^ {y}");
        }
    }
}

//! Numbers as Redis reads and prints them: integers (`string2ll`) and doubles (`strtod`, `%.17g`).

/// Reads an integer as Redis does: no blanks, no plus sign, no leading zeros, no `-0`.
pub(super) fn parse_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let canonical = match digits {
        b"0" => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 19 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A text that `strtod` and `strtold` read to its end, before it is rounded to a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FloatText<'a> {
    /// `nan`, with or without a text in brackets.
    NotANumber,
    /// `inf` or `infinity`.
    Infinity { negative: bool },
    /// Digits with a point at will: digits before and after it, and the power of ten.
    Decimal {
        negative: bool,
        whole: &'a [u8],
        fraction: &'a [u8],
        exponent: i32,
    },
    /// The same in base 16, and the power of two.
    Hexadecimal {
        negative: bool,
        whole: &'a [u8],
        fraction: &'a [u8],
        exponent: i32,
    },
}

/// Takes a text apart as `strtod` does; `None` where it would not read all of it. Blanks are no
/// part of a number, not even in front, because Redis refuses those.
pub(super) fn parse_float(text: &[u8]) -> Option<FloatText<'_>> {
    let negative = text.first() == Some(&b'-');
    let body = if matches!(text.first(), Some(b'-' | b'+')) {
        &text[1..]
    } else {
        text
    };
    if body.eq_ignore_ascii_case(b"inf") || body.eq_ignore_ascii_case(b"infinity") {
        return Some(FloatText::Infinity { negative });
    }
    if is_not_a_number(body) {
        return Some(FloatText::NotANumber);
    }
    if body.len() > 2 && body[0] == b'0' && body[1].eq_ignore_ascii_case(&b'x') {
        let (whole, fraction, exponent) = take_apart(&body[2..], u8::is_ascii_hexdigit, b'p')?;
        return Some(FloatText::Hexadecimal {
            negative,
            whole,
            fraction,
            exponent,
        });
    }
    let (whole, fraction, exponent) = take_apart(body, u8::is_ascii_digit, b'e')?;
    Some(FloatText::Decimal {
        negative,
        whole,
        fraction,
        exponent,
    })
}

fn is_not_a_number(body: &[u8]) -> bool {
    if body.len() < 3 || !body[..3].eq_ignore_ascii_case(b"nan") {
        return false;
    }
    match &body[3..] {
        [] => true,
        [b'(', inner @ .., b')'] => inner
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'),
        _ => false,
    }
}

fn take_apart(body: &[u8], is_digit: fn(&u8) -> bool, mark: u8) -> Option<(&[u8], &[u8], i32)> {
    let (mantissa, exponent) = match body
        .iter()
        .position(|byte| byte.eq_ignore_ascii_case(&mark))
    {
        Some(at) => (&body[..at], parse_exponent(&body[at + 1..])?),
        None => (body, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &mantissa[mantissa.len()..]),
    };
    let some = !whole.is_empty() || !fraction.is_empty();
    (some && whole.iter().chain(fraction).all(is_digit)).then_some((whole, fraction, exponent))
}

/// The exponent; one beyond all bounds of a number is cut to a million.
fn parse_exponent(text: &[u8]) -> Option<i32> {
    let negative = text.first() == Some(&b'-');
    let digits = if matches!(text.first(), Some(b'-' | b'+')) {
        &text[1..]
    } else {
        text
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0i32, |sum, digit| {
        (sum * 10 + i32::from(digit - b'0')).min(1_000_000)
    });
    Some(if negative { -size } else { size })
}

/// Reads a double as Redis does (`string2d`): what `strtod` reads, without blanks, without overflow
/// and underflow; not a number is none.
pub(super) fn parse_double(text: &[u8]) -> Option<f64> {
    let parts = parse_float(text)?;
    let number = round_to_double(text, &parts)?;
    let (infinite, zero) = match parts {
        FloatText::Decimal {
            whole, fraction, ..
        }
        | FloatText::Hexadecimal {
            whole, fraction, ..
        } => (
            false,
            whole.iter().chain(fraction).all(|digit| *digit == b'0'),
        ),
        FloatText::Infinity { .. } | FloatText::NotANumber => (true, false),
    };
    (number.is_infinite() == infinite && (number != 0.0 || zero)).then_some(number)
}

/// Reads the bound of a range of scores, which Redis hands to `strtod` as it is: blanks in front are
/// skipped, an empty text is 0, what is too large is infinite; not a number is none.
pub(super) fn parse_bound(text: &[u8]) -> Option<f64> {
    let end = text
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(text.len());
    if end == 0 {
        return Some(0.0);
    }
    let text = &text[..end];
    let blanks = text
        .iter()
        .take_while(|byte| matches!(byte, b' ' | 9..=13))
        .count();
    let text = &text[blanks..];
    round_to_double(text, &parse_float(text)?)
}

/// The nearest double, infinite where that is too large; not a number is none.
fn round_to_double(text: &[u8], parts: &FloatText<'_>) -> Option<f64> {
    match *parts {
        FloatText::NotANumber => None,
        FloatText::Infinity { negative } => Some(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }),
        FloatText::Decimal { .. } => std::str::from_utf8(text).ok()?.parse().ok(),
        FloatText::Hexadecimal {
            negative,
            whole,
            fraction,
            exponent,
        } => {
            let size = super::long_double::hexadecimal(whole, fraction, exponent);
            let size = size.map_or(if exponent < 0 { 0.0 } else { f64::INFINITY }, |size| {
                size.to_double()
            });
            Some(if negative { -size } else { size })
        }
    }
}

/// Prints a double as C's `%.17g` does, infinities as `inf` and `-inf`.
pub(super) fn print_double(number: f64) -> String {
    if !number.is_finite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = format!("{number:.16e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..17).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim_fraction(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(16 - exponent).unwrap_or(0);
    trim_fraction(&format!("{number:.decimals$}")).to_owned()
}

/// The text without zeros at the end of its fraction, and without a point that ends it.
pub(super) fn trim_fraction(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_canonical() {
        for good in [
            "0",
            "-1",
            "9223372036854775807",
            "-9223372036854775808",
            "10",
        ] {
            assert_eq!(
                parse_integer(good.as_bytes())
                    .map(|n| n.to_string())
                    .as_deref(),
                Some(good)
            );
        }
        for bad in [
            "",
            "-",
            "-0",
            "+1",
            "01",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999999",
        ] {
            assert_eq!(parse_integer(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn doubles_read_and_print_as_in_c() {
        for (text, printed) in [
            ("3.1", "3.1000000000000001"),
            ("+5", "5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("-0", "-0"),
            ("1e17", "1e+17"),
            ("12345678901234567", "12345678901234568"),
            ("0.0001", "0.0001"),
            ("0.00001", "1.0000000000000001e-05"),
            ("-InF", "-inf"),
            ("0x1p3", "8"),
            ("0x.8", "0.5"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("5e-324", "4.9406564584124654e-324"),
        ] {
            assert_eq!(
                parse_double(text.as_bytes()).map(print_double).as_deref(),
                Some(printed),
                "{text}"
            );
        }
        for bad in [
            "", " 1", "1 ", "nan", "nan(1)", "1e", "e1", ".", "1e400", "1e-400", "0x", "1x", "--1",
            "infinit",
        ] {
            assert_eq!(parse_double(bad.as_bytes()), None, "{bad}");
        }
    }
}

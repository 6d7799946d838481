//! The long double of x86-64 (64 bits of mantissa), in which INCRBYFLOAT, HINCRBYFLOAT and the
//! timeouts of blocking commands calculate.
//!
//! Redis reads with `strtold`, adds in this format and prints with `%.17Lf` (`ld2string`, human
//! form), so that 0.1 + 0.2 is 0.3. WebAssembly has no such format, and a wrong last digit would be
//! seen at once; hence these few operations, each correctly rounded (to nearest, ties to even).

use std::cmp::Ordering;

use super::number::{FloatText, parse_float, trim_fraction};

/// A finite number: mantissa x 2^exponent, the highest bit of the mantissa set unless it is zero or
/// the number is too small for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LongDouble {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

/// The exponent of the largest numbers, and of the smallest.
const LARGEST: i32 = 16_383 - 63;
const SMALLEST: i32 = -16_445;

/// The longest text that Redis reads as a long double (`MAX_LONG_DOUBLE_CHARS`).
const LONGEST_TEXT: usize = 5 * 1024;

/// What `strtold` made of a text that it read to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    Finite(LongDouble),
    Infinite { negative: bool },
}

/// Reads a text as Redis's `string2ld` does; `None` where Redis says that it is no valid float.
pub(super) fn parse(text: &[u8]) -> Option<Parsed> {
    if text.is_empty() || text.len() >= LONGEST_TEXT {
        return None;
    }
    let (negative, number) = match parse_float(text)? {
        FloatText::NotANumber => return None,
        FloatText::Infinity { negative } => return Some(Parsed::Infinite { negative }),
        FloatText::Decimal {
            negative,
            whole,
            fraction,
            exponent,
        } => (negative, decimal(whole, fraction, exponent)?),
        FloatText::Hexadecimal {
            negative,
            whole,
            fraction,
            exponent,
        } => (negative, hexadecimal(whole, fraction, exponent)?),
    };
    Some(Parsed::Finite(LongDouble { negative, ..number }))
}

fn decimal(whole: &[u8], fraction: &[u8], exponent: i32) -> Option<LongDouble> {
    let mut digits = Natural::default();
    let mut length = 0;
    for digit in whole.iter().chain(fraction) {
        digits.multiply_add(10, u32::from(digit - b'0'));
        length += i32::from(length > 0 || *digit != b'0');
    }
    let power = exponent.saturating_sub(i32::try_from(fraction.len()).ok()?);
    match length {
        0 => {
            return Some(LongDouble {
                negative: false,
                mantissa: 0,
                exponent: 0,
            });
        }
        _ if !(-5_000..5_000).contains(&power.saturating_add(length)) => return None,
        _ => {}
    }
    let mut scale = Natural::from(1);
    for _ in 0..power.unsigned_abs() {
        scale.multiply_add(10, 0);
    }
    if power >= 0 {
        for _ in 0..power {
            digits.multiply_add(10, 0);
        }
        let (top, shift, rest) = digits.top_bits();
        return rounded(false, top, shift, rest);
    }
    // The quotient of digits by scale with at least 66 bits, and whether anything was left.
    let shift = scale.bits() + 66 - digits.bits().min(scale.bits() + 66);
    digits.shift_left(shift);
    let (quotient, rest) = digits.divide(&scale);
    rounded(false, quotient, -i32::try_from(shift).ok()?, rest)
}

/// A number written in base 16; `None` where it is too large or too small for a long double.
pub(super) fn hexadecimal(whole: &[u8], fraction: &[u8], exponent: i32) -> Option<LongDouble> {
    let mut digits = Natural::default();
    for digit in whole.iter().chain(fraction).take(LONGEST_TEXT) {
        digits.multiply_add(16, char::from(*digit).to_digit(16)?);
    }
    let skipped = i32::try_from(fraction.len()).ok()?.saturating_mul(4);
    let (top, shift, rest) = digits.top_bits();
    rounded(
        false,
        top,
        shift.saturating_add(exponent).saturating_sub(skipped),
        rest,
    )
}

/// mantissa x 2^exponent, and a little more if there is a rest, as the nearest long double; `None`
/// for what is infinite or rounds to nothing.
fn rounded(negative: bool, mantissa: u128, exponent: i32, rest: bool) -> Option<LongDouble> {
    if mantissa == 0 {
        return (!rest).then_some(LongDouble {
            negative,
            mantissa: 0,
            exponent: 0,
        });
    }
    let bits = 128 - i32::try_from(mantissa.leading_zeros()).ok()?;
    let cut = (bits - 64).max(SMALLEST.saturating_sub(exponent));
    let (mut kept, mut exponent) = (mantissa, exponent.saturating_add(cut));
    if cut > 0 {
        let cut = u32::try_from(cut).ok()?;
        kept = mantissa.checked_shr(cut).unwrap_or(0);
        let lost = if cut < 128 {
            mantissa & ((1 << cut) - 1)
        } else {
            mantissa
        };
        let half = if cut <= 128 {
            1u128 << (cut - 1)
        } else {
            u128::MAX
        };
        let up = match lost.cmp(&half) {
            Ordering::Greater => true,
            Ordering::Equal => rest || kept & 1 == 1,
            Ordering::Less => false,
        };
        kept += u128::from(up);
    } else {
        kept <<= cut.unsigned_abs();
    }
    if kept >> 64 != 0 {
        kept >>= 1;
        exponent += 1;
    }
    let mantissa = u64::try_from(kept).ok()?;
    (exponent <= LARGEST && mantissa != 0).then_some(LongDouble {
        negative,
        mantissa,
        exponent,
    })
}

impl LongDouble {
    /// The sum; `None` where it is infinite.
    pub(super) fn add(self, other: LongDouble) -> Option<LongDouble> {
        let (large, small) = if self.order() >= other.order() {
            (self, other)
        } else {
            (other, self)
        };
        if small.mantissa == 0 {
            return Some(if large.mantissa == 0 {
                LongDouble {
                    negative: self.negative && other.negative,
                    ..large
                }
            } else {
                large
            });
        }
        const GUARD: u32 = 62;
        let base = u128::from(large.mantissa) << GUARD;
        let distance = u32::try_from(large.exponent - small.exponent).ok()?;
        let shifted = u128::from(small.mantissa) << GUARD;
        let aligned = shifted.checked_shr(distance).unwrap_or(0);
        let lost = aligned.checked_shl(distance).unwrap_or(0) != shifted;
        // What is lost lies far below the rounding position: one sticky bit stands for it.
        let aligned = aligned | u128::from(lost);
        let sum = if large.negative == small.negative {
            base + aligned
        } else {
            base - aligned
        };
        if sum == 0 {
            return Some(LongDouble {
                negative: false,
                mantissa: 0,
                exponent: 0,
            });
        }
        rounded(
            large.negative,
            sum,
            large.exponent - i32::try_from(GUARD).ok()?,
            false,
        )
    }

    /// What decides between two sizes; a zero is below all.
    fn order(self) -> (bool, i32, u64) {
        (self.mantissa != 0, self.exponent, self.mantissa)
    }

    /// A thousand times the number, rounded up to an integer; `None` where that does not fit.
    pub(super) fn thousandfold_ceiling(self) -> Option<i64> {
        if self.mantissa == 0 {
            return Some(0);
        }
        let product = u128::from(self.mantissa) * 1000;
        let product = rounded(self.negative, product, self.exponent, false)?;
        if product.exponent > 0 {
            return None;
        }
        let cut = product.exponent.unsigned_abs();
        let whole = product.mantissa.checked_shr(cut).unwrap_or(0);
        let exact = whole.checked_shl(cut).unwrap_or(0) == product.mantissa;
        let size = i64::try_from(whole).ok()?;
        if product.negative {
            Some(-size)
        } else {
            size.checked_add(i64::from(!exact))
        }
    }

    /// The nearest double, infinite where that is too large.
    pub(super) fn to_double(self) -> f64 {
        let (mut number, mut left) = (self.mantissa as f64, self.exponent);
        // A power of two is exact, and a few steps reach from the largest double to the smallest.
        while left != 0 && number != 0.0 && number.is_finite() {
            let step = left.clamp(-1000, 1000);
            number *= 2f64.powi(step);
            left -= step;
        }
        if self.negative { -number } else { number }
    }

    /// The number as `%.17Lf` prints it, without zeros at the end, and `0` for `-0`.
    pub(super) fn print(self) -> String {
        let text = if self.exponent >= 0 {
            self.whole_digits()
        } else {
            self.fixed_point()
        };
        let text = trim_fraction(&text);
        if self.negative && text != "0" {
            format!("-{text}")
        } else {
            text.to_owned()
        }
    }

    fn whole_digits(self) -> String {
        let mut number = Natural::from(self.mantissa);
        number.shift_left(self.exponent.unsigned_abs());
        number.print()
    }

    fn fixed_point(self) -> String {
        const UNIT: u128 = 100_000_000_000_000_000;
        let scaled = u128::from(self.mantissa) * UNIT;
        let cut = self.exponent.unsigned_abs();
        let mut digits = scaled.checked_shr(cut).unwrap_or(0);
        let lost = scaled - digits.checked_shl(cut).unwrap_or(0);
        let half = if cut <= 127 {
            1u128 << (cut - 1)
        } else {
            u128::MAX
        };
        digits += u128::from(lost > half || (lost == half && digits & 1 == 1));
        format!("{}.{:017}", digits / UNIT, digits % UNIT)
    }
}

/// A whole number of any size: its 32-bit places, lowest first, the highest not zero.
#[derive(Clone, Debug, Default)]
struct Natural(Vec<u32>);

impl From<u64> for Natural {
    fn from(number: u64) -> Natural {
        let mut natural = Natural(vec![(number & 0xFFFF_FFFF) as u32, (number >> 32) as u32]);
        natural.normalise();
        natural
    }
}

impl Natural {
    fn normalise(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn multiply_add(&mut self, factor: u32, summand: u32) {
        let mut carry = u64::from(summand);
        for place in &mut self.0 {
            let product = u64::from(*place) * u64::from(factor) + carry;
            *place = (product & 0xFFFF_FFFF) as u32;
            carry = product >> 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn bits(&self) -> u32 {
        let top = self.0.last().map_or(32, |place| place.leading_zeros());
        (self.0.len() as u32 * 32).saturating_sub(if self.0.is_empty() { 0 } else { top })
    }

    fn shift_left(&mut self, bits: u32) {
        if self.0.is_empty() {
            return;
        }
        self.multiply_add(1 << (bits % 32), 0);
        self.0.splice(0..0, (0..bits / 32).map(|_| 0));
    }

    fn shift_right_by_one(&mut self) {
        let mut carry = 0;
        for place in self.0.iter_mut().rev() {
            let low = *place & 1;
            *place = (*place >> 1) | (carry << 31);
            carry = low;
        }
        self.normalise();
    }

    /// The highest 128 bits, how many bits stand below them, and whether any of those is set.
    fn top_bits(&self) -> (u128, i32, bool) {
        let below = self.0.len().saturating_sub(4);
        let (rest, top) = self.0.split_at(below);
        let number = top
            .iter()
            .rev()
            .fold(0u128, |sum, place| (sum << 32) | u128::from(*place));
        (
            number,
            i32::try_from(below * 32).unwrap_or(i32::MAX),
            rest.iter().any(|place| *place != 0),
        )
    }

    fn compare(&self, other: &Natural) -> Ordering {
        self.0
            .len()
            .cmp(&other.0.len())
            .then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn subtract(&mut self, other: &Natural) {
        let mut borrow = 0;
        for (index, place) in self.0.iter_mut().enumerate() {
            let less = u64::from(other.0.get(index).copied().unwrap_or(0)) + borrow;
            let (difference, wrapped) = u64::from(*place).overflowing_sub(less);
            *place = (difference & 0xFFFF_FFFF) as u32;
            borrow = u64::from(wrapped);
        }
        self.normalise();
    }

    /// The quotient, which must fit 128 bits, and whether a remainder is left.
    fn divide(mut self, divisor: &Natural) -> (u128, bool) {
        let steps = self.bits().saturating_sub(divisor.bits());
        let mut part = divisor.clone();
        part.shift_left(steps);
        let mut quotient = 0u128;
        for _ in 0..=steps {
            quotient <<= 1;
            if self.compare(&part) != Ordering::Less {
                self.subtract(&part);
                quotient |= 1;
            }
            part.shift_right_by_one();
        }
        (quotient, !self.0.is_empty())
    }

    fn print(mut self) -> String {
        const CHUNK: u64 = 1_000_000_000;
        let mut chunks = Vec::new();
        while !self.0.is_empty() {
            let mut rest = 0u64;
            for place in self.0.iter_mut().rev() {
                let number = (rest << 32) | u64::from(*place);
                *place = (number / CHUNK) as u32;
                rest = number % CHUNK;
            }
            chunks.push(rest);
            self.normalise();
        }
        let mut text = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            text.push_str(&format!("{chunk:09}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> LongDouble {
        match parse(text.as_bytes()) {
            Some(Parsed::Finite(number)) => number,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn sums_are_those_of_the_real_server() {
        for (a, b, sum) in [
            ("0.1", "0.2", "0.3"),
            ("10.5", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("3", "-3", "0"),
            ("-0", "0", "0"),
            ("-1e-30", "0", "0"),
            ("1e20", "1", "100000000000000000000"),
            ("17179869184.5", "1e-10", "17179869184.5"),
            ("1.5", "0x1p-1", "2"),
            (
                "1e60",
                "1e60",
                "1999999999999999999998746846853444337304261243969773544407040",
            ),
        ] {
            let got = number(a).add(number(b)).map(LongDouble::print);
            assert_eq!(got.as_deref(), Some(sum), "{a} + {b}");
        }
    }

    #[test]
    fn texts_that_are_no_numbers_are_refused() {
        for bad in [
            "", " 1", "1 ", "nan", "abc", "1e5000", "1e-5000", "1.1.1", "0x", "0xp1",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(
            parse(b"-infinity"),
            Some(Parsed::Infinite { negative: true })
        );
        assert_eq!(number("1e4932").print().len(), 4933);
        assert_eq!(number("3.0e-4940").print(), "0");
    }

    #[test]
    fn timeouts_are_rounded_up_to_milliseconds() {
        for (text, ms) in [
            ("0.1", Some(100)),
            ("0.0001", Some(1)),
            ("1", Some(1000)),
            ("-1", Some(-1000)),
            ("0", Some(0)),
            ("1e30", None),
            ("1e-4940", Some(1)),
            ("9223372036854775.807", Some(i64::MAX)),
        ] {
            assert_eq!(number(text).thousandfold_ceiling(), ms, "{text}");
        }
    }
}

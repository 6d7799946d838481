//! Exact decimal numbers: DECIMAL columns, literals such as `1.5`, and what `/` and AVG give.
//!
//! MySQL keeps more digits of a quotient than it shows: `2/3` is 0.666666666 inside and 0.6667
//! when printed, so `2/3*3` is 2.0000. [`Decimal`] holds both counts. It holds 38 digits where
//! MySQL holds 65; past that the result is "out of range".

use std::cmp::Ordering;

/// A number of exact decimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    /// The number times ten to the power of `held`.
    digits: i128,
    /// Digits held after the point.
    held: u8,
    /// Digits shown after the point.
    scale: u8,
}

/// MySQL's `div_precision_increment`.
const MORE_DIGITS: u8 = 4;
/// The most digits after the point.
pub(super) const MOST_SCALE: u8 = 30;

fn power(exponent: u8) -> Option<i128> {
    10_i128.checked_pow(u32::from(exponent))
}

/// Words of nine digits that hold so many digits, in digits.
fn whole_words(digits: u8) -> u8 {
    digits.div_ceil(9) * 9
}

impl Decimal {
    /// A decimal from its digits and the number of them after the point.
    pub fn new(digits: i128, scale: u8) -> Decimal {
        Decimal {
            digits,
            held: scale,
            scale,
        }
    }

    /// The digits after the point that are shown.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// Whether it is below, at or above zero.
    pub(super) fn signum(self) -> i128 {
        self.digits.signum()
    }

    /// Half away from zero, to `scale` digits after the point.
    pub(super) fn rounded(self, scale: u8) -> Option<Decimal> {
        let digits = if scale >= self.held {
            self.digits.checked_mul(power(scale - self.held)?)?
        } else {
            let unit = power(self.held - scale)?;
            let half = unit / 2 * self.digits.signum();
            self.digits.checked_add(half)? / unit
        };
        Some(Decimal::new(digits, scale))
    }

    /// The same number shown with other digits after the point; those that are held stay.
    pub(super) fn shown_with(self, scale: u8) -> Option<Decimal> {
        let shown = Decimal { scale, ..self };
        self.rounded(scale).map(|_| shown)
    }

    /// Toward zero, to `scale` digits after the point.
    pub(super) fn truncated(self, scale: u8) -> Decimal {
        if scale >= self.held {
            return self.rounded(scale).unwrap_or(self);
        }
        match power(self.held - scale) {
            Some(unit) => Decimal::new(self.digits / unit, scale),
            None => Decimal::new(0, scale),
        }
    }

    /// The digits as a whole number at exactly the scale that is shown.
    pub(super) fn digits_shown(self) -> i128 {
        self.rounded(self.scale)
            .map_or(self.digits, |rounded| rounded.digits)
    }

    fn aligned(self, other: Decimal) -> Option<(i128, i128, u8)> {
        let held = self.held.max(other.held);
        let left = self.digits.checked_mul(power(held - self.held)?)?;
        let right = other.digits.checked_mul(power(held - other.held)?)?;
        Some((left, right, held))
    }

    pub(super) fn add(self, other: Decimal) -> Option<Decimal> {
        let (left, right, held) = self.aligned(other)?;
        let scale = self.scale.max(other.scale);
        let digits = left.checked_add(right)?;
        // Where two digits by digit are the same, nothing is held behind the point.
        let held = if digits == 0 && left != 0 { 0 } else { held };
        Some(Decimal {
            digits,
            held,
            scale,
        })
    }

    pub(super) fn subtract(self, other: Decimal) -> Option<Decimal> {
        let difference = self.add(other.negated())?;
        let held = if difference.digits == 0 {
            0
        } else {
            difference.held
        };
        Some(Decimal { held, ..difference })
    }

    pub(super) fn negated(self) -> Decimal {
        Decimal {
            digits: self.digits.saturating_neg(),
            ..self
        }
    }

    pub(super) fn multiply(self, other: Decimal) -> Option<Decimal> {
        let scale = (self.scale + other.scale).min(MOST_SCALE);
        let mut held = self.held + other.held;
        // A zero that would have a sign is a bare one.
        if self.digits * other.digits.signum() == 0 && (self.digits < 0 || other.digits < 0) {
            held = 0;
        }
        match self.digits.checked_mul(other.digits) {
            Some(digits) if held <= MOST_SCALE => Some(Decimal {
                digits,
                held,
                scale,
            }),
            // The digits that only rounding would see give way first.
            _ if self.held > self.scale || other.held > other.scale => self
                .rounded(self.scale)?
                .multiply(other.rounded(other.scale)?),
            _ => None,
        }
    }

    /// `None` for overflow; the divisor is not zero.
    pub(super) fn divide(self, other: Decimal) -> Option<Decimal> {
        let scale = (self.scale + MORE_DIGITS).min(MOST_SCALE);
        if self.digits == 0 && other.digits != 0 {
            return Some(Decimal {
                held: 0,
                scale,
                ..self
            });
        }
        let (own, its) = (whole_words(self.held), whole_words(other.held));
        let spare = (own - self.held) + (its - other.held);
        let wanted = whole_words(own + its + MORE_DIGITS.saturating_sub(spare));
        for held in [wanted, scale + 2, scale] {
            let more = i32::from(held) + i32::from(other.held) - i32::from(self.held);
            let raised = match u8::try_from(more) {
                Ok(more) => power(more).and_then(|unit| self.digits.checked_mul(unit)),
                Err(_) => None,
            };
            if let Some(digits) = raised.and_then(|raised| raised.checked_div(other.digits)) {
                return Some(Decimal {
                    digits,
                    held,
                    scale,
                });
            }
        }
        None
    }

    /// The remainder with the sign of the dividend; the divisor is not zero.
    pub(super) fn remainder(self, other: Decimal) -> Option<Decimal> {
        let (left, right, held) = self.aligned(other)?;
        let scale = self.scale.max(other.scale);
        let digits = left.checked_rem(right)?;
        Some(Decimal {
            digits,
            held,
            scale,
        })
    }

    /// The same number with every digit that is held shown.
    pub(super) fn unrounded(self) -> Decimal {
        Decimal {
            scale: self.held,
            ..self
        }
    }

    /// Compares what is shown, as MariaDB does.
    pub(super) fn compare(self, other: Decimal) -> Ordering {
        let shown = |number: Decimal| number.rounded(number.scale).unwrap_or(number);
        match shown(self).aligned(shown(other)) {
            Some((left, right, _)) => left.cmp(&right),
            None => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    /// The nearest double.
    pub(super) fn to_f64(self) -> f64 {
        // Both sides are exact as doubles up to here, so the quotient is the nearest one.
        if self.digits.unsigned_abs() < 1 << 53 && self.held <= 22 {
            return self.digits as f64 / power(self.held).unwrap_or(1) as f64;
        }
        let text = format!("{}e-{}", self.digits, self.held);
        text.parse().unwrap_or(0.0)
    }

    /// Reads `12.50`; the text holds digits, at most one point and a sign only.
    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let fraction = fraction.get(..fraction.len().min(usize::from(MOST_SCALE)))?;
        let mut all = String::from(whole);
        all.push_str(fraction);
        if all.is_empty() || all == "-" || all == "+" {
            all.push('0');
        }
        Some(Decimal::new(all.parse().ok()?, fraction.len() as u8))
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.digits_shown();
        let sign = if digits < 0 { "-" } else { "" };
        let mut text = digits.unsigned_abs().to_string();
        let scale = usize::from(self.scale);
        while text.len() <= scale {
            text.insert(0, '0');
        }
        if scale > 0 {
            text.insert(text.len() - scale, '.');
        }
        write!(out, "{sign}{text}")
    }
}

//! Points in time: DATETIME and TIMESTAMP. The world's clock counts milliseconds since 1970; the
//! time zone is UTC, so the two column types differ in nothing but their names.

use std::fmt;

/// A point in time with the number of digits shown after the seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    /// Microseconds since 1970-01-01 00:00:00.
    pub micros: i64,
    /// 0 to 6.
    pub digits: u8,
}

/// Units of INTERVAL and TIMESTAMPDIFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A fixed number of microseconds.
    Fixed(i64),
    /// A number of months.
    Months(i64),
}

pub(super) const SECOND: i64 = 1_000_000;
pub(super) const DAY: i64 = 86_400 * SECOND;
/// 0001-01-01 and the end of 9999, in microseconds.
const FIRST: i64 = -62_135_596_800 * SECOND;
const LAST: i64 = 253_402_300_800 * SECOND - 1;

impl Unit {
    /// Whether it is made of whole days.
    pub(super) fn is_days(self) -> bool {
        match self {
            Unit::Fixed(micros) => micros % DAY == 0,
            Unit::Months(_) => true,
        }
    }

    pub(super) fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "MICROSECOND" => Unit::Fixed(1),
            "SECOND" => Unit::Fixed(SECOND),
            "MINUTE" => Unit::Fixed(60 * SECOND),
            "HOUR" => Unit::Fixed(3600 * SECOND),
            "DAY" => Unit::Fixed(DAY),
            "WEEK" => Unit::Fixed(7 * DAY),
            "MONTH" => Unit::Months(1),
            "QUARTER" => Unit::Months(3),
            "YEAR" => Unit::Months(12),
            _ => return None,
        })
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (Howard Hinnant's algorithm).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    days_from_civil(next_year, next, 1) - days_from_civil(year, month, 1)
}

/// What IGNORE stores for what is no time: 0000-00-00 00:00:00.
const ZERO: i64 = i64::MIN;

impl DateTime {
    /// The time that is none, 0000-00-00 00:00:00.
    pub(super) fn zero(digits: u8) -> DateTime {
        DateTime {
            micros: ZERO,
            digits,
        }
    }

    pub(super) fn is_zero(self) -> bool {
        self.micros == ZERO
    }

    /// The world's clock, cut to whole units of so many digits.
    pub fn from_millis(millis: u64, digits: u8) -> DateTime {
        let micros = i64::try_from(millis)
            .unwrap_or(0)
            .saturating_mul(1000)
            .min(LAST);
        DateTime { micros, digits }.cut(digits)
    }

    /// Whether a TIMESTAMP can hold it: from 1970-01-01 00:00:01 to 2038-01-19 03:14:07.999999.
    pub(super) fn is_timestamp(self) -> bool {
        (SECOND..(1 << 31) * SECOND).contains(&self.micros)
    }

    fn unit(digits: u8) -> i64 {
        10_i64.pow(u32::from(6 - digits.min(6)))
    }

    /// Drops what lies behind the digits, as NOW() does.
    pub(super) fn cut(self, digits: u8) -> DateTime {
        if self.is_zero() {
            return DateTime { digits, ..self };
        }
        let unit = DateTime::unit(digits);
        DateTime {
            micros: self.micros.div_euclid(unit) * unit,
            digits,
        }
    }

    /// Rounds half up, as storing into a column does.
    pub(super) fn rounded(self, digits: u8) -> DateTime {
        if self.is_zero() {
            return DateTime { digits, ..self };
        }
        DateTime {
            micros: self.micros + DateTime::unit(digits) / 2,
            digits,
        }
        .cut(digits)
    }

    /// Year, month, day, hour, minute, second, microsecond.
    pub(super) fn parts(self) -> [i64; 7] {
        if self.is_zero() {
            return [0; 7];
        }
        let (days, rest) = (self.micros.div_euclid(DAY), self.micros.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        let seconds = rest / SECOND;
        [
            year,
            month,
            day,
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            rest % SECOND,
        ]
    }

    fn from_parts(parts: [i64; 7]) -> Option<DateTime> {
        let [year, month, day, hour, minute, second, micro] = parts;
        let fits = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && day >= 1
            && day <= days_in_month(year, month)
            && hour < 24
            && minute < 60
            && second < 60;
        if !fits {
            return None;
        }
        let seconds =
            days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        Some(DateTime {
            micros: seconds * SECOND + micro,
            digits: 0,
        })
    }

    /// The number that a point in time is in arithmetic: 20260102030405.
    pub(super) fn number(self) -> i64 {
        let [year, month, day, hour, minute, second, _] = self.parts();
        ((((year * 100 + month) * 100 + day) * 100 + hour) * 100 + minute) * 100 + second
    }

    /// Reads `2026-01-02`, `2026-01-02 03:04:05.678` and the same with `T`.
    pub(super) fn parse(text: &str) -> Option<DateTime> {
        let text = text.trim();
        let (date, time) = match text.split_once([' ', 'T']) {
            Some((date, time)) => (date, time.trim_start()),
            None if text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                return DateTime::from_number(text.parse().ok()?);
            }
            None => (text, ""),
        };
        let mut parts = [0; 7];
        let mut count = 0;
        for (part, field) in date.split(['-', '/', '.']).zip(&mut parts[..3]) {
            *field = number_of(part, 4)?;
            count += 1;
        }
        if count != 3 || date.split(['-', '/', '.']).count() != 3 {
            return None;
        }
        let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
        if !time.is_empty() {
            if time.split(':').count() > 3 {
                return None;
            }
            for (part, field) in time.split(':').zip(&mut parts[3..6]) {
                *field = number_of(part, 2)?;
            }
        }
        let digits = fraction.len().min(6);
        if digits > 0 {
            let value: i64 = number_of(fraction.get(..digits)?, 6)?;
            parts[6] = value * DateTime::unit(digits as u8);
        }
        let time = DateTime::from_parts(parts)?;
        Some(DateTime {
            digits: digits as u8,
            ..time
        })
    }

    /// Reads the number 20260102030405 or 20260102.
    pub(super) fn from_number(number: i64) -> Option<DateTime> {
        let full = if number < 100_000_000 {
            number.checked_mul(1_000_000)?
        } else {
            number
        };
        let date = full / 1_000_000;
        let time = full % 1_000_000;
        DateTime::from_parts([
            date / 10_000,
            date / 100 % 100,
            date % 100,
            time / 10_000,
            time / 100 % 100,
            time % 100,
            0,
        ])
    }

    /// Adds so many units; `None` when it leaves the years 1 to 9999.
    pub(super) fn plus(self, amount: i64, unit: Unit) -> Option<DateTime> {
        if self.is_zero() {
            return None;
        }
        match unit {
            Unit::Fixed(size) => {
                let micros = self.micros.checked_add(amount.checked_mul(size)?)?;
                let digits = if size == 1 { 6 } else { self.digits };
                (FIRST..=LAST)
                    .contains(&micros)
                    .then_some(DateTime { micros, digits })
            }
            Unit::Months(size) => {
                let mut parts = self.parts();
                let months =
                    (parts[0] * 12 + parts[1] - 1).checked_add(amount.checked_mul(size)?)?;
                parts[0] = months.div_euclid(12);
                parts[1] = months.rem_euclid(12) + 1;
                if !(1..=9999).contains(&parts[0]) {
                    return None;
                }
                parts[2] = parts[2].min(days_in_month(parts[0], parts[1]));
                Some(DateTime {
                    digits: self.digits,
                    ..DateTime::from_parts(parts)?
                })
            }
        }
    }

    /// Whole units from `self` to `other`, as TIMESTAMPDIFF counts; neither is zero.
    pub(super) fn units_until(self, other: DateTime, unit: Unit) -> Option<i64> {
        if self.is_zero() || other.is_zero() {
            return None;
        }
        Some(match unit {
            Unit::Fixed(size) => (other.micros - self.micros) / size,
            Unit::Months(size) => {
                let (from, to, sign) = if self.micros <= other.micros {
                    (self, other, 1)
                } else {
                    (other, self, -1)
                };
                let (a, b) = (from.parts(), to.parts());
                let mut months = (b[0] - a[0]) * 12 + b[1] - a[1];
                if b[2..] < a[2..] {
                    months -= 1;
                }
                sign * (months / size)
            }
        })
    }
}

fn number_of(text: &str, most: usize) -> Option<i64> {
    let fits =
        !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

impl fmt::Display for DateTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day, hour, minute, second, micro] = self.parts();
        write!(
            out,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        )?;
        if self.digits > 0 {
            let all = format!("{micro:06}");
            write!(
                out,
                ".{}",
                all.get(..usize::from(self.digits)).unwrap_or(&all)
            )?;
        }
        Ok(())
    }
}

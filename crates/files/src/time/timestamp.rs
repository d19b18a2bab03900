//! Times since 1970, nanoseconds in an i64, as text.

use std::borrow::Cow;
use std::num::IntErrorKind;
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::SECOND;

gridstride::choice! {
    /// Units of times that are numbers.
    pub enum TimeUnit("unit") {
        /// Seconds.
        S("s"),
        /// Milliseconds.
        Ms("ms"),
        /// Microseconds.
        Us("us"),
        /// Nanoseconds.
        Ns("ns"),
    }
}

impl TimeUnit {
    fn nanoseconds(self) -> i64 {
        match self {
            TimeUnit::S => SECOND,
            TimeUnit::Ms => 1_000_000,
            TimeUnit::Us => 1_000,
            TimeUnit::Ns => 1,
        }
    }
}

/// Returns the error of a text that is no time.
#[cold]
fn neither(unit: Option<TimeUnit>) -> Cow<'static, str> {
    let numbers = match unit {
        None => "a number",
        Some(TimeUnit::S) => "seconds",
        Some(TimeUnit::Ms) => "milliseconds",
        Some(TimeUnit::Us) => "microseconds",
        Some(TimeUnit::Ns) => "nanoseconds",
    };
    format!("is neither {numbers} since 1970 nor a time as 2026-01-31T12:00:00Z").into()
}

/// Returns the date that a number as 20240131, 20240131120000, 202401311200 or 2024 looks like.
///
/// ```
/// use files::time::date_of;
///
/// assert_eq!(date_of("20240131").as_deref(), Some("2024-01-31"));
/// assert_eq!(date_of("20241331"), None);
/// ```
pub fn date_of(number: &str) -> Option<String> {
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |range: Range<usize>| number.get(range)?.parse::<u32>().ok();
    let is_year = (1900..=2100).contains(&part(0..4)?);
    let (month, day) = match number.len() {
        4 => (1, 1),
        8 | 12 | 14 => (part(4..6)?, part(6..8)?),
        _ => return None,
    };
    let is_day = (1..=12).contains(&month) && (1..=31).contains(&day);
    (is_year && is_day).then(|| format!("{}-{month:02}-{day:02}", &number[..4]))
}

/// Parses a time: a number since 1970, in a unit, or RFC 3339.
///
/// # Errors
/// The rest of a sentence that begins with the text.
pub fn parse(text: &[u8], unit: TimeUnit) -> Result<i64, Cow<'static, str>> {
    parse_in(text, Some(unit), None)
}

/// As [`parse`], with a zone for times without an offset from UTC. Where clocks are set back, such a
/// time is the earlier one of the two. Numbers are nanoseconds if no unit is known.
///
/// # Errors
/// As those of [`parse`], and if the zone leaves the time out, because clocks are set forward.
pub fn parse_in(
    text: &[u8],
    unit: Option<TimeUnit>,
    zone: Option<&TimeZone>,
) -> Result<i64, Cow<'static, str>> {
    if let Some(time) = of_utc(text) {
        return Ok(time);
    }
    if let Some(zone) = zone
        && let Some(time) = civil(text)
    {
        return Ok(of_civil(time, zone)?);
    }
    // A text that is not UTF-8 is no time either.
    let text = str::from_utf8(text).unwrap_or_default();
    let size = unit.unwrap_or(TimeUnit::Ns).nanoseconds();
    match text.parse::<i64>() {
        Ok(time) => return Ok(time.checked_mul(size).ok_or(OUT_OF_RANGE)?),
        Err(error) => {
            if let IntErrorKind::PosOverflow | IntErrorKind::NegOverflow = error.kind() {
                return Err(OUT_OF_RANGE.into());
            }
        }
    }
    if let Some(time) = decimal(text, size) {
        return Ok(time?);
    }
    if let Some(number) = without_exponent(text) {
        return parse_in(number.as_bytes(), unit, None);
    }
    match text.parse::<Timestamp>() {
        Ok(_) if is_leap_second(text) => Err(LEAP_SECOND.into()),
        Err(_) if is_too_fine(text) => Err(TOO_FINE.into()),
        Ok(time) => i64::try_from(time.as_nanosecond()).map_err(|_| OUT_OF_RANGE.into()),
        // As 9999-12-31T23:59:59Z, which is beyond the range of jiff.
        Err(_) if has_offset(text) => Err(OUT_OF_RANGE.into()),
        Err(_) => match (text.parse::<DateTime>(), zone) {
            // jiff leaves out the zone of a text as 2026-01-31T12:00[Europe/Berlin].
            (Ok(_), _) if text.contains('[') => Err(neither(unit)),
            (Ok(_), Some(_)) if is_leap_second(text) => Err(LEAP_SECOND.into()),
            (Ok(time), Some(zone)) => Ok(of_civil(time, zone)?),
            (Ok(_), None) => Err(
                "has no offset from UTC, as the Z in 2026-01-31T12:00:00Z; --zone \
                                  reads times without one"
                    .into(),
            ),
            (Err(_), _) => Err(neither(unit)),
        },
    }
}

/// Returns the nanoseconds from 1970 to a time such as `2026-01-31T12:00:00+01:00` or `2026-01-31`,
/// which is in UTC unless it has an offset. They may be beyond an `i64`.
///
/// # Errors
/// The rest of a sentence that begins with the text.
///
/// ```
/// use files::time::point;
///
/// assert_eq!(point("1970-01-02"), Ok(86_400_000_000_000));
/// assert_eq!(point("1970-01-01T01:00:00.5+01:00"), Ok(500_000_000));
/// ```
pub fn point(text: &str) -> Result<i128, &'static str> {
    let in_utc = || {
        // jiff would leave out the zone of a text as 2026-01-31T12:00[Europe/Berlin].
        if text.contains('[') {
            return None;
        }
        Offset::UTC
            .to_timestamp(text.parse::<DateTime>().ok()?)
            .ok()
    };
    let time = text.parse::<Timestamp>().ok().or_else(in_utc);
    match time {
        Some(_) if is_leap_second(text) => Err(LEAP_SECOND),
        Some(time) => Ok(time.as_nanosecond()),
        None if is_too_fine(text) => Err(TOO_FINE),
        None => Err("is no time as 2026-01-31T12:00:00Z"),
    }
}

/// Whether a text is a time but for the digits behind the nanoseconds.
#[cold]
fn is_too_fine(text: &str) -> bool {
    let Some(point) = text.find('.') else {
        return false;
    };
    let (whole, fraction) = text.split_at(point + 1);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if digits <= NANOSECOND_DIGITS {
        return false;
    }
    let shorter = format!(
        "{whole}{}{}",
        &fraction[..NANOSECOND_DIGITS],
        &fraction[digits..]
    );
    shorter.parse::<Timestamp>().is_ok() || shorter.parse::<DateTime>().is_ok()
}

/// Whether a text is a time with an offset from UTC.
fn has_offset(text: &str) -> bool {
    Pieces::parse(text).is_ok_and(|pieces| pieces.time().is_some() && pieces.offset().is_some())
}

/// Returns the time that clocks of a zone show.
fn of_civil(time: DateTime, zone: &TimeZone) -> Result<i64, &'static str> {
    let time = match zone.to_ambiguous_timestamp(time).offset() {
        AmbiguousOffset::Gap { .. } => {
            return Err("does not exist in the zone, whose clocks are set forward then");
        }
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(time),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(time),
    };
    let time = time.map_err(|_| OUT_OF_RANGE)?;
    i64::try_from(time.as_nanosecond()).map_err(|_| OUT_OF_RANGE)
}

/// Returns a number as 1.76e9 without its exponent, exactly; `None` without an exponent, or with one
/// beyond all times.
///
/// ```
/// use files::time::without_exponent;
///
/// assert_eq!(without_exponent("1.76e9").as_deref(), Some("1760000000"));
/// assert_eq!(without_exponent("1769860800"), None);
/// ```
pub fn without_exponent(number: &str) -> Option<String> {
    const LARGEST: i32 = 40;
    let (number, exponent) = number.split_once(['e', 'E'])?;
    let exponent = exponent.parse::<i32>().ok()?;
    let digits = number.trim_start_matches(['-', '+']);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = is_number(number.as_bytes()) && !whole.is_empty();
    if !is_number || !(-LARGEST..=LARGEST).contains(&exponent) {
        return None;
    }
    // Enough digits on both sides of the point, wherever it goes.
    let zeros = "0".repeat(LARGEST as usize + 1);
    let all = format!("{zeros}{whole}{fraction}{zeros}");
    let point = (zeros.len() + whole.len()).checked_add_signed(exponent as isize)?;
    let whole = all[..point].trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let sign = if number.starts_with('-') { "-" } else { "" };
    Some(match all[point..].trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    })
}

/// A time as 1769860800.25, in a unit of so many nanoseconds; `None` if the text is no decimal number.
fn decimal(text: &str, size: i64) -> Option<Result<i64, &'static str>> {
    let (whole, fraction) = text.split_once('.')?;
    let (sign, whole) = match whole.strip_prefix('-') {
        None => (1, whole.strip_prefix('+').unwrap_or(whole)),
        Some(whole) => (-1, whole),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let (unit, fraction) = (i128::from(size), fraction.trim_end_matches('0'));
    // A unit has 10⁹ nanoseconds at most.
    let divisor = 10_i128.pow(fraction.len().min(10) as u32);
    if unit % divisor != 0 {
        return Some(Err("is not a whole number of nanoseconds"));
    }
    let fraction = fraction.parse().unwrap_or(0) * (unit / divisor);
    let whole = whole.parse::<i128>().ok();
    let time = whole.and_then(|whole| whole.checked_mul(unit)?.checked_add(fraction));
    let time = time.and_then(|time| i64::try_from(sign * time).ok());
    Some(time.ok_or(OUT_OF_RANGE))
}

/// A time as 2026-01-31T12:00:00Z or with digits behind a point, which is what most files have: the
/// same as jiff's in a fraction of the time. `None` for all else, right or wrong.
fn of_utc(text: &[u8]) -> Option<i64> {
    let time = civil(text.strip_suffix(b"Z")?)?;
    let clock = [time.hour(), time.minute(), time.second()].map(i64::from);
    let seconds = (days(time) * 24 + clock[0]) * 3600 + clock[1] * 60 + clock[2];
    seconds
        .checked_mul(SECOND)?
        .checked_add(time.subsec_nanosecond().into())
}

/// Returns the days from 1970 to a date, in a quarter of jiff's time: years begin in March, so that
/// the day of a leap year is its last one.
fn days(date: DateTime) -> i64 {
    let (year, month) = (i64::from(date.year()), i64::from(date.month()));
    let year = year - i64::from(month < 3);
    let month = (month + 9) % 12;
    let of_years = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 31 and 30 days in turn, from March and from August on.
    let of_months = (153 * month + 2) / 5;
    of_years + of_months + i64::from(date.day()) - 719_469
}

/// A time as 2026-01-31T12:00:00 or 2026-01-31 12:00:00.5, without an offset.
#[inline]
fn civil(text: &[u8]) -> Option<DateTime> {
    let (whole, rest) = text.split_at_checked(19)?;
    let fraction = match rest {
        b"" => b"",
        [b'.', fraction @ ..] if (1..=9).contains(&fraction.len()) => fraction,
        _ => return None,
    };
    let separators = [4, 7, 10, 13, 16].map(|place| whole[place]);
    if separators != *b"--T::" && separators != *b"-- ::" {
        return None;
    }
    let [hundreds, years, month, day, hour, minute, second] =
        [0, 2, 5, 8, 11, 14, 17].map(|place| digits(&whole[place..place + 2]));
    let year = hundreds? as i16 * 100 + years? as i16;
    let (month, day) = (month? as i8, day? as i8);
    let (hour, minute, second) = (hour? as i8, minute? as i8, second? as i8);
    let nanoseconds = digits(fraction)? * 10i32.pow(9 - fraction.len() as u32);
    DateTime::new(year, month, day, hour, minute, second, nanoseconds).ok()
}

fn unsigned(number: &[u8]) -> &[u8] {
    match number {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    }
}

/// Returns whether a text consists of digits with at most a sign before them, a point among them and an
/// exponent behind them: `1769860800.25` and `1.76e9`, but not the dates `2026-01-31` and `31.01.2026`.
/// An empty text is a number, too.
pub fn is_number(text: &[u8]) -> bool {
    let mut digits = unsigned(text);
    if let Some(place @ 1..) = digits.iter().position(|c| b"eE".contains(c)) {
        let exponent = unsigned(&digits[place + 1..]);
        if exponent.is_empty() || !exponent.iter().all(u8::is_ascii_digit) {
            return false;
        }
        digits = &digits[..place];
    }
    let points = digits.iter().filter(|c| **c == b'.').count();
    points < 2 && digits.iter().all(|c| c.is_ascii_digit() || *c == b'.')
}

/// Whether the seconds of a time as 23:59:60 or 235960 are 60, which jiff reads as 59.
fn is_leap_second(text: &str) -> bool {
    let digits = text.bytes().skip_while(|c| !b"Tt ".contains(c)).skip(1);
    let digits = digits.take_while(|&c| c.is_ascii_digit() || c == b':');
    let digits: Vec<u8> = digits.filter(u8::is_ascii_digit).collect();
    digits.get(4..6) == Some(b"60")
}

/// The number that up to 9 digits are.
fn digits(text: &[u8]) -> Option<i32> {
    text.iter().try_fold(0, |number, digit| {
        let is_digit = digit.is_ascii_digit();
        is_digit.then(|| number * 10 + i32::from(digit - b'0'))
    })
}

/// The error of a leap second.
pub const LEAP_SECOND: &str = "is a leap second, which nanoseconds since 1970 do not count: write the second before it \
                               or after it";

const OUT_OF_RANGE: &str = "is out of the range of nanoseconds in 64 bits, 1677-09-21T00:12:43.145224192Z to \
                            2262-04-11T23:47:16.854775807Z";

/// Digits of the fraction of a second that nanoseconds have.
const NANOSECOND_DIGITS: usize = 9;

const TOO_FINE: &str = "has more than nine digits behind the seconds, but times are nanoseconds: leave out the digits behind \
                        the ninth";

/// Returns a time as people read it.
pub fn timestamp(time: i64) -> Timestamp {
    Timestamp::from_nanosecond(time.into()).expect("an i64 is within its range")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day of the years in which nanoseconds have 64 bits, and those around.
    #[test]
    fn days_are_those_of_jiff() {
        let mut date = jiff::civil::date(1600, 1, 1);
        while date.year() < 2401 {
            let time = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).unwrap();
            assert_eq!(
                days(date.at(0, 0, 0, 0)) * 86_400,
                time.as_second(),
                "{date}"
            );
            date = date.tomorrow().unwrap();
        }
    }

    #[test]
    fn dates_are_no_numbers() {
        for text in [
            "1769860800",
            "-5",
            "+5",
            "1769860800.25",
            "1.76e9",
            "-1E+9",
            "",
        ] {
            assert!(is_number(text.as_bytes()), "{text}");
        }
        for text in [
            "2026-01-31",
            "31.01.2026",
            "1-2",
            "noon",
            "e9",
            "1e",
            "1e1.5",
            "1e1e1",
        ] {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
        let day = parse_in(b"1970-01-02", None, Some(&TimeZone::UTC));
        assert_eq!(day, Ok(86_400 * SECOND));
        assert!(point("1970-01-02T12:00[Europe/Berlin]").is_err());
    }

    #[test]
    fn digits_behind_the_nanoseconds_are_named() {
        let said = |text: &str| parse_in(text.as_bytes(), None, Some(&TimeZone::UTC));
        for text in [
            "2026-01-01T00:00:00.1234567891Z",
            "2026-01-01 00:00:00.1234567891+01:00",
            "2026-01-01T00:00:00.1234567890",
        ] {
            assert_eq!(said(text), Err(TOO_FINE.into()), "{text}");
            assert_eq!(point(text), Err(TOO_FINE), "{text}");
        }
        assert!(said("2026-01-01T00:00:00.123456789Z").is_ok());
        assert_ne!(
            said("2026-13-01T00:00:00.1234567891Z"),
            Err(TOO_FINE.into())
        );
    }

    #[test]
    fn numbers_with_an_exponent_are_exact() {
        for (text, time) in [
            ("1.76e9", 1_760_000_000 * SECOND),
            ("1.7698608005E+09", 1_769_860_800_500_000_000),
            ("-25e-1", -2_500_000_000),
            ("0e0", 0),
            ("12e-9", 12),
        ] {
            assert_eq!(parse(text.as_bytes(), TimeUnit::S), Ok(time), "{text}");
        }
        let fine = "is not a whole number of nanoseconds";
        for (text, what) in [
            ("1e-10", fine),
            ("1e10", OUT_OF_RANGE),
            (
                "1e99",
                "is neither seconds since 1970 nor a time as 2026-01-31T12:00:00Z",
            ),
        ] {
            let found = parse(text.as_bytes(), TimeUnit::S);
            assert_eq!(found, Err(what.into()), "{text}");
        }
    }
}

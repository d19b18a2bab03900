//! Times since 1970, nanoseconds in an i64, as text.

use std::num::IntErrorKind;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::SECOND;

gridstride::choice! {
    /// Units of times that are numbers.
    pub enum Unit("unit") {
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

impl Unit {
    fn nanoseconds(self) -> i64 {
        match self {
            Unit::S => SECOND,
            Unit::Ms => 1_000_000,
            Unit::Us => 1_000,
            Unit::Ns => 1,
        }
    }

    /// What a text says that is no time.
    fn neither(self) -> &'static str {
        match self {
            Unit::S => "is neither seconds since 1970 nor a time as 2026-01-31T12:00:00Z",
            Unit::Ms => "is neither milliseconds since 1970 nor a time as 2026-01-31T12:00:00Z",
            Unit::Us => "is neither microseconds since 1970 nor a time as 2026-01-31T12:00:00Z",
            Unit::Ns => "is neither nanoseconds since 1970 nor a time as 2026-01-31T12:00:00Z",
        }
    }
}

/// Parses a time: a number since 1970, in a unit, or RFC 3339.
///
/// # Errors
/// What is wrong with the text, to follow the text in a sentence.
pub fn parse(text: &[u8], unit: Unit) -> Result<i64, &'static str> {
    if let Some(time) = of_utc(text) {
        return Ok(time);
    }
    // What is not UTF-8 is no time either.
    let text = str::from_utf8(text).unwrap_or_default();
    match text.parse::<i64>() {
        Ok(time) => return time.checked_mul(unit.nanoseconds()).ok_or(OUT_OF_RANGE),
        Err(error) => {
            if let IntErrorKind::PosOverflow | IntErrorKind::NegOverflow = error.kind() {
                return Err(OUT_OF_RANGE);
            }
        }
    }
    if let Some(time) = decimal(text, unit) {
        return time;
    }
    match text.parse::<Timestamp>() {
        Ok(_) if is_leap_second(text) => Err(LEAP_SECOND),
        Ok(time) => i64::try_from(time.as_nanosecond()).map_err(|_| OUT_OF_RANGE),
        Err(_) if text.parse::<DateTime>().is_ok() => {
            Err("has no offset from UTC, as the Z in 2026-01-31T12:00:00Z")
        }
        Err(_) => Err(unit.neither()),
    }
}

/// Returns the nanoseconds from 1970 to a time such as `2026-01-31T12:00:00+01:00` or `2026-01-31`,
/// which is in UTC unless it has an offset. They may be beyond an `i64`.
///
/// # Errors
/// What is wrong with the text, to follow the text in a sentence.
///
/// ```
/// use files::time::point;
///
/// assert_eq!(point("1970-01-02"), Ok(86_400_000_000_000));
/// assert_eq!(point("1970-01-01T01:00:00.5+01:00"), Ok(500_000_000));
/// ```
pub fn point(text: &str) -> Result<i128, &'static str> {
    let in_utc = || {
        Offset::UTC
            .to_timestamp(text.parse::<DateTime>().ok()?)
            .ok()
    };
    let time = text.parse::<Timestamp>().ok().or_else(in_utc);
    match time {
        Some(_) if is_leap_second(text) => Err(LEAP_SECOND),
        Some(time) => Ok(time.as_nanosecond()),
        None => Err("is no time as 2026-01-31T12:00:00Z"),
    }
}

/// A time as 1769860800.25, in a unit; `None` if the text is no decimal number.
fn decimal(text: &str, unit: Unit) -> Option<Result<i64, &'static str>> {
    let (whole, fraction) = text.split_once('.')?;
    let (sign, whole) = match whole.strip_prefix('-') {
        None => (1, whole.strip_prefix('+').unwrap_or(whole)),
        Some(whole) => (-1, whole),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let (unit, fraction) = (
        i128::from(unit.nanoseconds()),
        fraction.trim_end_matches('0'),
    );
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
    let (whole, rest) = text.split_at_checked(19)?;
    let fraction = match rest {
        b"Z" => b"",
        [b'.', fraction @ .., b'Z'] if (1..=9).contains(&fraction.len()) => fraction,
        _ => return None,
    };
    if [4, 7, 10, 13, 16].map(|place| whole[place]) != *b"--T::" {
        return None;
    }
    let [hundreds, years, month, day, hour, minute, second] =
        [0, 2, 5, 8, 11, 14, 17].map(|place| digits(&whole[place..place + 2]));
    let year = hundreds? as i16 * 100 + years? as i16;
    let (month, day) = (month? as i8, day? as i8);
    let (hour, minute, second) = (hour? as i8, minute? as i8, second? as i8);
    let nanoseconds = digits(fraction)? * 10i32.pow(9 - fraction.len() as u32);
    let time = DateTime::new(year, month, day, hour, minute, second, nanoseconds).ok()?;
    let time = Offset::UTC.to_timestamp(time).ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

/// Returns whether a text is a number since 1970, in a unit.
pub fn is_number(text: &[u8]) -> bool {
    text.iter()
        .all(|c| c.is_ascii_digit() || b"+-.".contains(c))
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

/// Units of timestamps other than nanoseconds.
const OTHER_UNITS: [(&str, Unit); 3] = [
    ("seconds", Unit::S),
    ("milliseconds", Unit::Ms),
    ("microseconds", Unit::Us),
];

/// Returns the unit in which all times are between March 1973 and January 2100, with its name, if
/// they are not in nanoseconds.
pub fn unit_by_size(times: &[i64]) -> Option<(&'static str, Unit)> {
    let (least, greatest) = (*times.iter().min()?, *times.iter().max()?);
    let is_likely = |&(_, unit): &(&str, Unit)| {
        let in_a_second = SECOND / unit.nanoseconds();
        least >= 100_000_000 * in_a_second && greatest < 4_102_444_800 * in_a_second
    };
    OTHER_UNITS.into_iter().find(is_likely)
}

/// What is wrong with a leap second.
pub const LEAP_SECOND: &str = "is a leap second, which nanoseconds since 1970 do not count: write the second before it \
                               or after it";

const OUT_OF_RANGE: &str = "is out of the range of nanoseconds in 64 bits, 1677-09-21T00:12:43.145224192Z to \
                            2262-04-11T23:47:16.854775807Z";

/// Returns a time as people read it.
pub fn timestamp(time: i64) -> Timestamp {
    Timestamp::from_nanosecond(time.into()).expect("an i64 is within its range")
}

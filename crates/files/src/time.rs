//! Times and durations, nanoseconds in an i64, as text.

use std::num::IntErrorKind;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Units of times that are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl Unit {
    /// All units.
    pub const ALL: [Unit; 4] = [Unit::S, Unit::Ms, Unit::Us, Unit::Ns];

    /// Returns the short name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::S => "s",
            Unit::Ms => "ms",
            Unit::Us => "us",
            Unit::Ns => "ns",
        }
    }

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

/// A duration above zero, as it was written.
#[derive(Clone, Debug)]
pub struct Every {
    /// The duration.
    pub nanoseconds: i64,
    /// The text that was parsed.
    pub text: String,
}

/// Units of durations, in nanoseconds.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
    ("d", 86_400 * SECOND),
    ("w", 7 * 86_400 * SECOND),
];

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Every, String> {
        Ok(Every {
            nanoseconds: duration(text)?,
            text: text.into(),
        })
    }
}

fn duration(text: &str) -> Result<i64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let has_digits = !whole.is_empty() && (fraction.is_empty() != number.contains('.'));
    if !has_digits || fraction.contains('.') {
        return Err("not a duration as 200ms, 35s or 1.5h".into());
    }
    let names = UNITS.map(|(name, _)| name).join(", ");
    let (_, size) = *UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| match unit {
            "" => format!("the unit is missing: {names}"),
            _ => format!("there is no unit {unit:?}, but {names}"),
        })?;

    // number·size / 10^digits, unless it is beyond any i64.
    let fraction = fraction.trim_end_matches('0');
    let too_long = || "longer than 64 bits of nanoseconds, about 292 years".to_owned();
    let digits: i128 = match format!("{whole}{fraction}").trim_start_matches('0') {
        "" => return Err("a bucket has to last 1ns at least".into()),
        digits => digits.parse().map_err(|_| too_long())?,
    };
    let inexact = || "not a whole number of nanoseconds".to_owned();
    let divisor = u32::try_from(fraction.len())
        .ok()
        .and_then(|digits| 10i128.checked_pow(digits))
        .ok_or_else(inexact)?;
    let product = digits.checked_mul(size.into()).ok_or_else(too_long)?;
    if product % divisor != 0 {
        return Err(inexact());
    }
    i64::try_from(product / divisor).map_err(|_| too_long())
}

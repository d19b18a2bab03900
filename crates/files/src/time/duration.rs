//! Durations of a fixed length.

use std::str::FromStr;

/// The nanoseconds of a second.
pub const SECOND: i64 = 1_000_000_000;

/// The nanoseconds of a day.
pub const DAY: i64 = 86_400 * SECOND;

/// The units with their spellings, the common one first, and their nanoseconds. A capital letter is
/// another unit than the small one: pandas has T for minutes, and L, U and N for fractions of seconds.
const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "N", "nanosecond", "nanoseconds"], 1),
    (
        &["us", "U", "µs", "μs", "microsecond", "microseconds"],
        1_000,
    ),
    (&["ms", "L", "millisecond", "milliseconds"], 1_000_000),
    (&["s", "S", "sec", "second", "seconds"], SECOND),
    (&["m", "min", "T", "minute", "minutes"], 60 * SECOND),
    (&["h", "H", "hr", "hour", "hours"], 3600 * SECOND),
    (&["d", "D", "day", "days"], DAY),
    (&["w", "W", "week", "weeks"], 7 * DAY),
];

/// Spellings of pandas, polars and SQL for parts of a calendar, what they mean, and a fixed length
/// to use instead.
const CALENDAR: [(&[&str], &str, &str); 7] = [
    (
        &[
            "M", "MS", "ME", "BM", "BMS", "BME", "CBMS", "CBME", "mo", "mon", "month", "months",
        ],
        "months",
        "30d",
    ),
    (&["SM", "SMS", "SME"], "half months", "15d"),
    (&["WOM", "LWOM"], "weeks of a month", "7d"),
    (
        &[
            "Q", "QS", "QE", "BQ", "BQS", "BQE", "q", "quarter", "quarters",
        ],
        "quarters",
        "91d",
    ),
    (
        &[
            "Y", "YS", "YE", "A", "AS", "AE", "BY", "BYS", "BYE", "BA", "BAS", "y", "year", "years",
        ],
        "years",
        "365d",
    ),
    (&["B", "C", "bd"], "business days", "1d"),
    (&["BH", "bh", "CBH", "cbh"], "business hours", "1h"),
];

/// Returns the nanoseconds of a duration such as `200ms`, `1.5h`, `1h30m` or `5 min`: numbers, each
/// with a unit. A unit alone, such as `D`, is one of it. The result is more than 0, and may be beyond
/// an `i64`.
///
/// Units are case-sensitive. The spellings of pandas and polars are read if they mean a fixed
/// length, such as `5min`, `1H`, `1D` or `1d12h`. A day has 24 hours, and a week has 7 days.
///
/// # Errors
/// A clause that says what is wrong with the text, to be put behind the text. Parts of a calendar,
/// such as `1M`, `1MS` or `1mo`, have no fixed length and are refused by name.
///
/// ```
/// use files::time::duration;
///
/// assert_eq!(duration("1h30m"), Ok(5_400_000_000_000));
/// assert_eq!(duration("s"), Ok(1_000_000_000));
/// assert_eq!(
///     duration("1MS").unwrap_err(),
///     "MS means calendar months, which differ in length: give a fixed length such as 30d, or \
///      group by the calendar before"
/// );
/// ```
pub fn duration(text: &str) -> Result<i128, String> {
    let mut rest = text.trim();
    // A unit alone, as pandas has it.
    if rest
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte))
    {
        let size = fixed(rest).ok_or_else(|| calendar(rest).unwrap_or(NO_DURATION.into()));
        return size.map(i128::from);
    }
    let mut sum = 0_i128;
    while !rest.is_empty() {
        let number = until(rest, |c| !c.is_ascii_digit() && c != '.');
        rest = rest[number.len()..].trim_start();
        let unit = until(rest, |c| {
            c.is_ascii_digit() || c == '.' || c.is_whitespace()
        });
        rest = rest[unit.len()..].trim_start();
        sum = sum.checked_add(length(number, unit)?).ok_or(TOO_LONG)?;
    }
    match sum {
        0 => Err("a bucket has to last 1ns at least".into()),
        sum => Ok(sum),
    }
}

/// A duration above zero, as it was written.
#[derive(Clone, Debug)]
pub struct Every {
    /// The duration.
    pub nanoseconds: i64,
    /// The text that was parsed.
    pub text: String,
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Every, String> {
        Ok(Every {
            nanoseconds: i64::try_from(duration(text)?).map_err(|_| TOO_LONG)?,
            text: text.into(),
        })
    }
}

const NO_DURATION: &str = "not a duration as 200ms, 35s or 1.5h";
const TOO_LONG: &str = "longer than 64 bits of nanoseconds, about 292 years";

/// Returns the beginning of a text, up to the first character that ends it.
fn until(text: &str, is_end: impl Fn(char) -> bool) -> &str {
    &text[..text.find(is_end).unwrap_or(text.len())]
}

/// Returns the nanoseconds of one number with its unit.
fn length(number: &str, unit: &str) -> Result<i128, String> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let has_digits = !whole.is_empty() && (fraction.is_empty() != number.contains('.'));
    if !has_digits || fraction.contains('.') {
        return Err(NO_DURATION.into());
    }
    let size = nanoseconds(unit)?;
    // number·size / 10^digits, unless it is beyond any i128.
    let fraction = fraction.trim_end_matches('0');
    let digits = match format!("{whole}{fraction}").trim_start_matches('0') {
        "" => return Ok(0),
        digits => digits.parse::<i128>().map_err(|_| TOO_LONG)?,
    };
    let product = digits.checked_mul(size.into()).ok_or(TOO_LONG)?;
    let divisor = u32::try_from(fraction.len()).ok();
    match divisor.and_then(|digits| 10_i128.checked_pow(digits)) {
        Some(divisor) if product % divisor == 0 => Ok(product / divisor),
        _ => Err("not a whole number of nanoseconds".into()),
    }
}

/// Returns the nanoseconds of a unit, if it has a fixed length.
fn fixed(unit: &str) -> Option<i64> {
    let found = UNITS.iter().find(|(names, _)| names.contains(&unit));
    found.map(|(_, size)| *size)
}

/// Says what a unit means that is a part of a calendar.
fn calendar(unit: &str) -> Option<String> {
    // Of pandas' QS-JAN and of polars' 1mo_saturating, the first part is the unit.
    let base = until(unit, |c| c == '-' || c == '_');
    if base == "W" {
        return Some(format!(
            "{unit} means weeks that begin on a weekday: give 7d, and as the origin a time on that \
             weekday"
        ));
    }
    let (_, what, instead) = CALENDAR.iter().find(|(names, ..)| names.contains(&base))?;
    Some(format!(
        "{unit} means calendar {what}, which differ in length: give a fixed length such as \
         {instead}, or group by the calendar before"
    ))
}

/// Returns the nanoseconds of a unit.
fn nanoseconds(unit: &str) -> Result<i64, String> {
    if let Some(size) = fixed(unit) {
        return Ok(size);
    }
    let units = UNITS.map(|(names, _)| names[0]).join(", ");
    if unit.is_empty() {
        return Err(format!("the unit is missing: {units}"));
    }
    if let Some(what) = calendar(unit) {
        return Err(what);
    }
    let is_other_case = |name: &&&str| name.eq_ignore_ascii_case(unit);
    let similar = UNITS
        .iter()
        .flat_map(|(names, _)| *names)
        .find(is_other_case);
    let similar = similar.map_or(String::new(), |name| {
        format!(": units are case-sensitive, and {name} is one")
    });
    Err(format!("there is no unit {unit:?}, but {units}{similar}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_the_table_says() {
        let table = include_str!("../../../../tests/data/durations.csv");
        for line in table.lines().skip(1) {
            let [text, nanoseconds, error] = line
                .splitn(3, ',')
                .collect::<Vec<_>>()
                .try_into()
                .expect("three columns");
            let found = duration(text);
            match error {
                "" => assert_eq!(found, Ok(nanoseconds.parse().unwrap()), "{text}"),
                _ => assert!(
                    found.clone().is_err_and(|said| said.contains(error)),
                    "{text}: {found:?}"
                ),
            }
        }
    }

    #[test]
    fn no_spelling_means_two_units() {
        let mut seen = std::collections::HashSet::new();
        let units = UNITS.iter().map(|(names, _)| *names);
        for name in units.chain(CALENDAR.map(|(names, ..)| names)).flatten() {
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn lengths_beyond_64_bits_are_exact() {
        let weeks = i128::from(7 * DAY);
        assert_eq!(duration("99999999999999w"), Ok(99_999_999_999_999 * weeks));
        let most = format!("{}ns", i128::MAX);
        assert_eq!(duration(&most), Ok(i128::MAX));
        for text in [&format!("{most}1ns"), &format!("{}us", i128::MAX)] {
            assert_eq!(duration(text).unwrap_err(), TOO_LONG);
        }
    }
}

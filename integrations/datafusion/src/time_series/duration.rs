//! Lengths of buckets and origins as text, in the unit of a column of timestamps.

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::compute::kernels::cast_utils::string_to_datetime;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, plan_err};

const FUNCTION: &str = "time_buckets";

/// Units of durations, in nanoseconds.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
    ("d", DAY),
    ("w", 7 * DAY),
];
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// What the numbers of a column of timestamps count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    /// A time: the number of nanoseconds, and the unit's name.
    Time(i64, &'static str),
    /// Whatever integers without a unit count.
    Plain,
}

impl Unit {
    /// Returns the unit of a type of timestamps.
    ///
    /// # Errors
    /// For types that are no timestamps, dates or integers. `column` is for the message.
    pub fn of(column: &str, data_type: &DataType) -> Result<Unit> {
        Ok(match data_type {
            DataType::Timestamp(TimeUnit::Second, _) => Unit::Time(SECOND, "s"),
            DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => {
                Unit::Time(1_000_000, "ms")
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => Unit::Time(1_000, "us"),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Unit::Time(1, "ns"),
            DataType::Date32 => Unit::Time(DAY, "d"),
            integer if integer.is_integer() => Unit::Plain,
            other => {
                return plan_err!(
                    "{FUNCTION}: timestamp column {column:?} is of type {other}, and has to be a timestamp, a date or an integer: cast it in a view"
                );
            }
        })
    }

    /// Returns the name, empty for integers.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Time(_, name) => name,
            Unit::Plain => "",
        }
    }

    /// Returns the number of units in a duration such as `35s`, at least 1.
    ///
    /// # Errors
    /// If the text is no duration, or not a whole number of units.
    pub fn every(self, column: &str, text: &str) -> Result<i64> {
        let (number, name) = split(text);
        let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if name.is_empty() && is_whole {
            return match (self, number.parse()) {
                (Unit::Time(..), _) => plan_err!(
                    "{FUNCTION}: the length of a bucket, {text:?}, lacks its unit: {}",
                    unit_names()
                ),
                (Unit::Plain, Ok(0)) => {
                    plan_err!("{FUNCTION}: the length of a bucket is 0, and has to be 1 at least")
                }
                (Unit::Plain, Ok(units)) => Ok(units),
                (Unit::Plain, Err(_)) => {
                    plan_err!("{FUNCTION}: the length of a bucket, {text:?}, is more than 64 bits")
                }
            };
        }
        let Unit::Time(unit, unit_name) = self else {
            return plan_err!(
                "{FUNCTION}: timestamp column {column:?} has integers without a unit, so that the length of a bucket is a whole number such as '35', and not {text:?}: cast the column to a timestamp in a view for lengths such as '35s'"
            );
        };
        let nanoseconds = nanoseconds(text)?;
        let units = nanoseconds / i128::from(unit);
        match i64::try_from(units) {
            Ok(units) if units > 0 && nanoseconds % i128::from(unit) == 0 => Ok(units),
            _ if nanoseconds == 0 => {
                plan_err!("{FUNCTION}: the length of a bucket, {text:?}, has to be more than 0")
            }
            Ok(_) => plan_err!(
                "{FUNCTION}: the length of a bucket, {text:?}, is not a whole number of the units of column {column:?}, which are 1{unit_name}"
            ),
            Err(_) => plan_err!(
                "{FUNCTION}: the length of a bucket, {text:?}, is more than 64 bits of {unit_name}"
            ),
        }
    }

    /// Returns the number of units from 1970 to a time such as `2026-01-31T12:00:00Z`, in UTC unless
    /// it has an offset. An integer is a number of units.
    ///
    /// # Errors
    /// If the text is neither, or not a whole number of units.
    pub fn origin(self, column: &str, text: &str) -> Result<i64> {
        if let Ok(units) = text.parse() {
            return Ok(units);
        }
        let Unit::Time(unit, unit_name) = self else {
            return plan_err!(
                "{FUNCTION}: timestamp column {column:?} has integers without a unit, so that origin is an integer too, and not {text:?}"
            );
        };
        let utc: Tz = "+00:00".parse()?;
        let Ok(time) = string_to_datetime(&utc, text) else {
            return plan_err!(
                "{FUNCTION}: origin={text} is neither a time such as 2026-01-31T12:00:00Z nor an integer in the unit of column {column:?}"
            );
        };
        let (seconds, rest) = (time.timestamp(), time.timestamp_subsec_nanos());
        let nanoseconds = i128::from(seconds) * i128::from(SECOND) + i128::from(rest);
        match i64::try_from(nanoseconds.div_euclid(i128::from(unit))) {
            Ok(units) if nanoseconds % i128::from(unit) == 0 => Ok(units),
            Ok(_) => plan_err!(
                "{FUNCTION}: origin={text} is not a whole number of the units of column {column:?}, which are 1{unit_name}"
            ),
            Err(_) => plan_err!("{FUNCTION}: origin={text} is beyond 64 bits of {unit_name}"),
        }
    }
}

/// Splits a duration in the number and the unit.
fn split(text: &str) -> (&str, &str) {
    let is_unit = |c: char| !c.is_ascii_digit() && c != '.';
    let (number, unit) = text.split_at(text.find(is_unit).unwrap_or(text.len()));
    (number, unit.trim())
}

fn unit_names() -> String {
    UNITS.map(|(name, _)| name).join(", ")
}

fn nanoseconds(text: &str) -> Result<i128> {
    let (number, name) = split(text);
    if let "mo" | "month" | "months" | "y" | "year" | "years" = name {
        return plan_err!(
            "{FUNCTION}: buckets have one length, and months and years do not: use days, such as '30d', or date_bin or date_trunc and GROUP BY instead of {text:?}"
        );
    }
    let invalid = || {
        plan_err!(
            "{FUNCTION}: the length of a bucket is {text:?}, and has to be a number and a unit such as '200ms', '35s' or '1.5h': the units are {}",
            unit_names()
        )
    };
    let Some(&(_, unit)) = UNITS.iter().find(|(unit, _)| *unit == name) else {
        return invalid();
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = format!("{whole}{fraction}");
    let divisor = u32::try_from(fraction.len()).ok();
    let divisor = divisor.and_then(|digits| 10i128.checked_pow(digits));
    let product = digits
        .parse::<i128>()
        .ok()
        .and_then(|digits| digits.checked_mul(unit.into()));
    match (product, divisor) {
        (Some(product), Some(divisor)) if !whole.is_empty() && !fraction.is_empty() => {
            match product % divisor {
                0 => Ok(product / divisor),
                _ => plan_err!(
                    "{FUNCTION}: the length of a bucket, {text:?}, is not a whole number of nanoseconds"
                ),
            }
        }
        _ => invalid(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Unit = Unit::Time(1_000_000, "ms");

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().strip_backtrace()
    }

    #[test]
    fn durations_are_read_in_the_unit_of_the_column() {
        for (text, expected) in [
            ("200ms", 200),
            ("35s", 35_000),
            ("1.5h", 5_400_000),
            ("1d", 86_400_000),
            ("2w", 1_209_600_000),
            ("5000us", 5),
            ("1 s", 1000),
        ] {
            assert_eq!(MS.every("t", text).unwrap(), expected, "{text}");
        }
        assert_eq!(Unit::Time(DAY, "d").every("t", "48h").unwrap(), 2);
        assert_eq!(Unit::Plain.every("t", "35").unwrap(), 35);
    }

    #[test]
    fn wrong_durations_say_what_is_possible() {
        for (unit, text, part) in [
            (MS, "35", "lacks its unit: ns, us, ms, s, m, h, d, w"),
            (
                MS,
                "1us",
                "not a whole number of the units of column \"t\", which are 1ms",
            ),
            (
                MS,
                "1mo",
                "months and years do not: use days, such as '30d'",
            ),
            (MS, "2 years", "months and years do not"),
            (MS, "0s", "has to be more than 0"),
            (MS, "-5s", "has to be a number and a unit"),
            (MS, ".5s", "has to be a number and a unit"),
            (MS, "5.s", "has to be a number and a unit"),
            (MS, "1.2.3s", "has to be a number and a unit"),
            (MS, "5 fortnights", "the units are ns, us"),
            (MS, "", "has to be a number and a unit"),
            (MS, "0.0000001us", "not a whole number of nanoseconds"),
            (MS, "99999999999999999999w", "more than 64 bits of ms"),
            (Unit::Plain, "35s", "whole number such as '35'"),
            (Unit::Plain, "0", "has to be 1 at least"),
            (
                Unit::Plain,
                "99999999999999999999",
                "\"99999999999999999999\", is more than 64 bits",
            ),
            (MS, "99999999999999999999", "lacks its unit"),
            (Unit::Time(DAY, "d"), "36h", "which are 1d"),
        ] {
            let message = message(unit.every("t", text));
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn origins_are_times_or_numbers_of_units() {
        for (text, expected) in [
            ("1970-01-01T00:00:01Z", 1000),
            ("1970-01-01 00:00:00.25", 250),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31", -86_400_000),
            ("-7", -7),
        ] {
            assert_eq!(MS.origin("t", text).unwrap(), expected, "{text}");
        }
        for (unit, text, part) in [
            (
                MS,
                "1970-01-01T00:00:00.0005Z",
                "not a whole number of the units",
            ),
            (
                MS,
                "noon",
                "neither a time such as 2026-01-31T12:00:00Z nor an integer",
            ),
            (Unit::Time(1, "ns"), "3000-01-01", "beyond 64 bits of ns"),
            (Unit::Plain, "2026-01-01", "is an integer too"),
        ] {
            let message = message(unit.origin("t", text));
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

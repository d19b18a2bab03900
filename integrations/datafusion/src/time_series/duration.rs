//! Lengths of buckets and origins as text, in the unit of a column of timestamps.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, plan_err};
use files::time::{DAY, SECOND, duration, point};

const FUNCTION: &str = "time_buckets";

/// The unit of a column of timestamps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resolution {
    /// A time: the number of nanoseconds, and the unit's name.
    Time(i64, &'static str),
    /// Whatever integers without a unit count.
    Plain,
}

impl Resolution {
    /// Returns the unit of a type of timestamps.
    ///
    /// # Errors
    /// For types that are no timestamps, dates or integers. `column` is for the message.
    pub fn of(column: &str, data_type: &DataType) -> Result<Resolution> {
        Ok(match data_type {
            DataType::Timestamp(TimeUnit::Second, _) => Resolution::Time(SECOND, "s"),
            DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => {
                Resolution::Time(1_000_000, "ms")
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => Resolution::Time(1_000, "us"),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Resolution::Time(1, "ns"),
            DataType::Date32 => Resolution::Time(DAY, "d"),
            integer if integer.is_integer() => Resolution::Plain,
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
            Resolution::Time(_, name) => name,
            Resolution::Plain => "",
        }
    }

    /// Returns the number of units in a duration such as `35s`, at least 1.
    ///
    /// # Errors
    /// If the text is no duration, or not a whole number of units.
    pub fn every(self, column: &str, text: &str) -> Result<i64> {
        let number = text.trim();
        let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let Resolution::Time(unit, unit_name) = self else {
            return match number.parse() {
                _ if !is_whole => plan_err!(
                    "{FUNCTION}: timestamp column {column:?} has integers without a unit, so that the length of a bucket is a whole number such as '35', and not {text:?}: cast the column to a timestamp in a view for lengths such as '35s'"
                ),
                Ok(0) => {
                    plan_err!("{FUNCTION}: the length of a bucket is 0, and has to be 1 at least")
                }
                Ok(units) => Ok(units),
                Err(_) => {
                    plan_err!("{FUNCTION}: the length of a bucket, {text:?}, is more than 64 bits")
                }
            };
        };
        let nanoseconds = match duration(text) {
            Ok(nanoseconds) => nanoseconds,
            Err(what) => {
                return plan_err!("{FUNCTION}: the length of a bucket is {text:?}: {what}");
            }
        };
        let units = nanoseconds / i128::from(unit);
        match i64::try_from(units) {
            Ok(units) if units > 0 && nanoseconds % i128::from(unit) == 0 => Ok(units),
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
        let Resolution::Time(unit, unit_name) = self else {
            return plan_err!(
                "{FUNCTION}: timestamp column {column:?} has integers without a unit, so that origin is an integer too, and not {text:?}"
            );
        };
        let Ok(nanoseconds) = point(text) else {
            return plan_err!(
                "{FUNCTION}: origin={text} is neither a time such as 2026-01-31T12:00:00Z nor an integer in the unit of column {column:?}"
            );
        };
        match i64::try_from(nanoseconds.div_euclid(i128::from(unit))) {
            Ok(units) if nanoseconds % i128::from(unit) == 0 => Ok(units),
            Ok(_) => plan_err!(
                "{FUNCTION}: origin={text} is not a whole number of the units of column {column:?}, which are 1{unit_name}"
            ),
            Err(_) => plan_err!("{FUNCTION}: origin={text} is beyond 64 bits of {unit_name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Resolution = Resolution::Time(1_000_000, "ms");

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().strip_backtrace()
    }

    #[test]
    fn durations_are_read_as_the_table_says() {
        for line in include_str!("../../../../tests/data/durations.csv")
            .lines()
            .skip(1)
        {
            let [text, nanoseconds, error] = line.splitn(3, ',').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let found = Resolution::Time(1, "ns").every("t", text);
            match error {
                "" => assert_eq!(
                    found.unwrap(),
                    nanoseconds.parse::<i64>().unwrap(),
                    "{text}"
                ),
                _ => assert!(message(found).contains(error), "{text}"),
            }
        }
        assert_eq!(MS.every("t", "1m30s500ms").unwrap(), 90_500);
        assert_eq!(Resolution::Time(DAY, "d").every("t", "48h").unwrap(), 2);
        assert_eq!(Resolution::Plain.every("t", "35").unwrap(), 35);
    }

    #[test]
    fn wrong_durations_say_what_is_possible() {
        for (unit, text, part) in [
            (
                MS,
                "1us",
                "not a whole number of the units of column \"t\", which are 1ms",
            ),
            (MS, "99999999999999999999w", "more than 64 bits of ms"),
            (MS, "99999999999999999999", "the unit is missing"),
            (Resolution::Plain, "35s", "whole number such as '35'"),
            (Resolution::Plain, "0", "has to be 1 at least"),
            (
                Resolution::Plain,
                "99999999999999999999",
                "\"99999999999999999999\", is more than 64 bits",
            ),
            (Resolution::Time(DAY, "d"), "36h", "which are 1d"),
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
            (
                Resolution::Time(1, "ns"),
                "3000-01-01",
                "beyond 64 bits of ns",
            ),
            (Resolution::Plain, "2026-01-01", "is an integer too"),
        ] {
            let message = message(unit.origin("t", text));
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

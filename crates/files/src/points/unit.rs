//! The unit of timestamps that are numbers, from their size.

use std::io::Read;
use std::ops::Range;

use anyhow::{Result, bail};
use csv::ByteRecord;
use gridstride::Choice;

use crate::input::Begun;
use crate::records::{Header, TableOptions, sequential};
use crate::time::{self, TimeUnit, timestamp};

/// Bytes at the start of a file whose timestamps tell the unit.
const SAMPLE: usize = 1 << 16;

/// Times that are taken for plausible: from 1990 to 2100.
const PLAUSIBLE: Range<i64> = 631_152_000 * time::SECOND..4_102_444_800 * time::SECOND;

/// The number of timestamps among which one may be implausible, such as a 0 for a missing time.
const FEW: u64 = 100;

/// Returns the unit of the timestamps at the start of a file, if there are numbers, and the whole of the
/// file. An error of reading comes at its place in the file.
///
/// # Errors
/// If there are numbers, and few of them are plausible in one unit.
pub fn told(
    source: impl Read + Send + 'static,
    options: &TableOptions,
    place: impl Fn(Header) -> Result<usize>,
) -> Result<(Option<TimeUnit>, impl Read + Send + 'static)> {
    let source = Begun::new(source, SAMPLE);
    let start = source.start.get_ref();
    let is_whole = start.len() < SAMPLE && source.failed.is_none();
    let numbers = sample(start, is_whole, options, place);
    Ok((of_numbers(&numbers)?, source))
}

/// Returns the numbers among the timestamps of a text; none if the text cannot be read, which
/// reading it as a whole says.
fn sample(
    text: &[u8],
    is_whole: bool,
    options: &TableOptions,
    place: impl Fn(Header) -> Result<usize>,
) -> Vec<String> {
    let mut numbers = Vec::new();
    let Ok(mut records) = sequential(text, options.delimiter) else {
        return numbers;
    };
    let (mut record, mut timestamps, mut cut) = (ByteRecord::new(), None, None);
    while let Ok(true) = records.next(&mut record) {
        if timestamps.is_none() {
            let Ok(found) = place(Header::new(&record, options)) else {
                return numbers;
            };
            timestamps = Some(found);
            if options.has_header {
                continue;
            }
        }
        // The last record may be cut in the middle.
        numbers.extend(cut.take());
        let cell = timestamps.and_then(|place| record.get(place));
        let cell = cell.unwrap_or_default().trim_ascii();
        let is_null = options.is_null(cell);
        let point = |byte: &u8| {
            if *byte == options.decimal {
                b'.'
            } else {
                *byte
            }
        };
        let cell: Vec<u8> = cell.iter().map(point).collect();
        if !is_null && time::is_number(&cell) {
            cut = String::from_utf8(cell).ok();
        }
    }
    numbers.extend(cut.filter(|_| is_whole));
    numbers
}

/// Returns the unit in which most of the numbers are plausible; none if there are no numbers.
fn of_numbers(numbers: &[String]) -> Result<Option<TimeUnit>> {
    let Some(first) = numbers.first() else {
        return Ok(None);
    };
    let count = |unit: TimeUnit| {
        let is_plausible = |number: &&String| plausible_unit(number) == Some(unit);
        numbers.iter().filter(is_plausible).count()
    };
    let (most, unit) = TimeUnit::ALL
        .iter()
        .map(|&unit| (count(unit), unit))
        .max_by_key(|(count, _)| *count)
        .expect("there are units");
    let others = numbers.len() - most;
    let mut implausible = numbers
        .iter()
        .filter(|number| plausible_unit(number) != Some(unit));
    let other = implausible.clone().find(|number| means_another(number));
    if other.is_none() && most > others && is_few(others as u64, numbers.len() as u64) {
        return Ok(Some(unit));
    }
    bail!("{}", untold(other.or(implausible.next()).unwrap_or(first)));
}

/// Returns whether `implausible` of `all` timestamps are few enough to accept.
pub fn is_few(implausible: u64, all: u64) -> bool {
    implausible <= (all / FEW).max(1)
}

/// Returns whether a number that is implausible in a unit looks like a date, such as 20240131, or is
/// plausible in another unit. A single one is an error: it is no missing time.
pub fn means_another(number: &str) -> bool {
    time::date_of(number).is_some() || plausible_unit(number).is_some()
}

/// Returns whether a time is from 1990 to 2100.
pub fn is_plausible(time: i64) -> bool {
    PLAUSIBLE.contains(&time)
}

/// Returns the unit in which a number is plausible.
fn plausible_unit(number: &str) -> Option<TimeUnit> {
    let is_plausible = |unit: &TimeUnit| in_unit(number, *unit).is_some_and(is_plausible);
    TimeUnit::ALL.iter().copied().find(is_plausible)
}

/// Returns the time of a number without its fraction, if the unit holds it.
fn in_unit(number: &str, unit: TimeUnit) -> Option<i64> {
    let number = time::without_exponent(number).unwrap_or(number.into());
    let whole = number.split('.').next()?;
    time::parse(whole.as_bytes(), unit).ok()
}

/// Says that a number has no unit, and what it would mean in each.
#[cold]
pub fn untold(number: &str) -> String {
    if let Some(date) = time::date_of(number) {
        return format!(
            "the timestamp {number} looks like the date {date}: write it as {date}T00:00:00Z, or say by \
             --unit in which unit since 1970 it is"
        );
    }
    let meaning = |unit: TimeUnit| {
        let time = in_unit(number, unit)?;
        Some(format!("{} in {}", timestamp(time), unit.name()))
    };
    let meanings: Vec<_> = TimeUnit::ALL.iter().copied().filter_map(meaning).collect();
    format!(
        "the unit of the timestamps cannot be told from their sizes: {number} would be {}; --unit says \
         which",
        meanings.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[&str]) -> Result<Option<TimeUnit>> {
        let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        of_numbers(&numbers)
    }

    #[test]
    fn plausible_numbers_have_a_unit() {
        for (numbers, unit) in [
            (&["1718000000", "1718000060.25"][..], TimeUnit::S),
            (&["1.718e9", "1.71800006025E+09"], TimeUnit::S),
            (&["1718000000000", "1718000060000"], TimeUnit::Ms),
            (&["1718000000000000"], TimeUnit::Us),
            (&["1718000000000000000"], TimeUnit::Ns),
            (&["0", "1718000000", "1718000060"], TimeUnit::S),
        ] {
            assert_eq!(of(numbers).unwrap(), Some(unit), "{numbers:?}");
        }
        assert_eq!(of(&[]).unwrap(), None);
    }

    #[test]
    fn others_are_refused() {
        for (numbers, parts) in [
            (
                &["20240101", "20240102"][..],
                &["looks like the date 2024-01-01"][..],
            ),
            (&["20240101120000"], &["looks like the date 2024-01-01"]),
            (&["2026", "2027"], &["looks like the date 2026-01-01"]),
            (
                &["1718000000000", "1718000000000000", "1718000000000"],
                &[
                    "1718000000000000 would be",
                    "2024-06-10T06:13:20Z in us",
                    "--unit",
                ],
            ),
            (&["0", "1"], &["0 would be 1970-01-01T00:00:00Z in s"]),
        ] {
            let said = of(numbers).map(|unit| panic!("{numbers:?}: {unit:?}"));
            let said = said.map_err(|error| error.to_string()).unwrap_err();
            for part in parts {
                assert!(said.contains(part), "no {part} in {said}");
            }
        }
    }
}

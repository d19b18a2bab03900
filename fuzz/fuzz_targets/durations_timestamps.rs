//! Durations and timestamps as text, against exact arithmetic and jiff.

#![no_main]

use arbitrary::Arbitrary;
use files::time::{Every, LEAP_SECOND, TimeUnit, parse, timestamp};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    unit: u8,
    time: i64,
    text: &'a str,
}

const UNITS: [(TimeUnit, i128); 4] = [
    (TimeUnit::S, 1_000_000_000),
    (TimeUnit::Ms, 1_000_000),
    (TimeUnit::Us, 1_000),
    (TimeUnit::Ns, 1),
];

/// The nanoseconds of a decimal number of units of `size` nanoseconds, if they are whole; `None` if
/// the text is no such number or too long for exact arithmetic.
fn nanoseconds(number: &str, size: i128) -> Option<Option<i128>> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let is_complete = !whole.is_empty() && fraction.is_empty() != number.contains('.');
    if !is_complete || !is_number(whole) || !is_number(fraction) || number.len() > 21 {
        return None;
    }
    let divisor = 10i128.pow(fraction.len() as u32);
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let exact = (digits * size) % divisor == 0;
    Some(exact.then_some(digits * size / divisor))
}

fn check_duration(text: &str) {
    let found = text.parse::<Every>().map(|every| every.nanoseconds);
    let sizes = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
        ("w", 604_800_000_000_000),
    ];
    let end = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let size = sizes.iter().find(|(name, _)| *name == unit);
    // Other texts have several units, or spellings of other programs.
    if let Some(expected) = size.and_then(|(_, size)| nanoseconds(number, *size)) {
        // A bucket has to last.
        let expected = expected.and_then(|time| i64::try_from(time).ok());
        let expected = expected.filter(|&time| time > 0);
        assert_eq!(found.clone().ok(), expected, "{found:?}");
    }
    if let Ok(time) = found {
        assert!(time > 0);
        let again: Every = format!("00{time}ns").parse().expect("whole nanoseconds");
        assert_eq!(again.nanoseconds, time);
    }
}

fn check_timestamp(text: &str, (unit, size): (TimeUnit, i128)) {
    let found = parse(text.as_bytes(), unit);
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => (-1, number),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    match (nanoseconds(number, size), text.parse::<Timestamp>()) {
        (Some(expected), _) => {
            let expected = expected.and_then(|time| i64::try_from(sign * time).ok());
            assert_eq!(found.clone().ok(), expected, "{found:?}");
        }
        // jiff reads a leap second as the second before it.
        (None, Ok(_)) if found == Err(LEAP_SECOND.into()) => assert!(text.contains("60")),
        (None, Ok(time)) => {
            let expected = i64::try_from(time.as_nanosecond());
            assert_eq!(found.as_ref().ok().copied(), expected.ok(), "{found:?}");
        }
        (None, Err(_)) => {}
    }
}

fuzz_target!(|input: Input| {
    let unit = UNITS[usize::from(input.unit) % UNITS.len()];
    check_duration(input.text);
    check_timestamp(input.text, unit);
    // Text of a time gives the time.
    let shown = timestamp(input.time).to_string();
    assert_eq!(parse(shown.as_bytes(), unit.0), Ok(input.time), "{shown}");
    check_timestamp(&shown, unit);
});

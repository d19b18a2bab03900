//! An axis of time.

use std::ops::Range;

use files::time::{SECOND, timestamp};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged};

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Steps between labels, of the clock in nanoseconds and of the calendar in months, and how times
/// look there.
const CLOCK: [i64; 49] = {
    let mut steps = [0; 49];
    let mut i = 0;
    let mut power = 1;
    while power < SECOND {
        (steps[i], steps[i + 1], steps[i + 2]) = (power, 2 * power, 5 * power);
        i += 3;
        power *= 10;
    }
    let longer = [
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        15 * SECOND,
        30 * SECOND,
        MINUTE,
        2 * MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        15 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        3 * HOUR,
        6 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        4 * DAY,
        7 * DAY,
        14 * DAY,
    ];
    let mut j = 0;
    while j < longer.len() {
        steps[i] = longer[j];
        i += 1;
        j += 1;
    }
    steps
};
const CALENDAR: [i32; 9] = [1, 3, 6, 12, 24, 60, 120, 240, 600];

/// The first Monday since 1970, at which weeks begin.
const MONDAY: i64 = 4 * DAY;

/// Times from the left end to the right one, which is later.
pub struct TimeAxis {
    times: Range<i64>,
    ticks: Vec<i64>,
    form: &'static str,
}

impl TimeAxis {
    /// With `count` labels at most, or one more.
    pub fn new(times: Range<i64>, count: u64) -> TimeAxis {
        let span = times.end.abs_diff(times.start);
        let fits = |step: i64| span / step as u64 <= count;
        let (ticks, form) = match CLOCK.into_iter().find(|&step| fits(step)) {
            Some(step) => (of_clock(&times, step), form(step)),
            None => {
                // None is longer than a month by more than a tenth.
                let fits = |months: &i32| fits(i64::from(*months) * 30 * DAY);
                let months = CALENDAR.into_iter().find(fits).unwrap_or(600);
                let form = if months < 12 { "%b %Y" } else { "%Y" };
                (of_calendar(&times, months), form)
            }
        };
        TimeAxis { times, ticks, form }
    }

    /// A time as a label.
    pub fn label(&self, time: i64) -> String {
        // The first label of a day is the day.
        let form = match self.form.starts_with("%H") && time % DAY == 0 {
            true => "%b %-d",
            false => self.form,
        };
        timestamp(time).strftime(form).to_string()
    }
}

fn form(step: i64) -> &'static str {
    match step {
        DAY.. => "%b %-d",
        MINUTE.. => "%H:%M",
        SECOND.. => "%H:%M:%S",
        _ => "%H:%M:%S%.f",
    }
}

/// Multiples of a step.
fn of_clock(times: &Range<i64>, step: i64) -> Vec<i64> {
    let origin = if step % (7 * DAY) == 0 { MONDAY } else { 0 };
    let (start, step) = (i128::from(times.start), i128::from(step));
    let origin = i128::from(origin);
    let first = start + (origin - start).rem_euclid(step);
    let ticks = (0..).map(|i| first + i * step);
    let ticks = ticks.take_while(|&tick| tick <= i128::from(times.end));
    ticks.filter_map(|tick| i64::try_from(tick).ok()).collect()
}

/// The beginnings of months, or of each so many.
fn of_calendar(times: &Range<i64>, months: i32) -> Vec<i64> {
    let first = TimeZone::UTC.to_datetime(timestamp(times.start));
    let last = TimeZone::UTC.to_datetime(timestamp(times.end));
    let number = |year: i16, month: i8| i32::from(year) * 12 + i32::from(month) - 1;
    let first = number(first.year(), first.month());
    let last = number(last.year(), last.month());
    let numbers = (first..=last).filter(|number| number % months == 0);
    let begin = |number: i32| {
        let (year, month) = (number / 12, number % 12 + 1);
        let date = Date::new(year as i16, month as i8, 1).ok()?;
        let time: Timestamp = TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?;
        i64::try_from(time.as_nanosecond()).ok()
    };
    let ticks = numbers.filter_map(begin);
    ticks
        .filter(|tick| (times.start..=times.end).contains(tick))
        .collect()
}

impl Ranged for TimeAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = i64;

    fn map(&self, time: &i64, (left, right): (i32, i32)) -> i32 {
        let share = |time: i64| (i128::from(time) - i128::from(self.times.start)) as f64;
        let share = share(*time) / share(self.times.end);
        left + (share * f64::from(right - left)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<i64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<i64> {
        self.times.clone()
    }
}

impl plotters::coord::ranged1d::ValueFormatter<i64> for TimeAxis {
    fn format(time: &i64) -> String {
        timestamp(*time).to_string()
    }
}

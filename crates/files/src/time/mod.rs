//! Durations and timestamps as texts, exact to the nanosecond.

mod duration;
mod timestamp;

pub use duration::{DAY, Every, SECOND, duration};
pub use timestamp::{LEAP_SECOND, Unit, is_number, parse, point, timestamp, unit_by_size};

//! Durations and timestamps as texts, exact to the nanosecond.

mod duration;
mod timestamp;

pub use duration::{DAY, Every, SECOND, duration};
pub use timestamp::{LEAP_SECOND, Unit, is_number, parse, parse_in, point, timestamp};

//! Durations and timestamps as texts, exact to the nanosecond.

mod duration;
mod timestamp;

pub use duration::{DAY, Every, SECOND, duration};
pub use timestamp::{
    LEAP_SECOND, TimeUnit, date_of, is_number, parse, parse_in, point, timestamp, without_exponent,
};

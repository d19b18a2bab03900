//! The data of the articles that the ladders follow.
//!
//! The articles draw their data with Python's `random`, so their results can only be compared with
//! others' if the same numbers are drawn in the same order. [`python`] has that generator on top of
//! MT19937, which is from `rand_mt`; [`pipes`] and [`sketch`] draw the data. [`numpy`] has numpy's
//! legacy generator on the same base, for comparisons with programs that use it.

#![forbid(unsafe_code)]

pub mod numpy;
pub mod pipes;
pub mod python;
pub mod sketch;

/// Returns a number in [0, 1) of 53 random bits, as both Python and numpy make it of two outputs.
fn unit(mut next: impl FnMut() -> u32) -> f64 {
    let (high, low) = (next() >> 5, next() >> 6);
    (f64::from(high) * (1u64 << 26) as f64 + f64::from(low)) / (1u64 << 53) as f64
}

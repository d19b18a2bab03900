//! The statistics that come with the library, as states that merge.

use core::marker::PhantomData;

use cuda_std::prelude::*;
use cuda_std::warp::WarpValue;

use crate::aggregate::{Aggregate, Point};

/// What is computed of a bucket.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// How many values.
    Count,
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The smallest one.
    Min,
    /// The largest one.
    Max,
    /// The first one.
    First,
    /// The last one.
    Last,
    /// The standard deviation.
    Std,
    /// The variance.
    Var,
}

impl Statistic {
    /// All, in the order of their numbers.
    pub const ALL: [Statistic; 9] = [
        Statistic::Count,
        Statistic::Sum,
        Statistic::Mean,
        Statistic::Min,
        Statistic::Max,
        Statistic::First,
        Statistic::Last,
        Statistic::Std,
        Statistic::Var,
    ];
}

/// A sum with its rounding errors: `high` is what adding the terms gives, `low` the sum of what that lost.
///
/// T. Ogita, S. Rump, S. Oishi, 'Accurate Sum and Dot Product' (2005), for any order of additions: of n terms,
/// [`value`](Self::value) is off by at most u·|sum| + n²u²·Σ|terms|, u = 2⁻⁵³.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExactSum {
    high: f64,
    low: f64,
}

/// a + b and what rounding took from it.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in_sum = sum - a;
    (sum, (a - (sum - b_in_sum)) + (b - b_in_sum))
}

/// a·a and what rounding took from it.
#[inline(always)]
fn two_square(a: f64) -> (f64, f64) {
    let square = a * a;
    (square, float::fma_f64(a, a, -square))
}

impl ExactSum {
    /// The sum of nothing.
    pub const ZERO: ExactSum = ExactSum {
        high: 0.0,
        low: 0.0,
    };

    /// With one more term.
    #[inline(always)]
    pub fn with(self, term: f64) -> ExactSum {
        let (high, lost) = two_sum(self.high, term);
        ExactSum {
            high,
            low: self.low + lost,
        }
    }

    /// With the square of a number.
    #[inline(always)]
    pub fn with_square(self, number: f64) -> ExactSum {
        let (square, rest) = two_square(number);
        let (high, lost) = two_sum(self.high, square);
        ExactSum {
            high,
            low: self.low + (lost + rest),
        }
    }

    /// The sum of both.
    #[inline(always)]
    pub fn merge(self, other: ExactSum) -> ExactSum {
        let (high, lost) = two_sum(self.high, other.high);
        ExactSum {
            high,
            low: self.low + (other.low + lost),
        }
    }

    /// The sum, rounded. If terms are infinite, or it overflows, it is what adding them gives.
    #[inline(always)]
    pub fn value(self) -> f64 {
        // What an infinite sum lost is not a number.
        if self.high.is_finite() {
            self.high + self.low
        } else {
            self.high
        }
    }
}

// SAFETY: `repr(C)` of numbers that fill it, without gaps; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for ExactSum {}
// SAFETY: as above.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for ExactSum {}

impl WarpValue for ExactSum {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        ExactSum {
            high: self.high.map_words(&mut f),
            low: self.low.map_words(f),
        }
    }
}

/// Σ(x − mean)² of n numbers, from their sum and the sum of their squares.
#[inline(always)]
fn squared_deviations(count: f64, sum: ExactSum, squares: ExactSum) -> f64 {
    let (sum, low) = two_sum(sum.high, sum.low);
    // sum²/n, twice as precise.
    let (square, rest) = two_square(sum);
    let rest = rest + 2.0 * sum * low;
    let quotient = square / count;
    let remainder = float::fma_f64(-quotient, count, square);
    let quotient_low = (remainder + rest) / count;
    let (difference, lost) = two_sum(squares.high, -quotient);
    let result = difference + (lost + (squares.low - quotient_low));
    // Rounding may leave something below zero; NaN stays.
    if result < 0.0 { 0.0 } else { result }
}

/// The states of the library's own statistics.
pub trait Statistics: WarpValue {
    /// No values.
    const EMPTY: Self;
    /// With a value added.
    fn push(self, value: f64) -> Self;
    /// Of the values of both.
    fn merge(self, later: Self) -> Self;
    /// Whether this state has a statistic.
    fn has(statistic: Statistic) -> bool;
    /// A statistic that this state has; `ddof` is what the variance's divisor is below the number of values.
    fn statistic(self, statistic: Statistic, ddof: f64) -> f64;
}

/// Number and sum.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// The sum.
    pub sum: ExactSum,
    /// How many values.
    pub count: u32,
    /// Always 0: the size is a multiple of 8 bytes, and all of them are copied.
    pub padding: u32,
}

impl WarpValue for Sums {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        Sums {
            sum: self.sum.map_words(&mut f),
            count: self.count.map_words(f),
            padding: 0,
        }
    }
}

impl Statistics for Sums {
    const EMPTY: Sums = Sums {
        sum: ExactSum::ZERO,
        count: 0,
        padding: 0,
    };

    #[inline(always)]
    fn push(self, value: f64) -> Self {
        Sums {
            sum: self.sum.with(value),
            count: self.count + 1,
            padding: 0,
        }
    }

    #[inline(always)]
    fn merge(self, later: Self) -> Self {
        Sums {
            sum: self.sum.merge(later.sum),
            count: self.count + later.count,
            padding: 0,
        }
    }

    #[inline(always)]
    fn has(statistic: Statistic) -> bool {
        matches!(
            statistic,
            Statistic::Count | Statistic::Sum | Statistic::Mean
        )
    }

    #[inline(always)]
    fn statistic(self, statistic: Statistic, _ddof: f64) -> f64 {
        match statistic {
            Statistic::Count => self.count as f64,
            Statistic::Sum => self.sum.value(),
            // 0/0 where there is nothing.
            _ => self.sum.value() / self.count as f64,
        }
    }
}

/// All that the statistics need.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The sum.
    pub sum: ExactSum,
    /// The sum of squares.
    pub squares: ExactSum,
    /// The smallest value, NaN if there is a NaN, infinity if there is none.
    pub min: f64,
    /// The largest value, alike.
    pub max: f64,
    /// The first value, if there is one.
    pub first: f64,
    /// The last value, if there is one.
    pub last: f64,
    /// How many values.
    pub count: u32,
    /// Always 0: the size is a multiple of 8 bytes.
    pub padding: u32,
}

// SAFETY: `repr(C)` of numbers that fill it, without gaps; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for Summary {}
// SAFETY: as above.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for Summary {}

impl WarpValue for Summary {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        Summary {
            sum: self.sum.map_words(&mut f),
            squares: self.squares.map_words(&mut f),
            min: self.min.map_words(&mut f),
            max: self.max.map_words(&mut f),
            first: self.first.map_words(&mut f),
            last: self.last.map_words(&mut f),
            count: self.count.map_words(f),
            padding: 0,
        }
    }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    // NaN, once there, stays. Both conditions at once: a branch between them would keep loops from being vectors.
    if (b < a) | b.is_nan() { b } else { a }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if (b > a) | b.is_nan() { b } else { a }
}

impl Statistics for Summary {
    const EMPTY: Summary = Summary {
        sum: ExactSum::ZERO,
        squares: ExactSum::ZERO,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        first: 0.0,
        last: 0.0,
        count: 0,
        padding: 0,
    };

    #[inline(always)]
    fn push(self, value: f64) -> Self {
        Summary {
            sum: self.sum.with(value),
            squares: self.squares.with_square(value),
            min: smaller(self.min, value),
            max: larger(self.max, value),
            first: if self.count == 0 { value } else { self.first },
            last: value,
            count: self.count + 1,
            padding: 0,
        }
    }

    #[inline(always)]
    fn merge(self, later: Self) -> Self {
        Summary {
            sum: self.sum.merge(later.sum),
            squares: self.squares.merge(later.squares),
            min: smaller(self.min, later.min),
            max: larger(self.max, later.max),
            first: if self.count == 0 {
                later.first
            } else {
                self.first
            },
            last: if later.count == 0 {
                self.last
            } else {
                later.last
            },
            count: self.count + later.count,
            padding: 0,
        }
    }

    #[inline(always)]
    fn has(_: Statistic) -> bool {
        true
    }

    #[inline(always)]
    fn statistic(self, statistic: Statistic, ddof: f64) -> f64 {
        let count = self.count as f64;
        let of_values = |value| if self.count == 0 { f64::NAN } else { value };
        match statistic {
            Statistic::Count => count,
            Statistic::Sum => self.sum.value(),
            Statistic::Mean => self.sum.value() / count,
            Statistic::Min => of_values(self.min),
            Statistic::Max => of_values(self.max),
            Statistic::First => of_values(self.first),
            Statistic::Last => of_values(self.last),
            Statistic::Std | Statistic::Var => {
                let divisor = count - ddof;
                let mut variance = f64::NAN;
                if divisor > 0.0 && self.sum.high.is_finite() {
                    variance = squared_deviations(count, self.sum, self.squares) / divisor;
                    // Of equal values rounding must not leave a trace.
                    if self.min == self.max {
                        variance = 0.0;
                    }
                }
                match statistic {
                    Statistic::Std => float::sqrt_f64(variance),
                    _ => variance,
                }
            }
        }
    }
}

/// Statistics as an aggregate whose results are its states: a column of each statistic is made of them, or they are
/// merged into coarser buckets.
pub struct StatesOf<S>(PhantomData<fn() -> S>);

/// All that the statistics need.
pub type Summaries = StatesOf<Summary>;

impl<S> StatesOf<S> {
    /// It has no data.
    pub const NEW: StatesOf<S> = StatesOf(PhantomData);
}

impl<S> Clone for StatesOf<S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for StatesOf<S> {}

impl<S> core::fmt::Debug for StatesOf<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("StatesOf")
    }
}

// SAFETY: it has no data.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl<S: 'static> cuda_std::host::DeviceParam for StatesOf<S> {}

impl<S: Statistics + 'static> Aggregate for StatesOf<S> {
    type State = S;
    type Output = S;

    #[inline(always)]
    fn empty(&self) -> S {
        S::EMPTY
    }

    #[inline(always)]
    fn push(&self, state: S, point: Point) -> S {
        state.push(point.value)
    }

    #[inline(always)]
    fn merge(&self, earlier: S, later: S) -> S {
        earlier.merge(later)
    }

    #[inline(always)]
    fn finish(&self, state: S) -> S {
        state
    }
}

//! The state of all statistics.

use core::hint::cold_path;

use cuda_std::prelude::*;
use cuda_std::warp::WarpValue;

use crate::exact_sum::{ExactSum, two_product, two_sum};
use crate::scale::{Scale, has_room, is_ordinary};
use crate::statistic::{State, Statistic};
use crate::statistics::{StatesOf, Statistics};

/// All that the statistics need.
///
/// Variances come from sums of deviations d = x − s from a *shift* s, a value of the bucket (T.
/// Chan, G. Golub, R. LeVeque, 'Algorithms for Computing the Sample Variance', 1983), so that the
/// size of the mean does not matter. With D = Σ(x − mean)² of n values,
/// Σd² = D + n·(s − mean)² ≤ n·D, since s is one of the values. So Σd², summed with its rounding
/// errors, tells D: the errors that are left are below u²·Σd², u = 2⁻⁵³, times a small power of the
/// number of additions.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The sum at the scale.
    pub(crate) sum: ExactSum,
    /// The sum of squared deviations from the shift, at the square of the scale.
    pub(crate) squares: ExactSum,
    /// The value that deviations are measured from, at the scale.
    pub(crate) shift: f64,
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
    pub(crate) scale: Scale,
}

// SAFETY: `repr(C)` of numbers that fill it, without gaps; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for Summary {}
// SAFETY: `repr(C)` of two sums of two `f64`, five `f64`, and two `u32`, which fill it without
// gaps; all bits are values, and it is `Copy`.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for Summary {}

impl WarpValue for Summary {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        Summary {
            sum: self.sum.map_words(&mut f),
            squares: self.squares.map_words(&mut f),
            shift: self.shift.map_words(&mut f),
            min: self.min.map_words(&mut f),
            max: self.max.map_words(&mut f),
            first: self.first.map_words(&mut f),
            last: self.last.map_words(&mut f),
            count: self.count.map_words(&mut f),
            scale: self.scale.map_words(f),
        }
    }
}

// NaN, once there, stays. Where there can be none, looking for it would be a comparison more.
#[inline(always)]
fn smaller<const MAY_BE_NAN: bool>(a: f64, b: f64) -> f64 {
    if (b < a) | (MAY_BE_NAN & b.is_nan()) {
        b
    } else {
        a
    }
}

#[inline(always)]
fn larger<const MAY_BE_NAN: bool>(a: f64, b: f64) -> f64 {
    if (b > a) | (MAY_BE_NAN & b.is_nan()) {
        b
    } else {
        a
    }
}

/// Σd of n deviations d from a shift, and its rounding errors, from the sum of the values.
#[inline(always)]
pub(crate) fn deviations(sum: ExactSum, count: f64, shift: f64) -> (f64, f64) {
    let (product, rest) = two_product(count, shift);
    let (deviations, lost) = two_sum(sum.high, -product);
    two_sum(deviations, lost + (sum.low - rest))
}

impl Summary {
    /// The summary of one value.
    #[inline(always)]
    pub(crate) fn of(value: f64) -> Summary {
        let scale = Scale::of(value);
        let scaled = scale.apply(value);
        Summary {
            sum: ExactSum::of(scaled),
            squares: ExactSum::ZERO,
            shift: if scaled.is_finite() { scaled } else { 0.0 },
            min: value,
            max: value,
            first: value,
            last: value,
            count: 1,
            scale,
        }
    }

    /// The same with its sums at another scale.
    #[inline(always)]
    pub(crate) fn at(self, scale: Scale) -> Summary {
        let power = self.scale.to(scale);
        Summary {
            sum: self.sum.scaled(power),
            squares: self.squares.scaled(power).scaled(power),
            shift: self.shift * power,
            scale,
            ..self
        }
    }

    /// Whether all values are zero.
    #[inline(always)]
    pub(crate) fn is_zero(&self) -> bool {
        (self.min == 0.0) & (self.max == 0.0) & (self.shift == 0.0)
    }

    /// The lowest scale that the values allow: zeros fit any.
    #[inline(always)]
    pub(crate) fn lowest_scale(&self) -> Scale {
        if self.is_zero() {
            Scale::UP
        } else {
            self.scale
        }
    }

    /// The same with deviations from another shift: Σ(d + δ)² = Σd² + δ·(2·Σd + n·δ),
    /// δ = shift − other shift.
    #[inline(always)]
    pub(crate) fn about(self, shift: f64) -> Summary {
        let count = self.count as f64;
        let (step, step_low) = two_sum(self.shift, -shift);
        let (moved, moved_low) = deviations(self.sum, count, self.shift);
        let (product, rest) = two_product(count, step);
        let (factor, lost) = two_sum(2.0 * moved, product);
        let factor_low = lost + (2.0 * moved_low + float::fma_f64(count, step_low, rest));
        let (high, rest) = two_product(step, factor);
        let low = rest + float::fma_f64(step, factor_low, step_low * factor);
        Summary {
            squares: self.squares.merge(ExactSum { high, low }),
            shift,
            ..self
        }
    }

    /// The summary of both, which have the same shift and scale.
    #[inline(always)]
    pub(crate) fn merge_aligned<const MAY_BE_NAN: bool>(self, later: Summary) -> Summary {
        Summary {
            sum: self.sum.merge(later.sum),
            squares: self.squares.merge(later.squares),
            shift: self.shift,
            min: smaller::<MAY_BE_NAN>(self.min, later.min),
            max: larger::<MAY_BE_NAN>(self.max, later.max),
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
            scale: self.scale,
        }
    }

    /// The summary of both, whatever their shifts and scales.
    #[inline(always)]
    fn align_and_merge(self, later: Summary) -> Summary {
        if later.count == 0 {
            return self;
        }
        if self.count == 0 {
            return later;
        }
        let scale = self.lowest_scale().max(later.lowest_scale());
        let earlier = self.at(scale);
        earlier.merge_aligned::<true>(later.at(scale).about(earlier.shift))
    }

    /// Σ(x − mean)² at the square of the scale: Σd² − (Σd)²/n.
    #[inline(always)]
    fn squared_deviations(&self) -> f64 {
        let count = self.count as f64;
        let (sum, low) = deviations(self.sum, count, self.shift);
        // sum²/n, twice as precise.
        let (square, rest) = two_product(sum, sum);
        let rest = rest + 2.0 * sum * low;
        let reciprocal = 1.0 / count;
        let quotient = square * reciprocal;
        let remainder = float::fma_f64(-quotient, count, square);
        let quotient_low = (remainder + rest) * reciprocal;
        let (difference, lost) = two_sum(self.squares.high, -quotient);
        let result = difference + (lost + (self.squares.low - quotient_low));
        // Rounding may leave something below zero; NaN stays.
        if result < 0.0 { 0.0 } else { result }
    }

    /// The variance at the square of the scale.
    #[inline(always)]
    fn variance(&self, ddof: f64) -> f64 {
        let divisor = self.count as f64 - ddof;
        if divisor <= 0.0 || !self.sum.high.is_finite() {
            return f64::NAN;
        }
        // Equal values have the variance 0 exactly, without rounding errors of the shift.
        if self.min == self.max {
            return 0.0;
        }
        self.squared_deviations() / divisor
    }
}

/// The aggregate whose results are [`Summary`] states.
pub type Summaries = StatesOf<Summary>;

impl Statistics for Summary {
    const STATE: State = State::Summary;
    const EMPTY: Summary = Summary {
        sum: ExactSum::ZERO,
        squares: ExactSum::ZERO,
        shift: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        first: 0.0,
        last: 0.0,
        count: 0,
        // At which nothing is added as it is: the first value brings scale and shift.
        scale: Scale::UP,
    };

    #[inline(always)]
    fn empty_near(value: f64) -> Summary {
        let mut empty = Summary::EMPTY;
        if is_ordinary(value) {
            empty.shift = value;
            empty.scale = Scale::ONE;
        }
        empty
    }

    #[inline(always)]
    fn push(self, value: f64) -> Self {
        let (deviation, rest) = two_sum(value, -self.shift);
        Summary {
            sum: self.sum.with(value),
            squares: self.squares.with_square(deviation, rest),
            shift: self.shift,
            min: smaller::<false>(self.min, value),
            max: larger::<false>(self.max, value),
            first: if self.count == 0 { value } else { self.first },
            last: value,
            count: self.count + 1,
            scale: self.scale,
        }
    }

    #[inline(always)]
    fn is_valid(&self) -> bool {
        let (min, max) = (self.min.abs(), self.max.abs());
        let largest = if min > max { min } else { max };
        // The sum tells of NaN.
        let are_ordinary = is_ordinary(largest) & has_room(self.sum.high);
        (self.count == 0) | ((self.scale == Scale::ONE) & are_ordinary)
    }

    #[inline(always)]
    fn push_carefully(self, value: f64) -> Self {
        if (self.scale == Scale::ONE) & is_ordinary(value) {
            self.push(value)
        } else {
            self.align_and_merge(Summary::of(value))
        }
    }

    #[inline(always)]
    fn merge(self, later: Self) -> Self {
        let are_ordinary = (self.scale == Scale::ONE) & (later.scale == Scale::ONE);
        if are_ordinary & (self.shift.to_bits() == later.shift.to_bits()) {
            return self.merge_aligned::<false>(later);
        }
        cold_path();
        self.align_and_merge(later)
    }

    #[inline(always)]
    fn statistic(self, statistic: Statistic, ddof: f64) -> f64 {
        let count = self.count as f64;
        let of_values = |value| if self.count == 0 { f64::NAN } else { value };
        match statistic {
            Statistic::Count => count,
            Statistic::Sum => self.scale.undo(self.sum.value()),
            Statistic::Mean => self.scale.undo(self.sum.value() / count),
            Statistic::Min => of_values(self.min),
            Statistic::Max => of_values(self.max),
            Statistic::First => of_values(self.first),
            Statistic::Last => of_values(self.last),
            Statistic::Std => self.scale.undo(float::sqrt_f64(self.variance(ddof))),
            // The variance: there is no other that a summary has.
            _ => self.scale.undo(self.scale.undo(self.variance(ddof))),
        }
    }
}

//! Sums that carry their rounding errors along.

use cuda_std::prelude::*;
use cuda_std::warp::WarpValue;

/// A sum and its rounding errors.
///
/// T. Ogita, S. Rump, S. Oishi, 'Accurate Sum and Dot Product' (2005), for any order of additions:
/// of n terms, [`value`](Self::value) is off by at most u·|sum| + n²u²·Σ|terms|, u = 2⁻⁵³.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExactSum {
    /// The rounded sum of the terms.
    pub high: f64,
    /// The sum of the additions' rounding errors.
    pub low: f64,
}

/// a + b, rounded, and what rounding took from it.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in_sum = sum - a;
    (sum, (a - (sum - b_in_sum)) + (b - b_in_sum))
}

/// a·b, rounded, and what rounding took from it.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, float::fma_f64(a, b, -product))
}

impl ExactSum {
    /// The sum of nothing.
    pub const ZERO: ExactSum = ExactSum {
        high: 0.0,
        low: 0.0,
    };

    /// The sum of one term.
    #[inline(always)]
    pub(crate) fn of(term: f64) -> ExactSum {
        ExactSum {
            high: term,
            low: 0.0,
        }
    }

    /// Adds a term.
    #[inline(always)]
    pub fn with(self, term: f64) -> ExactSum {
        let (high, lost) = two_sum(self.high, term);
        ExactSum {
            high,
            low: self.low + lost,
        }
    }

    /// Adds (number + rest)², where rest² is too small to matter.
    #[inline(always)]
    pub(crate) fn with_square(self, number: f64, rest: f64) -> ExactSum {
        let (square, lost_square) = two_product(number, number);
        let (high, lost) = two_sum(self.high, square);
        ExactSum {
            high,
            low: self.low + (lost + float::fma_f64(number + number, rest, lost_square)),
        }
    }

    /// Adds two sums.
    #[inline(always)]
    pub fn merge(self, other: ExactSum) -> ExactSum {
        let (high, lost) = two_sum(self.high, other.high);
        ExactSum {
            high,
            low: self.low + (other.low + lost),
        }
    }

    /// Multiplies the sum by a power of two.
    #[inline(always)]
    pub(crate) fn scaled(self, power: f64) -> ExactSum {
        ExactSum {
            high: self.high * power,
            low: self.low * power,
        }
    }

    /// The sum, rounded. If terms are infinite, or it overflows, it is what adding them gives.
    #[inline(always)]
    pub fn value(self) -> f64 {
        // The rounding error of an infinite sum is not a number.
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
// SAFETY: `repr(C)` of two `f64`, without gaps; all bits are values, and it is `Copy`.
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

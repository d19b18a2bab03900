//! The state of skewness and kurtosis.

use core::hint::cold_path;

use cuda_std::prelude::*;
use cuda_std::warp::WarpValue;

use crate::exact_sum::{ExactSum, two_product, two_sum};
use crate::statistic::{State, Statistic};
use crate::statistics::Statistics;
use crate::summary::{Summary, deviations};

/// A [`Summary`], and the third and fourth powers of the deviations from its shift.
///
/// With deviations d = x − s of n values, |s − mean|ᵖ ≤ Σ|x − mean|ᵖ for any p, since s is one of
/// the values: Σ|d|ᵖ ≤ 2ᵖ⁻¹·(n + 1)·Σ|x − mean|ᵖ. So sums of powers of d, with their rounding errors,
/// tell the central moments whatever the mean, as those of squares tell the variance.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    summary: Summary,
    /// Σd³ at the cube of the level.
    cubes: ExactSum,
    /// Σd⁴ at the fourth power of the level.
    fourths: ExactSum,
    level: Level,
    /// Fills the state up to a multiple of 8 bytes.
    unused: u32,
}

// SAFETY: `repr(C)` of numbers that fill it, without gaps; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for Moments {}
// SAFETY: `repr(C)` of a `Summary`, a multiple of 8 bytes, two sums of two `f64`, and two `u32`, which
// fill it without gaps; all bits are values, and it is `Copy`.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for Moments {}

impl WarpValue for Moments {
    #[inline(always)]
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Self {
        Moments {
            summary: self.summary.map_words(&mut f),
            cubes: self.cubes.map_words(&mut f),
            fourths: self.fourths.map_words(&mut f),
            level: Level(f(self.level.0)),
            unused: 0,
        }
    }
}

/// The power of two by which deviations are multiplied before they are cubed: 2^(900 − 300·level).
///
/// The level of a value that is 2ᵉ or more, and below 2ᵉ⁺¹, is ⌊(e + 1070)/300⌋, and 0 for smaller
/// ones, which brings it between 2⁻¹⁷⁰ and 2¹³⁰. A state has the highest level of its values. Then
/// fourth powers are below 2⁵²⁴, also of sums of 2³² deviations below 2⁶⁵⁵, and lose no bits that
/// matter: the largest value differs from any other by 2⁻²²³ at least, and bits of its fourth power
/// down to 2⁻¹⁰⁷⁴ are kept.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level(u32);

// SAFETY: a number; all bits are values.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Zeroable for Level {}
// SAFETY: `repr(transparent)` of a `u32`, all bits of which are values, and `Copy`.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl bytemuck::Pod for Level {}

impl Level {
    /// Where all values are zero or very small.
    const LOWEST: Level = Level(0);
    /// Where deviations are taken as they are.
    const ORDINARY: Level = Level(3);

    /// The level of a value.
    #[inline(always)]
    fn of(value: f64) -> Level {
        let exponent = (value.to_bits() >> 52) as u32 & 0x7ff;
        // 1023 less than this is e.
        Level((exponent + 47) / 300)
    }

    /// Whether a value can be added without scaling: zero can.
    #[inline(always)]
    fn is_ordinary(value: f64) -> bool {
        // 300·3 and 300·4, less 47.
        let exponent = (value.to_bits() >> 52) as u32 & 0x7ff;
        (exponent.wrapping_sub(853) < 300) | (value == 0.0)
    }

    /// The factor.
    #[inline(always)]
    fn factor(self) -> f64 {
        f64::from_bits(u64::from(1023 + 900 - 300 * self.0) << 52)
    }

    /// The factor from this level to a higher one.
    #[inline(always)]
    fn to(self, other: Level) -> f64 {
        // A step back is for zeros alone. Four steps make zeros of numbers that are too small to
        // matter.
        match other.0.wrapping_sub(self.0) {
            steps @ 0..4 => f64::from_bits(u64::from(1023 - 300 * steps) << 52),
            _ => 0.0,
        }
    }
}

/// The product of two pairs of numbers, rounded to a pair.
#[inline(always)]
fn product(a: ExactSum, b: ExactSum) -> ExactSum {
    // The lower number may have grown.
    let (a, a_low) = two_sum(a.high, a.low);
    let (b, b_low) = two_sum(b.high, b.low);
    let (high, rest) = two_product(a, b);
    let low = rest + float::fma_f64(a, b_low, a_low * b);
    ExactSum { high, low }
}

#[inline(always)]
fn minus(a: ExactSum) -> ExactSum {
    a.scaled(-1.0)
}

#[inline(always)]
fn threefold(a: ExactSum) -> ExactSum {
    a.merge(a.scaled(2.0))
}

/// The sums of powers of deviations from a shift, all at powers of the same level.
struct Powers {
    count: f64,
    deviations: ExactSum,
    squares: ExactSum,
    cubes: ExactSum,
    fourths: ExactSum,
}

/// Σ(x − mean)², Σ(x − mean)³ and Σ(x − mean)⁴, at powers of the level.
struct Central {
    squares: f64,
    cubes: f64,
    fourths: f64,
}

impl Powers {
    /// Σ(d + δ)³ = Σd³ + δ·(3·Σd² + δ·(3·Σd + n·δ)), and
    /// Σ(d + δ)⁴ = Σd⁴ + δ·(4·Σd³ + δ·(6·Σd² + δ·(4·Σd + n·δ))).
    #[inline(always)]
    fn moved(&self, step: ExactSum) -> (ExactSum, ExactSum) {
        let all = product(step, ExactSum::of(self.count));
        let first = product(step, threefold(self.deviations).merge(all));
        let cubes = product(step, threefold(self.squares).merge(first));
        let first = product(step, self.deviations.scaled(4.0).merge(all));
        let second = threefold(self.squares).scaled(2.0);
        let second = product(step, second.merge(first));
        let fourths = product(step, self.cubes.scaled(4.0).merge(second));
        (self.cubes.merge(cubes), self.fourths.merge(fourths))
    }

    /// The sums about the mean, which is s + δ, δ = Σd/n.
    #[inline(always)]
    fn central(&self) -> Central {
        let (sum, low) = two_sum(self.deviations.high, self.deviations.low);
        let high = sum / self.count;
        let rest = float::fma_f64(-high, self.count, sum) + low;
        let step = minus(ExactSum {
            high,
            low: rest / self.count,
        });
        let squares = self.squares.merge(product(step, self.deviations));
        let (cubes, fourths) = self.moved(step);
        Central {
            squares: squares.value(),
            cubes: cubes.value(),
            fourths: fourths.value(),
        }
    }
}

impl Moments {
    /// The state of one value.
    #[inline(always)]
    fn of(value: f64) -> Moments {
        Moments {
            summary: Summary::of(value),
            level: Level::of(value),
            ..Moments::EMPTY
        }
    }

    /// The level that the values need: zeros fit any.
    #[inline(always)]
    fn lowest_level(&self) -> Level {
        if self.summary.is_zero() {
            Level::LOWEST
        } else {
            self.level
        }
    }

    #[inline(always)]
    fn powers(&self) -> Powers {
        let summary = &self.summary;
        let count = summary.count as f64;
        let (high, low) = deviations(summary.sum, count, summary.shift);
        let power = summary.scale.undo(self.level.factor());
        Powers {
            count,
            deviations: ExactSum { high, low }.scaled(power),
            squares: summary.squares.scaled(power).scaled(power),
            cubes: self.cubes,
            fourths: self.fourths,
        }
    }

    /// The state of both, which have the same shift, scale and level.
    #[inline(always)]
    fn merge_aligned<const MAY_BE_NAN: bool>(self, later: Moments) -> Moments {
        Moments {
            summary: self.summary.merge_aligned::<MAY_BE_NAN>(later.summary),
            cubes: self.cubes.merge(later.cubes),
            fourths: self.fourths.merge(later.fourths),
            ..self
        }
    }

    /// The state of both, whatever their shifts, scales and levels.
    #[inline(always)]
    fn align_and_merge(self, later: Moments) -> Moments {
        if later.summary.count == 0 {
            return self;
        }
        if self.summary.count == 0 {
            return later;
        }
        let (a, b) = (self.lowest_level(), later.lowest_level());
        let level = if a.0 > b.0 { a } else { b };
        let (a, b) = (self.summary.lowest_scale(), later.summary.lowest_scale());
        let scale = a.max(b);
        let at = |state: Moments| {
            let power = state.level.to(level);
            let cubes = state.cubes.scaled(power).scaled(power).scaled(power);
            let fourths = state.fourths.scaled(power).scaled(power);
            Moments {
                summary: state.summary.at(scale),
                cubes,
                fourths: fourths.scaled(power).scaled(power),
                level,
                unused: 0,
            }
        };
        let (earlier, later) = (at(self), at(later));
        let shift = earlier.summary.shift;
        // As `Summary::about`, with the powers that it has no use for.
        let (high, low) = two_sum(later.summary.shift, -shift);
        let power = scale.undo(level.factor());
        let (cubes, fourths) = later.powers().moved(ExactSum { high, low }.scaled(power));
        earlier.merge_aligned::<true>(Moments {
            summary: later.summary.about(shift),
            cubes,
            fourths,
            ..later
        })
    }

    /// g₁ = m₃/m₂^(3/2), of m_p = Σ(x − mean)ᵖ/n, and g₂ + 3 = m₄/m₂². NaN if a value is not finite or all
    /// are equal.
    #[inline(always)]
    fn skewness_and_kurtosis(&self) -> (f64, f64) {
        let summary = &self.summary;
        if summary.min == summary.max || !summary.sum.high.is_finite() {
            return (f64::NAN, f64::NAN);
        }
        let count = summary.count as f64;
        let Central {
            squares,
            cubes,
            fourths,
        } = self.powers().central();
        let skewness = cubes * float::sqrt_f64(count) / (squares * float::sqrt_f64(squares));
        (skewness, count * fourths / (squares * squares))
    }
}

impl Statistics for Moments {
    const STATE: State = State::Moments;
    const EMPTY: Moments = Moments {
        summary: Summary::EMPTY,
        cubes: ExactSum::ZERO,
        fourths: ExactSum::ZERO,
        // At which nothing is added as it is: the first value brings scale and level.
        level: Level::LOWEST,
        unused: 0,
    };

    #[inline(always)]
    fn empty_near(value: f64) -> Moments {
        let mut empty = Moments::EMPTY;
        if Level::is_ordinary(value) {
            empty.summary = Summary::empty_near(value);
            empty.level = Level::ORDINARY;
        }
        empty
    }

    #[inline(always)]
    fn push(self, value: f64) -> Self {
        let (deviation, rest) = two_sum(value, -self.summary.shift);
        let (square, lost) = two_product(deviation, deviation);
        let square_low = float::fma_f64(deviation + deviation, rest, lost);
        let (cube, lost) = two_product(square, deviation);
        let cube_low = lost + float::fma_f64(square, rest, square_low * deviation);
        let (fourth, lost) = two_product(square, square);
        let fourth_low = float::fma_f64(square + square, square_low, lost);
        Moments {
            summary: self.summary.push(value),
            cubes: self.cubes.merge(ExactSum {
                high: cube,
                low: cube_low,
            }),
            fourths: self.fourths.merge(ExactSum {
                high: fourth,
                low: fourth_low,
            }),
            ..self
        }
    }

    #[inline(always)]
    fn is_valid(&self) -> bool {
        let (min, max) = (self.summary.min.abs(), self.summary.max.abs());
        let largest = if min > max { min } else { max };
        let is_ordinary = (self.level == Level::ORDINARY) & Level::is_ordinary(largest);
        (self.summary.count == 0) | (is_ordinary & self.summary.is_valid())
    }

    #[inline(always)]
    fn push_carefully(self, value: f64) -> Self {
        if (self.level == Level::ORDINARY) & Level::is_ordinary(value) {
            self.push(value)
        } else {
            self.align_and_merge(Moments::of(value))
        }
    }

    #[inline(always)]
    fn merge(self, later: Self) -> Self {
        let are_ordinary = (self.level == Level::ORDINARY) & (later.level == Level::ORDINARY);
        let (shift, later_shift) = (self.summary.shift, later.summary.shift);
        if are_ordinary & (shift.to_bits() == later_shift.to_bits()) {
            return self.merge_aligned::<false>(later);
        }
        cold_path();
        self.align_and_merge(later)
    }

    #[inline(always)]
    fn statistic(self, statistic: Statistic, ddof: f64) -> f64 {
        let is_sample = matches!(statistic, Statistic::Skew | Statistic::Kurt);
        let is_skewness = matches!(statistic, Statistic::Skew | Statistic::SkewPop);
        if !is_skewness && !matches!(statistic, Statistic::Kurt | Statistic::KurtPop) {
            return self.summary.statistic(statistic, ddof);
        }
        let n = self.summary.count as f64;
        let (skewness, kurtosis) = self.skewness_and_kurtosis();
        match (is_skewness, is_sample) {
            (true, false) => skewness,
            (false, false) => kurtosis - 3.0,
            (true, true) if n < 3.0 => f64::NAN,
            (true, true) => skewness * float::sqrt_f64(n * (n - 1.0)) / (n - 2.0),
            (false, true) if n < 4.0 => f64::NAN,
            (false, true) => {
                let factor = (n - 1.0) / ((n - 2.0) * (n - 3.0));
                factor * ((n + 1.0) * kurtosis - 3.0 * (n - 1.0))
            }
        }
    }
}

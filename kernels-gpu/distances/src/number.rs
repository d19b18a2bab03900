//! The operations on `f32` and `f64` that kernels need.

use core::ops::{Add, Mul, Sub};

use cuda_std::prelude::*;

/// `f32` or `f64`.
pub trait Number:
    Copy + PartialOrd + Add<Output = Self> + Mul<Output = Self> + Sub<Output = Self>
{
    const ZERO: Self;
    const MINUS_ONE: Self;
    const INFINITY: Self;
    const NAN: Self;
    /// The smallest positive number.
    const SMALLEST: f64;
    /// Numbers in a word of 64 bits.
    const PACK: u32;
    fn pack(numbers: impl Fn(u32) -> Self) -> u64;
    fn unpack(word: u64, index: u32) -> Self;
    fn of(value: f64) -> Self;
    fn widened(self) -> f64;
    /// a² + c with one rounding.
    fn square_plus(a: Self, c: Self) -> Self;
    fn root(self) -> Self;
    /// The larger number, or the one that is no NaN.
    fn larger(self, other: Self) -> Self;
    /// The sum of the numbers of a warp, in all its lanes.
    fn sum_of_warp(self) -> Self;
    /// The bits without the sign, which are in the order of the magnitudes; those of infinity and
    /// NaN are the highest.
    fn magnitude(self) -> u64;
    /// The number with these bits of a magnitude.
    fn of_magnitude(bits: u64) -> Self;
    const INFINITE: u64;
    /// All finite numbers are below 2 to the power of this plus one.
    const MAX_EXPONENT: i32;
}

impl Number for f32 {
    const ZERO: f32 = 0.0;
    const MINUS_ONE: f32 = -1.0;
    const INFINITY: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    const SMALLEST: f64 = f32::from_bits(1) as f64;
    const PACK: u32 = 2;
    const INFINITE: u64 = f32::INFINITY.to_bits() as u64;
    const MAX_EXPONENT: i32 = f32::MAX_EXP - 1;

    #[inline(always)]
    fn pack(numbers: impl Fn(u32) -> f32) -> u64 {
        numbers(0).to_bits() as u64 | (numbers(1).to_bits() as u64) << 32
    }

    #[inline(always)]
    fn unpack(word: u64, index: u32) -> f32 {
        f32::from_bits((word >> (32 * index)) as u32)
    }

    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn widened(self) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn square_plus(a: f32, c: f32) -> f32 {
        float::fma_f32(a, a, c)
    }

    #[inline(always)]
    fn root(self) -> f32 {
        // The steps of `sqrt.rn.f32`, without its branch on small numbers: 64 roots in a row then
        // overlap, where each branch would wait for the root before it. The root of a subnormal
        // number becomes zero, which the error bounds of `gridstride::distances` allow.
        let inverse = if self >= f32::MIN_POSITIVE {
            inverse_root(self)
        } else {
            0.0
        };
        let root = self * inverse;
        let rest = float::fma_f32(-root, root, self);
        float::fma_f32(rest, 0.5 * inverse, root)
    }

    #[inline(always)]
    fn larger(self, other: f32) -> f32 {
        self.max(other)
    }

    #[inline(always)]
    fn sum_of_warp(self) -> f32 {
        warp::reduce_sum(self)
    }

    #[inline(always)]
    fn magnitude(self) -> u64 {
        (self.to_bits() & !(1 << 31)) as u64
    }

    #[inline(always)]
    fn of_magnitude(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
}

/// About 1 / √x of a normal number.
#[inline(always)]
fn inverse_root(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result: f32;
        // SAFETY: arithmetic on registers. Without `ftz` there are three more instructions for
        // subnormal numbers.
        unsafe {
            core::arch::asm!(
                "rsqrt.approx.ftz.f32 {}, {};",
                out(reg32) result,
                in(reg32) x,
                options(pure, nomem, nostack)
            );
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        float::rsqrt_approx_f32(x)
    }
}

impl Number for f64 {
    const ZERO: f64 = 0.0;
    const MINUS_ONE: f64 = -1.0;
    const INFINITY: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    const SMALLEST: f64 = f64::from_bits(1);
    const PACK: u32 = 1;
    const INFINITE: u64 = f64::INFINITY.to_bits();
    const MAX_EXPONENT: i32 = f64::MAX_EXP - 1;

    #[inline(always)]
    fn pack(numbers: impl Fn(u32) -> f64) -> u64 {
        numbers(0).to_bits()
    }

    #[inline(always)]
    fn unpack(word: u64, _: u32) -> f64 {
        f64::from_bits(word)
    }

    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn widened(self) -> f64 {
        self
    }

    #[inline(always)]
    fn square_plus(a: f64, c: f64) -> f64 {
        float::fma_f64(a, a, c)
    }

    #[inline(always)]
    fn root(self) -> f64 {
        float::sqrt_f64(self)
    }

    #[inline(always)]
    fn larger(self, other: f64) -> f64 {
        self.max(other)
    }

    #[inline(always)]
    fn sum_of_warp(self) -> f64 {
        warp::reduce_sum(self)
    }

    #[inline(always)]
    fn magnitude(self) -> u64 {
        self.to_bits() & !(1 << 63)
    }

    #[inline(always)]
    fn of_magnitude(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

//! Uniform and normal numbers.

use core::f32::consts::TAU as TAU_F32;
use core::f64::consts::TAU as TAU_F64;
use rand_core::RngCore;

/// Uniform and normal numbers of `f32` and `f64`, from every generator.
///
/// A `f32` takes one [`next_u32`](RngCore::next_u32), a `f64` one [`next_u64`](RngCore::next_u64). The results are the
/// same on every device, bit for bit.
///
/// Normal numbers, of mean 0 and variance 1, are those of Box and Muller's transform of two uniform numbers, u and v:
/// √(−2 ln (1 − u)) · cos 2πv, and a second one with the sine. Their magnitude is at most √(48 ln 2) = 5.8 for
/// `f32` and √(106 ln 2) = 8.6 for `f64`, since 1 − u is at least 2⁻²⁴ or 2⁻⁵³. They differ from the exact
/// transform of u and v by less than 5 · 10⁻⁶ for `f32`, and 2 · 10⁻¹⁴ for `f64`. `f32` has its sine and
/// cosine from `libm`, which computes them in `f64`.
pub trait GpuRand: RngCore {
    /// Returns a number of [0, 1): a multiple of 2⁻²⁴, all equally likely.
    fn uniform_f32(&mut self) -> f32;
    /// Returns a number of [0, 1): a multiple of 2⁻⁵³, all equally likely.
    fn uniform_f64(&mut self) -> f64;
    /// Returns a normal number, of two uniform ones.
    fn normal_f32(&mut self) -> f32;
    /// Returns a normal number, of two uniform ones.
    fn normal_f64(&mut self) -> f64;
    /// Returns two independent normal numbers for the price of one.
    fn normal_f32_2(&mut self) -> [f32; 2];
    /// Returns two independent normal numbers for the price of one.
    fn normal_f64_2(&mut self) -> [f64; 2];
}

impl<T: RngCore> GpuRand for T {
    #[inline]
    fn uniform_f32(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / (1u32 << 24) as f32)
    }

    #[inline]
    fn uniform_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    #[inline]
    fn normal_f32(&mut self) -> f32 {
        self.normal_f32_2()[0]
    }

    #[inline]
    fn normal_f64(&mut self) -> f64 {
        self.normal_f64_2()[0]
    }

    #[inline]
    fn normal_f32_2(&mut self) -> [f32; 2] {
        let (u, v) = (self.uniform_f32(), self.uniform_f32());
        // 1 − u is exact, and not 0.
        let radius = libm::sqrtf(-2.0 * libm::logf(1.0 - u));
        let (sine, cosine) = libm::sincosf(TAU_F32 * v);
        [radius * cosine, radius * sine]
    }

    #[inline]
    fn normal_f64_2(&mut self) -> [f64; 2] {
        let (u, v) = (self.uniform_f64(), self.uniform_f64());
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - u));
        let (sine, cosine) = libm::sincos(TAU_F64 * v);
        [radius * cosine, radius * sine]
    }
}

//! Uniform and normal numbers.

use cuda_std::float::{fma_f32, fma_f64, sqrt_f32, sqrt_f64};
use rand_core::RngCore;

/// Uniform and normal numbers of `f32` and `f64`, from every generator.
///
/// A `f32` takes one [`next_u32`](RngCore::next_u32), a `f64` one [`next_u64`](RngCore::next_u64).
/// The results are the same on every device, bit for bit; normal numbers only in builds without
/// `CudaBuilder::{ftz, fast_sqrt, fast_div, fma_contraction}`.
///
/// Normal numbers, of mean 0 and variance 1, are those of Box and Muller's transform of two uniform
/// numbers, u and v: √(−2 ln (1 − u)) · cos 2πv, and a second one with the sine. Their magnitude is
/// at most √(48 ln 2) = 5.8 for `f32` and √(106 ln 2) = 8.6 for `f64`, since 1 − u is at least 2⁻²⁴
/// or 2⁻⁵³. They differ from the exact transform of u and v by less than 2 · 10⁻⁶ for `f32` and
/// 6 · 10⁻¹⁵ for `f64`.
pub trait GpuRand: RngCore {
    /// Returns a number of [0, 1): a multiple of 2⁻²⁴, all equally likely.
    fn uniform_f32(&mut self) -> f32;
    /// Returns a number of [0, 1): a multiple of 2⁻⁵³, all equally likely.
    fn uniform_f64(&mut self) -> f64;
    /// Returns a normal number, of two uniform ones.
    fn normal_f32(&mut self) -> f32;
    /// Returns a normal number, of two uniform ones.
    fn normal_f64(&mut self) -> f64;
    /// Returns two independent normal numbers, of two uniform ones.
    fn normal_f32_2(&mut self) -> [f32; 2];
    /// Returns two independent normal numbers, of two uniform ones.
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
        let radius = sqrt_f32(-2.0 * libm::logf(1.0 - u));
        cosine_and_sine_f32(v).map(|value| radius * value)
    }

    #[inline]
    fn normal_f64_2(&mut self) -> [f64; 2] {
        let (u, v) = (self.uniform_f64(), self.uniform_f64());
        let radius = sqrt_f64(-2.0 * libm::log(1.0 - u));
        cosine_and_sine_f64(v).map(|value| radius * value)
    }
}

/// Defines a function for the cosine and the sine of `turns` of [0, 1), by the Taylor series in
/// [−π/4, π/4]. `libm` has them with a reduction of large angles, which needs local memory and is
/// slow.
macro_rules! cosine_and_sine {
    ($name:ident, $type:ident, $fma:ident, sine: $sine:expr, cosine: $cosine:expr) => {
        #[inline]
        fn $name(turns: $type) -> [$type; 2] {
            // The quadrant, and an angle that is exact in turns.
            let quadrant = (turns * 4.0 + 0.5) as u32;
            let angle = (turns - quadrant as $type * 0.25) * core::$type::consts::TAU;
            let square = angle * angle;
            let horner = |sum: $type, &coefficient: &$type| $fma(sum, square, coefficient);
            let sine = $sine.iter().fold(0.0, horner);
            let sine = $fma(sine, square * angle, angle);
            let cosine = $cosine.iter().fold(0.0, horner);
            match quadrant % 4 {
                0 => [cosine, sine],
                1 => [-sine, cosine],
                2 => [-cosine, -sine],
                _ => [sine, -cosine],
            }
        }
    };
}

/// (−1)^((n − n mod 2) / 2) / n! for n = `last`, `last` − 2, …: the coefficients of the sine or the
/// cosine, the highest first.
const fn taylor<const N: usize>(last: u32) -> [f64; N] {
    let mut coefficients = [0.0; N];
    let (mut i, mut n) = (0, last);
    while i < N {
        let (mut factorial, mut k) = (1.0, 2);
        while k <= n {
            factorial *= k as f64;
            k += 1;
        }
        coefficients[i] = if n / 2 % 2 == 0 { 1.0 } else { -1.0 } / factorial;
        i += 1;
        n = n.saturating_sub(2);
    }
    coefficients
}

const fn to_f32<const N: usize>(values: [f64; N]) -> [f32; N] {
    let mut singles = [0.0; N];
    let mut i = 0;
    while i < N {
        singles[i] = values[i] as f32;
        i += 1;
    }
    singles
}

// The first term that is left out is below 2 · 10⁻⁹ for `f32` and 3 · 10⁻¹⁸ for `f64`.
cosine_and_sine!(cosine_and_sine_f32, f32, fma_f32, sine: const { to_f32(taylor::<4>(9)) }, cosine: const { to_f32(taylor::<6>(10)) });
cosine_and_sine!(cosine_and_sine_f64, f64, fma_f64, sine: const { taylor::<8>(17) }, cosine: const { taylor::<9>(16) });

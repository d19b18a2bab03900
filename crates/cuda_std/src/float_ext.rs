//! Functions beyond those of the standard library, which CUDA's `libdevice` has.

use crate::GpuFloat;
use crate::gpu_float::private;

/// Special functions of [`f32`] and [`f64`].
///
/// Results are the same on every device, bit for bit, but for NaNs, in builds without
/// `CudaBuilder::{ftz, fast_sqrt, fast_div, fma_contraction}`.
///
/// # Errors
/// The table has the largest errors in ulp, of `f32` and `f64`. 0 and 0.501 follow from the
/// computation: results of `f32` that are computed in `f64` are rounded once more. The other limits
/// are observed, not proven: no larger error was found at up to 3000 arguments for each function, of
/// all magnitudes, against values in high precision (`tests/cuda_std/references/floats.py`). Other
/// arguments may give larger ones. The tests check the limits at some of these arguments.
///
/// | function | `f32` | `f64` | source |
/// |---|---|---|---|
/// | `error_function`, `log1p` | 1 | 1 | libm |
/// | `complementary_error_function` | 3 | 3 | libm |
/// | `gamma` | 1 | 8 | libm |
/// | `log_gamma` | 3 | 3 | libm; left of 0 in ulp of \|x\|·(1 + ln(1 + \|x\|)), if that is larger |
/// | `j0`, `j1`, `y0`, `y1` | 4 | 4 | libm; in ulp of the amplitude √(2/(π·\|x\|)), up to 1, if that is larger |
/// | `jn`, `yn` of orders up to 20 | 16 | 16 | libm; as above |
/// | `sinpi`, `cospi`, `sincospi` | 0.501 | 2 | exact reduction to [−¼, ¼], then libm; `f32` in `f64` |
/// | `rcbrt` | 0.501 | 2 | libm; `f32` in `f64` |
/// | `scaled_complementary_error_function` | 0.501 | 4 | exp(x²)·erfc(x) with x² in two words, asymptotic from 10 on; `f32` in `f64` |
/// | `norm_cdf` | 0.501 | 4 | erfc of two words; `f32` in `f64` |
/// | `inv_complementary_error_function`, `inv_norm_cdf` | 0.501 | 4 | Newton's iteration on ln erfc, Halley's on erfc and erf; `f32` in `f64` |
/// | `frexp`, `ldexp`, `scale_by_n`, `unbiased_exp`, `saturate` | 0 | 0 | `ldexp` rounds once if the result is subnormal |
///
/// # Examples
/// ```
/// use cuda_std::FloatExt;
///
/// // Parts of a number.
/// assert_eq!(12.0_f32.frexp(), (0.75, 4));
/// assert_eq!(12.0_f32.unbiased_exp(), 3);
/// assert_eq!((0.75_f32.ldexp(4), 0.75_f32.scale_by_n(4)), (12.0, 12.0));
/// assert_eq!((1.5_f32.saturate(), (-1.5_f32).saturate()), (1.0, 0.0));
///
/// // Multiples of π, exact where sin(π·x) has a rounded π.
/// assert_eq!((0.5_f64.sinpi(), 1.0_f64.cospi()), (1.0, -1.0));
/// assert_eq!(1.0_f64.sincospi(), (0.0, -1.0));
///
/// // Roots and logarithms.
/// assert_eq!(8.0_f32.rcbrt(), 0.5);
/// assert_eq!(1e-20_f64.log1p(), 1e-20);
///
/// // Error functions and the normal distribution.
/// let near = |a: f64, b: f64| (a - b).abs() < 1e-14;
/// assert!(near(1.0_f64.error_function() + 1.0_f64.complementary_error_function(), 1.0));
/// assert!(near(0.25_f64.inv_complementary_error_function().complementary_error_function(), 0.25));
/// assert_eq!(0.0_f64.scaled_complementary_error_function(), 1.0);
/// assert_eq!(0.0_f64.norm_cdf(), 0.5);
/// assert!(near(0.25_f64.inv_norm_cdf().norm_cdf(), 0.25));
///
/// // The gamma function, and Bessel functions: J₂(x) = 2/x · J₁(x) − J₀(x), and likewise Y₂.
/// assert_eq!(5.0_f64.gamma(), 24.0);
/// assert!(near(5.0_f64.log_gamma(), 24.0_f64.ln()));
/// let x = 1.5_f64;
/// assert!(near(x.jn(2), 2.0 / x * x.j1() - x.j0()));
/// assert!(near(x.yn(2), 2.0 / x * x.y1() - x.y0()));
/// ```
pub trait FloatExt: Sized + private::Sealed {
    /// Returns cos(π · `self`).
    #[must_use]
    fn cospi(self) -> Self;
    /// Returns erf(`self`).
    #[must_use]
    fn error_function(self) -> Self;
    /// Returns erfc(`self`) = 1 − erf(`self`).
    #[must_use]
    fn complementary_error_function(self) -> Self;
    /// Returns the x with erfc(x) = `self`, for 0 ≤ `self` ≤ 2.
    #[must_use]
    fn inv_complementary_error_function(self) -> Self;
    /// Returns exp(`self`²) · erfc(`self`).
    #[must_use]
    fn scaled_complementary_error_function(self) -> Self;
    /// Returns m and n with `self` = m · 2ⁿ and ½ ≤ |m| < 1.
    #[must_use]
    fn frexp(self) -> (Self, i32);
    /// Returns the exponent of `self` = m · 2ⁿ with 1 ≤ |m| < 2.
    #[must_use]
    fn unbiased_exp(self) -> i32;
    /// Returns the Bessel function of the first kind of order 0.
    #[must_use]
    fn j0(self) -> Self;
    /// Returns the Bessel function of the first kind of order 1.
    #[must_use]
    fn j1(self) -> Self;
    /// Returns the Bessel function of the first kind.
    #[must_use]
    fn jn(self, order: i32) -> Self;
    /// Returns `self` · 2^`exp`.
    #[must_use]
    fn ldexp(self, exp: i32) -> Self;
    /// Returns ln |Γ(`self`)|.
    #[must_use]
    fn log_gamma(self) -> Self;
    /// Returns ln(1 + `self`).
    #[must_use]
    fn log1p(self) -> Self;
    /// Returns the standard normal distribution's probability of numbers up to `self`.
    #[must_use]
    fn norm_cdf(self) -> Self;
    /// Returns the x with `norm_cdf`(x) = `self`, for 0 ≤ `self` ≤ 1.
    #[must_use]
    fn inv_norm_cdf(self) -> Self;
    /// Returns 1 / ∛`self`.
    #[must_use]
    fn rcbrt(self) -> Self;
    /// Returns `self` clamped to [0, 1], and 0 for NaN and −0.
    #[must_use]
    fn saturate(self) -> Self;
    /// Returns `self` · 2^`exp`.
    #[must_use]
    fn scale_by_n(self, exp: i32) -> Self;
    /// Returns sin(π · `self`) and cos(π · `self`).
    #[must_use]
    fn sincospi(self) -> (Self, Self);
    /// Returns sin(π · `self`).
    #[must_use]
    fn sinpi(self) -> Self;
    /// Returns Γ(`self`).
    #[must_use]
    fn gamma(self) -> Self;
    /// Returns the Bessel function of the second kind of order 0.
    #[must_use]
    fn y0(self) -> Self;
    /// Returns the Bessel function of the second kind of order 1.
    #[must_use]
    fn y1(self) -> Self;
    /// Returns the Bessel function of the second kind.
    #[must_use]
    fn yn(self, order: i32) -> Self;
}

macro_rules! float_ext {
    ($($type:ident {
        $($name:ident($($argument:ident: $of:ty),*) -> $result:ty = $function:ident;)*
    } {
        $($own:ident = $in_f64:ident;)*
    } jn: $jn:ident, yn: $yn:ident)*) => {$(
        impl FloatExt for $type {
            $(
                #[inline]
                fn $name(self, $($argument: $of),*) -> $result {
                    libm::$function(self, $($argument),*)
                }
            )*
            $(
                #[inline]
                fn $own(self) -> Self {
                    $in_f64(f64::from(self)) as $type
                }
            )*
            #[inline]
            fn jn(self, order: i32) -> Self {
                libm::$jn(order, self)
            }
            #[inline]
            fn yn(self, order: i32) -> Self {
                libm::$yn(order, self)
            }
            #[inline]
            fn sincospi(self) -> (Self, Self) {
                (self.sinpi(), self.cospi())
            }
            #[inline]
            fn saturate(self) -> Self {
                // Written so that NaN and −0 become 0 on every device.
                if self > 0.0 { self.min(1.0) } else { 0.0 }
            }
        }
    )*};
}

float_ext! {
    f32 {
        error_function() -> f32 = erff;
        complementary_error_function() -> f32 = erfcf;
        frexp() -> (f32, i32) = frexpf;
        unbiased_exp() -> i32 = ilogbf;
        j0() -> f32 = j0f;
        j1() -> f32 = j1f;
        ldexp(exp: i32) -> f32 = ldexpf;
        log_gamma() -> f32 = lgammaf;
        log1p() -> f32 = log1pf;
        scale_by_n(exp: i32) -> f32 = scalbnf;
        gamma() -> f32 = tgammaf;
        y0() -> f32 = y0f;
        y1() -> f32 = y1f;
    } {
        cospi = cospi;
        sinpi = sinpi;
        inv_complementary_error_function = erfc_inv;
        scaled_complementary_error_function = erfcx;
        norm_cdf = norm_cdf;
        inv_norm_cdf = norm_cdf_inv;
        rcbrt = rcbrt;
    } jn: jnf, yn: ynf
    f64 {
        error_function() -> f64 = erf;
        complementary_error_function() -> f64 = erfc;
        frexp() -> (f64, i32) = frexp;
        unbiased_exp() -> i32 = ilogb;
        j0() -> f64 = j0;
        j1() -> f64 = j1;
        ldexp(exp: i32) -> f64 = ldexp;
        log_gamma() -> f64 = lgamma;
        log1p() -> f64 = log1p;
        scale_by_n(exp: i32) -> f64 = scalbn;
        gamma() -> f64 = tgamma;
        y0() -> f64 = y0;
        y1() -> f64 = y1;
    } {
        cospi = cospi;
        sinpi = sinpi;
        inv_complementary_error_function = erfc_inv;
        scaled_complementary_error_function = erfcx;
        norm_cdf = norm_cdf;
        inv_norm_cdf = norm_cdf_inv;
        rcbrt = rcbrt;
    } jn: jn, yn: yn
}

/// Returns `x` = 2n + q/2 + rest for some n, with q from 0 to 3 and |rest| ≤ ¼, all exact.
fn quadrant(x: f64) -> (i32, f64) {
    // Numbers of 2⁵³ or more are even.
    let within = x - 2.0 * crate::float::round_ties_even_f64(0.5 * x);
    let quarter = crate::float::round_ties_even_f64(2.0 * within);
    (quarter as i32 & 3, within - 0.5 * quarter)
}

fn sinpi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quarter, rest) = quadrant(x);
    let angle = core::f64::consts::PI * rest;
    match quarter {
        // The zeros of integers have the sign of `x`.
        0 | 2 if rest == 0.0 => 0.0_f64.copysign(x),
        0 => libm::sin(angle),
        1 => libm::cos(angle),
        2 => -libm::sin(angle),
        _ => -libm::cos(angle),
    }
}

fn cospi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quarter, rest) = quadrant(x);
    let angle = core::f64::consts::PI * rest;
    match quarter {
        1 | 3 if rest == 0.0 => 0.0,
        0 => libm::cos(angle),
        1 => -libm::sin(angle),
        2 => -libm::cos(angle),
        _ => libm::sin(angle),
    }
}

fn rcbrt(x: f64) -> f64 {
    1.0 / libm::cbrt(x)
}

/// 1/√π.
const FRAC_1_SQRT_PI: f64 = core::f64::consts::FRAC_2_SQRT_PI / 2.0;

fn erfcx(x: f64) -> f64 {
    if x >= 10.0 {
        // 1 / (x·√π) · Σ (−1)ⁿ (2n − 1)!! / (2x²)ⁿ, where the first term left out, n = 13, is below
        // 10⁻¹⁷ of the first one at x = 10.
        let ratio = 0.5 / x / x;
        let (mut term, mut sum) = (1.0, 1.0);
        for n in 1..13 {
            term *= -f64::from(2 * n - 1) * ratio;
            sum += term;
        }
        return FRAC_1_SQRT_PI / x * sum;
    }
    if x < -26.7 {
        return 2.0 * libm::exp(x * x);
    }
    exp_square(x) * libm::erfc(x)
}

/// Returns exp(x²), where x² is taken in two words.
fn exp_square(x: f64) -> f64 {
    let square = x * x;
    let rest = GpuFloat::mul_add(x, x, -square);
    let power = libm::exp(square);
    if power.is_infinite() {
        power
    } else {
        power + power * rest
    }
}

/// Returns exp(−x²), where x² is taken in two words.
fn exp_minus_square(x: f64) -> f64 {
    let square = x * x;
    let rest = GpuFloat::mul_add(x, x, -square);
    let power = libm::exp(-square);
    power - power * rest
}

fn norm_cdf(x: f64) -> f64 {
    // −x/√2 in two words: FRAC_1_SQRT_2 is off by REST.
    const REST: f64 = -4.833_646_656_726_457e-17;
    let high = -x * core::f64::consts::FRAC_1_SQRT_2;
    if !(-6.0..27.5).contains(&high) {
        return 0.5 * libm::erfc(high);
    }
    let low = GpuFloat::mul_add(-x, core::f64::consts::FRAC_1_SQRT_2, -high) + -x * REST;
    // erfc′(t) = −2/√π · exp(−t²)
    0.5 * (libm::erfc(high) - low * core::f64::consts::FRAC_2_SQRT_PI * exp_minus_square(high))
}

fn norm_cdf_inv(p: f64) -> f64 {
    -core::f64::consts::SQRT_2 * erfc_inv(2.0 * p)
}

fn erfc_inv(y: f64) -> f64 {
    match y {
        0.0 => return f64::INFINITY,
        2.0 => return f64::NEG_INFINITY,
        _ if !(0.0..=2.0).contains(&y) => return f64::NAN,
        _ => {}
    }
    // By symmetry, y ≤ 1 and the result is at least 0.
    let (y, sign) = if y > 1.0 { (2.0 - y, -1.0) } else { (y, 1.0) };
    // A start within 0.03, after S. Winitzki, 'A handy approximation for the error function and
    // its inverse'.
    let a = 0.147;
    let log = libm::log(y * (2.0 - y));
    let half = core::f64::consts::FRAC_2_PI / a + 0.5 * log;
    let mut x = GpuFloat::sqrt(GpuFloat::sqrt(half * half - log / a) - half);
    if y < 0.25 {
        // Newton's iteration on ln erfc(x), which is nearly −x²: it neither overshoots nor
        // underflows.
        let log = libm::log(y);
        for _ in 0..3 {
            let scaled = erfcx(x);
            let difference = libm::log(scaled) - x * x - log;
            x += difference * scaled / core::f64::consts::FRAC_2_SQRT_PI;
        }
        return sign * x;
    }
    for _ in 0..3 {
        // Halley's iteration. Where y is not small, erfc(x) − y would cancel, which
        // erf(x) − (1 − y) does not.
        let difference = if y > 0.5 {
            (1.0 - y) - libm::erf(x)
        } else {
            libm::erfc(x) - y
        };
        let step = difference / core::f64::consts::FRAC_2_SQRT_PI * exp_square(x);
        x += step / (1.0 + x * step);
    }
    sign * x
}

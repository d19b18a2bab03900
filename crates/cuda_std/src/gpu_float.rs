//! The methods of `f32` and `f64` that `core` lacks.

/// The methods of [`f32`] and [`f64`] from `std`, for kernels.
///
/// Results are the same on every device, bit for bit, but for NaNs, in builds without
/// `CudaBuilder::{ftz, fast_sqrt, fast_div, fma_contraction}`. `floor`, `ceil`, `round`, `trunc`,
/// `fract`, `abs`, `signum`, `copysign`, `sqrt`, `mul_add`, `div_euclid` and `rem_euclid` give those
/// of `std`. The others are functions of the crate `libm`.
///
/// # Errors of the functions of `libm`
/// The table has the largest errors in ulp. They are observed, not proven: no larger error was found
/// at up to 3000 arguments for each function, of all magnitudes, against values in high precision
/// (`tests/cuda_std/references/floats.py`). Other arguments may give larger ones. The tests check
/// the limits at some of these arguments.
///
/// | function | `f32` | `f64` |
/// |---|---|---|
/// | `powi` | 0.501 | 1 |
/// | `powf`, `exp`, `exp2`, `ln`, `log2`, `log10`, `exp_m1`, `ln_1p`, `cbrt`, `hypot` | 1 | 1 |
/// | `sin`, `cos`, `sin_cos`, `tan`, `asin`, `acos`, `atan` | 1 | 1 |
/// | `atan2`, `sinh`, `cosh`, `tanh`, `asinh`, `acosh`, `atanh` | 2 | 2 |
/// | `log` | 3 | 3 |
///
/// On the host the methods of `f32` and `f64` in `std` come before those of a trait, and use other
/// functions, even in a crate with `#![no_std]`: in the simulator `x.sin()` may differ from the GPU's
/// in the last place. [`float::sin(x)`](crate::float::sin) and `GpuFloat::sin(x)` do not.
///
/// # The operator `%`
/// In a kernel on a GPU, LLVM compiles `x % y` of floats to x − y · trunc(x / y) with a rounded
/// quotient and one fused multiply-add. The result is inexact, and for a large quotient wrong: it
/// may have the wrong sign, or exceed `y`. On the host, and so in the simulator, `%` is exact. The
/// exact remainder on every device is `libm::fmod`, or `libm::fmodf` for `f32`. For `x` ≥ 0,
/// [`rem_euclid`](Self::rem_euclid) gives the same.
///
/// # Examples
/// ```
/// use cuda_std::GpuFloat;
///
/// // Rounding and signs.
/// assert_eq!(GpuFloat::floor(-1.5_f32), -2.0);
/// assert_eq!(GpuFloat::ceil(-1.5_f32), -1.0);
/// assert_eq!(GpuFloat::round(-1.5_f32), -2.0);
/// assert_eq!((GpuFloat::trunc(-1.5_f32), GpuFloat::fract(-1.5_f32)), (-1.0, -0.5));
/// assert_eq!((GpuFloat::abs(-3.0_f32), GpuFloat::signum(-3.0_f32)), (3.0, -1.0));
/// assert_eq!(GpuFloat::copysign(3.0_f32, -0.0), -3.0);
///
/// // Division.
/// assert_eq!(GpuFloat::div_euclid(-7.0_f64, 4.0), -2.0);
/// assert_eq!(GpuFloat::rem_euclid(-7.0_f64, 4.0), 1.0);
///
/// // Powers, roots and logarithms.
/// assert_eq!(GpuFloat::mul_add(3.0_f32, 4.0, 5.0), 17.0);
/// assert_eq!((GpuFloat::powi(2.0_f32, -2), GpuFloat::powf(2.0_f32, 3.0)), (0.25, 8.0));
/// assert_eq!((GpuFloat::sqrt(9.0_f32), GpuFloat::cbrt(-8.0_f32)), (3.0, -2.0));
/// assert_eq!(GpuFloat::hypot(3.0_f32, 4.0), 5.0);
/// assert_eq!((GpuFloat::exp(0.0_f32), GpuFloat::exp2(3.0_f32)), (1.0, 8.0));
/// assert_eq!((GpuFloat::ln(1.0_f32), GpuFloat::log2(8.0_f32)), (0.0, 3.0));
/// assert_eq!(GpuFloat::log10(100.0_f64), 2.0);
///
/// // Small numbers, where exp(x) − 1 and ln(1 + x) would be 0.
/// assert_eq!((GpuFloat::exp_m1(1e-20_f64), GpuFloat::ln_1p(1e-20_f64)), (1e-20, 1e-20));
///
/// // Trigonometric and hyperbolic functions.
/// let (sine, cosine) = GpuFloat::sin_cos(0.5_f64);
/// assert_eq!((sine, cosine), (GpuFloat::sin(0.5_f64), GpuFloat::cos(0.5_f64)));
/// assert_eq!(GpuFloat::atan2(1.0_f64, -1.0), 0.75 * std::f64::consts::PI);
/// assert!((GpuFloat::asinh(GpuFloat::sinh(0.5_f64)) - 0.5).abs() < 1e-15);
/// ```
pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
    /// Returns the greatest integer up to `self`.
    #[must_use]
    fn floor(self) -> Self;
    /// Returns the least integer from `self` on.
    #[must_use]
    fn ceil(self) -> Self;
    /// Returns the nearest integer, and the one further from 0 between two.
    #[must_use]
    fn round(self) -> Self;
    /// Returns `self` without its fraction.
    #[must_use]
    fn trunc(self) -> Self;
    /// Returns the fraction.
    #[must_use]
    fn fract(self) -> Self;
    /// Returns the absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// Returns 1 with the sign of `self`, or NaN.
    #[must_use]
    fn signum(self) -> Self;
    /// Returns `self` with the sign of `sign`.
    #[must_use]
    fn copysign(self, sign: Self) -> Self;
    /// Returns `self · a + b` with one rounding.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Returns the quotient of the Euclidean division.
    #[must_use]
    fn div_euclid(self, rhs: Self) -> Self;
    /// Returns the remainder of the Euclidean division.
    #[must_use]
    fn rem_euclid(self, rhs: Self) -> Self;
    /// Returns `self` to the power of an integer.
    #[must_use]
    fn powi(self, n: i32) -> Self;
    /// Returns `self` to the power of `n`.
    #[must_use]
    fn powf(self, n: Self) -> Self;
    /// Returns the square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Returns e to the power of `self`.
    #[must_use]
    fn exp(self) -> Self;
    /// Returns 2 to the power of `self`.
    #[must_use]
    fn exp2(self) -> Self;
    /// Returns the natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Returns the logarithm to a base.
    #[must_use]
    fn log(self, base: Self) -> Self;
    /// Returns the logarithm to base 2.
    #[must_use]
    fn log2(self) -> Self;
    /// Returns the logarithm to base 10.
    #[must_use]
    fn log10(self) -> Self;
    /// Returns the cube root.
    #[must_use]
    fn cbrt(self) -> Self;
    /// Returns √(`self`² + `other`²).
    #[must_use]
    fn hypot(self, other: Self) -> Self;
    /// Returns the sine.
    #[must_use]
    fn sin(self) -> Self;
    /// Returns the cosine.
    #[must_use]
    fn cos(self) -> Self;
    /// Returns the tangent.
    #[must_use]
    fn tan(self) -> Self;
    /// Returns the arcsine.
    #[must_use]
    fn asin(self) -> Self;
    /// Returns the arccosine.
    #[must_use]
    fn acos(self) -> Self;
    /// Returns the arctangent.
    #[must_use]
    fn atan(self) -> Self;
    /// Returns the angle of the point (`other`, `self`).
    #[must_use]
    fn atan2(self, other: Self) -> Self;
    /// Returns sine and cosine.
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
    /// Returns e to the power of `self`, less 1.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// Returns the natural logarithm of 1 + `self`.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// Returns the hyperbolic sine.
    #[must_use]
    fn sinh(self) -> Self;
    /// Returns the hyperbolic cosine.
    #[must_use]
    fn cosh(self) -> Self;
    /// Returns the hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;
    /// Returns the inverse of the hyperbolic sine.
    #[must_use]
    fn asinh(self) -> Self;
    /// Returns the inverse of the hyperbolic cosine.
    #[must_use]
    fn acosh(self) -> Self;
    /// Returns the inverse of the hyperbolic tangent.
    #[must_use]
    fn atanh(self) -> Self;
}

pub(crate) mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! gpu_float {
    ($($type:ident {
        { $($instruction:ident($($operand:ident),*) = $float:ident;)* }
        libm { $($name:ident($($argument:ident),*) = $function:ident;)* }
        powi: $power:ident, sin_cos: $sincos:ident, remainder: $fmod:ident
    })*) => {$(
        impl GpuFloat for $type {
            $(
                #[inline(always)]
                fn $instruction(self, $($operand: Self),*) -> Self {
                    crate::float::functions::$float(self, $($operand),*)
                }
            )*
            $(
                #[inline]
                fn $name(self, $($argument: Self),*) -> Self {
                    libm::$function(self, $($argument),*)
                }
            )*
            #[inline(always)]
            fn fract(self) -> Self {
                self - GpuFloat::trunc(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$type>::abs(self)
            }
            #[inline(always)]
            fn signum(self) -> Self {
                <$type>::signum(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$type>::copysign(self, sign)
            }
            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = GpuFloat::trunc(self / rhs);
                match libm::$fmod(self, rhs) < 0.0 {
                    true if rhs > 0.0 => quotient - 1.0,
                    true => quotient + 1.0,
                    false => quotient,
                }
            }
            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let remainder = libm::$fmod(self, rhs);
                if remainder < 0.0 { remainder + <$type>::abs(rhs) } else { remainder }
            }
            #[inline]
            fn powi(self, n: i32) -> Self {
                libm::$power(self.into(), f64::from(n)) as $type
            }
            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }
            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                libm::$sincos(self)
            }
        }
    )*};
}

gpu_float! {
    f32 {
        { floor() = floor_f32; ceil() = ceil_f32; trunc() = trunc_f32; sqrt() = sqrt_f32; mul_add(a, b) = fma_f32; }
        libm { round() = roundf; powf(n) = powf; exp() = expf; exp2() = exp2f; ln() = logf; log2() = log2f; log10() = log10f;
            cbrt() = cbrtf; hypot(other) = hypotf; sin() = sinf; cos() = cosf; tan() = tanf; asin() = asinf; acos() = acosf;
            atan() = atanf; atan2(other) = atan2f; exp_m1() = expm1f; ln_1p() = log1pf; sinh() = sinhf; cosh() = coshf;
            tanh() = tanhf; asinh() = asinhf; acosh() = acoshf; atanh() = atanhf; }
        powi: pow, sin_cos: sincosf, remainder: fmodf
    }
    f64 {
        { floor() = floor_f64; ceil() = ceil_f64; trunc() = trunc_f64; sqrt() = sqrt_f64; mul_add(a, b) = fma_f64; }
        libm { round() = round; powf(n) = pow; exp() = exp; exp2() = exp2; ln() = log; log2() = log2; log10() = log10;
            cbrt() = cbrt; hypot(other) = hypot; sin() = sin; cos() = cos; tan() = tan; asin() = asin; acos() = acos;
            atan() = atan; atan2(other) = atan2; exp_m1() = expm1; ln_1p() = log1p; sinh() = sinh; cosh() = cosh;
            tanh() = tanh; asinh() = asinh; acosh() = acosh; atanh() = atanh; }
        powi: pow, sin_cos: sincos, remainder: fmod
    }
}

//! The special functions of [`GpuFloat`] as functions: see [`float`](super).

use crate::GpuFloat;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        #[must_use]
        #[inline(always)]
        pub fn $name<T: GpuFloat>($($argument: $type),*) -> T {
            GpuFloat::$name($($argument),*)
        }
    )*};
}

functions! {
    /// Returns `x` to the power of an integer.
    powi(x: T, n: i32);
    /// Returns `x` to the power of `n`.
    powf(x: T, n: T);
    /// Returns e to the power of `x`.
    exp(x: T);
    /// Returns 2 to the power of `x`.
    exp2(x: T);
    /// Returns the natural logarithm.
    ln(x: T);
    /// Returns the logarithm to a base.
    log(x: T, base: T);
    /// Returns the logarithm to base 2.
    log2(x: T);
    /// Returns the logarithm to base 10.
    log10(x: T);
    /// Returns the cube root.
    cbrt(x: T);
    /// Returns √(`x`² + `y`²).
    hypot(x: T, y: T);
    /// Returns the sine.
    sin(x: T);
    /// Returns the cosine.
    cos(x: T);
    /// Returns the tangent.
    tan(x: T);
    /// Returns the arcsine.
    asin(x: T);
    /// Returns the arccosine.
    acos(x: T);
    /// Returns the arctangent.
    atan(x: T);
    /// Returns the angle of the point (`x`, `y`).
    atan2(y: T, x: T);
    /// Returns e to the power of `x`, less 1.
    exp_m1(x: T);
    /// Returns the natural logarithm of 1 + `x`.
    ln_1p(x: T);
    /// Returns the hyperbolic sine.
    sinh(x: T);
    /// Returns the hyperbolic cosine.
    cosh(x: T);
    /// Returns the hyperbolic tangent.
    tanh(x: T);
    /// Returns the inverse of the hyperbolic sine.
    asinh(x: T);
    /// Returns the inverse of the hyperbolic cosine.
    acosh(x: T);
    /// Returns the inverse of the hyperbolic tangent.
    atanh(x: T);
}

/// Returns sine and cosine.
#[must_use]
#[inline(always)]
pub fn sin_cos<T: GpuFloat>(x: T) -> (T, T) {
    GpuFloat::sin_cos(x)
}

//! The functions of [`float`](super).

macro_rules! float {
    ($($type:ident { $($(#[$doc:meta])* $name:ident($($argument:ident),*) = $function:ident;)* })*) => {$($(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($($argument: $type),*) -> $type {
            // `std` has these functions as methods; `core` has them in `core_float_math`
            // (rust-lang/rust#137578), from 1.89 on. The intrinsics beneath them were renamed in
            // 2026.
            #[cfg(target_arch = "nvptx64")]
            {
                core::$type::math::$function($($argument),*)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                <$type>::$function($($argument),*)
            }
        }
    )*)*};
}

float! {
    f32 {
    /// `a · b + c` with one rounding.
    fma_f32(a, b, c) = mul_add;
    /// The square root, correctly rounded.
    sqrt_f32(x) = sqrt;
    /// The largest integer not above `x`.
    floor_f32(x) = floor;
    /// The smallest integer not below `x`.
    ceil_f32(x) = ceil;
    /// `x` without its fraction.
    trunc_f32(x) = trunc;
    /// The nearest integer, ties to the even one.
    round_ties_even_f32(x) = round_ties_even;
    }
    f64 {
    /// `a · b + c` with one rounding.
    fma_f64(a, b, c) = mul_add;
    /// The square root, correctly rounded.
    sqrt_f64(x) = sqrt;
    /// The largest integer not above `x`.
    floor_f64(x) = floor;
    /// The smallest integer not below `x`.
    ceil_f64(x) = ceil;
    /// `x` without its fraction.
    trunc_f64(x) = trunc;
    /// The nearest integer, ties to the even one.
    round_ties_even_f64(x) = round_ties_even;
    }
}

macro_rules! approximate {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal, $host:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let result: f32;
                // SAFETY: pure arithmetic on registers, defined for every value.
                unsafe {
                    core::arch::asm!(
                        concat!($instruction, " {}, {};"),
                        out(reg32) result,
                        in(reg32) x,
                        options(pure, nomem, nostack)
                    )
                };
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let f: fn(f32) -> f32 = $host;
                f(x)
            }
        }
    )*};
}

// The bounds are those of NVIDIA's PTX ISA, chapter 'Floating Point Instructions'.
approximate! {
    /// `1 / √x`, within a relative 2⁻²²·⁹.
    rsqrt_approx_f32 = "rsqrt.approx.f32", |x| 1.0 / x.sqrt();
    /// `2ˣ`, within 2 units in the last place.
    exp2_approx_f32 = "ex2.approx.f32", f32::exp2;
    /// The logarithm to base 2: within 2⁻²² for x between ½ and 2, within a relative 2⁻²²
    /// elsewhere.
    log2_approx_f32 = "lg2.approx.f32", f32::log2;
    /// The sine of radians, within 2⁻²⁰·⁵ for |x| ≤ 2π and within 2⁻¹⁴·⁷ for |x| ≤ 100π: an
    /// absolute error, so that little is right of the sine of a small angle.
    sin_approx_f32 = "sin.approx.f32", f32::sin;
    /// The cosine of radians, within 2⁻²⁰·⁵ for |x| ≤ 2π and within 2⁻¹⁴·⁷ for |x| ≤ 100π.
    cos_approx_f32 = "cos.approx.f32", f32::cos;
}

//! Every method of `GpuFloat` and `FloatExt`.

use cuda_std::prelude::*;
use cuda_std::{FloatExt, GpuFloat};

macro_rules! functions {
    ($($f32:ident $f64:ident = |$x:ident, $y:ident, $z:ident| $result:expr;)*) => {$(
        functions!(@one f32 $f32 |$x, $y, $z| $result);
        functions!(@one f64 $f64 |$x, $y, $z| $result);
    )*};
    (@one $type:ident $name:ident |$x:ident, $y:ident, $z:ident| $result:expr) => {
        #[doc = concat!("`", stringify!($result), "` of each triple.")]
        ///
        /// # Safety
        /// `out` is as long as `triples`.
        #[kernel(max_block = 128)]
        pub unsafe fn $name(triples: &[[$type; 3]], out: DeviceSliceMut<[$type; 2]>) {
            for i in thread::grid_stride(triples.len()) {
                let [$x, $y, $z] = triples[i];
                let _ = ($y, $z);
                // SAFETY: below the length.
                unsafe { out.set(i, $result) };
            }
        }
    };
}

/// The result of a function that has no second form.
fn twice<T: Copy>(result: T) -> [T; 2] {
    [result; 2]
}

// No methods, because on the host those of `std` come first. The functions of `float` call the trait's.
functions! {
    floor_f32 floor_f64 = |x, y, z| [GpuFloat::floor(x), GpuFloat::ceil(x)];
    round_f32 round_f64 = |x, y, z| [GpuFloat::round(x), GpuFloat::trunc(x)];
    fract_f32 fract_f64 = |x, y, z| [GpuFloat::fract(x), GpuFloat::abs(x)];
    signum_f32 signum_f64 = |x, y, z| [GpuFloat::signum(x), GpuFloat::copysign(x, y)];
    mul_add_f32 mul_add_f64 = |x, y, z| [GpuFloat::mul_add(x, y, z), GpuFloat::sqrt(x)];
    euclid_f32 euclid_f64 = |x, y, z| [GpuFloat::div_euclid(x, y), GpuFloat::rem_euclid(x, y)];
    powi_f32 powi_f64 = |x, y, z| twice(float::powi(x, y as i32));
    powf_f32 powf_f64 = |x, y, z| twice(float::powf(x, y));
    exp_f32 exp_f64 = |x, y, z| twice(float::exp(x));
    exp2_f32 exp2_f64 = |x, y, z| twice(float::exp2(x));
    ln_f32 ln_f64 = |x, y, z| twice(float::ln(x));
    log_f32 log_f64 = |x, y, z| twice(float::log(x, y));
    log2_f32 log2_f64 = |x, y, z| twice(float::log2(x));
    log10_f32 log10_f64 = |x, y, z| twice(float::log10(x));
    cbrt_f32 cbrt_f64 = |x, y, z| twice(float::cbrt(x));
    hypot_f32 hypot_f64 = |x, y, z| twice(float::hypot(x, y));
    sin_f32 sin_f64 = |x, y, z| [float::sin(x), float::sin_cos(x).0];
    cos_f32 cos_f64 = |x, y, z| [float::cos(x), float::sin_cos(x).1];
    tan_f32 tan_f64 = |x, y, z| twice(float::tan(x));
    asin_f32 asin_f64 = |x, y, z| twice(float::asin(x));
    acos_f32 acos_f64 = |x, y, z| twice(float::acos(x));
    atan_f32 atan_f64 = |x, y, z| twice(float::atan(x));
    atan2_f32 atan2_f64 = |x, y, z| twice(float::atan2(x, y));
    exp_m1_f32 exp_m1_f64 = |x, y, z| twice(float::exp_m1(x));
    ln_1p_f32 ln_1p_f64 = |x, y, z| [float::ln_1p(x), FloatExt::log1p(x)];
    sinh_f32 sinh_f64 = |x, y, z| twice(float::sinh(x));
    cosh_f32 cosh_f64 = |x, y, z| twice(float::cosh(x));
    tanh_f32 tanh_f64 = |x, y, z| twice(float::tanh(x));
    asinh_f32 asinh_f64 = |x, y, z| twice(float::asinh(x));
    acosh_f32 acosh_f64 = |x, y, z| twice(float::acosh(x));
    atanh_f32 atanh_f64 = |x, y, z| twice(float::atanh(x));
    sinpi_f32 sinpi_f64 = |x, y, z| [FloatExt::sinpi(x), FloatExt::sincospi(x).0];
    cospi_f32 cospi_f64 = |x, y, z| [FloatExt::cospi(x), FloatExt::sincospi(x).1];
    erf_f32 erf_f64 = |x, y, z| twice(FloatExt::error_function(x));
    erfc_f32 erfc_f64 = |x, y, z| twice(FloatExt::complementary_error_function(x));
    erfc_inv_f32 erfc_inv_f64 = |x, y, z| twice(FloatExt::inv_complementary_error_function(x));
    erfcx_f32 erfcx_f64 = |x, y, z| twice(FloatExt::scaled_complementary_error_function(x));
    norm_cdf_f32 norm_cdf_f64 = |x, y, z| twice(FloatExt::norm_cdf(x));
    norm_cdf_inv_f32 norm_cdf_inv_f64 = |x, y, z| twice(FloatExt::inv_norm_cdf(x));
    rcbrt_f32 rcbrt_f64 = |x, y, z| twice(FloatExt::rcbrt(x));
    gamma_f32 gamma_f64 = |x, y, z| twice(FloatExt::gamma(x));
    log_gamma_f32 log_gamma_f64 = |x, y, z| twice(FloatExt::log_gamma(x));
    j0_f32 j0_f64 = |x, y, z| twice(FloatExt::j0(x));
    j1_f32 j1_f64 = |x, y, z| twice(FloatExt::j1(x));
    jn_f32 jn_f64 = |x, y, z| twice(FloatExt::jn(x, y as i32));
    y0_f32 y0_f64 = |x, y, z| twice(FloatExt::y0(x));
    y1_f32 y1_f64 = |x, y, z| twice(FloatExt::y1(x));
    yn_f32 yn_f64 = |x, y, z| twice(FloatExt::yn(x, y as i32));
    frexp_f32 frexp_f64 = |x, y, z| [FloatExt::frexp(x).0, FloatExt::frexp(x).1 as _];
    ldexp_f32 ldexp_f64 = |x, y, z| [FloatExt::ldexp(x, y as i32), FloatExt::scale_by_n(x, y as i32)];
    unbiased_exp_f32 unbiased_exp_f64 = |x, y, z| [FloatExt::unbiased_exp(x) as _, FloatExt::saturate(x)];
}

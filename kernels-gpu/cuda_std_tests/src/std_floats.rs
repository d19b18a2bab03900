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

// The trait is named, because on the host the methods of `std` come first.
functions! {
    floor_f32 floor_f64 = |x, y, z| [GpuFloat::floor(x), GpuFloat::ceil(x)];
    round_f32 round_f64 = |x, y, z| [GpuFloat::round(x), GpuFloat::trunc(x)];
    fract_f32 fract_f64 = |x, y, z| [GpuFloat::fract(x), GpuFloat::abs(x)];
    signum_f32 signum_f64 = |x, y, z| [GpuFloat::signum(x), GpuFloat::copysign(x, y)];
    mul_add_f32 mul_add_f64 = |x, y, z| [GpuFloat::mul_add(x, y, z), GpuFloat::sqrt(x)];
    euclid_f32 euclid_f64 = |x, y, z| [GpuFloat::div_euclid(x, y), GpuFloat::rem_euclid(x, y)];
    powi_f32 powi_f64 = |x, y, z| [GpuFloat::powi(x, y as i32), 0.0];
    powf_f32 powf_f64 = |x, y, z| [GpuFloat::powf(x, y), 0.0];
    exp_f32 exp_f64 = |x, y, z| [GpuFloat::exp(x), 0.0];
    exp2_f32 exp2_f64 = |x, y, z| [GpuFloat::exp2(x), 0.0];
    ln_f32 ln_f64 = |x, y, z| [GpuFloat::ln(x), 0.0];
    log_f32 log_f64 = |x, y, z| [GpuFloat::log(x, y), 0.0];
    log2_f32 log2_f64 = |x, y, z| [GpuFloat::log2(x), 0.0];
    log10_f32 log10_f64 = |x, y, z| [GpuFloat::log10(x), 0.0];
    cbrt_f32 cbrt_f64 = |x, y, z| [GpuFloat::cbrt(x), 0.0];
    hypot_f32 hypot_f64 = |x, y, z| [GpuFloat::hypot(x, y), 0.0];
    sin_f32 sin_f64 = |x, y, z| [GpuFloat::sin(x), GpuFloat::sin_cos(x).0];
    cos_f32 cos_f64 = |x, y, z| [GpuFloat::cos(x), GpuFloat::sin_cos(x).1];
    tan_f32 tan_f64 = |x, y, z| [GpuFloat::tan(x), 0.0];
    asin_f32 asin_f64 = |x, y, z| [GpuFloat::asin(x), 0.0];
    acos_f32 acos_f64 = |x, y, z| [GpuFloat::acos(x), 0.0];
    atan_f32 atan_f64 = |x, y, z| [GpuFloat::atan(x), 0.0];
    atan2_f32 atan2_f64 = |x, y, z| [GpuFloat::atan2(x, y), 0.0];
    exp_m1_f32 exp_m1_f64 = |x, y, z| [GpuFloat::exp_m1(x), 0.0];
    ln_1p_f32 ln_1p_f64 = |x, y, z| [GpuFloat::ln_1p(x), FloatExt::log1p(x)];
    sinh_f32 sinh_f64 = |x, y, z| [GpuFloat::sinh(x), 0.0];
    cosh_f32 cosh_f64 = |x, y, z| [GpuFloat::cosh(x), 0.0];
    tanh_f32 tanh_f64 = |x, y, z| [GpuFloat::tanh(x), 0.0];
    asinh_f32 asinh_f64 = |x, y, z| [GpuFloat::asinh(x), 0.0];
    acosh_f32 acosh_f64 = |x, y, z| [GpuFloat::acosh(x), 0.0];
    atanh_f32 atanh_f64 = |x, y, z| [GpuFloat::atanh(x), 0.0];
    sinpi_f32 sinpi_f64 = |x, y, z| [FloatExt::sinpi(x), FloatExt::sincospi(x).0];
    cospi_f32 cospi_f64 = |x, y, z| [FloatExt::cospi(x), FloatExt::sincospi(x).1];
    erf_f32 erf_f64 = |x, y, z| [FloatExt::error_function(x), 0.0];
    erfc_f32 erfc_f64 = |x, y, z| [FloatExt::complementary_error_function(x), 0.0];
    erfc_inv_f32 erfc_inv_f64 = |x, y, z| [FloatExt::inv_complementary_error_function(x), 0.0];
    erfcx_f32 erfcx_f64 = |x, y, z| [FloatExt::scaled_complementary_error_function(x), 0.0];
    norm_cdf_f32 norm_cdf_f64 = |x, y, z| [FloatExt::norm_cdf(x), 0.0];
    norm_cdf_inv_f32 norm_cdf_inv_f64 = |x, y, z| [FloatExt::inv_norm_cdf(x), 0.0];
    rcbrt_f32 rcbrt_f64 = |x, y, z| [FloatExt::rcbrt(x), 0.0];
    gamma_f32 gamma_f64 = |x, y, z| [FloatExt::gamma(x), 0.0];
    log_gamma_f32 log_gamma_f64 = |x, y, z| [FloatExt::log_gamma(x), 0.0];
    j0_f32 j0_f64 = |x, y, z| [FloatExt::j0(x), 0.0];
    j1_f32 j1_f64 = |x, y, z| [FloatExt::j1(x), 0.0];
    jn_f32 jn_f64 = |x, y, z| [FloatExt::jn(x, y as i32), 0.0];
    y0_f32 y0_f64 = |x, y, z| [FloatExt::y0(x), 0.0];
    y1_f32 y1_f64 = |x, y, z| [FloatExt::y1(x), 0.0];
    yn_f32 yn_f64 = |x, y, z| [FloatExt::yn(x, y as i32), 0.0];
    frexp_f32 frexp_f64 = |x, y, z| [FloatExt::frexp(x).0, FloatExt::frexp(x).1 as _];
    ldexp_f32 ldexp_f64 = |x, y, z| [FloatExt::ldexp(x, y as i32), FloatExt::scale_by_n(x, y as i32)];
    unbiased_exp_f32 unbiased_exp_f64 = |x, y, z| [FloatExt::unbiased_exp(x) as _, FloatExt::saturate(x)];
}

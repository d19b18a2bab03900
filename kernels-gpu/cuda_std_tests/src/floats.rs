//! Float functions.

use cuda_std::prelude::*;

macro_rules! exact {
    ($($name:ident, $type:ty, $fma:ident, $sqrt:ident, $floor:ident, $ceil:ident, $trunc:ident, $round:ident;)*) => {$(
        #[doc = concat!("What is exact in `", stringify!($type), "`: fma(a, b, c), √a, ⌊a⌋, ⌈a⌉, trunc, round, then a·b + c with two roundings and a / b.")]
        ///
        /// # Safety
        /// `operands` and `out` have an element per thread.
        #[kernel(max_block = 128)]
        pub unsafe fn $name(operands: DeviceSlice<[$type; 3]>, out: DeviceSliceMut<[$type; 8]>) {
            let i = thread::global_index();
            // SAFETY: an element per thread.
            unsafe {
                let [a, b, c] = operands.at(i);
                let results = [
                    float::$fma(a, b, c),
                    float::$sqrt(a),
                    float::$floor(a),
                    float::$ceil(a),
                    float::$trunc(a),
                    float::$round(a),
                    a * b + c,
                    a / b,
                ];
                out.set(i, results);
            }
        }
    )*};
}

exact! {
    exact_f32, f32, fma_f32, sqrt_f32, floor_f32, ceil_f32, trunc_f32, round_ties_even_f32;
    exact_f64, f64, fma_f64, sqrt_f64, floor_f64, ceil_f64, trunc_f64, round_ties_even_f64;
}

/// What is approximate: 1 / √x, 2ˣ, log₂ x, sin x, cos x.
///
/// # Safety
/// `input` and `out` have an element per thread.
#[kernel(max_block = 128)]
pub unsafe fn approximate(input: DeviceSlice<f32>, out: DeviceSliceMut<[f32; 5]>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe {
        let x = input.at(i);
        let results = [
            float::rsqrt_approx_f32(x),
            float::exp2_approx_f32(x),
            float::log2_approx_f32(x),
            float::sin_approx_f32(x),
            float::cos_approx_f32(x),
        ];
        out.set(i, results);
    }
}

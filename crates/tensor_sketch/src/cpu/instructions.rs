//! The instruction sets, and the complex arithmetic of the inner loop in each of them.
//!
//! The inner loop has thousands of operations, one after the other. They are written in the
//! vectors of the processor, since the compiler takes several times as long to optimise wrappers
//! of them.

use bytemuck::Pod;
use pulp::{Arch, Scalar};

/// A set of vector instructions. A value of such a type proves that the machine has them.
pub trait Instructions: Copy {
    /// A vector of `f32`.
    type F32: Register<Self>;
    /// A vector of `f64`.
    type F64: Register<Self>;
    /// The number of vector registers, or 0 if numbers are computed one by one.
    const REGISTERS: usize;

    /// Calls a function that is compiled with these instructions if it is inlined.
    fn call<R>(self, function: impl FnOnce() -> R) -> R;
}

/// A vector in the instruction set `S`. Pairs of vectors are numbers x + yz in each lane.
pub trait Register<S>: Pod {
    /// Adds a number to a sum.
    fn add(simd: S, sum: &mut [Self; 2], number: &[Self; 2]);

    /// Adds a product to a sum, with one or two roundings. `squares` has z² in each lane if
    /// `SQUARES`; otherwise z² = −1.
    fn add_product<const SQUARES: bool>(
        simd: S,
        sum: &mut [Self; 2],
        factor: &[Self; 2],
        other: &[Self; 2],
        squares: &Self,
    );
}

/// Work that is compiled for each instruction set.
pub trait Task {
    type Output;

    fn run<S: Instructions>(self, simd: S) -> Self::Output;
}

/// Does work with the instructions of `arch`.
pub fn dispatch<K: Task>(arch: Arch, task: K) -> K::Output {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.call(
            #[inline(always)]
            || task.run(simd),
        ),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.call(
            #[inline(always)]
            || task.run(simd),
        ),
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(simd) => simd.call(
            #[inline(always)]
            || task.run(simd),
        ),
        _ => task.run(Scalar),
    }
}

macro_rules! instructions {
    ($set:ty, $registers:literal registers, $f32:ty, $f64:ty) => {
        impl Instructions for $set {
            type F32 = $f32;
            type F64 = $f64;
            const REGISTERS: usize = $registers;

            #[inline(always)]
            fn call<R>(self, function: impl FnOnce() -> R) -> R {
                self.vectorize(function)
            }
        }
    };
}

/// Implements [`Register`] with functions for a + b, a·b, a·b + c and c − a·b.
macro_rules! register {
    ($set:ty, $features:tt, $vector:ty: $add:path, $mul:path, $mul_add:path, $mul_sub_from:path) => {
        impl Register<$set> for $vector {
            #[inline(always)]
            fn add(_: $set, sum: &mut [Self; 2], number: &[Self; 2]) {
                #[inline]
                #[target_feature(enable = $features)]
                fn add([x, y]: &mut [$vector; 2], [u, v]: &[$vector; 2]) {
                    *x = $add(*x, *u);
                    *y = $add(*y, *v);
                }
                // SAFETY: the machine has the instructions, as the first argument proves.
                unsafe { add(sum, number) }
            }

            #[inline(always)]
            fn add_product<const SQUARES: bool>(
                _: $set,
                sum: &mut [Self; 2],
                factor: &[Self; 2],
                other: &[Self; 2],
                squares: &Self,
            ) {
                #[inline]
                #[target_feature(enable = $features)]
                fn add_product<const SQUARES: bool>(
                    sum: &mut [$vector; 2],
                    factor: &[$vector; 2],
                    other: &[$vector; 2],
                    squares: &$vector,
                ) {
                    // (x + yz)(u + vz) = xu + yvz² + (xv + yu)z
                    let [real, imaginary] = *sum;
                    let [x, y] = *factor;
                    let [u, v] = *other;
                    let real = $mul_add(x, u, real);
                    let real = if const { SQUARES } {
                        $mul_add($mul(y, *squares), v, real)
                    } else {
                        $mul_sub_from(y, v, real)
                    };
                    let imaginary = $mul_add(x, v, imaginary);
                    *sum = [real, $mul_add(y, u, imaginary)];
                }
                // SAFETY: the machine has the instructions, as the first argument proves.
                unsafe { add_product::<SQUARES>(sum, factor, other, squares) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use pulp::x86::{V3, V4};

    use super::{Instructions, Register};

    instructions!(V3, 16 registers, __m256, __m256d);
    register!(V3, "avx,fma", __m256: _mm256_add_ps, _mm256_mul_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps);
    register!(V3, "avx,fma", __m256d: _mm256_add_pd, _mm256_mul_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd);

    instructions!(V4, 32 registers, __m512, __m512d);
    register!(V4, "avx512f", __m512: _mm512_add_ps, _mm512_mul_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps);
    register!(V4, "avx512f", __m512d: _mm512_add_pd, _mm512_mul_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd);
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::arch::aarch64::*;

    use pulp::aarch64::Neon;

    use super::{Instructions, Register};

    /// The sum comes first in the instructions.
    macro_rules! products {
        ($($name:ident: $vector:ty = $instruction:ident;)*) => {$(
            #[inline]
            #[target_feature(enable = "neon")]
            fn $name(a: $vector, b: $vector, c: $vector) -> $vector {
                $instruction(c, a, b)
            }
        )*};
    }
    products! {
        mul_add_f32: float32x4_t = vfmaq_f32;
        mul_sub_from_f32: float32x4_t = vfmsq_f32;
        mul_add_f64: float64x2_t = vfmaq_f64;
        mul_sub_from_f64: float64x2_t = vfmsq_f64;
    }

    instructions!(Neon, 32 registers, float32x4_t, float64x2_t);
    register!(Neon, "neon", float32x4_t: vaddq_f32, vmulq_f32, mul_add_f32, mul_sub_from_f32);
    register!(Neon, "neon", float64x2_t: vaddq_f64, vmulq_f64, mul_add_f64, mul_sub_from_f64);
}

/// Without fused operations, which are slow if the processor does not have them.
macro_rules! scalars {
    ($($type:ty)*) => {$(
        impl Register<Scalar> for $type {
            fn add(_: Scalar, [x, y]: &mut [Self; 2], [u, v]: &[Self; 2]) {
                *x += u;
                *y += v;
            }

            fn add_product<const SQUARES: bool>(
                _: Scalar,
                [real, imaginary]: &mut [Self; 2],
                [x, y]: &[Self; 2],
                [u, v]: &[Self; 2],
                squares: &Self,
            ) {
                let square = if const { SQUARES } { *squares } else { -1.0 };
                *real += x * u;
                *real += y * square * v;
                *imaginary += x * v;
                *imaginary += y * u;
            }
        }
    )*};
}
scalars! { f32 f64 }

impl Instructions for Scalar {
    type F32 = f32;
    type F64 = f64;
    const REGISTERS: usize = 0;

    fn call<R>(self, function: impl FnOnce() -> R) -> R {
        function()
    }
}

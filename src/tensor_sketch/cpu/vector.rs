//! Vectors of `f32` or `f64`, as wide as the machine has them.

use bytemuck::Pod;
use pulp::Simd;

use crate::Real;

/// A type of numbers of which there are vectors.
pub trait Vector: Real {
    /// A vector in the instruction set `S`.
    type Of<S: Simd>: Pod;

    /// a + b.
    fn add<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S>;
    /// a·b.
    fn mul<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S>;
    /// a·b + c, in one rounding or in two.
    fn mul_add<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>, c: Self::Of<S>) -> Self::Of<S>;
    /// c − a·b, in one rounding or in two.
    fn mul_sub_from<S: Simd>(
        simd: S,
        a: Self::Of<S>,
        b: Self::Of<S>,
        c: Self::Of<S>,
    ) -> Self::Of<S>;
}

/// The number of `T` in a vector.
pub(super) const fn lanes_of<T: Vector, S: Simd>() -> usize {
    size_of::<T::Of<S>>() / size_of::<T>()
}

macro_rules! vectors {
    ($type:ty, $vector:ident, $add:ident, $mul:ident, $mul_add:ident, $mul_sub_from:ident) => {
        impl Vector for $type {
            type Of<S: Simd> = S::$vector;

            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn mul<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }

            #[inline(always)]
            fn mul_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$mul_add(a, b, c)
            }

            #[inline(always)]
            fn mul_sub_from<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$mul_sub_from(a, b, c)
            }
        }
    };
}

vectors!(
    f32,
    f32s,
    add_f32s,
    mul_f32s,
    mul_add_e_f32s,
    negate_mul_add_e_f32s
);
vectors!(
    f64,
    f64s,
    add_f64s,
    mul_f64s,
    mul_add_e_f64s,
    negate_mul_add_e_f64s
);

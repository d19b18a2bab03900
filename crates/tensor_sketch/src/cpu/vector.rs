//! Vectors of `f32` or `f64`, as wide as the machine has them, and aligned memory for them.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use gridstride_runtime::device::{copied, zeroed_lazily};
use gridstride_runtime::{Real, Result};
use ndarray::ArrayViewMut2;
use pulp::Simd;

/// Sequences, and the views that receive their rows, (number of rows)×D each.
pub type Jobs<'a, T> = Vec<(&'a [u8], ArrayViewMut2<'a, T>)>;

/// A type of numbers that has vectors.
pub trait Vector: Real {
    /// A vector in the instruction set `S`.
    type Of<S: Simd>: Pod;

    /// Returns a + b.
    fn add<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S>;
    /// Returns a·b.
    fn mul<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S>;
    /// Returns a·b + c, with one or two roundings.
    fn mul_add<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>, c: Self::Of<S>) -> Self::Of<S>;
    /// Returns c − a·b, with one or two roundings.
    fn mul_sub_from<S: Simd>(
        simd: S,
        a: Self::Of<S>,
        b: Self::Of<S>,
        c: Self::Of<S>,
    ) -> Self::Of<S>;
}

macro_rules! vectors {
    ($type:ty, $vector:ident: $($operation:ident($($x:ident)*) = $of_simd:ident;)*) => {
        impl Vector for $type {
            type Of<S: Simd> = S::$vector;

            $(
                #[inline(always)]
                fn $operation<S: Simd>(simd: S, $($x: S::$vector),*) -> S::$vector {
                    simd.$of_simd($($x),*)
                }
            )*
        }
    };
}

vectors! {
    f32, f32s:
    add(a b) = add_f32s;
    mul(a b) = mul_f32s;
    mul_add(a b c) = mul_add_e_f32s;
    mul_sub_from(a b c) = negate_mul_add_e_f32s;
}
vectors! {
    f64, f64s:
    add(a b) = add_f64s;
    mul(a b) = mul_f64s;
    mul_add(a b c) = mul_add_e_f64s;
    mul_sub_from(a b c) = negate_mul_add_e_f64s;
}

/// The number of `T` in a vector.
pub(super) const fn lanes_of<T: Vector, S: Simd>() -> usize {
    size_of::<T::Of<S>>() / size_of::<T>()
}

/// Numbers that start at a cache line, so that no vector spans two lines.
pub(super) struct Aligned<T> {
    lines: Vec<Line>,
    length: usize,
    element: PhantomData<T>,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl<T: Pod> Aligned<T> {
    pub fn zeros(length: usize) -> Result<Aligned<T>> {
        let lines = (length * size_of::<T>()).div_ceil(size_of::<Line>());
        Ok(Aligned {
            lines: zeroed_lazily(lines)?,
            length,
            element: PhantomData,
        })
    }

    pub fn try_clone(&self) -> Result<Aligned<T>> {
        Ok(Aligned {
            lines: copied(&self.lines)?,
            ..*self
        })
    }

    pub fn get(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.length]
    }

    pub fn get_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.length]
    }
}

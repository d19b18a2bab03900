//! Vectors of `f32` or `f64`, as wide as the machine has them, and aligned memory for them.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use gridstride_runtime::device::{copied, zeroed_lazily};
use gridstride_runtime::{Real, Result};
use ndarray::ArrayViewMut2;

use super::instructions::{Instructions, Register};

/// Sequences, and the views that receive their rows, (number of rows)×D each.
pub type Jobs<'a, T> = Vec<(&'a [u8], ArrayViewMut2<'a, T>)>;

/// A type of numbers that has vectors.
pub trait Vector: Real {
    /// A vector in the instruction set `S`.
    type Of<S: Instructions>: Register<S>;
}

impl Vector for f32 {
    type Of<S: Instructions> = S::F32;
}

impl Vector for f64 {
    type Of<S: Instructions> = S::F64;
}

/// The number of `T` in a vector.
pub(super) const fn lanes_of<T: Vector, S: Instructions>() -> usize {
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

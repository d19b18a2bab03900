//! Memory for vectors.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use crate::Result;
use crate::device::{copied, zeroed_lazily};

/// Numbers that begin where a cache line does, so that no vector lies in two.
pub(super) struct Aligned<T> {
    lines: Vec<Line>,
    length: usize,
    element: PhantomData<T>,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl<T: Pod> Aligned<T> {
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
    pub fn zeros(length: usize) -> Result<Aligned<T>> {
        let lines = (length * size_of::<T>()).div_ceil(size_of::<Line>());
        Ok(Aligned {
            lines: zeroed_lazily(lines)?,
            length,
            element: PhantomData,
        })
    }

    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
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

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for Aligned<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

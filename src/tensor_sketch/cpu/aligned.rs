//! Memory for vectors.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

/// Numbers that begin where a cache line does, so that no vector lies in two.
#[derive(Clone)]
pub(super) struct Aligned<T> {
    lines: Vec<Line>,
    length: usize,
    element: PhantomData<T>,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl<T: Pod> Aligned<T> {
    pub fn zeros(length: usize) -> Aligned<T> {
        Aligned {
            lines: vec![Line::zeroed(); (length * size_of::<T>()).div_ceil(size_of::<Line>())],
            length,
            element: PhantomData,
        }
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

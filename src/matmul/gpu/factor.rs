//! A and B as kernels take them.

use cuda_std::DeviceSlice;
use matmul_kernels::{Factor, Pattern};
use ndarray::{ArrayView3, s};

use super::kernels::HasKernels;
use crate::device::{Buffer, Element, packed};
use crate::matmul::input::DeviceMatrices;
use crate::{Device, Result};

/// Which factor of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// A, whose rows are its outer indices.
    Left,
    /// B, whose columns are its outer indices.
    Right,
}

/// The matrices in the order of axes in which they fill their memory, if they do.
pub(super) struct OnDevice<T: Element> {
    elements: Buffer<T>,
    shape: [usize; 3],
    strides: [usize; 3],
}

impl<T: Element> OnDevice<T> {
    /// Copies matrices to a device: as they stand if they fill their memory, whatever the order of their axes,
    /// else packed; once if all of the batch are the same one.
    pub(super) fn upload(device: &Device, view: ArrayView3<T>) -> Result<Self> {
        let view = match view.strides()[0] {
            0 if view.dim().0 > 1 => view.slice_move(s![..1, .., ..]),
            _ => view,
        };
        let is_forward = (view.shape().iter().zip(view.strides()))
            .all(|(&length, &stride)| length < 2 || stride > 0);
        if let Some(elements) = view.as_slice_memory_order()
            && is_forward
        {
            let strides = [0, 1, 2].map(|axis| match view.shape()[axis] {
                // Never used, and ndarray lets it be anything.
                0 | 1 => 0,
                _ => view.strides()[axis] as usize,
            });
            return Ok(OnDevice {
                elements: device.buffer_from(elements)?,
                shape: view.dim().into(),
                strides,
            });
        }
        let (batch, rows, columns) = view.dim();
        Ok(OnDevice {
            elements: device.buffer_from(&packed(&view)?)?,
            shape: [batch, rows, columns],
            strides: [rows * columns, columns, 1],
        })
    }

    /// The matrices.
    pub(super) fn matrices(&self) -> DeviceMatrices<'_, T> {
        DeviceMatrices {
            elements: &self.elements,
            start: 0,
            shape: self.shape,
            strides: self.strides,
        }
    }
}

/// The matrices as a factor on that side.
pub(super) fn factor<T: HasKernels>(matrices: &DeviceMatrices<T>, side: Side) -> Factor<T::Bits> {
    let [batch, rows, columns] = matrices.strides.map(|stride| stride as i64);
    let [count, row_count, column_count] = matrices.shape;
    // A row or column that is alone has no neighbour: what its distance would be is free.
    let (mut stride, mut stride_k) = match side {
        Side::Left => (rows, columns),
        Side::Right => (columns, rows),
    };
    let (outer, k) = match side {
        Side::Left => (row_count, column_count),
        Side::Right => (column_count, row_count),
    };
    if k == 1 {
        stride_k = 1.max(stride * outer as i64);
    }
    if outer == 1 {
        stride = 1.max(stride_k * k as i64);
    }
    recast(Factor {
        elements: matrices.elements.slice(),
        start: matrices.start as i64,
        stride,
        stride_k,
        stride_batch: if count == 1 { 0 } else { batch },
    })
}

/// Returns the same factor with another type standing for its elements.
pub(super) fn recast<T: Element, U: Element>(factor: Factor<T>) -> Factor<U> {
    assert_eq!(size_of::<T>(), size_of::<U>(), "the same elements");
    let elements = factor.elements;
    // SAFETY: the same memory, of a type of the same size that takes every pattern of bits.
    let elements = unsafe { DeviceSlice::from_raw_parts(elements.as_ptr().cast(), elements.len()) };
    Factor {
        elements,
        start: factor.start,
        stride: factor.stride,
        stride_k: factor.stride_k,
        stride_batch: factor.stride_batch,
    }
}

/// Whether a kernel that reads by this pattern can read the factor, of so many outer indices and k.
pub(super) fn fits<B>(factor: &Factor<B>, outer: usize, k: usize, pattern: Pattern) -> bool {
    let piece = 16 / size_of::<B>() as i64;
    let is_aligned = |distance: i64| distance % piece == 0;
    let batches_fit = is_aligned(factor.start) && is_aligned(factor.stride_batch);
    match pattern {
        Pattern::Elements => true,
        Pattern::ElementsOfK => factor.stride_k == 1,
        Pattern::PiecesOfK => {
            factor.stride_k == 1 && is_aligned(factor.stride) && is_aligned(k as i64) && batches_fit
        }
        Pattern::PiecesAcross => {
            factor.stride == 1
                && is_aligned(factor.stride_k)
                && is_aligned(outer as i64)
                && batches_fit
        }
    }
}

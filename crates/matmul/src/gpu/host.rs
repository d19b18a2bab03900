//! Products of host arrays: their copies to a device and back.

use std::ops::Range;

use gridstride_runtime::device::{Buffer, Element, assign, packed};
use gridstride_runtime::{Device, Result};
use ndarray::{ArrayView3, s};
use num_traits::Zero;

use super::kernels::{HasKernels, OutputOf};
use super::run;
use crate::element::HostProduct;
use crate::input::{DeviceMatrices, DeviceProduct, Sizes};
use crate::options::MatMul;

/// Computes a partition of a product of host arrays, with the kernel for the `whole` product. Copies
/// and kernels run one after the other.
pub fn host<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    device: &Device,
    whole: Sizes,
    product: HostProduct<T, C>,
) -> Result<()> {
    let sizes = product.sizes();
    let (beta, mut c) = (product.beta, product.c);
    let a = OnDevice::upload(device, product.a)?;
    let b = OnDevice::upload(device, product.b)?;
    let mut result = match beta.is_zero() {
        true => device.alloc(c.len())?,
        false => device.upload(&c)?.into_buffer(),
    };
    let on_device = DeviceProduct {
        operation: product.operation,
        device,
        alpha: product.alpha,
        a: a.matrices(),
        b: b.matrices(),
        beta,
        c: &mut result,
        start_of_c: 0,
        sizes,
    };
    run(options, on_device, whole)?;
    match c.as_slice_mut() {
        Some(c) => result.copy_to(c),
        None => {
            let result = result.to_vec()?;
            let result = ArrayView3::from_shape(c.dim(), &result).expect("the shape of C");
            assign(c, &result);
            Ok(())
        }
    }
}

/// A copy of host matrices on a device.
pub(super) struct OnDevice<T: Element> {
    elements: Buffer<T>,
    shape: [usize; 3],
    strides: [usize; 3],
}

impl<T: Element> OnDevice<T> {
    /// Copies matrices to a device: as they are if they have no gaps, whatever the order of their
    /// axes, else packed. A batch of equal matrices is copied once.
    pub(super) fn upload(device: &Device, view: ArrayView3<T>) -> Result<Self> {
        let view = match view.strides()[0] {
            0 if view.dim().0 > 1 => view.slice_move(s![..1, .., ..]),
            _ => view,
        };
        let (elements, strides) = match without_gaps(&view) {
            Some((elements, strides)) => (device.buffer_from(elements)?, strides),
            None => {
                let (_, rows, columns) = view.dim();
                let strides = [rows * columns, columns, 1];
                (device.buffer_from(&packed(&view)?)?, strides)
            }
        };
        Ok(OnDevice {
            elements,
            shape: view.dim().into(),
            strides,
        })
    }

    /// Allocates memory for matrices that [`without_gaps`] gives the strides of.
    pub(super) fn allocate(
        device: &Device,
        view: &ArrayView3<T>,
        strides: [usize; 3],
    ) -> Result<Self> {
        Ok(OnDevice {
            elements: device.alloc(view.len())?,
            shape: view.dim().into(),
            strides,
        })
    }

    /// Starts a copy of the host's elements of some rows, which have no gaps, on the stream of `on`.
    ///
    /// # Safety
    /// As of [`Buffer::start_copy_from`].
    pub(super) unsafe fn start_copy_of_rows(
        &mut self,
        on: &Device,
        rows: &Range<usize>,
        elements: &[T],
    ) -> Result<()> {
        let stride = self.strides[1];
        let (first, end) = (rows.start * stride, rows.end * stride);
        // SAFETY: the caller keeps the contract of `Buffer::start_copy_from`, of which
        // `elements[first..end]` is the source.
        unsafe { (self.elements).start_copy_from(on, first, &elements[first..end]) }
    }

    /// Starts a copy of all of the host's elements on the stream of `on`.
    ///
    /// # Safety
    /// As of [`Buffer::start_copy_from`].
    pub(super) unsafe fn start_copy_of_all(&mut self, on: &Device, elements: &[T]) -> Result<()> {
        // SAFETY: the caller keeps the contract of `Buffer::start_copy_from`, of which `elements`
        // is the source.
        unsafe { self.elements.start_copy_from(on, 0, elements) }
    }

    /// Returns some rows of each matrix.
    pub(super) fn rows(&self, rows: &Range<usize>) -> DeviceMatrices<'_, T> {
        let [batch, _, columns] = self.shape;
        DeviceMatrices {
            start: rows.start * self.strides[1],
            shape: [batch, rows.len(), columns],
            ..self.matrices()
        }
    }

    pub(super) fn matrices(&self) -> DeviceMatrices<'_, T> {
        DeviceMatrices {
            elements: &self.elements,
            start: 0,
            shape: self.shape,
            strides: self.strides,
        }
    }
}

/// Returns the elements of matrices in the order of the memory, and the strides: those of axes of
/// length 1 are 0, since ndarray lets them be anything. Returns `None` if there are gaps between the
/// elements, or an axis is reversed.
pub(super) fn without_gaps<'a, T>(view: &ArrayView3<'a, T>) -> Option<(&'a [T], [usize; 3])> {
    let axes = || view.shape().iter().zip(view.strides());
    if !axes().all(|(&length, &stride)| length < 2 || stride > 0) {
        return None;
    }
    let strides = [0, 1, 2].map(|axis| match view.shape()[axis] {
        0 | 1 => 0,
        _ => view.strides()[axis] as usize,
    });
    Some((view.to_slice_memory_order()?, strides))
}

//! A and B as kernels take them.

use std::ops::Range;

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::device::{Buffer, Element, LaunchConfig, packed};
use gridstride_runtime::{Device, Result};
use matmul_kernels::{Factor, PACK_THREADS, Packing, Pattern, pack_blocks};
use ndarray::{ArrayView3, s};

use super::kernels::HasKernels;
use crate::input::DeviceMatrices;
use crate::module::MODULE;

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

/// Returns the matrices as a factor, with the given axes as outer indices and as k.
pub(super) fn factor<T: HasKernels>(
    matrices: &DeviceMatrices<T>,
    [outer, k]: [usize; 2],
) -> Factor<T::Bits> {
    let strides = matrices.strides.map(|stride| stride as i64);
    let (mut stride, mut stride_k) = (strides[outer], strides[k]);
    let lengths = matrices.shape.map(|length| length as i64);
    // The stride of a single row or column is never used: take one that fits most kernels.
    if lengths[k] == 1 {
        stride_k = 1.max(stride * lengths[outer]);
    }
    if lengths[outer] == 1 {
        stride = 1.max(stride_k * lengths[k]);
    }
    recast(Factor {
        elements: matrices.elements.slice(),
        start: matrices.start as i64,
        stride,
        stride_k,
        stride_batch: if lengths[0] == 1 { 0 } else { strides[0] },
    })
}

/// Returns the same factor with elements of another type of the same size.
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

/// Whether `length` elements fill 16 bytes, or a multiple of 16 bytes.
pub(super) fn is_aligned<T>(length: i64) -> bool {
    length % (16 / size_of::<T>() as i64) == 0
}

/// Whether a kernel with this pattern can read the factor, of `outer` outer indices and k.
pub(super) fn fits<T>(factor: &Factor<T>, outer: usize, k: usize, pattern: Pattern) -> bool {
    let are_aligned = |stride: i64, length: usize| {
        [factor.start, factor.stride_batch, stride, length as i64]
            .into_iter()
            .all(is_aligned::<T>)
    };
    match pattern {
        Pattern::Elements => true,
        Pattern::ElementsOfK => factor.stride_k == 1,
        Pattern::PiecesOfK => factor.stride_k == 1 && are_aligned(factor.stride, k),
        Pattern::PiecesAcross => factor.stride == 1 && are_aligned(factor.stride_k, outer),
    }
}

/// The elements to which rows of packed factors are padded: 16 bytes of every type.
pub(super) const ROW_MULTIPLE: usize = 8;

/// Copies the matrices of a factor, with zeros behind each row: `batch`, `outer` indices, and `k`.
/// Returns the copy, as a buffer and as a factor. Elements along k are contiguous in the factor,
/// and its rows begin at multiples of 16 bytes. The kernel takes the elements as `KT` and writes
/// them as `KU`, types of the same sizes and alignments.
///
/// # Safety
/// The factor is in the device's memory.
pub(super) unsafe fn pack<U: Element, T: Element, KT: Element, KU: Element>(
    device: &Device,
    kernel: &'static Kernel<(Packing<KT, KU>,)>,
    from: Factor<T>,
    (batch, outer, k): (usize, usize, usize),
) -> Result<(Buffer<U>, Factor<U>)> {
    const {
        assert!(size_of::<U>() == size_of::<KU>());
    }
    let is_single = from.stride_batch == 0;
    let batch = if is_single { 1 } else { batch };
    let k_padded = k.next_multiple_of(ROW_MULTIPLE);
    let mut copy = device.alloc::<U>(batch * outer * k_padded)?;
    let to = copy.slice_mut();
    // SAFETY: the same memory, as a type of the same size that takes every pattern of bits.
    let to = unsafe { DeviceSliceMut::from_raw_parts(to.as_mut_ptr().cast(), to.len()) };
    let task = Packing {
        from: recast(from),
        to,
        outer: outer as u32,
        k: k as u32,
        k_padded: k_padded as u32,
    };
    let blocks = pack_blocks(outer as u32, k_padded as u32);
    let config = LaunchConfig::new((blocks, 1, batch as u32), PACK_THREADS);
    // SAFETY: a block for each square; the copy has room, and the caller vouches for the factor.
    unsafe { device.launch(&MODULE, kernel, config, (task,))? };
    let matrix = (outer * k_padded) as i64;
    let factor = Factor {
        elements: copy.slice(),
        start: 0,
        stride: k_padded as i64,
        stride_k: 1,
        stride_batch: if is_single { 0 } else { matrix },
    };
    Ok((copy, factor))
}

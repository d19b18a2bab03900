//! A and B as kernels take them.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::device::{Buffer, Element, LaunchConfig};
use gridstride_runtime::{Device, Result};
use matmul_kernels::{Factor, PACK_THREADS, Packing, Pattern, pack_blocks};

use crate::MODULE;

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
    // SAFETY: a block for each square; the copy has room, and by the contract
    // of this function the factor has this shape.
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

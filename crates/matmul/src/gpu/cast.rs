//! Launches of the kernels that convert numbers.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, Element, LaunchConfig};
use matmul_kernels::{CAST_THREADS, cast_block_elements};

use crate::MODULE;

/// Blocks per multiprocessor.
const BLOCKS: usize = 8;

/// Converts the elements by a kernel from the bits `KT` of `T` to the bits `KU` of `U`.
pub fn cast<T: Element, U: Element, KT: Element, KU: Element>(
    from: &Buffer<T>,
    kernel: &'static Kernel<(DeviceSlice<KT>, DeviceSliceMut<KU>)>,
) -> Result<Buffer<U>> {
    const {
        assert!(size_of::<T>() == size_of::<KT>() && size_of::<U>() == size_of::<KU>());
    }
    let device = from.device();
    let mut to = device.alloc::<U>(from.len())?;
    if from.is_empty() {
        return Ok(to);
    }
    let block_elements = cast_block_elements(size_of::<T>().max(size_of::<U>()));
    let blocks = from.len().div_ceil(block_elements);
    let blocks = blocks.min(BLOCKS * device.processors()) as u32;
    let config = LaunchConfig::new(blocks, CAST_THREADS);
    let (source, target) = (from.slice(), to.slice_mut());
    // SAFETY: the same memory, as integers of the same sizes. Both arrays have the same length, are
    // of this device, are aligned to 16 bytes, and are freed after the kernel has run.
    unsafe {
        let arguments = (
            DeviceSlice::from_raw_parts(source.as_ptr().cast::<KT>(), source.len()),
            DeviceSliceMut::from_raw_parts(target.as_mut_ptr().cast::<KU>(), target.len()),
        );
        device.launch(&MODULE, kernel, config, arguments)?;
    }
    Ok(to)
}

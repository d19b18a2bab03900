//! The kernel of `own_kernel`: compiled to PTX for GPUs, and for the host, where the simulator runs
//! it.

#![no_std]

use cuda_std::prelude::*;

/// Computes z = a·x + y, for any launch shape.
///
/// # Safety
/// All slices have the same length.
#[kernel(max_block = 256)]
pub unsafe fn axpy(a: f32, x: DeviceSlice<f32>, y: DeviceSlice<f32>, z: DeviceSliceMut<f32>) {
    for i in thread::grid_stride(z.len()) {
        // SAFETY: below the length, and each element is that of one thread.
        unsafe { z.set(i, a * x.at(i) + y.at(i)) };
    }
}

//! GPU kernels of the pipeline's own operations. `gridstride::pipeline` launches them.
#![no_std]

use cuda_std::prelude::*;

/// Adds two vectors: right for any launch, one block of one thread too.
///
/// # Safety
/// All three are equally long.
#[kernel]
pub unsafe fn add(a: DeviceSlice<i32>, b: DeviceSlice<i32>, sums: DeviceSliceMut<f64>) {
    for i in thread::grid_stride(sums.len()) {
        // SAFETY: below the lengths.
        unsafe { sums.set(i, a.at(i) as f64 + b.at(i) as f64) };
    }
}

//! The sum of two vectors, the smallest kernel that one can divide over streams.

use cuda_std::prelude::*;

/// A grid-stride loop: threads take elements a whole grid apart, so that any launch is right.
/// One block of one thread is too, in which a kernel is easily debugged.
///
/// # Safety
/// All have the length of `out`.
#[kernel]
pub unsafe fn vector_add(a: DeviceSlice<i32>, b: DeviceSlice<i32>, out: DeviceSliceMut<f64>) {
    for i in thread::grid_stride(out.len()) {
        // SAFETY: below the length, and each index belongs to one thread.
        unsafe { out.set(i, a.at(i) as f64 + b.at(i) as f64) };
    }
}

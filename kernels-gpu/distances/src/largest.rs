//! The largest magnitude of an array.

use cuda_std::prelude::*;

use crate::number::Number;

/// Finds the largest magnitude and the first number that is NaN or infinite.
///
/// # Safety
/// `found` has the elements 2 · `number` and 2 · `number` + 1, which other threads access
/// atomically alone. All threads of each warp run.
#[inline(always)]
pub unsafe fn largest<T: Number>(number: u32, values: DeviceSlice<T>, found: DeviceSliceMut<u64>) {
    let mut largest = 0;
    let mut first = u64::MAX;
    for i in thread::grid_stride(values.len()) {
        // SAFETY: below the length.
        let magnitude = unsafe { values.at(i) }.magnitude();
        largest = largest.max(magnitude);
        if magnitude >= T::INFINITE {
            first = first.min(i as u64);
        }
    }
    let largest = warp::reduce_max(largest);
    let first = warp::reduce_min(first);
    if warp::lane_id() == 0 {
        let place = 2 * number as usize;
        // SAFETY: within `found`, and accessed atomically alone.
        unsafe {
            atomic::max(found.address(place), largest);
            if first != u64::MAX {
                // The first index has the largest complement.
                atomic::max(found.address(place + 1), !first);
            }
        }
    }
}

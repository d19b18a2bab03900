//! The sum of two vectors, the smallest kernel that one can divide over streams: the article's,
//! with its grid-stride loop.

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

/// The same with an index in three dimensions, as the article's `index_3d`: the threads of the
/// whole grid are counted along x, then y, then z. Any shape of grid and blocks is right.
///
/// # Safety
/// All have the length of `out`, and the grid has fewer than 2³² threads: their numbers along an
/// axis are products of `u32`.
#[kernel]
pub unsafe fn vector_add_3d(a: DeviceSlice<i32>, b: DeviceSlice<i32>, out: DeviceSliceMut<f64>) {
    let at = thread::index_3d().as_usizevec3();
    let threads = (thread::grid_dim() * thread::block_dim()).as_usizevec3();
    let mut i = (at.z * threads.y + at.y) * threads.x + at.x;
    while i < out.len() {
        // SAFETY: below the length, and each index belongs to one thread.
        unsafe { out.set(i, a.at(i) as f64 + b.at(i) as f64) };
        i += threads.x * threads.y * threads.z;
    }
}

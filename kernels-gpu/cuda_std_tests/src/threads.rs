//! Positions, grid-stride iteration and fences.

use cuda_std::prelude::*;

/// The thread's place in a grid of any shape, counted in [`thread::index_in_block`] within blocks.
fn linear_index() -> usize {
    let (grid_x, grid_y) = (thread::grid_dim_x(), thread::grid_dim_y());
    let block =
        thread::block_idx_x() + grid_x * (thread::block_idx_y() + grid_y * thread::block_idx_z());
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    (block * threads + thread::index_in_block()) as usize
}

/// What each thread knows of its place: thread, block, block size, grid size, each x, y, z; its
/// index in its block; its lane.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn positions(out: DeviceSliceMut<[u32; 14]>) {
    let place = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
        thread::index_in_block(),
        warp::lane_id(),
    ];
    // SAFETY: an element per thread.
    unsafe { out.set(linear_index(), place) };
}

/// The index of each thread of a one-dimensional grid.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn indices_1d(out: DeviceSliceMut<u64>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe { out.set(i, i as u64) };
}

/// The indices of each thread of a two-dimensional grid, `width` threads wide.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn indices_2d(width: usize, out: DeviceSliceMut<[u64; 2]>) {
    let (x, y) = thread::index_2d().as_usizevec2().into();
    // SAFETY: an element per thread.
    unsafe { out.set(y * width + x, [x as u64, y as u64]) };
}

/// Counts the visits of each index, and notes who came.
///
/// # Safety
/// `visitors` is as long as `visits`.
#[kernel]
pub unsafe fn strides(visits: DeviceSliceMut<u32>, visitors: DeviceSliceMut<u64>) {
    for i in thread::grid_stride(visits.len()) {
        // SAFETY: below the length, and the count does not depend on who else comes.
        unsafe {
            atomic::add(visits.address(i), 1);
            visitors.set(i, thread::global_index() as u64);
        }
    }
}

/// The first index of `0..length` that falls to each thread, or the greatest number.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn first_strides(length: usize, out: DeviceSliceMut<u64>) {
    let first = thread::grid_stride(length).next();
    // SAFETY: an element per thread.
    unsafe { out.set(thread::global_index(), first.map_or(u64::MAX, |i| i as u64)) };
}

/// The sum of the first two indices that fall to each thread of all indices that there are.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn endless_strides(out: DeviceSliceMut<u64>) {
    let indices = thread::grid_stride(usize::MAX).map(|i| i as u64);
    // SAFETY: an element per thread.
    unsafe { out.set(thread::global_index(), indices.take(2).sum()) };
}

/// The last block to arrive adds up what all blocks have written: the pattern that fences are for.
///
/// # Safety
/// `parts` has an element more than there are blocks; `arrived` has one, 0.
#[kernel(block = 32)]
pub unsafe fn last_block_sums(parts: DeviceSliceMut<u32>, arrived: DeviceSliceMut<u32>) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    let blocks = thread::grid_dim_x();
    // SAFETY: each block writes its own element; the last to arrive reads them, after the counter
    // and the fences.
    unsafe {
        parts.set(
            thread::block_idx_x() as usize,
            3 * thread::block_idx_x() + 1,
        );
        thread::device_fence();
        if atomic::add(arrived.address(0), 1) == blocks - 1 {
            thread::device_fence();
            let mut sum = 0;
            for block in 0..blocks as usize {
                sum += parts.at(block);
            }
            parts.set(blocks as usize, sum);
        }
    }
}

/// The vectors of a thread's place, by element: thread, block, their dimensions, the place in three
/// and two dimensions, then the numbers that are derived from them.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn vectors(out: DeviceSliceMut<[u32; 22]>) {
    let (plane, space) = (thread::index_2d(), thread::index_3d());
    let mut place = [0; 22];
    let vectors = [
        thread::thread_idx(),
        thread::block_idx(),
        thread::block_dim(),
        thread::grid_dim(),
        space,
    ];
    for (elements, vector) in place.chunks_exact_mut(3).zip(vectors) {
        vector.write_to_slice(elements);
    }
    plane.write_to_slice(&mut place[15..]);
    place[17] = thread::index();
    place[18] = thread::index_1d();
    place[19] = thread::first() as u32;
    place[20] = thread::warp_size();
    place[21] = thread::index_in_block();
    // SAFETY: an element per thread.
    unsafe { out.set(linear_index(), place) };
}

/// The barriers that count, one behind the other: of the threads whose number in the block is below
/// `limit`, and of all others.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn counting_barriers(limit: u32, out: DeviceSliceMut<[u32; 6]>) {
    let is_below = thread::index_in_block() < limit;
    // Any number but 0 is true.
    let (below, above) = (7 * is_below as u32, 8 * !is_below as u32);
    let found = [
        thread::sync_threads_count(below),
        thread::sync_threads_and(below),
        thread::sync_threads_or(below),
        thread::sync_threads_count(above),
        thread::sync_threads_and(above),
        thread::sync_threads_or(above),
    ];
    // SAFETY: an element per thread.
    unsafe { out.set(linear_index(), found) };
}

macro_rules! passes_on {
    ($($(#[$doc:meta])* $name:ident, $fence:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// Each block waits for the one before it, in the order in which they start, and adds to
        /// what that one wrote.
        ///
        /// # Safety
        /// `values` has an element per block and one more, the first of which is set; `flags` as
        /// many, all 0 but the first; `started` one.
        #[kernel(block = 1)]
        pub unsafe fn $name(values: DeviceSliceMut<u32>, flags: DeviceSliceMut<u32>, started: DeviceSliceMut<u32>) {
            // SAFETY: a block reads the value of another one after its flag, and the fences; it
            // writes its own.
            unsafe {
                let number = atomic::add(started.address(0), 1) as usize;
                while atomic::load(flags.address(number)) == 0 {
                    thread::nanosleep(40);
                }
                $fence();
                let value = values.as_mut_ptr().add(number).read_volatile();
                values.as_mut_ptr().add(number + 1).write_volatile(value + number as u32);
                $fence();
                atomic::store(flags.address(number + 1), 1);
            }
        }
    )*};
}

passes_on! {
    /// Ordered by the fence of a device.
    pass_on_device_fence, thread::device_fence;
    /// Ordered by the fence of a grid.
    pass_on_grid_fence, thread::grid_fence;
    /// Ordered by the fence of all devices and the host.
    pass_on_system_fence, thread::system_fence;
}

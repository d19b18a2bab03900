//! Atomics on global and on shared memory.

use cuda_std::prelude::*;

/// Cells that the kernels of integers work on.
pub const CELLS: usize = 9;

macro_rules! integers {
    ($($all:ident, $global:ident, $shared:ident, $type:ty;)*) => {$(
        /// All operations with `value`; what the addition found.
        ///
        /// # Safety
        /// `cells` has CELLS elements that are only touched by atomics meanwhile.
        #[inline(always)]
        unsafe fn $all(cells: *mut $type, bit: u32, value: $type) -> $type {
            // SAFETY: there are CELLS cells.
            unsafe {
                let found = atomic::add(cells, value);
                atomic::min(cells.add(1), <$type>::wrapping_sub(100, value));
                atomic::max(cells.add(2), value);
                atomic::and(cells.add(3), !(1 << bit));
                atomic::or(cells.add(4), 1 << bit);
                atomic::xor(cells.add(5), value);
                // The value that leaves goes on: nothing is lost.
                atomic::add(cells.add(7), atomic::exchange(cells.add(6), value));
                // A sum by compare-and-exchange; the thread never waits for another one.
                let mut expected = 0;
                loop {
                    let found = atomic::compare_exchange(cells.add(8), expected, expected.wrapping_add(value));
                    if found == expected {
                        break;
                    }
                    expected = found;
                }
                found
            }
        }

        #[doc = concat!("All operations on `", stringify!($type), "` in global memory, thread i with `values[i]`.")]
        ///
        /// # Safety
        /// `cells` has [`CELLS`] elements, `values` and `found` one per thread.
        #[kernel(max_block = 128)]
        pub unsafe fn $global(cells: DeviceSliceMut<$type>, values: DeviceSlice<$type>, found: DeviceSliceMut<$type>) {
            let i = thread::global_index();
            // SAFETY: CELLS cells; an element per thread.
            unsafe {
                let bit = i as u32 % <$type>::BITS;
                found.set(i, $all(cells.address(0), bit, values.at(i)));
            }
        }

        #[doc = concat!("All operations on `", stringify!($type), "` in shared memory, thread i with `values[i]`.")]
        ///
        /// # Safety
        /// `cells` has [`CELLS`] elements per block, `values` and `found` one per thread; a block
        /// has at least [`CELLS`] threads.
        #[kernel(max_block = 128)]
        pub unsafe fn $shared(cells: DeviceSliceMut<$type>, values: DeviceSlice<$type>, found: DeviceSliceMut<$type>) {
            let tile = shared_array![$type; CELLS];
            let (i, thread) = (thread::global_index(), thread::thread_idx_x() as usize);
            let cell = thread::block_idx_x() as usize * CELLS + thread;
            // SAFETY: CELLS cells a block, with barriers around the atomics; an element per thread.
            unsafe {
                if thread < CELLS {
                    tile.add(thread).write(cells.at(cell));
                }
                thread::sync_threads();
                let bit = i as u32 % <$type>::BITS;
                found.set(i, $all(tile, bit, values.at(i)));
                thread::sync_threads();
                if thread < CELLS {
                    cells.set(cell, tile.add(thread).read());
                }
            }
        }
    )*};
}

integers! {
    all_u32, atomics_global_u32, atomics_shared_u32, u32;
    all_i32, atomics_global_i32, atomics_shared_i32, i32;
    all_u64, atomics_global_u64, atomics_shared_u64, u64;
    all_i64, atomics_global_i64, atomics_shared_i64, i64;
}

macro_rules! floats {
    ($($add:ident, $global:ident, $shared:ident, $type:ty;)*) => {$(
        #[doc = concat!("Adds up `", stringify!($type), "` in global memory; `found` is what each addition found.")]
        ///
        /// # Safety
        /// `sum` has an element, `values` and `found` one per thread.
        #[kernel(max_block = 128)]
        pub unsafe fn $global(sum: DeviceSliceMut<$type>, values: DeviceSlice<$type>, found: DeviceSliceMut<$type>) {
            let i = thread::global_index();
            // SAFETY: an element, and an element per thread.
            unsafe { found.set(i, atomic::$add(sum.address(0), values.at(i))) };
        }

        #[doc = concat!("Adds up the `", stringify!($type), "` of each block in shared memory.")]
        ///
        /// # Safety
        /// `sums` has an element per block, `values` and `found` one per thread.
        #[kernel(max_block = 128)]
        pub unsafe fn $shared(sums: DeviceSliceMut<$type>, values: DeviceSlice<$type>, found: DeviceSliceMut<$type>) {
            let sum = shared_array![$type; 1];
            let (i, block) = (thread::global_index(), thread::block_idx_x() as usize);
            // SAFETY: an element per block and per thread, with barriers around the atomics.
            unsafe {
                if thread::thread_idx_x() == 0 {
                    sum.write(sums.at(block));
                }
                thread::sync_threads();
                found.set(i, atomic::$add(sum, values.at(i)));
                thread::sync_threads();
                if thread::thread_idx_x() == 0 {
                    sums.set(block, sum.read());
                }
            }
        }
    )*};
}

floats! {
    add_f32, add_global_f32, add_shared_f32, f32;
    add_f64, add_global_f64, add_shared_f64, f64;
}

macro_rules! relays {
    ($($name:ident, $type:ty;)*) => {$(
        #[doc = concat!("Passes a `", stringify!($type), "` on from block to block, in the order in which they begin.")]
        ///
        /// # Safety
        /// `ticket` has an element, 0 at first, and `places` one for each block and one more: the
        /// first is not 0, the others are.
        #[kernel(max_block = 64)]
        pub unsafe fn $name(ticket: DeviceSliceMut<u32>, places: DeviceSliceMut<$type>) {
            if thread::thread_idx_x() != 0 {
                return;
            }
            // SAFETY: all elements are used atomically; the block before has begun.
            unsafe {
                let place = atomic::add(ticket.address(0), 1) as usize;
                let mut before = atomic::load(places.address(place));
                while before == 0 {
                    thread::nanosleep(100);
                    before = atomic::load(places.address(place));
                }
                atomic::store(places.address(place + 1), before + 3);
            }
        }
    )*};
}

relays! {
    relay_u32, u32;
    relay_i32, i32;
    relay_u64, u64;
    relay_i64, i64;
}

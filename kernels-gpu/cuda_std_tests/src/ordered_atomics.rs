//! Atomic operations with an order and a scope, of `cuda_std::atomic::mid`.

use crate::atomic_floats::{of_load, of_store, ordering};
use cuda_std::atomic::mid::*;
use cuda_std::prelude::*;

macro_rules! operations {
    ($($name:ident, $type:ty: $($fetch:ident)*, $swap:ident;)*) => {$(
        #[doc = concat!("Each operation on `", stringify!($type), "` in this scope, what it returned, and what it left.")]
        ///
        /// # Safety
        /// `cells` and `out` have an element per operation, the two swaps at the end.
        #[kernel(block = 1)]
        pub unsafe fn $name(
            cells: DeviceSliceMut<$type>,
            order: u32,
            value: $type,
            out: DeviceSliceMut<$type>,
        ) {
            let order = ordering(order);
            let mut i = 0;
            // SAFETY: a single thread, and an element per operation.
            unsafe {
                $(
                    out.set(i, $fetch(cells.address(i), order, value));
                    i += 1;
                )*
                // One that finds the value, and one that does not.
                out.set(i, $swap(cells.address(i), cells.at(i), value, order));
                out.set(i + 1, $swap(cells.address(i + 1), value, value, order));
            }
        }
    )*};
}

operations! {
    ordered_u32_block, u32:
        atomic_fetch_and_u32_block atomic_fetch_or_u32_block atomic_fetch_xor_u32_block
        atomic_fetch_add_u32_block atomic_fetch_sub_u32_block atomic_fetch_min_u32_block
        atomic_fetch_max_u32_block atomic_fetch_exch_u32_block,
        atomic_compare_and_swap_u32_block;
    ordered_u32_device, u32:
        atomic_fetch_and_u32_device atomic_fetch_or_u32_device atomic_fetch_xor_u32_device
        atomic_fetch_add_u32_device atomic_fetch_sub_u32_device atomic_fetch_min_u32_device
        atomic_fetch_max_u32_device atomic_fetch_exch_u32_device,
        atomic_compare_and_swap_u32_device;
    ordered_u32_system, u32:
        atomic_fetch_and_u32_system atomic_fetch_or_u32_system atomic_fetch_xor_u32_system
        atomic_fetch_add_u32_system atomic_fetch_sub_u32_system atomic_fetch_min_u32_system
        atomic_fetch_max_u32_system atomic_fetch_exch_u32_system,
        atomic_compare_and_swap_u32_system;
    ordered_u64_block, u64:
        atomic_fetch_and_u64_block atomic_fetch_or_u64_block atomic_fetch_xor_u64_block
        atomic_fetch_add_u64_block atomic_fetch_sub_u64_block atomic_fetch_min_u64_block
        atomic_fetch_max_u64_block atomic_fetch_exch_u64_block,
        atomic_compare_and_swap_u64_block;
    ordered_u64_device, u64:
        atomic_fetch_and_u64_device atomic_fetch_or_u64_device atomic_fetch_xor_u64_device
        atomic_fetch_add_u64_device atomic_fetch_sub_u64_device atomic_fetch_min_u64_device
        atomic_fetch_max_u64_device atomic_fetch_exch_u64_device,
        atomic_compare_and_swap_u64_device;
    ordered_u64_system, u64:
        atomic_fetch_and_u64_system atomic_fetch_or_u64_system atomic_fetch_xor_u64_system
        atomic_fetch_add_u64_system atomic_fetch_sub_u64_system atomic_fetch_min_u64_system
        atomic_fetch_max_u64_system atomic_fetch_exch_u64_system,
        atomic_compare_and_swap_u64_system;
    ordered_i32_block, i32:
        atomic_fetch_and_i32_block atomic_fetch_or_i32_block atomic_fetch_xor_i32_block
        atomic_fetch_add_i32_block atomic_fetch_sub_i32_block atomic_fetch_min_i32_block
        atomic_fetch_max_i32_block atomic_fetch_exch_i32_block,
        atomic_compare_and_swap_i32_block;
    ordered_i32_device, i32:
        atomic_fetch_and_i32_device atomic_fetch_or_i32_device atomic_fetch_xor_i32_device
        atomic_fetch_add_i32_device atomic_fetch_sub_i32_device atomic_fetch_min_i32_device
        atomic_fetch_max_i32_device atomic_fetch_exch_i32_device,
        atomic_compare_and_swap_i32_device;
    ordered_i32_system, i32:
        atomic_fetch_and_i32_system atomic_fetch_or_i32_system atomic_fetch_xor_i32_system
        atomic_fetch_add_i32_system atomic_fetch_sub_i32_system atomic_fetch_min_i32_system
        atomic_fetch_max_i32_system atomic_fetch_exch_i32_system,
        atomic_compare_and_swap_i32_system;
    ordered_i64_block, i64:
        atomic_fetch_and_i64_block atomic_fetch_or_i64_block atomic_fetch_xor_i64_block
        atomic_fetch_add_i64_block atomic_fetch_sub_i64_block atomic_fetch_min_i64_block
        atomic_fetch_max_i64_block atomic_fetch_exch_i64_block,
        atomic_compare_and_swap_i64_block;
    ordered_i64_device, i64:
        atomic_fetch_and_i64_device atomic_fetch_or_i64_device atomic_fetch_xor_i64_device
        atomic_fetch_add_i64_device atomic_fetch_sub_i64_device atomic_fetch_min_i64_device
        atomic_fetch_max_i64_device atomic_fetch_exch_i64_device,
        atomic_compare_and_swap_i64_device;
    ordered_i64_system, i64:
        atomic_fetch_and_i64_system atomic_fetch_or_i64_system atomic_fetch_xor_i64_system
        atomic_fetch_add_i64_system atomic_fetch_sub_i64_system atomic_fetch_min_i64_system
        atomic_fetch_max_i64_system atomic_fetch_exch_i64_system,
        atomic_compare_and_swap_i64_system;
    ordered_f32_block, f32:
        atomic_fetch_and_f32_block atomic_fetch_or_f32_block atomic_fetch_xor_f32_block
        atomic_fetch_add_f32_block atomic_fetch_sub_f32_block atomic_fetch_exch_f32_block,
        atomic_compare_and_swap_f32_block;
    ordered_f32_device, f32:
        atomic_fetch_and_f32_device atomic_fetch_or_f32_device atomic_fetch_xor_f32_device
        atomic_fetch_add_f32_device atomic_fetch_sub_f32_device atomic_fetch_exch_f32_device,
        atomic_compare_and_swap_f32_device;
    ordered_f32_system, f32:
        atomic_fetch_and_f32_system atomic_fetch_or_f32_system atomic_fetch_xor_f32_system
        atomic_fetch_add_f32_system atomic_fetch_sub_f32_system atomic_fetch_exch_f32_system,
        atomic_compare_and_swap_f32_system;
    ordered_f64_block, f64:
        atomic_fetch_and_f64_block atomic_fetch_or_f64_block atomic_fetch_xor_f64_block
        atomic_fetch_add_f64_block atomic_fetch_sub_f64_block atomic_fetch_exch_f64_block,
        atomic_compare_and_swap_f64_block;
    ordered_f64_device, f64:
        atomic_fetch_and_f64_device atomic_fetch_or_f64_device atomic_fetch_xor_f64_device
        atomic_fetch_add_f64_device atomic_fetch_sub_f64_device atomic_fetch_exch_f64_device,
        atomic_compare_and_swap_f64_device;
    ordered_f64_system, f64:
        atomic_fetch_and_f64_system atomic_fetch_or_f64_system atomic_fetch_xor_f64_system
        atomic_fetch_add_f64_system atomic_fetch_sub_f64_system atomic_fetch_exch_f64_system,
        atomic_compare_and_swap_f64_system;
}

macro_rules! transfers {
    ($($name:ident, $type:ty: $load:ident $store:ident $fence:ident;)*) => {$(
        /// Passes a number from block to block in the order in which they start: each waits for the
        /// word of the one before it, and adds to the number that it wrote.
        ///
        /// With `order` 0 the words are relaxed and the fences order; else the words do, by acquire
        /// and release or by sequential consistency.
        ///
        /// # Safety
        /// `numbers` and `words` have an element per block and one more, the first of which are
        /// set, and the other words 0; `started` has one.
        #[kernel(block = 1)]
        pub unsafe fn $name(
            order: u32,
            numbers: DeviceSliceMut<$type>,
            words: DeviceSliceMut<$type>,
            started: DeviceSliceMut<u32>,
        ) {
            let fence = ordering(if order == 0 { 4 } else { 0 });
            let order = ordering(order);
            // SAFETY: a block reads the number of another one after its word; it writes its own.
            unsafe {
                let i = atomic::add(started.address(0), 1) as usize;
                while $load(words.address(i), of_load(order)) == 0 {
                    thread::nanosleep(40);
                }
                $fence(fence);
                let number = numbers.as_mut_ptr().add(i).read();
                numbers.as_mut_ptr().add(i + 1).write(number + i as $type);
                $fence(fence);
                $store(words.address(i + 1), of_store(order), 1);
            }
        }
    )*};
}

transfers! {
    transfers_32_block, u32: atomic_load_32_block atomic_store_32_block block_thread_fence;
    transfers_64_block, u64: atomic_load_64_block atomic_store_64_block block_thread_fence;
    transfers_32_device, u32: atomic_load_32_device atomic_store_32_device device_thread_fence;
    transfers_64_device, u64: atomic_load_64_device atomic_store_64_device device_thread_fence;
    transfers_32_system, u32: atomic_load_32_system atomic_store_32_system system_thread_fence;
    transfers_64_system, u64: atomic_load_64_system atomic_store_64_system system_thread_fence;
}

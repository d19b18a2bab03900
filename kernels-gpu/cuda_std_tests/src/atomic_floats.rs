//! The atomic floats of each scope.

use core::sync::atomic::Ordering;
use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64,
};
use cuda_std::prelude::*;

/// The ordering of that number.
pub(crate) fn ordering(number: u32) -> Ordering {
    match number {
        0 => Ordering::Relaxed,
        1 => Ordering::Acquire,
        2 => Ordering::Release,
        3 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// A load can acquire, not release.
pub(crate) fn of_load(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

/// A store can release, not acquire.
pub(crate) fn of_store(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Acquire => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Release,
        other => other,
    }
}

macro_rules! atomic_floats {
    ($($methods:ident, $sums:ident, $type:ty, $atomic:ident;)*) => {$(
        #[doc = concat!("Each method of `", stringify!($atomic), "`, one after the other, and what it returned.")]
        ///
        /// # Safety
        /// `out` has eight elements.
        #[kernel(block = 1)]
        #[allow(unused_unsafe, reason = "those of a block are unsafe, the others are not")]
        pub unsafe fn $methods(cell: &$atomic, order: u32, values: [$type; 5], out: DeviceSliceMut<$type>) {
            let order = ordering(order);
            let [add, sub, and, or, xor] = values;
            // SAFETY: a single thread, and eight elements.
            unsafe {
                out.set(0, cell.load(of_load(order)));
                cell.store(add, of_store(order));
                out.set(1, cell.fetch_add(add, order));
                out.set(2, cell.fetch_sub(sub, order));
                out.set(3, cell.fetch_and(and, order));
                out.set(4, cell.fetch_or(or, order));
                out.set(5, cell.fetch_xor(xor, order));
                out.set(6, cell.load(of_load(order)));
                let own = $atomic::new(add);
                out.set(7, own.into_inner());
            }
        }

        #[doc = concat!("Adds up numbers in a `", stringify!($atomic), "` of each block, and subtracts half of each.")]
        ///
        /// # Safety
        /// `values` has an element per thread, `sums` one per block.
        #[kernel(max_block = 128)]
        #[allow(unused_unsafe, reason = "those of a block are unsafe, the others are not")]
        pub unsafe fn $sums(values: DeviceSlice<$type>, sums: &[$atomic]) {
            let sum = &sums[thread::block_idx_x() as usize];
            // SAFETY: an element per thread, and a sum per block.
            unsafe {
                let value = values.at(thread::global_index());
                sum.fetch_add(value, Ordering::Relaxed);
                sum.fetch_sub(0.5 * value, Ordering::Relaxed);
            }
        }
    )*};
}

atomic_floats! {
    methods_of_atomic_f32, sums_in_atomic_f32, f32, AtomicF32;
    methods_of_atomic_f64, sums_in_atomic_f64, f64, AtomicF64;
    methods_of_block_atomic_f32, sums_in_block_atomic_f32, f32, BlockAtomicF32;
    methods_of_block_atomic_f64, sums_in_block_atomic_f64, f64, BlockAtomicF64;
    methods_of_system_atomic_f32, sums_in_system_atomic_f32, f32, SystemAtomicF32;
    methods_of_system_atomic_f64, sums_in_system_atomic_f64, f64, SystemAtomicF64;
}

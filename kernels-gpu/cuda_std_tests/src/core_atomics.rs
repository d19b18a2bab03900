//! The atomic integers of `core`.

use crate::atomic_floats::{of_load, of_store, ordering};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    Ordering, fence,
};
use cuda_std::prelude::*;

macro_rules! methods {
    ($($name:ident, $type:ty, $atomic:ty;)*) => {$(
        #[doc = concat!("Each method of `", stringify!($atomic), "`: what it returned, in order.")]
        ///
        /// # Safety
        /// `out` has 15 elements.
        #[kernel(block = 1)]
        pub unsafe fn $name(cell: &$atomic, order: u32, values: [$type; 9], out: DeviceSliceMut<$type>) {
            let order = ordering(order);
            let failed = of_load(order);
            let mut results = [0; 15];
            results[0] = cell.load(of_load(order));
            cell.store(values[0], of_store(order));
            results[1] = cell.fetch_add(values[1], order);
            results[2] = cell.fetch_sub(values[2], order);
            results[3] = cell.fetch_and(values[3], order);
            results[4] = cell.fetch_or(values[4], order);
            results[5] = cell.fetch_xor(values[5], order);
            results[6] = cell.fetch_nand(values[6], order);
            results[7] = cell.fetch_min(values[7], order);
            results[8] = cell.fetch_max(values[8], order);
            results[9] = cell.swap(values[0], order);
            results[10] = cell.compare_exchange(values[0], values[1], order, failed).unwrap_or(0);
            results[11] = cell.compare_exchange(values[0], values[2], order, failed).unwrap_or_else(|v| v);
            let double = |value: $type| Some(value.wrapping_add(value));
            results[12] = cell.try_update(order, failed, double).unwrap_or(0);
            while cell.compare_exchange_weak(values[1].wrapping_add(values[1]), 77, order, failed).is_err() {}
            results[13] = cell.load(Ordering::Relaxed);
            results[14] = <$atomic>::new(values[8]).into_inner();
            for (i, result) in results.into_iter().enumerate() {
                // SAFETY: 15 elements.
                unsafe { out.set(i, result) };
            }
        }
    )*};
}

methods! {
    methods_of_atomic_u8, u8, AtomicU8;
    methods_of_atomic_u16, u16, AtomicU16;
    methods_of_atomic_u32, u32, AtomicU32;
    methods_of_atomic_i32, i32, AtomicI32;
    methods_of_atomic_u64, u64, AtomicU64;
    methods_of_atomic_i64, i64, AtomicI64;
}

/// A histogram in the memory of the caller, with counters of several widths, and a flag for whether
/// anything was even.
///
/// # Safety
/// Always.
#[kernel]
pub fn histogram(
    values: &[u32],
    counts: &[AtomicU32],
    narrow: &[AtomicU8],
    total: &AtomicUsize,
    any_even: &AtomicBool,
) {
    for i in thread::grid_stride(values.len()) {
        let value = values[i] as usize;
        counts[value % counts.len()].fetch_add(1, Ordering::Relaxed);
        narrow[value % narrow.len()].fetch_add(1, Ordering::Relaxed);
        total.fetch_add(value, Ordering::Relaxed);
        any_even.fetch_or(value.is_multiple_of(2), Ordering::Relaxed);
    }
}

macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident: $read:expr, {$($after:expr;)?}, {$($before:expr;)?}, $set:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// Each block waits for the number of the one before it, and adds to the data that came
        /// with it.
        ///
        /// # Safety
        /// `data` and `flags` have an element per block and one more, the first of which are set.
        #[kernel(block = 1)]
        pub unsafe fn $name(data: DeviceSliceMut<u64>, flags: &[AtomicU32], started: &AtomicU32) {
            let read: fn(&AtomicU32) -> u32 = $read;
            let set: fn(&AtomicU32) = $set;
            let i = started.fetch_add(1, Ordering::Relaxed) as usize;
            while read(&flags[i]) == 0 {
                thread::nanosleep(40);
            }
            $($after;)?
            // SAFETY: the block before this one has written the data, and nobody but this one
            // writes the next.
            unsafe {
                let value = data.as_mut_ptr().add(i).read();
                data.as_mut_ptr().add(i + 1).write(value + 3 * i as u64);
            }
            $($before;)?
            set(&flags[i + 1]);
        }
    )*};
}

messages! {
    /// By acquire and release.
    messages_acquired: |flag| flag.load(Ordering::Acquire), {}, {}, |flag| flag.store(1, Ordering::Release);
    /// By sequential consistency.
    messages_consistent: |flag| flag.load(Ordering::SeqCst), {}, {}, |flag| flag.store(1, Ordering::SeqCst);
    /// By fences around relaxed accesses.
    messages_fenced: |flag| flag.load(Ordering::Relaxed), { fence(Ordering::Acquire); }, { fence(Ordering::Release); },
        |flag| flag.store(1, Ordering::Relaxed);
    /// By acquire and release of operations that read, modify and write: waiting sets another bit.
    messages_exchanged: |flag| flag.fetch_or(2, Ordering::Acquire) & 1, {}, {}, |flag| {
        flag.swap(1, Ordering::Release);
    };
    /// By acquire and release of compare-and-swaps.
    messages_compared: |flag| match flag.compare_exchange(1, 1, Ordering::Acquire, Ordering::Acquire) {
        Ok(value) | Err(value) => value,
    }, {}, {}, |flag| {
        let _ = flag.compare_exchange(0, 1, Ordering::Release, Ordering::Relaxed);
    };
}

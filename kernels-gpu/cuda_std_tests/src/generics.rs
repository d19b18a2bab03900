//! A generic kernel.

use core::ops::Add;

use cuda_std::prelude::*;

/// The sums of as many elements as a block has threads, in the order of a tree.
///
/// # Safety
/// `values` has an element per thread, `sums` one per block.
#[kernel(block = N, instances(f32, 64; f64, 32; u32, 128 as block_sums_of_integers))]
pub unsafe fn block_sums<T, const N: u32>(values: DeviceSlice<T>, sums: DeviceSliceMut<T>)
where
    T: Copy + Add<Output = T>,
{
    let partial = shared_array![T; N as usize];
    let me = thread::thread_idx_x();
    // SAFETY: an element for each thread, and the barriers are between the writes and the reads of others.
    unsafe {
        partial.add(me as usize).write(values.at(thread::global_index()));
        let mut half = N / 2;
        while half > 0 {
            thread::sync_threads();
            if me < half {
                let own = partial.add(me as usize);
                own.write(own.read() + partial.add((me + half) as usize).read());
            }
            half /= 2;
        }
        if me == 0 {
            sums.set(thread::block_idx_x() as usize, partial.read());
        }
    }
}

//! Asynchronous copies to shared memory.

use cuda_std::prelude::*;
use cuda_std::{async_copy, shared};

/// Threads in a block of these kernels.
pub const BLOCK: u32 = 64;

const LEN: usize = BLOCK as usize;

/// The tiles that are on their way at a time in the sums of rounds.
pub const STAGES: usize = 3;

macro_rules! copies {
    ($($mirrored:ident, $summed:ident, $words:literal $bytes:literal, [$($word:literal)*];)*) => {$(
        #[doc = concat!("Each thread copies ", stringify!($bytes), " bytes, and reads those of the thread opposite in its block.")]
        ///
        /// Copies of threads whose bit in `there`, by their number modulo 32, is not set are of
        /// nothing.
        ///
        /// # Safety
        /// `input` and `out` have an element per thread; dynamic shared memory has room for a
        /// block's.
        #[kernel(block = 64)]
        pub unsafe fn $mirrored(
            input: DeviceSlice<[u32; $words]>,
            there: u32,
            out: DeviceSliceMut<[u32; $words]>,
        ) {
            let tile = shared::dynamic_shared_mem::<[u32; $words]>();
            let (i, global) = (thread::thread_idx_x(), thread::global_index());
            // SAFETY: an element per thread; the barrier follows the wait.
            unsafe {
                let to = shared::address(tile).offset($bytes * i);
                let from = input.address(global).cast();
                async_copy::copy::<$bytes>(to, from, there >> (i % 32) & 1 == 1);
                async_copy::commit();
                async_copy::wait::<0>();
                thread::sync_threads();
                out.set(global, tile.add(LEN - 1 - i as usize).read());
            }
        }

        #[doc = concat!("Adds, for each thread, the elements of ", stringify!($bytes), " bytes of its neighbour over `rounds` tiles of a block each, which come while earlier ones are added.")]
        ///
        /// # Safety
        /// `out` has an element per thread of the only block and `input` that of each round;
        /// dynamic shared memory has room for the elements of `STAGES` rounds.
        #[kernel(block = 64)]
        pub unsafe fn $summed(
            input: DeviceSlice<[u32; $words]>,
            rounds: u32,
            out: DeviceSliceMut<[u32; $words]>,
        ) {
            let tiles = shared::dynamic_shared_mem::<[u32; $words]>();
            let i = thread::thread_idx_x() as usize;
            let rounds = rounds as usize;
            let start = |round: usize| {
                if round < rounds {
                    let to = shared::address(tiles).offset(($bytes * (round % STAGES * LEN + i)) as u32);
                    // SAFETY: an element per thread and round; a barrier follows the last reads of
                    // the place, and the next ones come after the wait.
                    unsafe {
                        let from = input.address(round * LEN + i).cast();
                        async_copy::copy::<$bytes>(to, from, true);
                    }
                }
                // A group per round, be it empty: the wait counts them.
                async_copy::commit();
            };
            let mut sums = [0u32; $words];
            for round in 0..STAGES - 1 {
                start(round);
            }
            for round in 0..rounds {
                async_copy::wait::<1>();
                // It also says that the tile of the round before has been read, in whose place the
                // next one comes.
                thread::sync_threads();
                start(round + STAGES - 1);
                // SAFETY: in the tile.
                let values = unsafe { tiles.add(round % STAGES * LEN + (i + 1) % LEN).read() };
                unrolled! { word in [$($word)*] {
                    sums[word] = sums[word].wrapping_add(values[word]);
                }}
            }
            // SAFETY: an element per thread.
            unsafe { out.set(i, sums) };
        }
    )*};
}

copies! {
    mirrored_4, summed_4, 1 4, [0];
    mirrored_8, summed_8, 2 8, [0 1];
    mirrored_16, summed_16, 4 16, [0 1 2 3];
}

//! The sums of squared differences of a tile, in registers.

use cuda_std::prelude::*;

use crate::loader::{CHUNK, Loader, Two, stride};
use crate::number::Number;
use crate::tile::{TILE_ROWS, tile_columns};

/// Words of shared memory for two chunks of both operands.
pub const fn shared_words<T: Number>(tile_columns: u32) -> usize {
    let groups = CHUNK / T::PACK;
    (2 * groups * (stride::<T>(TILE_ROWS) + stride::<T>(tile_columns))) as usize
}

/// The row and the column of this thread's first entry in its tile, both even. Four warps are down
/// and two across; in a warp four lanes are down and eight across.
#[inline(always)]
pub fn place_in_tile(tile_columns: u32) -> (u32, u32) {
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / 32, tid % 32);
    (
        warp / 2 * 32 + lane / 8 * 2,
        warp % 2 * (tile_columns / 2) + lane % 8 * 2,
    )
}

/// The rows of both operands on their way to shared memory.
pub struct Operands<T, const LOAD_A: usize, const LOAD_B: usize, const RAGGED: bool> {
    pub a: Loader<T, LOAD_A, RAGGED>,
    pub b: Loader<T, LOAD_B, RAGGED>,
    /// Whether the rows are aligned as [`Loader::fetch`] asks.
    aligned: bool,
    /// The factor of each number.
    scale: T,
    /// The words of the next chunk.
    words: ([u64; LOAD_A], [u64; LOAD_B]),
    /// Whether the next chunk has all of this thread's columns.
    is_whole: bool,
}

impl<T: Number, const LOAD_A: usize, const LOAD_B: usize, const RAGGED: bool>
    Operands<T, LOAD_A, LOAD_B, RAGGED>
{
    /// # Safety
    /// As [`Loader::fetch`] says of both rows and `aligned`, now and until the last chunk.
    #[inline(always)]
    pub unsafe fn new(
        a: Loader<T, LOAD_A, RAGGED>,
        b: Loader<T, LOAD_B, RAGGED>,
        aligned: bool,
        scale: T,
    ) -> Self {
        let mut operands = Operands {
            a,
            b,
            aligned,
            scale,
            words: ([0; LOAD_A], [0; LOAD_B]),
            is_whole: false,
        };
        // SAFETY: `fetch` has the contract of this function: the rows of both loaders exist, and
        // are as `aligned` says.
        unsafe { operands.fetch() };
        operands
    }

    /// # Safety
    /// As of [`new`](Self::new).
    #[inline(always)]
    unsafe fn fetch(&mut self) {
        self.is_whole = self.a.is_whole() && self.b.is_whole();
        // SAFETY: the caller keeps the contract of `new`, which this function shares.
        self.words = unsafe { (self.a.fetch(self.aligned), self.b.fetch(self.aligned)) };
    }

    /// The sums of this thread's entries over `count` chunks. Calls `turn` before it fetches the
    /// chunk behind the last one, which is the first chunk of the next sums.
    ///
    /// # Safety
    /// - the block has [`THREADS`](crate::THREADS) threads, which call this with the same `count`;
    ///   `LOAD_A` and `LOAD_B` are even, and with so many words for each thread a chunk of the
    ///   operand is loaded.
    /// - all threads of the block pass a barrier between two calls.
    /// - `chunks` points to [`shared_words`] of shared memory.
    #[inline(always)]
    pub unsafe fn sums<const PER_THREAD: usize>(
        &mut self,
        chunks: *mut u64,
        count: u32,
        turn: impl Fn(&mut Self),
    ) -> [[T; PER_THREAD]; 8] {
        let groups = CHUNK / T::PACK;
        let tile_columns = tile_columns(PER_THREAD as u32);
        let (stride_a, stride_b) = (stride::<T>(TILE_ROWS), stride::<T>(tile_columns));
        let size_a = groups * stride_a;
        let size = size_a + groups * stride_b;
        let (row_in_tile, column_in_tile) = place_in_tile(tile_columns);

        let mut sums = [[T::ZERO; PER_THREAD]; 8];
        let mut current = 0;
        let mut chunk = 0;
        while chunk < count {
            // SAFETY: `chunks` has two chunks of `size` words, of which the first `size_a` are those of
            // `a`.
            let (chunk_a, chunk_b) = unsafe {
                let chunk_a = chunks.add(current as usize);
                (chunk_a, chunk_a.add(size_a as usize))
            };
            // The words of `b` are turned: a load of 128 bits puts the first column of `a` into even
            // registers and that of `b` into odd ones. A register file delivers an even and an odd
            // register per cycle; a subtraction of two even ones takes two cycles.
            // SAFETY: by the contract of this function, each operand has room for its part of a
            // chunk, from `chunk_a` and from `chunk_b` on. Threads that read this chunk two rounds
            // ago, or in a call before, have been at a barrier since.
            unsafe {
                self.a.put(chunk_a, self.words.0, self.scale, false);
                self.b.put(chunk_b, self.words.1, self.scale, true);
            }
            let is_whole = if RAGGED {
                thread::sync_threads_and(self.is_whole as u32) != 0
            } else {
                thread::sync_threads();
                true
            };
            chunk += 1;
            if chunk == count {
                turn(self);
            }
            // SAFETY: by the contract of `new`, the rows exist until the last chunk, and are as
            // `aligned` says. Behind that, the row is one that `turn` has named, or what is left of
            // this one.
            unsafe { self.fetch() };

            // SAFETY: the chunk is there, and is not written before the next barrier.
            unsafe {
                if is_whole {
                    add::<T, PER_THREAD, false>(
                        &mut sums,
                        chunk_a,
                        chunk_b,
                        (row_in_tile, column_in_tile),
                    );
                } else {
                    add::<T, PER_THREAD, true>(
                        &mut sums,
                        chunk_a,
                        chunk_b,
                        (row_in_tile, column_in_tile),
                    );
                }
            }
            current = size - current;
        }
        sums
    }
}

/// Adds the squared differences of a chunk. With `GAPS` those that are NaN add nothing.
///
/// # Safety
/// Both chunks are in shared memory and have the rows and columns of a tile.
#[inline(always)]
unsafe fn add<T: Number, const PER_THREAD: usize, const GAPS: bool>(
    sums: &mut [[T; PER_THREAD]; 8],
    chunk_a: *mut u64,
    chunk_b: *mut u64,
    (row_in_tile, column_in_tile): (u32, u32),
) {
    let (stride_a, stride_b) = (
        stride::<T>(TILE_ROWS),
        stride::<T>(tile_columns(PER_THREAD as u32)),
    );
    let mut group = 0;
    while group < CHUNK / T::PACK {
        let read = |chunk: *mut u64, place: u32| {
            // SAFETY: within the chunk, at an even word.
            unsafe { chunk.add(place as usize).cast::<Two<u64>>().read().0 }
        };
        let (mut a, mut b) = ([[0; 2]; 4], [[0; 2]; 4]);
        unrolled! { i in [0 1 2 3] {
            a[i] = read(chunk_a, group * stride_a + row_in_tile + 8 * i as u32);
            if 2 * i < PER_THREAD {
                b[i] = read(chunk_b, group * stride_b + column_in_tile + 16 * i as u32);
            }
        }}
        let mut index = 0;
        while index < T::PACK {
            unrolled! { i in [0 1 2 3 4 5 6 7] {
                let a = T::unpack(a[i / 2][i % 2], index);
                unrolled! { j in [0 1 2 3 4 5 6 7] {
                    if j < PER_THREAD {
                        let difference = a - T::unpack(b[j / 2][j % 2], index ^ (T::PACK - 1));
                        let sum = T::square_plus(difference, sums[i][j]);
                        // The larger one is the sum itself, or the only one that is no NaN.
                        sums[i][j] = if GAPS { sum.larger(sums[i][j]) } else { sum };
                    }
                }}
            }}
            index += 1;
        }
        group += 1;
    }
}

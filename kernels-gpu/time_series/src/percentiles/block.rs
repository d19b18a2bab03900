//! The parts of the search that all threads of a block do together.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;
use primitives_kernels::block::exclusive_sum;

use super::range::{BINS, CANDIDATES, Extent, KeyRange};
use crate::keys::{Bucketed, NO_KEY};
use crate::points::Value;

/// Threads of the blocks.
pub const THREADS: u32 = 512;

/// Warps of the blocks.
const WARPS: usize = (THREADS / WARP_SIZE) as usize;

/// Keys that a thread reads before it uses the first of them.
const READ_AT_ONCE: u32 = 4;

/// Bins that a thread looks through.
const BINS_PER_THREAD: usize = (BINS / THREADS) as usize;

/// The shared memory of a block. All threads hold the same pointers.
#[derive(Clone, Copy)]
pub struct Scratch {
    /// The number of keys of each of [`BINS`] bins. Zeros between the calls, once it was
    /// [cleared](Self::cleared).
    pub histogram: *mut u32,
    /// Room for [`CANDIDATES`] keys.
    pub candidates: *mut u64,
    /// The number of candidates.
    pub held: *mut u32,
    extents: *mut Extent,
    sums: *mut u32,
    range: *mut KeyRange,
}

impl Scratch {
    /// Returns the shared memory, with anything in the histogram.
    #[inline(always)]
    pub fn new() -> Scratch {
        Scratch {
            histogram: shared_array![u32; BINS as usize],
            candidates: shared_array![u64; CANDIDATES as usize],
            held: shared_array![u32; 1],
            extents: shared_array![Extent; WARPS],
            sums: shared_array![u32; WARPS],
            range: shared_array![KeyRange; 1],
        }
    }

    /// Returns the shared memory, with a histogram of zeros.
    ///
    /// # Safety
    /// All [`THREADS`] threads of the block call this, once.
    #[inline(always)]
    pub unsafe fn cleared() -> Scratch {
        let scratch = Scratch::new();
        let mut bin = thread::thread_idx_x();
        while bin < BINS {
            // SAFETY: this thread's bins.
            unsafe { scratch.histogram.add(bin as usize).write(0) };
            bin += THREADS;
        }
        thread::sync_threads();
        scratch
    }

    /// Returns the extent of the keys of all threads.
    ///
    /// # Safety
    /// All threads of the block call this.
    #[inline(always)]
    pub unsafe fn extent(&self, extent: Extent) -> Extent {
        let extent = extent.of_warp();
        let thread = thread::thread_idx_x();
        thread::sync_threads();
        if thread.is_multiple_of(WARP_SIZE) {
            // SAFETY: an element for each warp, which all threads have read.
            unsafe {
                self.extents
                    .add((thread / WARP_SIZE) as usize)
                    .write(extent)
            };
        }
        thread::sync_threads();
        let mut all = Extent::NONE;
        let mut warp = 0;
        while warp < WARPS {
            // SAFETY: each warp wrote its element before the barrier.
            all = all.joined(unsafe { self.extents.add(warp).read() });
            warp += 1;
        }
        all
    }

    /// Returns the lowest key of all threads.
    ///
    /// # Safety
    /// All threads of the block call this.
    #[inline(always)]
    unsafe fn lowest(&self, lowest: u64) -> u64 {
        let extent = Extent {
            lowest,
            ..Extent::NONE
        };
        // SAFETY: this function has the same contract.
        unsafe { self.extent(extent) }.lowest
    }

    /// Counts a key of the range in its bin.
    ///
    /// # Safety
    /// The key is in the range, and a barrier separates this from other uses of the histogram.
    #[inline(always)]
    pub unsafe fn count(&self, range: &KeyRange, key: u64) {
        // SAFETY: the bin of a key of the range is below the number of bins.
        unsafe { atomic::add(self.histogram.add(range.bin(key) as usize), 1) };
    }

    /// Returns the bin with the searched key, as a range. `counts` are the numbers of keys in the
    /// bins of this thread: the next ones behind those of the thread below.
    ///
    /// # Safety
    /// All threads of the block call this. The range has the searched key.
    #[inline(always)]
    unsafe fn chosen(&self, range: KeyRange, counts: [u32; BINS_PER_THREAD]) -> KeyRange {
        let mut sum = 0;
        unrolled! { i in [0 1 2 3] {
            sum += counts[i];
        }}
        // SAFETY: an element for each warp; all threads call this.
        let (mut before, _) = unsafe { exclusive_sum(sum, self.sums) };
        let first = thread::thread_idx_x() * BINS_PER_THREAD as u32;
        unrolled! { i in [0 1 2 3] {
            if range.rest >= before && range.rest - before < counts[i] {
                let narrowed = range.narrowed(first + i as u32, before, counts[i]);
                // SAFETY: one bin of one thread has the searched key. The barriers of the sums
                // separate this from the reads of an earlier call.
                unsafe { self.range.write(narrowed) };
            }
            before += counts[i];
        }}
        thread::sync_threads();
        // SAFETY: a thread of the block wrote the range before the barrier.
        unsafe { self.range.read() }
    }

    /// Returns the bin with the searched key, of the block's histogram, and clears the histogram.
    ///
    /// # Safety
    /// All threads of the block call this. The histogram has all keys of the range.
    #[inline(always)]
    pub unsafe fn narrowed(&self, range: KeyRange) -> KeyRange {
        thread::sync_threads();
        // SAFETY: the barrier separates the reads from the counting, and the one before the range
        // is returned separates the zeros from the next keys.
        unsafe { self.narrowed_by(range, self.histogram) }
    }

    /// [`narrowed`](Self::narrowed) of another histogram, which the block alone accesses.
    ///
    /// # Safety
    /// As of [`narrowed`](Self::narrowed), with a barrier before and behind it.
    #[inline(always)]
    pub unsafe fn narrowed_by(&self, range: KeyRange, histogram: *mut u32) -> KeyRange {
        let mut counts = [0; BINS_PER_THREAD];
        let first = thread::thread_idx_x() as usize * BINS_PER_THREAD;
        unrolled! { i in [0 1 2 3] {
            // SAFETY: this thread's bins.
            unsafe {
                counts[i] = histogram.add(first + i).read();
                histogram.add(first + i).write(0);
            }
        }}
        // SAFETY: all threads call this; the caller's range has the searched key.
        unsafe { self.chosen(range, counts) }
    }

    /// Calls a function for the candidates that are this thread's.
    ///
    /// # Safety
    /// There are `held` candidates, which were written before a barrier.
    #[inline(always)]
    unsafe fn for_each_candidate(&self, held: u32, mut call: impl FnMut(u64)) {
        let mut place = thread::thread_idx_x();
        while place < held {
            // SAFETY: below the number of candidates.
            call(unsafe { self.candidates.add(place as usize).read() });
            place += THREADS;
        }
    }

    /// Returns the searched key of a range, and the next higher key or the same again. All keys of
    /// the range are among the `held` candidates, or the range is one key. `above` is the lowest
    /// key behind the range.
    ///
    /// # Safety
    /// All threads of the block call this, and have written the candidates before a barrier.
    #[inline(always)]
    pub unsafe fn selected(&self, range: KeyRange, held: u32, above: u64) -> (u64, u64) {
        let mut left = range;
        while !left.is_found() && left.count > 1 {
            // SAFETY: all threads take part, and the candidates have all keys of the range.
            unsafe {
                self.for_each_candidate(held, |key| {
                    if left.has(key) {
                        self.count(&left, key);
                    }
                });
                left = self.narrowed(left);
            }
        }
        // The only key of the range, and the lowest candidate behind it.
        let (mut only, mut next) = (NO_KEY, NO_KEY);
        // SAFETY: the caller has written the candidates.
        unsafe {
            self.for_each_candidate(held, |key| {
                let within = if left.has(key) { key } else { NO_KEY };
                let behind = if key > left.high { key } else { NO_KEY };
                only = if within < only { within } else { only };
                next = if behind < next { behind } else { next };
            });
        }
        // SAFETY: all threads call these.
        let (only, next) = unsafe { (self.lowest(only), self.lowest(next)) };
        let lower = if left.is_found() { left.low } else { only };
        let upper = if left.rest + 1 < left.count {
            lower
        } else if next < above {
            next
        } else {
            above
        };
        (lower, upper)
    }
}

/// Calls a function for each key of consecutive points that is there and this thread's.
///
/// # Safety
/// The points exist, and are fewer than 2³¹.
#[inline(always)]
pub unsafe fn for_each_key<V: Value>(
    points: &Bucketed<V>,
    first: u32,
    length: u32,
    mut call: impl FnMut(u64),
) {
    let mut start = thread::thread_idx_x();
    while start < length {
        let mut keys = [NO_KEY; READ_AT_ONCE as usize];
        unrolled! { i in [0 1 2 3] {
            let offset = start + i as u32 * THREADS;
            if offset < length {
                // SAFETY: a point of the caller's.
                keys[i] = unsafe { points.key(first + offset) };
            }
        }}
        unrolled! { i in [0 1 2 3] {
            if keys[i] != NO_KEY {
                call(keys[i]);
            }
        }}
        start += READ_AT_ONCE * THREADS;
    }
}

//! The nearest columns of each row of a matrix of distances.
//!
//! A search by slide distances writes their matrix, a block of columns after the other, and
//! selects from each. The nearest columns so far are in lists in global memory, those of
//! [`nearest`](crate::nearest): a list for each range of a block's columns and each query.

use cuda_std::prelude::*;

use crate::nearest::{Lists, MAX_CANDIDATES, MAX_NEAREST, Search, at, get, place, put, sort};
use crate::tile::THREADS;

/// Distances that a thread reads at a time.
const AT_A_TIME: usize = 4;

/// Distances that a block of threads reads at a time. After a sort there is room for them.
const STEP: u32 = THREADS * AT_A_TIME as u32;

const _: () = assert!(MAX_NEAREST + STEP <= MAX_CANDIDATES);

/// A block of columns of the matrix.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Columns {
    /// Number of columns, at least 1.
    pub count: u64,
    /// The index of the first of them in the database.
    pub first: u64,
    /// Columns of a range, but for the last ones, which may have fewer or none.
    pub per_range: u64,
    /// 1 if the lists have candidates of the columns before, else 0.
    pub appends: u32,
}

/// Brings the nearest columns of a range to the list of a query, which keeps the nearest k.
///
/// The distance that candidates have to be below is the k-th so far: a column at the same distance
/// comes after those of the list. NaN comes after all distances.
///
/// # Safety
/// - the block has [`THREADS`] threads, and its index is that of a list, which are ordered
///   \[range\]\[query\].
/// - `matrix` has `columns.count` elements for each query of the launch.
/// - the lists are as large as `search` says, and those of ranges that have appended are as this
///   function leaves them.
/// - `words` points to 2 · [`MAX_CANDIDATES`] words of shared memory, `used` to one more.
#[inline(always)]
pub unsafe fn select(
    search: Search,
    columns: Columns,
    matrix: DeviceSlice<f64>,
    lists: Lists,
    words: *mut u64,
    used: *mut u32,
) {
    let (tid, number) = (thread::thread_idx_x(), thread::block_idx_x() as u64);
    let (range, query) = (number / search.queries, number % search.queries);
    let list = number * search.capacity as u64;
    let kept = if columns.appends != 0 {
        // SAFETY: a list for each block.
        unsafe { lists.counts.at(number as usize) }
    } else {
        0
    };
    let mut i = tid;
    while i < kept {
        // SAFETY: within the list; at most k candidates, which are in order.
        unsafe { place(words, i, get(lists, list + i as u64)) };
        i += THREADS;
    }
    if tid == 0 {
        // SAFETY: one thread writes the element.
        unsafe { used.write(kept) };
    }
    thread::sync_threads();
    // SAFETY: the candidates are there, and are not changed before the next barrier.
    let mut limit = unsafe { limit(search, words, kept) };

    let mut start = range * columns.per_range;
    let end = (start + columns.per_range).min(columns.count);
    while start < end {
        let mut is_full = false;
        let mut distances = [f64::NAN; AT_A_TIME];
        unrolled! { j in [0 1 2 3] {
            let column = start + (j as u32 * THREADS + tid) as u64;
            if column < end {
                // SAFETY: within the query's row.
                distances[j] = unsafe { matrix.at((query * columns.count + column) as usize) };
            }
        }}
        unrolled! { j in [0 1 2 3] {
            let column = start + (j as u32 * THREADS + tid) as u64;
            // NaN may have any bits.
            let distance = if distances[j].is_nan() { f64::NAN } else { distances[j] };
            let bits = distance.to_bits();
            if column < end && bits < limit {
                // SAFETY: accessed atomically alone until the next barrier.
                let index = unsafe { atomic::add(used, 1) };
                // SAFETY: there is room for a step, and the index is this thread's alone.
                unsafe { place(words, index, [bits, columns.first + column]) };
                is_full |= index >= MAX_CANDIDATES - STEP;
            }
        }}
        start += STEP as u64;
        if thread::sync_threads_or(is_full as u32) != 0 {
            // SAFETY: all threads are here, behind a barrier, and `used` candidates are there.
            // `shorten` leaves `kept` of them behind its last barrier, which do not change before
            // the next one.
            limit = unsafe {
                let kept = shorten(search, words, used);
                self::limit(search, words, kept)
            };
        }
    }
    // SAFETY: all threads are here, behind the barrier of the last step or, without any, that
    // before the loop; `used` candidates are there.
    let kept = unsafe { shorten(search, words, used) };
    let mut i = tid;
    while i < kept {
        // SAFETY: within the list, which has room for k, and the candidates.
        unsafe { put(lists, list + i as u64, at(words, i)) };
        i += THREADS;
    }
    if tid == 0 {
        // SAFETY: this block's list.
        unsafe { lists.counts.set(number as usize, kept) };
    }
}

/// The bits that the distance of a further candidate is below, if `kept` are in order.
///
/// # Safety
/// The candidates are there.
#[inline(always)]
unsafe fn limit(search: Search, words: *mut u64, kept: u32) -> u64 {
    if kept == search.k {
        // SAFETY: k is at least 1.
        unsafe { at(words, kept - 1)[0] }
    } else {
        u64::MAX
    }
}

/// Sorts the candidates, and returns how many are left: the nearest k.
///
/// # Safety
/// All threads of the block are here, behind a barrier; `used` candidates are there.
#[inline(always)]
unsafe fn shorten(search: Search, words: *mut u64, used: *mut u32) -> u32 {
    // SAFETY: written before a barrier. The first barrier of the sort follows all reads.
    let count = unsafe { used.read() };
    // SAFETY: by the contract of this function, all threads of the block are here, behind a
    // barrier; `used` candidates are there.
    unsafe { sort(words, count) };
    let kept = count.min(search.k);
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread writes the element.
        unsafe { used.write(kept) };
    }
    thread::sync_threads();
    kept
}

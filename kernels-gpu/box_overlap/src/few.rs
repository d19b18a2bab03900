//! The search among few boxes, in one launch of one block: for them the time is that of the
//! launches, of which the searches among more boxes have nine and more.
//!
//! The tests of all pairs give a matrix of bits in shared memory, \[row\]\[word of 32 columns\]. A
//! lane keeps some boxes of the second set in registers and goes through rows of the first, whose
//! numbers all lanes read at the same addresses; a ballot of the lanes is a word. Then a thread for
//! each row counts its bits, prefix sums tell where rows begin, and a warp for each row writes the
//! indices.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::boxes::{Number, Sets};

/// Threads of the block.
pub const FEW_THREADS: u32 = 512;

/// The most rows of each set.
pub const FEW_ROWS: u32 = 1024;

/// The most words of the matrix of bits: rows of the first set × words of 32 rows of the second.
pub const FEW_WORDS: u32 = 8192;

/// Elements of the status: the number of pairs, and for each set the complement of the first row
/// that is no box, or 0.
pub const FEW_STATUS: usize = 3;

const WARPS: u32 = FEW_THREADS / WARP_SIZE;

/// Words of a row that a warp computes at a time: boxes in the registers of a lane.
const WORDS: u32 = 4;

/// Rows whose bits a thread counts.
const PER_THREAD: usize = (FEW_ROWS / FEW_THREADS) as usize;

// A lane has a word of a row, and a thread two rows.
const _: () = assert!(FEW_ROWS / 32 <= WARP_SIZE && PER_THREAD == 2);

/// The arguments of the search.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Few<T> {
    /// The boxes.
    pub sets: Sets<T>,
    /// Room for the number of pairs of each row of the first set.
    pub counts: DeviceSliceMut<u32>,
    /// Room for the number of pairs before those of each row, and for that of all.
    pub offsets: DeviceSliceMut<u64>,
    /// Room for the pairs' rows of the second set, ascending in each row. Pairs for which there is no
    /// room are only counted.
    pub indices: DeviceSliceMut<u32>,
    /// Room for [`FEW_STATUS`] elements.
    pub status: DeviceSliceMut<u64>,
}

/// The numbers of a box.
#[derive(Clone, Copy)]
struct Limits<T> {
    min: [T; 3],
    max: [T; 3],
}

impl<T: Number> Limits<T> {
    /// With two axes the third has the numbers of the first.
    ///
    /// # Safety
    /// The set has such a row.
    #[inline(always)]
    unsafe fn read(set: DeviceSlice<T>, row: u32, axes: u32) -> Limits<T> {
        let place = |axis: usize| row as usize * 2 * axes as usize + axis;
        let third = if axes == 3 { 2 } else { 0 };
        // SAFETY: by the contract of this function, the set has such a row.
        let read = |axis: usize| unsafe { set.at(place(axis)) };
        let axes = axes as usize;
        Limits {
            min: [read(0), read(1), read(third)],
            max: [read(axes), read(axes + 1), read(axes + third)],
        }
    }

    #[inline(always)]
    fn is_box(&self) -> bool {
        let Limits { min, max } = self;
        (min[0] <= max[0]) & (min[1] <= max[1]) & (min[2] <= max[2])
    }

    #[inline(always)]
    fn overlaps(&self, other: &Limits<T>) -> bool {
        let mut result = true;
        unrolled! { axis in [0 1 2] {
            result &= self.min[axis] <= other.max[axis];
            result &= self.max[axis] >= other.min[axis];
        }}
        result
    }
}

/// Shared memory of the block.
struct Shared {
    /// [`FEW_WORDS`] words.
    bits: *mut u32,
    /// [`FEW_ROWS`] elements.
    offsets: *mut u32,
    /// An element for each warp.
    of_warps: *mut u32,
    /// An element for each set.
    faults: *mut u32,
}

/// Notes the first row of a set that is no box.
///
/// # Safety
/// The set has these rows, and `fault` is accessed atomically alone.
#[inline(always)]
unsafe fn check<T: Number>(set: DeviceSlice<T>, rows: u32, axes: u32, fault: *mut u32) {
    let mut row = thread::thread_idx_x();
    while row < rows {
        // SAFETY: by the contract of this function, the set has these rows, and `fault` is accessed
        // atomically alone.
        unsafe {
            if !Limits::read(set, row, axes).is_box() {
                atomic::max(fault, !row);
            }
        }
        row += FEW_THREADS;
    }
}

/// Tests all pairs.
///
/// # Safety
/// All threads of the block call this. Each set has the rows that `sets` names, and `bits` the
/// `words` of each row of the first.
#[inline(always)]
unsafe fn test<T: Number>(sets: &Sets<T>, words: u32, bits: *mut u32) {
    let me = thread::thread_idx_x();
    let (warp, lane) = (me / WARP_SIZE, me % WARP_SIZE);
    let groups = words.div_ceil(WORDS);
    if groups == 0 {
        return;
    }
    // Warps share the groups of words evenly, and those of a group the rows.
    let (group, slices) = (warp % groups, WARPS / groups);
    let mut i = warp / groups;
    if i >= slices {
        return;
    }
    let first_word = group * WORDS;
    let column = |k: u32| (first_word + k) * WARP_SIZE + lane;
    // SAFETY: rows of the second set; behind the end the last one stands in.
    let mine = [0, 1, 2, 3]
        .map(|k| unsafe { Limits::read(sets.set2, column(k).min(sets.rows2 - 1), sets.axes) });
    while i < sets.rows1 {
        // SAFETY: a row of the first set.
        let row = unsafe { Limits::read(sets.set1, i, sets.axes) };
        let mut word = 0;
        unrolled! { k in [0 1 2 3] {
            let j = column(k as u32);
            let counts = j < sets.rows2 && (sets.above == 0 || j > i);
            let hits = warp::ballot(FULL_MASK, counts & row.overlaps(&mine[k]));
            if lane == k as u32 {
                word = hits;
            }
        }}
        if lane < WORDS && first_word + lane < words {
            // SAFETY: a word of the matrix, which this lane alone writes.
            unsafe {
                bits.add((i * words + first_word + lane) as usize)
                    .write(word)
            };
        }
        i += slices;
    }
}

/// Writes the indices of a row.
///
/// # Safety
/// `word` is the lane's word of the row, or 0 behind the last one, and the place is the row's own.
#[inline(always)]
unsafe fn write(word: u32, mut place: usize, indices: DeviceSliceMut<u32>) {
    let lane = warp::lane_id();
    let mut with_pairs = warp::ballot(FULL_MASK, word != 0);
    while with_pairs != 0 {
        let from = with_pairs.trailing_zeros();
        with_pairs &= with_pairs - 1;
        let word = warp::shuffle_idx(FULL_MASK, word, from);
        let own = place + (word & ((1 << lane) - 1)).count_ones() as usize;
        if word >> lane & 1 != 0 && own < indices.len() {
            // SAFETY: below the length.
            unsafe { indices.set(own, from * WARP_SIZE + lane) };
        }
        place += word.count_ones() as usize;
    }
}

/// Finds the pairs of all rows.
///
/// # Safety
/// The contract of the kernels `few_…`. The arrays of `shared` have the sizes that [`Shared`]
/// names.
#[inline(always)]
unsafe fn find<T: Number>(arguments: Few<T>, shared: Shared) {
    let Few {
        sets,
        counts,
        offsets,
        indices,
        status,
    } = arguments;
    let me = thread::thread_idx_x();
    if me < 2 {
        // SAFETY: an element for each set.
        unsafe { shared.faults.add(me as usize).write(0) };
    }
    thread::sync_threads();
    let words = sets.rows2.div_ceil(WARP_SIZE);
    // SAFETY: the sets have their rows, at most `FEW_ROWS` each, by the contract of the kernels.
    // Faults are accessed atomically alone until the next barrier. The bits have room for the
    // matrix of `words` in each row, and nothing else uses them.
    unsafe {
        check(sets.set1, sets.rows1, sets.axes, shared.faults);
        if sets.above == 0 {
            check(sets.set2, sets.rows2, sets.axes, shared.faults.add(1));
        }
        test(&sets, words, shared.bits);
    }
    thread::sync_threads();

    // The rows 2t and 2t + 1 of thread t.
    let row = |k: usize| me * PER_THREAD as u32 + k as u32;
    let mut of_rows = [0; PER_THREAD];
    unrolled! { k in [0 1] {
        let mut word = 0;
        while word < words && row(k) < sets.rows1 {
            // SAFETY: `test` wrote the words of all rows before the barrier.
            of_rows[k] += unsafe { shared.bits.add((row(k) * words + word) as usize).read() }.count_ones();
            word += 1;
        }
    }}
    // SAFETY: an element for each warp.
    let (first, pairs) = unsafe { exclusive_sum(of_rows[0] + of_rows[1], shared.of_warps) };
    let starts = [first, first + of_rows[0]];
    unrolled! { k in [0 1] {
        // SAFETY: rows of the first set, and an element for the end.
        unsafe {
            shared.offsets.add(row(k) as usize).write(starts[k]);
            if row(k) <= sets.rows1 && (row(k) as usize) < offsets.len() {
                offsets.set(row(k) as usize, starts[k] as u64);
            }
            if row(k) < sets.rows1 && (row(k) as usize) < counts.len() {
                counts.set(row(k) as usize, of_rows[k]);
            }
        }
    }}
    if me == 0 {
        // SAFETY: three elements; and an element for the end, which no thread has as its row if
        // there are as many rows as there can be.
        unsafe {
            status.set(0, pairs as u64);
            status.set(1, complement(shared.faults.read()));
            status.set(2, complement(shared.faults.add(1).read()));
            if sets.rows1 == FEW_ROWS && offsets.len() > FEW_ROWS as usize {
                offsets.set(FEW_ROWS as usize, pairs as u64);
            }
        }
    }
    thread::sync_threads();

    let (warp, lane) = (me / WARP_SIZE, me % WARP_SIZE);
    let mut i = warp;
    while i < sets.rows1 {
        // SAFETY: a word of the matrix if it is there, and the row's place.
        unsafe {
            let word = if lane < words {
                shared.bits.add((i * words + lane) as usize).read()
            } else {
                0
            };
            write(
                word,
                shared.offsets.add(i as usize).read() as usize,
                indices,
            );
        }
        i += WARPS;
    }
}

/// Returns the complement of a row as 64 bits, of its complement as 32; 0 stays 0.
#[inline(always)]
fn complement(of_row: u32) -> u64 {
    if of_row == 0 { 0 } else { !(!of_row as u64) }
}

/// Returns the sum of the values of all lower threads of the block, and that of all threads.
///
/// # Safety
/// `of_warps` points to an element of shared memory for each warp, which nothing else uses.
#[inline(always)]
unsafe fn exclusive_sum(value: u32, of_warps: *mut u32) -> (u32, u32) {
    let me = thread::thread_idx_x();
    let (warp, lane) = (me / WARP_SIZE, me % WARP_SIZE);
    let mut sum = value;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let below = warp::shuffle_up(FULL_MASK, sum, distance);
        if lane >= distance {
            sum += below;
        }
        distance *= 2;
    }
    if lane == WARP_SIZE - 1 {
        // SAFETY: this warp's element.
        unsafe { of_warps.add(warp as usize).write(sum) };
    }
    thread::sync_threads();
    let (mut before, mut total, mut other) = (sum - value, 0, 0);
    while other < WARPS {
        // SAFETY: each warp wrote its element before the barrier.
        let of_warp = unsafe { of_warps.add(other as usize).read() };
        if other < warp {
            before += of_warp;
        }
        total += of_warp;
        other += 1;
    }
    (before, total)
}

macro_rules! entries {
    ($($type:ty, $name:ident;)*) => {$(
        #[doc = concat!("Finds the pairs of few boxes of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// The slices of `sets` have the rows and axes that it names, at most [`FEW_ROWS`] rows
        /// each, with a matrix of bits of at most [`FEW_WORDS`] words. One block of [`FEW_THREADS`]
        /// threads. `status` has [`FEW_STATUS`] elements; `counts` has an element for each row of
        /// the first set and `offsets` one more, or they have none.
        #[kernel(block = 512)]
        pub unsafe fn $name(arguments: Few<$type>) {
            let shared = Shared {
                bits: shared_array![u32; FEW_WORDS as usize],
                offsets: shared_array![u32; FEW_ROWS as usize],
                of_warps: shared_array![u32; WARPS as usize],
                faults: shared_array![u32; 2],
            };
            // SAFETY: `find` asks what this kernel asks of the sets, the block and the arrays. The
            // arrays of `shared` have the sizes that `Shared` names, and nothing else uses them.
            unsafe { find(arguments, shared) }
        }
    )*};
}

entries! {
    f32, few_f32;
    f64, few_f64;
    i32, few_i32;
}

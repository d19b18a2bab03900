//! Buckets beyond [`LONG`](super::LONG) points: several blocks read each bucket, and narrow the
//! range of the searched key by histograms in global memory. The steps are launches, of which the
//! host waits for none: buckets that need no further histogram pass the later ones.

use cuda_std::prelude::*;

use super::block::{Scratch, THREADS, for_each_key};
use super::range::{BINS, CANDIDATES, Extent, KeyRange};
use crate::keys::{Bucketed, Percentiles, Rank, is_nan};
use crate::points::Value;
use crate::search::partition_point;

/// Threads of a block of the kernels that read points or choose bins.
pub const HUGE_THREADS: u32 = THREADS;

/// The points of a bucket that a block reads.
pub const HUGE_TILE: u32 = 16_384;

/// The state of the search in a bucket. Zeros at first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HugeState {
    /// The complement of the lowest key, so that zeros say "none".
    lowest: u64,
    highest: u64,
    /// The complement of the lowest key behind the range.
    above: u64,
    range: KeyRange,
    count: u32,
    /// The number of candidates.
    held: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
mod plain {
    use super::{HugeState, KeyRange};

    // SAFETY: integers without padding: 24 bytes of 8-byte alignment.
    unsafe impl bytemuck::Zeroable for KeyRange {}
    // SAFETY: integers without padding, `repr(C)` and `Copy`; all bits are values.
    unsafe impl bytemuck::Pod for KeyRange {}
    // SAFETY: integers without padding: 4 · 8 + 24 bytes of 8-byte alignment.
    unsafe impl bytemuck::Zeroable for HugeState {}
    // SAFETY: integers and a `KeyRange` without padding, `repr(C)` and `Copy`; all bits are values.
    unsafe impl bytemuck::Pod for HugeState {}
}

/// The buckets, and what is known of them.
///
/// # Contract
/// All kernels that take this have it as a part of their contract:
/// - the buckets exist, and are those of the points in `Bucketed`, each once;
/// - `tiles` has the exclusive sums of [`huge_tiles`] of the same buckets, and the sum of all;
/// - `states`, `histograms` and `candidates` are as large as said below, and other kernels do not
///   use them;
/// - the launches are in this order, each after the one before has ended: the extents, then for
///   each percentile [`huge_begin`], [`ROUNDS`](super::ROUNDS) times a histogram and
///   [`huge_choose`], the gathering, and [`huge_finish`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Huge {
    /// The buckets.
    pub buckets: DeviceSlice<u32>,
    /// The number of tiles in front of each bucket, and the number of all: an element more than
    /// there are buckets.
    pub tiles: DeviceSlice<u64>,
    /// A state for each bucket. Zeros before the extents are computed.
    pub states: DeviceSliceMut<HugeState>,
    /// [`BINS`] counts for each bucket. Zeros before the first histogram.
    pub histograms: DeviceSliceMut<u32>,
    /// Room for [`CANDIDATES`] keys for each bucket.
    pub candidates: DeviceSliceMut<u64>,
}

/// The points of a tile, and the place of their bucket in the list.
struct Tile {
    entry: usize,
    first: u32,
    length: u32,
}

impl Huge {
    /// Returns the tile of this block, if there is one.
    ///
    /// # Safety
    /// The [contract](Huge#contract).
    #[inline(always)]
    unsafe fn tile<V: Value>(&self, points: &Bucketed<V>) -> Option<Tile> {
        let tile = u64::from(thread::block_idx_x());
        let next = partition_point(0..self.tiles.len(), |entry| {
            // SAFETY: below the length.
            unsafe { self.tiles.at(entry) <= tile }
        });
        if next == self.tiles.len() {
            return None;
        }
        // The first bucket begins with tile 0.
        let entry = next - 1;
        // SAFETY: below the lengths.
        unsafe {
            let (first, end) = points.points(self.buckets.at(entry) as usize);
            let start = first + (tile - self.tiles.at(entry)) as u32 * HUGE_TILE;
            let left = end - start;
            let length = if left < HUGE_TILE { left } else { HUGE_TILE };
            Some(Tile {
                entry,
                first: start,
                length,
            })
        }
    }
}

impl KeyRange {
    /// Returns whether no histogram is needed.
    #[inline(always)]
    fn is_narrow(&self) -> bool {
        self.is_found() || self.count <= CANDIDATES
    }
}

/// Computes the number of tiles of each bucket.
///
/// # Safety
/// `firsts` has the index of the first of `points` points of each of all buckets, in ascending
/// order. The listed buckets exist, and `tiles` has an element for each.
#[kernel]
pub unsafe fn huge_tiles(
    points: usize,
    firsts: DeviceSlice<u32>,
    buckets: DeviceSlice<u32>,
    tiles: DeviceSliceMut<u32>,
) {
    for entry in thread::grid_stride(buckets.len()) {
        // SAFETY: below the lengths.
        unsafe {
            let bucket = buckets.at(entry) as usize;
            let end = if bucket + 1 < firsts.len() {
                firsts.at(bucket + 1)
            } else {
                points as u32
            };
            tiles.set(entry, (end - firsts.at(bucket)).div_ceil(HUGE_TILE));
        }
    }
}

#[inline(always)]
unsafe fn extents<V: Value>(points: Bucketed<V>, huge: Huge) {
    // SAFETY: the contract of the kernel. All threads of the block have the same tile.
    unsafe {
        let Some(tile) = huge.tile(&points) else {
            return;
        };
        let scratch = Scratch::new();
        let mut extent = Extent::NONE;
        for_each_key(&points, tile.first, tile.length, |key| extent.add(key));
        let extent = scratch.extent(extent);
        if thread::thread_idx_x() == 0 && extent.count > 0 {
            let state = huge.states.address(tile.entry);
            atomic::add(&raw mut (*state).count, extent.count);
            atomic::max(&raw mut (*state).lowest, !extent.lowest);
            atomic::max(&raw mut (*state).highest, extent.highest);
        }
    }
}

/// Begins the search for a percentile of each bucket.
///
/// # Safety
/// The [contract](Huge#contract), and `percentile` is below the number of percentiles.
#[kernel]
pub unsafe fn huge_begin(huge: Huge, to: Percentiles, percentile: u32) {
    for entry in thread::grid_stride(huge.buckets.len()) {
        // SAFETY: this thread's state.
        unsafe {
            let state = huge.states.address(entry);
            let all = Extent {
                count: (*state).count,
                lowest: !(*state).lowest,
                highest: (*state).highest,
            };
            // Without a result nothing is searched.
            let mut range = KeyRange {
                low: 0,
                high: 0,
                rest: 0,
                count: 0,
            };
            if all.count > 0 && !is_nan(all.highest) {
                let rank = Rank::new(all.count, to.percents.at(percentile as usize));
                range = KeyRange::new(all, rank.index);
            }
            (*state).range = range;
            (*state).above = 0;
            (*state).held = 0;
        }
    }
}

#[inline(always)]
unsafe fn histogram<V: Value>(points: Bucketed<V>, huge: Huge) {
    // SAFETY: the contract of the kernel. All threads of the block have the same tile and range.
    unsafe {
        let Some(tile) = huge.tile(&points) else {
            return;
        };
        let range = (*huge.states.address(tile.entry)).range;
        if range.is_narrow() {
            return;
        }
        let scratch = Scratch::cleared();
        for_each_key(&points, tile.first, tile.length, |key| {
            if range.has(key) {
                scratch.count(&range, key);
            }
        });
        thread::sync_threads();
        let mut bin = thread::thread_idx_x();
        while bin < BINS {
            let count = scratch.histogram.add(bin as usize).read();
            if count > 0 {
                let place = tile.entry * BINS as usize + bin as usize;
                atomic::add(huge.histograms.address(place), count);
            }
            bin += THREADS;
        }
    }
}

/// Narrows the range of each bucket to a bin, and clears its histogram.
///
/// # Safety
/// The [contract](Huge#contract), and a block for each bucket.
#[kernel(block = 512)]
pub unsafe fn huge_choose(huge: Huge) {
    let entry = thread::block_idx_x() as usize;
    // SAFETY: this block's state and histogram. All threads have the same range.
    unsafe {
        let state = huge.states.address(entry);
        let range = (*state).range;
        if range.is_narrow() {
            return;
        }
        let scratch = Scratch::new();
        let histogram = huge.histograms.address(entry * BINS as usize);
        let range = scratch.narrowed_by(range, histogram);
        if thread::thread_idx_x() == 0 {
            (*state).range = range;
        }
    }
}

#[inline(always)]
unsafe fn gather<V: Value>(points: Bucketed<V>, huge: Huge) {
    // SAFETY: the contract of the kernel. All threads of the block have the same tile and range,
    // and room for the keys of a range of up to that number.
    unsafe {
        let Some(tile) = huge.tile(&points) else {
            return;
        };
        let state = huge.states.address(tile.entry);
        let range = (*state).range;
        let fits = range.count <= CANDIDATES;
        if range.count == 0 || !(fits || range.rest + 1 == range.count) {
            return;
        }
        let scratch = Scratch::new();
        let mut above = Extent::NONE;
        for_each_key(&points, tile.first, tile.length, |key| {
            if key > range.high {
                above.add(key);
            } else if fits && key >= range.low {
                let place = atomic::add(&raw mut (*state).held, 1);
                let place = tile.entry * CANDIDATES as usize + place as usize;
                huge.candidates.set(place, key);
            }
        });
        let above = scratch.extent(above);
        if thread::thread_idx_x() == 0 && above.count > 0 {
            atomic::max(&raw mut (*state).above, !above.lowest);
        }
    }
}

/// Ends the search for a percentile of each bucket, and writes it.
///
/// # Safety
/// The [contract](Huge#contract), and a block for each bucket. `percentile` is below the number of
/// percentiles, and its column has room for all buckets.
#[kernel(block = 512)]
pub unsafe fn huge_finish(huge: Huge, to: Percentiles, percentile: u32) {
    let entry = thread::block_idx_x() as usize;
    // SAFETY: this block's state and candidates. All threads have the same range.
    unsafe {
        let state = *huge.states.address(entry);
        let mut result = f64::NAN;
        if state.range.count > 0 {
            let scratch = Scratch::cleared();
            let mut place = thread::thread_idx_x();
            while place < state.held {
                let key = huge
                    .candidates
                    .at(entry * CANDIDATES as usize + place as usize);
                scratch.candidates.add(place as usize).write(key);
                place += THREADS;
            }
            thread::sync_threads();
            let (lower, upper) = scratch.selected(state.range, state.held, !state.above);
            let percent = to.percents.at(percentile as usize);
            result = Rank::new(state.count, percent).between(lower, upper);
        }
        if thread::thread_idx_x() == 0 {
            to.set(percentile as usize, huge.buckets.at(entry) as usize, result);
        }
    }
}

/// Declares the kernels that read points, for one type of values.
macro_rules! reading {
    ($($type:ident: $extents:ident $histogram:ident $gather:ident;)*) => {$(
        #[doc = concat!("Computes the extents of the keys of each bucket, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// The [contract](Huge#contract), and a block for each tile, at least.
        #[kernel(block = 512)]
        pub unsafe fn $extents(points: Bucketed<$type>, huge: Huge) {
            // SAFETY: this function has the same contract.
            unsafe { extents(points, huge) }
        }

        #[doc = concat!("Counts the keys of each range in its bins, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        #[doc = concat!("As of [`", stringify!($extents), "`].")]
        #[kernel(block = 512)]
        pub unsafe fn $histogram(points: Bucketed<$type>, huge: Huge) {
            // SAFETY: this function has the same contract.
            unsafe { histogram(points, huge) }
        }

        #[doc = concat!("Copies the keys of each range to its candidates, of `", stringify!($type), "`.")]
        ///
        /// # Safety
        #[doc = concat!("As of [`", stringify!($extents), "`].")]
        #[kernel(block = 512)]
        pub unsafe fn $gather(points: Bucketed<$type>, huge: Huge) {
            // SAFETY: this function has the same contract.
            unsafe { gather(points, huge) }
        }
    )*};
}
reading! {
    f32: huge_extents_f32 huge_histogram_f32 huge_gather_f32;
    f64: huge_extents_f64 huge_histogram_f64 huge_gather_f64;
}

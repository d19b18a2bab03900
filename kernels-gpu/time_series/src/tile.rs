//! A block's tile of points in shared memory.

use core::marker::PhantomData;

use cuda_std::prelude::*;

use crate::points::{PAIRS, PER_THREAD, Points, Source, THREADS, TILE, Value, for_pairs, halves};

/// Calls `f` with the number of each of a thread's pairs.
#[inline(always)]
fn each_pair<T>(f: impl Fn(usize) -> T) -> [T; PAIRS as usize] {
    [f(0), f(1), f(2), f(3)]
}

/// A block's points in shared memory, and what stands before them.
///
/// Pairs are permuted among the 8 of each 16 points, by the number of these 16: so no two of 8
/// threads use the same banks, neither when they write neighbouring pairs, as they come from global
/// memory, nor when each reads its own.
pub struct Tile<V> {
    /// The timestamps, the values, the timestamp and the value before the tile's first point, the
    /// places of the first buckets of this tile and the next, and the tile's bits of series' starts.
    /// One pointer, as others would take registers.
    memory: *mut u8,
    values: PhantomData<V>,
}

/// Where a point of the tile stands. Pairs stay together.
#[inline(always)]
fn place(point: u32) -> usize {
    (point ^ (point >> 3 & 14)) as usize
}

/// Words of bits of a tile.
const START_WORDS: usize = TILE as usize / 32;

impl<V: Value> Tile<V> {
    /// Bytes of shared memory: a multiple of 16.
    pub const BYTES: usize =
        TILE as usize * (size_of::<i64>() + size_of::<V>()) + 32 + START_WORDS * size_of::<u32>();

    /// Uses `BYTES` bytes of shared memory from `memory` on.
    ///
    /// # Safety
    /// `memory` points to at least `BYTES` bytes of dynamic shared memory, aligned to 16 bytes.
    #[inline(always)]
    pub unsafe fn new(memory: *mut u8) -> Tile<V> {
        let values = PhantomData;
        Tile { memory, values }
    }

    #[inline(always)]
    fn timestamps(&self) -> *mut i64 {
        self.memory.cast()
    }

    #[inline(always)]
    fn values(&self) -> *mut V {
        self.memory
            .wrapping_add(TILE as usize * size_of::<i64>())
            .cast()
    }

    /// The timestamp and the value before the tile.
    #[inline(always)]
    fn before(&self) -> *mut i64 {
        self.values().wrapping_add(TILE as usize).cast()
    }

    /// The first place of the tile's buckets, and that of the next tile's.
    #[inline(always)]
    fn two_places(&self) -> *mut u64 {
        self.before().wrapping_add(2).cast()
    }

    #[inline(always)]
    fn starts(&self) -> *mut u32 {
        self.two_places().wrapping_add(2).cast()
    }

    /// Loads the tile that begins with point `start`: it is there behind the next barrier.
    ///
    /// # Safety
    /// All threads of a block of [`THREADS`] call this; `start` is a multiple of [`TILE`] below the
    /// number of points. `places` has one element more than there are tiles, or none. Nothing else
    /// uses the memory until the barrier.
    #[inline(always)]
    pub unsafe fn load<S: Source>(
        &self,
        points: &Points<V>,
        places: DeviceSlice<u64>,
        start: usize,
    ) {
        let me = thread::thread_idx_x();
        let len = points.timestamps.len();
        if len - start >= TILE as usize {
            // First all reads, so that they are under way together.
            let from = start + 2 * me as usize;
            let read = |pair: usize| {
                let from = from + pair * 2 * THREADS as usize;
                // SAFETY: the tile is whole, and `from` is even, so that the address is aligned to 16 bytes.
                unsafe { points.timestamps.address(from).cast::<u128>().read() }
            };
            let timestamps = each_pair(read);
            let read = |pair: usize| {
                let from = from + pair * 2 * THREADS as usize;
                // SAFETY: the tile is whole, and there are as many values as timestamps. The slice
                // is aligned to a pair's bits, and `from` is even.
                unsafe { points.values.address(from).cast::<V::Bits>().read() }
            };
            let values = if S::HAS_VALUES {
                Some(each_pair(read))
            } else {
                None
            };
            // SAFETY: all threads are here, and nothing else uses the memory until the barrier, by
            // the contract of this function.
            unsafe { self.load_surroundings::<S>(points, places, start) };
            // Each round of pairs keeps the order that `place` gives to those of the first one.
            let to = place(2 * me);
            for_pairs! { pair {
                // SAFETY: a place for each pair.
                unsafe {
                    let to = to + pair * 2 * THREADS as usize;
                    self.timestamps().add(to).cast::<u128>().write(timestamps[pair]);
                    if let Some(values) = values {
                        self.values().add(to).cast::<V::Bits>().write(values[pair]);
                    }
                }
            }}
            return;
        }
        // SAFETY: all threads are here, and nothing else uses the memory until the barrier, by the
        // contract of this function.
        unsafe { self.load_surroundings::<S>(points, places, start) };
        let mut point = me;
        while point < TILE {
            let from = start + point as usize;
            // Places behind the last point get something.
            let from = if from < len { from } else { len - 1 };
            let to = place(point);
            // SAFETY: below the length, and a place for each point.
            unsafe {
                self.timestamps().add(to).write(points.timestamps.at(from));
                if S::HAS_VALUES {
                    self.values().add(to).write(points.values.at(from));
                }
            }
            point += THREADS;
        }
    }

    /// Loads what stands before the tile, its buckets' places, and where its series begin.
    ///
    /// # Safety
    /// As of [`load`](Self::load).
    #[inline(always)]
    unsafe fn load_surroundings<S: Source>(
        &self,
        points: &Points<V>,
        places: DeviceSlice<u64>,
        start: usize,
    ) {
        let me = thread::thread_idx_x() as usize;
        // SAFETY: the point before the first one, if there is one; the place of this tile's first
        // bucket and the next tile's; a word for each thread that has bits of points.
        unsafe {
            if me == 0 && start > 0 {
                self.before().write(points.timestamps.at(start - 1));
                if S::IS_DIFFERENCE {
                    let value = points.values.at(start - 1);
                    self.before().add(1).cast::<V>().write(value);
                }
            }
            // Read where they are used, behind a barrier, they would keep the block waiting once more.
            if me < 2 && !places.is_empty() {
                let tile = start / TILE as usize;
                self.two_places().add(me).write(places.at(tile + me));
            }
            let word = start / 32 + me;
            if me < START_WORDS && word < points.series_starts.len() {
                self.starts().add(me).write(points.series_starts.at(word));
            }
        }
    }

    /// A pair of a thread's timestamps.
    #[inline(always)]
    pub fn timestamp_pair(&self, thread: u32, pair: u32) -> [i64; 2] {
        // SAFETY: a place for each, written before the barrier behind `load`.
        let bits = unsafe {
            self.timestamps()
                .add(place(thread * PER_THREAD + 2 * pair))
                .cast::<u128>()
                .read()
        };
        let [a, b] = halves(bits);
        [a as i64, b as i64]
    }

    /// A pair of a thread's values.
    #[inline(always)]
    pub fn value_pair(&self, thread: u32, pair: u32) -> [f64; 2] {
        let point = thread * PER_THREAD + 2 * pair;
        // SAFETY: a place for each point, where `load` has written all values before a barrier, if
        // the source has any.
        V::of_bits(unsafe { self.values().add(place(point)).cast::<V::Bits>().read() })
    }

    /// A timestamp of the tile.
    #[inline(always)]
    pub fn timestamp(&self, point: u32) -> i64 {
        // SAFETY: a place for each point of the tile, where `load` has written all timestamps
        // before a barrier.
        unsafe { self.timestamps().add(place(point)).read() }
    }

    /// A value of the tile.
    #[inline(always)]
    pub fn value(&self, point: u32) -> f64 {
        // SAFETY: a place for each point of the tile, where `load` has written all values before a
        // barrier, if the source has any.
        unsafe { self.values().add(place(point)).read() }.to_f64()
    }

    /// The value before a point of the tile, if there is one.
    #[inline(always)]
    pub fn value_before(&self, point: u32) -> f64 {
        if point > 0 {
            return self.value(point - 1);
        }
        // SAFETY: room for a value. If the source is of differences and a point stands before the tile,
        // `load` has written it before a barrier. Otherwise nothing wrote it: any bits are a value of
        // this type, and no caller uses the result.
        unsafe { self.before().add(1).cast::<V>().read() }.to_f64()
    }

    /// Whether a series begins with a point of the tile that begins with point `start`.
    #[inline(always)]
    pub fn begins_series(&self, points: &Points<V>, start: usize, point: u32) -> bool {
        if points.series_starts.is_empty() {
            return start == 0 && point == 0;
        }
        // SAFETY: the tile has a word for each 32 points, and `load` has written those of points
        // before a barrier.
        unsafe { self.starts().add(point as usize / 32).read() >> (point % 32) & 1 != 0 }
    }

    /// The timestamp before the tile, if there is one.
    #[inline(always)]
    pub fn timestamp_before(&self) -> i64 {
        // SAFETY: room for a timestamp; `load` has written it before a barrier if a point stands
        // before the tile.
        unsafe { self.before().read() }
    }

    /// The first place of the tile's buckets, and that of the next tile's, if there are places.
    #[inline(always)]
    pub fn places(&self) -> (u64, u64) {
        let places = self.two_places();
        // SAFETY: room for two numbers. If there are places, `load` has written both before a barrier.
        // Otherwise nothing wrote them: any bits are numbers, and no caller uses them.
        unsafe { (places.read(), places.add(1).read()) }
    }

    /// The bits of this thread's points with which series begin, for points of several series.
    #[inline(always)]
    pub fn series_starts(&self) -> u32 {
        let first = thread::thread_idx_x() * PER_THREAD;
        // SAFETY: the tile has a word for each 32 points, and `load` has written those of points
        // before a barrier.
        unsafe { self.starts().add(first as usize / 32).read() >> (first % 32) & ALL }
    }
}

/// A bit for each of a thread's points.
const ALL: u32 = (1 << PER_THREAD) - 1;

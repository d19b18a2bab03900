//! The points of a launch, and how a block gets its tile of them.

use cuda_std::prelude::*;

use crate::floor::Floor;

/// Threads of a block that aggregates.
pub const THREADS: u32 = 128;

/// Neighbouring points of a thread.
pub const PER_THREAD: u32 = 16;

/// Points of a block.
pub const TILE: u32 = THREADS * PER_THREAD;

/// Pairs of points: of a thread, and of a tile.
const PAIRS: u32 = PER_THREAD / 2;
const TILE_PAIRS: u32 = TILE / 2;

/// Pairs from one thread's first one to the next one's in shared memory.
const STRIDE: u32 = PAIRS + 1;

/// Which points take no part.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceParam)]
pub enum Absent {
    /// None.
    None,
    /// Those with NaN.
    Nan,
    /// Those whose value has the bits of [`ABSENT`].
    Marked,
}

/// A NaN that stands for no value; others stand for NaN.
pub const ABSENT: u64 = u64::MAX;

impl Absent {
    /// Whether a point with this value takes part.
    #[inline(always)]
    pub fn has(self, value: f64) -> bool {
        // First what settles it mostly.
        !value.is_nan()
            || match self {
                Absent::None => true,
                Absent::Nan => false,
                Absent::Marked => value.to_bits() != ABSENT,
            }
    }
}

/// A type of values in memory.
pub trait Value: Copy {
    /// The bits of two that are read at once.
    type Bits: Copy;

    /// The bits of a pair as numbers.
    fn of_bits(bits: Self::Bits) -> Pair<f64>;

    /// The number.
    fn to_f64(self) -> f64;
}

/// Two elements of 8 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct Pair<T>(pub [T; 2]);

/// The halves of what is read at once as a number of 128 bits: of other types compilers make two
/// reads.
#[inline(always)]
pub(crate) fn halves(bits: u128) -> [u64; 2] {
    [bits as u64, (bits >> 64) as u64]
}

impl Value for f64 {
    type Bits = u128;

    #[inline(always)]
    fn of_bits(bits: u128) -> Pair<f64> {
        let [a, b] = halves(bits);
        Pair([f64::from_bits(a), f64::from_bits(b)])
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Value for f32 {
    type Bits = u64;

    #[inline(always)]
    fn of_bits(bits: u64) -> Pair<f64> {
        let (a, b) = (
            f32::from_bits(bits as u32),
            f32::from_bits((bits >> 32) as u32),
        );
        Pair([a as f64, b as f64])
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

/// Series of points, one after the other.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Points<V> {
    /// Of all points, aligned to 16 bytes.
    pub timestamps: DeviceSlice<i64>,
    /// As many, aligned to those of a pair. None if only timestamps matter.
    pub values: DeviceSlice<V>,
    /// A bit for each point, from the lowest of the first word on: whether a series begins with it.
    /// Without words only the first one.
    pub series_starts: DeviceSlice<u32>,
    /// The buckets.
    pub floor: Floor,
    /// Which points take no part.
    pub absent: Absent,
}

/// A block's points in shared memory, with a gap behind those of each thread: so no two of 8
/// threads use the same banks, neither when they write neighbouring pairs, as they come from global
/// memory, nor when each reads its own.
#[derive(Clone, Copy)]
pub struct Tile {
    timestamps: *mut Pair<i64>,
    values: *mut Pair<f64>,
}

/// Where a pair of the tile stands.
#[inline(always)]
fn place(pair: u32) -> usize {
    (pair / PAIRS * STRIDE + pair % PAIRS) as usize
}

/// Where a point of the tile stands.
#[inline(always)]
fn place_of_point(point: u32) -> usize {
    2 * place(point / 2) + point as usize % 2
}

impl Tile {
    /// Loads the tile that begins with point `start`. Without `VALUES` there are none. It ends with
    /// a barrier.
    ///
    /// # Safety
    /// All threads of a block of [`THREADS`] call this, once; `start` is below the number of
    /// points.
    #[inline(always)]
    pub unsafe fn load<V: Value, const VALUES: bool>(points: &Points<V>, start: usize) -> Tile {
        let tile = Tile {
            timestamps: shared_array![Pair<i64>; (THREADS * STRIDE) as usize],
            values: shared_array![Pair<f64>; (THREADS * STRIDE) as usize],
        };
        let me = thread::thread_idx_x();
        let len = points.timestamps.len();
        if len - start >= TILE as usize {
            // First all reads of a round, so that they are under way together.
            unrolled! { round in [0 1] {
                let read = |k: u32| {
                    let from = start + 2 * ((4 * round as u32 + k) * THREADS + me) as usize;
                    // SAFETY: the tile is whole, and what is aligned at its start is so at even
                    // points.
                    unsafe { points.timestamps.address(from).cast::<u128>().read() }
                };
                let timestamps = [read(0), read(1), read(2), read(3)];
                unrolled! { k in [0 1 2 3] {
                    let pair = (4 * round as u32 + k as u32) * THREADS + me;
                    let [a, b] = halves(timestamps[k]);
                    // SAFETY: a place for each pair.
                    unsafe {
                        let to = place(pair);
                        tile.timestamps.add(to).write(Pair([a as i64, b as i64]));
                    }
                }}
                if VALUES {
                    let read = |k: u32| {
                        let from = start + 2 * ((4 * round as u32 + k) * THREADS + me) as usize;
                        // SAFETY: as above.
                        unsafe { points.values.address(from).cast::<V::Bits>().read() }
                    };
                    let values = [read(0), read(1), read(2), read(3)];
                    unrolled! { k in [0 1 2 3] {
                        let pair = (4 * round as u32 + k as u32) * THREADS + me;
                        // SAFETY: as above.
                        unsafe {
                            let to = place(pair);
                            tile.values.add(to).write(V::of_bits(values[k]));
                        }
                    }}
                }
            }}
        } else {
            let mut pair = me;
            while pair < TILE_PAIRS {
                let from = start + 2 * pair as usize;
                let (mut timestamps, mut values) = ([0; 2], [0.0; 2]);
                unrolled! { i in [0 1] {
                    if from + i < len {
                        // SAFETY: below the length.
                        unsafe {
                            timestamps[i] = points.timestamps.at(from + i);
                            if VALUES {
                                values[i] = points.values.at(from + i).to_f64();
                            }
                        }
                    }
                }}
                let to = place(pair);
                // SAFETY: a place for each pair.
                unsafe {
                    tile.timestamps.add(to).write(Pair(timestamps));
                    if VALUES {
                        tile.values.add(to).write(Pair(values));
                    }
                }
                pair += THREADS;
            }
        }
        thread::sync_threads();
        tile
    }

    /// A pair of a thread's timestamps.
    #[inline(always)]
    pub fn timestamps(&self, thread: u32, pair: u32) -> [i64; 2] {
        // SAFETY: a place for each, written before the barrier at the end of `load`.
        unsafe { self.timestamps.add(place(thread * PAIRS + pair)).read().0 }
    }

    /// A pair of this thread's values.
    #[inline(always)]
    pub fn values(&self, pair: u32) -> [f64; 2] {
        // SAFETY: as above.
        unsafe {
            self.values
                .add(place(thread::thread_idx_x() * PAIRS + pair))
                .read()
                .0
        }
    }

    /// A timestamp of the tile.
    #[inline(always)]
    pub fn timestamp(&self, point: u32) -> i64 {
        // SAFETY: as above.
        unsafe {
            self.timestamps
                .cast::<i64>()
                .add(place_of_point(point))
                .read()
        }
    }

    /// A value of the tile.
    #[inline(always)]
    pub fn value(&self, point: u32) -> f64 {
        // SAFETY: as above.
        unsafe { self.values.cast::<f64>().add(place_of_point(point)).read() }
    }
}

/// What a thread knows of its points.
#[derive(Clone, Copy)]
pub struct Mine {
    /// How many there are.
    pub count: u32,
    /// A bit for each with which a bucket begins.
    pub heads: u32,
    /// A bit for each whose timestamp is below that of the one before in the series.
    pub disorder: u32,
    /// A bit for each whose bucket has no label. Later ones of the same series may lack it.
    pub without_label: u32,
}

impl Mine {
    /// Finds out where buckets begin among the points from `first` on, this thread's in the tile.
    #[inline(always)]
    pub fn find<V: Copy>(points: &Points<V>, tile: &Tile, first: usize) -> Mine {
        let me = thread::thread_idx_x();
        let len = points.timestamps.len();
        let count = if first >= len {
            0
        } else if len - first < PER_THREAD as usize {
            (len - first) as u32
        } else {
            PER_THREAD
        };
        let mut starts = 0;
        if count > 0 && !points.series_starts.is_empty() {
            // SAFETY: there is a bit for each point.
            starts = unsafe { points.series_starts.at(first / 32) } >> (first % 32) & 0xffff;
        }
        let mut before = i64::MIN;
        if first == 0 {
            starts |= 1;
        } else if me > 0 {
            before = tile.timestamps(me - 1, PAIRS - 1)[1];
        } else {
            // SAFETY: the tile has points, and this one stands before them.
            before = unsafe { points.timestamps.at(first - 1) };
        }
        let mut mine = Mine {
            count,
            heads: 0,
            disorder: 0,
            without_label: 0,
        };
        if starts != 0 || !mine.find_quickly(&points.floor, tile, before) {
            mine.find_carefully(&points.floor, tile, before, starts);
        }
        let there = (1 << count) - 1;
        mine.heads &= there;
        mine.disorder &= there;
        mine.without_label &= there;
        mine
    }

    /// For points of one series, behind `before`: a new bucket is mostly the next one, which takes
    /// no division. Whether they are in order, or perhaps not.
    #[inline(always)]
    fn find_quickly(&mut self, floor: &Floor, tile: &Tile, before: i64) -> bool {
        let mut before = before;
        let mut start = floor.floor(before);
        // The sign of a difference that is negative, or does not fit.
        let mut signs = 0;
        unrolled! { pair in [0 1 2 3 4 5 6 7] {
            let timestamps = tile.timestamps(thread::thread_idx_x(), pair as u32);
            unrolled! { i in [0 1] {
                let timestamp = timestamps[i];
                signs |= timestamp.wrapping_sub(before);
                let within = timestamp.wrapping_sub(start) as u64;
                if within >= floor.width() as u64 {
                    self.heads |= 1 << (2 * pair + i);
                    if within - (floor.width() as u64) < floor.width() as u64 {
                        start = start.wrapping_add(floor.width());
                    } else {
                        start = floor.floor(timestamp);
                    }
                }
                before = timestamp;
            }}
        }}
        signs >= 0
    }

    /// For all points.
    #[inline(always)]
    fn find_carefully(&mut self, floor: &Floor, tile: &Tile, before: i64, starts: u32) {
        self.heads = starts;
        let mut before = before;
        let mut bucket_before = floor.bucket(before);
        let mut index = 0;
        while index < PER_THREAD {
            let pair = tile.timestamps(thread::thread_idx_x(), index / 2);
            let timestamp = if index % 2 == 0 { pair[0] } else { pair[1] };
            let bucket = floor.bucket(timestamp);
            let bit = 1 << index;
            if bucket != bucket_before {
                self.heads |= bit;
            }
            if timestamp < before && starts & bit == 0 {
                self.disorder |= bit;
            }
            if timestamp < floor.lowest() {
                self.without_label |= bit;
            }
            before = timestamp;
            bucket_before = bucket;
            index += 1;
        }
    }
}

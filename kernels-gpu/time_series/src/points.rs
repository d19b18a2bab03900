//! The points of a launch.

use cuda_std::prelude::*;

use crate::floor::Floor;

/// Threads of a block that aggregates.
pub const THREADS: u32 = 128;

/// Neighbouring points of a thread.
pub const PER_THREAD: u32 = 8;

/// Points of a block.
pub const TILE: u32 = THREADS * PER_THREAD;

/// Pairs of a thread's points.
pub(crate) const PAIRS: u32 = PER_THREAD / 2;

/// Repeats a block for each of a thread's pairs of points.
macro_rules! for_pairs {
    ($pair:ident $body:block) => {
        unrolled! { $pair in [0 1 2 3] $body }
    };
}
pub(crate) use for_pairs;

/// Which points take no part.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceParam)]
pub enum Absent {
    /// None.
    None,
    /// Points whose value is NaN.
    Nan,
    /// Points whose value has the bits of [`ABSENT`].
    Marked,
}

/// The bits of the NaN that marks a missing value. Every other NaN is a value.
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
    fn of_bits(bits: Self::Bits) -> [f64; 2];

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
    fn of_bits(bits: u128) -> [f64; 2] {
        let [a, b] = halves(bits);
        [f64::from_bits(a), f64::from_bits(b)]
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Value for f32 {
    type Bits = u64;

    #[inline(always)]
    fn of_bits(bits: u64) -> [f64; 2] {
        let (a, b) = (
            f32::from_bits(bits as u32),
            f32::from_bits((bits >> 32) as u32),
        );
        [a as f64, b as f64]
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
    /// The timestamp of each point, aligned to 16 bytes.
    pub timestamps: DeviceSlice<i64>,
    /// The value of each point, aligned to a pair of values. Empty if only timestamps are needed.
    pub values: DeviceSlice<V>,
    /// A bit for each point, from the lowest of the first word on: whether a series begins with it.
    /// Without words only the first one.
    pub series_starts: DeviceSlice<u32>,
    /// The buckets.
    pub floor: Floor,
    /// Which points take no part.
    pub absent: Absent,
}

/// Whether there are values, and what is made of them.
pub trait Source: Copy + 'static {
    /// Whether there are values: else all points have 0.
    const HAS_VALUES: bool;
    /// Whether a point's value is the difference to the value before it in its series. The first
    /// point of a series takes no part.
    const IS_DIFFERENCE: bool = false;
}

/// No values.
#[derive(Clone, Copy)]
pub struct NoValues;

impl Source for NoValues {
    const HAS_VALUES: bool = false;
}

/// The values as they are.
#[derive(Clone, Copy)]
pub struct Values;

impl Source for Values {
    const HAS_VALUES: bool = true;
}

/// Differences of neighbouring values.
#[derive(Clone, Copy)]
pub struct Differences;

impl Source for Differences {
    const HAS_VALUES: bool = true;
    const IS_DIFFERENCE: bool = true;
}

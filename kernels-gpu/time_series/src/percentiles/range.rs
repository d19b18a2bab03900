//! The search for the key of a rank: a range of keys becomes narrower.

use cuda_std::prelude::*;

use crate::keys::NO_KEY;

/// Bits of a bin's number.
const BIN_BITS: u32 = 11;

/// Bins of a histogram.
pub const BINS: u32 = 1 << BIN_BITS;

/// The largest number of keys in a range that a block copies to shared memory.
pub const CANDIDATES: u32 = 2048;

/// Histograms after which every range is a single key: keys have 64 bits.
pub const ROUNDS: u32 = u64::BITS.div_ceil(BIN_BITS);

/// The number of keys of a bucket, and the lowest and highest of them.
#[derive(Clone, Copy)]
pub struct Extent {
    pub count: u32,
    /// [`NO_KEY`] if there is no key.
    pub lowest: u64,
    /// 0 if there is no key.
    pub highest: u64,
}

impl Extent {
    /// The extent of no keys.
    pub const NONE: Extent = Extent {
        count: 0,
        lowest: NO_KEY,
        highest: 0,
    };

    /// Adds a key, unless the point is not there.
    #[inline(always)]
    pub fn add(&mut self, key: u64) {
        if key != NO_KEY {
            self.count += 1;
            self.lowest = if key < self.lowest { key } else { self.lowest };
            self.highest = if key > self.highest {
                key
            } else {
                self.highest
            };
        }
    }

    /// Returns the extent of both.
    #[inline(always)]
    pub fn joined(self, other: Extent) -> Extent {
        let Extent {
            count,
            lowest,
            highest,
        } = other;
        Extent {
            count: self.count + count,
            lowest: if lowest < self.lowest {
                lowest
            } else {
                self.lowest
            },
            highest: if highest > self.highest {
                highest
            } else {
                self.highest
            },
        }
    }

    /// Returns the extent of the keys of all lanes. All lanes of the warp call this.
    #[inline(always)]
    pub fn of_warp(self) -> Extent {
        Extent {
            count: warp::reduce_sum(self.count),
            lowest: warp::reduce_min(self.lowest),
            highest: warp::reduce_max(self.highest),
        }
    }
}

/// The keys from `low` to `high`, `count` of a bucket's, among which the one with the index `rest`
/// is searched.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub low: u64,
    pub high: u64,
    pub rest: u32,
    pub count: u32,
}

impl KeyRange {
    /// Returns the range of all keys, for the one at the index `rank` in ascending order.
    #[inline(always)]
    pub fn new(all: Extent, rank: u32) -> KeyRange {
        KeyRange {
            low: all.lowest,
            high: all.highest,
            rest: rank,
            count: all.count,
        }
    }

    /// Returns whether only one key is left.
    #[inline(always)]
    pub fn is_found(&self) -> bool {
        self.low == self.high
    }

    /// Returns whether a key is in the range.
    #[inline(always)]
    pub fn has(&self, key: u64) -> bool {
        key.wrapping_sub(self.low) <= self.high - self.low
    }

    /// The bits of a key's distance from `low` that do not choose its bin.
    #[inline(always)]
    fn shift(&self) -> u32 {
        let bits = u64::BITS - (self.high - self.low).leading_zeros();
        bits.saturating_sub(BIN_BITS)
    }

    /// Returns the bin of a key of the range.
    #[inline(always)]
    pub fn bin(&self, key: u64) -> u32 {
        ((key - self.low) >> self.shift()) as u32
    }

    /// Returns the range of a bin with `count` keys, behind `before` keys in the bins below.
    #[inline(always)]
    pub fn narrowed(&self, bin: u32, before: u32, count: u32) -> KeyRange {
        let shift = self.shift();
        let low = self.low + (u64::from(bin) << shift);
        // The last bin may end behind the range, and even behind the last number.
        let within = (1 << shift) - 1;
        let high = if within < self.high - low {
            low + within
        } else {
            self.high
        };
        KeyRange {
            low,
            high,
            rest: self.rest - before,
            count,
        }
    }
}

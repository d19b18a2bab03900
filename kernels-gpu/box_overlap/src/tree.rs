//! The tree of bounding boxes over the sorted second set: where what stands, and one step of a
//! search.
//!
//! Boxes are *entries* of levels: those of level 0 are the leaves, the boxes themselves, and an
//! entry of level l + 1 is the bounding box of four neighbours of level l, which make a *node*. So
//! the tree has no pointers: child c of node i of level l is entry 4i + c of that level, and below
//! it lies node 4i + c of level l − 1. The one node of the highest level is the root. Nodes that
//! are not full have NaN for the missing entries, which overlaps nothing.
//!
//! What limits a search is how much it reads, so a node has its entries in 7 bits a limit. It is 12
//! words: the lowest coordinates of its frame, the bounding box of its entries, along x, y and z;
//! the reciprocals of the frame's extents; then the entries' minima along x, y and z and their
//! maxima, a byte for each of the four entries. A limit is brought to 0 to 127 by a map that never
//! falls, the same for entries and queries. So boxes that overlap also do by these numbers, and the
//! few others that do are told apart at the leaves, which are also there as they are: 24 `f32` for
//! each node of level 0, the four leaves' minima along x, then along y and z, then the maxima.

use cuda_std::prelude::*;

use crate::boxes::FilterBox;
use crate::counters::Counters;
use crate::levels::{CHILDREN, LEAF_WORDS, MAX_LEVELS, NODE_WORDS, first_node_word};

/// Words that are read and written with one instruction.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Four(pub [u32; 4]);

/// The highest bit of each byte.
const HIGH_BITS: u32 = 0x8080_8080;

/// The frame of a node along one axis.
#[derive(Clone, Copy)]
pub struct Frame {
    /// Finite, so that no difference from it is NaN.
    pub low: f32,
    /// Neither negative nor infinite; 0 if the extent is 0 or infinite.
    pub scale: f32,
}

impl Frame {
    /// The frame from `low` to `high`.
    #[inline(always)]
    pub fn new(low: f32, high: f32) -> Frame {
        let low = low.clamp(-f32::MAX, f32::MAX);
        let extent = high - low;
        let mut scale = 0.0;
        if extent > 0.0 {
            scale = (1.0 / extent).min(f32::MAX);
        }
        Frame { low, scale }
    }

    /// Where a coordinate is in the frame, 0 to 127: never falling, since each step rounds to
    /// nearest. With a scale of 0 all are 0, also NaN, the product of 0 and an infinite difference.
    #[inline(always)]
    pub fn place(self, coordinate: f32) -> u32 {
        // `f32::max` returns 0 if the product is NaN.
        let above = ((coordinate - self.low) * self.scale).max(0.0);
        let share = if above < 1.0 { above } else { 1.0 };
        // The last bits of a number from 2²³ on are those of an integer.
        (share * 127.0 + 8_388_608.0).to_bits() & 0x7f
    }
}

/// The bytes of an entry in the six words of its node's limits, in the lowest place. Of an entry
/// that is missing, NaN, the minima are above all places.
#[inline(always)]
pub fn limits(frames: &[Frame; 3], entry: &FilterBox) -> [u32; 6] {
    let mut limits = [0x80; 6];
    if !entry.min[0].is_nan() {
        unrolled! { axis in [0 1 2] {
            limits[axis] = frames[axis].place(entry.min[axis]);
            // The highest bit is set here, so that no search need do it.
            limits[axis + 3] = frames[axis].place(entry.max[axis]) | 0x80;
        }}
    }
    limits
}

/// A bit for each entry whose limits overlap those of `query`.
#[inline(always)]
pub fn overlapping(frames: &[Frame; 3], limits: [u32; 6], query: &FilterBox) -> u32 {
    let mut all = HIGH_BITS;
    unrolled! { axis in [0 1 2] {
        let low = frames[axis].place(query.min[axis]) * 0x0101_0101;
        let high = (frames[axis].place(query.max[axis]) * 0x0101_0101) | HIGH_BITS;
        // The highest bit of a byte stays unless what is taken away is more than the rest: no byte
        // borrows from the next.
        all &= (high - limits[axis]) & (limits[axis + 3] - low);
    }}
    // The bits 0, 8, 16 and 24 become the four highest.
    (all >> 7).wrapping_mul(0x1020_4080) >> 28
}

/// The tree of the second set.
#[derive(Clone, Copy)]
pub struct Tree {
    words: *const u32,
    /// In shared memory: the first word of each level's nodes.
    firsts: *const u64,
}

impl Tree {
    /// Brings to shared memory where the levels begin; has a barrier.
    ///
    /// # Safety
    /// `words` are those of a tree of `leaves`, and `counters` those of its search; `firsts` points
    /// to [`MAX_LEVELS`] elements of shared memory; all threads of the block, a warp at least, call
    /// this.
    #[inline(always)]
    pub unsafe fn load(
        words: DeviceSlice<u32>,
        leaves: u32,
        counters: DeviceSlice<u64>,
        firsts: *mut u64,
    ) -> Tree {
        let level = thread::thread_idx_x() as usize;
        if level < MAX_LEVELS {
            // SAFETY: an element for each level.
            unsafe {
                let first = counters.at(Counters::FIRST_NODES + level) * NODE_WORDS as u64;
                firsts
                    .add(level)
                    .write(first_node_word(leaves) as u64 + first);
            }
        }
        thread::sync_threads();
        Tree {
            words: words.as_ptr(),
            firsts,
        }
    }

    /// A bit for each entry of a node that may overlap `query`, and for each one that does.
    ///
    /// # Safety
    /// The tree has the level, and the level the node.
    #[inline(always)]
    pub unsafe fn overlapping(&self, level: u32, node: u32, query: &FilterBox) -> u32 {
        // SAFETY: the level has a first node, and the node its words, aligned as all nodes are.
        let [a, b, c] = [0, 4, 8].map(|part| unsafe {
            let first = self.firsts.add(level as usize).read() as usize;
            let place = first + node as usize * NODE_WORDS + part;
            self.words.add(place).cast::<Four>().read().0
        });
        let frame = |low, scale| Frame {
            low: f32::from_bits(low),
            scale: f32::from_bits(scale),
        };
        let frames = [frame(a[0], a[3]), frame(a[1], b[0]), frame(a[2], b[1])];
        overlapping(&frames, [b[2], b[3], c[0], c[1], c[2], c[3]], query)
    }

    /// Whether a leaf overlaps `query`.
    ///
    /// # Safety
    /// `leaf` is below the number of leaves.
    #[inline(always)]
    pub unsafe fn leaf_overlaps(&self, leaf: u32, query: &FilterBox) -> bool {
        let place = (leaf / CHILDREN) as usize * LEAF_WORDS + (leaf % CHILDREN) as usize;
        // SAFETY: the leaves are first, and the leaf has its numbers.
        let number =
            |part: usize| f32::from_bits(unsafe { self.words.add(place + 4 * part).read() });
        number(0) <= query.max[0]
            && number(1) <= query.max[1]
            && number(2) <= query.max[2]
            && number(3) >= query.min[0]
            && number(4) >= query.min[1]
            && number(5) >= query.min[2]
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn box_of(min: [f32; 3], max: [f32; 3]) -> FilterBox {
        FilterBox { min, max }
    }

    fn overlap(a: &FilterBox, b: &FilterBox) -> bool {
        (0..3).all(|axis| a.min[axis] <= b.max[axis] && a.max[axis] >= b.min[axis])
    }

    /// Limits of boxes: ordinary, huge, tiny and infinite.
    const COORDINATES: [f32; 12] = [
        f32::NEG_INFINITY,
        -f32::MAX,
        -3.0,
        -1e-40,
        0.0,
        1e-45,
        1.0,
        1.000_000_1,
        2.5,
        1e30,
        f32::MAX,
        f32::INFINITY,
    ];

    #[test]
    fn places_never_fall() {
        for low in COORDINATES {
            for high in COORDINATES.into_iter().filter(|&high| high >= low) {
                let frame = Frame::new(low, high);
                let places: Vec<u32> = COORDINATES.iter().map(|&x| frame.place(x)).collect();
                assert!(places.is_sorted(), "{low} to {high}: {places:?}");
                assert!(places.iter().all(|&place| place < 128));
            }
        }
        assert_eq!(Frame::new(1.0, 3.0).place(3.0), 127);
        assert_eq!(Frame::new(1.0, 3.0).place(1.0), 0);
    }

    #[test]
    fn no_entry_that_overlaps_is_left_out() {
        let intervals: Vec<(f32, f32)> = (0..12)
            .flat_map(|low| (low..12).map(move |high| (COORDINATES[low], COORDINATES[high])))
            .collect();
        let mut left_out = 0;
        for (i, &(low, high)) in intervals.iter().enumerate() {
            for (j, &(from, to)) in intervals.iter().enumerate() {
                // The third axis has other intervals than the first.
                let (k, l) = (intervals[(i + 5) % 78], intervals[(3 * j + 1) % 78]);
                let entry = box_of([low, 0.0, k.0], [high, 1.0, k.1]);
                let query = box_of([from, 1.0, l.0], [to, 9.0, l.1]);
                let frames = [(-3.0, 2.5), (0.0, 1.0), (k.0, k.1)].map(|(a, b)| Frame::new(a, b));
                let missing = box_of([f32::NAN; 3], [f32::NAN; 3]);
                let entries = [&missing, &entry, &missing, &entry];
                let mut words = [0; 6];
                for (child, entry) in entries.into_iter().enumerate() {
                    for (word, limit) in words.iter_mut().zip(limits(&frames, entry)) {
                        *word |= limit << (8 * child);
                    }
                }
                let hits = overlapping(&frames, words, &query);
                assert!(hits == 0 || hits == 0b1010, "{hits:b}");
                assert!(
                    hits != 0 || !overlap(&entry, &query),
                    "{entry:?}, {query:?}"
                );
                left_out += u32::from(hits == 0);
            }
        }
        assert!(left_out > 1000, "{left_out}");
    }
}

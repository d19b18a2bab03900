//! The buffers of each phase, besides the boxes, the indices of the pairs, and the buffers of rows
//! left to warps.

use box_overlap_kernels::{Counters, FEW_STATUS, SLOTS};
use gridstride_primitives::{PairSort, sums_bytes};
use gridstride_runtime::device::workspace;
use gridstride_runtime::partition::bytes_of;

use super::options::Algorithm;
use super::tuning::{self, BruteShape};

workspace! {
    /// The search among few boxes.
    pub struct Least(rows1: usize, rows2: usize) {
        /// Where each row's pairs begin, and where the last row's pairs end.
        offsets: u64 = rows1 + 1,
        /// The pairs, if there are no more than usual.
        indices: u32 = tuning::few_pairs(rows1, rows2),
        status: u64 = FEW_STATUS,
    }
}

workspace! {
    /// The brute force. `rows` counts both sets.
    pub struct Testing(rows1: usize, rows: usize, shape: BruteShape) {
        /// Two for each row.
        codes: f32 = 2 * rows,
        /// \[row\]\[chunk\]
        chunk_counts: u32 = rows1 * shape.chunks as usize,
        tiles_with_pairs: u32 = shape.words(),
        /// Where each row's pairs begin, and where the last row's pairs end.
        offsets: u64 = rows1 + 1,
    }
}

workspace! {
    /// The search in the tree of the second set.
    pub struct Searching(rows1: usize, rows2: usize) {
        tree: u32 = tuning::tree_words(rows2 as u32),
        /// The pairs of each query, in the order of the tree.
        slots: u32 = rows1 * SLOTS,
        /// Rows that are left to warps.
        left: u64 = rows1,
    }
}

/// Estimates the bytes of a search in two sets, besides the boxes and the pairs.
pub fn bytes(algorithm: Algorithm, rows1: usize, rows2: usize) -> u64 {
    if tuning::are_few(algorithm, rows1 as u32, rows2 as u32) {
        return Least::bytes(rows1, rows2) + bytes_of(rows1, size_of::<u32>());
    }
    // A tree has at least one node.
    let (rows, rows2) = (rows1 + rows2, rows2.max(1));
    let phase = if tuning::tests_every_pair(algorithm, rows1 as u32, rows2 as u32) {
        let shape = BruteShape::new(rows1 as u32, rows2 as u32);
        let sums = sums_bytes(rows1 * shape.chunks as usize);
        Testing::bytes(rows1, rows, shape) + sums
    } else {
        let order = 4 * rows as u64;
        let searched = order + Searching::bytes(rows1, rows2) + sums_bytes(rows1);
        searched.max(PairSort::bytes(rows))
    };
    let counts = bytes_of(Counters::COUNT, size_of::<u64>()) + bytes_of(rows1, size_of::<u32>());
    counts + phase
}

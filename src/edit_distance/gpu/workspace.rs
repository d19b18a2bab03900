//! Temporary buffers: the estimate of their bytes. Their numbers of elements follow from the pairs,
//! and most of the lists are made on the host.

use edit_distance_kernels::{Job, Pair, edges};

use super::tuning::{Lengths, is_long};
use crate::partition::bytes_of;
use crate::sequences::likely_bits;

/// Returns the bytes of the letters and the offsets of one side. The letters take more if later
/// ones need more bits than the first ones.
pub fn text_bytes(codes: &[u8], sequences: usize) -> u64 {
    let bits = u64::from(likely_bits(codes));
    (codes.len() as u64 * bits).div_ceil(8) + bytes_of(sequences + 1, size_of::<u64>())
}

/// Returns the most bytes of a pair beside the letters: its places in the lists and the result, and
/// the edges between strips.
pub fn pair_bytes(lengths: Lengths) -> u64 {
    let lists = size_of::<Job>() + size_of::<u32>();
    let result = size_of::<u32>();
    let of_long = match is_long(lengths) {
        true => size_of::<Pair>() as u64 + edges(lengths.1) * size_of::<u64>() as u64,
        false => 0,
    };
    (lists + result) as u64 + of_long
}

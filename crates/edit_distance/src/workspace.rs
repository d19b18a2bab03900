//! Temporary buffers: the estimate of their bytes. Their numbers of elements follow from the pairs,
//! and most of the lists are made on the host.

use edit_distance_kernels::{Job, Pair, STRIP_ROWS, edges};
use gridstride_runtime::partition::bytes_of;
use gridstride_sequences::likely_bits;

use super::input::HostPairs;

/// The letters of a pair: those of the shorter sequence, and those of the longer one.
pub type Lengths = (u32, u32);

/// Whether a pair is computed by a block of threads.
pub fn is_long((rows, _): Lengths) -> bool {
    rows > STRIP_ROWS
}

/// Returns the lengths of a pair.
pub fn shorter_first(a: usize, b: usize) -> Lengths {
    (a.min(b) as u32, a.max(b) as u32)
}

/// Estimates the bytes that pairs take on a device.
pub fn bytes(pairs: &HostPairs) -> u64 {
    let texts = [pairs.a, pairs.b].map(|view| text_bytes(view.own_codes(), view.len()));
    let of_pair = |i| pair_bytes(shorter_first(pairs.a.length(i), pairs.b.length(i)));
    let of_pairs: u64 = (0..pairs.out.len()).map(of_pair).sum();
    texts[0] + texts[1] + of_pairs
}

/// Returns the bytes of the letters and the offsets of one side. The letters take more if later
/// ones need more bits than the first ones.
fn text_bytes(codes: &[u8], sequences: usize) -> u64 {
    let bits = u64::from(likely_bits(codes));
    (codes.len() as u64 * bits).div_ceil(8) + bytes_of(sequences + 1, size_of::<u64>())
}

/// Returns the most bytes of a pair beside the letters: its places in the lists and the result, and
/// the edges between strips.
fn pair_bytes(lengths: Lengths) -> u64 {
    let lists = size_of::<Job>() + size_of::<u32>();
    let result = size_of::<u32>();
    let of_long = match is_long(lengths) {
        true => size_of::<Pair>() as u64 + edges(lengths.1) * size_of::<u64>() as u64,
        false => 0,
    };
    (lists + result) as u64 + of_long
}

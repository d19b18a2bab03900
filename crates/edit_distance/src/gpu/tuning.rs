//! Launch shapes: the lanes and warps of each pair.

use edit_distance_kernels::{MAX_WARPS, STRIP_ROWS};

use crate::workspace::Lengths;

/// The words of rows per lane for which there are kernels for short pairs.
pub const WORDS: [u32; 3] = [1, 2, 4];

/// Instructions of a step: a line fitted to those of the kernels for letters of 2 bits. The kernel
/// of 4 words has 61, where the line has 63.
const fn instructions(words: u32) -> u32 {
    12 * words + 15
}

/// Warps on each multiprocessor that hide the latency of a step. Long pairs take more warps each
/// until there are as many.
const WARPS_PER_PROCESSOR: usize = 12;

/// The number of combinations of a kernel and the lanes of a pair.
pub const SHAPES: usize = WORDS.len() * 32;

/// The index of the words per lane, and the lanes of a short pair, by the number of words that hold
/// a bit for each of its rows. This is a table because the divisions take longer than everything
/// else that the host does for a pair.
pub static LANES: [(usize, usize); (STRIP_ROWS / 32) as usize + 1] = {
    let mut all = [(0, 0); (STRIP_ROWS / 32) as usize + 1];
    let mut words_of_rows = 0;
    while words_of_rows < all.len() {
        all[words_of_rows] = lanes(words_of_rows as u32);
        words_of_rows += 1;
    }
    all
};

/// Returns the index of the words per lane, and the lanes, that take the fewest instructions for
/// `words_of_rows` words of rows.
const fn lanes(words_of_rows: u32) -> (usize, usize) {
    let (mut best, mut least, mut index) = ((0, 0), u64::MAX, 0);
    while index < WORDS.len() {
        let lanes = words_of_rows.div_ceil(WORDS[index]);
        let lanes = if lanes == 0 { 1 } else { lanes };
        if lanes <= 32 {
            // Per pair, with a common denominator of all numbers up to 32 that occur.
            let cost = instructions(WORDS[index]) as u64 * 720_720 / (32 / lanes) as u64;
            if cost < least {
                (best, least) = ((index, lanes as usize), cost);
            }
        }
        index += 1;
    }
    best
}

/// Columns from which on a band is computed first.
const LONG_ENOUGH_FOR_A_BAND: u32 = 8 * STRIP_ROWS;

/// Returns the distance up to which a long pair is computed first: the band for an eighth of the
/// columns takes about a quarter of the entries, or less, and suffices for similar sequences.
pub fn first_limit((rows, columns): Lengths, limit: u32) -> u32 {
    let eighth = columns / 8;
    match columns >= LONG_ENOUGH_FOR_A_BAND && columns - rows <= eighth {
        true => limit.min(eighth),
        false => limit,
    }
}

/// Returns the warps of each long pair: enough for the whole GPU, but no more than the longest
/// pair has strips, and as few as take the same number of rounds.
pub fn warps(rows: impl ExactSizeIterator<Item = u32>, processors: usize) -> u32 {
    let needed = (processors * WARPS_PER_PROCESSOR).div_ceil(rows.len().max(1));
    let strips = rows
        .map(|rows| rows.div_ceil(STRIP_ROWS))
        .max()
        .unwrap_or(1);
    let most = (needed.min(MAX_WARPS as usize) as u32).clamp(1, strips);
    strips.div_ceil(strips.div_ceil(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::is_long;

    #[test]
    fn every_kernel_is_reached() {
        let of_rows = |rows: u32| LANES[rows.div_ceil(32) as usize];
        assert_eq!(of_rows(0), (0, 1));
        assert_eq!(of_rows(32), (0, 1));
        assert_eq!(of_rows(64), (1, 1));
        assert_eq!(of_rows(128), (2, 1));
        assert_eq!(of_rows(1000), (2, 8));
        assert_eq!(of_rows(1030), (2, 9));
        assert_eq!(of_rows(STRIP_ROWS), (2, 32));
        assert!(is_long((STRIP_ROWS + 1, u32::MAX)));
        for rows in 0..=STRIP_ROWS {
            let (words, lanes) = of_rows(rows);
            assert!((1..=32).contains(&lanes));
            assert!(32 * WORDS[words] * lanes as u32 >= rows);
        }
    }

    #[test]
    fn long_pairs_fill_the_gpu() {
        let of = |pairs, rows| warps(vec![rows; pairs].into_iter(), 132);
        assert_eq!(of(1, 4097), 2);
        assert_eq!(of(1, 100_000), 7);
        assert_eq!(of(1000, 100_000), 2);
        assert_eq!(of(5000, 100_000), 1);
        assert_eq!(of(0, 0), 1);
    }

    #[test]
    fn similar_sequences_take_a_band() {
        let most = u32::MAX;
        assert_eq!(first_limit((100_000, 101_000), most), 12_625);
        assert_eq!(first_limit((100_000, 101_000), 700), 700);
        assert_eq!(first_limit((20_000, 101_000), most), most);
        assert_eq!(first_limit((32_000, 32_000), most), most);
    }
}

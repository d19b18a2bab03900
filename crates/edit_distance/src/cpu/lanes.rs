//! The lanes of a vector, each with 64 rows of a strip.
//!
//! Lane l computes column j − l in step j, so that the lanes of a step do not depend on each other.
//! A lane gets the differences of the last row of the lane above, which it computed one step before.

use pulp::Simd;

/// The most lanes of a vector.
pub const MOST_LANES: usize = 8;

/// Columns that are computed as one unit.
pub const CHUNK: usize = 64;

/// Horizontal differences, one bit per column in each word, the first column's in the highest bit:
/// those of +1, and those of −1.
#[derive(Clone, Copy)]
pub struct Edge {
    pub plus: u64,
    pub minus: u64,
}

impl Edge {
    /// The upper edge of a table: entry j of row 0 is j.
    pub const OF_TABLE: Edge = Edge {
        plus: u64::MAX,
        minus: 0,
    };

    /// Returns the sum of the differences whose bits are in the mask.
    pub fn sum(self, mask: u64) -> i64 {
        i64::from((self.plus & mask).count_ones()) - i64::from((self.minus & mask).count_ones())
    }
}

/// The rows of a strip: their letters, and the differences of the columns that the lanes have
/// reached. See the kernels' `lane.rs`, which has words of 32 bits where this has vectors.
pub struct Lanes<S: Simd, const PLANES: usize> {
    planes: [S::u64s; PLANES],
    plus: S::u64s,
    minus: S::u64s,
    /// The differences of each lane's last row, in the highest bits, in the column of the last step.
    below_plus: S::u64s,
    below_minus: S::u64s,
    one: S::u64s,
    zero: S::u64s,
    all: S::u64s,
    /// The first lane.
    first: S::m64s,
}

impl<S: Simd, const PLANES: usize> Lanes<S, PLANES> {
    #[inline(always)]
    pub fn new(simd: S, rows: &[u8]) -> Self {
        let mut planes = [[0u64; MOST_LANES]; PLANES];
        for (row, letter) in rows.iter().enumerate() {
            for (k, plane) in planes.iter_mut().enumerate() {
                plane[row / 64] |= u64::from(letter >> k & 1) << (row % 64);
            }
        }
        let (zero, all) = (simd.splat_u64s(0), simd.splat_u64s(u64::MAX));
        let mut vectors = [zero; PLANES];
        for (vector, plane) in vectors.iter_mut().zip(&planes) {
            *vector = load(simd, plane);
        }
        let first = load(simd, &[u64::MAX, 0, 0, 0, 0, 0, 0, 0]);
        Lanes {
            planes: vectors,
            plus: all,
            minus: zero,
            below_plus: zero,
            below_minus: zero,
            one: simd.splat_u64s(1),
            zero,
            all,
            first: simd.equal_u64s(first, all),
        }
    }

    /// Computes a chunk of columns, and returns the differences of the last lane's last row.
    /// `MASKED` leaves out the steps of each lane whose bits in `active` are 0.
    #[inline(always)]
    pub fn chunk<const MASKED: bool>(
        &mut self,
        simd: S,
        letters: &[[u64; MOST_LANES]; PLANES],
        above: Edge,
        active: &[u64; MOST_LANES],
    ) -> Edge {
        // Registers, not memory, during the loop.
        let planes = self.planes;
        let (mut plus, mut minus) = (self.plus, self.minus);
        let (mut below_plus, mut below_minus) = (self.below_plus, self.below_minus);
        let mut words = [self.zero; PLANES];
        for (word, letters) in words.iter_mut().zip(letters) {
            *word = load(simd, letters);
        }
        let mut active = load(simd, active);
        let (mut first_plus, mut first_minus) =
            (simd.splat_u64s(above.plus), simd.splat_u64s(above.minus));
        let (mut collected_plus, mut collected_minus) = (self.zero, self.zero);
        for _ in 0..CHUNK {
            let above_plus = simd.rotate_right_u64s(below_plus, 1);
            let above_plus = simd.select_u64s(self.first, first_plus, above_plus);
            let above_minus = simd.rotate_right_u64s(below_minus, 1);
            let above_minus = simd.select_u64s(self.first, first_minus, above_minus);
            first_plus = simd.add_u64s(first_plus, first_plus);
            first_minus = simd.add_u64s(first_minus, first_minus);

            let mut different = self.zero;
            for (plane, letters) in planes.iter().zip(&mut words) {
                let bit = simd.select_u64s(highest(simd, *letters), self.all, self.zero);
                different = simd.or_u64s(different, simd.xor_u64s(*plane, bit));
                *letters = simd.add_u64s(*letters, *letters);
            }
            let equal = simd.not_u64s(different);
            let vertical = simd.or_u64s(equal, minus);
            // A difference of −1 above the first row works like an equal letter there.
            let equal = simd.or_u64s(equal, self.highest_bit(simd, above_minus));
            let sum = simd.add_u64s(simd.and_u64s(equal, plus), plus);
            let horizontal = simd.or_u64s(simd.xor_u64s(sum, plus), equal);
            let to_plus = simd.or_u64s(minus, simd.not_u64s(simd.or_u64s(horizontal, plus)));
            let to_minus = simd.and_u64s(plus, horizontal);
            let shifted_plus = self.shift_in(simd, to_plus, above_plus);
            let shifted_minus = self.shift_in(simd, to_minus, above_minus);
            let new_plus = simd.not_u64s(simd.or_u64s(vertical, shifted_plus));
            let new_plus = simd.or_u64s(shifted_minus, new_plus);
            let new_minus = simd.and_u64s(shifted_plus, vertical);
            if MASKED {
                let is_active = highest(simd, active);
                active = simd.add_u64s(active, active);
                plus = simd.select_u64s(is_active, new_plus, plus);
                minus = simd.select_u64s(is_active, new_minus, minus);
                below_plus = simd.select_u64s(is_active, to_plus, below_plus);
                below_minus = simd.select_u64s(is_active, to_minus, below_minus);
            } else {
                (plus, minus) = (new_plus, new_minus);
                (below_plus, below_minus) = (to_plus, to_minus);
            }
            collected_plus = self.shift_in(simd, collected_plus, below_plus);
            collected_minus = self.shift_in(simd, collected_minus, below_minus);
        }
        (self.plus, self.minus) = (plus, minus);
        (self.below_plus, self.below_minus) = (below_plus, below_minus);
        let last = S::U64_LANES - 1;
        Edge {
            plus: stored(simd, collected_plus)[last],
            minus: stored(simd, collected_minus)[last],
        }
    }

    /// Shifts to the left by one bit, and takes the highest bits of `below` in.
    #[inline(always)]
    fn shift_in(&self, simd: S, words: S::u64s, below: S::u64s) -> S::u64s {
        simd.or_u64s(simd.add_u64s(words, words), self.highest_bit(simd, below))
    }

    /// Returns the highest bit of each word as its lowest bit.
    #[inline(always)]
    fn highest_bit(&self, simd: S, words: S::u64s) -> S::u64s {
        simd.select_u64s(highest(simd, words), self.one, self.zero)
    }

    /// Returns the difference between the entry in the last of `rows` rows and the entry above the
    /// first row.
    #[inline(always)]
    pub fn height(&self, simd: S, rows: usize) -> i64 {
        let (plus, minus) = (stored(simd, self.plus), stored(simd, self.minus));
        let of_lane = |lane: usize| {
            // The lowest bits are the first rows.
            let mask = !bits_from(rows.saturating_sub(64 * lane)).reverse_bits();
            let (plus, minus) = (plus[lane] & mask, minus[lane] & mask);
            i64::from(plus.count_ones()) - i64::from(minus.count_ones())
        };
        (0..S::U64_LANES).map(of_lane).sum()
    }
}

/// Whether the highest bit of each word is 1.
#[inline(always)]
fn highest<S: Simd>(simd: S, words: S::u64s) -> S::m64s {
    simd.less_than_i64s(simd.transmute_i64s_u64s(words), simd.splat_i64s(0))
}

#[inline(always)]
fn load<S: Simd>(simd: S, words: &[u64; MOST_LANES]) -> S::u64s {
    simd.partial_load_u64s(&words[..S::U64_LANES])
}

#[inline(always)]
fn stored<S: Simd>(simd: S, words: S::u64s) -> [u64; MOST_LANES] {
    let mut stored = [0; MOST_LANES];
    simd.partial_store_u64s(&mut stored[..S::U64_LANES], words);
    stored
}

/// Returns a word with all bits but the highest `count`.
pub fn bits_from(count: usize) -> u64 {
    match count {
        0..64 => u64::MAX >> count,
        _ => 0,
    }
}

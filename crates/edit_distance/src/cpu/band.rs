//! The entries of D in a band around the diagonal, in strips of rows.
//!
//! A path from D\[0, 0\] to D\[m, n\], n ≥ m, through an entry on diagonal j − i = o has at least
//! |o| + |n − m − o| insertions and deletions. So distances of up to k depend only on diagonals from
//! −(k − n + m) / 2 to (k + n − m) / 2.
//!
//! The rows are cut into strips. A strip has the columns in which one of its rows is in the band,
//! and begins as if letters were only inserted in the first of them; where the strip above has
//! ended, its lowest row goes on as if letters were only deleted. All entries are then lengths of
//! some paths, and those on paths in the band are exact.

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;
use pulp::Arch;

use super::diagonals::{BandedPair, Scratch};

/// The most words of rows of a strip.
const MOST_WORDS: usize = 8;

/// Memory that the computation of one pair leaves to the next one.
#[derive(Default)]
pub struct Band {
    /// For each letter, and each word of rows of the strip: the rows with this letter.
    equal: Vec<u64>,
    /// For each column of the strip above, the difference of its last row to the column before: bit
    /// 0 if it is +1, bit 1 if it is −1.
    edge: Vec<u8>,
    diagonals: Scratch,
}

/// A difference of +1, as in row 0 of D.
const PLUS: u8 = 1;

impl Band {
    /// Returns the distance of two sequences of codes below `bound`, if it is at most `reach`, and
    /// otherwise a larger number. There are no more rows than columns, at least one row, and `reach`
    /// is at least the difference of their numbers.
    pub fn distance(
        &mut self,
        rows: &[u8],
        columns: &[u8],
        bound: usize,
        reach: u32,
    ) -> Result<u32> {
        match rows.len() {
            ..=64 => self.strips::<1>(rows, columns, bound, reach),
            65..=128 => self.strips::<2>(rows, columns, bound, reach),
            129..=256 => self.strips::<4>(rows, columns, bound, reach),
            _ => {
                let pair = BandedPair {
                    scratch: &mut self.diagonals,
                    rows,
                    columns,
                    bound,
                    reach,
                };
                match Arch::new().dispatch(pair)? {
                    Some(distance) => Ok(distance),
                    None => self.words(rows, columns, bound, reach),
                }
            }
        }
    }

    /// As [`distance`](Self::distance), without vectors.
    fn words(&mut self, rows: &[u8], columns: &[u8], bound: usize, reach: u32) -> Result<u32> {
        self.strips::<MOST_WORDS>(rows, columns, bound, reach)
    }

    fn strips<const WORDS: usize>(
        &mut self,
        rows: &[u8],
        columns: &[u8],
        bound: usize,
        reach: u32,
    ) -> Result<u32> {
        let (m, n) = (rows.len(), columns.len());
        let (difference, reach) = (n - m, reach as usize);
        let (left, right) = ((reach - difference) / 2, (reach + difference) / 2);
        let letters = bound * WORDS;
        let more = letters.saturating_sub(self.equal.len());
        reserve(&mut self.equal, more)?;
        self.equal.resize(letters, 0);
        let more = n.saturating_sub(self.edge.len());
        reserve(&mut self.edge, more)?;
        self.edge.clear();
        self.edge.resize(n, PLUS);

        // The entry above the strip's rows, in the column before its first one.
        let mut corner = 0i64;
        let mut first_row = 0;
        loop {
            let strip = &rows[first_row..m.min(first_row + 64 * WORDS)];
            let end_row = first_row + strip.len();
            let begin = first_row.saturating_sub(left);
            let end = n.min(end_row + right);
            let mut words = Words::<WORDS>::new(strip, &mut self.equal);
            if end_row == m {
                // The last strip: the distance is on the way along its upper edge, and down.
                for (&letter, edge) in columns[begin..end].iter().zip(&self.edge[begin..end]) {
                    corner += signed(*edge);
                    words.step(&self.equal, letter, *edge);
                }
                let distance = corner + words.height(strip.len());
                return Ok(u32::try_from(distance).unwrap_or(u32::MAX));
            }
            for (&letter, edge) in columns[begin..end].iter().zip(&mut self.edge[begin..end]) {
                *edge = words.step(&self.equal, letter, *edge);
            }
            // Beyond its end the strip's last row goes on in steps of +1, as the edge says already.
            let next = end_row.saturating_sub(left);
            corner += strip.len() as i64;
            corner += self.edge[begin..next]
                .iter()
                .map(|&edge| signed(edge))
                .sum::<i64>();
            first_row = end_row;
        }
    }
}

/// Returns the difference that an element of an edge stands for.
fn signed(edge: u8) -> i64 {
    i64::from(edge & 1) - i64::from(edge >> 1)
}

/// The differences of the entries in a column of a strip to the entries above them.
struct Words<const WORDS: usize> {
    /// The rows whose difference is +1.
    plus: [u64; WORDS],
    /// The rows whose difference is −1.
    minus: [u64; WORDS],
}

impl<const WORDS: usize> Words<WORDS> {
    /// Returns the column before the first one, and writes the rows of each letter to `equal`.
    fn new(rows: &[u8], equal: &mut [u64]) -> Self {
        equal.fill(0);
        for (row, &letter) in rows.iter().enumerate() {
            equal[usize::from(letter) * WORDS + row / 64] |= 1 << (row % 64);
        }
        Words {
            plus: [u64::MAX; WORDS],
            minus: [0; WORDS],
        }
    }

    /// Goes on to the next column. Takes the difference above its first row, and returns the
    /// difference of its last row.
    #[inline(always)]
    fn step(&mut self, equal: &[u64], letter: u8, above: u8) -> u8 {
        let equal = &equal[usize::from(letter) * WORDS..][..WORDS];
        let (mut above_plus, mut above_minus) = (u64::from(above & 1), u64::from(above >> 1));
        let mut carry = false;
        for w in 0..WORDS {
            let (plus, minus) = (self.plus[w], self.minus[w]);
            let vertical = equal[w] | minus;
            // A difference of −1 above the first row works like an equal letter there.
            let equal = match w {
                0 => equal[w] | above_minus,
                _ => equal[w],
            };
            let (sum, first) = (equal & plus).overflowing_add(plus);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first | second;
            let horizontal = (sum ^ plus) | equal;
            let to_plus = minus | !(horizontal | plus);
            let to_minus = plus & horizontal;
            let shifted_plus = to_plus << 1 | above_plus;
            let shifted_minus = to_minus << 1 | above_minus;
            self.plus[w] = shifted_minus | !(vertical | shifted_plus);
            self.minus[w] = shifted_plus & vertical;
            (above_plus, above_minus) = (to_plus >> 63, to_minus >> 63);
        }
        (above_plus | above_minus << 1) as u8
    }

    /// Returns the difference between the entry in the last of `rows` rows and the entry above the
    /// first row.
    fn height(&self, rows: usize) -> i64 {
        let mut height = 0;
        for w in 0..WORDS {
            let mask = match rows.saturating_sub(64 * w) {
                count @ 0..64 => (1 << count) - 1,
                _ => u64::MAX,
            };
            height += i64::from((self.plus[w] & mask).count_ones());
            height -= i64::from((self.minus[w] & mask).count_ones());
        }
        height
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use pulp::Simd;
    use pulp::x86::{V3, V4};

    use super::*;
    use crate::reference;

    /// With and without vectors, and with all vectors that the machine has.
    #[test]
    fn every_instruction_set_gives_the_same() {
        let text = |length: u32, factor: u32, bound: u32| -> Vec<u8> {
            let codes = (1..=length).map(|i| (i.wrapping_mul(factor) >> 9) % bound);
            codes.map(|code| code as u8).collect()
        };
        let mut band = Band::default();
        for (m, n) in [
            (1, 1),
            (63, 64),
            (257, 300),
            (512, 512),
            (513, 700),
            (1300, 1301),
        ] {
            for bound in [1, 4, 5, 32, 33, 256] {
                let (mut rows, columns) =
                    (text(m, 0x9e37_79b9, bound), text(n, 0x85eb_ca6b, bound));
                // The second half is equal.
                let half = m as usize / 2;
                rows[half..].copy_from_slice(&columns[half..m as usize]);
                let expected = reference::edit_distance(rows[..].into(), columns[..].into());
                for reach in [n - m, expected.saturating_sub(1), expected, expected + 9, n] {
                    if reach < n - m {
                        continue;
                    }
                    let mut job = |vectors: Option<u32>| {
                        let bound = bound as usize;
                        let Some(bits) = vectors else {
                            return Some(band.words(&rows, &columns, bound, reach).unwrap());
                        };
                        let pair = BandedPair {
                            scratch: &mut band.diagonals,
                            rows: &rows,
                            columns: &columns,
                            bound,
                            reach,
                        };
                        let found = match bits {
                            256 => Simd::vectorize(V3::try_new()?, pair),
                            _ => Simd::vectorize(V4::try_new()?, pair),
                        };
                        found.unwrap()
                    };
                    for found in [None, Some(256), Some(512)].map(&mut job) {
                        let case = format!("{m}, {n}, {bound} letters, reach {reach}: {found:?}");
                        match found {
                            Some(found) if expected <= reach => {
                                assert_eq!(found, expected, "{case}")
                            }
                            Some(found) => assert!(found > reach, "{case}"),
                            None => {}
                        }
                    }
                }
            }
        }
    }
}

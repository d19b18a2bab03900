//! The rows of a lane: their letters, and the differences of the column that the lane has reached.

use cuda_std::prelude::*;

use crate::input::Sequence;

/// Columns that are computed as one unit.
pub const CHUNK: u32 = 32;

/// Horizontal differences, one bit per entry in each word: those of +1, and those of −1.
#[derive(Clone, Copy)]
pub struct Edge {
    pub plus: u32,
    pub minus: u32,
}

impl Edge {
    /// Returns the sum of the differences whose bits are in the mask. Wraps below 0.
    #[inline(always)]
    pub fn sum(self, mask: u32) -> u32 {
        let minus = (self.minus & mask).count_ones();
        (self.plus & mask).count_ones().wrapping_sub(minus)
    }

    /// The upper edge of a table: entry j of row 0 is j.
    pub const OF_TABLE: Edge = Edge {
        plus: u32::MAX,
        minus: 0,
    };
}

/// 32 · `WORDS` rows, whose letters have `PLANES` bits.
pub struct Lane<const PLANES: usize, const WORDS: usize> {
    /// Bit k of each row's letter is in plane k. Comparing a letter with all rows takes one
    /// instruction per plane and word, whatever the alphabet, and no memory.
    planes: [[u32; WORDS]; PLANES],
    /// The rows whose entry is that of the row above plus 1.
    plus: [u32; WORDS],
    /// The rows whose entry is that of the row above minus 1.
    minus: [u32; WORDS],
    /// The differences of the last row, in the highest bits, in the column of the last step.
    below: Edge,
    /// Whether the rows above are another warp's, or there are none.
    is_first: bool,
    /// Columns that the lane is behind the first lane of its pair.
    delay: u32,
}

impl<const PLANES: usize, const WORDS: usize> Lane<PLANES, WORDS> {
    /// Returns lane `number` of a strip of rows that begins with row `first_row`, in the column
    /// before the first one.
    #[inline(always)]
    pub fn new(rows: &Sequence, first_row: u64, number: u32) -> Self {
        let first = first_row as i64 + (number * 32) as i64 * WORDS as i64;
        let mut planes = [[0; WORDS]; PLANES];
        // Written out, since a thread's array is in registers only if every index is known.
        unrolled! { word in [0 1 2 3] {
            if word < WORDS {
                let of_word = planes_of::<PLANES>(rows, first + 32 * word as i64);
                let mut k = 0;
                while k < PLANES {
                    planes[k][word] = of_word[k];
                    k += 1;
                }
            }
        }}
        Lane {
            planes,
            plus: [u32::MAX; WORDS],
            minus: [0; WORDS],
            below: Edge { plus: 0, minus: 0 },
            is_first: number == 0,
            delay: number,
        }
    }

    /// Computes a chunk of columns, in which the first lane's first column is `first`, and returns
    /// the horizontal differences of the lane's last row: the first column's in the highest bit.
    ///
    /// The differences above the first lane come in the same order, and in each chunk anew; without
    /// `STRIPS` they are those of the table's edge. With `MASKED` the lane leaves out columns that
    /// are not in `begin..end`. All lanes of the warp call it.
    #[inline(always)]
    pub fn chunk<const STRIPS: bool, const MASKED: bool>(
        &mut self,
        columns: &Sequence,
        (begin, end): (i64, i64),
        first: i64,
        mut above: Edge,
    ) -> Edge {
        let mut collected = Edge { plus: 0, minus: 0 };
        let mut column = first - self.delay as i64;
        let mut part = 0;
        while part < PLANES {
            let mut letters = columns.letters::<PLANES>(column);
            let mut quarter = 0;
            while quarter < 8 / PLANES {
                unrolled! { i in [0 1 2 3] {
                    let own = column + i as i64;
                    let is_active = !MASKED || own >= begin && own < end;
                    self.step::<MASKED>(letters >> (i * PLANES), is_active, above);
                    if STRIPS {
                        above.plus <<= 1;
                        above.minus <<= 1;
                        collected.plus = collected.plus << 1 | self.below.plus >> 31;
                        collected.minus = collected.minus << 1 | self.below.minus >> 31;
                    }
                }}
                // In two steps, since a shift by 32 bits is none.
                letters = letters >> (2 * PLANES) >> (2 * PLANES);
                column += 4;
                quarter += 1;
            }
            part += 1;
        }
        collected
    }

    /// Computes the lane's next column, whose letter is in the lowest bits.
    #[inline(always)]
    fn step<const MASKED: bool>(&mut self, letter: u32, is_active: bool, above: Edge) {
        let shuffled_plus = warp::shuffle_up(warp::FULL_MASK, self.below.plus, 1);
        let shuffled_minus = warp::shuffle_up(warp::FULL_MASK, self.below.minus, 1);
        let (above_plus, above_minus) = if self.is_first {
            (above.plus, above.minus)
        } else {
            (shuffled_plus, shuffled_minus)
        };
        // Bits of the rows with another letter.
        let mut different = [0; WORDS];
        let mut k = 0;
        while k < PLANES {
            let bit = ((letter << (31 - k)) as i32 >> 31) as u32;
            let mut w = 0;
            while w < WORDS {
                different[w] |= self.planes[k][w] ^ bit;
                w += 1;
            }
            k += 1;
        }
        let (mut plus, mut minus) = ([0; WORDS], [0; WORDS]);
        let (mut before_plus, mut before_minus) = (above_plus, above_minus);
        // A difference of −1 above the first row works like an equal letter there.
        let mut equal = [0; WORDS];
        let mut w = 0;
        while w < WORDS {
            equal[w] = !different[w];
            if w == 0 {
                equal[w] |= above_minus >> 31;
            }
            w += 1;
        }
        let sum = sum_of_equal(equal, self.plus);
        let mut w = 0;
        while w < WORDS {
            let vertical = !different[w] | self.minus[w];
            let horizontal = (sum[w] ^ self.plus[w]) | equal[w];
            let to_plus = self.minus[w] | !(horizontal | self.plus[w]);
            let to_minus = self.plus[w] & horizontal;
            // The differences of the row above each row.
            let shifted_plus = to_plus << 1 | before_plus >> 31;
            let shifted_minus = to_minus << 1 | before_minus >> 31;
            plus[w] = shifted_minus | !(vertical | shifted_plus);
            minus[w] = shifted_plus & vertical;
            (before_plus, before_minus) = (to_plus, to_minus);
            w += 1;
        }
        if !MASKED || is_active {
            self.plus = plus;
            self.minus = minus;
            self.below = Edge {
                plus: before_plus,
                minus: before_minus,
            };
        }
    }

    /// Returns the difference between the entry in row `end` of the lane's column, or in its last
    /// row if that is less, and the entry above its first row. Wraps below 0.
    #[inline(always)]
    pub fn height(&self, end: u64, first_row: u64) -> u32 {
        let first = first_row + (self.delay * 32) as u64 * WORDS as u64;
        let mut height = 0u32;
        let mut word = 0;
        while word < WORDS {
            let rows = end.saturating_sub(first + 32 * word as u64).min(32);
            let mask = ((1u64 << rows) - 1) as u32;
            height = height
                .wrapping_add((self.plus[word] & mask).count_ones())
                .wrapping_sub((self.minus[word] & mask).count_ones());
            word += 1;
        }
        height
    }
}

/// Returns (`equal` & `plus`) + `plus`, as one number of all words.
#[inline(always)]
fn sum_of_equal<const WORDS: usize>(equal: [u32; WORDS], plus: [u32; WORDS]) -> [u32; WORDS] {
    // Wide numbers have carries in hardware; they are put together at no cost.
    let (mut matched, mut all) = (0u128, 0u128);
    let mut w = 0;
    while w < WORDS {
        matched |= ((equal[w] & plus[w]) as u128) << (32 * w);
        all |= (plus[w] as u128) << (32 * w);
        w += 1;
    }
    let wide = matched.wrapping_add(all);
    let mut sum = [0; WORDS];
    let mut w = 0;
    while w < WORDS {
        sum[w] = (wide >> (32 * w)) as u32;
        w += 1;
    }
    sum
}

/// Returns the bits of the letters of 32 rows, in planes.
#[inline(always)]
fn planes_of<const PLANES: usize>(rows: &Sequence, first: i64) -> [u32; PLANES] {
    let mut planes = [0; PLANES];
    let mut part = 0;
    while part < PLANES {
        let mut letters = rows.letters::<PLANES>(first + (part * (32 / PLANES)) as i64);
        let mut i = 0;
        while i < 32 / PLANES {
            let mut k = 0;
            while k < PLANES {
                // After 32 letters the first one has arrived at the lowest bit.
                planes[k] = planes[k] >> 1 | (letters >> k) << 31;
                k += 1;
            }
            letters >>= PLANES;
            i += 1;
        }
        part += 1;
    }
    planes
}

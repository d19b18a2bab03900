//! Writing the sums of a warp, 16 rows of the instructions of its warp group, to C of f32, f16 or
//! bf16.

use cuda_std::narrow;
use cuda_std::prelude::*;
use cuda_std::wgmma::Sums;

use crate::cast::{f32_of_bf16, f32_of_f16};
use crate::persistent::{Persistent, ROWS};
use crate::product::{Sum, Target, write};
use crate::wgmma::{self, Bf16, F16};

/// How the sums of products of a type become elements of C.
pub trait Results<C: Copy> {
    /// Writes a warp's sums: 16 rows from `row` on, of columns from `column` on, of matrix number
    /// `result`.
    ///
    /// # Safety
    /// C has the matrix, and no other warp writes these elements.
    unsafe fn write<const SUMS: usize>(
        product: &Persistent<C>,
        result: u32,
        row: u32,
        column: u32,
        sums: &[f32; SUMS],
    );
}

/// Row and column of a lane's first sum.
#[inline(always)]
fn of_lane(row: u32, column: u32) -> (u32, u32) {
    let lane = thread::thread_idx_x() % 32;
    (row + lane / 4, column + lane % 4 * 2)
}

macro_rules! sums {
    ($($kind:ty)*) => {$(
        impl Results<f32> for $kind {
            #[inline(always)]
            unsafe fn write<const SUMS: usize>(
                product: &Persistent<f32>,
                result: u32,
                row: u32,
                column: u32,
                sums: &[f32; SUMS],
            ) {
                let Persistent { c, m, n, alpha, beta, .. } = *product;
                let target = Target::of_matrix(c, result as usize, [m, n], alpha, beta);
                let columns = 2 * SUMS as u32;
                // The same for all warps of a block: only then are the instructions few.
                let is_plain = target.is_plain(row / ROWS * ROWS, column, ROWS, columns, 2);
                let (row, column) = of_lane(row, column);
                // SAFETY: by the contract of `Results::write`, C has the matrix and no other warp
                // writes these elements, of which each lane has its own. `is_plain` and
                // `reads_pairs` say which way of writing holds.
                unsafe {
                    if is_plain {
                        wgmma::write::<SUMS, true>(&target, row, column, sums);
                    } else if target.reads_pairs() {
                        add(&target, row, column, sums);
                    } else {
                        wgmma::write::<SUMS, false>(&target, row, column, sums);
                    }
                }
            }
        }
    )*};
}
sums! { F16 Bf16 }

/// Writes a lane's sums to a C that is read, of which the first belongs to `row` and `column`. All
/// pairs of a round are on their way before the first is written; the second round takes the
/// registers of the sums that the first has written.
///
/// # Safety
/// No other lane has these elements, and C is read in pairs.
#[inline(always)]
unsafe fn add<const SUMS: usize>(target: &Target<f32>, row: u32, column: u32, sums: &[f32; SUMS]) {
    macro_rules! round {
        ($first:literal, $values:literal: [$($pair:literal)*]) => {
            let mut before = [0.0f32; $values];
            unrolled! { pair in [$($pair)*] {
                if 2 * pair < SUMS {
                    let (half, j) = (pair / (SUMS / 4), pair % (SUMS / 4));
                    let i = 2 * (pair - $first);
                    let row = row + 8 * half as u32;
                    // SAFETY: by the contract of this function, no other lane has these elements,
                    // and C is read in pairs.
                    let there = unsafe { target.read_pair(row, column, 8 * j) };
                    [before[i], before[i + 1]] = there;
                }
            }}
            // Else the compiler moves each read to where its pair is written.
            before.hold();
            unrolled! { pair in [$($pair)*] {
                if 2 * pair < SUMS {
                    let (half, j) = (pair / (SUMS / 4), pair % (SUMS / 4));
                    let (i, place) = (2 * (pair - $first), (4 * j + 2 * half) % SUMS);
                    let before = [before[i], before[i + 1]];
                    let sums = [sums[place], sums[place + 1]];
                    let row = row + 8 * half as u32;
                    // SAFETY: the pair is that which `read_pair` has read above, and no other lane
                    // has it.
                    unsafe { target.add_pair(row, column, 8 * j, before, sums) };
                }
            }}
        };
    }
    round!(0, 32: [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]);
    round!(16, 64: [16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47]);
    round!(48, 32: [48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63]);
}

macro_rules! rounded {
    ($($kind:ty: $pair:ident $wide:ident;)*) => {$(
        impl Results<u16> for $kind {
            #[inline(always)]
            unsafe fn write<const SUMS: usize>(
                product: &Persistent<u16>,
                result: u32,
                row: u32,
                column: u32,
                sums: &[f32; SUMS],
            ) {
                // SAFETY: both functions share the contract of `Results::write`. What
                // `write_pieces` asks for besides, beta 0 and `n` a multiple of 8, has been
                // compared.
                unsafe {
                    if product.beta == 0.0 && product.n.is_multiple_of(8) {
                        write_pieces(product, result, row, column, sums, narrow::$pair);
                    } else {
                        write_each(product, result, row, column, sums, narrow::$pair, $wide);
                    }
                }
            }
        }
    )*};
}
rounded! {
    F16: f16_pair f32_of_f16;
    Bf16: bf16_pair f32_of_bf16;
}

/// Writes 16 bytes at a time: four lanes that have two columns each of 32 columns swap them, so that
/// each has 8 columns. Then four lanes write 64 bytes of a row.
///
/// # Safety
/// As of [`Results::write`]; `n` is a multiple of 8 and beta is 0.
#[inline(always)]
unsafe fn write_pieces<const SUMS: usize>(
    product: &Persistent<u16>,
    result: u32,
    row: u32,
    column: u32,
    sums: &[f32; SUMS],
    round: impl Fn(f32, f32) -> u32 + Copy,
) {
    let Persistent { c, m, n, alpha, .. } = *product;
    let lane = thread::thread_idx_x() % 32;
    let (my_row, my_column) = (row + lane / 4, column + lane % 4 * 8);
    let is_odd = lane & 1 == 1;
    let is_upper = lane & 2 == 2;
    let first = (result as usize * m as usize + my_row as usize) * n as usize + my_column as usize;
    unrolled! { half in [0 1] {
        let is_there = my_row + 8 * (half as u32) < m;
        let first = first + 8 * half * n as usize;
        unrolled! { group in [0 1 2 3 4 5 6 7] {
            if 16 * group < SUMS {
                let pair = |i: usize| {
                    let place = (16 * group + 4 * i + 2 * half) % SUMS;
                    round(alpha * sums[place], alpha * sums[place + 1])
                };
                // Word i of lane t becomes word t of lane i.
                let words = [pair(0), pair(1), pair(2), pair(3)];
                let words = swap(words, [0, 1, 2, 3], is_odd, 1);
                let words = swap(words, [0, 2, 1, 3], is_upper, 2);
                if is_there && my_column + 32 * (group as u32) < n {
                    // SAFETY: by the contract of `Results::write`, C has the row, and no other warp
                    // writes these elements. `n` and `my_column` are multiples of 8, so the row has
                    // all 8 of this lane or none, and they are at a multiple of 16 bytes, since C
                    // begins at one or whole rows behind one.
                    unsafe { write(c.address(first + 32 * group).cast::<u32>(), words) };
                }
            }
        }}
    }}
}

/// Swaps words with the lane whose number differs by `distance`: of the pairs (a, b) and (c, d) a
/// lane that is the upper one of the two gives a and c, the lower one b and d.
#[inline(always)]
fn swap(words: [u32; 4], [a, b, c, d]: [usize; 4], is_upper: bool, distance: u32) -> [u32; 4] {
    let mut words = words;
    let mut exchange = |low: usize, high: usize| {
        let given = if is_upper { words[low] } else { words[high] };
        let taken = warp::shuffle_xor(warp::FULL_MASK, given, distance);
        if is_upper {
            words[low] = taken;
        } else {
            words[high] = taken;
        }
    };
    exchange(a, b);
    exchange(c, d);
    words
}

/// Writes element by element, for any beta and number of columns.
///
/// # Safety
/// As of [`Results::write`].
#[inline(always)]
unsafe fn write_each<const SUMS: usize>(
    product: &Persistent<u16>,
    result: u32,
    row: u32,
    column: u32,
    sums: &[f32; SUMS],
    round: impl Fn(f32, f32) -> u32 + Copy,
    wide: impl Fn(u16) -> u32 + Copy,
) {
    let Persistent {
        c,
        m,
        n,
        alpha,
        beta,
        ..
    } = *product;
    let (row, column) = of_lane(row, column);
    let first = (result as usize * m as usize + row as usize) * n as usize + column as usize;
    unrolled! { half in [0 1] {
        unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
            if 4 * j < SUMS && row + 8 * (half as u32) < m {
                let place = (4 * j + 2 * half) % SUMS;
                let to = first + 8 * half * n as usize + 8 * j;
                let value = |i: usize| {
                    let product = alpha * sums[place + i];
                    if beta == 0.0 || column + (8 * j + i) as u32 >= n {
                        return product;
                    }
                    // SAFETY: the caller keeps the contract of `Results::write`, which this
                    // function shares.
                    f32::multiply_add(beta, f32::from_bits(wide(unsafe { c.at(to + i) })), product)
                };
                let words = round(value(0), value(1));
                // SAFETY: the caller keeps the contract of `Results::write`, which this function
                // shares.
                unsafe {
                    if column + 8 * (j as u32) < n {
                        c.set(to, words as u16);
                    }
                    if column + 8 * (j as u32) + 1 < n {
                        c.set(to + 1, (words >> 16) as u16);
                    }
                }
            }
        }}
    }}
}

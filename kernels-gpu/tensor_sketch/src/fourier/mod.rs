//! The Fourier form: matrices of chunks by operators of several letters from shared memory, their
//! composition, and the way back.
//!
//! `gridstride::tensor_sketch` states the mathematics (lanes, chunks, composition). In short: in
//! each lane, D/2 of them, a text has a unipotent upper triangular (t+1)×(t+1) matrix S of numbers
//! x + y·z, where z² = −1 except in lane 0, where z² = +1. The matrix of a concatenation is the
//! product of the matrices, and t(t+1)/2 entries above the diagonal have to be kept.
//!
//! | step | kernel | what it makes |
//! |---|---|---|
//! | 1 | [`operators`] | the matrices of all words of m letters, in the order in which step 3 reads them |
//! | 2 | [`words`] | the letters as numbers of words |
//! | 3 | [`chunks`] | the matrices of all chunks |
//! | 4 | [`compose`] | products of neighbouring matrices, level by level |
//! | 5 | [`compose`] | the first row of the product of what is left of each sequence |
//! | 6 | [`inverse`] | the sketch |
//!
//! For sliding windows, [`compose`] makes products at equal distances after step 3, and [`windows`]
//! the first rows of all windows.

mod append;
pub mod chunks;
pub mod compose;
pub mod inverse;
mod matrix;
pub mod number;
pub mod operators;
pub mod windows;
pub mod words;

use number::Complex;
pub use number::Number;

/// The most rows above which a matrix has entries: the longest tuple.
pub const MAX_TUPLE: usize = 8;

/// The entries of a matrix that are not zero when b − a ≤ `depth`: those of a text of `depth`
/// letters.
pub const fn entries(tuple: usize, depth: usize) -> usize {
    let mut count = 0;
    let mut d = 1;
    while d <= depth {
        count += tuple + 1 - d;
        d += 1;
    }
    count
}

/// Where entry (a, b) stands in an operator, in the order in which products use them: by b from
/// `tuple` down, then by a upwards from b − `depth`.
pub const fn operator_index(tuple: usize, depth: usize, a: usize, b: usize) -> usize {
    let mut index = 0;
    let mut column = tuple;
    while column > b {
        index += if column < depth { column } else { depth };
        column -= 1;
    }
    index + a - b.saturating_sub(depth)
}

/// The 16-byte words of one lane's operator, an odd number of them: then the eight lanes that a
/// quarter of a warp reads at a time lie in different banks.
pub const fn quads<N: Number>(tuple: usize, depth: usize) -> usize {
    entries(tuple, depth).div_ceil(N::PER_QUAD) | 1
}

/// The sign of y·y′ in a product: z² of a lane.
#[inline(always)]
fn square_of_z(lane: u32) -> f64 {
    if lane == 0 { 1.0 } else { -1.0 }
}

//! Tensor sketches, one letter after the other.
//!
//! A sketch has rows T\[0\] to T\[t\] of D numbers. A letter c adds, for all k, T\[k\] times
//! `signs[c][k]` to T\[k+1\], rolled by `hashes[c][k]`: number l moves to l + hash, modulo D.
//! T\[0\] is 1, 0, 0, …, and T\[t\] is the sketch.
//!
//! Tables have the entries of a letter side by side, one for each k.

mod one_place;
mod run_time;
mod several_places;
mod wide;

pub use one_place::*;
pub use run_time::*;
pub use several_places::*;
pub use wide::*;

/// Letters of the alphabet.
pub const LETTERS: usize = 4;

/// The length t of tuples.
pub const TUPLE: usize = 4;

/// The numbers D of a row.
pub const DIM: usize = 96;

/// Numbers of T\[0\] to T\[t\].
const LAYER: usize = (TUPLE + 1) * DIM;

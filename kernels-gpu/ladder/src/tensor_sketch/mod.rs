//! Tensor sketches, one letter after the other.
//!
//! A sketch has rows T\[0\] to T\[t\] of D numbers. A letter c adds, for all k, T\[k\] times
//! `signs[c][k]` to T\[k+1\], rolled by `hashes[c][k]`: number l moves to l + hash, modulo D.
//! T\[0\] is 1, 0, 0, …, and T\[t\] is the sketch.
//!
//! Tables have the entries of a letter side by side, one for each k.
//!
//! V3 to V15 are the steps of the articles, each in the file whose idea it has. V4 launches V3's
//! kernel on streams, and V12 launches V11's for a few sequences at a time; V14 is no kernel but
//! the same ones on sequences of equal lengths.

mod constant;
mod one_place;
mod run_time;
mod several_places;
mod staged;
mod wide;

pub use constant::*;
pub use one_place::*;
pub use run_time::*;
pub use several_places::*;
pub use staged::*;
pub use wide::*;

/// Letters of the alphabet.
pub const LETTERS: usize = 4;

/// The length t of tuples.
pub const TUPLE: usize = 4;

/// The numbers D of a row.
pub const DIM: usize = 96;

/// Numbers of T\[0\] to T\[t\].
const LAYER: usize = (TUPLE + 1) * DIM;

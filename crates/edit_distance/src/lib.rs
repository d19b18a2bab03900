//! The exact edit distance of pairs of sequences: how many letters have to be inserted, deleted or
//! replaced to turn one sequence into the other.
//!
//! Each edit costs 1 (the Levenshtein distance). Letters are codes of 8 bits, so that sequences over
//! any alphabet of up to 256 letters, and any bytes, have distances.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::edit_distance::edit_distances;
//! use gridstride::sequences::Sequences;
//! use ndarray::array;
//!
//! let a: Sequences = ["kitten", "GATTACA"].iter().map(|text| text.as_bytes()).collect();
//! let b: Sequences = ["sitting", "GATTACA"].iter().map(|text| text.as_bytes()).collect();
//! assert_eq!(edit_distances(&Device::auto(), &a, &b)?, array![3, 0]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Definition
//! With D\[i, 0\] = i and D\[0, j\] = j, the distance of sequences x of m letters and y of n letters
//! is D\[m, n\], where
//!
//! ```text
//! D[i, j] = min(D[i−1, j] + 1, D[i, j−1] + 1, D[i−1, j−1] + (x[i] ≠ y[j]))
//! ```
//!
//! # Algorithm
//! Neighbouring entries of D differ by −1, 0 or 1, and differences are computed 32 or 64 at a time
//! with a few bitwise instructions and an addition: G. Myers, 'A fast bit-vector algorithm for
//! approximate string matching based on dynamic programming', in the form of H. Hyyrö, 'A bit-vector
//! algorithm for computing Levenshtein and Damerau edit distances'. The letters of the rows are
//! compared with a column's letter bit by bit, which needs no table for each alphabet.
//!
//! The CPU first computes a band around the diagonal, and doubles its width until the distance is
//! less (E. Ukkonen, 'Algorithms for approximate string matching'), so that similar sequences take
//! less time. Each pair is computed on one core.
//!
//! GPUs compute the whole table of short pairs, in some lanes of a warp each. Pairs whose shorter
//! sequence has more than 4096 letters take up to 8 warps each; if the longer sequence has
//! 32 768 letters or more, and the lengths differ by at most an eighth of it, a band for distances
//! up to that eighth is computed first, and the whole table only if the distance is larger. See `kernels-gpu/edit_distance`.
//!
//! # Determinism
//! Distances are whole numbers, the same on all devices.
//!
//! # Several devices, and little memory
//! Over a [set](gridstride_runtime::DeviceSet) of devices, or if the memory of a device or its
//! [limit](gridstride_runtime::Device::with_memory_limit) does not suffice, calls with host arrays split the
//! pairs into ranges of about equally many entries of D. A pair is not split. On a GPU it takes 1,
//! 2, 4 or 8 bits for each letter, whichever the largest code needs, and 2 bits for each letter of
//! the longer sequence if the shorter one has more than 4096 letters.

mod calls;
mod cpu;
mod dispatch;
mod gpu;
mod input;
mod options;
mod partition;
pub mod reference;
mod workspace;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use calls::{edit_distances, edit_distances_within};
pub use options::{ABOVE_LIMIT, EditDistance};

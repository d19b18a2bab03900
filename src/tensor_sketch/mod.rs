//! The tensor sketch: short vectors whose distances tell how similar sequences are, without
//! aligning them.
//!
//! The sketch of a sequence over an alphabet of A letters sums over all its subsequences of t
//! letters (tuples, not necessarily adjacent): each adds ±1 at one of D places, where place and sign
//! are drawn at random by the tuple's letters. Sequences with many tuples in common, which survive
//! insertions, deletions and substitutions, therefore have sketches close to each other.
//!
//! Source: A. Joudaki, G. Rätsch, A. Kahles, 'Fast Alignment-Free Similarity Estimation by Tensor
//! Sketching'. With `hashes` and `signs` from [`Tables`], starting from T\[0\] = (1, 0, …, 0) and
//! all other rows zero, each letter c does for k = t−1, …, 0
//!
//! ```text
//! T[k+1] += signs[c][k] · roll(T[k], hashes[c][k])
//! ```
//!
//! where `roll` moves element l to (l + h) mod D. The sketch is T\[t\], D numbers.
//!
//! # Examples
//!
//! ```
//! use gridstride::Device;
//! use gridstride::distances::pairwise;
//! use gridstride::tensor_sketch::{Alphabet, Sequences, Tables, TensorSketch, Unknown};
//!
//! let dna = Alphabet::dna();
//! let mut sequences = Sequences::new();
//! for text in ["GATTACAGATTACA", "GATTACATATTACA", "CCGCGGCCGCCGGC"] {
//!     sequences.push(dna.encode(text.as_bytes(), Unknown::Error)?.codes)?;
//! }
//!
//! let sketcher = TensorSketch::new(Tables::from_seed(dna.size(), 3, 64, 1)?).normalize(true);
//! let sketches = sketcher.sketch(&Device::cpu(), &sequences)?;
//! assert_eq!(sketches.dim(), (3, 64));
//!
//! let distances = pairwise(&Device::cpu(), sketches.view())?;
//! assert!(distances[[0, 1]] < distances[[0, 2]]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Several devices
//! Over a [set](crate::DeviceSet) of devices the sequences are divided into as many ranges, about equal in letters.
//! [Windows](TensorSketch::windows) are divided too.
//!
//! # Memory
//! On GPUs sketches from the host's memory take room for the sketches, for a table of operators, which the alphabet, the
//! tuples and the dimension determine, and for the letters that are worked on at a time. Where all the memory of
//! the device, or its [limit](crate::Device::with_memory_limit), is less, fewer letters are worked on at a time, then fewer
//! sequences. A long sequence is cut where matrices end that its last product is made of. So it needs room for 2048
//! letters at least if it has up to 32 Ki letters, for 32 Ki up to 512 Ki, for 512 Ki up to 8 Mi, and for 8 Mi beyond;
//! [`Form::Direct`] needs room for the whole sequence. [`SketchSession`] keeps to that too.
//!
//! The sketches are the same, bit by bit, as those of one device of the kind with room for all.

mod alphabet;
mod calls;
mod cpu;
mod device_input;
mod dispatch;
mod element;
mod fourier;
mod gpu;
mod input;
mod options;
mod output;
mod partition;
pub mod reference;
mod session;
mod tables;
mod windows;

pub use alphabet::{Alphabet, Encoded, Unknown};
pub use device_input::DeviceSequences;
pub use element::Entry;
pub use input::{Codes, Sequences};
pub use options::{Form, Plan, TensorSketch, binomial};
pub use session::SketchSession;
pub use tables::Tables;

//! The tensor sketch: short vectors whose distances estimate the similarity of sequences, without
//! aligning them.
//!
//! The sketch of a sequence over an alphabet of A letters is a sum over all tuples: its
//! subsequences of t letters, not necessarily adjacent. Each tuple adds ±1 at one of D places; its
//! letters determine place and sign at random. Tuples survive insertions, deletions and
//! substitutions, and sequences with many common tuples have sketches close to each other.
//!
//! Source: A. Joudaki, G. Rätsch, A. Kahles, 'Fast Alignment-Free Similarity Estimation by Tensor
//! Sketching'. Row T\[0\] starts as (1, 0, …, 0), all other rows as zero. With `hashes` and `signs`
//! from [`Tables`], each letter c computes for k = t−1, …, 0
//!
//! ```text
//! T[k+1] += signs[c][k] · roll(T[k], hashes[c][k])
//! ```
//!
//! where `roll(x, h)` moves element l to (l + h) mod D. The sketch is T\[t\], D numbers.
//!
//! ```
//! use gridstride::{Device, distances::pairwise};
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
//! A [set](gridstride_runtime::DeviceSet) of devices divides the sequences into ranges of about equally many
//! letters. [Windows](TensorSketch::windows) are divided too.
//!
//! # Memory
//! On a GPU, calls with host arrays need memory for the sketches, for a table of operators (its
//! size depends on the alphabet, the tuples and the dimension), and for a batch of letters. With
//! less memory, or a lower [limit](gridstride_runtime::Device::with_memory_limit), batches have fewer letters,
//! then fewer sequences. A long sequence is cut, but needs memory for at least 2048 letters if it
//! has up to 32 Ki letters, for 32 Ki if it has up to 512 Ki, for 512 Ki if it has up to 8 Mi, and
//! for 8 Mi beyond. [`Form::Direct`] needs memory for the whole sequence. The same holds for
//! [`SketchSession`].
//!
//! The sketches are the same, bit by bit, as with enough memory on one device of the same kind.

mod calls;
mod cpu;
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
mod tuning;
mod windows;
mod workspace;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use element::Entry;
pub use options::{Form, Plan, TensorSketch, binomial};
pub use session::SketchSession;
pub use tables::{MAX_DIM, MAX_TUPLE, Tables};

pub use gridstride_sequences::{
    Alphabet, Codes, DeviceSequences, Encoded, NamedAlphabet, Sequences, Unknown,
};

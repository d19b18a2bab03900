//! Sequences of letters, which the tensor sketch (`gridstride::tensor_sketch`) and the
//! edit distance (`gridstride::edit_distance`) compare.
//!
//! A letter is a code of 8 bits. An [`Alphabet`] turns text into codes; any bytes may be codes
//! where the size of the alphabet does not matter.
//!
//! ```
//! use gridstride::sequences::{Alphabet, Sequences, Unknown};
//!
//! let mut sequences = Sequences::new();
//! for text in ["GATTACA", "CATTAGA"] {
//!     sequences.push(Alphabet::dna().encode(text.as_bytes(), Unknown::Error)?.codes)?;
//! }
//! assert_eq!((sequences.len(), sequences.total_length()), (2, 14));
//! # Ok::<(), gridstride::Error>(())
//! ```

mod alphabet;
mod device;
mod host;
#[doc(hidden)]
mod packed;
#[doc(hidden)]
mod view;

pub use alphabet::{Alphabet, Encoded, NamedAlphabet, Unknown};
pub use device::DeviceSequences;
pub use host::{Codes, Sequences};
// Kernels read sequences through these items, which may change in any release.
#[doc(hidden)]
pub use device::SequenceBuffers;
#[doc(hidden)]
pub use packed::{PackedLetters, bits_for, likely_bits};
#[doc(hidden)]
pub use view::{CodeAt, SequencesView, largest_of};

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
//! use gridstride::tensor_sketch::{
//!     Alphabet, Metric, Sequences, Tables, TensorSketch, Unknown, pairwise,
//! };
//!
//! let dna = Alphabet::dna();
//! let mut sequences = Sequences::new();
//! for text in ["GATTACAGATTACA", "GATTACATATTACA", "CCGCGGCCGCCGGC"] {
//!     sequences.push(&dna.encode(text.as_bytes(), Unknown::Error)?.codes);
//! }
//!
//! let sketcher = TensorSketch::new(Tables::from_seed(dna.size(), 3, 64, 1)?).normalize(true);
//! let sketches = sketcher.sketch(&Device::cpu(), &sequences)?;
//! assert_eq!(sketches.dim(), (3, 64));
//!
//! let distances = pairwise(sketches.view(), Metric::L2)?;
//! assert!(distances[[0, 1]] < distances[[0, 2]]);
//! # Ok::<(), gridstride::Error>(())
//! ```

mod alphabet;
mod binomial;
mod cpu;
mod distances;
pub mod reference;
mod sequences;
mod splitmix;
mod tables;

use std::ops::RangeInclusive;

use ndarray::{Array1, Array2, Array3, ArrayView1, Axis};
use rayon::prelude::*;

pub use alphabet::{Alphabet, Encoded, Unknown};
pub use binomial::binomial;
pub use distances::{Metric, distances, pairwise};
pub use sequences::Sequences;
pub use tables::Tables;

use crate::{Device, Error, Result};

const OPERATION: &str = "tensor_sketch";

/// Codes that a thread checks at once.
const CHECKED_AT_ONCE: usize = 1 << 16;

/// Sketches sequences with given [`Tables`].
///
/// On the CPU each sequence is one thread's work, all sums are in `f64` and rounded once at the end
/// to the `f32` of the result, and the result is the same from run to run and whatever the number
/// of threads.
///
/// # Examples
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Tables, TensorSketch};
/// use ndarray::array;
///
/// // All tuples of equal letters fall on the same place: C(6, 3) = 20 of them.
/// let tables = Tables::new(array![[1, 2, 2]].view(), array![[1, 1, -1]].view(), 4)?;
/// let sketcher = TensorSketch::new(tables);
/// let sketch = sketcher.sketch_one(&Device::cpu(), array![0, 0, 0, 0, 0, 0].view())?;
/// assert_eq!(sketch, array![0.0, -20.0, 0.0, 0.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSketch {
    tables: Tables,
    normalize: bool,
}

impl TensorSketch {
    /// Sketches with `tables`, not normalised.
    pub fn new(tables: Tables) -> TensorSketch {
        TensorSketch {
            tables,
            normalize: false,
        }
    }

    /// Whether row k is divided by C(n, k), the number of tuples in a sequence of n letters.
    ///
    /// With it the sketch is the paper's, and sequences of different lengths can be compared. A
    /// sequence shorter than k has no tuples, and a row k of zeros with or without it.
    pub fn normalize(mut self, normalize: bool) -> TensorSketch {
        self.normalize = normalize;
        self
    }

    /// The tables that it sketches with.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The sketches of N sequences, N×D.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidInput`] for a code that is not below the alphabet size of the tables.
    /// - [`Error::Overflow`] for a sketch with an entry beyond `f32`'s range (3.4·10³⁸), which only
    ///   long sequences that are not normalised have.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sequences: Sequences = [vec![0, 1, 2, 3], vec![3], vec![]].iter().collect();
    /// let sketches = sketcher.sketch(&Device::cpu(), &sequences)?;
    /// assert_eq!(sketches.dim(), (3, 16));
    /// assert!(sketches.row(1).iter().all(|&entry| entry == 0.0)); // no pair of letters
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch(&self, device: &Device, sequences: &Sequences) -> Result<Array2<f32>> {
        let rows = self.run(device, sequences, Rows::Last)?;
        Ok(rows.index_axis_move(Axis(1), 0))
    }

    /// All rows T\[0\] to T\[t\] for N sequences, N×(t+1)×D: row k is the sketch with tuples of k
    /// letters, for the first k columns of the tables.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch).
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    /// use ndarray::s;
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sequences: Sequences = [[0, 1, 2, 3], [3, 2, 3, 2]].iter().collect();
    /// let rows = sketcher.sketch_rows(&Device::cpu(), &sequences)?;
    /// assert_eq!(rows.dim(), (2, 3, 16));
    /// assert_eq!(rows.slice(s![.., 2, ..]), sketcher.sketch(&Device::cpu(), &sequences)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_rows(&self, device: &Device, sequences: &Sequences) -> Result<Array3<f32>> {
        self.run(device, sequences, Rows::All)
    }

    /// The sketch of one sequence, D numbers. The view may have any strides.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch).
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Tables, TensorSketch};
    /// use ndarray::{array, s};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let codes = array![0, 1, 2, 3, 2, 1];
    /// let backwards = sketcher.sketch_one(&Device::cpu(), codes.slice(s![..;-1]))?;
    /// assert_eq!(backwards.len(), 16);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_one(&self, device: &Device, codes: ArrayView1<u8>) -> Result<Array1<f32>> {
        let sequences = Sequences::from_iter([codes]);
        let sketches = self.sketch(device, &sequences)?;
        Ok(sketches.index_axis_move(Axis(0), 0))
    }

    /// The one way to the devices: checks, computes there, checks the result.
    fn run(&self, device: &Device, sequences: &Sequences, rows: Rows) -> Result<Array3<f32>> {
        self.check_codes(sequences)?;
        let kept = rows.range(self.tables.tuple_length());
        // Every device is the CPU until there are GPU kernels.
        let _ = device;
        let result = cpu::sketch(&self.tables, sequences, kept, self.normalize);
        check_range(&result)?;
        Ok(result)
    }

    fn check_codes(&self, sequences: &Sequences) -> Result<()> {
        let alphabet_size = self.tables.alphabet_size();
        let unknown = |&code: &u8| usize::from(code) >= alphabet_size;
        let codes = sequences.codes();
        // Every block is read whole, without a branch, which is many times faster.
        let block = codes
            .par_chunks(CHECKED_AT_ONCE)
            .position_first(|block| block.iter().max().is_some_and(unknown));
        let Some(block) = block else { return Ok(()) };
        let mut place = block * CHECKED_AT_ONCE;
        while !unknown(&codes[place]) {
            place += 1;
        }
        let sequence = sequences.offsets().partition_point(|&o| o <= place as u64) - 1;
        let position = place as u64 - sequences.offsets()[sequence];
        let message = format!(
            "the code at position {position} of sequence {sequence} is {}, \
             but the tables have {alphabet_size} letters",
            codes[place]
        );
        Err(invalid_input(OPERATION, message))
    }
}

/// Which rows of the sketches a caller asks for.
enum Rows {
    Last,
    All,
}

impl Rows {
    fn range(self, tuple_length: usize) -> RangeInclusive<usize> {
        match self {
            Rows::Last => tuple_length..=tuple_length,
            Rows::All => 0..=tuple_length,
        }
    }
}

/// Refuses the first sequence with an entry that `f32` cannot hold.
fn check_range(sketches: &Array3<f32>) -> Result<()> {
    let overflowed = sketches
        .axis_iter(Axis(0))
        .into_par_iter()
        .position_first(|sketch| !sketch.iter().all(|entry| entry.is_finite()));
    match overflowed {
        None => Ok(()),
        Some(sequence) => Err(Error::Overflow {
            operation: OPERATION,
            message: format!(
                "the sketch of sequence {sequence} leaves the range of f32 (3.4e38): \
                 normalise it, or use shorter tuples"
            ),
        }),
    }
}

fn invalid_input(operation: &'static str, message: String) -> Error {
    Error::InvalidInput { operation, message }
}

//! Tensor sketches of sequences, and their distances, as functions.
//!
//! | function | result |
//! |---|---|
//! | `tensor_sketch(sequence, dim, tuple, seed[, alphabet[, options]])` | a FixedSizeList of `dim` Float32 |
//! | `sketch_distance(a, b)` | their Euclidean distance: Float32, or Float64 if one has Float64 |
//!
//! ```sql
//! SELECT id, tensor_sketch(sequence, 96, 4, 0, 'dna', 'normalize,skip') AS sketch FROM genomes
//! ```
//!
//! - `sequence` is text (Utf8, LargeUtf8, Utf8View) or bytes (Binary, LargeBinary, BinaryView,
//!   FixedSizeBinary), also in a dictionary. The other arguments are literals.
//! - `dim`, the numbers of a sketch, is 1 to 4096; `tuple`, the letters of a tuple, is 1 to 8; `seed`
//!   is that of the random tables. Sketches can be compared if these and the alphabet are the same.
//! - `alphabet` is `'dna'` (the default: A, C, G, T, and U for T, in upper or lower case),
//!   `'protein'`, or the letters themselves, such as `'01'`, in their case: bytes of ASCII.
//! - `options` are words with commas between them. `normalize` divides by the number of tuples, so
//!   that sequences of different lengths can be compared. `skip` leaves out bytes that are not in the
//!   alphabet, such as N in DNA; otherwise they are errors.
//!
//! The sketch of null is null, and so is a distance to null or to a list with a null in it.
//!
//! The library is called once for a batch, on the device of the
//! [option](crate::config::GridstrideConfig) `gridstride.device`. The default batches of 8192 rows
//! are too small for GPUs if sequences are short: `SessionConfig::with_batch_size(65_536)` is
//! better. A call takes the memory of the letters of its batch and of the sketches, which is not
//! taken from the engine's pool: functions have no access to it.
//!
//! Results are those of [`TensorSketch`](gridstride::tensor_sketch::TensorSketch): they do not
//! depend on how rows are divided into batches and partitions, and devices differ within its error
//! bounds.

mod distance;
mod letters;
mod parameters;
mod tensor_sketch;

use datafusion::logical_expr::ScalarUDF;

/// Returns the function `tensor_sketch(sequence, dim, tuple, seed[, alphabet[, options]])`, which
/// the [module](crate::sketch) describes.
///
/// ```
/// use datafusion::prelude::{SessionContext, lit};
/// use gridstride_datafusion::sketch::{sketch_distance, tensor_sketch};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sketch = |text: &str| tensor_sketch().call(vec![lit(text), lit(64), lit(3), lit(1)]);
/// let frame = SessionContext::new().read_empty()?;
/// let near = sketch_distance().call(vec![sketch("GATTACAGATTACA"), sketch("GATTACATATTACA")]);
/// let far = sketch_distance().call(vec![sketch("GATTACAGATTACA"), sketch("CCGCGGCCGCCGGC")]);
/// let rows = frame.select(vec![near.lt(far).alias("near")])?.to_string().await?;
/// assert!(rows.contains("| true |"), "{rows}");
/// # Ok(())
/// # }
/// ```
pub fn tensor_sketch() -> ScalarUDF {
    ScalarUDF::new_from_impl(tensor_sketch::TensorSketchFunction::new())
}

/// Returns the function `sketch_distance(a, b)`: the Euclidean distance of two FixedSizeLists of
/// Float32 or Float64, which have the same length. Sums are computed in Float64.
pub fn sketch_distance() -> ScalarUDF {
    ScalarUDF::new_from_impl(distance::SketchDistanceFunction::new())
}

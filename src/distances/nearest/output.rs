//! The nearest rows of queries, on the host.

use ndarray::Array2;

/// The k nearest rows of each of N queries, the nearest first. Of rows at the same distance, those
/// with smaller indices come first.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Nearest {
    /// N×k: the rows of the database.
    pub indices: Array2<u64>,
    /// N×k: their distances, in ascending order.
    pub distances: Array2<f64>,
}

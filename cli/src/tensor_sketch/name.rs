//! Names of sketches.

/// The sequence or window that a sketch is of.
pub struct Name {
    /// The sequence's name, with the start of a window.
    pub name: String,
    /// Number of letters, of the whole sequence if the sketch is a mean.
    pub length: u64,
    /// Number of characters that were left out. `None` for a window.
    pub skipped: Option<u64>,
    /// Index of the sequence in the input.
    pub sequence: u64,
}

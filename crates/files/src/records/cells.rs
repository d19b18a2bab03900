//! The cells of a record.

use csv::ByteRecord;

/// The cells of a record, as csv has read them or as they lie in a line without quotes.
pub trait Cells {
    /// Returns the number of cells, 1 or more.
    fn count(&self) -> usize;

    /// Returns the text of a cell, with the blank space around it.
    fn cell(&self, place: usize) -> &[u8];
}

impl Cells for ByteRecord {
    fn count(&self) -> usize {
        self.len()
    }

    fn cell(&self, place: usize) -> &[u8] {
        &self[place]
    }
}

impl Cells for Vec<&[u8]> {
    fn count(&self) -> usize {
        self.len()
    }

    fn cell(&self, place: usize) -> &[u8] {
        self[place]
    }
}

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

/// Adds a cell to the text of a table, in quotes if it has to be.
///
/// ```
/// let mut text = Vec::new();
/// files::records::add_cell(&mut text, b"a \"b\", c", b',');
/// assert_eq!(text, b"\"a \"\"b\"\", c\"");
/// ```
pub fn add_cell(text: &mut Vec<u8>, cell: &[u8], delimiter: u8) {
    let needs_quotes = |byte: &u8| *byte == delimiter || b"\"\r\n".contains(byte);
    if !cell.iter().any(needs_quotes) {
        text.extend_from_slice(cell);
        return;
    }
    text.push(b'"');
    for &byte in cell {
        text.extend(std::iter::repeat_n(byte, 1 + usize::from(byte == b'"')));
    }
    text.push(b'"');
}

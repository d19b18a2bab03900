//! The cells of a record.

use csv::ByteRecord;
use memchr::{memchr, memchr2};

/// The cells of a record, as csv has read them or as they lie in a line without quotes.
pub trait Cells {
    /// Returns the number of cells, 1 or more.
    fn count(&self) -> usize;

    /// Returns the text of a cell, with the blank space around it.
    fn cell(&self, place: usize) -> &[u8];

    /// Returns the cell trimmed outside its quotes.
    fn name(&self, place: usize) -> &[u8];
}

/// A record as csv has read it, and the text that it was read from.
pub struct Quoted<'a> {
    /// The cells.
    pub record: &'a ByteRecord,
    /// The text that the cells were read from.
    pub text: &'a [u8],
    /// The character between cells in the text.
    pub delimiter: u8,
}

impl Cells for Quoted<'_> {
    fn count(&self) -> usize {
        self.record.len()
    }

    fn cell(&self, place: usize) -> &[u8] {
        &self.record[place]
    }

    fn name(&self, place: usize) -> &[u8] {
        let cell = self.cell(place);
        let trimmed = cell.trim_ascii();
        // Few names have blank space around them.
        if trimmed.len() == cell.len() {
            return cell;
        }
        let behind = self.behind_quote(place);
        behind.map_or(trimmed, |behind| &cell[..cell.len() - behind])
    }
}

impl Quoted<'_> {
    /// Returns the length of the blank space behind the quotes of a cell, if something is in
    /// quotes.
    fn behind_quote(&self, place: usize) -> Option<usize> {
        // csv skips empty lines.
        let start = self.text.iter().position(|&byte| byte != b'\n')?;
        let mut rest = &self.text[start..];
        for _ in 0..place {
            rest = &rest[self.first_cell(rest).1 + 1..];
        }
        let (quoted, end) = self.first_cell(rest);
        let behind = &rest[quoted?..end];
        Some(behind.len() - behind.trim_ascii_end().len())
    }

    /// Returns where the quotes of the first cell end, if something is in quotes, and where the cell
    /// ends. As csv reads cells, a quote that is not at the start is a character as any other.
    fn first_cell(&self, text: &[u8]) -> (Option<usize>, usize) {
        let mut at = 0;
        if text.first() == Some(&b'"') {
            at = 1;
            while let Some(quote) = memchr(b'"', &text[at..]) {
                at += quote + 1;
                match text.get(at) {
                    Some(b'"') => at += 1,
                    _ => break,
                }
            }
        }
        let end = memchr2(self.delimiter, b'\n', &text[at..]);
        // Nothing is within a pair of quotes.
        let quoted = (at > 2).then_some(at);
        (quoted, end.map_or(text.len(), |end| at + end))
    }
}

impl Cells for Vec<&[u8]> {
    fn count(&self) -> usize {
        self.len()
    }

    fn cell(&self, place: usize) -> &[u8] {
        self[place]
    }

    fn name(&self, place: usize) -> &[u8] {
        self[place].trim_ascii()
    }
}

/// Adds the cells of a record to the text of a table, with the delimiter between them. Blank space around
/// a cell stays within quotes or outside of them as it is read, so that names stay the same.
///
/// ```
/// use files::records::{Cells, Quoted, add_cells};
///
/// let record = csv::ByteRecord::from(vec![" a", " b;", "c"]);
/// let read = Quoted { record: &record, text: b"\" a\", b;,\"c\"\n", delimiter: b',' };
/// let mut text = Vec::new();
/// add_cells(&mut text, &read, 0..read.count(), b';');
/// assert_eq!(text, b"\" a\";\"b;\";c");
/// ```
pub fn add_cells(
    text: &mut Vec<u8>,
    record: &Quoted,
    places: impl IntoIterator<Item = usize>,
    delimiter: u8,
) {
    for (i, place) in places.into_iter().enumerate() {
        if i > 0 {
            text.push(delimiter);
        }
        let cell = record.cell(place).strip_suffix(b"\r");
        let cell = cell.unwrap_or(record.cell(place));
        let name = record.name(place);
        let is_within_quotes = name.len() != name.trim_ascii().len();
        match is_within_quotes || needs_quotes(cell, delimiter) {
            true => add_cell(text, name, delimiter),
            false => text.extend_from_slice(cell),
        }
    }
}

fn needs_quotes(cell: &[u8], delimiter: u8) -> bool {
    let is_special = |byte: &u8| *byte == delimiter || b"\"\r\n".contains(byte);
    cell.iter().any(is_special)
}

/// Adds a cell to the text of a table, in quotes if it has to be, also for blank space around it.
///
/// ```
/// let mut text = Vec::new();
/// files::records::add_cell(&mut text, b"a \"b\", c", b',');
/// assert_eq!(text, b"\"a \"\"b\"\", c\"");
/// ```
pub fn add_cell(text: &mut Vec<u8>, cell: &[u8], delimiter: u8) {
    if !needs_quotes(cell, delimiter) && cell.trim_ascii().len() == cell.len() {
        text.extend_from_slice(cell);
        return;
    }
    text.push(b'"');
    for &byte in cell {
        text.extend(std::iter::repeat_n(byte, 1 + usize::from(byte == b'"')));
    }
    text.push(b'"');
}

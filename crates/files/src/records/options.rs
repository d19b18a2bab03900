//! The format of a table's text.

use std::str::FromStr;

use super::shown;

/// The format of a table's text, and the columns that are read.
///
/// The default is CSV: commas, decimal points, a header, and columns by their usual names.
///
/// # Examples
/// ```
/// use files::points::{Demands, parse};
/// use files::records::TableOptions;
/// use files::time::TimeUnit;
///
/// let options = TableOptions {
///     delimiter: b';',
///     decimal: b',',
///     nulls: vec!["NA".into()],
///     columns: vec!["timestamp=Zeit".parse()?, "value=Temperatur".parse()?],
///     ..TableOptions::default()
/// };
/// let text = "Zeit;Temperatur\n2026-01-31T12:00:00Z;0,5\n2026-01-31T13:00:00Z;NA\n";
/// let demands = Demands::new(TimeUnit::Ns, true, 1, 0);
/// let points = parse(text.as_bytes(), demands, &options)?.group()?;
/// assert_eq!(points.values[0][0], 0.5);
/// assert_eq!(*points.column(0).values, [0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// The character between the cells of a line.
    pub delimiter: u8,
    /// The character before the fraction of a number: a point or a comma.
    pub decimal: u8,
    /// Texts of cells that have no value, beside the empty text.
    pub nulls: Vec<String>,
    /// Whether the first line has the names of the columns.
    pub has_header: bool,
    /// Columns that are not read by their usual names. Several columns may be read as the same.
    pub columns: Vec<ColumnName>,
}

impl Default for TableOptions {
    fn default() -> TableOptions {
        TableOptions {
            delimiter: b',',
            decimal: b'.',
            nulls: Vec::new(),
            has_header: true,
            columns: Vec::new(),
        }
    }
}

impl TableOptions {
    /// Returns the delimiter that a text names: a character, or `tab`.
    ///
    /// # Errors
    /// If the text is no single ASCII character, or one that cells are made of.
    pub fn delimiter_named(text: &str) -> Result<u8, String> {
        match text.as_bytes() {
            _ if text.eq_ignore_ascii_case("tab") || text == "\\t" => Ok(b'\t'),
            b"\t" => Ok(b'\t'),
            &[c] if (c.is_ascii_punctuation() || c == b' ') && !b"\".+-".contains(&c) => Ok(c),
            _ => Err("a delimiter is tab, or one of the characters , ; : | and the like".into()),
        }
    }

    /// Returns the decimal character that a text names.
    ///
    /// # Errors
    /// If the text is neither a point nor a comma.
    pub fn decimal_named(text: &str) -> Result<u8, String> {
        match text {
            "." => Ok(b'.'),
            "," => Ok(b','),
            _ => Err("the decimal character is . or ,".into()),
        }
    }

    /// Returns whether a cell, without the space around it, has no value.
    pub fn is_null(&self, cell: &[u8]) -> bool {
        cell.is_empty() || self.nulls.iter().any(|null| null.as_bytes() == cell)
    }

    /// Says what is wrong with the cell of a number, and which option may read the cell.
    #[cold]
    pub(crate) fn refused(&self, cell: &[u8], what: &str) -> String {
        let remedy = match cell {
            [] => return "the cell is empty".into(),
            _ if self.decimal != b',' && cell.contains(&b',') => {
                ": if the comma is before a fraction, give --decimal ','"
            }
            _ => "",
        };
        format!("'{}' {what}{remedy}", shown(cell))
    }

    /// Calls `parse` with the text of a number that has a decimal point, whatever the cell has.
    pub(crate) fn with_point<V, E: From<&'static str>>(
        &self,
        cell: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<V, E>,
    ) -> Result<V, E> {
        if self.decimal == b'.' {
            return parse(cell);
        }
        // A point may separate thousands.
        if cell.contains(&b'.') {
            return Err("has a point, but numbers are written with a decimal comma".into());
        }
        let mut buffer = [0; 64];
        let Some(text) = buffer.get_mut(..cell.len()) else {
            return Err("is not a number".into());
        };
        text.copy_from_slice(cell);
        if let Some(comma) = memchr::memchr(self.decimal, text) {
            text[comma] = b'.';
        }
        parse(text)
    }
}

/// A column, by its name or its position, and what it is read as: `value=temperature` or `value=3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    /// The role of the column, such as `timestamp`.
    pub role: String,
    /// The name of the column in the header, or else its position, from 1.
    pub column: String,
}

impl FromStr for ColumnName {
    type Err = String;

    fn from_str(text: &str) -> Result<ColumnName, String> {
        match text.split_once('=') {
            Some((role, column)) if !role.trim().is_empty() && !column.trim().is_empty() => {
                Ok(ColumnName {
                    role: role.trim().into(),
                    column: column.trim().into(),
                })
            }
            _ => Err("it is not written as value=temperature; a column whose name has a comma is named by its \
                      number, as in value=3"
                .into()),
        }
    }
}

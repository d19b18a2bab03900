//! The arguments of a call beside the sequences: windows and the requested rows, with all checks.

use std::ops::RangeInclusive;

use super::options::Form;
use super::tables::Tables;
use crate::sequences::CodeAt;
use crate::{Error, Result};

/// What to compute of each sequence.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub tables: &'a Tables,
    pub rows: Rows,
    pub normalize: bool,
    pub form: Form,
    /// Whether the argument is one view of codes, not [`Sequences`].
    pub is_of_one: bool,
}

/// The rows of a sketch that a caller asks for.
#[derive(Clone, Copy)]
pub enum Rows {
    /// Row t.
    Last,
    /// Rows 0 to t.
    All,
}

impl Rows {
    pub fn kept(self, tables: &Tables) -> RangeInclusive<usize> {
        let tuple = tables.tuple_length();
        match self {
            Rows::Last => tuple..=tuple,
            Rows::All => 0..=tuple,
        }
    }
}

impl Job<'_> {
    pub fn kept(&self) -> RangeInclusive<usize> {
        self.rows.kept(self.tables)
    }

    pub fn row_count(&self) -> usize {
        self.kept().count()
    }

    /// Returns the number of entries of a sequence's requested rows.
    pub fn entries(&self) -> usize {
        self.row_count() * self.tables.dim()
    }

    /// Refuses a code that is not below the alphabet size of the tables.
    pub fn check_code(&self, mut code: Option<CodeAt>) -> Result<()> {
        if let (Some(at), true) = (&mut code, self.is_of_one) {
            at.sequence = None;
        }
        check_code(self.operation, code, self.tables.alphabet_size())
    }
}

/// Refuses a code that is not below the alphabet size.
pub fn check_code(
    operation: &'static str,
    code: Option<CodeAt>,
    alphabet_size: usize,
) -> Result<()> {
    let Some(at) = code.filter(|at| usize::from(at.code) >= alphabet_size) else {
        return Ok(());
    };
    let letter = match char::from(at.code) {
        letter if letter.is_ascii_graphic() => format!(", the letter '{letter}' in ASCII"),
        _ => String::new(),
    };
    let of_sequence = (at.sequence).map_or(String::new(), |index| format!(" of sequence {index}"));
    let message = format!(
        "the code at position {}{of_sequence} is {}{letter}, but the tables have \
         {alphabet_size} letters, with the codes 0 to {}: Alphabet::encode turns text into codes",
        at.position,
        at.code,
        alphabet_size - 1
    );
    let (of, index) = match at.sequence {
        Some(sequence) => ("sequences", sequence),
        None => ("codes", at.position),
    };
    Err(Error::input_at(operation, of, index, message))
}

/// The windows of a text.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Letters per window, at least one.
    pub width: usize,
    /// Letters from the start of a window to the start of the next window, at least one.
    pub stride: usize,
    /// The number of windows.
    pub count: usize,
}

impl Windows {
    /// Returns the windows of a text of `length` letters. Fails for a width or stride of 0.
    pub fn new(
        operation: &'static str,
        length: usize,
        width: usize,
        stride: usize,
    ) -> Result<Windows> {
        for (name, value) in [("width", width), ("stride", stride)] {
            if value == 0 {
                let message = format!("the {name} of windows is 0, not at least 1");
                return Err(Error::input(operation, message));
            }
        }
        let rest = length.checked_sub(width);
        Ok(Windows {
            width,
            stride,
            count: rest.map_or(0, |rest| rest / stride + 1),
        })
    }
}

//! From a column of text or bytes to codes.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_err};
use gridstride::tensor_sketch::{Alphabet, Sequences, Unknown};

use super::parameters::{NAME, Parameters};
use crate::error::external;

/// Letters before a wrong one that an error shows.
const SHOWN: usize = 20;

/// Whether a column of this type can be sketched.
pub fn is_sequence(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary()
}

/// Returns the codes of the rows that are not null.
///
/// # Errors
/// For a byte that is not in the alphabet, unless those are skipped.
pub fn encode(column: &dyn Array, parameters: &Parameters) -> Result<Sequences> {
    let mut sequences = Encoder {
        alphabet: &parameters.alphabet,
        unknown: parameters.unknown,
        codes: Vec::new(),
        offsets: vec![0],
    };
    match column.data_type() {
        DataType::Utf8 => sequences.all(column.as_string::<i32>().iter()),
        DataType::LargeUtf8 => sequences.all(column.as_string::<i64>().iter()),
        DataType::Utf8View => sequences.all(column.as_string_view().iter()),
        DataType::Binary => sequences.all(column.as_binary::<i32>().iter()),
        DataType::LargeBinary => sequences.all(column.as_binary::<i64>().iter()),
        DataType::BinaryView => sequences.all(column.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => sequences.all(column.as_fixed_size_binary().iter()),
        other => internal_err!("{NAME}: a column of {other}"),
    }?;
    Sequences::from_concatenated(sequences.codes, sequences.offsets).map_err(external(NAME))
}

struct Encoder<'a> {
    alphabet: &'a Alphabet,
    unknown: Unknown,
    codes: Vec<u8>,
    offsets: Vec<usize>,
}

impl Encoder<'_> {
    fn all<T: AsRef<[u8]>>(&mut self, rows: impl Iterator<Item = Option<T>>) -> Result<()> {
        for (index, row) in rows.enumerate() {
            let Some(text) = row else { continue };
            let encoded = (self.alphabet).encode_into(text.as_ref(), self.unknown, &mut self.codes);
            encoded.map_err(|error| self.refused(index, text.as_ref(), error))?;
            self.offsets.push(self.codes.len());
        }
        Ok(())
    }

    /// Names the row of an error, and what SQL can do about it.
    #[cold]
    fn refused(&self, row: usize, text: &[u8], error: gridstride::Error) -> DataFusionError {
        let is_unknown = |byte: &u8| self.alphabet.code(*byte).is_none();
        let Some(place) = text.iter().position(is_unknown) else {
            return external(NAME)(error);
        };
        let byte = text[place];
        let before = &text[place.saturating_sub(SHOWN)..place];
        let dots = if place > SHOWN { "…" } else { "" };
        exec_datafusion_err!(
            "{NAME}: in row {row} of a batch, letter {} is '{}' (byte {byte}), after \
             '{dots}{}': it is not in the alphabet. The option 'skip' leaves such bytes out: \
             {NAME}(sequence, dim, tuple, seed, 'dna', 'skip')",
            place + 1,
            byte.escape_ascii(),
            before.escape_ascii()
        )
    }
}

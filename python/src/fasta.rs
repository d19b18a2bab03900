//! The FASTA format.

use std::ffi::CString;
use std::io::{ErrorKind, Read};
use std::sync::{Arc, mpsc};

use gridstride::sequences::{Alphabet, Sequences, Unknown};
use gridstride::{Error, Result};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::call::call;
use crate::error::choice;
use crate::sequences::{AlphabetArgument, PySequences};

const READ: &str = "fasta.read";

/// Operations that decompressing a byte takes, about.
const INFLATE: f64 = 10.0;

/// Returns the content of gzip, and warns as the program does of bytes behind the content, and of a
/// file of bgzip that lacks its last block.
#[pyfunction]
pub fn gunzip(py: Python<'_>, compressed: PyBackedBytes) -> PyResult<Vec<u8>> {
    let operations = INFLATE * compressed.len() as f64;
    let decompress = move || {
        let (warning, warnings) = mpsc::channel();
        let warn = move |sentence: &str| drop(warning.send(sentence.to_owned()));
        let mut content = Vec::new();
        let read = files::decoding::gzip(&compressed[..], warn).read_to_end(&mut content);
        Ok((read.map(|_| content), warnings))
    };
    let (content, warnings) = call(py, READ, operations, decompress)?;
    for sentence in warnings {
        let sentence = CString::new(format!("{READ}: {sentence}"))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &sentence, 1)?;
    }
    content.map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => PyMemoryError::new_err(format!(
            "{READ}: no memory is left for the content of the file"
        )),
        _ => PyOSError::new_err(error.to_string()),
    })
}

/// Returns the names and the sequences of the records of a text.
#[pyfunction]
#[pyo3(signature = (text, *, alphabet, unknown))]
pub fn parse_fasta(
    py: Python<'_>,
    text: PyBackedBytes,
    alphabet: AlphabetArgument,
    unknown: &str,
) -> PyResult<(Vec<String>, PySequences)> {
    let unknown = choice(READ, unknown)?;
    let operations = text.len() as f64;
    let known = alphabet.0.clone();
    let parse = move || records(&text, &alphabet.0, unknown);
    let (names, sequences) = call(py, READ, operations, parse)?;
    let sequences = PySequences {
        sequences: Arc::new(sequences),
        alphabet: Some(known),
    };
    Ok((names, sequences))
}

fn records(text: &[u8], alphabet: &Alphabet, unknown: Unknown) -> Result<(Vec<String>, Sequences)> {
    let refuse = |index, message| Error::InvalidInput {
        operation: READ,
        index,
        message,
    };
    match text.first() {
        None => return Err(refuse(None, "the text is empty".into())),
        Some(b'>') => (),
        Some(first) => {
            let first = first.escape_ascii();
            let message = format!("the text begins with '{first}', not with '>'");
            return Err(refuse(None, message));
        }
    }
    let (mut names, mut sequences) = (Vec::new(), Sequences::new());
    // Encoded as a whole, so that errors have the position in the record.
    let mut letters = Vec::new();
    let mut end = |names: &[String], letters: &mut Vec<u8>| {
        let Some(name) = names.last() else {
            return Ok(());
        };
        let index = names.len() - 1;
        let encoded = alphabet
            .encode(letters, unknown)
            .map_err(|error| match error {
                Error::InvalidInput { message, .. } => {
                    refuse(Some(index), format!("record {index} ({name}): {message}"))
                }
                error => error,
            })?;
        letters.clear();
        sequences.push(encoded.codes)
    };
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.strip_prefix(b">") {
            Some(header) => {
                end(&names, &mut letters)?;
                if header.contains(&b'\r') {
                    // All text behind it would be taken for a part of the header.
                    let record = names.len();
                    let message = format!(
                        "the header of record {record} has a carriage return in it: lines have to end with a \
                         line feed"
                    );
                    return Err(refuse(Some(record), message));
                }
                let header = String::from_utf8_lossy(header);
                let name = header.split_whitespace().next();
                names.push(name.unwrap_or_default().to_owned());
            }
            None => letters.extend_from_slice(line),
        }
    }
    end(&names, &mut letters)?;
    Ok((names, sequences))
}

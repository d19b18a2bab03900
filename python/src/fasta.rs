//! The FASTA and FASTQ formats.

use std::error::Error as _;
use std::ffi::CString;
use std::io::{self, Cursor};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use files::Monitor;
use files::sequences::{self, Letters, Reader};
use gridstride::Error;
use gridstride::sequences::{Alphabet, Sequences, Unknown};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::call::call;
use crate::error::choice;
use crate::sequences::{AlphabetArgument, PySequences};

const READ: &str = "fasta.read";

const REMEDY: &str = "unknown='skip' leaves such bytes out";

/// Operations that reading a byte takes, about, if it is compressed.
const INFLATE: f64 = 10.0;

/// The source of the records.
#[derive(FromPyObject)]
pub enum Source {
    Text(PyBackedBytes),
    Path(PathBuf),
}

/// Returns the names and the sequences of the records of a text or of a file, decompressed if the first
/// bytes say so. Warns as the program does of bytes behind the content, and of a file of bgzip that
/// lacks its last block.
#[pyfunction]
#[pyo3(signature = (source, *, alphabet, unknown))]
pub fn read_fasta(
    py: Python<'_>,
    source: Source,
    alphabet: AlphabetArgument,
    unknown: &str,
) -> PyResult<(Vec<String>, PySequences)> {
    let unknown = choice(READ, unknown)?;
    let bytes = match &source {
        Source::Text(text) => text.len() as u64,
        Source::Path(path) => path.metadata().map_or(u64::MAX, |metadata| metadata.len()),
    };
    let known = alphabet.0.clone();
    let (warning, warnings) = mpsc::channel();
    let monitor = Monitor::new(
        |_| (),
        move |sentence| drop(warning.send(sentence.to_owned())),
    );
    // An error of the file is not one of the library.
    let read = move || match records(source, &alphabet.0, unknown, &monitor) {
        Ok(records) => Ok(Ok(records)),
        Err(Failure::File(error)) => Ok(Err(error)),
        Err(Failure::Library(error)) => Err(error),
    };
    let read = call(py, READ, INFLATE * bytes as f64, read)?;
    for sentence in warnings.try_iter() {
        let sentence = CString::new(format!("{READ}: {sentence}"))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &sentence, 2)?;
    }
    let (names, sequences) = read?;
    let sequences = PySequences {
        sequences: Arc::new(sequences),
        alphabet: Some(known),
    };
    Ok((names, sequences))
}

enum Failure {
    File(io::Error),
    Library(Error),
}

impl From<sequences::Error> for Failure {
    fn from(error: sequences::Error) -> Failure {
        let mut message = error.to_string();
        if let Some(cause) = error.source() {
            message = format!("{message}: {cause}");
        }
        match error.kind() {
            Some(kind) => Failure::File(io::Error::new(kind, message)),
            None => Failure::Library(Error::InvalidInput {
                operation: READ,
                of: "sequences",
                index: error.record().map(|record| record as usize),
                message,
            }),
        }
    }
}

impl Failure {
    /// Names the file.
    fn of(self, name: &str) -> Failure {
        match self {
            Failure::File(error) => {
                let message = format!("{READ}: cannot read {name}: {error}");
                Failure::File(io::Error::new(error.kind(), message))
            }
            Failure::Library(mut error) => {
                if let Error::InvalidInput { message, .. } = &mut error {
                    *message = format!("{name}: {message}");
                }
                Failure::Library(error)
            }
        }
    }
}

fn records(
    source: Source,
    alphabet: &Alphabet,
    unknown: Unknown,
    monitor: &Monitor,
) -> Result<(Vec<String>, Sequences), Failure> {
    let letters = Letters::codes(alphabet, unknown, REMEDY);
    let (name, mut reader) = match source {
        Source::Path(path) => {
            let name = path.display().to_string();
            (name, Reader::open(letters, &path, monitor))
        }
        Source::Text(text) => {
            let monitor = monitor.clone();
            let open =
                move || files::decompressed(Box::new(Cursor::new(text)), "the text", &monitor);
            ("the text".to_owned(), Reader::start(letters, open))
        }
    };
    let (mut names, mut sequences) = (Vec::new(), Sequences::new());
    let mut codes = Vec::new();
    let mut next = || {
        reader.next(|piece| {
            codes.extend_from_slice(piece.letters);
            if piece.is_last {
                names.push(piece.record.name().into_owned());
                sequences.push(&codes[..]).map_err(Failure::Library)?;
                codes.clear();
            }
            Ok(())
        })
    };
    while next().map_err(|failure: Failure| failure.of(&name))? {}
    Ok((names, sequences))
}

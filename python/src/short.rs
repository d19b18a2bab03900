//! Warnings of sequences that are too short for a sketch.

use std::ffi::CString;

use files::sequences::{Needed, Short};
use pyo3::create_exception;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

create_exception!(
    gridstride,
    ShortSequenceWarning,
    PyUserWarning,
    "Sequences without a tuple have sketches of zeros, and sequences without a window have none.\n\n\
     The message has their number and the first of them. `warnings.filterwarnings` takes the category to \
     ignore the warning, or to make an error of it."
);

/// Returns the sequences without a tuple or window of `least` letters.
pub fn of_lengths(lengths: impl IntoIterator<Item = usize>, least: usize) -> Short {
    Short::of(lengths, least, name)
}

/// Returns what messages call a sequence.
pub fn name(index: usize) -> String {
    format!("sequence {index}")
}

/// Warns of short sequences among all, if there are some.
pub fn warn(
    py: Python<'_>,
    operation: &str,
    short: &Short,
    needed: Needed,
    sequences: usize,
) -> PyResult<()> {
    match short.sentence(needed, sequences as u64) {
        Some(sentence) => say(py, operation, &sentence),
        None => Ok(()),
    }
}

/// Warns with a sentence.
pub fn say(py: Python<'_>, operation: &str, sentence: &str) -> PyResult<()> {
    let sentence = CString::new(format!("{operation}: {sentence}"))?;
    PyErr::warn(py, &py.get_type::<ShortSequenceWarning>(), &sentence, 1)
}

//! Errors of the library as Python's exceptions, with the library's sentence.

use gridstride::{Choice, Error};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Converts results of the library for Python.
pub trait OrRaise<T> {
    /// Returns the value, or the exception for the error, which names the Python `function`.
    /// Exceptions about one element have its index as the attribute `index`.
    fn or_raise(self, py: Python<'_>, function: &'static str) -> PyResult<T>;
}

impl<T> OrRaise<T> for gridstride::Result<T> {
    fn or_raise(self, py: Python<'_>, function: &'static str) -> PyResult<T> {
        self.map_err(|error| exception(py, error, function))
    }
}

/// Names in the library's messages, and the names in this package.
const NAMES: [(&str, &str); 8] = [
    (
        "normalize(true), double()",
        "normalize=True, dtype='float64'",
    ),
    ("normalize(true)", "normalize=True"),
    ("Unknown::Skip", "unknown='skip'"),
    ("TimeBuckets::order(Order::Sort)", "sort=True"),
    ("Alphabet::encode", "Alphabet.encode"),
    ("tuple_length", "tuple"),
    ("Device::gpus()", "gridstride.gpus()"),
    ("Device::auto()", "no device"),
];

fn exception(py: Python<'_>, mut error: Error, function: &'static str) -> PyErr {
    let mut element = None;
    match &mut error {
        Error::Shape { operation, .. }
        | Error::Allocation { operation, .. }
        | Error::DifferentDevices { operation, .. } => *operation = function,
        Error::InvalidInput {
            operation, index, ..
        } => (*operation, element) = (function, *index),
        Error::Overflow {
            operation, index, ..
        } => (*operation, element) = (function, Some(*index)),
        _ => (),
    }
    let mut message = error.to_string();
    for (in_rust, in_python) in NAMES {
        message = message.replace(in_rust, in_python);
    }
    let exception = match error {
        Error::Shape { .. } | Error::InvalidInput { .. } | Error::DifferentDevices { .. } => {
            PyValueError::new_err(message)
        }
        Error::Overflow { .. } => PyOverflowError::new_err(message),
        Error::Allocation { .. } => PyMemoryError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    };
    match element {
        Some(element) => at_index(py, exception, element),
        None => exception,
    }
}

/// Says which element an exception is about.
pub fn at_index(py: Python<'_>, exception: PyErr, index: usize) -> PyErr {
    match exception.value(py).setattr("index", index) {
        Ok(()) => exception,
        Err(error) => error,
    }
}

/// Returns the value of an option that a text names.
pub fn choice<C: Choice>(operation: &str, text: &str) -> PyResult<C> {
    C::of_name(text).ok_or_else(|| {
        let message = format!("{operation}: {}", C::refusal(text));
        PyValueError::new_err(message)
    })
}

/// Returns an argument that must not be negative, as an unsigned integer.
pub fn not_negative<N: TryFrom<i128>>(operation: &str, name: &str, number: i128) -> PyResult<N> {
    N::try_from(number).map_err(|_| {
        let reason = match number < 0 {
            true => "but has to be 0 at least",
            false => "which is too large",
        };
        PyValueError::new_err(format!("{operation}: {name} is {number}, {reason}"))
    })
}

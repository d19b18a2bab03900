//! Durations and times as texts.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Returns the nanoseconds of a duration.
#[pyfunction]
pub fn duration(text: &str) -> PyResult<i128> {
    files::time::duration(text).map_err(PyValueError::new_err)
}

/// Returns the nanoseconds from 1970 to a time, in UTC unless it has an offset.
#[pyfunction]
pub fn point(text: &str) -> PyResult<i128> {
    files::time::point(text).map_err(PyValueError::new_err)
}

//! Numbers as arguments.

use files::points::value::MAX_EXACT;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyFloat;

/// Returns an argument as float64, which must not round an integer.
///
/// # Errors
/// TypeError with the sentence `otherwise` for objects that are no numbers.
pub fn float(
    operation: &str,
    name: &str,
    number: &Bound<'_, PyAny>,
    otherwise: &str,
) -> PyResult<f64> {
    let what = match number.extract::<f64>() {
        Ok(float) if !is_rounded(number)? => return Ok(float),
        Ok(_) => "which float64 would round: convert it to float if that is meant",
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => {
            "which is beyond the range of float64"
        }
        Err(_) => {
            return Err(PyTypeError::new_err(format!(
                "{operation}: {name} is {}, but has to be {otherwise}",
                number.repr()?
            )));
        }
    };
    let message = format!("{operation}: {name} is {number}, {what}");
    Err(PyValueError::new_err(message))
}

/// Whether float64 would round a number of at least 2⁵³. Below, all integers are exact.
pub fn is_rounded(number: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = number.py();
    if number.is_exact_instance_of::<PyFloat>() {
        return Ok(false);
    }
    let Ok(float) = number.extract::<f64>() else {
        return Ok(true);
    };
    if float.is_nan() || float.abs() < MAX_EXACT {
        return Ok(false);
    }
    // numpy rounds its integers before it compares them with floats.
    let number = match number.hasattr(intern!(py, "__index__"))? {
        true => number.call_method0(intern!(py, "__index__"))?,
        false => number.clone(),
    };
    number.ne(PyFloat::new(py, float))
}

//! The kinds of Python objects.

use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Whether an object is a list or a tuple.
pub fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()
}

/// The module numpy.
pub fn numpy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(intern!(py, "numpy"))
}

/// Whether an object's class is of a package.
pub fn is_of(object: &Bound<'_, PyAny>, package: &str) -> PyResult<bool> {
    let module = object.get_type().module()?;
    let module = module.to_str()?;
    Ok(module.split('.').next() == Some(package))
}

/// Whether an object's dtype is one of numpy.
pub fn is_of_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object
        .getattr("dtype")?
        .is_instance(&numpy(object.py())?.getattr("dtype")?)
}

/// Whether an object is numpy's masked array.
pub fn is_masked(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.cast_exact::<PyUntypedArray>().is_ok() || object.cast::<PyUntypedArray>().is_err() {
        return Ok(false);
    }
    object.is_instance(&numpy(object.py())?.getattr("ma")?.getattr("MaskedArray")?)
}

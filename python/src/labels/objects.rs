//! Labels that are Python's objects.

use std::collections::HashMap;

use ahash::RandomState;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use super::group::{Groups, Order};
use super::{Fault, missing};

/// Groups objects that are equal, which have to be of one type.
pub fn groups(
    operation: &'static str,
    objects: &Bound<'_, PyList>,
    order: Order,
) -> PyResult<Groups> {
    let py = objects.py();
    // Another thread may change a list meanwhile.
    let objects = objects.get_slice(0, objects.len());
    // Most points have one of few objects.
    let mut by_pointer = HashMap::<usize, u32, RandomState>::default();
    let by_value = PyDict::new(py);
    let different = PyList::empty(py);
    let mut kind: Option<(usize, String)> = None;
    let mut codes = Vec::with_capacity(objects.len());
    let mut firsts = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let pointer = object.as_ptr() as usize;
        if let Some(&code) = by_pointer.get(&pointer) {
            codes.push(code);
            continue;
        }
        if is_missing(&object)? {
            return Err(missing(py, operation, index));
        }
        let this = kind_of(&object)?;
        match &kind {
            None => kind = Some((index, this.clone())),
            Some((_, kind)) if *kind == this => (),
            Some((first, kind)) => {
                return Err(PyTypeError::new_err(format!(
                    "{operation}: series has labels of several types: {kind} at point {first}, {this} at point \
                     {index}: convert all of them to one type, for example by [str(label) for label in series]"
                )));
            }
        }
        let known = by_value.get_item(&object).map_err(|_| {
            Fault::Type(format!("{this}, which cannot be hashed")).exception(py, operation)
        })?;
        let code = match known {
            Some(code) => code.extract()?,
            None => {
                let code = different.len() as u32;
                by_value.set_item(&object, code)?;
                firsts.push(index);
                different.append(&object)?;
                code
            }
        };
        by_pointer.insert(pointer, code);
        codes.push(code);
    }
    let count = different.len();
    let mut groups = Groups { codes, firsts };
    if order == Order::Sorted {
        let options = PyDict::new(py);
        options.set_item("key", different.getattr(intern!(py, "__getitem__"))?)?;
        let sorted = py.import("builtins")?.getattr("sorted")?;
        let numbers = PyList::new(py, 0..count)?;
        let sorted = sorted.call((numbers,), Some(&options)).map_err(|error| {
            let kind = kind.map_or_else(String::new, |(_, kind)| kind);
            let fault =
                Fault::Type(format!("{kind}, which cannot be sorted")).exception(py, operation);
            fault.set_cause(py, Some(error));
            fault
        })?;
        groups.reorder(&sorted.extract::<Vec<usize>>()?);
    }
    Ok(groups)
}

/// NaN and NaT differ from themselves, and pandas' NA is neither equal nor different.
fn is_missing(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyInt>() {
        return Ok(false);
    }
    if object.is_none() {
        return Ok(true);
    }
    match object.eq(object) {
        Ok(is_equal) => Ok(!is_equal),
        // Whatever else cannot be compared cannot be hashed either, which is said next.
        Err(error) if error.is_instance_of::<PyException>(object.py()) => {
            Ok(object.get_type().name()? == "NAType")
        }
        Err(error) => Err(error),
    }
}

/// Returns what is compared with each other: all numbers are, and otherwise objects of one type.
fn kind_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = if object.is_instance_of::<PyString>() {
        "str"
    } else if object.is_instance_of::<PyBytes>() {
        "bytes"
    } else if object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || is_number(object)?
    {
        "number"
    } else {
        return Ok(object.get_type().name()?.to_string());
    };
    Ok(name.to_string())
}

/// Whether an object is a number of numpy.
fn is_number(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else {
        return Ok(false);
    };
    let kind = dtype.getattr_opt(intern!(py, "kind"))?;
    let kind = kind.map(|kind| kind.extract::<String>());
    Ok(matches!(kind, Some(Ok(kind)) if "iufb".contains(&kind)))
}

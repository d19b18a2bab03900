//! Labels that are Python's objects.

use std::collections::HashMap;

use ahash::RandomState;
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use super::group::{Groups, Order};
use super::{Fault, missing};
use crate::error::at_index;
use crate::scalar::is_rounded;

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
    let (mut has_floats, mut rounded) = (false, None);
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
        if this == NUMBER {
            let is_integer = is_integer(&object)?;
            has_floats |= !is_integer;
            if is_integer && rounded.is_none() && is_rounded(&object)? {
                rounded = Some((index, object.clone()));
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
    if let (true, Some((index, number))) = (has_floats, rounded) {
        let error = PyValueError::new_err(format!(
            "{operation}: series has floats and, at point {index}, the integer {number}, which float64 would round: \
             convert all labels to one type, for example by [str(label) for label in series]"
        ));
        return Err(at_index(py, error, index));
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

/// The kind of integers and floats.
const NUMBER: &str = "number";

/// Returns what is compared with each other: integers and floats are, and otherwise objects of one type.
fn kind_of(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = if object.is_instance_of::<PyString>() {
        "str"
    } else if object.is_instance_of::<PyBytes>() {
        "bytes"
    } else if object.is_instance_of::<PyBool>() {
        "bool"
    } else if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
        NUMBER
    } else {
        match kind_of_numpy(object)?.as_deref() {
            Some("b") => "bool",
            Some("i" | "u" | "f") => NUMBER,
            _ => return Ok(object.get_type().name()?.to_string()),
        }
    };
    Ok(name.to_string())
}

/// Whether a number is an integer.
pub fn is_integer(number: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(number.is_instance_of::<PyInt>()
        || matches!(kind_of_numpy(number)?.as_deref(), Some("i" | "u")))
}

/// Returns numpy's letter for the kind of an object, if the object has one.
fn kind_of_numpy(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else {
        return Ok(None);
    };
    let kind = dtype.getattr_opt(intern!(py, "kind"))?;
    Ok(kind.and_then(|kind| kind.extract().ok()))
}

//! Objects as numpy arrays, without copies from devices and without rounded integers.

use files::points::value::is_exact;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use crate::array::{Argument, inexact, require_no_mask};
use crate::error::at_index;
use crate::frames;
use crate::objects::{is_list, numpy};
use crate::resident::{lists_device_arrays, on_device};

impl<'py> Argument<'py> {
    /// Takes a numpy array as it is, and anything else as `numpy.asarray` converts it. Numbers in
    /// another byte order than that of the machine are copied.
    pub fn new(
        operation: &'static str,
        name: &'static str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Argument<'py>> {
        let array = match object.cast_exact::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) => on_host(operation, name, object)?,
        };
        Argument::of_array(operation, name, array)
    }
}

/// Returns what numpy makes of an argument, without copying one from the memory of a device.
pub fn on_host<'py>(
    operation: &str,
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    require_host(operation, name, object)?;
    require_no_mask(operation, name, object)?;
    Ok(exact_array(operation, name, object)?.cast_into()?)
}

/// Returns what numpy makes of an object, without rounding its integers: numpy makes floats of lists
/// of integers and floats, and of columns of integers and nulls.
pub fn exact_array<'py>(
    operation: &str,
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let array = numpy(py)?.call_method1(intern!(py, "asarray"), (object,))?;
    let Some((index, number)) = first_rounded(object, &array)? else {
        return Ok(array);
    };
    let error = PyValueError::new_err(format!(
        "{operation}: {name} has the integer {number} at index {index}, which float64 would round: convert it to \
         float64 if that is meant"
    ));
    Err(at_index(py, error, index))
}

/// Returns the first integer of an object that is not exact in the floats that numpy made of it, with
/// the index in the object. Arrays of numpy have one dtype, and so no integers among floats.
pub fn first_rounded(
    object: &Bound<'_, PyAny>,
    array: &Bound<'_, PyAny>,
) -> PyResult<Option<(usize, String)>> {
    let array = array.cast::<PyUntypedArray>()?;
    if array.dtype().kind() != b'f' {
        return Ok(None);
    }
    if is_list(object) {
        return first_inexact(object);
    }
    frames::first_inexact(object)
}

/// Returns the first integer of a nested list that float64 would round, with its index in the
/// outermost list.
fn first_inexact(list: &Bound<'_, PyAny>) -> PyResult<Option<(usize, String)>> {
    for (index, item) in list.try_iter()?.enumerate() {
        let item = item?;
        let found = if item.is_instance_of::<PyFloat>() {
            None
        } else if item.is_instance_of::<PyInt>() {
            let is_exact = item.extract::<i128>().is_ok_and(is_exact);
            (!is_exact).then(|| item.to_string())
        } else if is_list(&item) {
            first_inexact(&item)?.map(|(_, number)| number)
        } else {
            let array = numpy(item.py())?.call_method1("asarray", (&item,))?;
            let found = match first_rounded(&item, &array)? {
                Some(found) => Some(found),
                None => {
                    let flat = array.call_method0("ravel")?.cast_into()?;
                    inexact(&Argument::of_array("", "", flat)?, None)?
                }
            };
            found.map(|(_, number)| number)
        };
        if let Some(number) = found {
            return Ok(Some((index, number)));
        }
    }
    Ok(None)
}

/// Fails for an array in the memory of a device, and for a list with one, which numpy would copy to
/// the host.
pub fn require_host(operation: &str, name: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if on_device(object)? {
        let message = format!(
            "{operation}: {name} is in the memory of a device, but the call takes arrays of the host: pass a copy, \
             for example its numpy()"
        );
        return Err(PyTypeError::new_err(message));
    }
    if lists_device_arrays(object)? {
        let message = format!(
            "{operation}: {name} is a list with arrays in the memory of a device, which the call does not copy to \
             the host: pass a list of copies, for example by their numpy()"
        );
        return Err(PyTypeError::new_err(message));
    }
    Ok(())
}

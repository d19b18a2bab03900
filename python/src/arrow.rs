//! Columns of polars, pandas, pyarrow and others, by Arrow's C interface.

use std::ffi::c_int;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use gridstride::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::array::Number;

/// The elements, and which of them are not null if some are.
type Elements<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyArray1<bool>>>);

/// The elements, which of them are not null if some are, and the unit and the time zone of
/// timestamps.
type Column<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyArray1<bool>>>,
    Option<&'static str>,
    Option<String>,
);

/// Returns a column as a numpy array, without a copy if the column has one chunk.
#[pyfunction]
pub fn from_arrow<'py>(column: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
    let py = column.py();
    let (schema, chunks) = match column.hasattr("__arrow_c_array__")? {
        true => array(column)?,
        false => stream(column)?,
    };
    let data_type = DataType::try_from(&schema).map_err(refused)?;
    let elements = match data_type {
        DataType::Int64 | DataType::Timestamp(..) => elements::<Int64Type>(py, chunks),
        DataType::Float32 => elements::<Float32Type>(py, chunks),
        DataType::Float64 => elements::<Float64Type>(py, chunks),
        _ => Err(PyTypeError::new_err(format!(
            "the Arrow type of a column is {data_type}, but possible are Timestamp, Int64, Float32 and Float64"
        ))),
    };
    let (elements, valid) = elements?;
    let (unit, zone) = match data_type {
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                TimeUnit::Second => "s",
                TimeUnit::Millisecond => "ms",
                TimeUnit::Microsecond => "us",
                TimeUnit::Nanosecond => "ns",
            };
            (Some(unit), zone.map(|zone| zone.to_string()))
        }
        _ => (None, None),
    };
    Ok((elements, valid, unit, zone))
}

fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Imports a column that is one array.
fn array(column: &Bound<'_, PyAny>) -> PyResult<(FFI_ArrowSchema, Vec<FFI_ArrowArray>)> {
    let capsules = column.call_method0("__arrow_c_array__")?;
    let (schema, array) = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast();
    // SAFETY: the names say that the capsules hold a valid schema and a valid array. They are moved
    // out, and what stays is marked as released.
    unsafe {
        let schema = FFI_ArrowSchema::from_raw(schema.as_ptr());
        Ok((schema, vec![FFI_ArrowArray::from_raw(array.as_ptr())]))
    }
}

/// Imports a column that is a stream of arrays.
fn stream(column: &Bound<'_, PyAny>) -> PyResult<(FFI_ArrowSchema, Vec<FFI_ArrowArray>)> {
    let capsule = column.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
    // SAFETY: the name says that the capsule holds a valid stream, which is moved out.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(PyValueError::new_err(
            "the Arrow stream of a column has been read before",
        ));
    };
    let require = |code: c_int| match code {
        0 => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "the Arrow stream of a column failed with code {code}"
        ))),
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is valid, and writes a schema.
    require(unsafe { get_schema(&mut stream, &mut schema) })?;
    let mut chunks = Vec::new();
    loop {
        let mut chunk = FFI_ArrowArray::empty();
        // SAFETY: the stream is valid, and writes an array, or at the end one that is released.
        require(unsafe { get_next(&mut stream, &mut chunk) })?;
        if chunk.is_released() {
            return Ok((schema, chunks));
        }
        chunks.push(chunk);
    }
}

/// Keeps the memory of an array that numpy sees.
#[pyclass(frozen)]
struct ArrowMemory {
    _array: Box<dyn Array>,
}

/// Returns the elements of all chunks as one array, without a copy if there is one chunk.
fn elements<'py, T: ArrowPrimitiveType<Native: Number>>(
    py: Python<'py>,
    chunks: Vec<FFI_ArrowArray>,
) -> PyResult<Elements<'py>> {
    let chunks = chunks.into_iter().map(|chunk| {
        // SAFETY: an array of the type of its schema; timestamps have the layout of `Int64`.
        let data = unsafe { from_ffi_and_data_type(chunk, T::DATA_TYPE) };
        data.map(PrimitiveArray::<T>::from)
    });
    let mut chunks = chunks.collect::<Result<Vec<_>, _>>().map_err(refused)?;
    let has_nulls = chunks.iter().any(|chunk| chunk.null_count() > 0);
    let valid = has_nulls.then(|| {
        let valid =
            |chunk: &PrimitiveArray<T>| (0..chunk.len()).map(|i| chunk.is_valid(i)).collect();
        let valid = chunks.iter().map(valid).collect::<Vec<Vec<bool>>>();
        valid.concat().into_pyarray(py)
    });
    if chunks.len() != 1 {
        let elements = chunks
            .iter()
            .map(|chunk| &chunk.values()[..])
            .collect::<Vec<_>>();
        return Ok((elements.concat().into_pyarray(py).into_any(), valid));
    }
    let chunk = chunks.remove(0);
    let view: ArrayView1<'_, T::Native> = ArrayView1::from(&chunk.values()[..]);
    let memory = ArrowMemory {
        _array: Box::new(chunk.clone()),
    };
    // SAFETY: the container keeps the buffer, whose place does not change. Nothing can write to it,
    // since the array is read-only.
    let elements =
        unsafe { PyArray1::borrow_from_array(&view, Bound::new(py, memory)?.into_any()) };
    elements.readwrite().make_nonwriteable();
    Ok((elements.into_any(), valid))
}

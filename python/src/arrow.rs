//! Columns of polars, pandas, pyarrow and others, by Arrow's C interface.

use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, NullArray, PrimitiveArray, make_array};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use gridstride::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::number::Number;

/// The elements as a numpy array, and which of them are not null if some are.
pub type Elements<'py> = (Bound<'py, PyAny>, Option<Vec<bool>>);

/// A column that comes by Arrow's C interface, whose memory it shares.
pub struct ArrowColumn {
    pub data_type: DataType,
    pub chunks: Vec<ArrayRef>,
}

impl ArrowColumn {
    /// Imports a column; `None` if the object does not have the interface. Messages about its type
    /// begin with the `name`.
    pub fn import(
        name: impl fmt::Display,
        column: &Bound<'_, PyAny>,
    ) -> PyResult<Option<ArrowColumn>> {
        let (schema, chunks) = if column.hasattr(intern!(column.py(), "__arrow_c_array__"))? {
            array(column)?
        } else if column.hasattr(intern!(column.py(), "__arrow_c_stream__"))? {
            stream(column)?
        } else {
            return Ok(None);
        };
        let data_type = DataType::try_from(&schema).map_err(|_| {
            PyTypeError::new_err(match schema.format() {
                "_pli128" => format!(
                    "{name} is Int128, a type that only polars has: convert the column, for example by \
                     cast(polars.Int64)"
                ),
                format => format!(
                    "{name} has the Arrow type {format:?}, which only its own package knows: convert the column, for \
                     example by its cast"
                ),
            })
        })?;
        let chunks = chunks.into_iter().map(|chunk| {
            // polars exports nulls with a buffer, which the interface's type does not have.
            if data_type == DataType::Null {
                return Ok(Arc::new(NullArray::new(chunk.len())) as ArrayRef);
            }
            // SAFETY: the interface's array is one of the type of its schema.
            let data = unsafe { from_ffi_and_data_type(chunk, data_type.clone()) };
            data.map(make_array)
        });
        let chunks = chunks.collect::<Result<_, _>>().map_err(refused)?;
        Ok(Some(ArrowColumn { data_type, chunks }))
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Returns numbers, bools, dates and timestamps as a numpy array, without a copy if the column
    /// has one chunk of a type that numpy has; `None` for other types. Dates and timestamps are
    /// int64.
    pub fn elements<'py>(&self, py: Python<'py>) -> PyResult<Option<Elements<'py>>> {
        let chunks = &self.chunks;
        macro_rules! of {
            ($type:ty) => {
                shared::<$type>(
                    py,
                    chunks
                        .iter()
                        .map(|chunk| chunk.as_primitive::<$type>().clone())
                        .collect(),
                )
            };
        }
        let elements = match &self.data_type {
            DataType::Int8 => of!(Int8Type),
            DataType::Int16 => of!(Int16Type),
            DataType::Int32 => of!(Int32Type),
            DataType::Int64 => of!(Int64Type),
            DataType::UInt8 => of!(UInt8Type),
            DataType::UInt16 => of!(UInt16Type),
            DataType::UInt32 => of!(UInt32Type),
            DataType::UInt64 => of!(UInt64Type),
            DataType::Float16 => of!(Float16Type),
            DataType::Float32 => of!(Float32Type),
            DataType::Float64 => of!(Float64Type),
            DataType::Boolean => {
                let bools = |chunk: &ArrayRef| {
                    let bools = chunk.as_boolean();
                    let bits = bools.values().iter().map(u8::from);
                    PrimitiveArray::<UInt8Type>::new(bits.collect(), bools.nulls().cloned())
                };
                let (bytes, valid) = shared(py, chunks.iter().map(bools).collect())?;
                Ok((bytes.call_method1(intern!(py, "view"), ("?",))?, valid))
            }
            _ if self.unit().is_some() => {
                let ticks = chunks.iter().map(ticks).collect::<Option<Vec<_>>>();
                shared(py, ticks.expect("dates and timestamps"))
            }
            _ => return Ok(None),
        };
        elements.map(Some)
    }

    /// The unit of timestamps and dates.
    pub fn unit(&self) -> Option<&'static str> {
        Some(match self.data_type {
            DataType::Timestamp(TimeUnit::Second, _) => "s",
            DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => "ms",
            DataType::Timestamp(TimeUnit::Microsecond, _) => "us",
            DataType::Timestamp(TimeUnit::Nanosecond, _) => "ns",
            DataType::Date32 => "D",
            _ => return None,
        })
    }

    /// The time zone of timestamps.
    pub fn zone(&self) -> Option<&str> {
        match &self.data_type {
            DataType::Timestamp(_, zone) => zone.as_deref(),
            _ => None,
        }
    }
}

/// Return a column as a numpy array, and which of its elements are valid: what tests compare.
#[pyfunction]
pub fn from_arrow<'py>(column: &Bound<'py, PyAny>) -> PyResult<Option<Elements<'py>>> {
    match ArrowColumn::import("from_arrow: column", column)? {
        Some(found) => found.elements(column.py()),
        None => Ok(None),
    }
}

/// Returns dates or timestamps as integers.
pub fn ticks(chunk: &ArrayRef) -> Option<Int64Array> {
    Some(match chunk.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => chunk
            .as_primitive::<TimestampSecondType>()
            .reinterpret_cast(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let times = chunk.as_primitive::<TimestampMillisecondType>();
            times.reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let times = chunk.as_primitive::<TimestampMicrosecondType>();
            times.reinterpret_cast()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let times = chunk.as_primitive::<TimestampNanosecondType>();
            times.reinterpret_cast()
        }
        DataType::Date64 => chunk.as_primitive::<Date64Type>().reinterpret_cast(),
        DataType::Date32 => chunk.as_primitive::<Date32Type>().unary(i64::from),
        _ => return None,
    })
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
fn shared<'py, T: ArrowPrimitiveType<Native: Number>>(
    py: Python<'py>,
    mut chunks: Vec<PrimitiveArray<T>>,
) -> PyResult<Elements<'py>> {
    let has_nulls = chunks.iter().any(|chunk| chunk.null_count() > 0);
    let valid = has_nulls.then(|| {
        let all = chunks.iter();
        all.flat_map(|chunk| (0..chunk.len()).map(|index| chunk.is_valid(index)))
            .collect()
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

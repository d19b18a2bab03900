//! A column of pandas, polars, pyarrow or numpy as a numpy array.

use gridstride::ndarray::Ix1;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::array::{Argument, inexact};
use crate::arrow::ArrowColumn;
use crate::objects::{is_of, numpy};

/// The argument that a column is.
#[derive(Clone, Copy)]
pub struct Name {
    pub operation: &'static str,
    pub argument: &'static str,
}

/// A column as a numpy array.
pub struct Column<'py> {
    pub array: Bound<'py, PyUntypedArray>,
    /// Whether each element is valid, i.e. not null. `None` if all are.
    pub valid: Option<Vec<bool>>,
    pub zone: Option<Bound<'py, PyAny>>,
    /// The name of the column in messages.
    pub name: String,
}

/// Returns the first valid integer of a column of pandas, polars or pyarrow that is not exact in
/// float64, with its index; `None` for columns of other types than numbers.
pub fn first_inexact(object: &Bound<'_, PyAny>) -> PyResult<Option<(usize, String)>> {
    match Column::of_package("", "", object) {
        Ok(Some(column)) => column.first_inexact(),
        _ => Ok(None),
    }
}

impl<'py> Column<'py> {
    /// Reads a column of pandas, or one that has Arrow's C interface; `None` for other objects.
    pub fn of_package(
        operation: &str,
        name: &str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Column<'py>>> {
        let py = object.py();
        let column = if is_of(object, "pandas")?
            && let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))?
        {
            Column::of_pandas(operation, name.to_string(), object, &dtype)?
        } else {
            let column = ArrowColumn::import(format_args!("{operation}: {name}"), object)?;
            let Some(column) = column else {
                return Ok(None);
            };
            Column::of_arrow(py, operation, name.to_string(), &column)?
        };
        Ok(Some(column))
    }

    pub fn of_numpy(
        operation: &str,
        name: String,
        array: Bound<'py, PyAny>,
        valid: Option<Vec<bool>>,
        zone: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Column<'py>> {
        let array = array.cast_into::<PyUntypedArray>()?;
        match array.ndim() {
            1 => Ok(Column {
                array,
                valid,
                zone,
                name: format!("{operation}: the dtype of {name}"),
            }),
            0 => Err(PyTypeError::new_err(format!(
                "{operation}: {name} is {}, but has to be a column: an array with one axis",
                array.call_method0("item")?.repr()?
            ))),
            _ => Err(PyValueError::new_err(format!(
                "{operation}: {name} has the shape {}, but has to have one axis",
                PyTuple::new(array.py(), array.shape())?
            ))),
        }
    }

    fn of_arrow(
        py: Python<'py>,
        operation: &str,
        name: String,
        column: &ArrowColumn,
    ) -> PyResult<Column<'py>> {
        let Some((array, valid)) = column.elements(py)? else {
            return Err(PyTypeError::new_err(format!(
                "{operation}: the Arrow type of {name} is {}, but possible are numbers, bools, timestamps and dates: \
                 convert the column, for example by its cast",
                column.data_type
            )));
        };
        let array = match column.unit() {
            Some(unit) => array.call_method1("view", (format!("M8[{unit}]"),))?,
            None => array,
        };
        let zone = column.zone().map(|zone| PyString::new(py, zone).into_any());
        Column::of_numpy(operation, name, array, valid, zone)
    }

    fn of_pandas(
        operation: &str,
        name: String,
        column: &Bound<'py, PyAny>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Column<'py>> {
        let py = column.py();
        if dtype.is_instance(&numpy(py)?.getattr("dtype")?)? {
            return Column::of_numpy(
                operation,
                name,
                column.call_method0("to_numpy")?,
                None,
                None,
            );
        }
        // Series and indices have an array of an extension.
        let array = column
            .getattr_opt("array")?
            .unwrap_or_else(|| column.clone());
        let kind = dtype.get_type().name()?.to_string();
        match &kind[..] {
            "DatetimeTZDtype" => {
                let zone = dtype.getattr("tz")?;
                let times = array.call_method1("tz_convert", (py.None(),))?;
                return Column::of_numpy(
                    operation,
                    name,
                    times.call_method0("to_numpy")?,
                    None,
                    Some(zone),
                );
            }
            "ArrowDtype" => {
                let arrow = array.call_method0("__arrow_array__")?;
                let zone = dtype.getattr("pyarrow_dtype")?.getattr_opt("tz")?;
                let imported = ArrowColumn::import(format_args!("{operation}: {name}"), &arrow)?;
                let imported =
                    imported.ok_or_else(|| PyTypeError::new_err("pyarrow is too old"))?;
                let column = Column::of_arrow(py, operation, name, &imported)?;
                return Ok(Column { zone, ..column });
            }
            "PeriodDtype" => {
                return Err(PyTypeError::new_err(format!(
                    "{operation}: the dtype of {name} is {dtype}, a span and no point of time: convert the column with \
                     to_timestamp()"
                )));
            }
            _ => (),
        }
        let Some(plain) = dtype.getattr_opt("numpy_dtype")? else {
            return Err(PyTypeError::new_err(format!(
                "{operation}: the dtype of {name} is {dtype}, but possible are numbers, bools, timestamps and dates: \
                 convert the column, for example with pandas.to_numeric or pandas.to_datetime"
            )));
        };
        let is_null = column.call_method0("isna")?;
        let is_null = numpy(py)?.call_method1("asarray", (is_null,))?;
        let valid = valid_of(&is_null)?;
        let options = PyDict::new(py);
        options.set_item("dtype", &plain)?;
        options.set_item("na_value", 0)?;
        let array = array.call_method("to_numpy", (), Some(&options))?;
        Column::of_numpy(operation, name, array, valid, None)
    }

    /// numpy's letter for the kind of the dtype.
    pub fn kind(&self) -> PyResult<char> {
        self.array.getattr("dtype")?.getattr("kind")?.extract()
    }

    /// Returns the first valid integer that is not exact in float64, with its index.
    pub fn first_inexact(&self) -> PyResult<Option<(usize, String)>> {
        let array = Argument::of_array("", "", self.array.clone())?;
        inexact(&array, self.valid.as_deref())
    }
}

/// Returns which elements of a masked array are valid; `None` if all are.
pub fn mask_of(array: &Bound<'_, PyAny>) -> PyResult<Option<Vec<bool>>> {
    let mask = numpy(array.py())?
        .getattr("ma")?
        .call_method1("getmaskarray", (array,))?;
    valid_of(&mask.call_method0("ravel")?)
}

/// Returns which elements are valid, from an array that says which are null; `None` if all are.
fn valid_of(is_null: &Bound<'_, PyAny>) -> PyResult<Option<Vec<bool>>> {
    let is_null = is_null.call_method1("view", ("u1",))?;
    let is_null = Argument::of_array("", "", is_null.cast_into()?)?.input::<u8, Ix1>(None)?;
    let valid = is_null
        .view()
        .iter()
        .map(|&is_null| is_null == 0)
        .collect::<Vec<_>>();
    Ok(valid.contains(&false).then_some(valid))
}

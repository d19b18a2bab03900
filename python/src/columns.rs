//! Columns of numbers and timestamps: of pandas, polars, pyarrow and numpy.

use gridstride::ndarray::Ix1;
use numpy::{PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateTime, PyDict, PyFloat, PyString};

use crate::array::{Argument, Input, Memory, takes_bools};
use crate::column::{Column, Name, mask_of};
use crate::conversion::{exact_array, require_host};
use crate::error::at_index;
use crate::objects::{is_list, is_masked, is_of, is_of_numpy, numpy};

/// A column of timestamps, all of which are valid.
pub struct Times {
    pub ticks: Input<i64, Ix1>,
    /// The unit, of timestamps that are no integers.
    pub unit: Option<String>,
    pub zone: Option<Py<PyAny>>,
}

/// A column of numbers.
pub struct Numbers {
    pub values: Values,
    pub valid: Option<Vec<bool>>,
}

/// Numbers of one of the types of values.
pub enum Values {
    F32(Input<f32, Ix1>),
    F64(Input<f64, Ix1>),
}

impl Times {
    /// Reads timestamps: integers, datetimes or dates. They are copied if they share memory with
    /// `out`.
    pub fn read(name: Name, object: &Bound<'_, PyAny>, out: Option<&Memory>) -> PyResult<Times> {
        let py = object.py();
        let operation = name.operation;
        let refuse = |what: &str, index: usize| {
            let message = format!("{operation}: timestamp {index} is {what}");
            at_index(py, PyValueError::new_err(message), index)
        };
        let column = Column::read(name, object)?;
        let kind = match column.kind()? {
            // numpy's dtype of an empty list.
            'f' if column.array.is_empty() => 'i',
            kind => kind,
        };
        let cure = match kind {
            'M' | 'i' | 'u' => None,
            'f' => Some("convert them to integers, or to datetimes with their unit"),
            _ => Some(
                "convert them to datetimes, for example with pandas.to_datetime, polars' str.to_datetime or numpy's \
                 astype('datetime64[s]')",
            ),
        };
        if let Some(cure) = cure {
            return Err(column.refused("int64, datetimes and dates", cure)?);
        }
        if let Some(valid) = &column.valid {
            let index = valid.iter().position(|&is_valid| !is_valid);
            if let Some(index) = index {
                return Err(refuse("null", index));
            }
        }
        let unit = match kind {
            'M' => Some(column.unit()?),
            _ => None,
        };
        let ticks = match kind {
            'u' if column.array.dtype().itemsize() == 8 => {
                let beyond = Argument::new(operation, name.argument, &column.cast("=u8")?)?
                    .input::<u64, Ix1>(None)?;
                let beyond = beyond
                    .view()
                    .iter()
                    .position(|&tick| i64::try_from(tick).is_err());
                if let Some(index) = beyond {
                    return Err(refuse("beyond the range of int64", index));
                }
                column.cast("=i8")?
            }
            'i' | 'u' => column.cast("=i8")?,
            _ => {
                let dtype = column.array.getattr("dtype")?;
                let native = dtype.call_method1("newbyteorder", ("=",))?;
                column.cast_to(native)?.call_method1("view", ("i8",))?
            }
        };
        let ticks = Argument::new(operation, name.argument, &ticks)?.input::<i64, Ix1>(out)?;
        if unit.is_some() {
            // NaT is the least int64.
            let wrong = ticks.view().iter().position(|&tick| tick == i64::MIN);
            if let Some(index) = wrong {
                return Err(refuse("NaT", index));
            }
        }
        Ok(Times {
            ticks,
            unit,
            zone: column.zone.map(Bound::unbind),
        })
    }
}

impl Numbers {
    /// Reads numbers. Integers and bools become float64, which has to have them exactly. With
    /// `skips_nan`, NaN in pandas' columns of numpy's types are missing, as they are to pandas.
    pub fn read(name: Name, object: &Bound<'_, PyAny>, skips_nan: bool) -> PyResult<Numbers> {
        let mut column = Column::read(name, object)?;
        let size = column.array.dtype().itemsize();
        let dtype = match (column.kind()?, size) {
            ('f', 2 | 4) => "=f4",
            ('f', 8) | ('i' | 'u' | 'b', _) => "=f8",
            (kind, _) => {
                let cure = match kind {
                    'f' => "convert them, for example by astype('float64')",
                    'm' => {
                        "convert them to numbers, for example by dividing by numpy.timedelta64(1, 's')"
                    }
                    'M' => "the arguments are timestamps and values, in this order",
                    'c' => "pass the real and the imaginary parts in two calls",
                    _ => {
                        "convert them to numbers, for example with pandas.to_numeric, polars' cast(pl.Float64) or \
                         numpy's astype(float)"
                    }
                };
                return Err(column.refused("floats, integers and bools", cure)?);
            }
        };
        column.require_exact()?;
        let array = column.cast(dtype)?;
        let argument = Argument::new(name.operation, name.argument, &array)?;
        let values = match dtype {
            "=f4" => Values::F32(argument.input(None)?),
            _ => Values::F64(argument.input(None)?),
        };
        if skips_nan && is_of(object, "pandas")? && is_of_numpy(object)? {
            let valid: Vec<_> = match &values {
                Values::F32(values) => values.view().iter().map(|x| !x.is_nan()).collect(),
                Values::F64(values) => values.view().iter().map(|x| !x.is_nan()).collect(),
            };
            column.valid = valid.contains(&false).then_some(valid);
        }
        Ok(Numbers {
            values,
            valid: column.valid,
        })
    }

    pub fn len(&self) -> usize {
        match &self.values {
            Values::F32(values) => values.view().len(),
            Values::F64(values) => values.view().len(),
        }
    }
}

/// Returns the numbers of a column of a data frame, with the column's label. All have to be valid.
pub fn cells<'py>(
    name: Name,
    label: &str,
    object: &Bound<'py, PyAny>,
    possible: &[&str],
) -> PyResult<Argument<'py>> {
    let column = Column::labelled(name, Some(label), object)?;
    let Name {
        operation,
        argument,
    } = name;
    let is_number = match column.kind()? {
        'f' => column.array.dtype().itemsize() <= 8,
        'b' => takes_bools(possible),
        kind => "iu".contains(kind),
    };
    if !is_number {
        let cure =
            "convert the column, for example with pandas.to_numeric or polars' cast(pl.Float64)";
        return Err(column.refused("floats and integers", cure)?);
    }
    let valid = column.valid.as_deref().unwrap_or_default();
    if let Some(row) = valid.iter().position(|is_valid| !is_valid) {
        let message = format!(
            "{operation}: {argument}, the column {label:?}, is null in row {row}: leave out the rows with nulls, for \
             example with dropna() or polars' drop_nulls(), or fill them"
        );
        return Err(at_index(object.py(), PyValueError::new_err(message), row));
    }
    Argument::new(operation, argument, column.array.as_any())
}

impl<'py> Column<'py> {
    fn read(name: Name, object: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
        let own = object.getattr_opt(intern!(object.py(), "name"))?;
        let own = own.and_then(|own| own.extract::<String>().ok());
        Column::labelled(name, own.as_deref(), object)
    }

    fn labelled(
        name: Name,
        label: Option<&str>,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Column<'py>> {
        let py = object.py();
        let Name {
            operation,
            argument,
        } = name;
        require_host(operation, argument, object)?;
        let name = match label {
            Some(label) if !label.is_empty() => format!("{argument}, the column {label:?},"),
            _ => argument.to_string(),
        };
        let is_table = ["columns", "column_names"]
            .iter()
            .any(|names| object.hasattr(*names).unwrap_or(false));
        if is_table || object.hasattr(intern!(py, "collect_schema"))? {
            let kind = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "{operation}: {argument} is a {kind}, but has to be a column: select one of its columns, and collect \
                 lazy frames first"
            )));
        }
        if let Some(column) = Column::of_package(operation, &name, object)? {
            return Ok(column);
        }
        let valid = match is_masked(object)? {
            true => mask_of(object)?,
            false => None,
        };
        let array = match is_masked(object)? {
            true => numpy(py)?
                .getattr("ma")?
                .call_method1("getdata", (object,))?,
            false => as_datetimes(operation, &name, object)?,
        };
        Column::of_numpy(operation, name, array, valid, None)
    }

    /// Returns the exception for a dtype that is not possible.
    fn refused(&self, possible: &str, cure: &str) -> PyResult<PyErr> {
        let Column { array, name, .. } = self;
        let dtype = array.dtype();
        let what = match self.kind()? {
            'U' | 'S' | 'T' => ", which is text".to_string(),
            'O' if !array.is_empty() => {
                let (index, object) = culprit(array)?;
                format!(", Python's objects, with {object} at index {index}")
            }
            'f' if dtype.itemsize() > 8 => format!(", which has {} bytes", dtype.itemsize()),
            _ => String::new(),
        };
        Ok(PyTypeError::new_err(format!(
            "{name} is {dtype}{what}, but possible are {possible}: {cure}"
        )))
    }

    fn cast(&self, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
        let dtype = PyString::new(self.array.py(), dtype);
        self.cast_to(dtype.into_any())
    }

    /// Converts the elements, without a copy if they have the dtype.
    fn cast_to(&self, dtype: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(self.array.py());
        options.set_item("copy", false)?;
        self.array.call_method("astype", (dtype,), Some(&options))
    }

    /// The unit of timestamps, which must have a fixed length.
    fn unit(&self) -> PyResult<String> {
        let dtype = self.array.getattr("dtype")?;
        let data = numpy(self.array.py())?.call_method1("datetime_data", (&dtype,))?;
        let (unit, count) = data.extract::<(String, i64)>()?;
        let name = &self.name;
        if ["generic", "Y", "M"].contains(&&unit[..]) {
            return Err(PyTypeError::new_err(format!(
                "{name} is {dtype}, whose unit has no fixed length: convert it to seconds"
            )));
        }
        if count != 1 {
            return Err(PyTypeError::new_err(format!(
                "{name} is {dtype}, whose unit is {count} {unit}: convert it to datetime64[{unit}]"
            )));
        }
        Ok(unit)
    }

    /// Fails if a valid integer is not exact in float64.
    fn require_exact(&self) -> PyResult<()> {
        let py = self.array.py();
        let Some((index, number)) = self.first_inexact()? else {
            return Ok(());
        };
        let name = self.name.replacen("the dtype of ", "", 1);
        let message = format!(
            "{name} has the integer {number} at index {index}, which float64 would round: convert the column to \
             float64 if that is meant"
        );
        Err(at_index(py, PyValueError::new_err(message), index))
    }
}

/// Returns the index and the type of the first object that numpy has no type of numbers for, or of the
/// first of all.
fn culprit(objects: &Bound<'_, PyAny>) -> PyResult<(usize, String)> {
    let is_number = |object: &Bound<'_, PyAny>| {
        object.is_instance_of::<PyFloat>()
            || object.extract::<i64>().is_ok()
            || object.extract::<u64>().is_ok()
            || object.hasattr("dtype").unwrap_or(false)
    };
    let mut index = 0;
    for (place, object) in objects.try_iter()?.enumerate() {
        if !is_number(&object?) {
            index = place;
            break;
        }
    }
    let object = objects.get_item(index)?;
    let kind = object.get_type().name()?.to_string();
    let name = match &kind[..] {
        "NoneType" => "None".to_string(),
        "int" => "an int beyond 64 bits".to_string(),
        kind if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {kind}"),
        kind => format!("a {kind}"),
    };
    Ok((index, name))
}

/// Returns what numpy makes of an object, with a unit for lists of datetimes or dates.
fn as_datetimes<'py>(
    operation: &str,
    name: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if !is_list(object) || object.len()? == 0 {
        return exact_array(operation, name, object);
    }
    let first = object.get_item(0)?;
    let dtype = if first.is_exact_instance_of::<PyDateTime>() {
        "M8[us]"
    } else if first.is_exact_instance_of::<PyDate>() {
        "M8[D]"
    } else {
        return exact_array(operation, name, object);
    };
    let kind = first.get_type();
    for (index, item) in object.try_iter()?.enumerate() {
        let item = item?;
        let what = match item.get_type().is(&kind) {
            false => format!("{}, and that at index 0 is {}", item.repr()?, first.repr()?),
            true if dtype == "M8[us]" && !item.getattr("tzinfo")?.is_none() => {
                format!("{}, with a time zone", item.repr()?)
            }
            true => continue,
        };
        let message = format!(
            "{operation}: {name} at index {index} is {what}: convert the list, for example by \
             pandas.to_datetime(times, utc=True)"
        );
        return Err(at_index(py, PyTypeError::new_err(message), index));
    }
    numpy(py)?.call_method1("asarray", (object, dtype))
}

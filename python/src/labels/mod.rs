//! The labels of series: columns of numpy, pandas, polars and pyarrow, and lists.

mod arrow;
mod group;
mod keys;
mod memory;
mod objects;

use gridstride::ndarray::Ix1;
use numpy::{IntoPyArray, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

pub use self::group::{Groups, Labels};
use self::group::{Order, grouped};
use self::keys::{Key, Keys, grouped_by_keys, grouped_integers};
pub use self::memory::Texts;
use self::memory::{Characters, Words};
use crate::array::{Argument, whole};
use crate::arrow::ArrowColumn;
use crate::column::mask_of;
use crate::conversion::require_host;
use crate::error::at_index;
use crate::number::{Number, by_dtype};
use crate::objects::{is_masked, is_of, numpy};

/// The series of points, in the order of their labels.
pub struct Series<'py> {
    pub groups: Groups,
    /// The label of each series, with the type of the points' labels.
    pub labels: Bound<'py, PyAny>,
}

/// Why labels have no groups.
enum Fault {
    /// The label of a point is missing.
    Missing(usize),
    /// The labels' type has no order.
    Type(String),
}

impl Fault {
    fn exception(self, py: Python<'_>, operation: &str) -> PyErr {
        match self {
            Fault::Missing(index) => missing(py, operation, index),
            Fault::Type(name) => PyTypeError::new_err(format!(
                "{operation}: series has labels of {name}: convert them to text or to integers"
            )),
        }
    }
}

fn missing(py: Python<'_>, operation: &str, index: usize) -> PyErr {
    let message = format!("{operation}: the label of point {index} is missing");
    at_index(py, PyValueError::new_err(message), index)
}

impl<'py> Series<'py> {
    /// Reads the labels of as many points as `count`.
    pub fn read(
        operation: &'static str,
        series: &Bound<'py, PyAny>,
        count: usize,
    ) -> PyResult<Series<'py>> {
        let py = series.py();
        require_host(operation, "series", series)?;
        let shape = |shape: &[usize]| match shape {
            [length] if *length == count => Ok(()),
            _ => Err(PyValueError::new_err(format!(
                "{operation}: the labels of the series have the shape {}, but there are {count} points",
                PyTuple::new(py, shape)?
            ))),
        };
        if u32::try_from(count).is_err() {
            return Err(PyValueError::new_err(format!(
                "{operation}: there are labels of {count} points, but possible are {}: pass offsets",
                u32::MAX
            )));
        }
        if let Some(list) = as_list(series)? {
            shape(&[list.len()])?;
            let groups = objects::groups(operation, &list, Order::Sorted)?;
            let labels = of_objects(&list, &groups.firsts)?;
            return Ok(Series { groups, labels });
        }
        if is_of(series, "pandas")? && series.hasattr("dtype")? {
            shape(&[series.len()?])?;
            return of_pandas(operation, series);
        }
        if is_of(series, "polars")? && series.hasattr("dtype")? {
            let kind = series.getattr("dtype")?.get_type().name()?;
            if kind == "Categorical" || kind == "Enum" {
                shape(&[series.len()?])?;
                return of_polars_categories(operation, series, kind == "Enum");
            }
        }
        if let Some(column) = ArrowColumn::import(format_args!("{operation}: series"), series)? {
            shape(&[column.len()])?;
            let groups = of_arrow(py, &column);
            let groups = groups.map_err(|fault| fault.exception(py, operation))?;
            let mut labels = taken(series, &groups.firsts)?;
            if is_dictionary(&column) {
                labels = with_plain_dictionary(labels)?;
            }
            return Ok(Series { groups, labels });
        }
        let mask = match is_masked(series)? {
            true => mask_of(series)?,
            false => None,
        };
        let array = match is_masked(series)? {
            true => numpy(py)?
                .getattr("ma")?
                .call_method1("getdata", (series,))?,
            false => numpy(py)?.call_method1(intern!(py, "asarray"), (series,))?,
        };
        let array = array.cast_into::<PyUntypedArray>()?;
        shape(array.shape())?;
        if let Some(index) = mask.and_then(|valid| valid.iter().position(|&is_valid| !is_valid)) {
            return Err(missing(py, operation, index));
        }
        of_numpy(operation, &array)
    }
}

fn is_dictionary(column: &ArrowColumn) -> bool {
    matches!(column.data_type, arrow_schema::DataType::Dictionary(..))
}

/// Groups the labels of a column: those of a dictionary in its order.
fn of_arrow(py: Python<'_>, column: &ArrowColumn) -> Result<Groups, Fault> {
    let order = match is_dictionary(column) {
        true => Order::Appearance,
        false => Order::Sorted,
    };
    py.detach(|| arrow::groups(&column.chunks, order))
}

/// Gives labels of pyarrow a dictionary of themselves if theirs has nulls or equal entries, which
/// pandas refuses.
fn with_plain_dictionary(labels: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let Some(dictionary) = labels.getattr_opt("dictionary")? else {
        return Ok(labels);
    };
    let different = dictionary.call_method0("unique")?.len()?;
    let nulls = dictionary.getattr("null_count")?;
    if different == dictionary.len()? && nulls.eq(0)? {
        return Ok(labels);
    }
    let plain = labels
        .call_method0("dictionary_decode")?
        .call_method0("dictionary_encode")?;
    plain.call_method1("cast", (labels.getattr("type")?,))
}

/// Returns a list or a tuple as a list. numpy would convert its labels to one type.
fn as_list<'py>(series: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyList>>> {
    if let Ok(list) = series.cast::<PyList>() {
        return Ok(Some(list.clone()));
    }
    let tuple = series.cast::<PyTuple>().ok();
    Ok(tuple.map(|tuple| tuple.to_list()))
}

/// Returns an array of some objects of a list, with numpy's type if it has them exactly.
fn of_objects<'py>(list: &Bound<'py, PyList>, places: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let py = list.py();
    let objects = places.iter().map(|&place| list.get_item(place));
    let objects = objects.collect::<PyResult<Vec<_>>>()?;
    let is_plain = |object: &Bound<'_, PyAny>| {
        let dtype = numpy(py)?.call_method1("result_type", (object.get_type(),));
        Ok::<_, PyErr>(match dtype {
            Ok(dtype) => dtype.getattr("kind")?.ne("O")?,
            Err(_) => false,
        })
    };
    if objects.is_empty() {
        return numpy(py)?.call_method1("asarray", (objects,));
    }
    if is_plain(&objects[0])? && !objects.iter().any(ends_with_zero) {
        let array = numpy(py)?.call_method1("asarray", (&objects,))?;
        // numpy makes floats of integers some of which are beyond int64.
        let is_float = array.getattr("dtype")?.getattr("kind")?.eq("f")?;
        if !is_float || !objects::is_integer(&objects[0])? {
            return Ok(array);
        }
        let integers = objects
            .iter()
            .map(|object| object.call_method0("__index__"));
        let Ok(integers) = integers.collect::<PyResult<Vec<_>>>() else {
            return Ok(array);
        };
        if let Ok(array) = numpy(py)?.call_method1("array", (integers, "u8")) {
            return Ok(array);
        }
    }
    let array = numpy(py)?.call_method1("empty", (objects.len(), "O"))?;
    for (index, object) in objects.iter().enumerate() {
        array.set_item(index, object)?;
    }
    Ok(array)
}

/// Whether an object is a text or bytes that end with a zero, which numpy's types of fixed length lose.
fn ends_with_zero(object: &Bound<'_, PyAny>) -> bool {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return bytes.as_bytes().ends_with(&[0]);
    }
    let text = object.cast::<PyString>();
    text.is_ok_and(|text| text.to_str().is_ok_and(|text| text.ends_with('\0')))
}

/// Returns the labels at some places of a column, as a column of the same type.
fn taken<'py>(column: &Bound<'py, PyAny>, places: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let py = column.py();
    let places = places.iter().map(|&place| place as i64).collect::<Vec<_>>();
    let places = places.into_pyarray(py);
    if is_of(column, "polars")? {
        return column.call_method1("gather", (places,));
    }
    if is_of(column, "pyarrow")? {
        let pyarrow = py.import("pyarrow")?;
        let labels =
            match column.call_method1("take", (pyarrow.call_method1("array", (&places,))?,)) {
                Ok(labels) => labels,
                // pyarrow does not take elements of some types.
                Err(_) => {
                    let labels = places.call_method0("tolist")?.try_iter()?;
                    let labels = labels
                        .map(|place| column.get_item(place?))
                        .collect::<PyResult<Vec<_>>>()?;
                    return pyarrow.call_method1("array", (labels, column.getattr("type")?));
                }
            };
        return match labels.hasattr("combine_chunks")? {
            true => labels.call_method0("combine_chunks"),
            false => Ok(labels),
        };
    }
    if column.hasattr("take")? {
        return column.call_method1("take", (places,));
    }
    let array = numpy(py)?.call_method1("asarray", (column,))?;
    array.call_method1("take", (places,))
}

fn of_pandas<'py>(operation: &'static str, series: &Bound<'py, PyAny>) -> PyResult<Series<'py>> {
    let py = series.py();
    // Series and indices have an array of an extension, or of numpy.
    let array = series
        .getattr_opt("array")?
        .unwrap_or_else(|| series.clone());
    let dtype = array.getattr("dtype")?;
    let with_labels = |groups: Groups| {
        let labels = taken(&array, &groups.firsts)?;
        Ok(Series { groups, labels })
    };
    let kind = dtype.get_type().name()?;
    if kind == "CategoricalDtype" {
        let codes = Argument::new(operation, "series", &array.getattr("codes")?)?;
        let count = dtype.getattr("categories")?.len()?;
        return with_labels(of_codes(operation, &codes, count)?);
    }
    if kind == "DatetimeTZDtype" {
        let times = array.call_method1("tz_convert", (py.None(),))?;
        let times = times.call_method0("to_numpy")?.cast_into()?;
        return with_labels(of_numpy(operation, &times)?.groups);
    }
    let is_numpy = dtype.is_instance(&numpy(py)?.getattr("dtype")?)?;
    if is_numpy {
        return of_numpy(operation, &series.call_method0("to_numpy")?.cast_into()?);
    }
    if array.hasattr("__arrow_array__")? {
        // It needs pyarrow.
        match array.call_method0("__arrow_array__") {
            Ok(arrow) => {
                let column = ArrowColumn::import(format_args!("{operation}: series"), &arrow)?;
                if let Some(column) = column {
                    match of_arrow(py, &column) {
                        Ok(groups) if is_dictionary(&column) => {
                            let labels = with_plain_dictionary(taken(&arrow, &groups.firsts)?)?;
                            let arrays = py.import("pandas")?.getattr("arrays")?;
                            let labels = arrays.call_method1("ArrowExtensionArray", (labels,))?;
                            return Ok(Series { groups, labels });
                        }
                        Ok(groups) => return with_labels(groups),
                        Err(fault @ Fault::Missing(_)) => {
                            return Err(fault.exception(py, operation));
                        }
                        Err(Fault::Type(_)) => (),
                    }
                }
            }
            Err(error) if error.is_instance_of::<PyImportError>(py) => (),
            Err(error) => return Err(error),
        }
    }
    let objects = array
        .call_method1("astype", ("O",))?
        .call_method0("tolist")?;
    with_labels(objects::groups(operation, objects.cast()?, Order::Sorted)?)
}

/// Groups points by the codes of a categorical, of which there are `count`.
fn of_codes(operation: &'static str, codes: &Argument<'_>, count: usize) -> PyResult<Groups> {
    fn read<T: Number + Key + Default>(
        operation: &'static str,
        codes: &Argument<'_>,
        count: usize,
    ) -> PyResult<Groups> {
        let py = codes.py();
        let codes = codes.input::<T, Ix1>(None)?;
        let groups = py.detach(|| {
            let keys = Keys {
                keys: &whole(codes.view()),
                first: T::default().word(),
            };
            let groups = (0..count as u32).map(Some).collect::<Vec<_>>();
            grouped_by_keys(&[keys], &groups)
        });
        // Missing labels have the code -1.
        groups.map_err(|index| missing(py, operation, index))
    }
    by_dtype!(codes, [i8, i16, i32, i64], read(operation, codes, count))
}

/// Groups the labels of a Categorical or an Enum of polars: those of an Enum in the order of its
/// categories, others in the order of the texts.
fn of_polars_categories<'py>(
    operation: &'static str,
    series: &Bound<'py, PyAny>,
    is_enum: bool,
) -> PyResult<Series<'py>> {
    let py = series.py();
    let column = |column: &Bound<'py, PyAny>| {
        let column = ArrowColumn::import(format_args!("{operation}: series"), column)?;
        let column = column.ok_or_else(|| Fault::Type("polars".into()).exception(py, operation))?;
        let groups = py.detach(|| arrow::groups(&column.chunks, Order::Sorted));
        groups.map_err(|fault| fault.exception(py, operation))
    };
    let mut groups = column(&series.call_method0("to_physical")?)?;
    let mut labels = taken(series, &groups.firsts)?;
    if !is_enum {
        let texts = labels.call_method1("cast", (py.import("polars")?.getattr("String")?,))?;
        // Each category has one text, so that the first point of a group is the category's number.
        let by_text = column(&texts)?.firsts;
        py.detach(|| groups.reorder(&by_text));
        labels = taken(series, &groups.firsts)?;
    }
    Ok(Series { groups, labels })
}

/// Groups the labels of an array with one axis.
fn of_numpy<'py>(
    operation: &'static str,
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Series<'py>> {
    let py = array.py();
    let dtype = array.getattr("dtype")?;
    let kind = dtype.getattr("kind")?.extract::<char>()?;
    let options = pyo3::types::PyDict::new(py);
    options.set_item("copy", false)?;
    let as_type = |name: &str| {
        let array = array.call_method("astype", (name,), Some(&options))?;
        Argument::new(operation, "series", &array)
    };
    let missing_at = |index: usize| Err(missing(py, operation, index));
    let groups = match kind {
        'i' => {
            let numbers = as_type("=i8")?.input::<i64, Ix1>(None)?;
            py.detach(|| grouped_integers(&[&whole(numbers.view())[..]], Order::Sorted))
        }
        'u' | 'b' => {
            let numbers = as_type("=u8")?.input::<u64, Ix1>(None)?;
            py.detach(|| grouped_integers(&[&whole(numbers.view())[..]], Order::Sorted))
        }
        'f' if array.dtype().itemsize() <= 8 => {
            let numbers = as_type("=f8")?.input::<f64, Ix1>(None)?;
            if let Some(index) = numbers.view().iter().position(|number| number.is_nan()) {
                return missing_at(index);
            }
            let mut words = Words(Vec::with_capacity(numbers.view().len()));
            words.extend_floats(numbers.view().iter().copied());
            py.detach(|| grouped(&[words], Order::Sorted))
        }
        'M' | 'm' => {
            let native = dtype.call_method1("newbyteorder", ("=",))?;
            let ticks = array.call_method("astype", (native,), Some(&options))?;
            let ticks = ticks.call_method1("view", ("i8",))?;
            let ticks = Argument::new(operation, "series", &ticks)?.input::<i64, Ix1>(None)?;
            // NaT is the least int64.
            if let Some(index) = ticks.view().iter().position(|&tick| tick == i64::MIN) {
                return missing_at(index);
            }
            py.detach(|| grouped_integers(&[&whole(ticks.view())[..]], Order::Sorted))
        }
        'U' | 'S' if !array.is_empty() && array.dtype().itemsize() > 0 => {
            let native = dtype.call_method1("newbyteorder", ("=",))?;
            let texts = numpy(py)?.call_method1("ascontiguousarray", (array, native))?;
            let bytes = texts.call_method1("view", ("u1",))?;
            let bytes = Argument::new(operation, "series", &bytes)?.input::<u8, Ix1>(None)?;
            let width = array.dtype().itemsize();
            py.detach(|| match kind {
                'U' => grouped(&[Characters { bytes, width }], Order::Sorted),
                _ => grouped(&[Texts::Fixed(bytes, width)], Order::Sorted),
            })
        }
        'O' | 'T' | 'U' | 'S' => {
            let objects = array
                .call_method1("astype", ("O",))?
                .call_method0("tolist")?;
            objects::groups(operation, objects.cast()?, Order::Sorted)?
        }
        _ => return Err(Fault::Type(dtype.to_string()).exception(py, operation)),
    };
    let labels = taken(array.as_any(), &groups.firsts)?;
    Ok(Series { groups, labels })
}

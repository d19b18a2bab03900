//! Statistics of values in buckets of time.

use gridstride::Device;
use gridstride::ndarray::Ix1;
use gridstride::time_series::{
    self, Duplicates, Fill, Method, Nan, Order, Singletons, TimeBuckets, Value,
};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::array::{Argument, Memory, Number, Outcome, Output, by_dtype};
use crate::call::call;
use crate::device::Devices;
use crate::error::{OrRaise, no_choice};

const AGGREGATE: &str = "aggregate";
const ROUND: &str = "round_timestamps";

/// Where each series begins among the buckets, the buckets' starts, and a column for each method.
type Buckets<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Vec<Bound<'py, PyArray1<f64>>>,
);

/// Aggregates timestamps and values of a series, or of several whose offsets are given.
#[pyfunction]
#[pyo3(signature = (timestamps, values, *, offsets, every, origin, methods, fill, nan, ddof, singletons, duplicates, sort, device))]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub fn aggregate<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    offsets: Option<Vec<usize>>,
    every: i64,
    origin: i64,
    methods: Vec<String>,
    fill: Option<&Bound<'py, PyAny>>,
    nan: &str,
    ddof: u32,
    singletons: &str,
    duplicates: &str,
    sort: bool,
    device: Option<Devices>,
) -> PyResult<Buckets<'py>> {
    let methods = methods.iter().map(|name| name.parse());
    let methods = methods.collect::<gridstride::Result<Vec<Method>>>();
    let options = TimeBuckets::every(every)
        .origin(origin)
        .methods(&methods.or_raise(py, AGGREGATE)?)
        .fill(fill_of(fill)?)
        .ddof(ddof)
        .nan(match nan {
            "skip" => Nan::Skip,
            "propagate" => Nan::Propagate,
            _ => return Err(no_choice(AGGREGATE, "nan", nan, "skip and propagate")),
        })
        .singletons(match singletons {
            "nan" => Singletons::Nan,
            "drop" => Singletons::Drop,
            _ => {
                return Err(no_choice(
                    AGGREGATE,
                    "singletons",
                    singletons,
                    "nan and drop",
                ));
            }
        })
        .duplicates(match duplicates {
            "keep" => Duplicates::Keep,
            "first" => Duplicates::First,
            "last" => Duplicates::Last,
            _ => {
                let possible = "keep, first and last";
                return Err(no_choice(AGGREGATE, "duplicates", duplicates, possible));
            }
        })
        .order(match sort {
            true => Order::Sort,
            false => Order::Required,
        });
    let timestamps = Argument::new(AGGREGATE, "timestamps", timestamps)?;
    let values = Argument::new(AGGREGATE, "values", values)?;
    let devices = Devices::of(py, device);
    by_dtype!(
        values,
        [f32, f64],
        aggregate_of(py, options, offsets, &timestamps, &values, devices)
    )
}

fn aggregate_of<'py, T: Number + Value>(
    py: Python<'py>,
    options: TimeBuckets,
    offsets: Option<Vec<usize>>,
    timestamps: &Argument<'py>,
    values: &Argument<'py>,
    devices: Vec<Device>,
) -> PyResult<Buckets<'py>> {
    let timestamps = timestamps.input::<i64, Ix1>(None)?;
    let values = values.input::<T, Ix1>(None)?;
    let operations = values.view().len() as f64;
    let (offsets, (starts, columns)) = call(py, AGGREGATE, operations, move || {
        let (timestamps, values) = (timestamps.view(), values.view());
        let found = match offsets {
            Some(offsets) => options.aggregate_series(&devices, &offsets, timestamps, values),
            None => options.aggregate(&devices, timestamps, values),
        }?;
        let offsets = found.offsets().iter().map(|&offset| offset as i64);
        Ok((offsets.collect::<Vec<_>>(), found.into_parts()))
    })?;
    let columns = columns.into_iter().map(|column| column.into_pyarray(py));
    Ok((
        offsets.into_pyarray(py),
        starts.into_pyarray(py),
        columns.collect(),
    ))
}

/// Returns the option for `None`, a number, or the name of another way to fill.
fn fill_of(fill: Option<&Bound<'_, PyAny>>) -> PyResult<Fill> {
    let Some(fill) = fill else {
        return Ok(Fill::None);
    };
    if let Ok(name) = fill.extract::<&str>() {
        return match name {
            "previous" => Ok(Fill::Previous),
            _ => Err(no_choice(
                AGGREGATE,
                "fill",
                name,
                "None, a number and previous",
            )),
        };
    }
    match fill.extract::<f64>() {
        Ok(number) if number.is_nan() => Ok(Fill::Nan),
        Ok(number) => Ok(Fill::Value(number)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{AGGREGATE}: fill is {fill}, but has to be None, a number or 'previous'"
        ))),
    }
}

/// Returns the start of each timestamp's bucket.
#[pyfunction]
#[pyo3(signature = (timestamps, *, every, origin, out, device))]
pub fn round_timestamps(
    py: Python<'_>,
    timestamps: &Bound<'_, PyAny>,
    every: i64,
    origin: i64,
    out: Option<&Bound<'_, PyAny>>,
    device: Option<Devices>,
) -> PyResult<Py<PyAny>> {
    let timestamps = Argument::new(ROUND, "timestamps", timestamps)?;
    let timestamps = timestamps.input::<i64, Ix1>(Memory::of_out(out).as_ref())?;
    let out = Output::<i64, Ix1>::new(ROUND, out)?;
    let devices = Devices::of(py, device);
    let operations = timestamps.view().len() as f64;
    let outcome = call(py, ROUND, operations, move || {
        let timestamps = timestamps.view();
        Outcome::of(
            out,
            |out| time_series::round_timestamps_into(&devices, timestamps, every, origin, out),
            || time_series::round_timestamps(&devices, timestamps, every, origin),
        )
    })?;
    Ok(outcome.into_array(py))
}

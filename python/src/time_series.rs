//! Statistics of values in buckets of time.

use gridstride::Device;
use gridstride::ndarray::Ix1;
use gridstride::time_series::{self, Aggregates, Fill, Method, Order, TimeBuckets, Value};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::array::{Argument, Memory, Number, Outcome, Output, by_dtype};
use crate::call::call;
use crate::device::Devices;
use crate::error::{OrRaise, choice, not_negative};
use crate::resident::{self, resident};

const AGGREGATE: &str = "aggregate";
const COUNTS: &str = "bucket_counts";
const ROUND: &str = "round_timestamps";

/// The operations that a point takes at most: sorting and percentiles take about 100 ns.
pub const POINT: f64 = 100.0;

/// Where each series begins among the buckets, the buckets' starts, and a column for each method.
pub type Buckets<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyAny>,
    Vec<Bound<'py, PyAny>>,
);

/// Returns the methods that have names, and what each is.
pub fn methods() -> Vec<(String, &'static str)> {
    let named = Method::ALL.iter();
    named
        .map(|method| (method.to_string(), method.documentation()))
        .collect()
}

/// Aggregates timestamps and values of a series, or of several whose offsets are given.
#[pyfunction]
#[pyo3(signature = (timestamps, values, *, offsets, every, origin, methods, fill, nan, ddof, singletons, duplicates, sort, device, stream))]
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
    ddof: i128,
    singletons: &str,
    duplicates: &str,
    sort: bool,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Buckets<'py>> {
    let methods = methods.iter().map(|name| name.parse());
    let methods = methods.collect::<gridstride::Result<Vec<Method>>>();
    let options = TimeBuckets::every(every)
        .origin(origin)
        .methods(&methods.or_raise(py, AGGREGATE)?)
        .fill(fill_of(fill)?)
        .ddof(not_negative(AGGREGATE, "ddof", ddof)?)
        .nan(choice(AGGREGATE, nan)?)
        .singletons(choice(AGGREGATE, singletons)?)
        .duplicates(choice(AGGREGATE, duplicates)?)
        .order(order_of(sort));
    let arguments = [("timestamps", Some(timestamps)), ("values", Some(values))];
    if let Some((place, [Some(timestamps), Some(values)])) =
        resident(py, AGGREGATE, arguments, device.as_ref(), stream)?
    {
        return resident::time_series::aggregate(py, &place, options, offsets, timestamps, values);
    }
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
    let operations = values.view().len() as f64 * POINT;
    let found = call(py, AGGREGATE, operations, move || {
        let (timestamps, values) = (timestamps.view(), values.view());
        match offsets {
            Some(offsets) => options.aggregate_series(&devices, &offsets, timestamps, values),
            None => options.aggregate(&devices, timestamps, values),
        }
    })?;
    Ok(buckets(py, found))
}

pub fn buckets(py: Python<'_>, found: Aggregates) -> Buckets<'_> {
    let offsets = offsets_of(py, found.offsets());
    let (starts, columns) = found.into_parts();
    let columns = columns.into_iter();
    let columns = columns.map(|column| column.into_pyarray(py).into_any());
    (
        offsets,
        starts.into_pyarray(py).into_any(),
        columns.collect(),
    )
}

pub fn offsets_of<'py>(py: Python<'py>, offsets: &[usize]) -> Bound<'py, PyArray1<i64>> {
    let offsets = offsets.iter().map(|&offset| offset as i64);
    offsets.collect::<Vec<_>>().into_pyarray(py)
}

pub fn order_of(sort: bool) -> Order {
    match sort {
        true => Order::Sort,
        false => Order::Required,
    }
}

/// Returns the option for `None`, a number, or the name of another way to fill.
fn fill_of(fill: Option<&Bound<'_, PyAny>>) -> PyResult<Fill> {
    let Some(fill) = fill else {
        return Ok(Fill::None);
    };
    if let Ok(name) = fill.extract::<&str>() {
        return match name {
            "previous" => Ok(Fill::Previous),
            _ => Err(PyValueError::new_err(format!(
                "{AGGREGATE}: fill is {name:?}, but possible are None, a number and previous"
            ))),
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
#[pyo3(signature = (timestamps, *, every, origin, out, device, stream))]
pub fn round_timestamps<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    every: i64,
    origin: i64,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let arguments = [("timestamps", Some(timestamps)), ("out", out)];
    if let Some((place, [timestamps, to])) =
        resident(py, ROUND, arguments, device.as_ref(), stream)?
    {
        let (timestamps, out) = (timestamps.expect("given"), to.zip(out));
        return resident::time_series::round(py, &place, timestamps, every, origin, out);
    }
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

/// The buckets' starts, and their numbers of points.
type Counts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// Counts the points of each bucket.
#[pyfunction]
#[pyo3(signature = (timestamps, *, every, origin, device))]
pub fn bucket_counts<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    every: i64,
    origin: i64,
    device: Option<Devices>,
) -> PyResult<Counts<'py>> {
    let timestamps = Argument::new(COUNTS, "timestamps", timestamps)?.input::<i64, Ix1>(None)?;
    let devices = Devices::of(py, device);
    let operations = timestamps.view().len() as f64;
    let found = call(py, COUNTS, operations, move || {
        time_series::bucket_counts(&devices, timestamps.view(), every, origin)
    })?;
    let counts = found.counts.mapv(i64::from);
    Ok((found.starts.into_pyarray(py), counts.into_pyarray(py)))
}

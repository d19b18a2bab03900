//! Statistics of values in buckets of time.

use gridstride::Device;
use gridstride::ndarray::Ix1;
use gridstride::time_series::{self, Aggregates, Fill, Fills, Method, Order, TimeBuckets, Value};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::array::{Memory, Outcome, Output};
use crate::call::call;
use crate::column::Name;
use crate::columns::Times;
use crate::device::Devices;
use crate::durations::Unit;
use crate::error::{OrRaise, at_index, choice, not_negative};
use crate::number::Number;
use crate::objects::numpy;
use crate::points::{self, Frame, POINT, Points, PointsOf};
use crate::resident::{self, on_device, resident};
use crate::scalar;

/// The Python module with the classes of results.
const MODULE: &str = "gridstride.time_series";

const AGGREGATE: &str = "aggregate";
const COUNTS: &str = "bucket_counts";
const ROUND: &str = "round_timestamps";

/// Returns the methods that have names, and what each is.
pub fn methods() -> Vec<(String, &'static str)> {
    let named = Method::ALL.iter();
    named
        .map(|method| (method.to_string(), method.documentation()))
        .collect()
}

/// Aggregates timestamps and values of a series, or of several, which labels or offsets tell apart.
#[pyfunction]
#[pyo3(signature = (timestamps, values, every, methods, *, series, offsets, origin, fill, nan, ddof, singletons, duplicates, sort, device, stream))]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub fn aggregate<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    every: &Bound<'py, PyAny>,
    methods: Methods,
    series: Option<&Bound<'py, PyAny>>,
    offsets: Option<&Bound<'py, PyAny>>,
    origin: &Bound<'py, PyAny>,
    fill: Option<&Bound<'py, PyAny>>,
    nan: &str,
    ddof: i128,
    singletons: &str,
    duplicates: &str,
    sort: bool,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (names, methods) = methods.read(py, AGGREGATE)?;
    let options = |unit: Option<&str>| {
        Ok::<_, PyErr>(
            TimeBuckets::every(Unit::new(AGGREGATE, unit).span(every)?)
                .origin(Unit::new(AGGREGATE, unit).point(origin)?)
                .methods(&methods)
                .fill(fills_of(py, fill)?)
                .ddof(not_negative(AGGREGATE, "ddof", ddof)?)
                .nan(choice(AGGREGATE, nan)?)
                .singletons(choice(AGGREGATE, singletons)?)
                .duplicates(choice(AGGREGATE, duplicates)?)
                .order(order_of(sort)),
        )
    };
    if series.is_some() && (on_device(timestamps)? || on_device(values)?) {
        return Err(PyValueError::new_err(format!(
            "{AGGREGATE}: series are labels in the memory of the host: pass offsets with device arrays"
        )));
    }
    let arguments = [("timestamps", Some(timestamps)), ("values", Some(values))];
    if let Some((place, [Some(timestamps), Some(values)])) =
        resident(py, AGGREGATE, arguments, device.as_ref(), stream)?
    {
        // Other numbers of axes are refused later.
        let count = timestamps.shape().first().copied().unwrap_or(1);
        let offsets = offsets.map(|offsets| points::offsets_of(AGGREGATE, offsets, count));
        let (offsets, options) = (offsets.transpose()?, options(None)?);
        let (offsets, starts, columns) =
            resident::time_series::aggregate(py, &place, options, offsets, timestamps, values)?;
        let columns = columns_of(py, &names, columns)?;
        let class = py.import(MODULE)?.getattr("DeviceBuckets")?;
        return class.call1((starts, columns, offsets));
    }
    let (points, frame) = points::read(
        AGGREGATE,
        timestamps,
        values,
        series,
        offsets,
        choice(AGGREGATE, nan)?,
    )?;
    let options = options(frame.unit.as_deref())?;
    let devices = Devices::of(py, device);
    let aggregates = match points {
        Points::F32(points) => aggregate_of(py, options, points, devices),
        Points::F64(points) => aggregate_of(py, options, points, devices),
    };
    buckets(py, aggregates?, &names, frame)
}

fn aggregate_of<T: Number + Value>(
    py: Python<'_>,
    options: TimeBuckets,
    points: PointsOf<T>,
    devices: Vec<Device>,
) -> PyResult<Aggregates> {
    let operations = points.values.view().len() as f64 * POINT;
    call(py, AGGREGATE, operations, move || {
        points.call(|points| {
            let (timestamps, values) = (points.timestamps.view(), points.values.view());
            match &points.offsets {
                Some(offsets) => options.aggregate_series(&devices, offsets, timestamps, values),
                None => options.aggregate(&devices, timestamps, values),
            }
        })
    })
}

/// The argument `methods`: a name or several.
pub struct Methods(Vec<String>);

impl Methods {
    /// Returns the default.
    pub fn mean() -> Methods {
        Methods(vec!["mean".to_string()])
    }

    /// Returns the names, and the methods, which have to differ.
    pub fn read(
        self,
        py: Python<'_>,
        operation: &'static str,
    ) -> PyResult<(Vec<String>, Vec<Method>)> {
        let Methods(names) = self;
        let methods = names.iter().map(|name| name.parse());
        let methods = methods.collect::<gridstride::Result<Vec<Method>>>();
        let methods = methods.or_raise(py, operation)?;
        for (index, method) in methods.iter().enumerate() {
            if methods[..index].contains(method) {
                let message = format!("{operation}: methods have {} twice", names[index]);
                return Err(at_index(py, PyValueError::new_err(message), index));
            }
        }
        Ok((names, methods))
    }
}

impl<'py> FromPyObject<'_, 'py> for Methods {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Methods> {
        if let Ok(name) = object.cast::<PyString>() {
            return Ok(Methods(vec![name.to_string()]));
        }
        let names = object.try_iter()?.map(|name| name?.extract());
        names.collect::<PyResult<_>>().map(Methods)
    }
}

/// Returns int64 as timestamps of a unit, if there is one.
pub fn in_unit<'py>(ticks: Bound<'py, PyAny>, unit: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    match unit {
        Some(unit) => ticks.call_method1("view", (format!("M8[{unit}]"),)),
        None => Ok(ticks),
    }
}

/// Returns the buckets of the host.
pub fn buckets<'py>(
    py: Python<'py>,
    aggregates: Aggregates,
    names: &[String],
    frame: Frame,
) -> PyResult<Bound<'py, PyAny>> {
    let offsets = offsets_of(py, aggregates.offsets());
    let (starts, columns) = aggregates.into_parts();
    let starts = in_unit(starts.into_pyarray(py).into_any(), frame.unit.as_deref())?;
    let columns = columns
        .into_iter()
        .map(|column| column.into_pyarray(py).into_any());
    let columns = columns_of(py, names, columns.collect())?;
    let class = py.import(MODULE)?.getattr("Buckets")?;
    class.call1((starts, columns, offsets, frame.labels, frame.zone))
}

fn columns_of<'py>(
    py: Python<'py>,
    names: &[String],
    columns: Vec<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, column) in names.iter().zip(columns) {
        dictionary.set_item(name, column)?;
    }
    Ok(dictionary)
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

/// Returns the option for one result of all methods, or for a dictionary with those of some.
fn fills_of(py: Python<'_>, fill: Option<&Bound<'_, PyAny>>) -> PyResult<Fills> {
    let Some(fill) = fill else {
        return Ok(Fills::default());
    };
    if let Ok(text) = fill.extract::<&str>() {
        return text.parse().or_raise(py, AGGREGATE);
    }
    let Ok(of_methods) = fill.cast::<PyDict>() else {
        return Ok(fill_of(py, fill)?.into());
    };
    let mut fills = Fills::from(Fill::Nan);
    for (method, fill) in of_methods {
        let method = method.extract::<&str>()?.parse();
        fills = fills.with(method.or_raise(py, AGGREGATE)?, fill_of(py, &fill)?);
    }
    Ok(fills)
}

/// Returns the result for `None`, a number, or the name of another way to fill.
fn fill_of(py: Python<'_>, fill: &Bound<'_, PyAny>) -> PyResult<Fill> {
    if fill.is_none() {
        return Ok(Fill::Nan);
    }
    if let Ok(name) = fill.extract::<&str>() {
        return name.parse().or_raise(py, AGGREGATE);
    }
    let otherwise = "None, a number, 'null', 'previous', or a dict of these by methods";
    let number = scalar::float(AGGREGATE, "fill", fill, otherwise)?;
    Ok(match number.is_nan() {
        true => Fill::Nan,
        false => Fill::Value(number),
    })
}

/// Returns the start of each timestamp's bucket.
#[pyfunction]
#[pyo3(signature = (timestamps, every, *, origin, out, device, stream))]
pub fn round_timestamps<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    every: &Bound<'py, PyAny>,
    origin: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    if on_device(timestamps)? || stream.is_some() {
        let arguments = [("timestamps", Some(timestamps)), ("out", out)];
        let unit = Unit::new(ROUND, None);
        let (every, origin) = (unit.span(every)?, unit.point(origin)?);
        if let Some((place, [timestamps, resident_out])) =
            resident(py, ROUND, arguments, device.as_ref(), stream)?
        {
            let (timestamps, out) = (timestamps.expect("given"), resident_out.zip(out));
            return resident::time_series::round(py, &place, timestamps, every, origin, out);
        }
    }
    let name = Name {
        operation: ROUND,
        argument: "timestamps",
    };
    let memory = Memory::of_out(out);
    let times = Times::read(name, timestamps, memory.as_ref())?;
    let unit = times.unit.as_deref();
    let of_time = Unit::new(ROUND, unit);
    let (every, origin) = (of_time.span(every)?, of_time.point(origin)?);
    // Timestamps of the same unit are int64 too.
    let given = out;
    let viewed = match (out, unit) {
        (Some(out), Some(unit)) if has_unit(out, unit)? => Some(out.call_method1("view", ("i8",))?),
        _ => None,
    };
    let out = viewed.as_ref().or(out);
    let timestamps = times.ticks;
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
    match given {
        Some(out) => Ok(out.clone().unbind()),
        None => Ok(in_unit(outcome.into_array(py).into_bound(py), unit)?.unbind()),
    }
}

fn has_unit(array: &Bound<'_, PyAny>, unit: &str) -> PyResult<bool> {
    match array.getattr_opt("dtype")? {
        Some(dtype) => {
            dtype.eq(numpy(array.py())?.call_method1("dtype", (format!("M8[{unit}]"),))?)
        }
        None => Ok(false),
    }
}

/// The buckets' starts, and their numbers of points.
type Counts<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);

/// Counts the points of each bucket.
#[pyfunction]
#[pyo3(signature = (timestamps, every, *, origin, device))]
pub fn bucket_counts<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    every: &Bound<'py, PyAny>,
    origin: &Bound<'py, PyAny>,
    device: Option<Devices>,
) -> PyResult<Counts<'py>> {
    let name = Name {
        operation: COUNTS,
        argument: "timestamps",
    };
    let times = Times::read(name, timestamps, None)?;
    let unit = times.unit.as_deref();
    let of_time = Unit::new(COUNTS, unit);
    let (every, origin) = (of_time.span(every)?, of_time.point(origin)?);
    let devices = Devices::of(py, device);
    let ticks = times.ticks;
    let operations = ticks.view().len() as f64;
    let buckets = call(py, COUNTS, operations, move || {
        time_series::bucket_counts(&devices, ticks.view(), every, origin)
    })?;
    let counts = buckets.counts.mapv(i64::from);
    let starts = in_unit(buckets.starts.into_pyarray(py).into_any(), unit)?;
    Ok((starts, counts.into_pyarray(py)))
}

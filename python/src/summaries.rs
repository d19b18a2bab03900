//! Summaries of buckets, which can be merged to those of coarser buckets.

use std::sync::Arc;

use gridstride::Device;
use gridstride::ndarray::Ix1;
use gridstride::time_series::{Method, Summaries, TimeBuckets, Value};
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;

use crate::array::{Argument, Number, by_dtype};
use crate::call::call;
use crate::device::Devices;
use crate::error::{OrRaise, choice, not_negative};
use crate::time_series::{Buckets, POINT, buckets, offsets_of, order_of};

const SUMMARIZE: &str = "summarize";
const RESAMPLE: &str = "resample";
const AGG: &str = "agg";

/// Summaries of buckets, with timestamps as int64.
#[pyclass(frozen, name = "Summaries", module = "gridstride._core")]
pub struct PySummaries(Arc<Summaries>);

#[pymethods]
impl PySummaries {
    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.starts().to_pyarray(py)
    }

    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        offsets_of(py, self.0.offsets())
    }

    fn resample(&self, py: Python<'_>, every: i64) -> PyResult<PySummaries> {
        let summaries = self.0.clone();
        let resample = move || summaries.resample(every).map(Arc::new);
        call(py, RESAMPLE, self.operations(), resample).map(PySummaries)
    }

    #[pyo3(signature = (methods, *, ddof))]
    fn agg<'py>(
        &self,
        py: Python<'py>,
        methods: Vec<String>,
        ddof: i128,
    ) -> PyResult<Buckets<'py>> {
        let methods = methods.iter().map(|name| name.parse());
        let methods = methods.collect::<gridstride::Result<Vec<Method>>>();
        let (methods, summaries) = (methods.or_raise(py, AGG)?, self.0.clone());
        let ddof = not_negative(AGG, "ddof", ddof)?;
        let found = call(py, AGG, self.operations(), move || {
            summaries.columns(&methods, ddof)
        });
        Ok(buckets(py, found?))
    }
}

impl PySummaries {
    /// Returns the operations of a call.
    fn operations(&self) -> f64 {
        self.0.starts().len() as f64 * POINT
    }
}

/// Summarises the buckets of a series, or of several whose offsets are given.
#[pyfunction]
#[pyo3(signature = (timestamps, values, *, offsets, every, origin, nan, duplicates, sort, device))]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub fn summarize<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    offsets: Option<Vec<usize>>,
    every: i64,
    origin: i64,
    nan: &str,
    duplicates: &str,
    sort: bool,
    device: Option<Devices>,
) -> PyResult<PySummaries> {
    let options = TimeBuckets::every(every)
        .origin(origin)
        .nan(choice(SUMMARIZE, nan)?)
        .duplicates(choice(SUMMARIZE, duplicates)?)
        .order(order_of(sort));
    let timestamps = Argument::new(SUMMARIZE, "timestamps", timestamps)?;
    let values = Argument::new(SUMMARIZE, "values", values)?;
    let devices = Devices::of(py, device);
    by_dtype!(
        values,
        [f32, f64],
        summarize_of(py, options, offsets, &timestamps, &values, devices)
    )
}

fn summarize_of<'py, T: Number + Value>(
    py: Python<'py>,
    options: TimeBuckets,
    offsets: Option<Vec<usize>>,
    timestamps: &Argument<'py>,
    values: &Argument<'py>,
    devices: Vec<Device>,
) -> PyResult<PySummaries> {
    let timestamps = timestamps.input::<i64, Ix1>(None)?;
    let values = values.input::<T, Ix1>(None)?;
    let operations = values.view().len() as f64 * POINT;
    let found = call(py, SUMMARIZE, operations, move || {
        let (timestamps, values) = (timestamps.view(), values.view());
        match offsets {
            Some(offsets) => options.summaries_series(&devices, &offsets, timestamps, values),
            None => options.summaries(&devices, timestamps, values),
        }
    })?;
    Ok(PySummaries(Arc::new(found)))
}

//! Summaries of buckets, which can be merged to those of coarser buckets.

use std::sync::Arc;

use gridstride::Device;
use gridstride::time_series::{Moments, Summaries, TimeBuckets, Value};
use pyo3::prelude::*;

use crate::call::call;
use crate::device::Devices;
use crate::durations::Unit;
use crate::error::{choice, not_negative};
use crate::number::Number;
use crate::points::{self, Frame, POINT, Points, PointsOf};
use crate::time_series::{Methods, buckets, order_of};

const SUMMARIZE: &str = "summarize";
const RESAMPLE: &str = "resample";
const AGG: &str = "agg";

/// Summaries of buckets: the result of ``summarize``.
///
/// All methods except percentiles and rates, also of coarser buckets, are computed from them without the
/// points.
#[pyclass(frozen, name = "Summaries", module = "gridstride.time_series")]
pub struct PySummaries {
    summaries: Arc<Summaries<Moments>>,
    frame: Frame,
}

#[pymethods]
impl PySummaries {
    /// The number of buckets.
    fn __len__(&self) -> usize {
        self.summaries.starts().len()
    }

    fn __repr__(&self) -> String {
        format!("<Summaries: {} buckets>", self.__len__())
    }

    /// Return the summaries of coarser buckets, whose length is a multiple, with the same origin.
    fn resample(&self, py: Python<'_>, every: &Bound<'_, PyAny>) -> PyResult<PySummaries> {
        let every = Unit::new(RESAMPLE, self.frame.unit.as_deref()).span(every)?;
        let summaries = self.summaries.clone();
        let resample = move || summaries.resample(every).map(Arc::new);
        let summaries = call(py, RESAMPLE, self.operations(), resample)?;
        Ok(PySummaries {
            summaries,
            frame: self.frame.clone_ref(py),
        })
    }

    /// Return the results of methods as `aggregate` does; percentiles and rates are refused with
    /// ValueError.
    #[pyo3(signature = (methods = Methods::mean(), *, ddof = 1), text_signature = "($self, methods='mean', *, ddof=1)")]
    fn agg<'py>(
        &self,
        py: Python<'py>,
        methods: Methods,
        ddof: i128,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (names, methods) = methods.read(py, AGG)?;
        let summaries = self.summaries.clone();
        let ddof = not_negative(AGG, "ddof", ddof)?;
        let aggregates = call(py, AGG, self.operations(), move || {
            summaries.columns(&methods, ddof)
        });
        buckets(py, aggregates?, &names, self.frame.clone_ref(py))
    }
}

impl PySummaries {
    /// Returns the operations of a call.
    fn operations(&self) -> f64 {
        self.__len__() as f64 * POINT
    }
}

/// Summarises the buckets of a series, or of several, which labels or offsets tell apart.
#[pyfunction]
#[pyo3(signature = (timestamps, values, every, *, series, offsets, origin, nan, duplicates, sort, device))]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub fn summarize<'py>(
    py: Python<'py>,
    timestamps: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    every: &Bound<'py, PyAny>,
    series: Option<&Bound<'py, PyAny>>,
    offsets: Option<&Bound<'py, PyAny>>,
    origin: &Bound<'py, PyAny>,
    nan: &str,
    duplicates: &str,
    sort: bool,
    device: Option<Devices>,
) -> PyResult<PySummaries> {
    let (points, frame) = points::read(
        SUMMARIZE,
        timestamps,
        values,
        series,
        offsets,
        choice(SUMMARIZE, nan)?,
    )?;
    let unit = Unit::new(SUMMARIZE, frame.unit.as_deref());
    let options = TimeBuckets::every(unit.span(every)?)
        .origin(unit.point(origin)?)
        .nan(choice(SUMMARIZE, nan)?)
        .duplicates(choice(SUMMARIZE, duplicates)?)
        .order(order_of(sort));
    let devices = Devices::of(py, device);
    let summaries = match points {
        Points::F32(points) => summarize_of(py, options, points, devices),
        Points::F64(points) => summarize_of(py, options, points, devices),
    };
    Ok(PySummaries {
        summaries: Arc::new(summaries?),
        frame,
    })
}

fn summarize_of<T: Number + Value>(
    py: Python<'_>,
    options: TimeBuckets,
    points: PointsOf<T>,
    devices: Vec<Device>,
) -> PyResult<Summaries<Moments>> {
    let operations = points.values.view().len() as f64 * POINT;
    call(py, SUMMARIZE, operations, move || {
        points.call(|points| {
            let (timestamps, values) = (points.timestamps.view(), points.values.view());
            let all = [0, timestamps.len()];
            let offsets = points.offsets.as_deref().unwrap_or(&all);
            options.summaries_of(&devices, offsets, timestamps, values)
        })
    })
}

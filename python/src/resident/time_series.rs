//! Statistics of values in buckets of time, in the memory of a device.

use std::sync::Arc;

use dlpark::DlpackElement;
use gridstride::device::Element;
use gridstride::ndarray::Ix1;
use gridstride::time_series::{self, TimeBuckets, Value};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use super::{DeviceArgument, Out, Place, PyDeviceArray};
use crate::number::{Number, by_dtype};
use crate::points::POINT;

/// The start of each series among the buckets, the buckets' starts, and a column for each method.
type Buckets<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyAny>,
    Vec<Bound<'py, PyAny>>,
);

pub fn aggregate<'py>(
    py: Python<'py>,
    place: &Place,
    options: TimeBuckets,
    offsets: Option<Vec<usize>>,
    timestamps: DeviceArgument,
    values: DeviceArgument,
) -> PyResult<Buckets<'py>> {
    by_dtype!(
        values,
        [f32, f64],
        aggregate_of(py, place, options, offsets, timestamps, values)
    )
}

fn aggregate_of<'py, T: Number + Element + Value>(
    py: Python<'py>,
    place: &Place,
    options: TimeBuckets,
    offsets: Option<Vec<usize>>,
    timestamps: DeviceArgument,
    values: DeviceArgument,
) -> PyResult<Buckets<'py>> {
    let (timestamps, values) = (timestamps.array::<i64, Ix1>()?, values.array::<T, Ix1>()?);
    let operations = values.len() as f64 * POINT;
    let aggregates = place.call(py, operations, move || {
        let aggregates = match offsets {
            Some(offsets) => options.aggregate_series_device(&offsets, &timestamps, &values),
            None => options.aggregate_device(&timestamps, &values),
        }?;
        let offsets = aggregates.offsets()?.iter().map(|&offset| offset as i64);
        Ok((offsets.collect::<Vec<_>>(), Arc::new(aggregates)))
    });
    let (offsets, aggregates) = aggregates?;
    let array = |dtype, address: usize| {
        let shape = vec![aggregates.len()];
        let array = PyDeviceArray::part_of(place, aggregates.clone(), dtype, address, shape);
        Ok::<_, PyErr>(Bound::new(py, array)?.into_any())
    };
    let columns = 0..aggregates.methods().len();
    let columns = columns.map(|index| array(f64::DTYPE, aggregates.column(index).as_ptr().addr()));
    Ok((
        offsets.into_pyarray(py),
        array(i64::DTYPE, aggregates.starts().buffer().as_ptr().addr())?,
        columns.collect::<PyResult<_>>()?,
    ))
}

pub fn round(
    py: Python<'_>,
    place: &Place,
    timestamps: DeviceArgument,
    every: i64,
    origin: i64,
    out: Out<'_, '_>,
) -> PyResult<Py<PyAny>> {
    if let Some((out, _)) = &out {
        out.require_output(&[&timestamps])?;
    }
    let timestamps = timestamps.array::<i64, Ix1>()?;
    let operations = timestamps.len() as f64;
    place.write::<i64, Ix1>(py, operations, out, move |out| match out {
        Some(out) => time_series::round_timestamps_device_into(&timestamps, every, origin, out)
            .map(|()| None),
        None => time_series::round_timestamps_device(&timestamps, every, origin).map(Some),
    })
}

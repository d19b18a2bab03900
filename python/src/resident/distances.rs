//! Distances of rows in the memory of a device.

use std::sync::Arc;

use dlpark::DlpackElement;
use gridstride::device::Element;
use gridstride::distances::{Component, Distances};
use gridstride::ndarray::Ix2;
use pyo3::prelude::*;

use super::{DeviceArgument, Out, Place, PyDeviceArray};
use crate::nearest::Nearest;
use crate::number::{Number, by_dtype};

pub fn distances(
    py: Python<'_>,
    place: &Place,
    options: Distances,
    a: DeviceArgument,
    b: Option<DeviceArgument>,
    out: Out<'_, '_>,
) -> PyResult<Py<PyAny>> {
    by_dtype!(a, [f32, f64], distances_of(py, place, options, a, b, out))
}

fn distances_of<T: Number + Element + Component>(
    py: Python<'_>,
    place: &Place,
    options: Distances,
    a: DeviceArgument,
    b: Option<DeviceArgument>,
    out: Out<'_, '_>,
) -> PyResult<Py<PyAny>> {
    if let Some((out, _)) = &out {
        let inputs: Vec<_> = [Some(&a), b.as_ref()].into_iter().flatten().collect();
        out.require_output(&inputs)?;
    }
    let a = a.array::<T, Ix2>()?;
    let b = b.map(|b| b.array::<T, Ix2>()).transpose()?;
    let rows = b.as_ref().unwrap_or(&a).shape()[0];
    let operations = a.len() as f64 * rows as f64;
    place.write::<f64, Ix2>(py, operations, out, move |out| match (&b, out) {
        (Some(b), None) => options.distances_device(&a, b).map(Some),
        (None, None) => options.pairwise_device(&a).map(Some),
        (Some(b), Some(out)) => options.distances_device_into(&a, b, out).map(|()| None),
        (None, Some(out)) => options.pairwise_device_into(&a, out).map(|()| None),
    })
}

pub fn nearest<'py>(
    py: Python<'py>,
    place: &Place,
    options: Distances,
    queries: DeviceArgument,
    database: DeviceArgument,
    k: usize,
) -> PyResult<Nearest<'py>> {
    by_dtype!(
        queries,
        [f32, f64],
        nearest_of(py, place, options, queries, database, k)
    )
}

fn nearest_of<'py, T: Number + Element + Component>(
    py: Python<'py>,
    place: &Place,
    options: Distances,
    queries: DeviceArgument,
    database: DeviceArgument,
    k: usize,
) -> PyResult<Nearest<'py>> {
    let (queries, database) = (queries.array::<T, Ix2>()?, database.array::<T, Ix2>()?);
    let operations = queries.len() as f64 * database.shape()[0] as f64;
    let neighbours = place.call(py, operations, move || {
        options.nearest_device(&queries, &database, k)
    })?;
    let (shape, address) = (
        neighbours.indices.shape().to_vec(),
        neighbours.indices.buffer().as_ptr(),
    );
    // Row numbers are below 2⁶³, as no array has more rows.
    let indices = Arc::new(neighbours.indices);
    let indices = PyDeviceArray::part_of(place, indices, i64::DTYPE, address.addr(), shape);
    let distances = PyDeviceArray::new(place, neighbours.distances);
    Ok((
        Bound::new(py, distances)?.into_any(),
        Bound::new(py, indices)?.into_any(),
    ))
}

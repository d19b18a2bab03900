//! Pairs of overlapping boxes in the memory of a device.

use std::sync::Arc;

use dlpark::DlpackElement;
use gridstride::box_overlap::{BoxOverlap, Coordinate};
use gridstride::device::Element;
use gridstride::ndarray::Ix2;
use pyo3::prelude::*;

use super::{DeviceArgument, Place, PyDeviceArray};
use crate::boxes::Pairs;
use crate::number::{Number, by_dtype};

pub fn overlaps<'py>(
    py: Python<'py>,
    place: &Place,
    search: BoxOverlap,
    set1: DeviceArgument,
    set2: Option<DeviceArgument>,
) -> PyResult<Pairs<'py>> {
    by_dtype!(
        set1,
        [f32, f64, i32],
        overlaps_of(py, place, search, set1, set2)
    )
}

fn overlaps_of<'py, T: Number + Element + Coordinate>(
    py: Python<'py>,
    place: &Place,
    search: BoxOverlap,
    set1: DeviceArgument,
    set2: Option<DeviceArgument>,
) -> PyResult<Pairs<'py>> {
    let set1 = set1.array::<T, Ix2>()?;
    let set2 = set2.map(|set2| set2.array::<T, Ix2>()).transpose()?;
    let others = set2.as_ref().unwrap_or(&set1).shape()[0];
    let operations = set1.shape()[0] as f64 * others as f64;
    let overlaps = place.call(py, operations, move || match &set2 {
        Some(set2) => search.overlaps_device(&set1, set2),
        None => search.self_overlaps_device(&set1),
    });
    let overlaps = Arc::new(overlaps?);
    // Sets have fewer than 2³¹ boxes, and fewer than 2⁶³ pairs.
    let (offsets, indices) = (overlaps.offsets(), overlaps.indices());
    let array = |dtype, address: usize, length| {
        let array = PyDeviceArray::part_of(place, overlaps.clone(), dtype, address, vec![length]);
        Ok::<_, PyErr>(Bound::new(py, array)?.into_any())
    };
    Ok((
        array(i64::DTYPE, offsets.buffer().as_ptr().addr(), offsets.len())?,
        array(i32::DTYPE, indices.buffer().as_ptr().addr(), indices.len())?,
        (offsets.len() - 1, others),
    ))
}

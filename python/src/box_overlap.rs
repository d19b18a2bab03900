//! Pairs of overlapping boxes, and their numbers.

use gridstride::Device;
use gridstride::box_overlap::{BoxOverlap, Coordinate, Overlaps};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::boxes::{self, Boxes, Pairs, Sets};
use crate::call::call;
use crate::device::Devices;
use crate::error::choice;
use crate::number::{Number, by_dtype};
use crate::resident::{self, resident};

const BOX_OVERLAP: &str = "box_overlap";
const COUNTS: &str = "box_overlap_counts";

#[pyfunction]
#[pyo3(signature = (set1, set2, *, algorithm, device, stream))]
pub fn box_overlap<'py>(
    py: Python<'py>,
    set1: &Bound<'py, PyAny>,
    set2: Option<&Bound<'py, PyAny>>,
    algorithm: &str,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Pairs<'py>> {
    let search = with_algorithm(BOX_OVERLAP, algorithm)?;
    let arguments = [("set1", Some(set1)), ("set2", set2)];
    if let Some((place, [set1, set2])) =
        resident(py, BOX_OVERLAP, arguments, device.as_ref(), stream)?
    {
        let set1 = set1.expect("given");
        return resident::box_overlap::overlaps(py, &place, search, set1, set2);
    }
    let sets = boxes::read(BOX_OVERLAP, set1, set2)?;
    let devices = Devices::of(py, device);
    by_dtype!(
        sets.0,
        [f32, f64, i32],
        overlaps_of(py, search, &sets, devices)
    )
}

fn overlaps_of<'py, T: Number + Coordinate>(
    py: Python<'py>,
    search: BoxOverlap,
    sets: &Sets<'py>,
    devices: Vec<Device>,
) -> PyResult<Pairs<'py>> {
    let boxes = Boxes::<T>::of(sets)?;
    let others = boxes.others();
    let overlaps = call(py, BOX_OVERLAP, boxes.operations(), move || {
        let set1 = boxes.set1.view();
        match &boxes.set2 {
            Some(set2) => search.overlaps(&devices, set1, set2.view()),
            None => search.self_overlaps(&devices, set1),
        }
    })?;
    Ok(pairs(py, overlaps, others))
}

/// Returns the number of boxes that each box overlaps, without the pairs.
#[pyfunction]
#[pyo3(signature = (set1, set2, *, algorithm, device))]
pub fn box_overlap_counts<'py>(
    py: Python<'py>,
    set1: &Bound<'py, PyAny>,
    set2: Option<&Bound<'py, PyAny>>,
    algorithm: &str,
    device: Option<Devices>,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let search = with_algorithm(COUNTS, algorithm)?;
    let sets = boxes::read(COUNTS, set1, set2)?;
    let devices = Devices::of(py, device);
    by_dtype!(
        sets.0,
        [f32, f64, i32],
        counts_of(py, search, &sets, devices)
    )
}

fn counts_of<'py, T: Number + Coordinate>(
    py: Python<'py>,
    search: BoxOverlap,
    sets: &Sets<'py>,
    devices: Vec<Device>,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let boxes = Boxes::<T>::of(sets)?;
    let counts = call(py, COUNTS, boxes.operations(), move || {
        let set1 = boxes.set1.view();
        match &boxes.set2 {
            Some(set2) => search.counts(&devices, set1, set2.view()),
            None => search.self_counts(&devices, set1),
        }
    })?;
    let (counts, _) = counts.into_raw_vec_and_offset();
    // Sets have fewer than 2³¹ boxes.
    let counts = bytemuck::allocation::cast_vec::<u32, i32>(counts);
    Ok(counts.into_pyarray(py))
}

/// Returns pairs of boxes with a second set of as many boxes as `others`.
pub fn pairs(py: Python<'_>, overlaps: Overlaps, others: usize) -> Pairs<'_> {
    let (offsets, indices) = overlaps.into_parts();
    let (indices, _) = indices.into_raw_vec_and_offset();
    // Sets have fewer than 2³¹ boxes, and fewer than 2⁶³ pairs.
    let offsets = bytemuck::allocation::cast_vec::<usize, i64>(offsets);
    let indices = bytemuck::allocation::cast_vec::<u32, i32>(indices);
    let (offsets, indices) = (offsets.into_pyarray(py), indices.into_pyarray(py));
    let shape = (offsets.len().unwrap_or(1) - 1, others);
    (offsets.into_any(), indices.into_any(), shape)
}

pub fn with_algorithm(operation: &str, name: &str) -> PyResult<BoxOverlap> {
    Ok(BoxOverlap::new().algorithm(choice(operation, name)?))
}

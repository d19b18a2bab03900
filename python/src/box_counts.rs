//! The numbers of overlapping boxes, without the pairs.

use gridstride::Device;
use gridstride::box_overlap::{BoxOverlap, Coordinate};
use gridstride::ndarray::Ix2;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::array::{Argument, Number, by_dtype};
use crate::box_overlap::with_algorithm;
use crate::boxes;
use crate::call::call;
use crate::device::Devices;

const COUNTS: &str = "box_overlap_counts";

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
    let (set1, set2) = boxes::read(COUNTS, set1, set2)?;
    let devices = Devices::of(py, device);
    by_dtype!(
        set1,
        [f32, f64, i32],
        counts_of(py, search, &set1, set2.as_ref(), devices)
    )
}

fn counts_of<'py, T: Number + Coordinate>(
    py: Python<'py>,
    search: BoxOverlap,
    set1: &Argument<'py>,
    set2: Option<&Argument<'py>>,
    devices: Vec<Device>,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let set1 = set1.input::<T, Ix2>(None)?;
    let set2 = set2.map(|set2| set2.input::<T, Ix2>(None)).transpose()?;
    let rows = set2.as_ref().unwrap_or(&set1).view().nrows();
    let operations = set1.view().nrows() as f64 * rows as f64;
    let counts = call(py, COUNTS, operations, move || match set2 {
        Some(set2) => search.counts(&devices, set1.view(), set2.view()),
        None => search.self_counts(&devices, set1.view()),
    })?;
    let (counts, _) = counts.into_raw_vec_and_offset();
    // Sets have fewer than 2³¹ boxes.
    let counts = bytemuck::allocation::cast_vec::<u32, i32>(counts);
    Ok(counts.into_pyarray(py))
}

//! Slide distances: of sequences, by the windows that they have in common.

use gridstride::Device;
use gridstride::distances::{Component, Distances, Windows};
use gridstride::ndarray::{Ix1, Ix2};
use numpy::IntoPyArray;
use pyo3::prelude::*;

use crate::array::{Argument, Input, Memory, Number, Outcome, Output, by_dtype};
use crate::call::call;
use crate::device::Devices;
use crate::distances::{Nearest, signed, with_metric};
use crate::error::not_negative;

const SLIDE_DISTANCES: &str = "slide_distances";
const SLIDE_PAIRED: &str = "slide_paired";
const SLIDE_NEAREST: &str = "slide_nearest";

/// The rows of windows, and where the windows of each sequence begin and end among them.
type Argued<'py> = (Bound<'py, PyAny>, Vec<usize>);

#[pyfunction]
#[pyo3(signature = (a, b, *, metric, out, device))]
pub fn slide_distances(
    py: Python<'_>,
    a: Argued<'_>,
    b: Argued<'_>,
    metric: &str,
    out: Option<&Bound<'_, PyAny>>,
    device: Option<Devices>,
) -> PyResult<Py<PyAny>> {
    let options = with_metric(SLIDE_DISTANCES, metric)?;
    let [a, b] = sequences(SLIDE_DISTANCES, ["a", "b"], [a, b])?;
    let devices = Devices::of(py, device);
    by_dtype!(
        a.rows,
        [f32, f64],
        distances_of(py, options, a, b, out, devices)
    )
}

fn distances_of<T: Number + Component>(
    py: Python<'_>,
    options: Distances,
    a: Sequences<'_>,
    b: Sequences<'_>,
    out: Option<&Bound<'_, PyAny>>,
    devices: Vec<Device>,
) -> PyResult<Py<PyAny>> {
    let memory = Memory::of_out(out);
    let out = Output::<f64, Ix2>::new(SLIDE_DISTANCES, out)?;
    let (a, b) = (a.read::<T>(memory.as_ref())?, b.read(memory.as_ref())?);
    let operations = a.len() * b.sequences();
    let outcome = call(py, SLIDE_DISTANCES, operations, move || {
        let (a, b) = (a.windows()?, b.windows()?);
        Outcome::of(
            out,
            |out| options.slide_distances_into(&devices, a, b, out),
            || options.slide_distances(&devices, a, b),
        )
    })?;
    Ok(outcome.into_array(py))
}

#[pyfunction]
#[pyo3(signature = (a, b, *, metric, out, device))]
pub fn slide_paired(
    py: Python<'_>,
    a: Argued<'_>,
    b: Argued<'_>,
    metric: &str,
    out: Option<&Bound<'_, PyAny>>,
    device: Option<Devices>,
) -> PyResult<Py<PyAny>> {
    let options = with_metric(SLIDE_PAIRED, metric)?;
    let [a, b] = sequences(SLIDE_PAIRED, ["a", "b"], [a, b])?;
    let devices = Devices::of(py, device);
    by_dtype!(
        a.rows,
        [f32, f64],
        paired_of(py, options, a, b, out, devices)
    )
}

fn paired_of<T: Number + Component>(
    py: Python<'_>,
    options: Distances,
    a: Sequences<'_>,
    b: Sequences<'_>,
    out: Option<&Bound<'_, PyAny>>,
    devices: Vec<Device>,
) -> PyResult<Py<PyAny>> {
    let memory = Memory::of_out(out);
    let out = Output::<f64, Ix1>::new(SLIDE_PAIRED, out)?;
    let (a, b) = (a.read::<T>(memory.as_ref())?, b.read(memory.as_ref())?);
    let operations = a.len();
    let outcome = call(py, SLIDE_PAIRED, operations, move || {
        let (a, b) = (a.windows()?, b.windows()?);
        Outcome::of(
            out,
            |out| options.slide_paired_into(&devices, a, b, out),
            || options.slide_paired(&devices, a, b),
        )
    })?;
    Ok(outcome.into_array(py))
}

#[pyfunction]
#[pyo3(signature = (queries, database, k, *, metric, device))]
pub fn slide_nearest<'py>(
    py: Python<'py>,
    queries: Argued<'py>,
    database: Argued<'py>,
    k: i128,
    metric: &str,
    device: Option<Devices>,
) -> PyResult<Nearest<'py>> {
    let k = not_negative(SLIDE_NEAREST, "k", k)?;
    let options = with_metric(SLIDE_NEAREST, metric)?;
    let names = ["queries", "database"];
    let [queries, database] = sequences(SLIDE_NEAREST, names, [queries, database])?;
    let devices = Devices::of(py, device);
    by_dtype!(
        queries.rows,
        [f32, f64],
        nearest_of(py, options, queries, database, k, devices)
    )
}

fn nearest_of<'py, T: Number + Component>(
    py: Python<'py>,
    options: Distances,
    queries: Sequences<'py>,
    database: Sequences<'py>,
    k: usize,
    devices: Vec<Device>,
) -> PyResult<Nearest<'py>> {
    let (queries, database) = (queries.read::<T>(None)?, database.read::<T>(None)?);
    let operations = queries.len() * database.sequences();
    let (distances, indices) = call(py, SLIDE_NEAREST, operations, move || {
        let (queries, database) = (queries.windows()?, database.windows()?);
        let found = options.slide_nearest(&devices, queries, database, k)?;
        Ok((found.distances, signed(found.indices)))
    })?;
    let (distances, indices) = (distances.into_pyarray(py), indices.into_pyarray(py));
    Ok((distances.into_any(), indices.into_any()))
}

/// An argument of sequences of windows.
struct Sequences<'py> {
    rows: Argument<'py>,
    offsets: Vec<usize>,
}

fn sequences<'py>(
    operation: &'static str,
    names: [&'static str; 2],
    [first, second]: [Argued<'py>; 2],
) -> PyResult<[Sequences<'py>; 2]> {
    let sequences = |name, (rows, offsets): Argued<'py>| -> PyResult<Sequences<'py>> {
        let rows = Argument::new(operation, name, &rows)?;
        Ok(Sequences { rows, offsets })
    };
    Ok([sequences(names[0], first)?, sequences(names[1], second)?])
}

impl Sequences<'_> {
    fn read<T: Number>(self, out: Option<&Memory>) -> PyResult<Read<T>> {
        let rows = self.rows.input(out)?;
        let offsets = self.offsets;
        Ok(Read { rows, offsets })
    }
}

/// Sequences of windows, for a call on any thread.
struct Read<T: 'static> {
    rows: Input<T, Ix2>,
    offsets: Vec<usize>,
}

impl<T> Read<T> {
    fn windows(&self) -> gridstride::Result<Windows<'_, T>> {
        Windows::new(self.rows.view(), &self.offsets)
    }

    /// Returns how many numbers all windows have.
    fn len(&self) -> f64 {
        self.rows.view().len() as f64
    }

    /// Returns the number of sequences.
    fn sequences(&self) -> f64 {
        self.offsets.len() as f64
    }
}

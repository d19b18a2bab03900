//! Slide distances: of sequences, by the windows that they have in common.

use gridstride::Device;
use gridstride::distances::{Component, Distances, Windows};
use gridstride::ndarray::{Ix1, Ix2};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::array::{Argument, Input, Memory, Outcome, Output, promote};
use crate::call::call;
use crate::column::Name;
use crate::conversion::on_host;
use crate::device::Devices;
use crate::distances::{DTYPES, with_metric};
use crate::error::not_negative;
use crate::frames::DataFrame;
use crate::matrices::matrix;
use crate::nearest::{Nearest, arrays};
use crate::number::{Number, by_dtype};
use crate::objects::numpy;

const SLIDE_DISTANCES: &str = "slide_distances";
const SLIDE_PAIRED: &str = "slide_paired";
const SLIDE_NEAREST: &str = "slide_nearest";

#[pyfunction]
#[pyo3(signature = (a, b, *, metric, out, device))]
pub fn slide_distances(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: Option<&Bound<'_, PyAny>>,
    metric: &str,
    out: Option<&Bound<'_, PyAny>>,
    device: Option<Devices>,
) -> PyResult<Py<PyAny>> {
    let options = with_metric(SLIDE_DISTANCES, metric)?;
    let [a, b] = Sequences::pair(SLIDE_DISTANCES, ("a", a), ("b", b))?;
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
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    metric: &str,
    out: Option<&Bound<'_, PyAny>>,
    device: Option<Devices>,
) -> PyResult<Py<PyAny>> {
    let options = with_metric(SLIDE_PAIRED, metric)?;
    let [a, b] = Sequences::pair(SLIDE_PAIRED, ("a", a), ("b", Some(b)))?;
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
    queries: &Bound<'py, PyAny>,
    database: &Bound<'py, PyAny>,
    k: i128,
    metric: &str,
    device: Option<Devices>,
) -> PyResult<Nearest<'py>> {
    let k = not_negative(SLIDE_NEAREST, "k", k)?;
    let options = with_metric(SLIDE_NEAREST, metric)?;
    let database = ("database", Some(database));
    let [queries, database] = Sequences::pair(SLIDE_NEAREST, ("queries", queries), database)?;
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
    let neighbours = call(py, SLIDE_NEAREST, operations, move || {
        let (queries, database) = (queries.windows()?, database.windows()?);
        options.slide_nearest(&devices, queries, database, k)
    })?;
    Ok(arrays(py, neighbours))
}

/// An argument of sequences of windows.
#[derive(Clone)]
struct Sequences<'py> {
    rows: Argument<'py>,
    /// Index of the first window of each sequence among the rows, and at the end the number of rows.
    offsets: Vec<usize>,
}

impl<'py> Sequences<'py> {
    /// Reads two arguments, whose rows become of one dtype. The second is by default the first.
    fn pair(
        operation: &'static str,
        first: (&'static str, &Bound<'py, PyAny>),
        second: (&'static str, Option<&Bound<'py, PyAny>>),
    ) -> PyResult<[Sequences<'py>; 2]> {
        let mut first = Sequences::of(operation, first.0, first.1)?;
        let mut second = match second.1 {
            Some(object) => Sequences::of(operation, second.0, object)?,
            None => first.clone(),
        };
        promote(&mut [&mut first.rows, &mut second.rows], &DTYPES)?;
        Ok([first, second])
    }

    /// Takes `Windows`, an array with three axes, or an iterable of matrices.
    fn of(
        operation: &'static str,
        name: &'static str,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Sequences<'py>> {
        let py = object.py();
        let refuse = |what: String| PyValueError::new_err(format!("{operation}: {what}"));
        let argument = Name {
            operation,
            argument: name,
        };
        let class = py.import("gridstride._slide")?.getattr("Windows")?;
        if object.is_instance(&class)? {
            let offsets = object.getattr("offsets")?;
            return Ok(Sequences {
                rows: matrix(argument, &object.getattr("rows")?, &DTYPES)?,
                offsets: offsets_of(operation, name, &offsets)?,
            });
        }
        if let Ok(array) = object.cast::<PyUntypedArray>() {
            let &[count, length, dim] = array.shape() else {
                return Err(refuse(format!(
                    "{name} has {} axes, with the shape {:?}, but has to have 3, or be a list of arrays, or Windows",
                    array.ndim(),
                    array.shape()
                )));
            };
            let rows = array.call_method1("reshape", (count * length, dim))?;
            return Ok(Sequences {
                rows: Argument::new(operation, name, &rows)?,
                offsets: (0..=count).map(|index| length * index).collect(),
            });
        }
        let mut arrays = Vec::<Argument<'_>>::new();
        let mut offsets = vec![0];
        for (index, item) in object.try_iter()?.enumerate() {
            let item = item?;
            let array = match DataFrame::of(argument, &item)? {
                Some(frame) => frame.to_array(None, &DTYPES)?,
                None => {
                    let array = on_host(operation, &format!("a sequence of {name}"), &item)?;
                    Argument::new(operation, name, &array)?
                }
            };
            let &[windows, dim] = array.shape() else {
                return Err(refuse(format!(
                    "sequence {index} of {name} has {} axes, but has to have 2",
                    array.axes()
                )));
            };
            let first = arrays.first().map_or(dim, |first| first.shape()[1]);
            if dim != first {
                return Err(refuse(format!(
                    "sequence {index} of {name} has windows of {dim} numbers, but sequence 0 has windows of {first}"
                )));
            }
            offsets.push(offsets[index] + windows);
            arrays.push(array);
        }
        if arrays.is_empty() {
            return Err(refuse(format!(
                "{name} has no sequences: an array of shape (0, windows, d) has none either, but a d"
            )));
        }
        promote(&mut arrays.iter_mut().collect::<Vec<_>>(), &DTYPES)?;
        let arrays = arrays.iter().map(Argument::array).collect::<Vec<_>>();
        let rows = numpy(py)?.call_method1("concatenate", (arrays,))?;
        Ok(Sequences {
            rows: Argument::new(operation, name, &rows)?,
            offsets,
        })
    }

    fn read<T: Number>(self, out: Option<&Memory>) -> PyResult<Read<T>> {
        let rows = self.rows.input(out)?;
        let offsets = self.offsets;
        Ok(Read { rows, offsets })
    }
}

/// Reads the offsets of `Windows`. The library checks their order.
fn offsets_of(
    operation: &'static str,
    name: &str,
    offsets: &Bound<'_, PyAny>,
) -> PyResult<Vec<usize>> {
    let what = format!("the offsets of {name}");
    let array = on_host(operation, &what, offsets)?;
    if array.ndim() != 1 || (!array.is_empty() && !b"iu".contains(&array.dtype().kind())) {
        let message = format!("{operation}: {what} have to be integers with one axis");
        return Err(PyTypeError::new_err(message));
    }
    let array = array.call_method1("astype", ("=i8",))?;
    let offsets = Argument::new(operation, "offsets", &array)?.input::<i64, Ix1>(None)?;
    let offsets = offsets
        .view()
        .into_iter()
        .map(|&offset| usize::try_from(offset));
    offsets
        .collect::<Result<_, _>>()
        .map_err(|_| PyValueError::new_err(format!("{operation}: {what} have a negative number")))
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

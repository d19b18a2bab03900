//! Distances of rows, and the nearest rows.

use gridstride::Device;
use gridstride::distances::{Component, Distances};
use gridstride::ndarray::Ix2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{Argument, Memory, Outcome, Output, promote};
use crate::call::call;
use crate::column::Name;
use crate::device::Devices;
use crate::error::{choice, not_negative};
use crate::frames::DataFrame;
use crate::nearest::{Nearest, arrays};
use crate::number::{Number, by_dtype};
use crate::resident::{self, resident};

const DISTANCES: &str = "distances";
const NEAREST: &str = "nearest";

/// The dtypes of rows.
pub const DTYPES: [&str; 2] = ["float32", "float64"];

#[pyfunction]
#[pyo3(signature = (a, b, *, metric, out, device, stream))]
pub fn distances<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: Option<&Bound<'py, PyAny>>,
    metric: &str,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let options = with_metric(DISTANCES, metric)?;
    let arguments = [("a", Some(a)), ("b", b), ("out", out)];
    if let Some((place, [a, b, resident_out])) =
        resident(py, DISTANCES, arguments, device.as_ref(), stream)?
    {
        let a = a.expect("given");
        return resident::distances::distances(py, &place, options, a, b, resident_out.zip(out));
    }
    let (a, b) = match b {
        Some(b) => {
            let [a, b] = rows(DISTANCES, [("a", a), ("b", b)])?;
            (a, Some(b))
        }
        None => {
            let [a] = rows(DISTANCES, [("a", a)])?;
            (a, None)
        }
    };
    let devices = Devices::of(py, device);
    by_dtype!(a, [f32, f64], distances_of(py, options, a, b, out, devices))
}

fn distances_of<T: Number + Component>(
    py: Python<'_>,
    options: Distances,
    a: Argument<'_>,
    b: Option<Argument<'_>>,
    out: Option<&Bound<'_, PyAny>>,
    devices: Vec<Device>,
) -> PyResult<Py<PyAny>> {
    let memory = Memory::of_out(out);
    let out = Output::<f64, Ix2>::new(DISTANCES, out)?;
    let a = a.input::<T, Ix2>(memory.as_ref())?;
    let b = b.map(|b| b.input::<T, Ix2>(memory.as_ref())).transpose()?;
    let rows = b.as_ref().unwrap_or(&a).view().nrows();
    let operations = a.view().len() as f64 * rows as f64;
    let outcome = call(py, DISTANCES, operations, move || match b {
        Some(b) => Outcome::of(
            out,
            |out| options.distances_into(&devices, a.view(), b.view(), out),
            || options.distances(&devices, a.view(), b.view()),
        ),
        None => Outcome::of(
            out,
            |out| options.pairwise_into(&devices, a.view(), out),
            || options.pairwise(&devices, a.view()),
        ),
    })?;
    Ok(outcome.into_array(py))
}

/// Reads sets of rows of one dtype. The columns of data frames belong together by their names.
fn rows<'py, const N: usize>(
    operation: &'static str,
    sets: [(&'static str, &Bound<'py, PyAny>); N],
) -> PyResult<[Argument<'py>; N]> {
    let mut names: Option<(&str, Vec<String>)> = None;
    let sets = sets.map(|(name, set)| {
        let argument = Name {
            operation,
            argument: name,
        };
        let Some(frame) = DataFrame::of(argument, set)? else {
            return Argument::new(operation, name, set);
        };
        if let (Some((other, names)), Some(own)) = (&names, &frame.names) {
            let sorted = |names: &[String]| {
                let mut names = names.to_vec();
                names.sort_unstable();
                names
            };
            if sorted(names) != sorted(own) {
                return Err(PyValueError::new_err(format!(
                    "{operation}: {name} has the columns {}, but {other} has the columns {}: select the same columns",
                    own.join(", "),
                    names.join(", ")
                )));
            }
            return frame.to_array(Some(names), &DTYPES);
        }
        let array = frame.to_array(None, &DTYPES)?;
        names = frame.names.map(|own| (name, own));
        Ok(array)
    });
    let mut read = Vec::with_capacity(N);
    for set in sets {
        read.push(set?);
    }
    promote(&mut read.iter_mut().collect::<Vec<_>>(), &DTYPES)?;
    Ok(read
        .try_into()
        .unwrap_or_else(|_| unreachable!("as many as sets")))
}

#[pyfunction]
#[pyo3(signature = (queries, database, k, *, metric, device, stream))]
pub fn nearest<'py>(
    py: Python<'py>,
    queries: &Bound<'py, PyAny>,
    database: &Bound<'py, PyAny>,
    k: i128,
    metric: &str,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Nearest<'py>> {
    let options = with_metric(NEAREST, metric)?;
    let k = not_negative(NEAREST, "k", k)?;
    let arguments = [("queries", Some(queries)), ("database", Some(database))];
    if let Some((place, [Some(queries), Some(database)])) =
        resident(py, NEAREST, arguments, device.as_ref(), stream)?
    {
        return resident::distances::nearest(py, &place, options, queries, database, k);
    }
    let [queries, database] = rows(NEAREST, [("queries", queries), ("database", database)])?;
    let devices = Devices::of(py, device);
    by_dtype!(
        queries,
        [f32, f64],
        nearest_of(py, options, &queries, &database, k, devices)
    )
}

fn nearest_of<'py, T: Number + Component>(
    py: Python<'py>,
    options: Distances,
    queries: &Argument<'py>,
    database: &Argument<'py>,
    k: usize,
    devices: Vec<Device>,
) -> PyResult<Nearest<'py>> {
    let queries = queries.input::<T, Ix2>(None)?;
    let database = database.input::<T, Ix2>(None)?;
    let operations = queries.view().len() as f64 * database.view().nrows() as f64;
    let neighbours = call(py, NEAREST, operations, move || {
        options.nearest(&devices, queries.view(), database.view(), k)
    })?;
    Ok(arrays(py, neighbours))
}

pub fn with_metric(operation: &str, name: &str) -> PyResult<Distances> {
    Ok(Distances::new().metric(choice(operation, name)?))
}

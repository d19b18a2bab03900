//! Edit distances of pairs of sequences.

use gridstride::edit_distance::{ABOVE_LIMIT, EditDistance};
use gridstride::sequences::{Sequences, Unknown};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::call::call;
use crate::device::Devices;
use crate::error::not_negative;
use crate::sequences::{PySequences, Reader, alphabet_of, other_alphabet};

const EDIT_DISTANCE: &str = "edit_distance";

/// Returns the distance of each pair, or −1 above the limit.
#[pyfunction]
#[pyo3(signature = (a, b, *, limit, device))]
pub fn edit_distances<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    limit: Option<i128>,
    device: Option<Devices>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let is_encoded = |object: &Bound<'_, PyAny>| object.is_instance_of::<PySequences>();
    let (of_a, of_b) = (alphabet_of(a), alphabet_of(b));
    if of_a != of_b && is_encoded(a) && is_encoded(b) {
        return Err(other_alphabet(EDIT_DISTANCE));
    }
    // Texts become codes like those that they are compared with.
    let alphabet = of_a.or(of_b);
    let reader = Reader {
        operation: EDIT_DISTANCE,
        alphabet: alphabet.as_ref(),
        unknown: Unknown::Error,
    };
    let (a, b) = (reader.sequences(py, a)?, reader.sequences(py, b)?);
    let devices = Devices::of(py, device);
    let options = match limit {
        Some(limit) => {
            let limit: u64 = not_negative(EDIT_DISTANCE, "limit", limit)?;
            // No distance is longer than a sequence, of fewer than 2³² letters.
            EditDistance::new().with_limit(u32::try_from(limit).unwrap_or(u32::MAX - 1))
        }
        None => EditDistance::new(),
    };
    let operations = entries(&a, &b);
    let distances = call(py, EDIT_DISTANCE, operations, move || {
        let distances = options.edit_distances(&devices, &a, &b)?;
        let signed = |distance| match distance {
            ABOVE_LIMIT => -1,
            distance => i64::from(distance),
        };
        Ok(distances.mapv(signed))
    })?;
    Ok(distances.into_pyarray(py))
}

/// Returns the number of entries of all tables.
fn entries(a: &Sequences, b: &Sequences) -> f64 {
    let pairs = a.lengths().zip(b.lengths());
    pairs.map(|(a, b)| a as f64 * b as f64).sum()
}

//! The nearest rows of a search as numpy arrays.

use gridstride::distances;
use gridstride::ndarray::Array2;
use numpy::IntoPyArray;
use pyo3::prelude::*;

/// Distances and indices of the nearest rows.
pub type Nearest<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Returns distances and indices as numpy's arrays, without a copy.
pub fn arrays(py: Python<'_>, neighbours: distances::Nearest) -> Nearest<'_> {
    let shape = neighbours.indices.dim();
    let (indices, _) = neighbours.indices.into_raw_vec_and_offset();
    // Row numbers are below 2⁶³, as no array has more rows.
    let indices = bytemuck::allocation::cast_vec::<u64, i64>(indices);
    let indices =
        Array2::from_shape_vec(shape, indices).expect("as many as before, in row-major order");
    let distances = neighbours.distances.into_pyarray(py);
    (distances.into_any(), indices.into_pyarray(py).into_any())
}

//! The extension module of the Python package gridstride: its functions take and return numpy
//! arrays. The package's Python files have the signatures with the defaults, and the documentation.

mod array;
mod arrow;
mod box_overlap;
mod box_slices;
mod boxes;
mod call;
mod choices;
mod column;
mod columns;
mod conversion;
mod device;
mod distances;
mod durations;
mod edit_distance;
mod error;
mod fasta;
mod frames;
mod gemm;
mod labels;
mod matmul;
mod matrices;
mod nearest;
mod number;
mod objects;
mod points;
mod products;
mod resident;
mod scalar;
mod sequences;
mod session;
mod short;
mod slide;
mod summaries;
mod tensor_sketch;
mod time_series;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// glibc returns the memory of large arrays to the system, so that each call would take new pages: half
/// of the time of a call with labels.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("METHODS", crate::time_series::methods())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    #[pymodule_export]
    use crate::arrow::from_arrow;
    #[pymodule_export]
    use crate::box_overlap::{box_overlap, box_overlap_counts};
    #[pymodule_export]
    use crate::box_slices::{PyBoxSlices, box_overlap_slices};
    #[pymodule_export]
    use crate::choices::choices;
    #[pymodule_export]
    use crate::device::{PyDevice, devices, gpus};
    #[pymodule_export]
    use crate::distances::{distances, nearest};
    #[pymodule_export]
    use crate::edit_distance::edit_distances;
    #[pymodule_export]
    use crate::fasta::read_fasta;
    #[pymodule_export]
    use crate::gemm::gemm;
    #[pymodule_export]
    use crate::matmul::matmul;
    #[pymodule_export]
    use crate::resident::PyDeviceArray;
    #[pymodule_export]
    use crate::sequences::{PyAlphabet, PySequences};
    #[pymodule_export]
    use crate::session::{PySession, PyStream};
    #[pymodule_export]
    use crate::short::ShortSequenceWarning;
    #[pymodule_export]
    use crate::slide::{slide_distances, slide_nearest, slide_paired};
    #[pymodule_export]
    use crate::summaries::{PySummaries, summarize};
    #[pymodule_export]
    use crate::tensor_sketch::PyTensorSketch;
    #[pymodule_export]
    use crate::time_series::{aggregate, bucket_counts, round_timestamps};
}

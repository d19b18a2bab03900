//! Tensor sketches of sequences.

use std::sync::Arc;

use gridstride::Device;
use gridstride::ndarray::{Array1, Ix2, Ix3};
use gridstride::sequences::{Alphabet, Sequences, Unknown};
use gridstride::tensor_sketch::{Entry, Form, Tables, TensorSketch};
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{Argument, Number, Outcome, Output};
use crate::call::{call, require_threads};
use crate::device::Devices;
use crate::error::{OrRaise, choice, not_negative};
use crate::sequences::{AlphabetArgument, PyAlphabet, Reader};
use crate::session::PySession;

const TENSOR_SKETCH: &str = "TensorSketch";
const SKETCH: &str = "sketch";
const SKETCH_ROWS: &str = "sketch_rows";
const WINDOWS: &str = "windows";
const SESSION: &str = "session";

gridstride::choice! {
    /// The types of entries.
    pub enum Dtype("dtype"), default Float32 {
        /// Single precision.
        Float32("float32"),
        /// Double precision.
        Float64("float64"),
    }
}

/// A sketcher with one of the types of entries.
enum Sketcher {
    Single(Arc<TensorSketch<f32>>),
    Double(Arc<TensorSketch<f64>>),
}

/// Calls a function with the sketcher of either type.
macro_rules! with_sketcher {
    ($self:expr, |$sketcher:ident| $call:expr) => {
        match &$self.sketcher {
            Sketcher::Single($sketcher) => $call,
            Sketcher::Double($sketcher) => $call,
        }
    };
}

/// Sketches sequences with given tables.
#[pyclass(frozen, subclass, name = "TensorSketch", module = "gridstride._core")]
pub struct PyTensorSketch {
    sketcher: Sketcher,
    alphabet: Alphabet,
    unknown: Unknown,
    normalize: bool,
    form: Form,
}

#[pymethods]
impl PyTensorSketch {
    #[new]
    #[pyo3(signature = (dim, tuple, seed, *, alphabet, unknown, normalize, dtype, form, tables))]
    #[expect(clippy::too_many_arguments, reason = "Python has names for them")]
    fn new(
        py: Python<'_>,
        dim: i128,
        tuple: i128,
        seed: i128,
        alphabet: AlphabetArgument,
        unknown: &str,
        normalize: bool,
        dtype: &str,
        form: &str,
        tables: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    ) -> PyResult<PyTensorSketch> {
        let alphabet = alphabet.0;
        let dim = not_negative(TENSOR_SKETCH, "dim", dim)?;
        let tuple = not_negative(TENSOR_SKETCH, "tuple", tuple)?;
        let Ok(seed) = u64::try_from(seed) else {
            let message = format!("{TENSOR_SKETCH}: seed is {seed}, not in 0 to 2⁶⁴ − 1");
            return Err(PyValueError::new_err(message));
        };
        let tables = match tables {
            Some((hashes, signs)) => given_tables(py, &hashes, &signs, dim)?,
            None => {
                Tables::from_seed(alphabet.size(), tuple, dim, seed).or_raise(py, TENSOR_SKETCH)?
            }
        };
        if tables.alphabet_size() != alphabet.size() {
            let message = format!(
                "{TENSOR_SKETCH}: the tables have rows for {} letters, but the alphabet has {}",
                tables.alphabet_size(),
                alphabet.size()
            );
            return Err(PyValueError::new_err(message));
        }
        if tables.tuple_length() != tuple {
            let message = format!(
                "{TENSOR_SKETCH}: the tables have {} columns, but tuple is {tuple}",
                tables.tuple_length()
            );
            return Err(PyValueError::new_err(message));
        }
        let form = choice(TENSOR_SKETCH, form)?;
        let sketcher = TensorSketch::new(tables).normalize(normalize).form(form);
        let sketcher = match choice(TENSOR_SKETCH, dtype)? {
            Dtype::Float32 => Sketcher::Single(Arc::new(sketcher)),
            Dtype::Float64 => Sketcher::Double(Arc::new(sketcher.double())),
        };
        Ok(PyTensorSketch {
            sketcher,
            alphabet,
            unknown: choice(TENSOR_SKETCH, unknown)?,
            normalize,
            form,
        })
    }

    /// Pickles hold the tables, so that they do not depend on the seed.
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((usize, usize), Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("alphabet", self.alphabet())?;
        options.set_item("unknown", self.unknown())?;
        options.set_item("normalize", self.normalize)?;
        options.set_item("dtype", self.dtype())?;
        options.set_item("form", self.form())?;
        options.set_item("tables", (self.hashes(py), self.signs(py)))?;
        Ok(((self.dim(), self.tuple()), options))
    }

    #[getter]
    fn alphabet(&self) -> PyAlphabet {
        PyAlphabet(self.alphabet.clone())
    }

    #[getter]
    fn unknown(&self) -> &'static str {
        match self.unknown {
            Unknown::Error => "error",
            Unknown::Skip => "skip",
        }
    }

    #[getter]
    fn normalize(&self) -> bool {
        self.normalize
    }

    #[getter]
    fn form(&self) -> &'static str {
        match self.form {
            Form::Auto => "auto",
            Form::Direct => "direct",
            Form::Fourier => "fourier",
        }
    }

    #[getter]
    fn dim(&self) -> usize {
        self.tables().dim()
    }

    #[getter]
    fn tuple(&self) -> usize {
        self.tables().tuple_length()
    }

    #[getter]
    fn hashes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i64>> {
        self.tables().hashes().mapv(i64::from).into_pyarray(py)
    }

    #[getter]
    fn signs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i64>> {
        self.tables().signs().mapv(i64::from).into_pyarray(py)
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        match &self.sketcher {
            Sketcher::Single(_) => f32::NAME,
            Sketcher::Double(_) => f64::NAME,
        }
    }

    #[pyo3(signature = (sequences, *, out, device))]
    fn sketch(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        device: Option<Devices>,
    ) -> PyResult<Py<PyAny>> {
        let sequences = self.reader(SKETCH).sequences(py, sequences)?;
        let devices = Devices::of(py, device);
        with_sketcher!(self, |sketcher| sketch_of(
            py,
            sketcher.clone(),
            sequences,
            out,
            devices
        ))
    }

    #[pyo3(signature = (sequences, *, out, device))]
    fn sketch_rows(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        device: Option<Devices>,
    ) -> PyResult<Py<PyAny>> {
        let sequences = self.reader(SKETCH_ROWS).sequences(py, sequences)?;
        let devices = Devices::of(py, device);
        with_sketcher!(self, |sketcher| rows_of(
            py,
            sketcher.clone(),
            sequences,
            out,
            devices
        ))
    }

    #[pyo3(signature = (sequence, width, stride, *, out, device))]
    fn windows(
        &self,
        py: Python<'_>,
        sequence: &Bound<'_, PyAny>,
        width: i128,
        stride: i128,
        out: Option<&Bound<'_, PyAny>>,
        device: Option<Devices>,
    ) -> PyResult<Py<PyAny>> {
        let codes = self.reader(WINDOWS).codes(py, sequence)?.into();
        let width = not_negative(WINDOWS, "width", width)?;
        let stride = not_negative(WINDOWS, "stride", stride)?;
        let windows = (codes, width, stride);
        let devices = Devices::of(py, device);
        with_sketcher!(self, |sketcher| windows_of(
            py,
            sketcher.clone(),
            windows,
            out,
            devices
        ))
    }

    #[pyo3(signature = (*, device))]
    fn session(&self, py: Python<'_>, device: Option<Devices>) -> PyResult<PySession> {
        require_threads()?;
        let device = Devices::one_of(py, SESSION, device)?;
        let (alphabet, unknown) = (self.alphabet.clone(), self.unknown);
        with_sketcher!(self, |sketcher| {
            let session = py
                .detach(|| sketcher.session(&device))
                .or_raise(py, SESSION)?;
            Ok(PySession::new(session, alphabet, unknown))
        })
    }
}

impl PyTensorSketch {
    fn tables(&self) -> &Tables {
        with_sketcher!(self, |sketcher| sketcher.tables())
    }

    fn reader(&self, operation: &'static str) -> Reader<'_> {
        Reader {
            operation,
            alphabet: Some(&self.alphabet),
            unknown: self.unknown,
        }
    }
}

fn given_tables(
    py: Python<'_>,
    hashes: &Bound<'_, PyAny>,
    signs: &Bound<'_, PyAny>,
    dim: usize,
) -> PyResult<Tables> {
    let hashes = Argument::new(TENSOR_SKETCH, "hashes", hashes)?.input::<i64, Ix2>(None)?;
    let signs = Argument::new(TENSOR_SKETCH, "signs", signs)?.input::<i64, Ix2>(None)?;
    Tables::new(hashes.view(), signs.view(), dim).or_raise(py, TENSOR_SKETCH)
}

fn sketch_of<T: Entry + Number>(
    py: Python<'_>,
    sketcher: Arc<TensorSketch<T>>,
    sequences: Arc<Sequences>,
    out: Option<&Bound<'_, PyAny>>,
    devices: Vec<Device>,
) -> PyResult<Py<PyAny>> {
    let out = Output::<T, Ix2>::new(SKETCH, out)?;
    let operations = operations(sketcher.tables(), sequences.total_length());
    let outcome = call(py, SKETCH, operations, move || {
        Outcome::of(
            out,
            |out| sketcher.sketch_into(&devices, &sequences, out),
            || sketcher.sketch(&devices, &sequences),
        )
    })?;
    Ok(outcome.into_array(py))
}

fn rows_of<T: Entry + Number>(
    py: Python<'_>,
    sketcher: Arc<TensorSketch<T>>,
    sequences: Arc<Sequences>,
    out: Option<&Bound<'_, PyAny>>,
    devices: Vec<Device>,
) -> PyResult<Py<PyAny>> {
    let out = Output::<T, Ix3>::new(SKETCH_ROWS, out)?;
    let operations = operations(sketcher.tables(), sequences.total_length());
    let outcome = call(py, SKETCH_ROWS, operations, move || {
        Outcome::of(
            out,
            |out| sketcher.sketch_rows_into(&devices, &sequences, out),
            || sketcher.sketch_rows(&devices, &sequences),
        )
    })?;
    Ok(outcome.into_array(py))
}

fn windows_of<T: Entry + Number>(
    py: Python<'_>,
    sketcher: Arc<TensorSketch<T>>,
    (codes, width, stride): (Array1<u8>, usize, usize),
    out: Option<&Bound<'_, PyAny>>,
    devices: Vec<Device>,
) -> PyResult<Py<PyAny>> {
    let out = Output::<T, Ix2>::new(WINDOWS, out)?;
    let windows = codes.len() / stride.max(1);
    let operations = operations(sketcher.tables(), codes.len().max(windows));
    let outcome = call(py, WINDOWS, operations, move || {
        let codes = codes.view();
        Outcome::of(
            out,
            |out| sketcher.windows_into(&devices, codes, width, stride, out),
            || sketcher.windows(&devices, codes, width, stride),
        )
    })?;
    Ok(outcome.into_array(py))
}

/// Returns the operations of sketching `letters` letters, or as many windows.
fn operations(tables: &Tables, letters: usize) -> f64 {
    letters as f64 * tables.dim() as f64 * tables.tuple_length() as f64
}

//! Tensor sketches of sequences.

use std::sync::Arc;

use files::sequences::Needed;
use gridstride::ndarray::{Array1, Ix2, Ix3};
use gridstride::sequences::{Alphabet, Sequences, Unknown};
use gridstride::tensor_sketch::{Entry, Form, Tables, TensorSketch};
use gridstride::{Choice, Device};
use numpy::{IntoPyArray, PyArray2, PyArrayDescr};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{Argument, Outcome, Output};
use crate::call::{call, require_threads};
use crate::device::Devices;
use crate::error::{OrRaise, choice, not_negative};
use crate::number::Number;
use crate::sequences::{AlphabetArgument, PyAlphabet, Reader, alphabet_of, other_alphabet};
use crate::session::{PySession, PyStream, STREAM};
use crate::short;

const TENSOR_SKETCH: &str = "TensorSketch";
const SKETCH: &str = "sketch";
const SKETCH_ROWS: &str = "sketch_rows";
const WINDOWS: &str = "windows";

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

/// Sketches sequences. Only sketches of equal parameters can be compared.
///
/// Parameters
/// ----------
/// dim : int
///     The numbers of a sketch, D, up to 4096. The error of a distance falls as 1/√D.
/// tuple : int
///     The letters of a subsequence, t, up to 8: 3 to 6 for DNA, 2 or 3 for proteins.
/// seed : int
///     The seed of the tables. Equal seeds give equal tables in every version and on every machine.
/// alphabet : {'dna', 'protein'} or Alphabet
///     The letters of texts. The codes of arrays are below its size.
/// unknown : {'error', 'skip'}
///     How to treat bytes of texts that are no letters: 'skip' leaves them out.
/// normalize : bool
///     Whether sketches are divided by the number of subsequences, so that sketches of sequences of
///     different lengths can be compared.
/// dtype : dtype
///     float32, or float64, which is more accurate and slower.
/// form : {'auto', 'fourier', 'direct'}
///     How to compute. 'direct' is the definition, and slow for long sequences.
/// tables : tuple of array_like, optional
///     Hashes, from 0 to D − 1, and signs, 1 or −1, in place of those of the seed: int64, with a row for
///     each letter and ``tuple`` columns.
///
/// Warns
/// -----
/// ShortSequenceWarning
///     From all methods: for sequences of fewer letters than a subsequence, whose sketches are zero, and
///     for those of fewer letters than a window, which have no sketch.
///
/// Examples
/// --------
/// >>> from gridstride import distances
/// >>> from gridstride.tensor_sketch import TensorSketch
/// >>> sketcher = TensorSketch(64, 3, seed=1, normalize=True)
/// >>> sketches = sketcher.sketch(["GATTACAGATTACA", "GATTACATATTACA", "CCGCGGCCGCCGGC"])
/// >>> sketches.shape, sketches.dtype
/// ((3, 64), dtype('float32'))
/// >>> table = distances(sketches)
/// >>> bool(table[0, 1] < table[0, 2])
/// True
#[pyclass(
    frozen,
    subclass,
    dict,
    name = "TensorSketch",
    module = "gridstride.tensor_sketch"
)]
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
    #[pyo3(signature = (
        dim, tuple, seed = 0, *, alphabet = AlphabetArgument::dna(), unknown = "error", normalize = false,
        dtype = None, form = "auto", tables = None
    ), text_signature = "(dim, tuple, seed=0, *, alphabet='dna', unknown='error', normalize=False, dtype=None, \
                         form='auto', tables=None)")]
    #[expect(clippy::too_many_arguments, reason = "Python has names for them")]
    fn new(
        py: Python<'_>,
        dim: i128,
        tuple: i128,
        seed: i128,
        alphabet: AlphabetArgument,
        unknown: &str,
        normalize: bool,
        dtype: Option<&Bound<'_, PyAny>>,
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
        let dtype = match dtype {
            Some(dtype) => {
                let name = PyArrayDescr::new(py, dtype)?.getattr("name")?;
                choice(TENSOR_SKETCH, name.extract()?)?
            }
            None => Dtype::default(),
        };
        let sketcher = match dtype {
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

    /// The letters of texts.
    #[getter]
    fn alphabet(&self) -> PyAlphabet {
        PyAlphabet(self.alphabet.clone())
    }

    /// How bytes of texts that are no letters are treated.
    #[getter]
    fn unknown(&self) -> &'static str {
        self.unknown.name()
    }

    /// Whether sketches are divided by the number of subsequences.
    #[getter]
    fn normalize(&self) -> bool {
        self.normalize
    }

    /// How sketches are computed.
    #[getter]
    fn form(&self) -> &'static str {
        self.form.name()
    }

    /// The numbers of a sketch.
    #[getter]
    fn dim(&self) -> usize {
        self.tables().dim()
    }

    /// The letters of a subsequence.
    #[getter]
    fn tuple(&self) -> usize {
        self.tables().tuple_length()
    }

    /// The hashes: int64, with a row for each letter and ``tuple`` columns.
    #[getter]
    fn hashes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i64>> {
        self.tables().hashes().mapv(i64::from).into_pyarray(py)
    }

    /// The signs: int64, with a row for each letter and ``tuple`` columns.
    #[getter]
    fn signs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<i64>> {
        self.tables().signs().mapv(i64::from).into_pyarray(py)
    }

    /// The name of the type of entries.
    #[getter]
    fn dtype(&self) -> &'static str {
        match &self.sketcher {
            Sketcher::Single(_) => f32::NAME,
            Sketcher::Double(_) => f64::NAME,
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let alphabet = self.alphabet().__repr__(py)?;
        let (dim, tuple, dtype) = (self.dim(), self.tuple(), self.dtype());
        Ok(format!(
            "<TensorSketch: dim={dim}, tuple={tuple}, {alphabet}, {dtype}>"
        ))
    }

    /// Sketch sequences.
    ///
    /// Parameters
    /// ----------
    /// sequences : Sequences, or iterable of str, bytes and uint8 arrays
    ///     Texts in the letters of the alphabet, or arrays of codes.
    /// out : ndarray, optional
    ///     An array of the result's shape and dtype, with any strides, to write the result to.
    /// device : Device, str, or several of them, optional
    ///     Where to compute. The default is the first GPU, or else the CPU.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     A row for each sequence, of shape (n, dim).
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     For letters and codes that are not in the alphabet.
    /// OverflowError
    ///     If a sketch that is not normalised has an entry beyond the range of float32.
    ///
    /// Examples
    /// --------
    /// >>> from gridstride.tensor_sketch import TensorSketch
    /// >>> TensorSketch(16, 2).sketch(["ACGT", "AC"]).shape
    /// (2, 16)
    #[pyo3(signature = (sequences, *, out = None, device = None))]
    fn sketch(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        device: Option<Devices>,
    ) -> PyResult<Py<PyAny>> {
        let sequences = self.sequences(py, SKETCH, sequences)?;
        let devices = Devices::of(py, device);
        with_sketcher!(self, |sketcher| sketch_of(
            py,
            sketcher.clone(),
            sequences,
            out,
            devices
        ))
    }

    /// Sketch sequences with subsequences of every length from 0 to t.
    ///
    /// Parameters
    /// ----------
    /// sequences : Sequences, or iterable of str, bytes and uint8 arrays
    ///     Texts in the letters of the alphabet, or arrays of codes.
    /// out : ndarray, optional
    ///     An array of the result's shape and dtype, with any strides, to write the result to.
    /// device : Device, str, or several of them, optional
    ///     Where to compute. The default is the first GPU, or else the CPU.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     Of shape (n, t + 1, dim): row k of a sequence is the sketch with subsequences of k letters.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np
    /// >>> from gridstride.tensor_sketch import TensorSketch
    /// >>> sketcher = TensorSketch(16, 2)
    /// >>> rows = sketcher.sketch_rows(["GATTACA", "CC"])
    /// >>> rows.shape
    /// (2, 3, 16)
    /// >>> bool(np.allclose(rows[:, 2], sketcher.sketch(["GATTACA", "CC"]), atol=1e-4))
    /// True
    #[pyo3(signature = (sequences, *, out = None, device = None))]
    fn sketch_rows(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        device: Option<Devices>,
    ) -> PyResult<Py<PyAny>> {
        let sequences = self.sequences(py, SKETCH_ROWS, sequences)?;
        let devices = Devices::of(py, device);
        with_sketcher!(self, |sketcher| rows_of(
            py,
            sketcher.clone(),
            sequences,
            out,
            devices
        ))
    }

    /// Sketch all windows of a sequence.
    ///
    /// Windows are always sketched in the Fourier form, whatever `form` is.
    ///
    /// Parameters
    /// ----------
    /// sequence : str, bytes or ndarray
    ///     A text in the letters of the alphabet, or a uint8 array of codes.
    /// width : int
    ///     The letters of a window.
    /// stride : int
    ///     The letters between the beginnings of neighbouring windows.
    /// out : ndarray, optional
    ///     An array of the result's shape and dtype, with any strides, to write the result to.
    /// device : Device, str, or several of them, optional
    ///     Where to compute. The default is the first GPU, or else the CPU.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     A row for each window, of shape ((length - width) // stride + 1, dim).
    ///
    /// Examples
    /// --------
    /// >>> from gridstride.tensor_sketch import TensorSketch
    /// >>> sketcher = TensorSketch(16, 2)
    /// >>> windows = sketcher.windows("ACGTGCAAC", 4, 2)
    /// >>> windows.shape
    /// (3, 16)
    /// >>> bool((windows[1] == sketcher.sketch(["GTGC"])[0]).all())
    /// True
    #[pyo3(signature = (sequence, width, stride = 1, *, out = None, device = None))]
    fn windows(
        &self,
        py: Python<'_>,
        sequence: &Bound<'_, PyAny>,
        width: i128,
        stride: i128,
        out: Option<&Bound<'_, PyAny>>,
        device: Option<Devices>,
    ) -> PyResult<Py<PyAny>> {
        let codes = Array1::from(self.reader(WINDOWS).codes(py, sequence)?);
        let width: usize = not_negative(WINDOWS, "width", width)?;
        let stride = not_negative(WINDOWS, "stride", stride)?;
        let (length, tuple) = (codes.len(), self.tuple());
        if length < width {
            let sentence = format!(
                "the sequence of {length} letters is shorter than a window of {width} letters, and has no sketch"
            );
            short::say(py, WINDOWS, &sentence)?;
        } else if width > 0 && width < tuple {
            let sentence = format!(
                "windows of {width} letters have no tuples of {tuple} letters, and their sketches are zero"
            );
            short::say(py, WINDOWS, &sentence)?;
        }
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

    /// Begin a session, which sketches sequences whose letters arrive gradually.
    ///
    /// Examples
    /// --------
    /// >>> from gridstride.tensor_sketch import TensorSketch
    /// >>> sketcher = TensorSketch(16, 2)
    /// >>> session = sketcher.session()
    /// >>> session.push("ACG")
    /// >>> session.push("T")
    /// >>> session.end_sequence()
    /// >>> sketches = session.finish()
    /// >>> bool((sketches == sketcher.sketch(["ACGT"])).all())
    /// True
    #[pyo3(signature = (*, device = None))]
    fn session(&self, py: Python<'_>, device: Option<Devices>) -> PyResult<PySession> {
        self.begin(py, "session", device)
    }

    /// Sketch sequences while an iterable makes them, however many they are.
    ///
    /// Parameters
    /// ----------
    /// sequences : iterable of str, bytes and uint8 arrays
    ///     Texts in the letters of the alphabet, or arrays of codes. At most 25 million letters are in
    ///     memory at a time.
    /// device : Device or str, optional
    ///     Where to compute. The default is the first GPU, or else the CPU.
    ///
    /// Yields
    /// ------
    /// ndarray
    ///     The next sketches that are finished, in the order of the sequences: at least one row.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np
    /// >>> from gridstride.tensor_sketch import TensorSketch
    /// >>> sketcher = TensorSketch(16, 2)
    /// >>> texts = ["ACGT", "GATTACA", "CC"]
    /// >>> sketches = np.concatenate(list(sketcher.stream(iter(texts))))
    /// >>> bool((sketches == sketcher.sketch(texts)).all())
    /// True
    #[pyo3(signature = (sequences, *, device = None))]
    fn stream(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        device: Option<Devices>,
    ) -> PyResult<PyStream> {
        self.reader(STREAM).require_several(sequences)?;
        if alphabet_of(sequences).is_some_and(|other| other != self.alphabet) {
            return Err(other_alphabet(STREAM));
        }
        let sequences = sequences.try_iter()?.unbind();
        Ok(PyStream::new(self.begin(py, STREAM, device)?, sequences))
    }
}

impl PyTensorSketch {
    /// Begins a session for a call of `operation`.
    fn begin(
        &self,
        py: Python<'_>,
        operation: &'static str,
        device: Option<Devices>,
    ) -> PyResult<PySession> {
        require_threads()?;
        let device = Devices::one_of(py, operation, device)?;
        let (alphabet, unknown) = (self.alphabet.clone(), self.unknown);
        with_sketcher!(self, |sketcher| {
            let session = py
                .detach(|| sketcher.session(&device))
                .or_raise(py, operation)?;
            Ok(PySession::new(session, self.tuple(), alphabet, unknown))
        })
    }

    fn tables(&self) -> &Tables {
        with_sketcher!(self, |sketcher| sketcher.tables())
    }

    /// Reads sequences, and warns of those without a tuple.
    fn sequences(
        &self,
        py: Python<'_>,
        operation: &'static str,
        sequences: &Bound<'_, PyAny>,
    ) -> PyResult<Arc<Sequences>> {
        let sequences = self.reader(operation).sequences(py, sequences)?;
        let short = short::of_lengths(sequences.lengths(), self.tuple());
        let needed = Needed::Tuple(self.tuple());
        short::warn(py, operation, &short, needed, sequences.len())?;
        Ok(sequences)
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

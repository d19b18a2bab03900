//! Alphabets, and sequences of codes.

use std::borrow::Cow;
use std::sync::Arc;

use gridstride::ndarray::{Array1, Ix1};
use gridstride::sequences::{Alphabet, NamedAlphabet, Sequences, Unknown};
use gridstride::{Choice, Error};
use numpy::{IntoPyArray, PyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMemoryView, PyString, PyTuple};
use rayon::prelude::*;

use crate::array::{Argument, Input};
use crate::arrow::ArrowColumn;
use crate::call::{require_threads, threads};
use crate::error::{OrRaise, at_index, choice};
use crate::labels::{Labels, Texts};
use crate::objects::is_of;

/// Letters and their codes: a letter's code is its place among them.
///
/// Parameters
/// ----------
/// letters : str or bytes
///     Different letters. Upper and lower case are different too.
///
/// Examples
/// --------
/// >>> from gridstride import Alphabet
/// >>> Alphabet("01").encode("1101")
/// array([1, 1, 0, 1], dtype=uint8)
/// >>> Alphabet.dna().encode("GATTNACA", unknown="skip")
/// array([2, 0, 3, 3, 0, 1, 0], dtype=uint8)
#[pyclass(frozen, name = "Alphabet", module = "gridstride")]
pub struct PyAlphabet(pub Alphabet);

#[pymethods]
impl PyAlphabet {
    #[new]
    fn new(py: Python<'_>, letters: &Bound<'_, PyAny>) -> PyResult<PyAlphabet> {
        let letters = Text::of("Alphabet", letters)?;
        Alphabet::new(letters.bytes())
            .map(PyAlphabet)
            .or_raise(py, "Alphabet")
    }

    /// Return the nucleotides A, C, G and T, in upper or lower case. U has the code of T.
    #[staticmethod]
    fn dna() -> PyAlphabet {
        PyAlphabet(Alphabet::dna())
    }

    /// Return the 20 amino acids in alphabetical order, in upper or lower case.
    #[staticmethod]
    fn protein() -> PyAlphabet {
        PyAlphabet(Alphabet::protein())
    }

    /// The number of codes.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = py.get_type::<PyAlphabet>().into_any();
        let Some(name) = self.name() else {
            let letters = PyBytes::new(py, &self.letters());
            return Ok((class, PyTuple::new(py, [letters])?));
        };
        let make = py
            .import("operator")?
            .call_method1("methodcaller", (name,))?;
        Ok((make, PyTuple::new(py, [class])?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<PyAlphabet>()
            .is_ok_and(|other| self.0 == other.get().0)
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};

        let mut hasher = DefaultHasher::new();
        self.letters().hash(&mut hasher);
        hasher.finish()
    }

    pub fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        if let Some(name) = self.name() {
            return Ok(format!("Alphabet.{name}()"));
        }
        let letters = self.letters().into_iter().map(char::from);
        let letters = PyString::new(py, &letters.collect::<String>()).repr()?;
        Ok(format!("Alphabet({letters})"))
    }

    /// Return the codes of a text; `unknown` is 'error' or 'skip', for bytes that are no letters.
    #[pyo3(signature = (text, *, unknown = "error"))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        unknown: &str,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        const ENCODE: &str = "encode";
        let text = Text::of(ENCODE, text)?;
        let unknown = choice(ENCODE, unknown)?;
        let letters = text.bytes();
        let encoded = py.detach(|| self.0.encode(letters, unknown));
        Ok(encoded.or_raise(py, ENCODE)?.codes.into_pyarray(py))
    }
}

impl PyAlphabet {
    /// Returns the name of a given alphabet.
    fn name(&self) -> Option<&'static str> {
        let is_this = |name: &&NamedAlphabet| Alphabet::from(**name) == self.0;
        NamedAlphabet::ALL
            .iter()
            .find(is_this)
            .map(|name| name.name())
    }

    /// Returns the first letter of each code.
    fn letters(&self) -> Vec<u8> {
        let letter = |code| (0..=u8::MAX).find(|&byte| self.0.code(byte) == Some(code));
        let codes = (0..=u8::MAX).take(self.0.size());
        codes.filter_map(letter).collect()
    }
}

/// The argument `alphabet`: a name, or a [`PyAlphabet`].
pub struct AlphabetArgument(pub Alphabet);

impl AlphabetArgument {
    /// Returns the default.
    pub fn dna() -> AlphabetArgument {
        AlphabetArgument(Alphabet::dna())
    }
}

impl<'py> FromPyObject<'_, 'py> for AlphabetArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<AlphabetArgument> {
        if let Ok(alphabet) = object.cast::<PyAlphabet>() {
            return Ok(AlphabetArgument(alphabet.get().0.clone()));
        }
        let named = object.extract::<&str>().ok();
        let alphabet = named.and_then(NamedAlphabet::of_name).ok_or_else(|| {
            let names: Vec<_> = NamedAlphabet::ALL.iter().map(|name| name.name()).collect();
            let message = format!(
                "alphabet is {}, but possible are {} and an Alphabet",
                *object,
                names.join(", ")
            );
            PyValueError::new_err(message)
        })?;
        Ok(AlphabetArgument(alphabet.into()))
    }
}

/// Text of letters of one byte.
enum Text<'py> {
    Bytes(Bound<'py, PyBytes>),
    Ascii(Bound<'py, PyString>),
    /// A `str` as Latin-1.
    Latin(Vec<u8>),
}

impl<'py> Text<'py> {
    fn of(operation: &str, object: &Bound<'py, PyAny>) -> PyResult<Text<'py>> {
        match Text::maybe(operation, object)? {
            Some(text) => Ok(text),
            None => Err(PyTypeError::new_err(format!(
                "{operation}: the text is {}, but has to be str or bytes",
                object.get_type()
            ))),
        }
    }

    fn maybe(operation: &str, object: &Bound<'py, PyAny>) -> PyResult<Option<Text<'py>>> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Some(Text::Bytes(bytes.clone())));
        }
        if is_buffer_of_bytes(object)? {
            // A copy, since others may write to the buffer.
            let bytes = object.py().get_type::<PyBytes>().call1((object,))?;
            return Ok(Some(Text::Bytes(bytes.cast_into()?)));
        }
        let Ok(text) = object.cast::<PyString>() else {
            return Ok(None);
        };
        let utf8 = text.to_str()?;
        if utf8.is_ascii() {
            return Ok(Some(Text::Ascii(text.clone())));
        }
        match object.py().detach(|| latin(utf8)) {
            Some(letters) => Ok(Some(Text::Latin(letters))),
            None => Err(PyValueError::new_err(format!(
                "{operation}: the text has characters beyond U+00FF, but letters are bytes"
            ))),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Text::Bytes(bytes) => bytes.as_bytes(),
            Text::Ascii(text) => text.to_str().expect("read before").as_bytes(),
            Text::Latin(letters) => letters,
        }
    }
}

/// Returns the characters as bytes, if they are below U+0100.
fn latin(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|letter| u8::try_from(letter).ok())
        .collect()
}

/// Returns the texts of a column of polars, pyarrow and others with Arrow's C interface, if it has
/// texts. Those of pandas are iterated over.
fn texts_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Texts>>> {
    if is_of(object, "pandas")? {
        return Ok(None);
    }
    // polars has no Arrow type for some columns.
    let Ok(Some(column)) = ArrowColumn::import("", object) else {
        return Ok(None);
    };
    Ok(
        match column.data_type.is_string() || column.data_type.is_binary() {
            true => column.chunks.iter().map(Texts::of).collect(),
            false => None,
        },
    )
}

/// Whether an object is a bytearray, or a memoryview of bytes.
fn is_buffer_of_bytes(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !object.is_instance_of::<PyMemoryView>() {
        return Ok(object.is_instance_of::<PyByteArray>());
    }
    Ok(object.getattr("format")?.eq("B")? && object.getattr("ndim")?.eq(1)?)
}

/// Sequences of codes, one after the other in memory.
///
/// Calls take any iterable of sequences, and copy it. They do not copy a `Sequences`, and refuse
/// one with the codes of another alphabet.
///
/// Parameters
/// ----------
/// sequences : iterable of str, bytes and uint8 arrays
///     Texts, or arrays of codes. A bytearray and a memoryview of bytes are texts too.
/// alphabet : {'dna', 'protein'} or Alphabet, optional
///     The alphabet of texts. Without an alphabet, a letter's code is its byte, as `edit_distance`
///     needs.
/// unknown : {'error', 'skip'}
///     How to treat bytes that are no letters of the alphabet.
///
/// Examples
/// --------
/// >>> from gridstride import Sequences
/// >>> sequences = Sequences(["GATTACA", "CC"], alphabet="dna")
/// >>> len(sequences), sequences.lengths
/// (2, array([7, 2]))
/// >>> sequences[1]
/// array([1, 1], dtype=uint8)
#[pyclass(frozen, name = "Sequences", module = "gridstride")]
pub struct PySequences {
    pub sequences: Arc<Sequences>,
    /// The meaning of the codes, if it is known.
    pub alphabet: Option<Alphabet>,
}

#[pymethods]
impl PySequences {
    #[new]
    #[pyo3(signature = (sequences = None, *, alphabet = None, unknown = "error"))]
    fn new(
        py: Python<'_>,
        sequences: Option<&Bound<'_, PyAny>>,
        alphabet: Option<AlphabetArgument>,
        unknown: &str,
    ) -> PyResult<PySequences> {
        const SEQUENCES: &str = "Sequences";
        let reader = Reader {
            operation: SEQUENCES,
            alphabet: alphabet.as_ref().map(|alphabet| &alphabet.0),
            unknown: choice(SEQUENCES, unknown)?,
        };
        let read = sequences.map(|sequences| reader.sequences(py, sequences));
        let read = read.transpose()?.unwrap_or_default();
        let known = || sequences.and_then(alphabet_of);
        Ok(PySequences {
            sequences: read,
            alphabet: alphabet.map(|alphabet| alphabet.0).or_else(known),
        })
    }

    fn __len__(&self) -> usize {
        self.sequences.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: isize,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let from_end = if index < 0 { self.sequences.len() } else { 0 };
        let codes = from_end
            .checked_add_signed(index)
            .and_then(|index| self.sequences.get(index));
        match codes {
            Some(codes) => Ok(codes.to_owned().into_pyarray(py)),
            None => Err(PyIndexError::new_err(format!(
                "there is no sequence {index}: there are {}",
                self.sequences.len()
            ))),
        }
    }

    /// The number of letters of each sequence.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let lengths = self.sequences.lengths().map(|length| length as i64);
        lengths.collect::<Array1<_>>().into_pyarray(py)
    }

    /// Pickles hold arrays of codes, and the alphabet.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let sequences = self.sequences.offsets().windows(2);
        let codes = self.sequences.codes();
        let arrays = sequences.map(|ends| codes[ends[0]..ends[1]].to_vec().into_pyarray(py));
        let arguments = PyTuple::new(py, [PyList::new(py, arrays)?])?;
        let names = PyDict::new(py);
        names.set_item("alphabet", self.alphabet.clone().map(PyAlphabet))?;
        let class = py.get_type::<PySequences>();
        let make = py.import("copyreg")?.getattr("__newobj_ex__")?;
        Ok((make, (class, arguments, names).into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        let (count, letters) = (self.sequences.len(), self.sequences.total_length());
        format!("<Sequences: {count} of {letters} letters in all>")
    }
}

/// Returns the alphabet of an argument, if it is [`PySequences`] whose alphabet is known.
pub fn alphabet_of(object: &Bound<'_, PyAny>) -> Option<Alphabet> {
    object.cast::<PySequences>().ok()?.get().alphabet.clone()
}

/// Returns the exception for sequences with the codes of another alphabet.
pub fn other_alphabet(operation: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{operation}: the Sequences have codes of another alphabet, which mean other letters: make them again from \
         the texts with the same alphabet"
    ))
}

/// Names the sequence of an error about one letter.
fn in_sequence(mut error: Error, sequence: usize) -> Error {
    if let Error::InvalidInput {
        index, of, message, ..
    } = &mut error
    {
        (*index, *of) = (Some(sequence), "sequences");
        *message = format!("sequence {sequence}: {message}");
    }
    error
}

/// Codes that are compared with the size of the alphabet at once.
const CHUNK: usize = 4096;

/// Reads arguments that are sequences.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub operation: &'static str,
    /// The codes of letters. Without an alphabet, a letter is its own code.
    pub alphabet: Option<&'a Alphabet>,
    pub unknown: Unknown,
}

impl Reader<'_> {
    /// Takes [`PySequences`], or an iterable of texts and arrays of codes.
    pub fn sequences(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Arc<Sequences>> {
        let operation = self.operation;
        if let Ok(sequences) = object.cast::<PySequences>() {
            let PySequences {
                sequences,
                alphabet,
            } = sequences.get();
            return match (self.alphabet, alphabet) {
                (Some(own), Some(other)) if own != other => Err(other_alphabet(operation)),
                (Some(_), None) => {
                    let mut ends = sequences.offsets().windows(2).enumerate();
                    let checked = py.detach(|| {
                        ends.try_for_each(|(index, ends)| {
                            self.check(index, &sequences.codes()[ends[0]..ends[1]])
                        })
                    });
                    checked.or_raise(py, operation)?;
                    Ok(sequences.clone())
                }
                _ => Ok(sequences.clone()),
            };
        }
        self.require_several(object)?;
        if let Some(texts) = texts_of(object)? {
            return self.of_arrow(py, &texts);
        }
        let mut sequences = Sequences::new();
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            return self.all(py, object);
        }
        for (index, item) in object.try_iter()?.enumerate() {
            let letters = self.letters_of(index, &item?)?;
            let letters = letters.bytes();
            let codes = py.detach(|| self.member(index, letters));
            let pushed = codes.and_then(|codes| sequences.push(&codes[..]));
            pushed.or_raise(py, operation)?;
        }
        Ok(Arc::new(sequences))
    }

    /// Fails for one sequence in place of several.
    pub fn require_several(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let what = if object.is_instance_of::<PyString>()
            || object.is_instance_of::<PyBytes>()
            || is_buffer_of_bytes(object)?
        {
            "sequence"
        } else if let Ok(array) = object.cast::<PyUntypedArray>()
            && array.ndim() == 1
            && Argument::new(self.operation, "a sequence", object)?.has::<u8>()
        {
            "sequence of codes"
        } else {
            return Ok(());
        };
        let operation = self.operation;
        let message = format!("{operation}: this is one {what}: put it into a list");
        Err(PyTypeError::new_err(message))
    }

    /// Takes the items of a list, by all threads.
    fn all(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<Arc<Sequences>> {
        require_threads()?;
        let items = items.try_iter()?.enumerate();
        let letters = items.map(|(index, item)| self.letters_of(index, &item?));
        let letters = letters.collect::<PyResult<Vec<_>>>()?;
        let slices: Vec<_> = letters.iter().map(Letters::bytes).collect();
        self.encoded_all(py, slices)
    }

    /// Takes the texts of an Arrow column, by all threads.
    fn of_arrow(&self, py: Python<'_>, chunks: &[Texts]) -> PyResult<Arc<Sequences>> {
        require_threads()?;
        let mut letters = Vec::with_capacity(chunks.iter().map(Labels::len).sum());
        for chunk in chunks {
            for index in 0..chunk.len() {
                let place = letters.len();
                let refuse = |what: &str| {
                    let message = format!("{}: sequence {place} {what}", self.operation);
                    at_index(py, PyValueError::new_err(message), place)
                };
                if chunk.is_null(index) {
                    return Err(refuse("is null"));
                }
                let bytes = chunk.bytes(index);
                letters.push(match chunk.is_text() && !bytes.is_ascii() {
                    false => Cow::Borrowed(bytes),
                    true => {
                        Cow::Owned(latin(&String::from_utf8_lossy(bytes)).ok_or_else(|| {
                            refuse("has characters beyond U+00FF, but letters are bytes")
                        })?)
                    }
                });
            }
        }
        let slices = letters.iter().map(|letters| (&letters[..], true));
        self.encoded_all(py, slices.collect())
    }

    /// Encodes letters, or checks codes, by all threads.
    fn encoded_all(&self, py: Python<'_>, slices: Vec<(&[u8], bool)>) -> PyResult<Arc<Sequences>> {
        let work = || {
            let slices = slices.into_par_iter().enumerate();
            let codes = slices.map(|(index, letters)| self.member(index, letters));
            let codes: Vec<_> = codes.collect();
            // The error is that of the first sequence that has one.
            let codes: Vec<Cow<'_, [u8]>> = codes.into_iter().collect::<gridstride::Result<_>>()?;
            let codes: Vec<&[u8]> = codes.iter().map(|codes| &codes[..]).collect();
            Sequences::try_from_slices(&codes)
        };
        let sequences = py.detach(|| threads().install(work));
        sequences.or_raise(py, self.operation).map(Arc::new)
    }

    /// Returns a copy of the codes of one sequence.
    pub fn codes(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        let letters = self.letters(object)?;
        let letters = letters.bytes();
        let codes = py.detach(|| self.encoded(letters).map(Cow::into_owned));
        codes.or_raise(py, self.operation)
    }

    /// Returns a copy of the codes of sequence number `index`, which errors name.
    pub fn codes_of(
        &self,
        py: Python<'_>,
        index: usize,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<u8>> {
        let letters = self.letters_of(index, object)?;
        let letters = letters.bytes();
        let codes = py.detach(|| self.member(index, letters).map(Cow::into_owned));
        codes.or_raise(py, self.operation)
    }

    /// Returns the codes of sequence number `index`.
    fn member<'a>(
        &self,
        index: usize,
        letters: (&'a [u8], bool),
    ) -> gridstride::Result<Cow<'a, [u8]>> {
        if let (codes, false) = letters {
            self.check(index, codes)?;
        }
        let codes = self.encoded(letters);
        codes.map_err(|error| in_sequence(error, index))
    }

    /// Fails if sequence number `index` has codes that the alphabet does not have.
    fn check(&self, index: usize, codes: &[u8]) -> gridstride::Result<()> {
        let Some(alphabet) = self.alphabet else {
            return Ok(());
        };
        let size = alphabet.size();
        let is_wrong = |&code: &u8| usize::from(code) >= size;
        // The largest code of a chunk is computed with vectors, a position code by code.
        let mut chunks = codes.chunks(CHUNK).enumerate();
        let wrong = chunks.find(|(_, chunk)| is_wrong(&chunk.iter().copied().fold(0, u8::max)));
        let Some((number, chunk)) = wrong else {
            return Ok(());
        };
        let position = number * CHUNK + chunk.iter().position(is_wrong).unwrap_or_default();
        let message = format!(
            "there is the code {} at position {position}, but the alphabet has {size} letters, with the codes \
             from 0 on: text has to be str or bytes",
            codes[position]
        );
        let error = Error::InvalidInput {
            operation: self.operation,
            index: None,
            of: "",
            message,
        };
        Err(in_sequence(error, index))
    }

    /// Returns the codes of bytes that are letters, or codes already.
    fn encoded<'a>(&self, (bytes, is_text): (&'a [u8], bool)) -> gridstride::Result<Cow<'a, [u8]>> {
        match self.alphabet {
            Some(alphabet) if is_text => {
                Ok(Cow::Owned(alphabet.encode(bytes, self.unknown)?.codes))
            }
            _ => Ok(Cow::Borrowed(bytes)),
        }
    }

    /// Takes sequence number `index`, which errors name.
    fn letters_of<'py>(&self, index: usize, object: &Bound<'py, PyAny>) -> PyResult<Letters<'py>> {
        let py = object.py();
        self.letters(object).map_err(|error| {
            let message = error.value(py).to_string();
            let start = format!("{}: ", self.operation);
            let Some(rest) = message.strip_prefix(&start) else {
                return error;
            };
            let message = format!("{start}sequence {index}: {rest}");
            match error.get_type(py).call1((message,)) {
                Ok(error) => at_index(py, PyErr::from_value(error), index),
                Err(error) => error,
            }
        })
    }

    fn letters<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Letters<'py>> {
        // pandas has None or NaN for text that is missing.
        if object.is_none() || object.extract::<f64>().is_ok_and(f64::is_nan) {
            let message = format!("{}: the sequence is missing", self.operation);
            return Err(PyValueError::new_err(message));
        }
        if let Some(text) = Text::maybe(self.operation, object)? {
            return Ok(Letters::Text(text));
        }
        let codes = Argument::new(self.operation, "a sequence", object)?;
        let codes = codes.input::<u8, Ix1>(None)?;
        match codes.view().as_slice() {
            Some(_) => Ok(Letters::Codes(codes)),
            None => Ok(Letters::Copied(codes.view().to_vec())),
        }
    }
}

/// The letters of one sequence.
enum Letters<'py> {
    Text(Text<'py>),
    Codes(Input<u8, Ix1>),
    /// Codes that were not neighbours in memory.
    Copied(Vec<u8>),
}

impl Letters<'_> {
    /// Returns the letters or codes, and whether they are letters.
    fn bytes(&self) -> (&[u8], bool) {
        match self {
            Letters::Text(text) => (text.bytes(), true),
            Letters::Codes(codes) => (codes.slice().expect("neighbours"), false),
            Letters::Copied(codes) => (codes, false),
        }
    }
}

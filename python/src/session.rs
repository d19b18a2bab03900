//! Sketches of sequences whose letters arrive gradually.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use files::sequences::{Needed, Short};
use gridstride::Result;
use gridstride::ndarray::Array2;
use gridstride::sequences::{Alphabet, Unknown};
use gridstride::tensor_sketch::{Entry, SketchSession};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::array::Number;
use crate::call::{call, require_threads};
use crate::error::OrRaise;
use crate::sequences::Reader;
use crate::short;

/// Sketches sequences whose letters arrive gradually: the result of ``TensorSketch.session``.
///
/// Another thread computes. The sketches are those of ``TensorSketch.sketch``, bit by bit. After an
/// error of the computation the session is broken.
#[pyclass(frozen, name = "SketchSession", module = "gridstride.tensor_sketch")]
pub struct PySession {
    /// `None` after the end.
    session: Mutex<Option<Box<dyn Session>>>,
    lengths: Mutex<Lengths>,
    /// The letters of a tuple.
    tuple: usize,
    alphabet: Alphabet,
    unknown: Unknown,
}

/// The sequences that have ended, and the letters of the current one.
#[derive(Default)]
struct Lengths {
    sequences: usize,
    current: usize,
    short: Short,
}

/// A session with any type of entries.
trait Session: Send {
    fn push(&mut self, codes: &[u8]) -> Result<()>;
    fn end_sequence(&mut self) -> Result<()>;
    fn take_finished(&mut self) -> Result<Rows>;
    fn finish(self: Box<Self>) -> Result<Rows>;
}

/// Makes an array of sketches.
type Rows = Box<dyn FnOnce(Python<'_>) -> Py<PyAny> + Send>;

impl<T: Entry + Number> Session for SketchSession<T> {
    fn push(&mut self, codes: &[u8]) -> Result<()> {
        self.push(codes)
    }

    fn end_sequence(&mut self) -> Result<()> {
        self.end_sequence()
    }

    fn take_finished(&mut self) -> Result<Rows> {
        self.take_finished().map(rows)
    }

    fn finish(self: Box<Self>) -> Result<Rows> {
        (*self).finish().map(rows)
    }
}

fn rows<T: Number>(sketches: Array2<T>) -> Rows {
    Box::new(|py| sketches.into_pyarray(py).into_any().unbind())
}

impl PySession {
    pub fn new<T: Entry + Number>(
        session: SketchSession<T>,
        tuple: usize,
        alphabet: Alphabet,
        unknown: Unknown,
    ) -> PySession {
        let session: Box<dyn Session> = Box::new(session);
        PySession {
            session: Mutex::new(Some(session)),
            lengths: Mutex::default(),
            tuple,
            alphabet,
            unknown,
        }
    }

    /// Takes the session, without Python's lock, which is another's while a call computes.
    fn take(&self, py: Python<'_>) -> Option<Box<dyn Session>> {
        py.detach(|| {
            let session = self.session.lock();
            session.unwrap_or_else(PoisonError::into_inner).take()
        })
    }

    /// Ends the session without its sketches.
    fn close(&self, py: Python<'_>) {
        let session = self.take(py);
        // A session's end waits for its thread, which a forked process does not have.
        match require_threads() {
            Ok(()) => py.detach(|| drop(session)),
            Err(_) => mem::forget(session),
        }
    }

    /// Whether the session has ended. Waits for other calls without Python's lock.
    fn has_ended(&self, py: Python<'_>) -> bool {
        py.detach(|| {
            let session = self.session.lock();
            session.unwrap_or_else(PoisonError::into_inner).is_none()
        })
    }

    fn lengths(&self) -> MutexGuard<'_, Lengths> {
        self.lengths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with the session, without Python's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        operation: &'static str,
        work: impl FnOnce(&mut (dyn Session + 'static)) -> Result<T> + Send,
    ) -> PyResult<T> {
        require_threads()?;
        let result = py.detach(|| {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            session.as_deref_mut().map(work)
        });
        result
            .ok_or_else(|| ended(operation))?
            .or_raise(py, operation)
    }
}

impl Drop for PySession {
    fn drop(&mut self) {
        // After the interpreter's end there is no lock to release.
        let _ = Python::try_attach(|py| self.close(py));
    }
}

fn ended(operation: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{operation}: the session has ended with finish: begin another by TensorSketch.session"
    ))
}

#[pymethods]
impl PySession {
    /// Append letters to the current sequence: a text, or an array of codes.
    fn push(&self, py: Python<'_>, letters: &Bound<'_, PyAny>) -> PyResult<()> {
        const PUSH: &str = "push";
        let reader = Reader {
            operation: PUSH,
            alphabet: Some(&self.alphabet),
            unknown: self.unknown,
        };
        let codes = reader.codes(py, letters)?;
        self.with(py, PUSH, |session| session.push(&codes))?;
        self.lengths().current += codes.len();
        Ok(())
    }

    /// End the current sequence, which may be empty.
    fn end_sequence(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, "end_sequence", |session| session.end_sequence())?;
        let mut lengths = self.lengths();
        let (index, length) = (lengths.sequences, mem::take(&mut lengths.current));
        lengths.sequences += 1;
        if length < self.tuple {
            lengths.short.add(|| short::name(index));
        }
        Ok(())
    }

    /// Return the finished sketches that have not been taken, without waiting for others.
    fn take_finished(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let rows = self.with(py, "take_finished", |session| session.take_finished())?;
        Ok(rows(py))
    }

    /// Wait for all sketches, end the session, and return those that have not been taken.
    ///
    /// If ``ShortSequenceWarning`` is an error, it is raised before the session ends, and once: another call returns the
    /// sketches.
    fn finish(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        const FINISH: &str = "finish";
        require_threads()?;
        // The warning may be an exception, which leaves the session as it is, and is raised once.
        let (sequences, short) = {
            let mut lengths = self.lengths();
            (lengths.sequences, mem::take(&mut lengths.short))
        };
        short::warn(py, FINISH, &short, Needed::Tuple(self.tuple), sequences)?;
        let session = self.take(py).ok_or_else(|| ended(FINISH))?;
        // It may wait for as many letters as a session holds.
        let rows = call(py, FINISH, f64::INFINITY, || session.finish())?;
        Ok(rows(py))
    }
}

/// The sketches of sequences that an iterable makes: the result of ``TensorSketch.stream``.
#[pyclass(frozen, name = "SketchStream", module = "gridstride.tensor_sketch")]
pub struct PyStream {
    session: PySession,
    sequences: Py<PyIterator>,
}

impl PyStream {
    pub fn new(session: PySession, sequences: Py<PyIterator>) -> PyStream {
        PyStream { session, sequences }
    }

    /// Takes a sequence, and returns the sketches that are finished.
    fn take(&self, py: Python<'_>, sequence: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.session.push(py, sequence)?;
        self.session.end_sequence(py)?;
        self.session.take_finished(py)
    }
}

#[pymethods]
impl PyStream {
    fn __iter__(stream: Py<PyStream>) -> Py<PyStream> {
        stream
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let some = |rows: Py<PyAny>| Ok((rows.bind(py).len()? > 0).then_some(rows));
        if self.session.has_ended(py) {
            return Ok(None);
        }
        for sequence in self.sequences.bind(py).clone() {
            let rows = sequence.and_then(|sequence| self.take(py, &sequence));
            // As a generator, a stream ends with an exception.
            let rows = rows.inspect_err(|_| self.session.close(py))?;
            if let Some(rows) = some(rows)? {
                return Ok(Some(rows));
            }
        }
        some(self.session.finish(py)?)
    }
}

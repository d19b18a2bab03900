//! Sketches of sequences whose letters arrive gradually.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use files::sequences::{Needed, Short};
use gridstride::Result;
use gridstride::ndarray::Array2;
use gridstride::sequences::{Alphabet, Unknown};
use gridstride::tensor_sketch::{Entry, SketchSession};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::call::{call, require_threads};
use crate::error::OrRaise;
use crate::number::Number;
use crate::sequences::Reader;
use crate::short;

pub const STREAM: &str = "stream";

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

    /// Takes the session. Releases the GIL while it waits, because a computing call may hold the session.
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

    fn reader(&self, operation: &'static str) -> Reader<'_> {
        Reader {
            operation,
            alphabet: Some(&self.alphabet),
            unknown: self.unknown,
        }
    }

    /// Appends codes to the current sequence.
    fn append(&self, py: Python<'_>, operation: &'static str, codes: &[u8]) -> PyResult<()> {
        self.with(py, operation, |session| session.push(codes))?;
        self.lengths().current += codes.len();
        Ok(())
    }

    /// Ends the current sequence.
    fn end(&self, py: Python<'_>, operation: &'static str) -> PyResult<()> {
        self.with(py, operation, |session| session.end_sequence())?;
        let mut lengths = self.lengths();
        let (index, length) = (lengths.sequences, mem::take(&mut lengths.current));
        lengths.sequences += 1;
        if length < self.tuple {
            lengths.short.add(|| short::name(index));
        }
        Ok(())
    }

    /// Returns the finished sketches that have not been taken.
    fn finished(&self, py: Python<'_>, operation: &'static str) -> PyResult<Py<PyAny>> {
        let rows = self.with(py, operation, |session| session.take_finished())?;
        Ok(rows(py))
    }

    /// Warns of short sequences, ends the session, and returns the sketches that have not been taken.
    fn rest(&self, py: Python<'_>, operation: &'static str) -> PyResult<Py<PyAny>> {
        require_threads()?;
        // The warning may be an exception, which leaves the session as it is, and is raised once.
        let (sequences, short) = {
            let mut lengths = self.lengths();
            (lengths.sequences, mem::take(&mut lengths.short))
        };
        short::warn(py, operation, &short, Needed::Tuple(self.tuple), sequences)?;
        let session = self.take(py).ok_or_else(|| ended(operation))?;
        // It may wait for as many letters as a session holds.
        let rows = call(py, operation, f64::INFINITY, || session.finish())?;
        Ok(rows(py))
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
        self.append(py, PUSH, &self.reader(PUSH).codes(py, letters)?)
    }

    /// End the current sequence, which may be empty.
    fn end_sequence(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py, "end_sequence")
    }

    /// Return the finished sketches that have not been taken, without waiting for others.
    fn take_finished(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.finished(py, "take_finished")
    }

    /// Wait for all sketches, end the session, and return those that have not been taken.
    ///
    /// If ``ShortSequenceWarning`` is an error, it is raised before the session ends, and once: another call returns the
    /// sketches.
    fn finish(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.rest(py, "finish")
    }
}

/// The sketches of sequences that an iterable makes: the result of ``TensorSketch.stream``.
///
/// If the iterable raises an exception, or a sequence has letters that the alphabet does not have, the
/// stream first yields the sketches of all sequences before, and then raises the exception. After that, and
/// after an error of the computation, the stream has ended.
///
/// If ``ShortSequenceWarning`` is an error, it is raised once, behind the last sequence, and the stream goes
/// on: ``next`` returns the sketches that are left.
#[pyclass(frozen, name = "SketchStream", module = "gridstride.tensor_sketch")]
pub struct PyStream {
    session: PySession,
    sequences: Py<PyIterator>,
    /// The exception of the iterable or of a sequence, which ends the stream.
    fault: Mutex<Option<PyErr>>,
}

impl PyStream {
    pub fn new(session: PySession, sequences: Py<PyIterator>) -> PyStream {
        PyStream {
            session,
            sequences,
            fault: Mutex::default(),
        }
    }

    fn fault(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes sequences until there are finished sketches; `None` after the last sequence.
    fn next_finished(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        if self.fault().is_some() {
            return Ok(None);
        }
        for sequence in self.sequences.bind(py).clone() {
            let index = self.session.lengths().sequences;
            let reader = self.session.reader(STREAM);
            let codes = match sequence.and_then(|sequence| reader.codes_of(py, index, &sequence)) {
                Ok(codes) => codes,
                // KeyboardInterrupt, for example, does not wait for sketches.
                Err(error) if !error.is_instance_of::<PyException>(py) => return Err(error),
                Err(error) => {
                    *self.fault() = Some(error);
                    return Ok(None);
                }
            };
            self.session.append(py, STREAM, &codes)?;
            self.session.end(py, STREAM)?;
            let rows = self.session.finished(py, STREAM)?;
            if rows.bind(py).len()? > 0 {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

#[pymethods]
impl PyStream {
    fn __iter__(stream: Py<PyStream>) -> Py<PyStream> {
        stream
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        if !self.session.has_ended(py) {
            // As a generator, a stream ends with an exception.
            let rows = self.next_finished(py);
            let rows = rows.inspect_err(|_| self.session.close(py))?;
            if rows.is_some() {
                return Ok(rows);
            }
            let rows = self.session.rest(py, STREAM);
            if rows.is_err() && self.session.has_ended(py) {
                drop(self.fault().take());
            }
            let rows = rows?;
            if rows.bind(py).len()? > 0 {
                return Ok(Some(rows));
            }
        }
        let fault = self.fault().take();
        fault.map_or(Ok(None), Err)
    }
}

//! Sketches sequences while their letters arrive.
//!
//! The caller's thread fills batches, and the session's thread computes them. [`BATCHES`] batches
//! are in circulation: a caller that is faster than the computation waits until one comes back.
//! Apart from the end, this is the only wait.

pub mod batch;
mod whole;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, io, mem};

use gridstride_runtime::device::{Aside, Unshared, append};
use gridstride_runtime::error::During;
use gridstride_runtime::{Device, Error, Result};
use gridstride_sequences::{CodeAt, largest_of};
use ndarray::Array2;
use rayon::Yield;

use self::batch::{Batch, Engine, Filling, Limits};
use self::whole::WholeSequences;
use super::element::Entry;
use super::fourier::SEGMENT;
use super::input::{Rows, check_code};
use super::options::Form;
use super::options::TensorSketch;
use super::output::check_range;

const SESSION: &str = "SketchSession";

/// Batches of a session: one is filled, one waits, one is computed.
const BATCHES: usize = 3;

/// The most numbers in the sketches of a batch of several sequences.
const NUMBERS: usize = 1 << 22;

/// Sketches sequences whose letters arrive in chunks; [`TensorSketch::session`] makes one.
///
/// [`push`](Self::push) adds letters to a sequence, [`end_sequence`](Self::end_sequence) ends it,
/// and [`finish`](Self::finish) returns all sketches. Another thread computes the sketches. When
/// the caller is about 16 million letters ahead, `push` and `end_sequence` wait: at most 25 million
/// letters are in memory, however long a sequence is. [`Form::Direct`] also keeps all letters of
/// the current sequence in memory.
///
/// On a device with little memory, or a [limit](gridstride_runtime::Device::with_memory_limit), fewer letters
/// are computed at a time.
///
/// Finished sketches stay in memory until they are taken. If not all of them fit in memory, call
/// [`take_finished`](Self::take_finished) now and then. `take_finished` does not wait, so that one
/// thread can push and take in turn.
///
/// The sketches equal those of [`TensorSketch::sketch`] bit by bit. They depend neither on how the
/// letters were divided among calls of `push` nor on the other sequences of the session.
///
/// Dropping a session waits for the batch that is being computed and leaves out the rest.
///
/// # Errors
/// One of the next calls, or `finish`, returns an error of the computation. The session is then
/// broken: all later calls return an [`Error::InvalidInput`] that repeats the reason. Only sketches
/// that were finished before the error can still be taken, once.
///
/// ```
/// use gridstride::Device;
/// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
///
/// let device = Device::auto();
/// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
/// let mut session = sketcher.session(&device)?;
/// session.push(&[0, 1])?;
/// session.push(&[2, 3])?;
/// session.end_sequence()?;
/// session.push(&[3])?;
/// session.end_sequence()?;
/// let sketches = session.finish()?;
///
/// let sequences: Sequences = [vec![0, 1, 2, 3], vec![3]].iter().collect();
/// assert_eq!(sketches, sketcher.sketch(&device, &sequences)?);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[must_use = "the sketches are what `finish` returns"]
pub struct SketchSession<T: Entry = f32> {
    alphabet_size: usize,
    dim: usize,
    filling: Filling,
    /// Sequences that have ended, which is the number of the current sequence.
    ended: usize,
    /// `None` once no more batches will come.
    filled: Option<Sender<Batch>>,
    spent: Unshared<Receiver<Batch>>,
    results: Unshared<Receiver<Result<Vec<T>>>>,
    finished: Vec<T>,
    /// The error that has stopped the session, and was returned.
    broken_by: Option<String>,
    progress: Arc<Progress>,
    worker: Option<JoinHandle<()>>,
}

/// The state that both threads share.
#[derive(Debug, Default)]
struct Progress {
    /// Letters of the batches that the engine has accepted.
    letters: AtomicU64,
    /// Whether nobody waits for results any more.
    dropped: AtomicBool,
}

impl<T: Entry> TensorSketch<T> {
    /// Begins a session; see [`SketchSession`] for an example.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] or [`Error::Allocation`] if the device cannot sketch with these
    /// tables, or not in this [form](TensorSketch::form), [`Error::Unavailable`] if no thread can be
    /// started.
    pub fn session(&self, device: &Device) -> Result<SketchSession<T>> {
        let limits = Limits {
            segment: SEGMENT,
            sequences: (NUMBERS / self.tables.dim()).max(1),
        };
        SketchSession::new(self, self.engine(device)?, limits)
    }

    fn engine(&self, device: &Device) -> Result<Box<dyn Engine<T>>> {
        let job = self.job(SESSION, Rows::Last);
        match self.form {
            Form::Direct => {
                // Before letters come, refuses what the device cannot do.
                T::plan(&job, device).during(SESSION)?;
                Ok(Box::new(WholeSequences {
                    operation: SESSION,
                    sketcher: self.clone(),
                    device: device.clone(),
                    begun: Vec::new(),
                }))
            }
            Form::Auto | Form::Fourier => T::engine(&job, device).during(SESSION),
        }
    }
}

/// Formats the progress, without letters and sketches.
impl<T: Entry> fmt::Debug for SketchSession<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SketchSession")
            .field("alphabet_size", &self.alphabet_size)
            .field("dim", &self.dim)
            .field("ended", &self.ended)
            .field("broken_by", &self.broken_by)
            .field("letters_computed", &self.letters_computed())
            .finish_non_exhaustive()
    }
}

impl<T: Entry> SketchSession<T> {
    fn new(
        sketcher: &TensorSketch<T>,
        engine: Box<dyn Engine<T>>,
        limits: Limits,
    ) -> Result<SketchSession<T>> {
        let (filled, to_compute) = mpsc::channel();
        let (to_fill, spent) = mpsc::channel();
        let (to_caller, results) = mpsc::channel();
        let filling = Filling::new(limits).during(SESSION)?;
        for _ in 1..BATCHES {
            // Fails only without a receiver, `spent`.
            let _ = to_fill.send(Batch::default());
        }
        let progress = Arc::new(Progress::default());
        let worker = Worker {
            engine,
            dim: sketcher.tables.dim(),
            results: to_caller,
            progress: progress.clone(),
        };
        let thread = thread::Builder::new().name("gridstride-session".into());
        let thread = thread.spawn(move || worker.run(&to_compute, &to_fill));
        let no_thread = |error: io::Error| Error::Unavailable {
            device: Device::cpu().to_string(),
            reason: format!("a session needs a thread: {error}"),
        };
        Ok(SketchSession {
            alphabet_size: sketcher.tables.alphabet_size(),
            dim: sketcher.tables.dim(),
            filling,
            ended: 0,
            filled: Some(filled),
            spent: Unshared::new(spent),
            results: Unshared::new(results),
            finished: Vec::new(),
            broken_by: None,
            progress,
            worker: Some(thread.map_err(no_thread)?),
        })
    }

    /// Appends letters to the current sequence, any number in any number of calls.
    ///
    /// # Errors
    /// - [`Error::InvalidInput`] for a code that is not below the alphabet size of the tables, with
    ///   the sequence's number and the position. Nothing is added then, and the session goes on.
    /// - Errors of the computation: [`Error::Overflow`] for a sequence whose sketch has an entry
    ///   beyond the range of `T`, an error of the device, or [`Error::Allocation`].
    /// - [`Error::InvalidInput`] if such an error has been returned before.
    pub fn push(&mut self, codes: &[u8]) -> Result<()> {
        self.check_unbroken()?;
        self.check_codes(codes)?;
        self.or_break(|session| {
            let mut left = session.filling.add(codes)?;
            while !left.is_empty() {
                session.submit()?;
                left = session.filling.add(left)?;
            }
            Ok(())
        })
    }

    /// Ends the current sequence, which may be empty. The next letters begin another sequence.
    ///
    /// # Errors
    /// As [`push`](Self::push), except for the codes.
    pub fn end_sequence(&mut self) -> Result<()> {
        self.check_unbroken()?;
        self.ended += 1;
        self.or_break(|session| match session.filling.end_sequence()? {
            true => session.submit(),
            false => Ok(()),
        })
    }

    /// Returns the finished sketches that have not been taken, in the order of sequences, M×D.
    ///
    /// Does not wait: the sketches of the last 25 million letters may still be missing.
    ///
    /// # Errors
    /// As [`push`](Self::push), except for the codes. After an error the next call returns the
    /// sketches that were finished before, if there are any.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Tables, TensorSketch};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let mut session = sketcher.session(&Device::auto())?;
    /// let mut count = 0;
    /// for _ in 0..1000 {
    ///     session.push(&[0, 1, 2, 3])?;
    ///     session.end_sequence()?;
    ///     count += session.take_finished()?.nrows(); // written to a file, say
    /// }
    /// count += session.finish()?.nrows();
    /// assert_eq!(count, 1000);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn take_finished(&mut self) -> Result<Array2<T>> {
        if self.broken_by.is_none() {
            self.or_break(|session| {
                loop {
                    match session.results.get_mut().try_recv() {
                        Ok(rows) => append(&mut session.finished, &rows?)?,
                        Err(TryRecvError::Empty) => return Ok(()),
                        // The worker has panicked: it sends an error before it stops at one.
                        Err(TryRecvError::Disconnected) => return Err(session.failure()),
                    }
                }
            })?;
        } else if self.finished.is_empty() {
            self.check_unbroken()?;
        }
        Ok(self.take_rows())
    }

    fn check_unbroken(&self) -> Result<()> {
        let Some(reason) = &self.broken_by else {
            return Ok(());
        };
        let message = format!("the session has stopped at an earlier error: {reason}");
        Err(Error::input(SESSION, message))
    }

    /// Runs `work`, whose error breaks the session.
    fn or_break(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let result = work(self).during(SESSION);
        if let Err(error) = &result {
            self.broken_by = Some(error.to_string());
        }
        result
    }

    /// Waits for all sketches, and returns those that have not been taken, M×D.
    ///
    /// # Errors
    /// As [`push`](Self::push), and [`Error::InvalidInput`] if the last sequence has letters but
    /// has not been ended.
    pub fn finish(mut self) -> Result<Array2<T>> {
        self.check_unbroken()?;
        let letters = self.filling.open_length();
        if letters > 0 {
            let message = format!(
                "sequence {} has {letters} letters, but has not been ended",
                self.ended
            );
            return Err(Error::input(SESSION, message));
        }
        if self.filling.has_segments() {
            self.submit().during(SESSION)?;
        }
        // Tells the worker that no more batches will come.
        self.filled = None;
        self.receive_rest().during(SESSION)?;
        Ok(self.take_rows())
    }

    /// Returns the number of letters that have been computed, or are about to be on the device: the
    /// progress of the session.
    pub fn letters_computed(&self) -> u64 {
        self.progress.letters.load(Ordering::Relaxed)
    }

    fn check_codes(&self, codes: &[u8]) -> Result<()> {
        let is_too_large = |code: u8| usize::from(code) >= self.alphabet_size;
        if !largest_of(codes).is_some_and(is_too_large) {
            return Ok(());
        }
        let here = codes.iter().position(|&code| is_too_large(code));
        let at = here.map(|here| CodeAt {
            code: codes[here],
            sequence: Some(self.ended),
            position: self.filling.open_length() as usize + here,
        });
        check_code(SESSION, at, self.alphabet_size)
    }

    /// Sends the batch to the worker, and goes on with a batch that has come back.
    fn submit(&mut self) -> Result<()> {
        let Some(next) = receive(self.spent.get_mut()) else {
            return Err(self.failure());
        };
        let full = self.filling.replace(next)?;
        match &self.filled {
            Some(filled) if filled.send(full).is_ok() => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// Returns the error that has stopped the worker.
    fn failure(&mut self) -> Error {
        let stopped = |()| Error::input(SESSION, "the session has stopped");
        self.receive_rest().map_or_else(|error| error, stopped)
    }

    /// Receives results until the worker ends. Panics if the worker has panicked.
    fn receive_rest(&mut self) -> Result<()> {
        while let Some(rows) = receive(self.results.get_mut()) {
            append(&mut self.finished, &rows?)?;
        }
        if let Some(Err(panic)) = self.worker.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        Ok(())
    }

    fn take_rows(&mut self) -> Array2<T> {
        let rows = mem::take(&mut self.finished);
        Array2::from_shape_vec((rows.len() / self.dim, self.dim), rows).expect("rows of D numbers")
    }
}

impl<T: Entry> Drop for SketchSession<T> {
    fn drop(&mut self) {
        self.progress.dropped.store(true, Ordering::Relaxed);
        self.filled = None;
        while receive(self.results.get_mut()).is_some() {}
        // Nobody asks for the results, so a panic of the worker is ignored.
        let _ = self.worker.take().map(JoinHandle::join);
    }
}

/// Waits for a message. Returns `None` if no message can come any more.
///
/// A thread of rayon executes rayon's tasks while it waits: the engine may need one of them.
fn receive<V>(receiver: &Receiver<V>) -> Option<V> {
    let _aside = Aside::new();
    let mut patience = Duration::ZERO;
    while rayon::current_thread_index().is_some() {
        match receiver.recv_timeout(patience) {
            Ok(message) => return Some(message),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        patience = match rayon::yield_now() {
            Some(Yield::Executed) => Duration::ZERO,
            _ => Duration::from_micros(100),
        };
    }
    receiver.recv().ok()
}

/// The thread that computes. It ends after an error, and when no more batches can come.
struct Worker<T: Entry> {
    engine: Box<dyn Engine<T>>,
    dim: usize,
    results: Sender<Result<Vec<T>>>,
    progress: Arc<Progress>,
}

impl<T: Entry> Worker<T> {
    fn run(mut self, to_compute: &Receiver<Batch>, to_fill: &Sender<Batch>) {
        // The number of the sequence whose sketch comes next.
        let mut next = 0;
        let is_dropped = |worker: &Self| worker.progress.dropped.load(Ordering::Relaxed);
        while let Ok(mut batch) = to_compute.recv() {
            if is_dropped(&self)
                || !self.send(&mut next, |engine, rows| engine.submit(&batch, rows))
            {
                return;
            }
            let letters = batch.codes.len() as u64;
            self.progress.letters.fetch_add(letters, Ordering::Relaxed);
            batch.clear();
            // Fails if there is no caller any more.
            let _ = to_fill.send(batch);
        }
        if !is_dropped(&self) {
            self.send(&mut next, |engine, rows| engine.drain(rows));
        }
    }

    /// Sends rows or an error to the caller, and returns whether there was no error.
    fn send(
        &mut self,
        next: &mut usize,
        work: impl FnOnce(&mut dyn Engine<T>, &mut Vec<T>) -> Result<()>,
    ) -> bool {
        let mut rows = Vec::new();
        let outcome = work(&mut *self.engine, &mut rows);
        let outcome =
            outcome.and_then(|()| check_range(SESSION, &rows, self.dim, *next, "sequence"));
        *next += rows.len() / self.dim;
        let succeeded = outcome.is_ok();
        // Fails if there is no caller any more.
        let _ = self.results.send(outcome.map(|()| rows));
        succeeded
    }
}

#[cfg(test)]
mod tests;

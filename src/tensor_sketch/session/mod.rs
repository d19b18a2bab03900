//! Sketching while the letters still come.
//!
//! The caller's thread fills batches, another thread of the session computes them. There are
//! [`BATCHES`] of them, which go round: a caller that is faster waits for one to come back. That is
//! all that ever waits for the other side, apart from the end.

pub mod batch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, mem};

use ndarray::Array2;
use rayon::Yield;

use self::batch::{Batch, Engine, Filling, Limits};
use super::element::Entry;
use super::fourier::SEGMENT;
use super::input::{CodeAt, Rows, check_code, largest_of};
#[allow(unused_imports, reason = "for links")]
use super::options::Form;
use super::options::TensorSketch;
use super::output::check_range;
use crate::device::{DeviceKind, append};
use crate::error::During;
use crate::{Device, Error, Result};

/// The name of a session in errors.
const SESSION: &str = "SketchSession";

/// Batches of a session: one that is being filled, one that waits, one that is being computed.
const BATCHES: usize = 3;

/// Numbers that the sketches of a batch may have together, unless it is one sketch.
const NUMBERS: usize = 1 << 22;

/// Sketches sequences that come piece by piece; [`TensorSketch::session`] makes one.
///
/// [`push`](Self::push) adds letters to a sequence, [`end_sequence`](Self::end_sequence) ends it, and
/// [`finish`](Self::finish) returns the sketches of all. Computing runs on another thread, beside the
/// caller. When the caller is ahead by about 16 million letters, `push` and `end_sequence` wait: at
/// most 25 million letters are in memory, however long a sequence is. With [`Form::Direct`], which
/// does not work on parts of a sequence, a sequence is in memory as a whole besides.
///
/// On a device with little memory, or a [limit](crate::Device::with_memory_limit), letters are worked on in smaller parts.
///
/// Finished sketches stay in memory until they are taken. If not all of them fit in memory, call
/// [`take_finished`](Self::take_finished) now and then. It does not wait, so that one thread can push
/// and take in turn; a receiver of results, once full, would stop the session that the same thread has
/// to feed.
///
/// The sketches are those that [`TensorSketch::sketch`] makes, bit by bit: they depend neither on how
/// the letters were divided among calls of `push` nor on what else is in the session.
///
/// Dropping a session waits for the batch that is being computed and leaves out the rest.
///
/// # Errors
///
/// What goes wrong while computing is returned by one of the next calls, or by `finish`. Then the session is broken: all
/// later calls return an [`Error::InvalidInput`] that repeats the reason. Only sketches that were finished before the
/// error can still be taken, once.
///
/// # Examples
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
#[derive(Debug)]
#[must_use = "the sketches are what `finish` returns"]
pub struct SketchSession<T: Entry = f32> {
    alphabet_size: usize,
    dim: usize,
    limits: Limits,
    filling: Filling,
    /// Sequences that have ended, which is the number of the one that has not.
    ended: usize,
    /// Batches that were made so far.
    batches: usize,
    /// `None` once no more batches are to come.
    filled: Option<Sender<Batch>>,
    spent: Receiver<Batch>,
    results: Receiver<Result<Vec<T>>>,
    finished: Vec<T>,
    /// The error that has stopped the session, and was returned.
    broken_by: Option<String>,
    progress: Arc<Progress>,
    worker: Option<JoinHandle<()>>,
}

/// What both threads see.
#[derive(Debug, Default)]
struct Progress {
    /// Letters of the batches that the engine has accepted.
    letters: AtomicU64,
    /// Whether nobody waits for results any more.
    dropped: AtomicBool,
}

impl<T: Entry> TensorSketch<T> {
    /// Begins to sketch sequences that come piece by piece.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] or [`Error::Allocation`] if the device cannot sketch with these tables,
    /// [`Error::Unavailable`] if no thread can be started.
    ///
    /// # Examples
    ///
    /// See [`SketchSession`].
    pub fn session(&self, device: &Device) -> Result<SketchSession<T>> {
        let limits = Limits {
            segment: SEGMENT,
            sequences: (NUMBERS / self.tables.dim()).max(1),
        };
        SketchSession::new(self, self.engine(device)?, limits)
    }

    fn engine(&self, device: &Device) -> Result<Box<dyn Engine<T>>> {
        T::engine(&self.job(SESSION, Rows::Last), device).during(SESSION)
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
            device: DeviceKind::Cpu.to_string(),
            reason: format!("a session needs a thread: {error}"),
        };
        Ok(SketchSession {
            alphabet_size: sketcher.tables.alphabet_size(),
            dim: sketcher.tables.dim(),
            limits,
            filling: Filling::new(limits, Batch::with_capacity(limits).during(SESSION)?),
            ended: 0,
            batches: 1,
            filled: Some(filled),
            spent,
            results,
            finished: Vec::new(),
            broken_by: None,
            progress,
            worker: Some(thread.map_err(no_thread)?),
        })
    }

    /// Adds letters at the end of the current sequence: any number of them, in any number of calls.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidInput`] for a code that is not below the alphabet size of the tables, with the
    ///   number of the sequence and the position in it. Nothing was added then, and the session goes on.
    /// - What went wrong while computing: [`Error::Overflow`] for a sequence whose sketch has an entry
    ///   beyond the range of `T`, an error of the device, or [`Error::Allocation`].
    /// - [`Error::InvalidInput`] if such an error has been returned before.
    pub fn push(&mut self, codes: &[u8]) -> Result<()> {
        self.check_unbroken()?;
        self.check_codes(codes)?;
        let pushed = self.push_checked(codes);
        self.breaking(pushed)
    }

    fn push_checked(&mut self, codes: &[u8]) -> Result<()> {
        let mut left = self.filling.add(codes)?;
        while !left.is_empty() {
            self.submit()?;
            left = self.filling.add(left)?;
        }
        Ok(())
    }

    /// Ends the current sequence, which may be empty. The next letters begin another one.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push), but for the codes.
    pub fn end_sequence(&mut self) -> Result<()> {
        self.check_unbroken()?;
        self.ended += 1;
        let ended = self
            .filling
            .end_sequence()
            .and_then(|is_full| match is_full {
                true => self.submit(),
                false => Ok(()),
            });
        self.breaking(ended)
    }

    /// The sketches that have been finished and not yet taken, in the order of the sequences, M×D.
    ///
    /// It does not wait: the sketches of the last 25 million letters may still be missing.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push), but for the codes. After an error the next call returns the sketches that were
    /// finished before, if there are any.
    ///
    /// # Examples
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
            let received = self.receive_finished();
            self.breaking(received)?;
        } else if self.finished.is_empty() {
            self.check_unbroken()?;
        }
        Ok(self.take_rows())
    }

    /// Takes the results that there are, up to the first error.
    fn receive_finished(&mut self) -> Result<()> {
        while let Ok(rows) = self.results.try_recv() {
            append(&mut self.finished, &rows?)?;
        }
        Ok(())
    }

    /// Fails if an error has stopped the session.
    fn check_unbroken(&self) -> Result<()> {
        let Some(reason) = &self.broken_by else {
            return Ok(());
        };
        let message = format!("the session has stopped at an earlier error: {reason}");
        Err(Error::input(SESSION, message))
    }

    /// Passes a result on, and remembers an error.
    fn breaking<V>(&mut self, result: Result<V>) -> Result<V> {
        let result = result.during(SESSION);
        if let Err(error) = &result {
            self.broken_by = Some(error.to_string());
        }
        result
    }

    /// Waits for all sketches, and returns those that have not been taken, M×D.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push), and [`Error::InvalidInput`] if the last sequence has letters but
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
        if self.filling.has_pieces() {
            self.submit().during(SESSION)?;
        }
        // Without it the worker knows that this was all.
        self.filled = None;
        while let Some(rows) = receive(&self.results) {
            append(&mut self.finished, &rows.during(SESSION)?).during(SESSION)?;
        }
        self.join();
        Ok(self.take_rows())
    }

    /// The number of letters that have been computed, or are about to be on the device: how far the
    /// session has come, of the letters that were pushed.
    pub fn letters_computed(&self) -> u64 {
        self.progress.letters.load(Ordering::Relaxed)
    }

    fn check_codes(&self, codes: &[u8]) -> Result<()> {
        let is_too_large = |code: u8| usize::from(code) >= self.alphabet_size;
        if !largest_of(codes).is_some_and(is_too_large) {
            return Ok(());
        }
        let here = codes
            .iter()
            .take_while(|&&code| !is_too_large(code))
            .count();
        let at = CodeAt {
            code: codes[here],
            sequence: self.ended,
            position: self.filling.open_length() as usize + here,
        };
        check_code(SESSION, Some(at), self.alphabet_size)
    }

    /// Hands the batch over, and goes on with one that has come back.
    fn submit(&mut self) -> Result<()> {
        let next = match self.spent.try_recv() {
            Ok(batch) => batch,
            Err(TryRecvError::Empty) if self.batches < BATCHES => {
                self.batches += 1;
                Batch::with_capacity(self.limits)?
            }
            Err(_) => match receive(&self.spent) {
                Some(batch) => batch,
                None => return Err(self.failure()),
            },
        };
        let full = self.filling.replace(next)?;
        match &self.filled {
            Some(filled) if filled.send(full).is_ok() => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// Why the worker has stopped.
    fn failure(&mut self) -> Error {
        while let Some(result) = receive(&self.results) {
            match result {
                Ok(rows) => match append(&mut self.finished, &rows) {
                    Ok(()) => {}
                    Err(error) => return error,
                },
                Err(error) => return error,
            }
        }
        self.join();
        Error::input(SESSION, "the session has stopped")
    }

    /// Waits for the end of the worker, which is about to come. If it has panicked, so does the caller.
    fn join(&mut self) {
        if let Some(Err(panic)) = self.worker.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
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
        while receive(&self.results).is_some() {}
        // A panic of the worker ends with it: nobody asks for what it has computed.
        let _ = self.worker.take().map(JoinHandle::join);
    }
}

/// Waits for a message; `None` when none can come any more.
///
/// A thread of rayon does meanwhile what waits there: it may be what the engine waits for.
fn receive<V>(receiver: &Receiver<V>) -> Option<V> {
    while rayon::current_thread_index().is_some() {
        match receiver.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if rayon::yield_now() != Some(Yield::Executed) {
            match receiver.recv_timeout(Duration::from_micros(100)) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
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
        while let Ok(mut batch) = to_compute.recv() {
            if self.is_dropped() {
                return;
            }
            let mut rows = Vec::new();
            let outcome = self.engine.submit(&batch, &mut rows);
            if !self.hand_over(outcome, rows, &mut next) {
                return;
            }
            let letters = batch.codes.len() as u64;
            self.progress.letters.fetch_add(letters, Ordering::Relaxed);
            batch.clear();
            // Without a caller it is not needed.
            let _ = to_fill.send(batch);
        }
        if !self.is_dropped() {
            let mut rows = Vec::new();
            let outcome = self.engine.drain(&mut rows);
            self.hand_over(outcome, rows, &mut next);
        }
    }

    /// Sends rows or an error to the caller, and returns whether there was no error.
    fn hand_over(&self, outcome: Result<()>, rows: Vec<T>, next: &mut usize) -> bool {
        let outcome =
            outcome.and_then(|()| check_range(SESSION, &rows, self.dim, *next, "sequence"));
        *next += rows.len() / self.dim;
        let failed = outcome.is_err();
        // Without a caller it is not needed.
        let _ = self.results.send(outcome.map(|()| rows));
        !failed
    }

    fn is_dropped(&self) -> bool {
        self.progress.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;

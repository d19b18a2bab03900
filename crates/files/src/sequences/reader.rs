//! Reads, decompresses and parses on several threads.

use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::chunks::{Chunk, Chunks};
use super::error::Error;
use super::letters::Letters;
use super::parsed::Parsed;
use super::problem::Refused;
use super::record::Piece;
use super::records::Records;
use crate::Monitor;

/// Text that is parsed in one go: enough that handing it over costs little, and in a core's cache.
const CHUNK: usize = 1 << 19;

/// The most threads that parse: one parses faster than most disks read. Reading has a core of its own.
const PARSERS: usize = 4;

/// Reads the records of FASTA or FASTQ text, which its first bytes tell apart.
///
/// A thread reads and decompresses, and others parse, some chunks ahead of the caller. They stop when
/// the reader is dropped. Memory does not grow with the text, except that a single record of FASTQ has
/// to fit.
///
/// ```
/// use files::sequences::{Error, Letters, Reader};
///
/// let text = b">first one\nGATT\nACA\n>second\nCC\n";
/// let mut reader = Reader::start(Letters::text(), || Ok(Box::new(&text[..])));
/// let (mut names, mut letters) = (Vec::new(), Vec::new());
/// while reader.next(|piece| {
///     letters.extend_from_slice(piece.letters);
///     if piece.is_last {
///         names.push(piece.record.name().into_owned());
///     }
///     Ok::<_, Error>(())
/// })? {}
/// assert_eq!(names, ["first", "second"]);
/// assert_eq!(letters, b"GATTACACC");
/// # Ok::<(), Error>(())
/// ```
pub struct Reader {
    source: Source,
    records: Records,
    waiting: Duration,
    parsing: Duration,
    is_over: bool,
}

enum Source {
    Here(Box<Here>),
    Threads {
        work: Receiver<Receiver<Work>>,
        spent: Arc<Spare<Parsed>>,
    },
    /// A thread could not be started.
    Failed(Option<io::Error>),
}

/// Parsing on the thread of the caller.
struct Here {
    chunks: Chunks<Box<dyn Read + Send>>,
    letters: Letters,
    buffer: Vec<u8>,
    parsed: Parsed,
}

/// A chunk, how long parsing it took, and whether it is the last one.
struct Work {
    parsed: Result<Parsed, Stop>,
    took: Duration,
}

/// Why there is no chunk.
enum Stop {
    Text(Refused),
    Opening(anyhow::Error),
}

/// A chunk to be parsed, and where it goes then.
type Job = (Chunk, Sender<Work>);

impl Reader {
    /// Begins to read what `open` opens, on threads of its own.
    pub fn start(
        letters: Letters,
        open: impl FnOnce() -> anyhow::Result<Box<dyn Read + Send>> + Send + 'static,
    ) -> Reader {
        let source = threads(letters, open).unwrap_or_else(|error| Source::Failed(Some(error)));
        Reader::new(source)
    }

    /// Begins to read the file at `path`, which may be compressed, as [`start`](Self::start) does.
    pub fn open(letters: Letters, path: &Path, monitor: &Monitor) -> Reader {
        let (path, monitor) = (path.to_owned(), monitor.clone());
        Reader::start(letters, move || crate::open(&path, &monitor))
    }

    /// Reads on the thread of the caller, about `chunk` bytes at a time, by default 512 KiB: for short
    /// texts, and for callers that read several files at a time.
    pub fn here(letters: Letters, text: Box<dyn Read + Send>, chunk: Option<usize>) -> Reader {
        Reader::new(Source::Here(Box::new(Here {
            chunks: Chunks::new(text, chunk.unwrap_or(CHUNK)),
            letters,
            buffer: Vec::new(),
            parsed: Parsed::default(),
        })))
    }

    fn new(source: Source) -> Reader {
        Reader {
            source,
            records: Records::default(),
            waiting: Duration::ZERO,
            parsing: Duration::ZERO,
            is_over: false,
        }
    }

    /// Visits the pieces of the next chunk, and returns whether there may be more.
    ///
    /// # Errors
    /// If the text cannot be read, is neither FASTA nor FASTQ, has a byte that is refused, or if
    /// `visit` fails. After an error there is no more.
    pub fn next<E: From<Error>>(
        &mut self,
        visit: impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<bool, E> {
        if self.is_over {
            return Ok(false);
        }
        let added = self.add(visit);
        self.is_over = !matches!(added, Ok(true));
        added
    }

    fn add<E: From<Error>>(
        &mut self,
        mut visit: impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<bool, E> {
        let records = &mut self.records;
        match &mut self.source {
            Source::Failed(error) => {
                let error = error.take().unwrap_or_else(stopped);
                Err(Error::reading(error, None).into())
            }
            Source::Here(here) => {
                let buffer = std::mem::take(&mut here.buffer);
                match here.chunks.next(buffer) {
                    None => records.finish(visit).map(|()| false),
                    Some(Err(refused)) => Err(records.refused(refused).into()),
                    Some(Ok(chunk)) => {
                        here.buffer = here.parsed.parse(chunk, &here.letters);
                        records.add(&mut here.parsed, visit).map(|()| true)
                    }
                }
            }
            Source::Threads { work, spent } => {
                let start = Instant::now();
                let received = work.recv().and_then(|work| work.recv());
                self.waiting += start.elapsed();
                // A chunk says that it is the last one.
                let Ok(Work { parsed, took }) = received else {
                    return Err(records.stopped(stopped()).into());
                };
                self.parsing += took;
                let mut parsed = match parsed {
                    Ok(parsed) => parsed,
                    Err(Stop::Text(refused)) => return Err(records.refused(refused).into()),
                    Err(Stop::Opening(error)) => return Err(Error::opening(error).into()),
                };
                records.add(&mut parsed, &mut visit)?;
                let is_last = parsed.is_last;
                spent.give(parsed);
                if is_last {
                    records.finish(visit)?;
                }
                Ok(!is_last)
            }
        }
    }

    /// Returns how often each byte was left out so far.
    pub fn skipped(&self) -> &[u64; 256] {
        &self.records.skipped.0
    }

    /// Returns the time that the caller has waited for text.
    pub fn waiting(&self) -> Duration {
        self.waiting
    }

    /// Returns the time that parsing has taken, on all threads.
    pub fn parsing(&self) -> Duration {
        self.parsing
    }
}

fn stopped() -> io::Error {
    io::Error::other("a thread that reads has stopped")
}

fn threads(
    letters: Letters,
    open: impl FnOnce() -> anyhow::Result<Box<dyn Read + Send>> + Send + 'static,
) -> io::Result<Source> {
    let parsers = thread::available_parallelism().map_or(1, usize::from);
    let parsers = (parsers - 1).clamp(1, PARSERS);
    // So that each has a chunk while another one waits for it.
    let (to_user, work) = mpsc::sync_channel(2 * parsers);
    let (to_parsers, jobs) = mpsc::sync_channel::<Job>(parsers);
    let jobs = Arc::new(Mutex::new(jobs));
    let (texts, spent) = (Arc::new(Spare::new()), Arc::new(Spare::new()));
    for _ in 0..parsers {
        let (jobs, letters) = (jobs.clone(), letters.clone());
        let (texts, spent) = (texts.clone(), spent.clone());
        let parse = move || parse(&jobs, &letters, &texts, &spent);
        thread::Builder::new().name("parsing".into()).spawn(parse)?;
    }
    let read = move || read(open, &to_user, &to_parsers, &texts);
    thread::Builder::new().name("reading".into()).spawn(read)?;
    Ok(Source::Threads { work, spent })
}

/// Reads chunks until the text ends or nobody wants more.
fn read(
    open: impl FnOnce() -> anyhow::Result<Box<dyn Read + Send>>,
    to_user: &SyncSender<Receiver<Work>>,
    to_parsers: &SyncSender<Job>,
    texts: &Spare<Vec<u8>>,
) {
    let stop = |stop: Stop| {
        let (sender, receiver) = mpsc::channel();
        let work = Work {
            parsed: Err(stop),
            took: Duration::ZERO,
        };
        // Nobody may want it.
        let _ = sender.send(work);
        let _ = to_user.send(receiver);
    };
    let mut chunks = match open() {
        Ok(text) => Chunks::new(text, CHUNK),
        Err(error) => return stop(Stop::Opening(error)),
    };
    while let Some(chunk) = chunks.next(texts.take()) {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(refused) => return stop(Stop::Text(refused)),
        };
        let (sender, receiver) = mpsc::channel();
        if to_user.send(receiver).is_err() || to_parsers.send((chunk, sender)).is_err() {
            return;
        }
    }
}

fn parse(
    jobs: &Mutex<Receiver<Job>>,
    letters: &Letters,
    texts: &Spare<Vec<u8>>,
    spent: &Spare<Parsed>,
) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((chunk, sender)) = job else {
            return;
        };
        let start = Instant::now();
        let mut parsed = spent.take();
        texts.give(parsed.parse(chunk, letters));
        let work = Work {
            parsed: Ok(parsed),
            took: start.elapsed(),
        };
        // Nobody may want it.
        let _ = sender.send(work);
    }
}

/// Memory that is used again.
struct Spare<T>(Mutex<Vec<T>>);

impl<T: Default> Spare<T> {
    fn new() -> Spare<T> {
        Spare(Mutex::default())
    }

    /// Ignores poisoning: a vector is valid between statements.
    fn take(&self) -> T {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.pop().unwrap_or_default()
    }

    fn give(&self, value: T) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push(value);
    }
}

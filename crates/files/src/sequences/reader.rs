//! Reads, decompresses and parses on several threads.

use std::io::{self, Read};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::chunks::{Block, Chunks, End};
use super::error::Error;
use super::letters::Letters;
use super::parsed::Parsed;
use super::record::Piece;
use super::records::{Records, Stop};
use crate::Monitor;

/// Bytes read and parsed at a time: large enough that handing over is cheap, small enough for a core's
/// cache.
const BLOCK: usize = 1 << 19;

/// The most threads that read in turn and parse: two parse faster than one reads.
const PARSERS: usize = 4;

/// Reads the records of FASTA or FASTQ text, which its first bytes tell apart.
///
/// Some threads read and decompress in turn, and parse, some blocks ahead of the caller. They stop when
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
    Failed(io::Error),
}

/// Parsing on the thread of the caller.
struct Here {
    text: Box<dyn Read + Send>,
    block: usize,
    chunks: Chunks,
    letters: Letters,
    buffer: Vec<u8>,
    parsed: Parsed,
}

/// A chunk, and how long parsing it took.
type Work = Result<(Parsed, Duration), Stop>;

/// The turns in which threads read the blocks of a text.
struct Turns {
    text: Text,
    /// Receives the chunks from the thread of the last block, once it has found the end of its chunk.
    chunks: Receiver<Chunks>,
    /// Sends the receivers of the results of blocks, in the order of the blocks.
    to_user: SyncSender<Receiver<Work>>,
}

enum Text {
    Closed(Open),
    Open(Box<dyn Read + Send>),
    Over,
}

type Open = Box<dyn FnOnce() -> anyhow::Result<Box<dyn Read + Send>> + Send>;

/// A block, and what its thread gets and hands over.
struct BlockTask {
    block: Block,
    chunks: Receiver<Chunks>,
    next: Sender<Chunks>,
    to_user: Sender<Work>,
}

impl Turns {
    /// Reads the next block into `buffer`. There is none behind the last one, or if nobody wants it.
    fn next(&mut self, buffer: Vec<u8>) -> Option<BlockTask> {
        let text = match mem::replace(&mut self.text, Text::Over) {
            Text::Closed(open) => open(),
            Text::Open(text) => Ok(text),
            Text::Over => return None,
        };
        let (to_user, work) = mpsc::channel();
        self.to_user.send(work).ok()?;
        let mut text = match text {
            Ok(text) => text,
            Err(error) => {
                to_user.send(Err(Stop::Opening(error))).ok()?;
                return None;
            }
        };
        let block = Block::read(&mut text, BLOCK, buffer);
        if !block.is_last() {
            self.text = Text::Open(text);
        }
        let (next, chunks) = mpsc::channel();
        Some(BlockTask {
            block,
            chunks: mem::replace(&mut self.chunks, chunks),
            next,
            to_user,
        })
    }
}

/// Reads and parses a block, unless there is none.
fn parse(
    turns: &Mutex<Turns>,
    letters: &Letters,
    spent: &Spare<Parsed>,
    buffer: &mut Vec<u8>,
) -> Option<()> {
    let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
    let job = turns.next(mem::take(buffer))?;
    drop(turns);
    // There are none behind text that is wrong.
    let mut chunks = job.chunks.recv().ok()?;
    let start = Instant::now();
    let chunk = match chunks.cut(job.block) {
        Ok(chunk) => chunk,
        Err(refused) => {
            job.to_user.send(Err(Stop::Text(refused))).ok()?;
            return None;
        }
    };
    if matches!(chunk.end, End::More) {
        // Nobody may want it.
        let _ = job.next.send(chunks);
    }
    let mut parsed = spent.take();
    *buffer = parsed.parse(chunk, letters, BLOCK);
    job.to_user.send(Ok((parsed, start.elapsed()))).ok()
}

impl Reader {
    /// Begins to read what `open` opens, on threads of its own.
    pub fn start(
        letters: Letters,
        open: impl FnOnce() -> anyhow::Result<Box<dyn Read + Send>> + Send + 'static,
    ) -> Reader {
        let source = threads(letters, open).unwrap_or_else(Source::Failed);
        Reader::new(source)
    }

    /// Begins to read the file at `path`, which may be compressed, as [`start`](Self::start) does.
    pub fn open(letters: Letters, path: &Path, monitor: &Monitor) -> Reader {
        let (path, monitor) = (path.to_owned(), monitor.clone());
        Reader::start(letters, move || crate::open(&path, &monitor))
    }

    /// Reads on the thread of the caller, about `block` bytes at a time, by default 512 KiB: for short
    /// texts, and for callers that read several files at a time.
    pub fn here(letters: Letters, text: Box<dyn Read + Send>, block: Option<usize>) -> Reader {
        Reader::new(Source::Here(Box::new(Here {
            text,
            block: block.unwrap_or(BLOCK).max(1),
            chunks: Chunks::default(),
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
        visit: impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<bool, E> {
        let records = &mut self.records;
        match &mut self.source {
            Source::Failed(error) => {
                let gone = io::Error::other("a thread could not be started");
                Err(Error::reading(mem::replace(error, gone), None).into())
            }
            Source::Here(here) => {
                let buffer = mem::take(&mut here.buffer);
                let block = Block::read(&mut here.text, here.block, buffer);
                let chunk = here.chunks.cut(block);
                let chunk = chunk.map_err(|refused| records.stopped(Stop::Text(refused)))?;
                here.buffer = here.parsed.parse(chunk, &here.letters, here.block);
                add(records, &mut here.parsed, visit)
            }
            Source::Threads { work, spent } => {
                let start = Instant::now();
                let received = work.recv().and_then(|work| work.recv());
                self.waiting += start.elapsed();
                // A chunk says that it is the last one.
                let parsed = received.unwrap_or(Err(Stop::Gone));
                let (mut parsed, took) = parsed.map_err(|stop| records.stopped(stop))?;
                self.parsing += took;
                let added = add(records, &mut parsed, visit);
                spent.give(parsed);
                added
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

/// Visits a chunk, and returns whether another one follows.
fn add<E: From<Error>>(
    records: &mut Records,
    parsed: &mut Parsed,
    mut visit: impl FnMut(Piece) -> Result<(), E>,
) -> Result<bool, E> {
    records.add(parsed, &mut visit)?;
    if parsed.is_last {
        records.finish(visit)?;
    }
    Ok(!parsed.is_last)
}

fn threads(
    letters: Letters,
    open: impl FnOnce() -> anyhow::Result<Box<dyn Read + Send>> + Send + 'static,
) -> io::Result<Source> {
    let parsers = thread::available_parallelism().map_or(1, usize::from);
    let parsers = parsers.clamp(2, PARSERS);
    // So that each has a chunk while another one waits for it.
    let (to_user, work) = mpsc::sync_channel(2 * parsers);
    let (first, chunks) = mpsc::channel();
    // The receiver is below.
    let _ = first.send(Chunks::default());
    let turns = Arc::new(Mutex::new(Turns {
        text: Text::Closed(Box::new(open)),
        chunks,
        to_user,
    }));
    let spent = Arc::new(Spare::new());
    for _ in 0..parsers {
        let (turns, letters, spent) = (turns.clone(), letters.clone(), spent.clone());
        let parse = move || {
            let mut buffer = Vec::new();
            while parse(&turns, &letters, &spent, &mut buffer).is_some() {}
        };
        thread::Builder::new().name("parsing".into()).spawn(parse)?;
    }
    Ok(Source::Threads { work, spent })
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

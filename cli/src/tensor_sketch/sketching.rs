//! From files to sketches: reading, parsing and computing, side by side.
//!
//! Threads read and parse ahead. This one hands the letters to a session on each device, whose own
//! thread computes. Each waits for the next one when it is ahead, so that memory does not grow with the
//! input. Windows that share many letters are sketched together, by this thread.

use std::collections::VecDeque;
use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use files::Monitor;
use files::sequences::{Letters, Piece, Reader};
use files::text::visible;
use gridstride::Device;
use gridstride::tensor_sketch::{Alphabet, Entry, NamedAlphabet, TensorSketch};
use indicatif::{HumanCount, ProgressBar};
use ndarray::Array2;
use program::progress::{self, total_size};
use program::report::{timed, warn};
use program::sequences::{letters, with_file};

use super::args::Args;
use super::name::Name;
use super::results::Results;
use super::sessions::Sessions;
use super::windows::{Output, Windows};

/// Sequences that are on their way when their sketches are asked for, or a multiple of it.
const TAKEN: usize = 1024;

/// Times of this thread.
#[derive(Default)]
pub struct Times {
    /// Waiting for parsed text.
    pub input: Duration,
    /// Time of parsing on threads of its own, beside the other work.
    pub parsing: Duration,
    /// Handing letters over, and waiting for the sessions.
    pub computing: Duration,
    pub writing: Duration,
}

/// The files of a command line, of which the first one is being read.
pub struct Inputs {
    letters: Letters,
    monitor: Monitor,
    first: Option<Reader>,
}

impl Inputs {
    /// Begins to read; `-` stands for stdin.
    pub fn start(args: &Args) -> Inputs {
        let mut inputs = Inputs {
            letters: letters(&Alphabet::from(args.alphabet), args.unknown),
            monitor: Monitor::new(|_| (), warn),
            first: None,
        };
        inputs.first = args.files.first().map(|path| inputs.open(path));
        inputs
    }

    fn open(&self, path: &Path) -> Reader {
        Reader::open(self.letters.clone(), path, &self.monitor)
    }
}

/// Sketches all files of the command line, in order.
pub fn sketch_files<T: Entry>(
    args: &Args,
    mut inputs: Inputs,
    sketcher: &TensorSketch<T>,
    devices: &[Device],
    results: &mut Results<T>,
) -> Result<Times> {
    let mut sketches = Sketches {
        sketcher,
        devices,
        sessions: Sessions::new(sketcher, devices)?,
        pushed: 0,
        in_sessions: 0,
        windows: args
            .windows
            .map(|windows| Windows::new(sketcher, devices, windows)),
        takes_means: args.mean,
        per_file: args.per_file,
        sequence: Sequence::default(),
        sequences: 0,
        progress: Progress::new(args),
        finished: Finished {
            waiting: VecDeque::new(),
            from_session: 0,
            results,
            times: Times::default(),
        },
    };
    let mut amino_acids = 0;
    for path in &args.files {
        let mut reader = inputs.first.take().unwrap_or_else(|| inputs.open(path));
        sketches.sketch_file(path, &mut reader, &inputs.monitor)?;
        let skipped = reader.skipped();
        amino_acids += b"EFILPQefilpq"
            .map(|letter| skipped[usize::from(letter)])
            .iter()
            .sum::<u64>();
    }
    let results = &sketches.finished.results;
    let characters = results.letters + results.skipped;
    if args.alphabet == NamedAlphabet::Dna && amino_acids > characters / 10 {
        warn(
            "more than 10 % of the characters are no letters of DNA and were skipped, but those of \
             amino acids: --alphabet protein reads proteins",
        );
    }
    sketches.finish()
}

/// The sequence whose letters come: a record, or all records of a file.
#[derive(Default)]
struct Sequence {
    name: String,
    length: u64,
    skipped: u64,
}

/// Sequences on their way through the sessions.
struct Sketches<'a, T: Entry> {
    sketcher: &'a TensorSketch<T>,
    devices: &'a [Device],
    sessions: Sessions<T>,
    /// Letters that went into the sessions, or into windows.
    pushed: u64,
    /// Number of sequences that went into the present sessions.
    in_sessions: u64,
    /// If windows are sketched instead of sequences.
    windows: Option<Windows<'a, T>>,
    /// If the windows of a sequence have one sketch, and so one name.
    takes_means: bool,
    /// If the records of a file are one sequence.
    per_file: bool,
    sequence: Sequence,
    /// Sequences that have ended.
    sequences: u64,
    progress: Progress,
    finished: Finished<'a, T>,
}

impl<T: Entry> Sketches<'_, T> {
    fn sketch_file(&mut self, path: &Path, reader: &mut Reader, monitor: &Monitor) -> Result<()> {
        if self.per_file {
            self.begin_sequence(path.display().to_string());
        }
        loop {
            let (start, written) = (Instant::now(), self.finished.times.writing);
            let waited = reader.waiting();
            let next = reader.next(|piece| self.add(piece));
            let has_more = next.map_err(|error| with_file(error, path))?;
            if !has_more && self.per_file {
                self.end_sequence()?;
            }
            self.take_finished()?;
            let times = &mut self.finished.times;
            let waiting = reader.waiting() - waited;
            times.input += waiting;
            times.computing += start.elapsed() - waiting - (times.writing - written);
            if !has_more {
                times.parsing += reader.parsing();
                return Ok(());
            }
            self.progress.read(monitor.bytes_read(), self.pushed);
            let computed = self.letters_computed();
            self.progress.computed(computed);
        }
    }

    fn begin_sequence(&mut self, name: String) {
        self.sequence = Sequence {
            name,
            ..Sequence::default()
        };
    }

    /// Takes letters of a record, and hands on what is finished.
    fn add(&mut self, piece: Piece) -> Result<()> {
        let (record, letters) = (piece.record, piece.letters);
        // The first letters of a record, or none.
        if !self.per_file && record.length() == letters.len() as u64 {
            self.begin_sequence(record.name().into_owned());
        }
        self.finished.results.letters += letters.len() as u64;
        self.sequence.length += letters.len() as u64;
        match self.windows {
            None => self.push_letters(letters)?,
            Some(_) => self.push_windows(letters, false)?,
        }
        if piece.is_last {
            self.sequence.skipped += record.skipped();
            if !self.per_file {
                self.end_sequence()?;
            }
        }
        Ok(())
    }

    /// Ends the sequence, which may be empty.
    fn end_sequence(&mut self) -> Result<()> {
        if let Some(windows) = &self.windows {
            let (width, stride) = (windows.width as u64, windows.stride as u64);
            self.push_windows(&[], true)?;
            let Sequence {
                name,
                length,
                skipped,
            } = mem::take(&mut self.sequence);
            let last = length.checked_sub(width);
            let count = last.map_or(0, |last| last / stride + 1);
            self.sequences += 1;
            let results = &mut self.finished.results;
            return results.end_windows(&name, length, skipped, count);
        }
        let Sequence {
            name,
            length,
            skipped,
        } = mem::take(&mut self.sequence);
        let tuple = self.sketcher.tables().tuple_length() as u64;
        let tuples = (length + 1).saturating_sub(tuple);
        let results = &mut self.finished.results;
        results.end_sequence(&name, skipped, tuples);
        self.sequences += 1;
        self.sketch(Name {
            name,
            length,
            skipped: Some(skipped),
            sequence: self.sequences - 1,
        })
    }

    fn push_windows(&mut self, codes: &[u8], is_end: bool) -> Result<()> {
        let Some(mut windows) = self.windows.take() else {
            return Ok(());
        };
        let name = mem::take(&mut self.sequence.name);
        let (width, stride) = (windows.width as u64, windows.stride as u64);
        let (takes_means, sequence_number) = (self.takes_means, self.sequences);
        let name_of = |start: u64| Name {
            name: match takes_means {
                true => name.clone(),
                false => format!("{name}:{start}"),
            },
            // The length of a mean's sequence is known at its end.
            length: width,
            skipped: None,
            sequence: sequence_number,
        };
        let mut visit = |start: u64, output: Output<T>| match output {
            Output::Window(window) => {
                self.push_letters(window)?;
                self.sketch(name_of(start))
            }
            Output::Sketches(sketches) => {
                // Sketches of the windows before come first.
                self.finish_session()?;
                // Of strides above the width, some letters are in no window.
                self.pushed += sketches.nrows() as u64 * stride.min(width);
                let names = (0..).map(|i| name_of(start + i * stride));
                timed(&mut self.finished.times.writing, || {
                    self.finished.results.add(names, sketches.view())
                })
            }
        };
        windows.add(&name, codes, &mut visit)?;
        if is_end {
            windows.end_sequence(&name, &mut visit)?;
        }
        self.sequence.name = name;
        self.windows = Some(windows);
        Ok(())
    }

    /// Hands on all that went into the sessions, and goes on with new ones.
    fn finish_session(&mut self) -> Result<()> {
        if self.finished.waiting.is_empty() {
            return Ok(());
        }
        let next = Sessions::new(self.sketcher, self.devices)?;
        let last = std::mem::replace(&mut self.sessions, next).finish();
        self.finished.hand_on(last)?;
        self.finished.from_session = 0;
        self.in_sessions = 0;
        Ok(())
    }

    fn push_letters(&mut self, codes: &[u8]) -> Result<()> {
        self.pushed += codes.len() as u64;
        self.in_sessions += codes.len() as u64;
        let pushed = self.sessions.push(codes);
        pushed.map_err(|error| self.finished.with_name(error))
    }

    /// Sketches the letters that were pushed.
    fn sketch(&mut self, name: Name) -> Result<()> {
        self.finished.waiting.push_back(name);
        let ended = self.sessions.end_sequence();
        ended.map_err(|error| self.finished.with_name(error))?;
        // A block of text may have as many sequences as letters: their sketches must not pile up.
        if self.finished.waiting.len().is_multiple_of(TAKEN) {
            self.progress.sketched(self.letters_computed());
            self.take_finished()?;
        }
        Ok(())
    }

    /// Letters of what has been computed.
    fn letters_computed(&self) -> u64 {
        self.pushed - self.in_sessions + self.sessions.letters_computed()
    }

    fn take_finished(&mut self) -> Result<()> {
        let sketches = self.sessions.take_finished();
        self.finished.hand_on(sketches)
    }

    fn finish(mut self) -> Result<Times> {
        let times = &mut self.finished.times;
        let last = timed(&mut times.computing, || self.sessions.finish());
        self.finished.hand_on(last)?;
        self.progress.bar.finish_and_clear();
        Ok(self.finished.times)
    }
}

/// The end of the way.
struct Finished<'a, T> {
    /// The sequences whose sketches have not been returned yet.
    waiting: VecDeque<Name>,
    /// Sketches that have come from the present sessions.
    from_session: usize,
    results: &'a mut Results<T>,
    times: Times,
}

impl<T: Entry> Finished<'_, T> {
    fn hand_on(&mut self, sketches: gridstride::Result<Array2<T>>) -> Result<()> {
        let sketches = sketches.map_err(|error| self.with_name(error))?;
        let names = self.waiting.drain(..sketches.nrows());
        self.from_session += sketches.nrows();
        timed(&mut self.times.writing, || {
            self.results.add(names, sketches.view())
        })
    }

    /// The error, with the name of the sequence whose sketch it is about.
    fn with_name(&self, error: gridstride::Error) -> Error {
        let name = match error {
            gridstride::Error::Overflow { index, .. } => index
                .checked_sub(self.from_session)
                .and_then(|place| self.waiting.get(place)),
            _ => None,
        };
        match name {
            Some(name) => {
                Error::new(error).context(format!("cannot sketch {}", visible(&name.name)))
            }
            None => error.into(),
        }
    }
}

/// A bar that goes up to the size of the files,
/// and stands where the letters come from that have been computed. Until there are any at the end of
/// a block of text, and with less than a block for good, the time and the letters are shown instead.
struct Progress {
    bar: ProgressBar,
    /// The size of the files.
    total: u64,
    /// Whether there is a bar yet.
    is_bar: bool,
    /// Bytes read, and how many letters had come from them, in order.
    marks: VecDeque<(u64, u64)>,
}

impl Progress {
    fn new(args: &Args) -> Progress {
        Progress {
            bar: progress::without_extent("sketching"),
            total: total_size(&args.files),
            is_bar: false,
            marks: VecDeque::new(),
        }
    }

    fn read(&mut self, bytes: u64, letters: u64) {
        self.marks.push_back((bytes, letters));
    }

    fn computed(&mut self, letters: u64) {
        self.sketched(letters);
        while let Some((bytes, _)) = self.marks.pop_front_if(|(_, needed)| *needed <= letters) {
            // A bar that is full says nothing of the last letters.
            if !self.is_bar && bytes != self.total {
                self.is_bar = true;
                progress::show_bytes(&self.bar, self.total);
            }
            self.bar.set_position(bytes);
        }
    }

    /// Shows how many letters have been sketched, while there is no bar.
    fn sketched(&self, letters: u64) {
        if !self.is_bar && letters > 0 {
            let letters = HumanCount(letters);
            self.bar.set_prefix(format!(", {letters} letters sketched"));
        }
    }
}

//! From files to sketches: reading, parsing and computing, side by side.
//!
//! A thread reads ahead, this one parses and hands the letters to a session on each device, whose
//! own thread computes. Each waits for the next one when it is ahead, so that memory does not grow with the
//! input. Windows that share many letters are sketched together, by this thread.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use files::text::visible;
use gridstride::Device;
use gridstride::tensor_sketch::{Alphabet, Entry, NamedAlphabet, TensorSketch};
use indicatif::{HumanCount, ProgressBar};
use ndarray::Array2;

use super::args::Args;
use super::fasta::{Parser, Record, Sequence};
use super::read_ahead::{Piece, ReadAhead};
use super::results::{Name, Results};
use super::sessions::Sessions;
use super::windows::{Found, Windows};
use crate::common::progress::{self, total_size};
use crate::common::report::{timed, warn};

/// Sequences that are on their way when their sketches are asked for, or a multiple of it.
const TAKEN: usize = 1024;

/// What this thread spent its time on.
#[derive(Default)]
pub struct Times {
    /// Waiting for text.
    pub input: Duration,
    pub parsing: Duration,
    /// Handing letters over, and waiting for the sessions.
    pub computing: Duration,
    pub writing: Duration,
}

/// Sketches all files of the command line, in order.
pub fn sketch_files<T: Entry>(
    args: &Args,
    text: &ReadAhead,
    sketcher: &TensorSketch<T>,
    devices: &[Device],
    results: &mut Results<T>,
) -> Result<Times> {
    let (alphabet, unknown) = (Alphabet::from(args.alphabet), args.unknown);
    let mut parser = Parser::new(alphabet, unknown, args.per_file);
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
        sequences: 0,
        progress: Progress::new(args),
        finished: Finished {
            waiting: VecDeque::new(),
            from_session: 0,
            results,
            times: Times::default(),
        },
    };
    for path in &args.files {
        sketch_file(path, text, &mut parser, &mut sketches)?;
    }
    if args.alphabet == NamedAlphabet::Dna && parser.looks_like_proteins() {
        warn(
            "more than 10 % of the characters are no letters of DNA and were skipped, but those of \
             amino acids: --alphabet protein reads proteins",
        );
    }
    sketches.finish()
}

fn sketch_file<T: Entry>(
    path: &Path,
    text: &ReadAhead,
    parser: &mut Parser,
    sketches: &mut Sketches<T>,
) -> Result<()> {
    let cannot_read = || format!("cannot read {}", path.display());
    loop {
        let piece = timed(&mut sketches.finished.times.input, || text.next());
        let (parsed, block) = timed(&mut sketches.finished.times.parsing, || match piece {
            Piece::Text(block) => (parser.text(path, &block.text), Some(block)),
            Piece::End(outcome) => (parser.end_file(outcome), None),
        });
        parsed.with_context(cannot_read)?;
        sketches.add(parser)?;
        match block {
            Some(block) => {
                sketches.progress.read(block.read, sketches.pushed);
                text.give_back(block);
            }
            None => return Ok(()),
        }
        let computed = sketches.letters_computed();
        sketches.progress.computed(computed);
    }
}

/// Sequences on their way through the sessions.
struct Sketches<'a, T: Entry> {
    sketcher: &'a TensorSketch<T>,
    devices: &'a [Device],
    sessions: Sessions<T>,
    /// Letters that went into the sessions, or into windows.
    pushed: u64,
    /// Those of them that went into the present sessions.
    in_sessions: u64,
    /// If windows are sketched instead of sequences.
    windows: Option<Windows<'a, T>>,
    /// If the windows of a sequence have one sketch, and so one name.
    takes_means: bool,
    /// Sequences that have ended.
    sequences: u64,
    progress: Progress,
    finished: Finished<'a, T>,
}

impl<T: Entry> Sketches<'_, T> {
    /// Takes what was parsed, and hands on what is finished.
    fn add(&mut self, parser: &mut Parser) -> Result<()> {
        let (start, written) = (Instant::now(), self.finished.times.writing);
        parser.take(|codes, sequence| {
            self.finished.results.letters += codes.len() as u64;
            if let Sequence::Ended(record) = &sequence {
                self.finished.results.skipped += record.skipped;
            }
            match self.windows {
                None => self.push(codes, sequence),
                Some(_) => self.push_windows(codes, sequence),
            }
        })?;
        self.take_finished()?;
        let times = &mut self.finished.times;
        times.computing += start.elapsed() - (times.writing - written);
        Ok(())
    }

    fn push(&mut self, codes: &[u8], sequence: Sequence) -> Result<()> {
        self.push_letters(codes)?;
        match sequence {
            Sequence::Open(_) => Ok(()),
            Sequence::Ended(record) => {
                let name = Name::new(record, self.sequences);
                self.sequences += 1;
                self.end_sequence(name)
            }
        }
    }

    fn push_windows(&mut self, codes: &[u8], sequence: Sequence) -> Result<()> {
        let Some(mut windows) = self.windows.take() else {
            return Ok(());
        };
        let name = &sequence.record().name;
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
        let mut visit = |start: u64, found: Found<T>| match found {
            Found::Window(window) => {
                self.push_letters(window)?;
                self.end_sequence(name_of(start))
            }
            Found::Sketches(sketches) => {
                // Those of the windows before come first.
                self.finish_session()?;
                // Of strides above the width, some letters are in no window.
                self.pushed += sketches.nrows() as u64 * stride.min(width);
                let names = (0..).map(|i| name_of(start + i * stride));
                timed(&mut self.finished.times.writing, || {
                    self.finished.results.add(names, sketches.view())
                })
            }
        };
        windows.add(name, codes, &mut visit)?;
        if let Sequence::Ended(record) = &sequence {
            windows.end_sequence(name, &mut visit)?;
            let results = &mut self.finished.results;
            results.end_windows(record.length, record.skipped, record.length >= width);
            self.sequences += 1;
        }
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

    fn end_sequence(&mut self, name: Name) -> Result<()> {
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

impl Name {
    fn new(record: Record, sequence: u64) -> Name {
        Name {
            name: record.name,
            length: record.length,
            skipped: Some(record.skipped),
            sequence,
        }
    }
}

/// The end of the way.
struct Finished<'a, T> {
    /// What is known of the sequences whose sketches have not come yet.
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

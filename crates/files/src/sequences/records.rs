//! From parsed chunks, in their order, to the pieces of records.

use std::io;

use super::error::Error;
use super::parsed::{Counts, Parsed};
use super::problem::{Problem, Refused};
use super::record::{Piece, Record};

/// Follows the records from chunk to chunk.
#[derive(Default)]
pub(super) struct Records {
    record: Record,
    /// Records that have begun.
    count: u64,
    /// Ends of lines before the next chunk.
    lines: u64,
    /// The number of skipped characters by their bytes.
    pub skipped: Skipped,
}

/// Why there is no further chunk.
pub(super) enum Stop {
    Text(Refused),
    Opening(anyhow::Error),
    /// The thread that reads is no more.
    Gone,
}

/// The number of times that each byte was skipped.
pub(super) struct Skipped(pub [u64; 256]);

impl Default for Skipped {
    fn default() -> Skipped {
        Skipped([0; 256])
    }
}

impl Records {
    /// Visits the pieces of a chunk. A problem comes as an error without a visit.
    pub(super) fn add<E: From<Error>>(
        &mut self,
        parsed: &mut Parsed,
        mut visit: impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(problem) = parsed.problem.take() {
            return Err(self.error(problem, parsed).into());
        }
        if let Some(skipped) = &parsed.skipped {
            for (sum, count) in self.skipped.0.iter_mut().zip(&**skipped) {
                *sum += count;
            }
        }
        self.lines += parsed.lines;
        let mut from = Counts::default();
        for (index, start) in parsed.starts.iter().enumerate() {
            self.visit(parsed, from, start.before, true, &mut visit)?;
            from = start.before;
            self.record.begin(self.count, parsed.header(index));
            self.count += 1;
        }
        self.visit(parsed, from, parsed.counts, false, &mut visit)?;
        match parsed.failed.take() {
            Some(error) => Err(self.failed(error).into()),
            None => Ok(()),
        }
    }

    /// Ends the text.
    pub(super) fn finish<E: From<Error>>(
        &mut self,
        mut visit: impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.count {
            0 => Err(Error::text(Problem::Empty, None, 1).into()),
            _ => visit(Piece {
                record: &self.record,
                letters: &[],
                is_last: true,
            }),
        }
    }

    /// Returns the error of a text that is not parsed further.
    pub(super) fn stopped(&self, stop: Stop) -> Error {
        match stop {
            Stop::Text(refused) => {
                let line = self.lines + refused.lines + 1;
                Error::text(refused.problem, self.current(), line)
            }
            Stop::Opening(error) => Error::opening(error),
            Stop::Gone => self.failed(io::Error::other("a thread that reads has stopped")),
        }
    }

    /// Returns an error of reading behind what has come.
    fn failed(&self, error: io::Error) -> Error {
        Error::reading(error, self.current())
    }

    fn visit<E>(
        &mut self,
        parsed: &Parsed,
        from: Counts,
        to: Counts,
        is_last: bool,
        visit: &mut impl FnMut(Piece) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.count == 0 {
            return Ok(());
        }
        let letters = &parsed.letters[from.letters..to.letters];
        self.record.length += letters.len() as u64;
        self.record.skipped += to.skipped - from.skipped;
        visit(Piece {
            record: &self.record,
            letters,
            is_last,
        })
    }

    fn current(&self) -> Option<&Record> {
        (self.count > 0).then_some(&self.record)
    }

    /// Returns the error of a chunk with a problem.
    #[cold]
    fn error(&mut self, mut problem: Problem, parsed: &mut Parsed) -> Error {
        let last = parsed.starts.len().checked_sub(1);
        let mut before = self.record.length;
        if let Some(last) = last {
            self.record
                .begin(self.count + last as u64, parsed.header(last));
            self.count += parsed.starts.len() as u64;
            before = 0;
        }
        if let Problem::NotALetter { place, .. } = &mut problem {
            let first = last.map_or(0, |last| parsed.starts[last].before.letters);
            *place = before + *place - first as u64;
        }
        match parsed.failed.take() {
            // The output of a decoder before it fails may be wrong.
            Some(error) => Error::reading(error, self.current()),
            None => Error::text(problem, self.current(), self.lines + parsed.lines + 1),
        }
    }
}

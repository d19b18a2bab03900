//! Sequences that come piece by piece, gathered into batches of bounded size, and what computes the batches.

use std::ops::Range;

use crate::Result;
use crate::device::{append, reserve};

/// What a batch may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Letters in a batch, and in a piece.
    pub segment: usize,
    /// Sequences that end in a batch.
    pub sequences: usize,
}

/// Letters that are worked on together: of one sequence, or of many.
///
/// A sequence of up to [`Limits::segment`] letters is one piece. A longer one is cut at the multiples
/// of that number, counted from its own first letter: each piece but the last is a batch of its own,
/// and the last is the first piece of its batch. So the pieces of a sequence depend on nothing but its
/// length.
#[derive(Debug, Default)]
pub struct Batch {
    /// The letters of all pieces, one after the other.
    pub codes: Vec<u8>,
    /// At least one.
    pub pieces: Vec<Piece>,
}

/// A sequence or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where its letters are in the batch. Without any it is an empty sequence.
    pub range: Range<usize>,
    /// Whether the piece before it, the only one of the batch before, belongs to the same sequence.
    pub continues: bool,
    /// Whether the sequence ends with it. If not it has [`Limits::segment`] letters.
    pub ends: bool,
    /// The letters of the sequence up to the end of this piece.
    pub length: u64,
}

impl Batch {
    /// Room for what `limits` allow, which costs no memory before it is written to.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
    pub fn with_capacity(limits: Limits) -> Result<Batch> {
        let mut batch = Batch::default();
        reserve(&mut batch.codes, limits.segment)?;
        Ok(batch)
    }

    pub fn clear(&mut self) {
        self.codes.clear();
        self.pieces.clear();
    }

    /// The letters of a piece of this batch.
    pub fn letters(&self, piece: &Piece) -> &[u8] {
        &self.codes[piece.range.clone()]
    }
}

/// A batch that is being filled.
#[derive(Debug)]
pub struct Filling {
    limits: Limits,
    batch: Batch,
    /// Where the letters of the sequence begin that has not ended.
    start: usize,
    /// How many of its letters were in batches before.
    before: u64,
}

impl Filling {
    pub fn new(limits: Limits, batch: Batch) -> Filling {
        Filling {
            limits,
            batch,
            start: 0,
            before: 0,
        }
    }

    /// The letters of the sequence that has not ended.
    pub fn open_length(&self) -> u64 {
        self.before + (self.batch.codes.len() - self.start) as u64
    }

    /// Adds letters to the sequence, and returns those for which there is no room.
    ///
    /// Nothing is cut before a letter more has come: no piece that continues a sequence is empty.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation); then nothing was added.
    pub fn add<'a>(&mut self, codes: &'a [u8]) -> Result<&'a [u8]> {
        let room = self.limits.segment - self.batch.codes.len();
        let (now, later) = codes.split_at(room.min(codes.len()));
        append(&mut self.batch.codes, now)?;
        Ok(later)
    }

    /// Ends the sequence, and returns whether the batch has to go before the next one ends.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation); then the sequence has not ended.
    pub fn end_sequence(&mut self) -> Result<bool> {
        self.end_piece(true)?;
        self.before = 0;
        Ok(self.batch.pieces.len() >= self.limits.sequences)
    }

    fn end_piece(&mut self, ends: bool) -> Result<()> {
        reserve(&mut self.batch.pieces, 1)?;
        self.batch.pieces.push(Piece {
            range: self.start..self.batch.codes.len(),
            continues: self.before > 0,
            ends,
            length: self.open_length(),
        });
        self.start = self.batch.codes.len();
        Ok(())
    }

    /// Whether a sequence has ended in this batch.
    pub fn has_pieces(&self) -> bool {
        !self.batch.pieces.is_empty()
    }

    /// Goes on with the batch `next`, which is empty, and returns the one so far. It has a sequence
    /// that ended, or no room.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
    pub fn replace(&mut self, mut next: Batch) -> Result<Batch> {
        if self.has_pieces() {
            // A sequence is cut only where it fills a batch by itself.
            append(&mut next.codes, &self.batch.codes[self.start..])?;
            self.batch.codes.truncate(self.start);
        } else {
            let length = self.open_length();
            self.end_piece(false)?;
            self.before = length;
        }
        self.start = 0;
        Ok(std::mem::replace(&mut self.batch, next))
    }
}

/// Computes batches, in the order in which they come.
///
/// Row t of each sequence that has ended is appended to the `rows` of that call or of a later one: D
/// numbers a sequence, in the order of the sequences, each normalised if the sketcher does that, and
/// infinite where it leaves the range of `T`. They depend on the sequence alone, not on the batches.
///
/// After an error an engine is only dropped. Dropping it, with work under way or not, waits for what
/// uses its memory.
pub trait Engine<T>: Send {
    /// Begins with a batch, and may return before it is done with it; the batch itself is free to be
    /// filled anew then. If its last piece does not end its sequence, what has been computed of that is
    /// kept for the next batch.
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<T>) -> Result<()>;

    /// Waits for what is under way: afterwards the rows of all sequences that have ended are there.
    fn drain(&mut self, rows: &mut Vec<T>) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        segment: 10,
        sequences: 3,
    };

    /// The batches of sequences with these lengths, with `step` letters added at a time: the pieces'
    /// letters, whether they continue and end, and the lengths so far.
    fn batches(lengths: &[usize], step: usize) -> Vec<Vec<(usize, bool, bool, u64)>> {
        let mut batches = Vec::new();
        let mut filling = Filling::new(LIMITS, Batch::default());
        let mut flush = |filling: &mut Filling| {
            let batch = filling.replace(Batch::default()).unwrap();
            assert!(batch.codes.len() <= LIMITS.segment && batch.pieces.len() <= LIMITS.sequences);
            let mut end = 0;
            for piece in &batch.pieces {
                assert_eq!(piece.range.start, end);
                end = piece.range.end;
            }
            assert_eq!(batch.codes.len(), end);
            let pieces = batch.pieces.iter();
            batches.push(
                pieces
                    .map(|p| (p.range.len(), p.continues, p.ends, p.length))
                    .collect(),
            );
        };
        for &length in lengths {
            for piece in vec![0; length].chunks(step) {
                let mut left = filling.add(piece).unwrap();
                while !left.is_empty() {
                    flush(&mut filling);
                    left = filling.add(left).unwrap();
                }
            }
            if filling.end_sequence().unwrap() {
                flush(&mut filling);
            }
        }
        assert_eq!(filling.open_length(), 0);
        if filling.has_pieces() {
            flush(&mut filling);
        }
        batches
    }

    #[test]
    fn cuts_depend_on_the_sequences_alone() {
        for step in [1, 2, 3, 7, 10, 11, 100] {
            assert_eq!(
                batches(&[10, 11, 0, 20, 9], step),
                [
                    vec![(10, false, true, 10)],
                    vec![(10, false, false, 10)],
                    vec![(1, true, true, 11), (0, false, true, 0)],
                    vec![(10, false, false, 10)],
                    vec![(10, true, true, 20)],
                    vec![(9, false, true, 9)],
                ],
                "{step} at a time"
            );
            assert_eq!(
                batches(&[0, 0, 31, 3, 3], step),
                [
                    vec![(0, false, true, 0), (0, false, true, 0)],
                    vec![(10, false, false, 10)],
                    vec![(10, true, false, 20)],
                    vec![(10, true, false, 30)],
                    vec![
                        (1, true, true, 31),
                        (3, false, true, 3),
                        (3, false, true, 3)
                    ],
                ],
                "{step} at a time"
            );
        }
    }
}

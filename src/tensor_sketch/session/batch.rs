//! Batches of letters, which sessions fill and engines compute.

use std::ops::Range;

use crate::Result;
use crate::device::{append, reserve};

/// The most that a batch may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Letters in a batch, and in a piece of a sequence.
    pub segment: usize,
    /// Sequences that end in a batch.
    pub sequences: usize,
}

/// Letters of one or more sequences that are computed together.
///
/// A sequence of up to [`Limits::segment`] letters is one piece. A longer sequence is cut at the
/// multiples of that number, counted from its first letter: each piece except the last has a batch
/// to itself, and the last piece is the first of its batch. So the pieces of a sequence depend only
/// on its length.
#[derive(Debug, Default)]
pub struct Batch {
    /// The concatenated letters of all pieces.
    pub codes: Vec<u8>,
    /// At least one.
    pub pieces: Vec<Piece>,
}

/// A sequence, or a segment of a long sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The place of the letters in the batch: empty for an empty sequence.
    pub range: Range<usize>,
    /// Whether the piece before, the only one of its batch, belongs to the same sequence.
    pub continues: bool,
    /// Whether the sequence ends with this piece. Else it has [`Limits::segment`] letters.
    pub ends: bool,
    /// The letters of the sequence up to the end of this piece.
    pub length: u64,
}

impl Batch {
    pub fn clear(&mut self) {
        self.codes.clear();
        self.pieces.clear();
    }

    /// Returns the letters of a piece of this batch.
    pub fn letters(&self, piece: &Piece) -> &[u8] {
        &self.codes[piece.range.clone()]
    }
}

/// A batch that is being filled.
#[derive(Debug)]
pub struct Filling {
    limits: Limits,
    batch: Batch,
    /// Where the letters of the current sequence begin.
    start: usize,
    /// Letters of the current sequence in earlier batches.
    before: u64,
}

impl Filling {
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
    pub fn new(limits: Limits) -> Result<Filling> {
        let mut filling = Filling {
            limits,
            batch: Batch::default(),
            start: 0,
            before: 0,
        };
        // Untouched pages cost no memory.
        reserve(&mut filling.batch.codes, limits.segment)?;
        Ok(filling)
    }

    /// Returns the number of letters of the current sequence.
    pub fn open_length(&self) -> u64 {
        self.before + (self.batch.codes.len() - self.start) as u64
    }

    /// Adds letters to the current sequence, and returns those that do not fit in the batch.
    ///
    /// A sequence is cut only before another letter: no piece that continues a sequence is empty.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation); then nothing was added.
    pub fn add<'a>(&mut self, codes: &'a [u8]) -> Result<&'a [u8]> {
        let room = self.limits.segment - self.batch.codes.len();
        let (now, later) = codes.split_at(room.min(codes.len()));
        append(&mut self.batch.codes, now)?;
        Ok(later)
    }

    /// Ends the current sequence, and returns whether the batch is full.
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

    /// Returns whether a sequence has ended in this batch.
    pub fn has_pieces(&self) -> bool {
        !self.batch.pieces.is_empty()
    }

    /// Replaces a batch in which a sequence has ended, or that is full, by the empty batch `next`.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
    pub fn replace(&mut self, mut next: Batch) -> Result<Batch> {
        reserve(&mut next.codes, self.limits.segment)?;
        if self.has_pieces() {
            // A sequence is cut only if it fills a batch by itself.
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

/// Computes batches in order.
///
/// Appends row t of each sequence that has ended to the `rows` of the same call or of a later call:
/// D numbers a sequence, in the order of the sequences, normalised if the sketcher normalises, and
/// infinite beyond the range of `T`. A row depends only on its sequence, not on the batches.
///
/// After an error an engine is only dropped, which waits for the work that uses its memory.
pub trait Engine<T>: Send {
    /// Copies a batch's letters, and begins with the batch, but need not compute its rows. If the
    /// last piece does not end its sequence, the next batch continues the sequence.
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<T>) -> Result<()>;

    /// Waits for all work, and appends the rows of all sequences that have ended.
    fn drain(&mut self, rows: &mut Vec<T>) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        segment: 10,
        sequences: 3,
    };

    /// Returns the batches of sequences of the given lengths, with `step` letters added at a time:
    /// the letters of each piece, whether it continues and ends a sequence, and its `length`.
    fn batches(lengths: &[usize], step: usize) -> Vec<Vec<(usize, bool, bool, u64)>> {
        let mut batches = Vec::new();
        let mut filling = Filling::new(LIMITS).unwrap();
        let mut flush = |filling: &mut Filling| {
            let batch = filling.replace(Batch::default()).unwrap();
            assert!(batch.codes.len() <= LIMITS.segment && batch.pieces.len() <= LIMITS.sequences);
            let mut end = 0;
            for piece in &batch.pieces {
                assert_eq!(piece.range.start, end);
                end = piece.range.end;
            }
            assert_eq!(batch.codes.len(), end);
            let shape = |piece: &Piece| {
                let letters = piece.range.len();
                (letters, piece.continues, piece.ends, piece.length)
            };
            batches.push(batch.pieces.iter().map(shape).collect());
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
            let short = (3, false, true, 3);
            assert_eq!(
                batches(&[0, 0, 31, 3, 3], step),
                [
                    vec![(0, false, true, 0), (0, false, true, 0)],
                    vec![(10, false, false, 10)],
                    vec![(10, true, false, 20)],
                    vec![(10, true, false, 30)],
                    vec![(1, true, true, 31), short, short],
                ],
                "{step} at a time"
            );
        }
    }
}

//! Batches of letters, which sessions fill and engines compute.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{append, reserve};

/// The most that a batch may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Letters in a batch, and in a segment of a sequence.
    pub segment: usize,
    /// Sequences that end in a batch.
    pub sequences: usize,
}

/// Letters of one or more sequences that are computed together.
///
/// A sequence of up to [`Limits::segment`] letters is one segment. A longer sequence is cut at the
/// multiples of that number, counted from its first letter: each segment except the last has a
/// batch to itself, and the last segment is the first of its batch. So the segments of a sequence
/// depend only on its length.
#[derive(Debug, Default)]
pub struct Batch {
    /// The concatenated letters of all segments.
    pub codes: Vec<u8>,
    /// At least one.
    pub segments: Vec<Segment>,
}

/// A sequence, or a segment of a long sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The place of the letters in the batch: empty for an empty sequence.
    pub range: Range<usize>,
    /// Whether the segment before, the only one of its batch, belongs to the same sequence.
    pub continues: bool,
    /// Whether the sequence ends with this segment. Else it has [`Limits::segment`] letters.
    pub ends: bool,
    /// The letters of the sequence up to the end of this segment.
    pub length: u64,
}

impl Batch {
    pub fn clear(&mut self) {
        self.codes.clear();
        self.segments.clear();
    }

    pub fn letters(&self, segment: &Segment) -> &[u8] {
        &self.codes[segment.range.clone()]
    }
}

/// A batch that is being filled.
#[derive(Debug)]
pub struct Filling {
    limits: Limits,
    batch: Batch,
    /// Start of the letters of the current sequence.
    start: usize,
    /// Letters of the current sequence in earlier batches.
    before: u64,
}

impl Filling {
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
    /// A sequence is cut only before another letter: no segment that continues a sequence is empty.
    /// After an error nothing was added.
    pub fn add<'a>(&mut self, codes: &'a [u8]) -> Result<&'a [u8]> {
        let room = self.limits.segment - self.batch.codes.len();
        let (now, later) = codes.split_at(room.min(codes.len()));
        append(&mut self.batch.codes, now)?;
        Ok(later)
    }

    /// Ends the current sequence, and returns whether the batch is full. After an error the
    /// sequence has not ended.
    pub fn end_sequence(&mut self) -> Result<bool> {
        self.end_segment(true)?;
        self.before = 0;
        Ok(self.batch.segments.len() >= self.limits.sequences)
    }

    fn end_segment(&mut self, ends: bool) -> Result<()> {
        reserve(&mut self.batch.segments, 1)?;
        self.batch.segments.push(Segment {
            range: self.start..self.batch.codes.len(),
            continues: self.before > 0,
            ends,
            length: self.open_length(),
        });
        self.start = self.batch.codes.len();
        Ok(())
    }

    /// Returns whether a sequence has ended in this batch.
    pub fn has_segments(&self) -> bool {
        !self.batch.segments.is_empty()
    }

    /// Replaces a batch in which a sequence has ended, or that is full, by the empty batch `next`.
    pub fn replace(&mut self, mut next: Batch) -> Result<Batch> {
        reserve(&mut next.codes, self.limits.segment)?;
        if self.has_segments() {
            // A sequence is cut only if it fills a batch by itself.
            append(&mut next.codes, &self.batch.codes[self.start..])?;
            self.batch.codes.truncate(self.start);
        } else {
            let length = self.open_length();
            self.end_segment(false)?;
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
    /// last segment does not end its sequence, the next batch continues the sequence.
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
    /// the letters of each segment, whether it continues and ends a sequence, and its `length`.
    fn batches(lengths: &[usize], step: usize) -> Vec<Vec<(usize, bool, bool, u64)>> {
        let mut batches = Vec::new();
        let mut filling = Filling::new(LIMITS).unwrap();
        let mut flush = |filling: &mut Filling| {
            let batch = filling.replace(Batch::default()).unwrap();
            assert!(
                batch.codes.len() <= LIMITS.segment && batch.segments.len() <= LIMITS.sequences
            );
            let mut end = 0;
            for segment in &batch.segments {
                assert_eq!(segment.range.start, end);
                end = segment.range.end;
            }
            assert_eq!(batch.codes.len(), end);
            let shape = |segment: &Segment| {
                let letters = segment.range.len();
                (letters, segment.continues, segment.ends, segment.length)
            };
            batches.push(batch.segments.iter().map(shape).collect());
        };
        for &length in lengths {
            for letters in vec![0; length].chunks(step) {
                let mut left = filling.add(letters).unwrap();
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
        if filling.has_segments() {
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

//! Batches of sequences: their chunks, and the levels of the trees by which the chunks are
//! composed. All of it depends on the sequences' lengths alone.

use std::iter::{Enumerate, Peekable};

use gridstride_runtime::device::{Buffer, Uploads, collected, reserve, zeroed};
use gridstride_runtime::{Device, Result, parallel};
use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::words::{Chunk, UNIT};

use crate::fourier::{CHUNK, FAN_IN, SEGMENT};

/// The most that a batch may hold.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    pub letters: u64,
    /// Chunks, or sequences without letters.
    pub chunks: u64,
}

impl Capacity {
    /// Large enough to fill any GPU, and small enough for its memory.
    pub const LARGEST: Capacity = Capacity {
        letters: 16 * SEGMENT as u64,
        chunks: 1 << 17,
    };

    pub fn min(self, other: Capacity) -> Capacity {
        Capacity {
            letters: self.letters.min(other.letters),
            chunks: self.chunks.min(other.chunks),
        }
    }

    fn doubled(self) -> Capacity {
        Capacity {
            letters: self.letters.saturating_mul(2),
            chunks: self.chunks.saturating_mul(2),
        }
    }

    /// Returns what a segment leaves. A capacity of no chunks still takes one empty sequence.
    fn without(self, segment: &Segment) -> Capacity {
        Capacity {
            letters: self.letters - segment.letters,
            chunks: self.chunks.saturating_sub(segment.chunks()),
        }
    }
}

/// The most levels of products before the matrices are those of [`SEGMENT`] letters.
pub const MOST_LEVELS: u32 = 3;

const _: () = assert!(SEGMENT == CHUNK * FAN_IN.pow(MOST_LEVELS));

/// Sequences, or one segment of a long sequence, that are computed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub segments: Vec<Segment>,
    /// The number of the first sequence.
    pub first: usize,
    /// Whether the sequences end in this batch; if not, the batch has one segment.
    pub complete: bool,
}

impl Batch {
    /// Returns the batch's letters, and makes the batch count from the first of them.
    pub fn take_letters<'a>(&mut self, all: &'a [u8]) -> &'a [u8] {
        let first = |segment: &Segment| segment.first_letter;
        let origin = self.segments.first().map_or(0, first);
        let end = self.segments.last().map_or(0, Segment::end);
        for segment in &mut self.segments {
            segment.first_letter -= origin;
        }
        &all[origin as usize..end as usize]
    }
}

/// A sequence, or a segment of a long sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub first_letter: u64,
    pub letters: u64,
    /// The letters of the sequence. If the sequence ends in a later batch of a session, the letters
    /// up to the end of this segment.
    pub length: u64,
    /// Whether letters of the sequence come before this segment.
    pub continues: bool,
    /// Whether the sequence ends with this segment.
    pub ends: bool,
    /// Levels of products of [`FAN_IN`] matrices each before the last product, which makes the
    /// sequence's first row. A sequence may be cut only between the matrices of the last product.
    pub level: u32,
}

impl Segment {
    pub fn whole(first_letter: u64, letters: u64) -> Segment {
        Segment {
            first_letter,
            letters,
            length: letters,
            continues: false,
            ends: true,
            level: Segment::level(letters),
        }
    }

    /// Returns the number of levels that leave at most [`FAN_IN`] matrices, or [`MOST_LEVELS`].
    pub fn level(letters: u64) -> u32 {
        let is_enough = |&level: &u32| letters <= Segment::step(level) * FAN_IN as u64;
        (0..MOST_LEVELS).find(is_enough).unwrap_or(MOST_LEVELS)
    }

    /// Returns the letters of a matrix of a level.
    fn step(level: u32) -> u64 {
        (CHUNK * FAN_IN.pow(level)) as u64
    }

    fn end(&self) -> u64 {
        self.first_letter + self.letters
    }

    /// Returns the chunks that the segment counts in a batch: an empty sequence counts as one.
    pub fn chunks(&self) -> u64 {
        self.letters.div_ceil(CHUNK as u64).max(1)
    }

    /// Returns the number of matrices of chunks.
    fn matrices(&self) -> u32 {
        self.letters.div_ceil(CHUNK as u64) as u32
    }

    /// Whether the segment has a batch to itself.
    fn is_alone(&self, capacity: Capacity) -> bool {
        self.continues
            || !self.ends
            || self.letters > capacity.letters
            || self.letters > 0 && self.chunks() > capacity.chunks
    }

    /// Cuts off what follows the letters that fit, as far as the segment can be cut.
    fn cut(&mut self, capacity: Capacity) -> Option<Segment> {
        let step = Segment::step(self.level);
        let most = (capacity.letters).min(capacity.chunks.saturating_mul(CHUNK as u64));
        let most = (most / step * step).max(step);
        let rest = (self.letters > most).then(|| Segment {
            first_letter: self.first_letter + most,
            letters: self.letters - most,
            continues: true,
            ..*self
        })?;
        (self.letters, self.ends) = (most, false);
        Some(rest)
    }
}

/// Gathers segments, in the order of their letters, into batches. A segment of a sequence that is
/// cut has a batch to itself.
pub struct Batches<I: Iterator<Item = Segment>> {
    segments: Peekable<Enumerate<I>>,
    /// The rest of a sequence that is cut, and the number of the sequence.
    rest: Option<(usize, Segment)>,
    /// The capacity of the next batch.
    capacity: Capacity,
    most: Capacity,
}

impl<I: Iterator<Item = Segment>> Batches<I> {
    pub fn new(segments: impl IntoIterator<IntoIter = I>, capacity: Capacity) -> Self {
        Batches::growing(segments, capacity, capacity)
    }

    /// Gathers the first batch with the capacity `first`, and each later batch with twice the
    /// capacity of the batch before, up to `most`.
    pub fn growing(
        segments: impl IntoIterator<IntoIter = I>,
        first: Capacity,
        most: Capacity,
    ) -> Self {
        Batches {
            segments: segments.into_iter().enumerate().peekable(),
            rest: None,
            capacity: first.min(most),
            most,
        }
    }

    fn fill(&mut self, batch: &mut Batch, capacity: Capacity, mut left: Capacity) -> Result<()> {
        let fits = |segment: &Segment, left: Capacity| {
            !segment.is_alone(capacity)
                && segment.letters <= left.letters
                && segment.chunks() <= left.chunks
        };
        while let Some((_, segment)) = (self.segments).next_if(|(_, next)| fits(next, left)) {
            reserve(&mut batch.segments, 1)?;
            batch.segments.push(segment);
            left = left.without(&segment);
        }
        Ok(())
    }
}

impl<I: Iterator<Item = Segment>> Iterator for Batches<I> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        let (first, mut segment) = self.rest.take().or_else(|| self.segments.next())?;
        let capacity = self.capacity;
        self.capacity = capacity.doubled().min(self.most);
        let is_alone = segment.is_alone(capacity);
        if is_alone {
            self.rest = segment.cut(capacity).map(|rest| (first, rest));
        }
        let mut batch = Batch {
            segments: vec![segment],
            first,
            complete: segment.ends,
        };
        if !is_alone {
            let left = capacity.without(&segment);
            if let Err(error) = self.fill(&mut batch, capacity, left) {
                return Some(Err(error));
            }
        }
        Some(Ok(batch))
    }
}

/// The sequences and letters of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub first: usize,
    pub sequences: u32,
    pub complete: bool,
    pub continues: bool,
    /// Start of the letters.
    pub origin: u64,
    /// Letters from the origin to the end of the last chunk.
    letters: u64,
}

/// A batch on a device.
#[derive(Debug)]
pub struct Layout {
    pub extent: Extent,
    pub chunks: Buffer<Chunk>,
    /// The chunks' numbers, the longest first: a warp computes chunks of equal length, and no long
    /// chunk is left for the end.
    pub order: Buffer<u32>,
    /// The products of the matrices of chunks, then the products of those, and so on.
    pub levels: Vec<Level>,
}

/// The products of the matrices of a level.
#[derive(Debug)]
pub struct Level {
    /// The products whose first rows are those of whole sequences.
    pub rows: Buffer<Run>,
    /// The products that are the next level's matrices.
    pub matrices: Buffer<Run>,
}

/// A [`Level`] on the host: `rows` and `matrices`.
type HostLevel = (Vec<Run>, Vec<Run>);

/// A [`Layout`] on the host.
pub struct HostLayout {
    extent: Extent,
    chunks: Vec<Chunk>,
    order: Vec<u32>,
    levels: Vec<HostLevel>,
}

impl HostLayout {
    /// Lays out a batch whose sequences' first rows are computed.
    pub fn of_rows(batch: &Batch) -> Result<HostLayout> {
        HostLayout::with_levels(batch, || levels(&batch.segments))
    }

    /// Lays out a batch of segments with one matrix each.
    pub fn of_matrices(segments: Vec<Segment>) -> Result<HostLayout> {
        let batch = Batch {
            segments,
            first: 0,
            complete: true,
        };
        HostLayout::with_levels(&batch, || reductions(&batch.segments))
    }

    /// Laying out many short sequences takes as long as packing their letters, so two threads share
    /// the work.
    fn with_levels(
        batch: &Batch,
        levels: impl FnOnce() -> Result<Vec<HostLevel>> + Send,
    ) -> Result<HostLayout> {
        let (levels, ordered) = parallel::beside(levels, || {
            let chunks = chunks(&batch.segments)?;
            Ok((longest_first(&chunks)?, chunks))
        });
        let (order, chunks) = ordered?;
        let first = batch.segments.first();
        let origin = first.map_or(0, |segment| segment.first_letter);
        let extent = Extent {
            first: batch.first,
            sequences: batch.segments.len() as u32,
            complete: batch.complete,
            continues: first.is_some_and(|segment| segment.continues),
            origin,
            letters: batch.segments.last().map_or(0, Segment::end) - origin,
        };
        Ok(HostLayout {
            extent,
            order,
            chunks,
            levels: levels?,
        })
    }

    pub fn upload(&self, uploads: &Uploads) -> Result<Layout> {
        let level = |(rows, matrices): &HostLevel| {
            Ok(Level {
                rows: uploads.buffer_from(rows)?,
                matrices: uploads.buffer_from(matrices)?,
            })
        };
        Ok(Layout {
            extent: self.extent,
            chunks: uploads.buffer_from(&self.chunks)?,
            order: uploads.buffer_from(&self.order)?,
            levels: self.levels.iter().map(level).collect::<Result<_>>()?,
        })
    }
}

impl Layout {
    /// Uploads the batches of sequences that begin and end at `offsets`.
    pub fn of_sequences(device: &Device, offsets: &[u64]) -> Result<Vec<Layout>> {
        let segments = offsets.windows(2);
        let segments = segments.map(|ends| Segment::whole(ends[0], ends[1] - ends[0]));
        Layout::of_batches(&device.uploads(), segments, Capacity::LARGEST)
    }

    /// Uploads the batches of segments.
    pub fn of_batches(
        uploads: &Uploads,
        segments: impl Iterator<Item = Segment>,
        capacity: Capacity,
    ) -> Result<Vec<Layout>> {
        let batches = Batches::new(segments, capacity);
        let layouts = batches.map(|batch| HostLayout::of_rows(&batch?)?.upload(uploads));
        layouts.collect()
    }

    /// Returns the number of units that the words of all chunks take.
    pub fn units(&self, word_letters: u32) -> usize {
        let chunks = self.chunks.len() as u64;
        (Chunk::first_unit(self.extent.letters, chunks, word_letters) + u64::from(UNIT)) as usize
    }
}

/// Returns the chunks of all segments, in order.
fn chunks(segments: &[Segment]) -> Result<Vec<Chunk>> {
    let of_segment = |segment: &Segment| {
        let (first, letters) = (segment.first_letter, segment.letters);
        (0..letters).step_by(CHUNK).map(move |begin| Chunk {
            first_letter: first + begin,
            letters: (letters - begin).min(CHUNK as u64) as u32,
            reserved: 0,
        })
    };
    let counts = segments.iter().map(|segment| segment.matrices() as usize);
    let mut chunks = Vec::new();
    reserve(&mut chunks, counts.sum())?;
    chunks.extend(segments.iter().flat_map(of_segment));
    Ok(chunks)
}

/// Returns the numbers of all chunks by length, by a counting sort.
fn longest_first(chunks: &[Chunk]) -> Result<Vec<u32>> {
    let mut next = [0; CHUNK + 1];
    for chunk in chunks {
        next[chunk.letters as usize] += 1;
    }
    let mut longer = 0;
    for place in next.iter_mut().rev() {
        longer += std::mem::replace(place, longer);
    }
    let mut order = zeroed(chunks.len())?;
    for (number, chunk) in (0..).zip(chunks) {
        let place = &mut next[chunk.letters as usize];
        order[*place] = number;
        *place += 1;
    }
    Ok(order)
}

/// Returns the levels that end with the first row of each segment.
fn levels(segments: &[Segment]) -> Result<Vec<HostLevel>> {
    let mut next = 0;
    let mut spans = collected(segments.iter().enumerate().map(|(result, segment)| {
        let (first, count) = (next, segment.matrices());
        next += count;
        (first, count, result as u32)
    }))?;
    let mut levels = vec![];
    while !spans.is_empty() {
        let (mut rows, mut matrices, mut above) = (vec![], vec![], vec![]);
        // Untouched pages cost no memory.
        reserve(&mut rows, spans.len())?;
        for (first, count, result) in spans {
            let segment = segments[result as usize];
            // All segments of a sequence have one level: its sketch does not depend on batches.
            if levels.len() == segment.level as usize {
                rows.push(Run {
                    first,
                    count,
                    result,
                    append: segment.continues.into(),
                });
                continue;
            }
            let place = matrices.len() as u32;
            reduce(first, count, &mut matrices)?;
            reserve(&mut above, 1)?;
            above.push((place, matrices.len() as u32 - place, result));
        }
        levels.push((rows, matrices));
        spans = above;
    }
    Ok(levels)
}

/// Composes [`FAN_IN`] neighbours at a time.
fn reduce(first: u32, count: u32, matrices: &mut Vec<Run>) -> Result<()> {
    reserve(matrices, count.div_ceil(FAN_IN as u32) as usize)?;
    for begin in (0..count).step_by(FAN_IN) {
        matrices.push(Run {
            first: first + begin,
            count: (count - begin).min(FAN_IN as u32),
            result: matrices.len() as u32,
            append: 0,
        });
    }
    Ok(())
}

/// Returns the levels that end with one matrix for each segment. No segment is empty.
fn reductions(segments: &[Segment]) -> Result<Vec<HostLevel>> {
    let mut counts = collected(segments.iter().map(Segment::matrices))?;
    let mut levels = vec![];
    while counts.iter().any(|&count| count > 1) {
        let mut matrices = vec![];
        let mut first = 0;
        for count in &mut counts {
            reduce(first, *count, &mut matrices)?;
            first += *count;
            *count = count.div_ceil(FAN_IN as u32);
        }
        levels.push((vec![], matrices));
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(letters: u64) -> Segment {
        Segment::whole(0, letters)
    }

    fn collected(segments: impl IntoIterator<Item = Segment>, capacity: Capacity) -> Vec<Batch> {
        let batches = Batches::new(segments, capacity);
        batches.map(Result::unwrap).collect()
    }

    #[test]
    fn batches_hold_all_letters_once() {
        let most = Capacity::LARGEST.letters;
        let lengths = [0, 5, most - 5, 1, 3 * most + 7, 0, most, 2];
        let mut offsets = vec![0];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let segments = offsets.iter().zip(lengths);
        let segments = segments.map(|(&offset, length)| Segment::whole(offset, length));
        let batches = collected(segments.clone(), Capacity::LARGEST);
        assert!(batches.len() < 9);
        let [first, later] = [1, 3].map(|count| Capacity {
            letters: count * SEGMENT as u64,
            ..Capacity::LARGEST
        });
        let growing = Batches::growing(segments, first, later);
        let growing: Vec<_> = growing.map(Result::unwrap).collect();
        for batches in [batches, growing] {
            let (mut at, mut sequence) = (0, 0);
            for batch in &batches {
                assert_eq!(batch.first, sequence);
                for segment in &batch.segments {
                    assert_eq!(segment.first_letter, at);
                    assert_eq!(segment.level, Segment::level(lengths[sequence]));
                    at += segment.letters;
                    if segment.continues {
                        let place = segment.first_letter - offsets[sequence];
                        assert_eq!(place % SEGMENT as u64, 0);
                    }
                    sequence += usize::from(batch.complete);
                }
            }
            assert_eq!((at, sequence), (offsets[lengths.len()], lengths.len()));
        }
        assert!(collected([], Capacity::LARGEST).is_empty());
        let most = Capacity::LARGEST.chunks;
        let many = |capacity| {
            let batches = collected((0..=most).map(|_| segment(0)), capacity);
            batches.len() as u64
        };
        assert_eq!(many(Capacity::LARGEST), 2);
        let none = Capacity {
            letters: 0,
            chunks: 0,
        };
        assert_eq!(many(none), most + 1);
    }

    #[test]
    fn batches_grow_up_to_the_most() {
        let [one, most] = [1, 3].map(|count| Capacity {
            letters: count * SEGMENT as u64,
            chunks: count * 2,
        });
        let found = |segments: Vec<Segment>| -> Vec<usize> {
            let batches = Batches::growing(segments, one, most);
            batches.map(|batch| batch.unwrap().segments.len()).collect()
        };
        // Up to 2, 4, 6 and 6 segments.
        assert_eq!(found(vec![segment(5); 16]), [2, 4, 6, 4]);
        assert_eq!(found(vec![segment(0); 7]), [2, 4, 1]);
        let limits = |first, most| {
            let batch = Batches::growing([segment(5); 3], first, most).next();
            batch.unwrap().unwrap().segments.len()
        };
        assert_eq!((limits(one, most), limits(most, one)), (2, 2));
    }

    #[test]
    fn segments_are_cut_between_matrices_of_the_last_product() {
        let chunk = CHUNK as u64;
        let counts = [1, 16, 17, 256, 257, 4096, 4097];
        for (chunks, level) in counts.into_iter().zip([0, 0, 1, 1, 2, 2, 3]) {
            let whole = segment(chunks * chunk);
            assert_eq!(whole.level, level);
            for most in [0, 1, 5, 40, 700] {
                let capacity = Capacity {
                    letters: u64::MAX,
                    chunks: most,
                };
                let mut segments = vec![whole];
                while let Some(rest) = segments.last_mut().unwrap().cut(capacity) {
                    segments.push(rest);
                }
                let letters: u64 = segments.iter().map(|segment| segment.letters).sum();
                assert_eq!(letters, whole.letters);
                let step = Segment::step(level);
                for (i, segment) in segments.iter().enumerate() {
                    assert_eq!(segment.first_letter % step, 0);
                    assert!(segment.letters <= step.max(most * chunk));
                    let expected = (i > 0, i + 1 == segments.len());
                    assert_eq!((segment.continues, segment.ends), expected);
                }
            }
        }
    }

    #[test]
    fn levels_compose_all_chunks_in_order() {
        let chunk = CHUNK as u64;
        let (few, most) = (16 * chunk, SEGMENT as u64);
        let lengths = [0, 1, few, few + 1, 300 * chunk, most, most + 1];
        let levels = levels(&lengths.map(segment)).unwrap();
        assert_eq!(levels.len(), 4);
        // The chunks of each matrix.
        let total: u64 = lengths.iter().map(|n| n.div_ceil(chunk)).sum();
        let mut spans: Vec<(u64, u64)> = (0..total).map(|i| (i, i + 1)).collect();
        let mut found = [None; 7];
        for (rows, matrices) in &levels {
            let joined = |run: &Run| {
                let spans = &spans[run.first as usize..][..run.count as usize];
                assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0));
                let first = spans.first();
                first.map_or((0, 0), |first| (first.0, spans[spans.len() - 1].1))
            };
            for run in rows {
                assert_eq!(found[run.result as usize].replace(joined(run)), None);
            }
            for (run, number) in matrices.iter().zip(0..) {
                assert!(run.result == number && run.count <= 16);
            }
            spans = matrices.iter().map(joined).collect();
        }
        let mut at = 0;
        for (length, found) in lengths.iter().zip(found) {
            let (first, end) = found.expect("every sequence has a row");
            assert_eq!(end - first, length.div_ceil(chunk));
            assert!(*length == 0 || first == at);
            at += length.div_ceil(chunk);
        }
    }

    #[test]
    fn the_longest_chunks_come_first() {
        let chunk = CHUNK as u64;
        let chunks = chunks(&[5, 2 * chunk + 7, 5, chunk].map(segment)).unwrap();
        assert_eq!(longest_first(&chunks).unwrap(), [1, 2, 5, 3, 0, 4]);
    }

    #[test]
    fn reductions_end_with_a_matrix_for_each_segment() {
        let chunk = CHUNK as u64;
        let segments = [1, 300 * chunk + 1, chunk, 17 * chunk].map(segment);
        let levels = reductions(&segments).unwrap();
        let counts: Vec<usize> = levels.iter().map(|(_, matrices)| matrices.len()).collect();
        // 1, 301, 1 and 17 chunks.
        assert_eq!(counts, [1 + 19 + 1 + 2, 1 + 2 + 1 + 1, 4]);
        assert!(reductions(&[1, chunk].map(segment)).unwrap().is_empty());
    }
}

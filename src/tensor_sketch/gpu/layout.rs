//! What has to be computed and composed for a set of sequences: chunks, and the levels of their
//! trees. It depends on their lengths alone.

use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::words::{Chunk, UNIT};

use crate::device::{Buffer, collected, reserve, zeroed};
use crate::tensor_sketch::fourier::{CHUNK, FAN_IN, SEGMENT};
use crate::{Device, Result};

/// What a batch may hold.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub letters: u64,
    /// Chunks, or sequences without letters.
    pub chunks: u64,
}

impl Room {
    /// Enough to fill any GPU, and little enough for its memory.
    pub const LARGEST: Room = Room {
        letters: 16 * SEGMENT as u64,
        chunks: 1 << 17,
    };
}

/// Levels of products at most, before the matrices are those of segments.
pub const MOST_LEVELS: u32 = 3;

const _: () = assert!(SEGMENT == CHUNK * FAN_IN.pow(MOST_LEVELS));

/// Sequences, or a part of a long one, that are worked on together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub parts: Vec<Part>,
    /// The number of the first sequence.
    pub first: usize,
    /// Whether the sequences end in this batch; else it has one alone.
    pub complete: bool,
}

impl Batch {
    /// The letters of the batch, of those of all batches; afterwards it counts from the first of them.
    pub fn take_letters<'a>(&mut self, all: &'a [u8]) -> &'a [u8] {
        let origin = self.parts.first().map_or(0, |part| part.first_letter);
        let end = self
            .parts
            .last()
            .map_or(0, |part| part.first_letter + part.letters);
        for part in &mut self.parts {
            part.first_letter -= origin;
        }
        &all[origin as usize..end as usize]
    }
}

/// A sequence, or a piece of a long one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where its letters begin.
    pub first_letter: u64,
    pub letters: u64,
    /// Whether there are letters of the sequence before these.
    pub continued: bool,
    /// Whether the sequence ends with these.
    pub ends: bool,
    /// Levels of products of [`FAN_IN`] matrices each: those of the sequence's first row are its last level's. It may be
    /// cut between these alone.
    pub level: u32,
}

impl Part {
    /// A whole sequence.
    pub fn whole(first_letter: u64, letters: u64) -> Part {
        Part {
            first_letter,
            letters,
            continued: false,
            ends: true,
            level: Part::level(letters),
        }
    }

    /// As many levels as leave [`FAN_IN`] matrices, or those of segments.
    pub fn level(letters: u64) -> u32 {
        let is_enough = |&level: &u32| letters <= Part::step(level) * FAN_IN as u64;
        (0..MOST_LEVELS).find(is_enough).unwrap_or(MOST_LEVELS)
    }

    /// The letters of a matrix of a level.
    fn step(level: u32) -> u64 {
        (CHUNK * FAN_IN.pow(level)) as u64
    }

    /// An empty sequence takes place too.
    pub fn chunks(&self) -> u64 {
        self.letters.div_ceil(CHUNK as u64).max(1)
    }

    /// In pieces with room each, as far as they can be cut.
    fn pieces(self, room: Room) -> impl Iterator<Item = Part> {
        let step = Part::step(self.level);
        let most = room.letters.min(room.chunks.saturating_mul(CHUNK as u64));
        let most = (most / step * step).max(step);
        (0..self.letters)
            .step_by(most as usize)
            .map(move |begin| Part {
                first_letter: self.first_letter + begin,
                letters: most.min(self.letters - begin),
                continued: self.continued || begin > 0,
                ends: self.ends && begin + most >= self.letters,
                level: self.level,
            })
    }
}

/// Gathers sequences, of which each begins at a letter behind the one before and has some letters, into
/// batches. Parts of sequences are alone in theirs.
///
/// # Errors
/// [`Error::Allocation`](crate::Error::Allocation).
pub fn batches(sequences: impl Iterator<Item = Part>, room: Room) -> Result<Vec<Batch>> {
    let mut batches = vec![];
    let mut batch = Batch::default();
    let (mut letters, mut chunks) = (0, 0);
    for (number, part) in sequences.enumerate() {
        let is_alone = part.continued
            || !part.ends
            || part.letters > room.letters
            || part.letters > 0 && part.chunks() > room.chunks;
        let is_full = letters + part.letters > room.letters || chunks + part.chunks() > room.chunks;
        if is_alone || is_full {
            if !batch.parts.is_empty() {
                reserve(&mut batches, 1)?;
                batches.push(std::mem::take(&mut batch));
            }
            (letters, chunks) = (0, 0);
        }
        if is_alone {
            for part in part.pieces(room) {
                reserve(&mut batches, 1)?;
                batches.push(Batch {
                    parts: vec![part],
                    first: number,
                    complete: part.ends,
                });
            }
            continue;
        }
        if batch.parts.is_empty() {
            batch.first = number;
            batch.complete = true;
        }
        reserve(&mut batch.parts, 1)?;
        batch.parts.push(part);
        letters += part.letters;
        chunks += part.chunks();
    }
    if !batch.parts.is_empty() {
        reserve(&mut batches, 1)?;
        batches.push(batch);
    }
    Ok(batches)
}

/// A batch on a device.
#[derive(Debug)]
pub struct Layout {
    pub first: usize,
    pub sequences: u32,
    pub complete: bool,
    pub continued: bool,
    /// Where the letters begin, and how many there are up to the end of the last ones.
    pub origin: u64,
    pub letters: u64,
    pub chunks: Buffer<Chunk>,
    /// The chunks' numbers, the longest first, so that those that a warp works on together are of
    /// the same length, and none is left for the end.
    pub order: Buffer<u32>,
    /// What to do with the matrices of chunks, then with those that come of it, and so on.
    pub levels: Vec<Level>,
}

/// What to do with the matrices of a level.
#[derive(Debug)]
pub struct Level {
    /// The products whose first rows are those of whole sequences.
    pub rows: Buffer<Run>,
    /// The products that are the next level's matrices.
    pub matrices: Buffer<Run>,
}

impl Layout {
    /// For the first rows of a batch's sequences.
    pub fn upload(device: &Device, batch: &Batch) -> Result<Layout> {
        Layout::with_levels(device, batch, levels(&batch.parts)?)
    }

    /// For one matrix of each part.
    pub fn of_matrices(device: &Device, parts: Vec<Part>) -> Result<Layout> {
        let levels = reductions(&parts)?;
        let batch = Batch {
            parts,
            first: 0,
            complete: true,
        };
        Layout::with_levels(device, &batch, levels)
    }

    fn with_levels(
        device: &Device,
        batch: &Batch,
        levels: Vec<(Vec<Run>, Vec<Run>)>,
    ) -> Result<Layout> {
        let chunks = chunks(&batch.parts)?;
        let order = longest_first(&chunks)?;
        let levels = levels
            .iter()
            .map(|(rows, matrices)| {
                Ok(Level {
                    rows: device.buffer_from(rows)?,
                    matrices: device.buffer_from(matrices)?,
                })
            })
            .collect::<Result<_>>()?;
        let first = batch.parts.first();
        let origin = first.map_or(0, |part| part.first_letter);
        let last = batch.parts.last();
        Ok(Layout {
            first: batch.first,
            sequences: batch.parts.len() as u32,
            complete: batch.complete,
            continued: first.is_some_and(|part| part.continued),
            origin,
            letters: last.map_or(0, |part| part.first_letter + part.letters) - origin,
            chunks: device.buffer_from(&chunks)?,
            order: device.buffer_from(&order)?,
            levels,
        })
    }

    /// The units that the words of all chunks reach to.
    pub fn units(&self, word_letters: u32) -> usize {
        let chunks = self.chunks.len() as u64;
        (Chunk::first_unit(self.letters, chunks, word_letters) + u64::from(UNIT)) as usize
    }
}

/// The chunks of all parts, one after the other.
fn chunks(parts: &[Part]) -> Result<Vec<Chunk>> {
    let of_part = |part: &Part| {
        let (first, letters) = (part.first_letter, part.letters);
        (0..letters).step_by(CHUNK).map(move |begin| Chunk {
            first_letter: first + begin,
            letters: (letters - begin).min(CHUNK as u64) as u32,
            reserved: 0,
        })
    };
    let counts = parts.iter().map(|part| part.letters.div_ceil(CHUNK as u64));
    let mut chunks = Vec::new();
    reserve(&mut chunks, counts.sum::<u64>() as usize)?;
    chunks.extend(parts.iter().flat_map(of_part));
    Ok(chunks)
}

/// The numbers of all chunks, by length, counted and then put in their places.
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

/// For each level the products that are first rows, and those that are the next level's matrices.
fn levels(parts: &[Part]) -> Result<Vec<(Vec<Run>, Vec<Run>)>> {
    let mut next = 0;
    let mut spans = collected(parts.iter().enumerate().map(|(result, part)| {
        let (first, count) = (next, part.letters.div_ceil(CHUNK as u64) as u32);
        next += count;
        (first, count, result as u32)
    }))?;
    let mut levels = vec![];
    while !spans.is_empty() {
        let (mut rows, mut matrices, mut above) = (vec![], vec![], vec![]);
        for (first, count, result) in spans {
            let part = parts[result as usize];
            // Of a piece too, so that what comes of a sequence does not depend on the batches.
            if levels.len() == part.level as usize {
                reserve(&mut rows, 1)?;
                rows.push(Run {
                    first,
                    count,
                    result,
                    append: part.continued.into(),
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

/// As many levels as it takes until each part, none of which is empty, has one matrix.
fn reductions(parts: &[Part]) -> Result<Vec<(Vec<Run>, Vec<Run>)>> {
    let chunks = |part: &Part| part.letters.div_ceil(CHUNK as u64) as u32;
    let mut counts = collected(parts.iter().map(chunks))?;
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

    fn part(letters: u64) -> Part {
        Part::whole(0, letters)
    }

    const MAX_LETTERS: u64 = Room::LARGEST.letters;
    const MAX_CHUNKS: u64 = Room::LARGEST.chunks;

    #[test]
    fn batches_hold_all_letters_once() {
        let lengths = [
            0,
            5,
            MAX_LETTERS - 5,
            1,
            3 * MAX_LETTERS + 7,
            0,
            MAX_LETTERS,
            2,
        ];
        let mut offsets = vec![0];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let parts = || {
            let parts = offsets.iter().zip(lengths);
            parts.map(|(&offset, length)| Part::whole(offset, length))
        };
        let batches = batches(parts(), Room::LARGEST).unwrap();
        let mut at = 0;
        let mut sequence = 0;
        for batch in &batches {
            assert_eq!(batch.first, sequence);
            for part in &batch.parts {
                assert_eq!(part.first_letter, at);
                assert_eq!(part.level, Part::level(lengths[sequence]));
                at += part.letters;
                if part.continued {
                    assert_eq!((part.first_letter - offsets[sequence]) % SEGMENT as u64, 0);
                }
                sequence += usize::from(batch.complete);
            }
        }
        assert_eq!((at, sequence), (offsets[lengths.len()], lengths.len()));
        assert!(batches.len() < 9);
        assert!(
            super::batches([].into_iter(), Room::LARGEST)
                .unwrap()
                .is_empty()
        );
        let many = || (0..MAX_CHUNKS + 1).map(|_| part(0));
        assert_eq!(super::batches(many(), Room::LARGEST).unwrap().len(), 2);
        let nothing = Room {
            letters: 0,
            chunks: 0,
        };
        assert_eq!(
            super::batches(many(), nothing).unwrap().len() as u64,
            MAX_CHUNKS + 1
        );
    }

    #[test]
    fn pieces_are_cut_between_matrices_of_the_last_product() {
        let chunk = CHUNK as u64;
        for (chunks, level) in [
            (1, 0),
            (16, 0),
            (17, 1),
            (256, 1),
            (257, 2),
            (4096, 2),
            (4097, 3),
        ] {
            let whole = part(chunks * chunk);
            assert_eq!(whole.level, level);
            for most in [0, 1, 5, 40, 700] {
                let room = Room {
                    letters: u64::MAX,
                    chunks: most,
                };
                let pieces: Vec<Part> = whole.pieces(room).collect();
                assert_eq!(
                    pieces.iter().map(|part| part.letters).sum::<u64>(),
                    whole.letters
                );
                let step = Part::step(level);
                for (i, piece) in pieces.iter().enumerate() {
                    assert_eq!(piece.first_letter % step, 0);
                    assert!(piece.letters <= step.max(most * chunk));
                    assert_eq!(
                        (piece.continued, piece.ends),
                        (i > 0, i + 1 == pieces.len())
                    );
                }
            }
        }
    }

    #[test]
    fn levels_compose_all_chunks_in_order() {
        let chunk = CHUNK as u64;
        let lengths = [
            0,
            1,
            16 * chunk,
            16 * chunk + 1,
            300 * chunk,
            SEGMENT as u64,
            SEGMENT as u64 + 1,
        ];
        let parts = lengths.map(part);
        let levels = levels(&parts).unwrap();
        assert_eq!(levels.len(), 4);
        // What each matrix is made of, in chunks.
        let total: u64 = lengths.iter().map(|n| n.div_ceil(chunk)).sum();
        let mut spans: Vec<(u64, u64)> = (0..total).map(|i| (i, i + 1)).collect();
        let mut found = [None; 7];
        for (rows, matrices) in &levels {
            let joined = |run: &Run| {
                let spans = &spans[run.first as usize..][..run.count as usize];
                assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0));
                spans
                    .first()
                    .map_or((0, 0), |first| (first.0, spans[spans.len() - 1].1))
            };
            for run in rows {
                assert_eq!(found[run.result as usize].replace(joined(run)), None);
            }
            let next = matrices.iter().map(joined).collect();
            assert!(
                matrices
                    .iter()
                    .zip(0..)
                    .all(|(run, i)| run.result == i && run.count <= 16)
            );
            spans = next;
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
        let chunks = chunks(&[5, 2 * chunk + 7, 5, chunk].map(part)).unwrap();
        assert_eq!(longest_first(&chunks).unwrap(), [1, 2, 5, 3, 0, 4]);
    }

    #[test]
    fn reductions_end_with_a_matrix_for_each_part() {
        let chunk = CHUNK as u64;
        let parts = [1, 300 * chunk + 1, chunk, 17 * chunk].map(part);
        let levels = reductions(&parts).unwrap();
        let counts: Vec<usize> = levels.iter().map(|(_, matrices)| matrices.len()).collect();
        // 1, 301, 1 and 17 chunks.
        assert_eq!(counts, [1 + 19 + 1 + 2, 1 + 2 + 1 + 1, 4]);
        assert!(reductions(&[1, chunk].map(part)).unwrap().is_empty());
    }
}

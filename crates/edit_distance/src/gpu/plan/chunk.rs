//! The plan of one chunk: the consecutive pairs of a task.

use std::ops::Range;

use edit_distance_kernels::Job;
use gridstride_runtime::Result;
use gridstride_runtime::device::{reserve, zeroed};

use super::super::tuning::{LANES, SHAPES, WORDS};
use crate::workspace::{Lengths, is_long};

/// The kernel and lanes of a short pair, and the class of its longer sequence.
#[derive(Clone, Copy)]
struct Kind {
    shape: u16,
    class: u16,
}

impl Kind {
    /// The shape of long pairs, which are in a list of their own.
    const LONG: u16 = u16::MAX;
}

/// The plan of consecutive pairs.
pub struct Chunk {
    /// The jobs by words of rows per lane, each with the class of its longest sequence.
    pub jobs: [Vec<(u16, Job)>; WORDS.len()],
    /// The long pairs.
    pub long: Vec<u32>,
}

impl Chunk {
    /// Plans one pair for each place, from the pair `first` on. Writes the short pairs to the first
    /// places, sorted.
    pub fn new(
        first: usize,
        places: &mut [u32],
        lengths: &impl Fn(u32) -> Lengths,
    ) -> Result<Chunk> {
        let mut kinds = Vec::new();
        reserve(&mut kinds, places.len())?;
        let (mut least_class, mut end_of_classes) = (u16::MAX, 0);
        let mut long = Vec::new();
        for index in first..first + places.len() {
            let (rows, columns) = lengths(index as u32);
            let class = class(columns);
            if is_long((rows, columns)) {
                reserve(&mut long, 1)?;
                long.push(index as u32);
                let shape = Kind::LONG;
                kinds.push(Kind { shape, class });
                continue;
            }
            least_class = least_class.min(class);
            end_of_classes = end_of_classes.max(class + 1);
            let (words, lanes) = LANES[rows.div_ceil(32) as usize];
            let shape = (words * 32 + lanes - 1) as u16;
            kinds.push(Kind { shape, class });
        }
        let classes = least_class..end_of_classes;
        let ends = sort(first, places, &kinds, &classes)?;
        Ok(Chunk {
            jobs: jobs(first, &ends, &classes)?,
            long,
        })
    }
}

/// Returns the class of the length of a longer sequence: the 32 columns that a kernel computes
/// together, or, from 1024 columns on, a sixteenth of an octave.
pub fn class(columns: u32) -> u16 {
    let units = columns / 32;
    // The bits below the highest five.
    let below = units.checked_ilog2().unwrap_or(0).saturating_sub(4);
    (below * 16 + (units >> below)) as u16
}

/// Writes the short pairs to places by shape, and within a shape by class, the longest first.
/// Returns where the pairs of each cell, a shape and a class, end.
///
/// Sorts by counting. If all lengths are about equal, there are few cells, and memory is read and
/// written in order.
fn sort(
    first: usize,
    places: &mut [u32],
    kinds: &[Kind],
    classes: &Range<u16>,
) -> Result<Vec<u32>> {
    let cell = |kind: Kind| {
        usize::from(kind.shape) * classes.len() + usize::from(classes.end - 1 - kind.class)
    };
    let mut ends: Vec<u32> = zeroed(SHAPES * classes.len())?;
    let kinds = kinds.iter().enumerate();
    let short = kinds.filter(|(_, kind)| kind.shape != Kind::LONG);
    for (_, &kind) in short.clone() {
        ends[cell(kind)] += 1;
    }
    starts(&mut ends);
    // Each start moves on to its cell's end.
    for (index, &kind) in short {
        let place = &mut ends[cell(kind)];
        places[*place as usize] = (first + index) as u32;
        *place += 1;
    }
    Ok(ends)
}

/// Returns the jobs of sorted pairs by words of rows per lane, with the classes of their longest
/// sequences. A job has pairs of one shape, as many as a warp has room for.
fn jobs(
    first: usize,
    ends: &[u32],
    classes: &Range<u16>,
) -> Result<[Vec<(u16, Job)>; WORDS.len()]> {
    let mut jobs: [Vec<(u16, Job)>; WORDS.len()] = Default::default();
    let mut place = 0;
    for (shape, ends) in ends.chunks(classes.len().max(1)).enumerate() {
        let (jobs, lanes) = (&mut jobs[shape / 32], shape % 32 + 1);
        let (mut class, end) = (0, ends[ends.len() - 1]);
        while place < end {
            while ends[class] <= place {
                class += 1;
            }
            let pairs = (32 / lanes as u32).min(end - place);
            let job = Job {
                first: first as u32 + place,
                pairs: pairs as u16,
                lanes: lanes as u16,
            };
            reserve(jobs, 1)?;
            jobs.push((classes.end - 1 - class as u16, job));
            place += pairs;
        }
    }
    Ok(jobs)
}

/// Replaces counts by the sums of the counts before them, and returns the sum of all.
pub fn starts(counts: &mut [u32]) -> u32 {
    counts.iter_mut().fold(0, |sum, count| {
        let start = sum;
        let sum = sum + *count;
        *count = start;
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn classes_ascend_by_a_sixteenth() {
        assert_eq!([0, 31, 32, 1023, 1024].map(class), [0, 0, 1, 31, 32]);
        let mut before = 0;
        for columns in 0..1 << 20 {
            let class = class(columns);
            assert!(class == before || class == before + 1, "{columns}");
            before = class;
        }
        // The longest sequences of the last octaves.
        for bits in 20..=u32::BITS {
            assert_eq!(
                u32::from(class(u32::MAX >> (u32::BITS - bits))),
                16 * (bits - 10) + 31
            );
        }
        // The shortest and the longest of a class differ by less than a chunk or a sixteenth.
        for columns in 0..1 << 20 {
            let next = columns + 32.max(columns / 16 + 1);
            assert!(class(next) > class(columns), "{columns}");
        }
    }
}

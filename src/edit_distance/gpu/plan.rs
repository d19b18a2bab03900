//! The order of work: which lanes or warps compute each pair, and when.

use std::cmp::Reverse;
use std::ops::Range;

use edit_distance_kernels::{Job, Pair, edges};

use super::tuning::{LANES, Lengths, SHAPES, WORDS, first_limit, is_long, warps};
use crate::device::{collected, reserve, zeroed};
use crate::{Result, parallel};

/// Pairs whose shapes a task finds.
const PAIRS_PER_TASK: usize = 1 << 14;

/// The order of work of a launch for each kernel.
#[derive(Debug, Default)]
pub struct Plan {
    /// The short pairs of all jobs.
    pub pairs: Vec<u32>,
    /// The jobs of short pairs by words of rows per lane, in the order of [`WORDS`]. Jobs with the
    /// longest sequences come first.
    pub jobs: [Vec<Job>; WORDS.len()],
    /// Long pairs, the largest first.
    pub long: Vec<Pair>,
    /// The warps of each long pair.
    pub warps: u32,
    /// The elements of the edges of all long pairs.
    pub edges: u64,
}

impl Plan {
    /// Plans `count` pairs, fewer than 2³², for distances of up to `limit`, on a GPU of
    /// `processors` multiprocessors.
    pub fn new(
        count: u32,
        processors: usize,
        limit: u32,
        lengths: impl Fn(u32) -> Lengths + Sync,
    ) -> Result<Plan> {
        let count = count as usize;
        let tasks = 0..count.div_ceil(PAIRS_PER_TASK);
        let chunks = parallel::try_map(tasks, |task| {
            Chunk::new(parallel::chunk(task, PAIRS_PER_TASK, count), &lengths)
        })?;
        let short = Sorted::new(&chunks)?;
        let mut jobs: [Vec<Job>; WORDS.len()] = Default::default();
        for (words, jobs) in jobs.iter_mut().enumerate() {
            *jobs = short.jobs(words)?;
        }

        let mut long = Vec::new();
        for chunk in &chunks {
            reserve(&mut long, chunk.long.len())?;
            long.extend(chunk.long.iter().map(|&index| {
                let (rows, columns) = lengths(index);
                (u64::from(rows) * u64::from(columns), index)
            }));
        }
        long.sort_unstable_by_key(|&(entries, _)| Reverse(entries));
        let warps = warps(long.iter().map(|&(_, index)| lengths(index).0), processors);
        let mut all_edges = 0;
        let long = collected(long.iter().map(|&(_, index)| {
            let first_edge = all_edges;
            all_edges += edges(lengths(index).1);
            Pair {
                first_edge,
                index,
                limit: first_limit(lengths(index), limit),
            }
        }))?;
        Ok(Plan {
            pairs: short.pairs,
            jobs,
            long,
            warps,
            edges: all_edges,
        })
    }
}

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

/// Consecutive pairs.
struct Chunk {
    /// The kind of each pair, also of long ones.
    kinds: Vec<Kind>,
    /// The classes of the short pairs; empty, from `u16::MAX` on, without any.
    classes: Range<u16>,
    long: Vec<u32>,
}

impl Chunk {
    fn new(range: Range<usize>, lengths: &impl Fn(u32) -> Lengths) -> Result<Chunk> {
        let mut kinds = Vec::new();
        reserve(&mut kinds, range.len())?;
        let (mut least_class, mut end_of_classes) = (u16::MAX, 0);
        let mut long = Vec::new();
        for index in range {
            let index = index as u32;
            let (rows, columns) = lengths(index);
            let class = class(columns);
            if is_long((rows, columns)) {
                reserve(&mut long, 1)?;
                long.push(index);
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
        Ok(Chunk {
            kinds,
            classes: least_class..end_of_classes,
            long,
        })
    }
}

/// Returns the class of the length of a longer sequence: the 32 columns that a kernel computes
/// together, or, from 1024 columns on, a sixteenth of an octave.
fn class(columns: u32) -> u16 {
    let chunks = columns / 32;
    // The bits below the highest five.
    let below = chunks.checked_ilog2().unwrap_or(0).saturating_sub(4);
    (below * 16 + (chunks >> below)) as u16
}

/// The short pairs by shape, and within a shape by class, the longest first. A cell has the pairs of
/// one shape and class, in the order of their numbers.
struct Sorted {
    pairs: Vec<u32>,
    /// Where the pairs of each cell end.
    ends: Vec<u32>,
    /// The cells of each shape, one for each class that occurs.
    classes: usize,
}

impl Sorted {
    /// Sorts by counting. If all lengths are about equal there are few cells, and the pairs are
    /// read and written in order.
    fn new(chunks: &[Chunk]) -> Result<Sorted> {
        let least = chunks.iter().map(|chunk| chunk.classes.start).min();
        let end = chunks.iter().map(|chunk| chunk.classes.end).max();
        let (least, end) = (least.unwrap_or(0), end.unwrap_or(0));
        let classes = usize::from(end.saturating_sub(least));
        let cell =
            |kind: Kind| usize::from(kind.shape) * classes + usize::from(end - 1 - kind.class);
        let mut ends: Vec<u32> = zeroed(SHAPES * classes)?;
        let is_short = |kind: &Kind| kind.shape != Kind::LONG;
        for kinds in chunks.iter().map(|chunk| &chunk.kinds) {
            for &kind in kinds.iter().filter(|kind| is_short(kind)) {
                ends[cell(kind)] += 1;
            }
        }
        let count = starts(&mut ends);
        let mut pairs = zeroed(count as usize)?;
        // Each start moves on to its cell's end.
        let kinds = chunks.iter().flat_map(|chunk| &chunk.kinds);
        for (index, &kind) in (0..).zip(kinds).filter(|(_, kind)| is_short(kind)) {
            let place = &mut ends[cell(kind)];
            pairs[*place as usize] = index;
            *place += 1;
        }
        Ok(Sorted {
            pairs,
            ends,
            classes,
        })
    }

    /// Returns the jobs of a kernel, with the longest sequences first.
    fn jobs(&self, words: usize) -> Result<Vec<Job>> {
        let mut places: Vec<u32> = zeroed(self.classes)?;
        self.each_job(words, |class, _| places[class] += 1);
        let count = starts(&mut places);
        let mut jobs = zeroed(count as usize)?;
        self.each_job(words, |class, job| {
            jobs[places[class] as usize] = job;
            places[class] += 1;
        });
        Ok(jobs)
    }

    /// Calls `work` with each job of a kernel, and the place of its longest sequence's class. A job
    /// has pairs of one shape, as many as a warp has room for.
    fn each_job(&self, words: usize, mut work: impl FnMut(usize, Job)) {
        for lanes in 1..=32 {
            let first_cell = (words * 32 + lanes - 1) * self.classes;
            let ends = &self.ends[first_cell..first_cell + self.classes];
            let mut first = first_cell.checked_sub(1).map_or(0, |cell| self.ends[cell]);
            let (mut class, end) = (0, ends.last().map_or(0, |&end| end));
            while first < end {
                while ends[class] <= first {
                    class += 1;
                }
                let pairs = (32 / lanes as u32).min(end - first);
                work(
                    class,
                    Job {
                        first,
                        pairs: pairs as u16,
                        lanes: lanes as u16,
                    },
                );
                first += pairs;
            }
        }
    }
}

/// Replaces counts by the sums of the counts before them, and returns the sum of all.
fn starts(counts: &mut [u32]) -> u32 {
    counts.iter_mut().fold(0, |sum, count| {
        let start = sum;
        let sum = sum + *count;
        *count = start;
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Checks that a plan has every pair once, in jobs that fit a warp, and the longest first.
    fn check(count: u32, lengths: impl Fn(u32) -> Lengths + Sync) {
        let plan = Plan::new(count, 4, u32::MAX, &lengths).unwrap();
        let mut seen: Vec<u32> = plan.long.iter().map(|pair| pair.index).collect();
        let mut places = Vec::new();
        for (jobs, words) in plan.jobs.iter().zip(WORDS) {
            let mut class_before = u16::MAX;
            for job in jobs {
                assert!(job.pairs >= 1 && job.pairs * job.lanes <= 32);
                let range = job.first as usize..job.first as usize + usize::from(job.pairs);
                places.extend(range.clone());
                let pairs = &plan.pairs[range];
                for &pair in pairs {
                    assert!(lengths(pair).0 <= 32 * words * u32::from(job.lanes));
                    seen.push(pair);
                }
                let longest = pairs.iter().map(|&pair| class(lengths(pair).1)).max();
                assert!(longest <= Some(class_before));
                class_before = longest.unwrap();
            }
        }
        places.sort_unstable();
        assert!(places.into_iter().eq(0..plan.pairs.len()));
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..count));
        let mut first_edge = 0;
        for pair in &plan.long {
            assert_eq!(pair.first_edge, first_edge);
            first_edge += edges(lengths(pair.index).1);
        }
        assert_eq!(plan.edges, first_edge);
    }

    #[test]
    fn plans_have_every_pair_once() {
        let mixed = |i: u32| match i % 5 {
            0 => (i % 200, 1000 + i),
            1 => (1000, 1000),
            2 => (5000 + i, 6000 + i),
            3 => (0, i),
            _ => (i % 4096, u32::MAX - 1),
        };
        // Around a task's pairs too.
        let task = PAIRS_PER_TASK as u32;
        for count in [0, 1, 2, 1003, task - 1, task, task + 1, 3 * task + 7] {
            check(count, mixed);
            check(count, |i| (950 + i % 100, 1000 + i % 100));
            check(count, |_| (0, 0));
            check(count, |i| (5000, 5000 + i));
        }
    }

    #[test]
    fn pairs_of_about_equal_lengths_fill_warps() {
        let plan = Plan::new(1000, 132, u32::MAX, |i| (1000, 1000 + i % 300)).unwrap();
        // Eight lanes each; only the last job may have fewer pairs.
        assert_eq!(plan.jobs.map(|jobs| jobs.len()), [0, 0, 250]);
    }
}

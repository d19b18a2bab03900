//! Launch shapes: the lanes and warps of each pair.

use std::cmp::Reverse;

use edit_distance_kernels::{Job, MAX_WARPS, Pair, STRIP_ROWS, edges};

use crate::device::{collected, reserve};
use crate::{Result, parallel};

/// The words of rows per lane for which there are kernels for short pairs.
pub const WORDS: [u32; 3] = [1, 2, 4];

/// Instructions of a step: a line fitted to those of the kernels for letters of 2 bits. The kernel
/// of 4 words has 61, where the line has 63.
const fn instructions(words: u32) -> u32 {
    12 * words + 15
}

/// Warps on each multiprocessor that hide the latency of a step. Long pairs take more warps each
/// until there are as many.
const WARPS_PER_PROCESSOR: usize = 12;

/// The letters of a pair: those of the shorter sequence, and those of the longer one.
pub type Lengths = (u32, u32);

/// The order of work of a launch for each kernel.
#[derive(Debug, Default)]
pub struct Plan {
    /// Short pairs, by words of rows per lane, in the order of [`WORDS`].
    pub short: [ShortPlan; WORDS.len()],
    /// Long pairs, the largest first.
    pub long: Vec<Pair>,
    /// The warps of each long pair.
    pub warps: u32,
    /// The elements of the edges of all long pairs.
    pub edges: u64,
}

/// Jobs, those of the longest sequences first, and their pairs.
#[derive(Debug, Default)]
pub struct ShortPlan {
    pub jobs: Vec<Job>,
    pub pairs: Vec<u32>,
}

/// Whether a pair is computed by a block of threads.
pub fn is_long((rows, _): Lengths) -> bool {
    rows > STRIP_ROWS
}

/// Returns the index of the words per lane, and the lanes of a short pair, that take the fewest
/// instructions.
pub fn lanes(rows: u32) -> (usize, u32) {
    let shapes = WORDS.iter().enumerate().map(|(index, words)| {
        let lanes = rows.div_ceil(32 * words).max(1);
        (index, lanes)
    });
    let cost = |&(index, lanes): &(usize, u32)| match 32 / lanes {
        0 => u64::MAX,
        // Per pair, with a common denominator of all numbers up to 32 that occur.
        pairs => u64::from(instructions(WORDS[index])) * 720_720 / u64::from(pairs),
    };
    shapes.min_by_key(cost).expect("some words")
}

impl Plan {
    /// Plans `count` pairs, fewer than 2³², for distances of up to `limit`, on a GPU of
    /// `processors` multiprocessors.
    pub fn new(
        count: u32,
        processors: usize,
        limit: u32,
        lengths: impl Fn(u32) -> Lengths,
    ) -> Result<Plan> {
        let mut plan = Plan::default();
        let mut keys: [Vec<u64>; WORDS.len()] = Default::default();
        let mut long = Vec::new();
        for index in 0..count {
            let (rows, columns) = lengths(index);
            if is_long((rows, columns)) {
                reserve(&mut long, 1)?;
                long.push((u64::from(rows) * u64::from(columns), index));
                continue;
            }
            let (words, lanes) = lanes(rows);
            reserve(&mut keys[words], 1)?;
            keys[words].push(key(lanes, columns, index));
        }
        for (plan, keys) in plan.short.iter_mut().zip(&mut keys) {
            *plan = ShortPlan::new(keys, &lengths)?;
        }
        long.sort_unstable_by_key(|&(entries, _)| Reverse(entries));
        plan.warps = warps(long.iter().map(|&(_, index)| lengths(index).0), processors);
        plan.long = collected(long.iter().map(|&(_, index)| {
            let first_edge = plan.edges;
            plan.edges += edges(lengths(index).1);
            Pair {
                first_edge,
                index,
                limit: first_limit(lengths(index), limit),
            }
        }))?;
        Ok(plan)
    }
}

impl ShortPlan {
    fn new(keys: &mut [u64], lengths: &impl Fn(u32) -> Lengths) -> Result<ShortPlan> {
        parallel::sort(keys);
        let pairs = collected(keys.iter().map(|&key| key as u32))?;
        let mut jobs = Vec::new();
        for same in keys.chunk_by(|one, other| lanes_of(*one) == lanes_of(*other)) {
            let lanes = lanes_of(same[0]);
            for of_warp in same.chunks((32 / lanes) as usize) {
                let first = jobs
                    .last()
                    .map_or(0, |(_, job): &(_, Job)| job.first + u32::from(job.pairs));
                let job = Job {
                    first,
                    pairs: of_warp.len() as u16,
                    lanes: lanes as u16,
                };
                reserve(&mut jobs, 1)?;
                jobs.push((lengths(of_warp[0] as u32).1, job));
            }
        }
        let keys = jobs.iter().enumerate();
        let key = |(number, (columns, _)): (usize, &(u32, Job))| {
            u64::from(!columns) << 32 | number as u64
        };
        let mut keys = collected(keys.map(key))?;
        parallel::sort(&mut keys);
        Ok(ShortPlan {
            jobs: collected(keys.iter().map(|&key| jobs[key as u32 as usize].1))?,
            pairs,
        })
    }
}

/// Returns a key that sorts pairs by lanes, then the longest first in units of 32 columns.
fn key(lanes: u32, columns: u32, index: u32) -> u64 {
    let from_the_end = (1 << 27) - 1 - columns / 32;
    u64::from(lanes - 1) << 59 | u64::from(from_the_end) << 32 | u64::from(index)
}

fn lanes_of(key: u64) -> u32 {
    (key >> 59) as u32 + 1
}

/// Columns from which on a band is computed first.
const LONG_ENOUGH_FOR_A_BAND: u32 = 8 * STRIP_ROWS;

/// Returns the distance up to which a long pair is computed first: the band for an eighth of the
/// columns takes about a quarter of the entries, or less, and suffices for similar sequences.
fn first_limit((rows, columns): Lengths, limit: u32) -> u32 {
    let eighth = columns / 8;
    match columns >= LONG_ENOUGH_FOR_A_BAND && columns - rows <= eighth {
        true => limit.min(eighth),
        false => limit,
    }
}

/// Returns the warps of each long pair: enough for the whole GPU, but no more than the longest
/// pair has strips, and as few as take the same number of rounds.
fn warps(rows: impl ExactSizeIterator<Item = u32>, processors: usize) -> u32 {
    let needed = (processors * WARPS_PER_PROCESSOR).div_ceil(rows.len().max(1));
    let strips = rows
        .map(|rows| rows.div_ceil(STRIP_ROWS))
        .max()
        .unwrap_or(1);
    let most = (needed.min(MAX_WARPS as usize) as u32).clamp(1, strips);
    strips.div_ceil(strips.div_ceil(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_reached() {
        assert_eq!(lanes(0), (0, 1));
        assert_eq!(lanes(32), (0, 1));
        assert_eq!(lanes(64), (1, 1));
        assert_eq!(lanes(128), (2, 1));
        assert_eq!(lanes(1000), (2, 8));
        assert_eq!(lanes(1030), (2, 9));
        assert_eq!(lanes(STRIP_ROWS), (2, 32));
        assert!(is_long((STRIP_ROWS + 1, u32::MAX)));
        for rows in 0..=STRIP_ROWS {
            let (words, lanes) = lanes(rows);
            assert!((1..=32).contains(&lanes) && 32 * WORDS[words] * lanes >= rows);
        }
    }

    #[test]
    fn long_pairs_fill_the_gpu() {
        let of = |pairs, rows| warps(vec![rows; pairs].into_iter(), 132);
        assert_eq!(of(1, 4097), 2);
        assert_eq!(of(1, 100_000), 7);
        assert_eq!(of(1000, 100_000), 2);
        assert_eq!(of(5000, 100_000), 1);
        assert_eq!(of(0, 0), 1);
    }

    #[test]
    fn similar_sequences_take_a_band() {
        let most = u32::MAX;
        assert_eq!(first_limit((100_000, 101_000), most), 12_625);
        assert_eq!(first_limit((100_000, 101_000), 700), 700);
        assert_eq!(first_limit((20_000, 101_000), most), most);
        assert_eq!(first_limit((32_000, 32_000), most), most);
    }

    #[test]
    fn plans_have_every_pair_once() {
        let lengths = |i: u32| match i % 5 {
            0 => (i % 200, 1000 + i),
            1 => (1000, 1000),
            2 => (5000 + i, 6000 + i),
            3 => (0, i),
            _ => (i % 4096, u32::MAX - 1),
        };
        let plan = Plan::new(1003, 4, u32::MAX, lengths).unwrap();
        let mut seen: Vec<u32> = plan.long.iter().map(|pair| pair.index).collect();
        for (short, words) in plan.short.iter().zip(WORDS) {
            let mut places: Vec<_> = short.jobs.iter().map(|job| job.first).collect();
            places.sort_unstable();
            let mut next = 0;
            let mut jobs = short.jobs.clone();
            jobs.sort_unstable_by_key(|job| job.first);
            for job in jobs {
                assert_eq!(job.first, next);
                assert!(job.pairs >= 1 && job.pairs * job.lanes <= 32);
                next += u32::from(job.pairs);
                for &pair in &short.pairs[job.first as usize..next as usize] {
                    assert!(lengths(pair).0 <= 32 * words * u32::from(job.lanes));
                    seen.push(pair);
                }
            }
            assert_eq!(next as usize, short.pairs.len());
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..1003));
        let mut first_edge = 0;
        for pair in &plan.long {
            assert_eq!(pair.first_edge, first_edge);
            first_edge += edges(lengths(pair.index).1);
        }
        assert_eq!(plan.edges, first_edge);
    }
}

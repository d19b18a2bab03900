//! The order of work: which lanes or warps compute each pair, and when.

mod chunk;

use std::cmp::Reverse;

use edit_distance_kernels::{Job, Pair, edges};
use gridstride_runtime::device::{collected, reserve, zeroed, zeroed_lazily};
use gridstride_runtime::{Result, parallel};

use self::chunk::{Chunk, starts};
use super::tuning::{WORDS, first_limit, warps};
use crate::workspace::Lengths;

/// Pairs that a task plans.
const PAIRS_PER_TASK: usize = 1 << 13;

/// The order of work of a launch for each kernel.
#[derive(Debug, Default)]
pub struct Plan {
    /// The short pairs, in the order of the jobs' places. Some places are unused if there are long
    /// pairs.
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
        // Each task plans consecutive pairs, and has places for them.
        let mut pairs = zeroed_lazily(count as usize)?;
        let tasks = pairs.chunks_mut(PAIRS_PER_TASK).enumerate();
        let chunks = parallel::try_map(tasks, |(task, places)| {
            Chunk::new(task * PAIRS_PER_TASK, places, &lengths)
        })?;
        let mut jobs: [Vec<Job>; WORDS.len()] = Default::default();
        for (words, jobs) in jobs.iter_mut().enumerate() {
            *jobs = longest_first(&chunks, words)?;
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
            pairs,
            jobs,
            long,
            warps,
            edges: all_edges,
        })
    }
}

/// Returns the jobs of a kernel, with the longest sequences first.
fn longest_first(chunks: &[Chunk], words: usize) -> Result<Vec<Job>> {
    let jobs = || chunks.iter().flat_map(|chunk| &chunk.jobs[words]);
    let longest = jobs().map(|&(class, _)| class).max().unwrap_or(0);
    let mut places: Vec<u32> = zeroed(usize::from(longest) + 1)?;
    for (class, _) in jobs() {
        places[usize::from(longest - class)] += 1;
    }
    let mut sorted = zeroed(starts(&mut places) as usize)?;
    for &(class, job) in jobs() {
        let place = &mut places[usize::from(longest - class)];
        sorted[*place as usize] = job;
        *place += 1;
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::chunk::class;
    use super::*;

    /// Checks that a plan has every pair once, in jobs that fit a warp, and the longest first.
    fn check(count: u32, lengths: impl Fn(u32) -> Lengths + Sync) {
        let plan = Plan::new(count, 4, u32::MAX, &lengths).unwrap();
        let mut seen: Vec<u32> = plan.long.iter().map(|pair| pair.index).collect();
        for (jobs, words) in plan.jobs.iter().zip(WORDS) {
            let mut class_before = u16::MAX;
            for job in jobs {
                assert!(job.pairs >= 1 && job.pairs * job.lanes <= 32);
                let range = job.first as usize..job.first as usize + usize::from(job.pairs);
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

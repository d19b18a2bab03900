//! When points are.

use anyhow::{Result, anyhow, ensure};
use checks::random::Random;
use files::time::{Every, SECOND};

use super::Options;
use super::expected::Expected;
use crate::SHARED_BYTES;

/// The step of points and the length of buckets by default, in nanoseconds.
const STEP: i64 = 5 * SECOND;
const GRANULARITY: i64 = 35 * SECOND;

/// The first timestamp, in September 2020.
const START: i64 = 1_600_000_000 * SECOND;

/// With gaps, one step of so many is a gap, of at most so many buckets.
const STEPS_OF_A_GAP: u64 = 1000;
const BUCKETS_OF_A_GAP: u64 = 100;

/// The most steps of a bucket: v3 stages the points of a warp's buckets in shared memory.
const MOST_STEPS: i64 = SHARED_BYTES as i64 / (size_of::<f64>() as i64 * WARP as i64);
pub const WARP: u32 = 32;

/// When points are, and into which buckets they go.
pub struct Times {
    pub timestamps: Vec<i64>,
    pub granularity: i64,
    /// Points of a bucket, if steps are regular: those of v1 to v4.
    pub points: usize,
    /// Whether each bucket but the last one has so many points.
    is_regular: bool,
}

impl Times {
    /// # Errors
    /// If a bucket has too many steps for v3, or if the times are beyond 64 bits of nanoseconds.
    pub fn new(options: &Options, n: usize, seed: u64) -> Result<Times> {
        let of = |asked: &Option<Every>, default| asked.as_ref().map_or(default, |e| e.nanoseconds);
        let (granularity, step) = (of(&options.every, GRANULARITY), of(&options.step, STEP));
        ensure!(
            granularity / step < MOST_STEPS,
            "--every is {} times --step, and v3 has shared memory for fewer than {MOST_STEPS} points of a bucket",
            granularity / step
        );
        let mut random = Random::new(seed, 1);
        // At the start of a bucket, from which regular buckets go on.
        let mut next = i128::from(START / granularity * granularity);
        let timestamps = (0..n).map(|_| {
            let now = i64::try_from(next).map_err(|_| {
                anyhow!("points every {step} ns go on beyond 2262, the end of 64 bits of nanoseconds: use fewer")
            });
            next += match options.gaps {
                false => step.into(),
                true if random.below(STEPS_OF_A_GAP) == 0 => {
                    i128::from(random.below(BUCKETS_OF_A_GAP) + 1) * i128::from(granularity)
                }
                true => i128::from(random.below(2 * step as u64 + 1)),
            };
            now
        });
        let timestamps: Vec<i64> = timestamps.collect::<Result<_>>()?;
        let last = timestamps.last().copied().unwrap_or(0);
        ensure!(
            last.checked_add(granularity).is_some(),
            "the last bucket ends beyond 2262, the end of 64 bits of nanoseconds: use fewer points or shorter buckets"
        );
        Ok(Times {
            timestamps,
            granularity,
            // Half up.
            points: ((2 * i128::from(granularity) + i128::from(step)) / (2 * i128::from(step)))
                .max(1) as usize,
            is_regular: granularity % step == 0 && !options.gaps,
        })
    }

    /// Returns the remark of rows that assume a fixed number of points.
    pub fn remark(&self, expected: &Expected, sums: &[f64]) -> Result<String> {
        if self.is_regular {
            return expected.check_sums(sums);
        }
        let wrong = expected.count_wrong(sums);
        Ok(format!(
            "the fixed {} points a bucket are wrong here: {wrong} of {} sums are not right",
            self.points,
            expected.buckets()
        ))
    }
}

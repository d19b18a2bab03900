//! Percentiles of buckets, by selection.

use gridstride_runtime::device::reserve;
use gridstride_runtime::parallel::{self, Scratch, Slots};
use gridstride_runtime::{Number, Result};

use super::Source;
use super::buckets::{BucketSlice, Visit};
use crate::options::Nan;
use crate::timeline::CHUNK;
use crate::values::with_values;

/// Up to this number of values, sorting all by counting is faster than selecting some.
const FEW: usize = 24;

/// From more ranks than this, sorting is faster than selecting.
const MANY_RANKS: usize = 8;

/// The key of NaN: behind all others.
const NAN: i64 = i64::MAX;

/// Computes a column for each percentile.
pub struct PercentilesVisitor<'a> {
    source: &'a Source<'a>,
    percents: &'a [(usize, f64)],
    /// The results of the buckets of each chunk.
    columns: Slots<Vec<&'a mut [f64]>>,
    scratch: Scratch<Keys>,
}

impl<'a> PercentilesVisitor<'a> {
    pub fn new(
        source: &'a Source,
        percents: &'a [(usize, f64)],
        columns: Slots<Vec<&'a mut [f64]>>,
    ) -> PercentilesVisitor<'a> {
        PercentilesVisitor {
            source,
            percents,
            columns,
            scratch: Scratch::new(),
        }
    }
}

impl Visit for PercentilesVisitor<'_> {
    fn visit(&self, chunk: usize, buckets: &BucketSlice) -> Result<()> {
        let mut columns = self.columns.take(chunk);
        // A rate that is NaN counts, such as that between equal infinities.
        let skips_nan =
            matches!(self.source, Source::Values(points) if points.options.nan == Nan::Skip);
        self.scratch.with(|keys| {
            let mut before = None;
            for (bucket, (first, points)) in buckets.each().enumerate() {
                keys.keys.clear();
                reserve(&mut keys.keys, points.len())?;
                match self.source {
                    Source::Values(series) => with_values!(&series.values, values => {
                        let values = values[points].iter();
                        keys.keys.extend(values.map(|value| key(value.to_f64())));
                    }),
                    Source::Rates(rates) => with_values!(&rates.points.values, values => {
                        if bucket == 0 || points.start == first {
                            before = rates.before(first, points.start);
                        }
                        let mut rates = rates.iter(&values[points], before);
                        keys.keys.extend(rates.by_ref().map(key));
                        before = rates.before;
                    }),
                }
                let count = keys.order(skips_nan, self.percents);
                for (column, &(_, percent)) in columns.iter_mut().zip(self.percents) {
                    column[bucket] =
                        count.map_or(f64::NAN, |count| interpolated(&keys.keys[..count], percent));
                }
            }
            Ok(())
        })
    }
}

/// The keys of a bucket's numbers: memory that a thread reuses.
#[derive(Default)]
struct Keys {
    keys: Vec<i64>,
    ranks: Vec<usize>,
}

impl Keys {
    /// Moves the keys that the percentiles need to their places in ascending order, and returns the
    /// number of keys that are not NaN; `None` if there is a NaN that is not skipped.
    fn order(&mut self, skips_nan: bool, percents: &[(usize, f64)]) -> Option<usize> {
        let nans = self.keys.iter().filter(|&&key| key == NAN).count();
        if !skips_nan && nans > 0 {
            return None;
        }
        let count = self.keys.len() - nans;
        if self.keys.len() > FEW && nans > 0 {
            self.keys.retain(|&key| key != NAN);
        }
        if self.keys.len() <= FEW {
            sort_few(&mut self.keys);
            return Some(count);
        }
        self.ranks.clear();
        for &(_, percent) in percents {
            let (rank, fraction) = rank(count, percent);
            self.ranks.push(rank);
            if fraction > 0.0 {
                self.ranks.push(rank + 1);
            }
        }
        self.ranks.sort_unstable();
        self.ranks.dedup();
        if self.ranks.len() <= MANY_RANKS {
            // No key in front of a selected key is larger, so that the next one is behind it.
            let mut done = 0;
            for &rank in &self.ranks {
                self.keys[done..].select_nth_unstable(rank - done);
                done = rank + 1;
            }
        } else if count > CHUNK {
            sort(&mut self.keys);
        } else {
            self.keys.sort_unstable();
        }
        Some(count)
    }
}

/// Sorts many keys, with all threads.
fn sort(keys: &mut [i64]) {
    // With the sign bit flipped, unsigned numbers have the same order.
    let flip = |keys: &mut [u64]| keys.iter_mut().for_each(|key| *key ^= 1 << 63);
    let keys = bytemuck::cast_slice_mut(keys);
    flip(keys);
    parallel::sort(keys);
    flip(keys);
}

/// Sorts up to [`FEW`] keys: the index of each is the number of smaller keys.
///
/// Compares all pairs, but without branches, half of which would be predicted wrong for random
/// values.
#[inline(always)]
fn sort_few(keys: &mut [i64]) {
    let mut sorted = [0; FEW];
    for (index, &key) in keys.iter().enumerate() {
        let (before, after) = keys.split_at(index);
        // The earlier of two equal keys comes first.
        let up_to = before.iter().map(|other| usize::from(*other <= key));
        let below = after.iter().map(|other| usize::from(*other < key));
        sorted[up_to.sum::<usize>() + below.sum::<usize>()] = key;
    }
    keys.copy_from_slice(&sorted[..keys.len()]);
}

/// Returns the rank below a percentile of `count` values, and the fraction of the way to the next
/// rank.
fn rank(count: usize, percent: f64) -> (usize, f64) {
    let place = (count - 1) as f64 * percent / 100.0;
    let rank = place as usize;
    (rank, place - rank as f64)
}

/// Returns a percentile of keys in order.
fn interpolated(keys: &[i64], percent: f64) -> f64 {
    if keys.is_empty() {
        return f64::NAN;
    }
    let (rank, fraction) = rank(keys.len(), percent);
    // The last key has no next one, and needs none.
    let next = keys.get(rank + 1).unwrap_or(&keys[rank]);
    time_series_kernels::interpolated(number(keys[rank]), number(*next), fraction)
}

/// Returns an integer in the order of [`f64::total_cmp`], but [`NAN`] for all NaN: integers are sorted
/// faster.
fn key(number: f64) -> i64 {
    if number.is_nan() {
        return NAN;
    }
    let bits = number.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// Returns the number of a key.
fn number(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::{FEW, key, number, sort_few};

    #[test]
    fn few_keys_are_sorted() {
        let mut state = 1u64;
        for length in 0..=FEW {
            for bound in [2, 5, 1 << 20] {
                let mut keys: Vec<i64> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                        ((state >> 33) % bound) as i64 - bound as i64 / 2
                    })
                    .collect();
                let mut expected = keys.clone();
                expected.sort_unstable();
                sort_few(&mut keys);
                assert_eq!(keys, expected);
            }
        }
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        let numbers = [
            f64::NEG_INFINITY,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            1e-300,
            2.0,
            f64::INFINITY,
        ];
        assert!(numbers.map(key).is_sorted());
        let back = numbers.map(|of| number(key(of)));
        assert_eq!(back.map(f64::to_bits), numbers.map(f64::to_bits));
    }
}

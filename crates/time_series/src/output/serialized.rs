//! How results are written and read with the feature `serde`.

use gridstride_runtime::device::Element;
use gridstride_runtime::{Error, Result};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};
use time_series_kernels::Floor;

use super::{Aggregates, CustomAggregates, Summaries};
use crate::input::floor;
use crate::method::Method;
use crate::states::BucketState;

/// [`Aggregates`] that were read.
#[derive(Deserialize)]
pub struct UncheckedAggregates {
    offsets: Vec<usize>,
    starts: Array1<i64>,
    methods: Vec<Method>,
    columns: Vec<Array1<f64>>,
}

impl TryFrom<UncheckedAggregates> for Aggregates {
    type Error = Error;

    fn try_from(read: UncheckedAggregates) -> Result<Aggregates> {
        const OPERATION: &str = "Aggregates";
        let UncheckedAggregates {
            offsets,
            starts,
            methods,
            columns,
        } = read;
        check(OPERATION, &offsets, &starts, starts.len(), None)?;
        let lengths: Vec<_> = columns.iter().map(Array1::len).collect();
        if lengths != vec![starts.len(); methods.len()] {
            return Err(Error::Shape {
                operation: OPERATION,
                message: format!(
                    "there are columns of {lengths:?} numbers for {} buckets and {} methods",
                    starts.len(),
                    methods.len(),
                ),
            });
        }
        Ok(Aggregates {
            offsets,
            starts,
            methods,
            columns,
        })
    }
}

/// [`CustomAggregates`] that were read.
#[derive(Deserialize)]
pub struct UncheckedResults<O> {
    offsets: Vec<usize>,
    starts: Array1<i64>,
    results: Array1<O>,
}

impl<O: Element> TryFrom<UncheckedResults<O>> for CustomAggregates<O> {
    type Error = Error;

    fn try_from(read: UncheckedResults<O>) -> Result<CustomAggregates<O>> {
        let UncheckedResults {
            offsets,
            starts,
            results,
        } = read;
        check("CustomAggregates", &offsets, &starts, results.len(), None)?;
        Ok(CustomAggregates {
            offsets,
            starts,
            results,
        })
    }
}

/// [`Summaries`] as they are written: the bits of each bucket's state as a row of words, since states
/// have infinities and NaN, which JSON has not. Words are written as on little-endian machines.
#[derive(Serialize, Deserialize)]
pub struct States {
    every: i64,
    origin: i64,
    offsets: Vec<usize>,
    starts: Array1<i64>,
    states: Array2<u64>,
}

/// The words of a state.
const fn words<S>() -> usize {
    size_of::<S>() / size_of::<u64>()
}

impl<S: BucketState> From<Summaries<S>> for States {
    fn from(summaries: Summaries<S>) -> States {
        let Summaries {
            every,
            origin,
            buckets,
        } = summaries;
        let results = buckets.results.to_vec();
        let mut states = bytemuck::cast_slice::<S, u64>(&results).to_vec();
        if cfg!(target_endian = "big") {
            exchange_halves::<S>(&mut states);
        }
        let shape = (results.len(), words::<S>());
        States {
            every,
            origin,
            offsets: buckets.offsets,
            starts: buckets.starts,
            states: Array2::from_shape_vec(shape, states).expect("all words of all states"),
        }
    }
}

impl<S: BucketState> TryFrom<States> for Summaries<S> {
    type Error = Error;

    fn try_from(read: States) -> Result<Summaries<S>> {
        const OPERATION: &str = "Summaries";
        let States {
            every,
            origin,
            offsets,
            starts,
            states,
        } = read;
        let grid = floor(OPERATION, every, origin)?;
        let (rows, width) = states.dim();
        check(OPERATION, &offsets, &starts, rows, Some(&grid))?;
        if width != words::<S>() {
            let message = format!(
                "the states have {width} words each, and those of this type have {}",
                words::<S>()
            );
            return Err(Error::Shape {
                operation: OPERATION,
                message,
            });
        }
        let mut states = Vec::from_iter(states);
        let mut rows = states.chunks(width);
        if let Some(bucket) = rows.position(|state| !S::has_scales(state)) {
            let message = format!("the words of bucket {bucket} are no state");
            return Err(Error::input_at(OPERATION, "buckets", bucket, message));
        }
        if cfg!(target_endian = "big") {
            exchange_halves::<S>(&mut states);
        }
        let mut results = vec![S::zeroed(); starts.len()];
        bytemuck::cast_slice_mut::<S, u64>(&mut results).copy_from_slice(&states);
        Ok(Summaries {
            every,
            origin,
            buckets: CustomAggregates {
                offsets,
                starts,
                results: results.into(),
            },
        })
    }
}

/// Exchanges the halves of the words of states that are two numbers of 32 bits.
fn exchange_halves<S: BucketState>(states: &mut [u64]) {
    for state in states.chunks_mut(words::<S>()) {
        for &word in S::PAIRS {
            state[word] = state[word].rotate_left(32);
        }
    }
}

/// Checks that there is a result for each bucket of each series, and that the buckets of a series
/// ascend, on the grid if there is one.
fn check(
    operation: &'static str,
    offsets: &[usize],
    starts: &Array1<i64>,
    results: usize,
    grid: Option<&Floor>,
) -> Result<()> {
    let buckets = starts.len();
    gridstride_runtime::offsets::check(operation, offsets, buckets, "buckets")?;
    if results != buckets {
        let message = format!("there are {results} results for {buckets} buckets");
        return Err(Error::Shape { operation, message });
    }
    let refuse = |bucket: usize, what: String| {
        let message = format!("bucket {bucket} begins at {}, and {what}", starts[bucket]);
        Err(Error::input_at(operation, "starts", bucket, message))
    };
    for series in offsets.windows(2) {
        let mut pairs = series[0] + 1..series[1];
        if let Some(bucket) = pairs.find(|&bucket| starts[bucket - 1] >= starts[bucket]) {
            let before = starts[bucket - 1];
            let what =
                format!("has to begin after the bucket before it in its series, at {before}");
            return refuse(bucket, what);
        }
    }
    let Some(grid) = grid else {
        return Ok(());
    };
    let is_off = |&start: &i64| start < grid.lowest() || grid.floor(start) != start;
    match starts.iter().position(is_off) {
        Some(bucket) => {
            let (width, first) = (grid.width(), grid.lowest());
            let what = format!("bucket starts are {first} + n·{width}");
            refuse(bucket, what)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::{Moments, Summary};

    #[test]
    fn halves_of_pairs_are_exchanged() {
        let halves = |low: u64, high: u64| (high << 32) | low;
        let mut states = vec![halves(1, 2); 20];
        exchange_halves::<Summary>(&mut states);
        let mut state = vec![halves(1, 2); 10];
        // The number of values and the scale.
        state[9] = halves(2, 1);
        assert_eq!(states, [&state[..], &state[..]].concat());

        let mut states = vec![halves(1, 2); 15];
        exchange_halves::<Moments>(&mut states);
        state.extend([halves(1, 2); 5]);
        // The level, and what fills its word.
        state[14] = halves(2, 1);
        assert_eq!(states, state);
    }
}

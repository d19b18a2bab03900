//! How results are written and read with the feature `serde`.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::input::floor;
use super::output::{CustomAggregates, Summaries};
use super::states::BucketState;
use crate::device::Element;
use crate::{Error, Result};

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
        check("CustomAggregates", &offsets, &starts, results.len())?;
        Ok(CustomAggregates {
            offsets,
            starts,
            results,
        })
    }
}

/// [`Summaries`] as they are written: the bits of each bucket's state as a row of words, since states
/// have infinities and NaN, which JSON has not.
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
        let states = bytemuck::cast_slice::<S, u64>(&results).to_vec();
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
        floor(OPERATION, every, origin)?;
        let (rows, width) = states.dim();
        check(OPERATION, &offsets, &starts, rows)?;
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
        let states = Vec::from_iter(states);
        let mut rows = states.chunks(width);
        if let Some(bucket) = rows.position(|state| !S::has_scales(state)) {
            let message = format!("the words of bucket {bucket} are no state");
            return Err(Error::input_at(OPERATION, "buckets", bucket, message));
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

/// Checks that there is a result for each bucket of each series.
fn check(
    operation: &'static str,
    offsets: &[usize],
    starts: &Array1<i64>,
    results: usize,
) -> Result<()> {
    let buckets = starts.len();
    crate::offsets::check(operation, offsets, buckets, "buckets")?;
    if results == buckets {
        return Ok(());
    }
    let message = format!("there are {results} results for {buckets} buckets");
    Err(Error::Shape { operation, message })
}

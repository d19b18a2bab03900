//! Timestamps rounded.

use ndarray::{ArrayView1, ArrayViewMut1, Axis, s};
use pulp::{Arch, NullaryFnOnce};
use time_series_kernels::Floor;

use super::timeline::CHUNK;
use crate::Result;
use crate::parallel;
use crate::time_series::input::require_labels;

/// Writes rounded timestamps elsewhere.
pub fn round_into(
    operation: &'static str,
    floor: &Floor,
    timestamps: ArrayView1<i64>,
    mut out: ArrayViewMut1<i64>,
) -> Result<()> {
    check(operation, floor, timestamps)?;
    let arch = Arch::new();
    let chunks = out.axis_chunks_iter_mut(Axis(0), CHUNK);
    let chunks = chunks.zip(timestamps.axis_chunks_iter(Axis(0), CHUNK));
    parallel::each(chunks, |(mut rounded, timestamps)| {
        rounded.assign(&timestamps);
        arch.dispatch(Round(floor, rounded));
    });
    Ok(())
}

/// Rounds timestamps in place.
pub fn round(
    operation: &'static str,
    floor: &Floor,
    mut timestamps: ArrayViewMut1<i64>,
) -> Result<()> {
    check(operation, floor, timestamps.view())?;
    let arch = Arch::new();
    let chunks = timestamps.axis_chunks_iter_mut(Axis(0), CHUNK);
    parallel::each(chunks, |chunk| arch.dispatch(Round(floor, chunk)));
    Ok(())
}

/// Whether all timestamps have a label.
fn check(operation: &'static str, floor: &Floor, timestamps: ArrayView1<i64>) -> Result<()> {
    let arch = Arch::new();
    let first = parallel::find_first(timestamps.len().div_ceil(CHUNK), &|number| {
        let chunk = timestamps.slice(s![parallel::chunk(number, CHUNK, timestamps.len())]);
        arch.dispatch(IsBelow(floor.lowest(), chunk))
            .then_some(number)
    });
    match first {
        Some(_) => require_labels(operation, timestamps, floor),
        None => Ok(()),
    }
}

/// Rounds some timestamps.
struct Round<'a>(&'a Floor, ArrayViewMut1<'a, i64>);

impl NullaryFnOnce for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Round(floor, mut timestamps) = self;
        match timestamps.as_slice_memory_order_mut() {
            Some(timestamps) => {
                for timestamp in timestamps {
                    *timestamp = floor.floor(*timestamp);
                }
            }
            None => timestamps.mapv_inplace(|timestamp| floor.floor(timestamp)),
        }
    }
}

/// Whether some timestamps are earlier than one.
struct IsBelow<'a>(i64, ArrayView1<'a, i64>);

impl NullaryFnOnce for IsBelow<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let IsBelow(lowest, timestamps) = self;
        let is_below = |any: bool, timestamp: &i64| any | (*timestamp < lowest);
        match timestamps.as_slice_memory_order() {
            Some(timestamps) => timestamps.iter().fold(false, is_below),
            None => timestamps.iter().fold(false, is_below),
        }
    }
}

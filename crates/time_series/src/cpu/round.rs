//! Rounding of timestamps.

use gridstride_runtime::Result;
use gridstride_runtime::parallel;
use ndarray::{ArrayView1, ArrayViewMut1, Axis, s};
use pulp::{Arch, NullaryFnOnce};
use time_series_kernels::Floor;

use crate::input::{Rounding, require_labels};
use crate::timeline::CHUNK;

/// Writes rounded timestamps to `out`.
pub fn round_into(rounding: &mut Rounding) -> Result<()> {
    check(rounding.operation, rounding.floor, rounding.timestamps)?;
    let (arch, floor) = (Arch::new(), rounding.floor);
    let chunks = rounding.out.axis_chunks_iter_mut(Axis(0), CHUNK);
    let chunks = chunks.zip(rounding.timestamps.axis_chunks_iter(Axis(0), CHUNK));
    parallel::each(chunks, |(mut rounded, timestamps)| {
        rounded.assign(&timestamps);
        arch.dispatch(Round(floor, rounded));
    });
    Ok(())
}

/// Rounds timestamps in place.
pub fn round(
    operation: &'static str,
    floor: Floor,
    mut timestamps: ArrayViewMut1<i64>,
) -> Result<()> {
    check(operation, floor, timestamps.view())?;
    let arch = Arch::new();
    let chunks = timestamps.axis_chunks_iter_mut(Axis(0), CHUNK);
    parallel::each(chunks, |chunk| arch.dispatch(Round(floor, chunk)));
    Ok(())
}

/// Checks that all timestamps have a label.
fn check(operation: &'static str, floor: Floor, timestamps: ArrayView1<i64>) -> Result<()> {
    let arch = Arch::new();
    let first = parallel::find_first(timestamps.len().div_ceil(CHUNK), &|number| {
        let chunk = timestamps.slice(s![parallel::chunk(number, CHUNK, timestamps.len())]);
        arch.dispatch(IsBelow(floor.lowest(), chunk))
            .then_some(number)
    });
    match first {
        Some(_) => require_labels(operation, timestamps, &floor),
        None => Ok(()),
    }
}

/// Rounds timestamps in place.
struct Round<'a>(Floor, ArrayViewMut1<'a, i64>);

impl NullaryFnOnce for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Round(floor, mut timestamps) = self;
        let round = |timestamp: &mut i64| *timestamp = floor.floor(*timestamp);
        match timestamps.as_slice_memory_order_mut() {
            Some(timestamps) => timestamps.iter_mut().for_each(round),
            None => timestamps.iter_mut().for_each(round),
        }
    }
}

/// Whether any timestamp is earlier than the first field.
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

//! Rounding of timestamps.

use gridstride_runtime::Result;
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel;
use ndarray::{ArrayView1, ArrayViewMut1, Axis, s};
use time_series_kernels::Floor;

use crate::input::{Rounding, require_labels};
use crate::timeline::CHUNK;

/// Writes rounded timestamps to `out`.
pub fn round_into(rounding: &mut Rounding) -> Result<()> {
    check(rounding.operation, rounding.floor, rounding.timestamps)?;
    let (isa, floor) = (Isa::detect(), rounding.floor);
    let chunks = rounding.out.axis_chunks_iter_mut(Axis(0), CHUNK);
    let chunks = chunks.zip(rounding.timestamps.axis_chunks_iter(Axis(0), CHUNK));
    parallel::each(chunks, |(mut rounded, timestamps)| {
        rounded.assign(&timestamps);
        isa.run(
            #[inline(always)]
            || round_chunk(floor, rounded),
        );
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
    let isa = Isa::detect();
    let chunks = timestamps.axis_chunks_iter_mut(Axis(0), CHUNK);
    parallel::each(chunks, |chunk| {
        isa.run(
            #[inline(always)]
            || round_chunk(floor, chunk),
        );
    });
    Ok(())
}

/// Checks that all timestamps have a label.
fn check(operation: &'static str, floor: Floor, timestamps: ArrayView1<i64>) -> Result<()> {
    let isa = Isa::detect();
    let first = parallel::find_first(timestamps.len().div_ceil(CHUNK), &|number| {
        let chunk = timestamps.slice(s![parallel::chunk(number, CHUNK, timestamps.len())]);
        let any = isa.run(
            #[inline(always)]
            || any_below(floor.lowest(), chunk),
        );
        any.then_some(number)
    });
    match first {
        Some(_) => require_labels(operation, timestamps, &floor),
        None => Ok(()),
    }
}

/// Rounds timestamps in place.
#[inline(always)]
fn round_chunk(floor: Floor, mut timestamps: ArrayViewMut1<i64>) {
    let round = |timestamp: &mut i64| *timestamp = floor.floor(*timestamp);
    match timestamps.as_slice_memory_order_mut() {
        Some(timestamps) => timestamps.iter_mut().for_each(round),
        None => timestamps.iter_mut().for_each(round),
    }
}

/// Returns whether any timestamp is earlier than `lowest`.
#[inline(always)]
fn any_below(lowest: i64, timestamps: ArrayView1<i64>) -> bool {
    let is_below = |any: bool, timestamp: &i64| any | (*timestamp < lowest);
    match timestamps.as_slice_memory_order() {
        Some(timestamps) => timestamps.iter().fold(false, is_below),
        None => timestamps.iter().fold(false, is_below),
    }
}

//! The points of some series, on the host.

use std::borrow::Cow;

use ndarray::ArrayView1;

use super::{AGGREGATE, MAX_POINTS};
use crate::device::collected;
use crate::error::During;
use crate::{Error, Result};

/// Series one after the other: as many values as timestamps, and as many offsets as series and one more.
pub struct Series<'a, T: Clone> {
    pub timestamps: Cow<'a, [i64]>,
    pub values: Cow<'a, [T]>,
    pub offsets: Cow<'a, [usize]>,
}

impl<'a, T: Clone> Series<'a, T> {
    /// Without a copy if the views have no gaps.
    pub fn new(
        offsets: &'a [usize],
        timestamps: ArrayView1<'a, i64>,
        values: ArrayView1<'a, T>,
    ) -> Result<Series<'a, T>> {
        check_lengths(timestamps.len(), values.len())?;
        check_offsets(offsets, timestamps.len())?;
        Ok(Series {
            timestamps: packed(timestamps).during(AGGREGATE)?,
            values: packed(values).during(AGGREGATE)?,
            offsets: offsets.into(),
        })
    }
}

/// The elements in order.
///
/// # Errors
/// [`Error::Allocation`].
pub fn packed<T: Clone>(view: ArrayView1<'_, T>) -> Result<Cow<'_, [T]>> {
    Ok(match view.to_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(collected(view.iter().cloned())?),
    })
}

pub fn check_lengths(timestamps: usize, values: usize) -> Result<()> {
    if timestamps != values {
        let message = format!(
            "the number of timestamps is {timestamps}, the number of values {values}: they must be equal"
        );
        return Err(Error::Shape {
            operation: AGGREGATE,
            message,
        });
    }
    check_count(AGGREGATE, timestamps)
}

pub fn check_count(operation: &'static str, points: usize) -> Result<()> {
    if points > MAX_POINTS {
        let message = format!("{points} points are more than {MAX_POINTS}");
        return Err(Error::input(operation, message));
    }
    Ok(())
}

/// Offsets ascend from 0 to the number of points.
pub fn check_offsets(offsets: &[usize], points: usize) -> Result<()> {
    let message = match offsets {
        [] => "there are no offsets: one series of n points has the offsets 0 and n".into(),
        [0, .., last] | [last @ 0] if *last == points => {
            match offsets.windows(2).position(|pair| pair[0] > pair[1]) {
                None => return Ok(()),
                Some(index) => format!(
                    "offset {} at index {} is below the one before it, {}",
                    offsets[index + 1],
                    index + 1,
                    offsets[index]
                ),
            }
        }
        [first, ..] => format!(
            "the offsets go from {first} to {}, and have to go from 0 to the number of points, {points}",
            offsets[offsets.len() - 1]
        ),
    };
    Err(Error::input(AGGREGATE, message))
}

/// The series of a point: the last one that begins at or before it, since empty ones begin where the next one does.
pub fn series_of(offsets: &[usize], point: usize) -> usize {
    offsets.partition_point(|&offset| offset <= point) - 1
}

/// The error of a timestamp below the one before it in its series.
pub fn out_of_order(
    operation: &'static str,
    offsets: &[usize],
    index: usize,
    before: i64,
    timestamp: i64,
) -> Error {
    let series = series_of(offsets, index);
    let of_series = match offsets.len() {
        2 => String::new(),
        _ => format!(" of series {series}"),
    };
    let hint = match operation {
        AGGREGATE => ": points have to be in the order of time, or Order::Sort asked for",
        _ => "",
    };
    Error::input_at(
        operation,
        index,
        format!(
            "timestamp {timestamp} at index {index}{of_series} is below the one before it, {before}{hint}"
        ),
    )
}

//! Aggregates that can be aggregated.

use ndarray::{Array1, ArrayView1};
use time_series_kernels::{Statistics, Summary};

use super::method::Kind;
use super::{
    Aggregates, Aggregation, Custom, CustomAggregates, Method, RESAMPLE, floor_of, without_label,
};
use crate::device::{collected, copied, packed, reserve};
use crate::error::During;
use crate::{Error, Result};

const COLUMNS: &str = "columns";

/// Summaries of buckets, for all methods but percentiles and rates: number, sum, squared deviations, extremes, first
/// and last value. From these coarser buckets are made without the points.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{Aggregation, Method};
/// use ndarray::array;
///
/// let timestamps = array![0, 1, 2, 3, 4, 5, 11];
/// let values = array![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// let minutes = Aggregation::every(2)
///     .summaries_single(&Device::auto(), timestamps.view(), values.view())?;
/// let hours = minutes.resample(6)?.columns(&[Method::COUNT, Method::MEAN], 1)?;
/// assert_eq!(hours.starts(), array![0, 6]);
/// assert_eq!(hours.columns(), [array![6.0, 1.0], array![10.5, 64.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Summaries {
    granularity: i64,
    origin: i64,
    offsets: Vec<usize>,
    starts: Array1<i64>,
    summaries: Array1<Summary>,
}

/// The summaries as an aggregate.
pub(super) fn custom() -> Custom<time_series_kernels::Summaries> {
    {
        Custom::with_kernels(
            time_series_kernels::Summaries::NEW,
            &crate::modules::TIME_SERIES,
            &time_series_kernels::SUMMARIES,
        )
    }
}

impl Summaries {
    pub(super) fn new(aggregation: &Aggregation, found: CustomAggregates<Summary>) -> Summaries {
        Summaries {
            granularity: aggregation.granularity,
            origin: aggregation.origin,
            offsets: found.offsets,
            starts: found.starts,
            summaries: found.results,
        }
    }

    /// The first timestamp of each bucket.
    pub fn starts(&self) -> ArrayView1<'_, i64> {
        self.starts.view()
    }

    /// The summary of each bucket.
    pub fn summaries(&self) -> ArrayView1<'_, Summary> {
        self.summaries.view()
    }

    /// Where the buckets of each series begin, and at the end their number.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The summaries of buckets of a coarser granularity, which has to be a multiple of this one: up to rounding of
    /// sums the same as of the points. One of them begins where one of these buckets does, and where it would
    /// have begun with the same origin.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) unless it is a multiple of this granularity.
    pub fn resample(&self, granularity: i64) -> Result<Summaries> {
        if granularity < self.granularity || granularity % self.granularity != 0 {
            return Err(Error::input(
                RESAMPLE,
                format!(
                    "the granularity {granularity} is not a multiple of that of the summaries, {}",
                    self.granularity
                ),
            ));
        }
        let floor = floor_of(RESAMPLE, granularity, self.origin)?;
        let mut offsets = Vec::new();
        reserve(&mut offsets, self.offsets.len()).during(RESAMPLE)?;
        let (mut starts, mut summaries) = (Vec::new(), Vec::<Summary>::new());
        offsets.push(0);
        for series in self.offsets.windows(2) {
            let first = starts.len();
            for bucket in series[0]..series[1] {
                let (start, summary) = (self.starts[bucket], self.summaries[bucket]);
                if start < floor.lowest() {
                    return Err(without_label(RESAMPLE, bucket, start, &floor));
                }
                let start = floor.floor(start);
                match summaries.last_mut() {
                    Some(last) if starts.len() > first && starts.last() == Some(&start) => {
                        *last = last.merge(summary);
                    }
                    _ => {
                        reserve(&mut starts, 1).during(RESAMPLE)?;
                        reserve(&mut summaries, 1).during(RESAMPLE)?;
                        starts.push(start);
                        summaries.push(summary);
                    }
                }
            }
            offsets.push(starts.len());
        }
        Ok(Summaries {
            granularity,
            origin: self.origin,
            offsets,
            starts: starts.into(),
            summaries: summaries.into(),
        })
    }

    /// Columns by methods other than percentiles, and of the values that were summarised, not of their rate.
    /// `ddof` is that of [`Aggregation::ddof`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) for a method that summaries do not tell.
    pub fn columns(&self, methods: &[Method], ddof: u32) -> Result<Aggregates> {
        let column = |method: &Method| match method.kind() {
            Kind::Statistic(statistic) if !method.is_rate() => {
                let of = |summary: &Summary| summary.statistic(statistic, f64::from(ddof));
                Ok(collected(self.summaries.iter().map(of))
                    .during(COLUMNS)?
                    .into())
            }
            _ => Err(Error::input(
                COLUMNS,
                format!("summaries do not tell {method}: they have neither percentiles nor rates"),
            )),
        };
        Ok(Aggregates {
            offsets: copied(&self.offsets).during(COLUMNS)?,
            starts: packed(&self.starts).during(COLUMNS)?.into(),
            methods: methods.to_vec(),
            columns: methods.iter().map(column).collect::<Result<_>>()?,
        })
    }
}

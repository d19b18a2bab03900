//! Results on the host.

#[cfg(feature = "serde")]
mod serialized;

use std::fmt;
use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{Element, collected, copied, packed, reserve};
use gridstride_runtime::error::During;
use gridstride_runtime::short::Short;
use ndarray::{Array1, ArrayView1};
use time_series_kernels::{State, Summary};

use super::input::{coarser, no_statistic, without_label};
use super::method::{Kind, Method};
use super::options::TimeBuckets;
use super::states::BucketState;

const RESAMPLE: &str = "resample";
const COLUMNS: &str = "columns";

/// Buckets and one column for each method.
///
/// The buckets of a series are in the order of time, and the series in their order. The columns of
/// all methods are `f64`: counts are exact.
#[derive(Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "serialized::UncheckedAggregates")
)]
pub struct Aggregates {
    /// The index of each series' first bucket, and the number of buckets.
    pub(crate) offsets: Vec<usize>,
    pub(crate) starts: Array1<i64>,
    pub(crate) methods: Vec<Method>,
    pub(crate) columns: Vec<Array1<f64>>,
}

/// Formats only the first and last of many buckets.
impl fmt::Debug for Aggregates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aggregates")
            .field("offsets", &Short(&self.offsets))
            .field("starts", &self.starts)
            .field("methods", &self.methods)
            .field("columns", &self.columns)
            .finish()
    }
}

impl Aggregates {
    /// Returns the first timestamp of each bucket.
    pub fn starts(&self) -> ArrayView1<'_, i64> {
        self.starts.view()
    }

    /// Returns the methods, one for each column.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Returns the column of the method with an index: a number for each bucket.
    ///
    /// # Panics
    /// If `index` is not below the number of methods.
    #[track_caller]
    pub fn column(&self, index: usize) -> ArrayView1<'_, f64> {
        require_column(index, self.columns.len());
        self.columns[index].view()
    }

    /// Returns the first column of a method, or `None`. [`Method::MEDIAN`] and the 50th percentile
    /// are two methods.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Method, aggregate};
    /// use ndarray::array;
    ///
    /// let (timestamps, values) = (array![0, 1, 9], array![1.0, 2.0, 4.0]);
    /// let methods = [Method::MEAN, Method::MAX];
    /// let found = aggregate(&Device::cpu(), timestamps.view(), values.view(), 5, &methods)?;
    /// assert_eq!(found.column_of(Method::MAX), Some(array![2.0, 4.0].view()));
    /// assert_eq!(found.column_of(Method::SUM), None);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn column_of(&self, method: Method) -> Option<ArrayView1<'_, f64>> {
        Some(self.column(index_of(&self.methods, method)?))
    }

    /// Returns all columns, in the order of the methods.
    pub fn columns(&self) -> &[Array1<f64>] {
        &self.columns
    }

    /// Returns the number of buckets.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no buckets.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the number of series.
    pub fn series_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the buckets of the series with an index.
    ///
    /// # Panics
    /// If there is no such series.
    pub fn series(&self, index: usize) -> Range<usize> {
        self.offsets[index]..self.offsets[index + 1]
    }

    /// Returns the index of each series' first bucket, and at the end the number of buckets.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Converts the result to the starts and the columns.
    pub fn into_parts(self) -> (Array1<i64>, Vec<Array1<f64>>) {
        (self.starts, self.columns)
    }
}

/// Panics unless there is a column with an index.
#[track_caller]
pub(super) fn require_column(index: usize, count: usize) {
    assert!(
        index < count,
        "no column {index}: there are {count}, one for each method: set methods with TimeBuckets::methods"
    );
}

/// Returns the index of the first column of a method.
pub(super) fn index_of(methods: &[Method], method: Method) -> Option<usize> {
    methods.iter().position(|&other| other == method)
}

/// Buckets, and a result of an [`Aggregate`](super::Aggregate) for each bucket.
#[derive(Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        try_from = "serialized::UncheckedResults<O>",
        bound(deserialize = "O: Element + serde::Deserialize<'de>")
    )
)]
pub struct CustomAggregates<O: Element> {
    pub(crate) offsets: Vec<usize>,
    pub(crate) starts: Array1<i64>,
    pub(crate) results: Array1<O>,
}

/// Formats only the first and last of many buckets.
impl<O: Element + fmt::Debug> fmt::Debug for CustomAggregates<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomAggregates")
            .field("offsets", &Short(&self.offsets))
            .field("starts", &self.starts)
            .field("results", &self.results)
            .finish()
    }
}

impl<O: Element> CustomAggregates<O> {
    /// Returns the first timestamp of each bucket.
    pub fn starts(&self) -> ArrayView1<'_, i64> {
        self.starts.view()
    }

    /// Returns the result for each bucket.
    pub fn results(&self) -> ArrayView1<'_, O> {
        self.results.view()
    }

    /// Returns the index of each series' first bucket, and at the end the number of buckets.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }
}

/// The number of points in each bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BucketCounts {
    /// The first timestamp of each bucket.
    pub starts: Array1<i64>,
    /// The number of points in each bucket, at least 1.
    pub counts: Array1<u32>,
}

/// Summaries of buckets, by default number, sum, squared deviations, extremes, first and last value.
/// Summaries of coarser buckets, and all methods that [`has`](Self::has) names, are computed from
/// them.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{TimeBuckets, Method};
/// use ndarray::array;
///
/// let timestamps = array![0, 1, 2, 3, 4, 5, 11];
/// let values = array![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// let minutes = TimeBuckets::every(2)
///     .summaries(&Device::auto(), timestamps.view(), values.view())?;
/// let hours = minutes.resample(6)?.columns(&[Method::COUNT, Method::MEAN], 1)?;
/// assert_eq!(hours.starts(), array![0, 6]);
/// assert_eq!(hours.columns(), [array![6.0, 1.0], array![10.5, 64.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        into = "serialized::States",
        try_from = "serialized::States",
        bound = ""
    )
)]
pub struct Summaries<S: BucketState = Summary> {
    pub(super) every: i64,
    pub(super) origin: i64,
    pub(super) buckets: CustomAggregates<S>,
}

impl<S: BucketState> Summaries<S> {
    pub(super) fn new(options: &TimeBuckets, buckets: CustomAggregates<S>) -> Summaries<S> {
        Summaries {
            every: options.every,
            origin: options.origin,
            buckets,
        }
    }

    /// Returns the first timestamp of each bucket.
    pub fn starts(&self) -> ArrayView1<'_, i64> {
        self.buckets.starts()
    }

    /// Returns the summary of each bucket.
    pub fn summaries(&self) -> ArrayView1<'_, S> {
        self.buckets.results()
    }

    /// Returns whether [`columns`](Self::columns) computes a method: a statistic of values that the
    /// state of a bucket has. Percentiles and rates are never computed.
    ///
    /// ```
    /// use gridstride::time_series::{Method, Summaries, Summary};
    ///
    /// assert!(Summaries::<Summary>::has(Method::STD));
    /// assert!(!Summaries::<Summary>::has(Method::MEDIAN));
    /// ```
    pub fn has(method: Method) -> bool {
        let of_values = !method.is_rate() && !method.is_percentile();
        of_values && State::of(method.statistic()) <= S::STATE
    }

    /// Returns the index of each series' first bucket, and at the end the number of buckets.
    pub fn offsets(&self) -> &[usize] {
        self.buckets.offsets()
    }

    /// Returns the summaries of coarser buckets with the same origin: up to rounding of sums, those
    /// of the points.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) unless `every` is a multiple of the
    /// length of these buckets.
    pub fn resample(&self, every: i64) -> Result<Summaries<S>> {
        let floor = coarser(RESAMPLE, self.every, every, self.origin)?;
        let mut offsets = Vec::new();
        reserve(&mut offsets, self.offsets().len()).during(RESAMPLE)?;
        let (mut starts, mut summaries) = (Vec::new(), Vec::<S>::new());
        offsets.push(0);
        for series in self.offsets().windows(2) {
            let first = starts.len();
            for bucket in series[0]..series[1] {
                let (start, summary) = (self.starts()[bucket], self.summaries()[bucket]);
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
            every,
            origin: self.origin,
            buckets: CustomAggregates {
                offsets,
                starts: starts.into(),
                results: summaries.into(),
            },
        })
    }

    /// Returns a column for each method, with the delta degrees of freedom of
    /// [`TimeBuckets::ddof`].
    ///
    /// # Errors
    /// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for methods that the summaries do not
    /// [have](Self::has).
    pub fn columns(&self, methods: &[Method], ddof: u32) -> Result<Aggregates> {
        let column = |method: &Method| match method.kind() {
            Kind::Statistic(statistic) if Self::has(*method) => {
                let number = |summary: &S| summary.statistic(statistic, f64::from(ddof));
                let numbers = collected(self.buckets.results.iter().map(number));
                Ok(numbers.during(COLUMNS)?.into())
            }
            _ => Err(no_statistic(COLUMNS, *method, Self::has)),
        };
        Ok(Aggregates {
            offsets: copied(&self.buckets.offsets).during(COLUMNS)?,
            starts: packed(&self.buckets.starts).during(COLUMNS)?.into(),
            methods: methods.to_vec(),
            columns: methods.iter().map(column).collect::<Result<_>>()?,
        })
    }
}

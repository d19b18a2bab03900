//! The calls for arrays on the host; in submodules, those that write to existing arrays, those for
//! arrays in a device's memory and those for timestamps without values.

mod existing;
mod resident;
mod timestamps;

use gridstride_runtime::device::Element;
use gridstride_runtime::error::During;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::ArrayView1;
use time_series_kernels::Aggregate;

pub use timestamps::{
    bucket_counts, bucket_counts_device, round_timestamps, round_timestamps_device,
    round_timestamps_device_inplace, round_timestamps_device_into, round_timestamps_inplace,
    round_timestamps_into,
};

use super::custom::Custom;
use super::dispatch;
use super::element::Value;
use super::input::Series;
use super::method::Method;
use super::options::TimeBuckets;
#[allow(unused_imports, reason = "for links")]
use super::options::{Nan, Order};
use super::output::{Aggregates, CustomAggregates, Summaries};
use super::room::Found;
use super::states::BucketState;

/// Computes statistics of the values of one series in buckets of length `every`, which has the
/// timestamps' unit: a column for each method. The timestamps must not descend.
///
/// # Errors
/// The errors of [`TimeBuckets::aggregate`], which has the options.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{Method, aggregate};
/// use ndarray::array;
///
/// let (timestamps, values) = (array![0, 5, 35], array![1.0f32, 2.0, 4.0]);
/// let methods = [Method::COUNT, Method::MEDIAN, Method::LAST.rate()];
/// let found = aggregate(&Device::auto(), timestamps.view(), values.view(), 35, &methods)?;
/// assert_eq!(found.starts(), array![0, 35]);
/// assert_eq!(found.columns(), [array![2.0, 1.0], array![1.5, 4.0], array![1.0, 2.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn aggregate<T: Value>(
    devices: &(impl DeviceSet + ?Sized),
    timestamps: ArrayView1<i64>,
    values: ArrayView1<T>,
    every: i64,
    methods: &[Method],
) -> Result<Aggregates> {
    TimeBuckets::every(every)
        .methods(methods)
        .aggregate(devices, timestamps, values)
}

/// Fails unless `offsets` ascend from 0 to the number of `points`, as the calls for several series
/// require. Those who change points and offsets before such a call check them with this function, so
/// that errors have the offsets and the indices of their users.
///
/// # Errors
/// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for the first bad offset.
///
/// ```
/// use gridstride::time_series::check_offsets;
///
/// assert!(check_offsets("totals", &[0, 3, 5], 5).is_ok());
/// assert_eq!(
///     check_offsets("totals", &[0, 3, 5], 6).unwrap_err().to_string(),
///     "totals: the offsets go from 0 to 5, and have to go from 0 to the number of points, 6"
/// );
/// ```
pub fn check_offsets(operation: &'static str, offsets: &[usize], points: usize) -> Result<()> {
    gridstride_runtime::offsets::check(operation, offsets, points, "points")
}

impl TimeBuckets {
    /// Aggregates one series of N timestamps and N values.
    ///
    /// Views may have any strides; one without gaps is not copied on the host.
    ///
    /// # Errors
    /// - [`Error::Shape`](gridstride_runtime::Error::Shape) if the numbers of timestamps and values differ.
    /// - [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for `every` below 1, a
    ///   percentile outside of 0 to 100, more than 2³² − 1 points, the first timestamp below the
    ///   timestamp before it, unless they are [sorted](Order::Sort), the first timestamp whose
    ///   bucket begins before the first `i64`, and a set of no devices.
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the memory does not suffice, also for
    ///   [filled](super::Fill) buckets.
    /// - On GPUs [`Error::Driver`](gridstride_runtime::Error::Driver) if the driver fails, and
    ///   [`Error::Load`](gridstride_runtime::Error::Load) if it does not accept the kernels.
    pub fn aggregate<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Aggregates> {
        let offsets = [0, timestamps.len()];
        let series = Series::new("aggregate", self, &offsets, timestamps, values)?;
        let found = dispatch::aggregate(devices.devices(), &series).and_then(Found::download);
        found.during(series.operation)
    }

    /// Aggregates S series, which follow each other in arrays of N timestamps and N values. Of the
    /// S + 1 `offsets`, series i has the points from offset i to offset i + 1. Series may be empty.
    ///
    /// # Errors
    /// The errors of [`aggregate`](Self::aggregate), and
    /// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for the first bad offset: offsets must
    /// ascend from 0 to N.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{TimeBuckets, Method};
    /// use ndarray::array;
    ///
    /// let timestamps = array![0, 1, 9, 0, 1];
    /// let values = array![1.0, 2.0, 4.0, 8.0, 16.0];
    /// let sums = TimeBuckets::every(5).methods(&[Method::SUM]);
    /// let device = Device::auto();
    /// let found = sums.aggregate_series(&device, &[0, 3, 5], timestamps.view(), values.view())?;
    /// assert_eq!(found.starts(), array![0, 5, 0]);
    /// assert_eq!(found.column(0), array![3.0, 4.0, 24.0]);
    /// assert_eq!(found.series(1), 2..3);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn aggregate_series<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Aggregates> {
        let series = Series::new("aggregate_series", self, offsets, timestamps, values)?;
        let found = dispatch::aggregate(devices.devices(), &series).and_then(Found::download);
        found.during(series.operation)
    }

    /// Aggregates one series by a user-defined [`Aggregate`] instead of the methods. The options
    /// for singletons and filling have no effect. The aggregate does not see points whose NaN is
    /// [skipped](Nan::Skip), so the result of a bucket may come from no points.
    ///
    /// # Errors
    /// The errors of [`aggregate`](Self::aggregate), and
    /// [`Error::Unavailable`](gridstride_runtime::Error::Unavailable) on a device that runs kernels if the
    /// aggregate has no kernels.
    pub fn custom<T: Value, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        custom: &Custom<A>,
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<CustomAggregates<A::Output>> {
        let offsets = [0, timestamps.len()];
        let series = Series::new("custom", self, &offsets, timestamps, values)?;
        dispatch::custom(custom, devices.devices(), &series).during(series.operation)
    }

    /// As [`custom`](Self::custom), but for several series, with the offsets and errors of
    /// [`aggregate_series`](Self::aggregate_series).
    pub fn custom_series<T: Value, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        custom: &Custom<A>,
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<CustomAggregates<A::Output>> {
        let series = Series::new("custom_series", self, offsets, timestamps, values)?;
        dispatch::custom(custom, devices.devices(), &series).during(series.operation)
    }

    /// Summarises each bucket of one series: all statistics except percentiles, rates, skewness and
    /// kurtosis, in a form that can be [resampled](Summaries::resample) to coarser buckets. The options
    /// for methods, singletons and filling have no effect.
    ///
    /// # Errors
    /// The errors of [`aggregate`](Self::aggregate).
    pub fn summaries<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Summaries> {
        let offsets = [0, timestamps.len()];
        let series = Series::new("summaries", self, &offsets, timestamps, values)?;
        dispatch::summaries(devices.devices(), &series).during(series.operation)
    }

    /// As [`summaries_series`](Self::summaries_series), but with a state of your choice for each bucket,
    /// which may have more statistics than a [`Summary`](super::Summary).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Method, Summary, TimeBuckets};
    /// use ndarray::array;
    ///
    /// let (timestamps, values) = (array![0, 1, 9], array![1.0, 2.0, 4.0]);
    /// let found = TimeBuckets::every(5)
    ///     .summaries_of::<Summary, _>(&Device::auto(), &[0, 3], timestamps.view(), values.view())?;
    /// assert_eq!(found.columns(&[Method::SUM], 1)?.column(0), array![3.0, 4.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn summaries_of<S: BucketState, T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Summaries<S>> {
        let series = Series::new("summaries_of", self, offsets, timestamps, values)?;
        dispatch::summaries(devices.devices(), &series).during(series.operation)
    }

    /// As [`summaries`](Self::summaries), but for several series, with the offsets and errors of
    /// [`aggregate_series`](Self::aggregate_series).
    pub fn summaries_series<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Summaries> {
        let series = Series::new("summaries_series", self, offsets, timestamps, values)?;
        dispatch::summaries(devices.devices(), &series).during(series.operation)
    }
}

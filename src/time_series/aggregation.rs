//! Aggregation with settings of one's own.

use ndarray::{ArrayView1, Ix1};
use time_series_kernels::{Aggregate, Floor};

use super::custom::Custom;
use super::series::{Series, check_lengths, check_offsets};
use super::{
    AGGREGATE, Aggregates, CustomAggregates, DeviceAggregates, Duplicates, Fill, Method, Nan,
    Order, Singletons, Summaries, Value, divided, floor_of,
};
use crate::device::{DeviceArray, Element};
use crate::error::During;
use crate::{DeviceSet, Result};

/// Statistics of the values of one series in buckets of `granularity`, which has the timestamps' unit: a column
/// for each method. The timestamps must not descend.
///
/// # Errors
/// Those of [`Aggregation::run`], which also has the options.
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
    granularity: i64,
    methods: &[Method],
) -> Result<Aggregates> {
    Aggregation::every(granularity)
        .methods(methods)
        .run(devices, timestamps, values)
}

/// An aggregation with settings of one's own; [`aggregate`] is one with the defaults.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{Aggregation, Fill, Method, Nan};
/// use ndarray::array;
///
/// let timestamps = array![0, 1, 1, 7];
/// let values = array![1.0, f64::NAN, 3.0, 8.0];
/// let found = Aggregation::every(2)
///     .methods(&[Method::COUNT, Method::MEAN])
///     .nan(Nan::Skip)
///     .fill(Fill::Value(-1.0))
///     .run(&Device::auto(), timestamps.view(), values.view())?;
/// assert_eq!(found.starts(), array![0, 2, 4, 6]);
/// assert_eq!(found.column(0), array![2.0, -1.0, -1.0, 1.0]);
/// assert_eq!(found.column(1), array![2.0, -1.0, -1.0, 8.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    pub(super) granularity: i64,
    pub(super) origin: i64,
    pub(super) methods: Vec<Method>,
    pub(super) nan: Nan,
    pub(super) ddof: u32,
    pub(super) singletons: Singletons,
    pub(super) duplicates: Duplicates,
    pub(super) order: Order,
    pub(super) fill: Fill,
}

impl Aggregation {
    /// Into buckets of `granularity`, 1 at least, in the timestamps' unit; one of them begins at 0. So far
    /// without methods.
    pub fn every(granularity: i64) -> Aggregation {
        Aggregation {
            granularity,
            origin: 0,
            methods: Vec::new(),
            nan: Nan::default(),
            ddof: 1,
            singletons: Singletons::default(),
            duplicates: Duplicates::default(),
            order: Order::default(),
            fill: Fill::default(),
        }
    }

    /// A timestamp at which a bucket begins.
    pub fn origin(self, origin: i64) -> Aggregation {
        Aggregation { origin, ..self }
    }

    /// What is computed: a column each, in this order.
    pub fn methods(self, methods: &[Method]) -> Aggregation {
        Aggregation {
            methods: methods.to_vec(),
            ..self
        }
    }

    /// What NaN among the values means; by default none is seen.
    pub fn nan(self, nan: Nan) -> Aggregation {
        Aggregation { nan, ..self }
    }

    /// What the divisor of variances is below the number of values: 1 by default, 0 for values that are all there
    /// are.
    pub fn ddof(self, ddof: u32) -> Aggregation {
        Aggregation { ddof, ..self }
    }

    /// What comes of buckets without a variance; by default it is NaN.
    pub fn singletons(self, singletons: Singletons) -> Aggregation {
        Aggregation { singletons, ..self }
    }

    /// What points with the same timestamp mean; by default all are kept.
    pub fn duplicates(self, duplicates: Duplicates) -> Aggregation {
        Aggregation { duplicates, ..self }
    }

    /// What is expected of the points' order; by default that timestamps do not descend.
    pub fn order(self, order: Order) -> Aggregation {
        Aggregation { order, ..self }
    }

    /// What comes out for buckets without points; by default nothing.
    pub fn fill(self, fill: Fill) -> Aggregation {
        Aggregation { fill, ..self }
    }

    /// Aggregates one series of N timestamps and N values.
    ///
    /// Views may have any strides; one without gaps is not copied on the host.
    ///
    /// # Errors
    /// - [`Error::Shape`](crate::Error::Shape) if there are not as many values as timestamps.
    /// - [`Error::InvalidInput`](crate::Error::InvalidInput) for a granularity below 1, a percentile not from 0 to
    ///   100, more than 2³² − 1 points, the first timestamp that is below the one before it, unless
    ///   [sorting](Order::Sort) is asked for, and one whose bucket begins before the first `i64`.
    /// - [`Error::Allocation`](crate::Error::Allocation) if the memory does not suffice, also for buckets that are
    ///   to be filled.
    /// - On GPUs [`Error::Driver`](crate::Error::Driver) if the driver fails and
    ///   [`Error::Load`](crate::Error::Load) if it does not accept the kernels.
    pub fn run<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Aggregates> {
        self.run_series(devices, &[0, timestamps.len()], timestamps, values)
    }

    /// Aggregates S series, which follow each other in arrays of N timestamps and N values: series i from
    /// offset i up to offset i + 1, of S + 1 offsets. Series may be empty.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and [`Error::Shape`](crate::Error::Shape) for offsets that do not ascend from 0
    /// to N.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Aggregation, Method};
    /// use ndarray::array;
    ///
    /// let timestamps = array![0, 1, 9, 0, 1];
    /// let values = array![1.0, 2.0, 4.0, 8.0, 16.0];
    /// let sums = Aggregation::every(5).methods(&[Method::SUM]);
    /// let found = sums.run_series(&Device::auto(), &[0, 3, 5], timestamps.view(), values.view())?;
    /// assert_eq!(found.starts(), array![0, 5, 0]);
    /// assert_eq!(found.column(0), array![3.0, 4.0, 24.0]);
    /// assert_eq!(found.series(1), 2..3);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn run_series<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Aggregates> {
        self.check()?;
        let series = Series::new(offsets, timestamps, values)?;
        divided::aggregate(self, devices.devices(), &series).during(AGGREGATE)
    }

    /// [`run`](Self::run) of arrays that are in a device's memory, left there.
    ///
    /// It waits for the device, since the number of buckets is part of the result's shape.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on
    /// two devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Aggregation, Method};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let timestamps = device.upload(&array![0, 1, 9])?;
    /// let values = device.upload(&array![1.0, 2.0, 4.0])?;
    /// let sums = Aggregation::every(5).methods(&[Method::SUM]);
    /// let found = sums.run_device(&timestamps, &values)?;
    /// assert_eq!(found.column(0).download()?, array![3.0, 4.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn run_device<T: Value>(
        &self,
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceAggregates> {
        self.run_series_device(&[0, timestamps.len()], timestamps, values)
    }

    /// [`run_series`](Self::run_series) of arrays that are in a device's memory, left there. The offsets are on
    /// the host.
    ///
    /// # Errors
    /// Those of [`run_series`](Self::run_series), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on two devices.
    pub fn run_series_device<T: Value>(
        &self,
        offsets: &[usize],
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceAggregates> {
        self.check()?;
        let device = timestamps.device();
        device.require_same(values.device(), AGGREGATE)?;
        check_lengths(timestamps.len(), values.len())?;
        check_offsets(offsets, timestamps.len())?;
        T::on_device(self, offsets, timestamps, values).during(AGGREGATE)
    }

    /// Aggregates series by an [`Aggregate`] of one's own, in place of the methods; singletons and fill do not
    /// matter. It does not see points whose NaN is [skipped](Nan::Skip), so a bucket may come from no point at all.
    /// The other arguments are those of [`run_series`](Self::run_series).
    ///
    /// # Errors
    /// Those of [`run_series`](Self::run_series), and [`Error::Unavailable`](crate::Error::Unavailable) on a device
    /// that runs kernels if the aggregate comes without.
    pub fn run_custom<T: Value, A>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        custom: &Custom<A>,
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<CustomAggregates<A::Output>>
    where
        A: Aggregate<State: Send, Output: Element> + Send + Sync,
    {
        self.check()?;
        let series = Series::new(offsets, timestamps, values)?;
        divided::custom(self, devices.devices(), custom, &series).during(AGGREGATE)
    }

    /// [`run_custom`](Self::run_custom) of one series of N timestamps and N values.
    ///
    /// # Errors
    /// Those of [`run_custom`](Self::run_custom).
    pub fn run_custom_single<T: Value, A>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        custom: &Custom<A>,
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<CustomAggregates<A::Output>>
    where
        A: Aggregate<State: Send, Output: Element> + Send + Sync,
    {
        self.run_custom(devices, custom, &[0, timestamps.len()], timestamps, values)
    }

    /// What there is to know of each bucket but percentiles, in a form that can be
    /// [resampled](Summaries::resample) to coarser buckets. The arguments are those of
    /// [`run_series`](Self::run_series).
    ///
    /// # Errors
    /// Those of [`run_series`](Self::run_series).
    pub fn summaries<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Summaries> {
        self.check()?;
        let series = Series::new(offsets, timestamps, values)?;
        divided::summaries(self, devices.devices(), &series).during(AGGREGATE)
    }

    /// [`summaries`](Self::summaries) of one series of N timestamps and N values.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn summaries_single<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> Result<Summaries> {
        self.summaries(devices, &[0, timestamps.len()], timestamps, values)
    }

    /// How timestamps are rounded.
    pub(super) fn floor(&self) -> Result<Floor> {
        floor_of(AGGREGATE, self.granularity, self.origin)
    }

    fn check(&self) -> Result<()> {
        self.floor()?;
        self.methods.iter().try_for_each(Method::check)
    }
}

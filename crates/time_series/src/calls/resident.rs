//! The calls for arrays in a device's memory.

use gridstride_runtime::Result;
use gridstride_runtime::device::{DeviceArray, Element};
use gridstride_runtime::error::During;
use ndarray::Ix1;
use time_series_kernels::Aggregate;

use crate::custom::Custom;
use crate::device_output::{DeviceAggregates, DeviceCustomAggregates, DeviceSummaries};
use crate::element::Value;
use crate::input::DeviceSeries;
use crate::options::TimeBuckets;
use crate::states::BucketState;

impl TimeBuckets {
    /// As [`aggregate`](Self::aggregate), but takes arrays in a device's memory and leaves the
    /// result there.
    ///
    /// The call waits for the device, since the number of buckets is part of the result's shape. On
    /// the CPU the arrays are copied.
    ///
    /// # Errors
    /// Also [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for arrays on two devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{TimeBuckets, Method};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let timestamps = device.upload(&array![0, 1, 9])?;
    /// let values = device.upload(&array![1.0, 2.0, 4.0])?;
    /// let sums = TimeBuckets::every(5).methods(&[Method::SUM]);
    /// let found = sums.aggregate_device(&timestamps, &values)?;
    /// assert_eq!(found.column(0).download()?, array![3.0, 4.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn aggregate_device<T: Value>(
        &self,
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceAggregates> {
        let offsets = [0, timestamps.len()];
        let series = DeviceSeries::new("aggregate_device", self, &offsets, timestamps, values)?;
        let _ordered = series.device().ordered_with(&[values.device()])?;
        T::device(&series).during(series.operation)
    }

    /// As [`aggregate_series`](Self::aggregate_series), but for arrays in a device's memory: see
    /// [`aggregate_device`](Self::aggregate_device). The offsets are on the host.
    pub fn aggregate_series_device<T: Value>(
        &self,
        offsets: &[usize],
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceAggregates> {
        let series =
            DeviceSeries::new("aggregate_series_device", self, offsets, timestamps, values)?;
        let _ordered = series.device().ordered_with(&[values.device()])?;
        T::device(&series).during(series.operation)
    }

    /// As [`custom`](Self::custom), but for arrays in a device's memory: see
    /// [`aggregate_device`](Self::aggregate_device).
    pub fn custom_device<T: Value, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
        &self,
        custom: &Custom<A>,
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceCustomAggregates<A::Output>> {
        let offsets = [0, timestamps.len()];
        let series = DeviceSeries::new("custom_device", self, &offsets, timestamps, values)?;
        let _ordered = series.device().ordered_with(&[values.device()])?;
        T::custom_device(custom, &series).during(series.operation)
    }

    /// As [`custom_series`](Self::custom_series), but for arrays in a device's memory: see
    /// [`aggregate_device`](Self::aggregate_device). The offsets are on the host.
    pub fn custom_series_device<
        T: Value,
        A: Aggregate<State: Send, Output: Element> + Send + Sync,
    >(
        &self,
        custom: &Custom<A>,
        offsets: &[usize],
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceCustomAggregates<A::Output>> {
        let series = DeviceSeries::new("custom_series_device", self, offsets, timestamps, values)?;
        let _ordered = series.device().ordered_with(&[values.device()])?;
        T::custom_device(custom, &series).during(series.operation)
    }

    /// As [`summaries`](Self::summaries), but for arrays in a device's memory: see
    /// [`aggregate_device`](Self::aggregate_device).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Method, TimeBuckets};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let timestamps = device.upload(&array![0, 1, 9])?;
    /// let values = device.upload(&array![1.0, 2.0, 4.0])?;
    /// let summaries = TimeBuckets::every(5).summaries_device(&timestamps, &values)?;
    /// let found = summaries.download()?.columns(&[Method::SUM], 1)?;
    /// assert_eq!(found.column(0), array![3.0, 4.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn summaries_device<T: Value>(
        &self,
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceSummaries> {
        let offsets = [0, timestamps.len()];
        let series = DeviceSeries::new("summaries_device", self, &offsets, timestamps, values)?;
        summarize(&series)
    }

    /// As [`summaries_series`](Self::summaries_series), but for arrays in a device's memory: see
    /// [`aggregate_device`](Self::aggregate_device). The offsets are on the host.
    pub fn summaries_series_device<T: Value>(
        &self,
        offsets: &[usize],
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceSummaries> {
        let series =
            DeviceSeries::new("summaries_series_device", self, offsets, timestamps, values)?;
        summarize(&series)
    }

    /// As [`summaries_of`](Self::summaries_of), but for arrays in a device's memory: see
    /// [`aggregate_device`](Self::aggregate_device). The offsets are on the host.
    pub fn summaries_of_device<S: BucketState, T: Value>(
        &self,
        offsets: &[usize],
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceSummaries<S>> {
        let series = DeviceSeries::new("summaries_of_device", self, offsets, timestamps, values)?;
        summarize(&series)
    }
}

fn summarize<S: BucketState, T: Value>(series: &DeviceSeries<T>) -> Result<DeviceSummaries<S>> {
    let _ordered = series.device().ordered_with(&[series.values.device()])?;
    let found = T::custom_device(&S::aggregate(), series).during(series.operation)?;
    Ok(DeviceSummaries::new(series.options, found))
}

//! The calls for arrays in a device's memory.

use ndarray::Ix1;
use time_series_kernels::Aggregate;

use super::{AGGREGATE, CUSTOM, SUMMARIES};
use crate::Result;
use crate::device::{DeviceArray, Element};
use crate::error::During;
use crate::time_series::custom::{Custom, summaries};
use crate::time_series::device_output::{
    DeviceAggregates, DeviceCustomAggregates, DeviceSummaries,
};
use crate::time_series::element::Value;
use crate::time_series::input::DeviceSeries;
use crate::time_series::options::TimeBuckets;

impl TimeBuckets {
    /// Aggregates one series in a device's memory, and leaves the result there: [`run`](Self::run).
    ///
    /// The call waits for the device, since the number of buckets is part of the result's shape. On the CPU the arrays
    /// are copied.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on
    /// two devices.
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

    /// Aggregates several series in a device's memory, and leaves the result there: [`run_series`](Self::run_series). The
    /// offsets are on the host.
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
        let series = DeviceSeries::new(AGGREGATE, self, offsets, timestamps, values)?;
        let _ordered = series.device().ordered_with(&[values.device()])?;
        T::device(self, &series).during(AGGREGATE)
    }

    /// Aggregates one series in a device's memory by a user-defined aggregate, and leaves the result there:
    /// [`custom`](Self::custom).
    ///
    /// # Errors
    /// Those of [`custom`](Self::custom), and [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on
    /// two devices.
    pub fn custom_device<T: Value, A>(
        &self,
        custom: &Custom<A>,
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceCustomAggregates<A::Output>>
    where
        A: Aggregate<State: Send, Output: Element> + Send + Sync,
    {
        self.custom_series_device(custom, &[0, timestamps.len()], timestamps, values)
    }

    /// Aggregates several series in a device's memory by a user-defined aggregate, and leaves the result there:
    /// [`custom_series`](Self::custom_series). The offsets are on the host.
    ///
    /// # Errors
    /// Those of [`custom_series`](Self::custom_series), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on two devices.
    pub fn custom_series_device<T: Value, A>(
        &self,
        custom: &Custom<A>,
        offsets: &[usize],
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceCustomAggregates<A::Output>>
    where
        A: Aggregate<State: Send, Output: Element> + Send + Sync,
    {
        let series = DeviceSeries::new(CUSTOM, self, offsets, timestamps, values)?;
        let _ordered = series.device().ordered_with(&[values.device()])?;
        T::custom_device(self, custom, &series).during(CUSTOM)
    }

    /// Summarises each bucket of one series in a device's memory, and leaves the result there:
    /// [`summaries`](Self::summaries).
    ///
    /// # Errors
    /// Those of [`summaries`](Self::summaries), and [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays
    /// on two devices.
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
        self.summaries_series_device(&[0, timestamps.len()], timestamps, values)
    }

    /// Summarises each bucket of several series in a device's memory, and leaves the result there:
    /// [`summaries_series`](Self::summaries_series). The offsets are on the host.
    ///
    /// # Errors
    /// Those of [`summaries_series`](Self::summaries_series), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on two devices.
    pub fn summaries_series_device<T: Value>(
        &self,
        offsets: &[usize],
        timestamps: &DeviceArray<i64, Ix1>,
        values: &DeviceArray<T, Ix1>,
    ) -> Result<DeviceSummaries> {
        let series = DeviceSeries::new(SUMMARIES, self, offsets, timestamps, values)?;
        let _ordered = series.device().ordered_with(&[values.device()])?;
        let found = T::custom_device(self, &summaries(), &series).during(SUMMARIES)?;
        Ok(DeviceSummaries::new(self, found))
    }
}

//! The calls that write to existing arrays.

use gridstride_runtime::error::During;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::{ArrayView1, ArrayViewMut1, ArrayViewMut2};

use crate::dispatch;
use crate::element::Value;
use crate::input::Series;
use crate::options::TimeBuckets;
use crate::room::Room;

impl TimeBuckets {
    /// As [`aggregate`](Self::aggregate), but writes to existing arrays with room for R buckets:
    /// the first timestamp of each bucket to `starts`, and a row for each of the M methods to
    /// `columns`, M×R. Returns the number of buckets B, at most R. The elements from B on keep
    /// their values.
    ///
    /// The number of buckets is known only afterwards. Without [filling](super::super::Fill) there
    /// are at most as many as points, and in any case at most
    /// ⌈(last timestamp − first timestamp) / every⌉ + 1.
    ///
    /// The views may have any strides. From a GPU, elements without gaps are copied to their places
    /// directly, so that arrays in [page-locked](gridstride_runtime::Device::pinned) memory take no other copy.
    /// On the CPU, with several devices, and if the points do not fit in a device's memory at a
    /// time, results are copied from new arrays. After an error the arrays have unspecified content.
    ///
    /// # Errors
    /// The errors of [`aggregate`](Self::aggregate), and [`Error::Shape`](gridstride_runtime::Error::Shape) if
    /// `columns` does not have M rows of R elements, or if there are more than R buckets.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Method, TimeBuckets};
    /// use ndarray::{Array1, Array2, array, s};
    ///
    /// let (timestamps, values) = (array![0, 5, 35, 80], array![1.0, 2.0, 4.0, 8.0]);
    /// let (mut starts, mut columns) = (Array1::zeros(4), Array2::zeros((2, 4)));
    /// let buckets = TimeBuckets::every(35).methods(&[Method::COUNT, Method::MEAN]);
    /// let (device, points) = (Device::auto(), (timestamps.view(), values.view()));
    /// let (there, room) = (starts.view_mut(), columns.view_mut());
    /// let count = buckets.aggregate_into(&device, points.0, points.1, there, room)?;
    /// assert_eq!(starts.slice(s![..count]), array![0, 35, 70]);
    /// assert_eq!(columns.slice(s![.., ..count]), array![[2.0, 1.0, 1.0], [1.5, 4.0, 8.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn aggregate_into<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
        starts: ArrayViewMut1<i64>,
        columns: ArrayViewMut2<f64>,
    ) -> Result<usize> {
        const OPERATION: &str = "aggregate_into";
        let offsets = [0, timestamps.len()];
        let series = Series::new(OPERATION, self, &offsets, timestamps, values)?;
        let mut room = Room::new(OPERATION, self.methods.len(), starts, columns)?;
        let found = dispatch::aggregate(devices.devices(), &series);
        let offsets = found
            .and_then(|found| room.assign(found))
            .during(OPERATION)?;
        Ok(offsets[1])
    }

    /// As [`aggregate_series`](Self::aggregate_series), but writes to existing arrays, as
    /// [`aggregate_into`](Self::aggregate_into). Returns the index of each series' first bucket,
    /// and at the end the number of buckets.
    ///
    /// # Errors
    /// The errors of [`aggregate_series`](Self::aggregate_series) and
    /// [`aggregate_into`](Self::aggregate_into).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::time_series::{Method, TimeBuckets};
    /// use ndarray::{Array1, Array2, array};
    ///
    /// let (timestamps, values) = (array![0, 1, 9, 0, 1], array![1.0, 2.0, 4.0, 8.0, 16.0]);
    /// let (mut starts, mut columns) = (Array1::zeros(3), Array2::zeros((1, 3)));
    /// let sums = TimeBuckets::every(5).methods(&[Method::SUM]);
    /// let (device, points) = (Device::auto(), (timestamps.view(), values.view()));
    /// let (there, room) = (starts.view_mut(), columns.view_mut());
    /// let offsets =
    ///     sums.aggregate_series_into(&device, &[0, 3, 5], points.0, points.1, there, room)?;
    /// assert_eq!(offsets, [0, 2, 3]);
    /// assert_eq!((starts, columns), (array![0, 5, 0], array![[3.0, 4.0, 24.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn aggregate_series_into<T: Value>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
        starts: ArrayViewMut1<i64>,
        columns: ArrayViewMut2<f64>,
    ) -> Result<Vec<usize>> {
        const OPERATION: &str = "aggregate_series_into";
        let series = Series::new(OPERATION, self, offsets, timestamps, values)?;
        let mut room = Room::new(OPERATION, self.methods.len(), starts, columns)?;
        let found = dispatch::aggregate(devices.devices(), &series);
        found.and_then(|found| room.assign(found)).during(OPERATION)
    }
}

//! The calls for timestamps without values: rounding, and counts of the points in buckets.

use gridstride_runtime::device::{DeviceArray, zeroed_lazily};
use gridstride_runtime::error::During;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::{Array1, ArrayView1, ArrayViewMut1, Ix1};

use crate::device_output::DeviceBucketCounts;
use crate::dispatch;
use crate::input::{DeviceRounding, DeviceTimestamps, Rounding, Series, floor, require_length};
use crate::options::TimeBuckets;
use crate::output::BucketCounts;

const ROUND: &str = "round_timestamps";
const ROUND_INTO: &str = "round_timestamps_into";
const ROUND_INPLACE: &str = "round_timestamps_inplace";
const ROUND_DEVICE: &str = "round_timestamps_device";
const ROUND_DEVICE_INPLACE: &str = "round_timestamps_device_inplace";
const COUNTS: &str = "bucket_counts";
const COUNTS_DEVICE: &str = "bucket_counts_device";

/// Returns the label of each timestamp's bucket: origin + ⌊(t − origin)/every⌋·every.
/// The timestamps may be in any order and unit.
///
/// # Errors
/// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for `every` below 1, and for the first
/// timestamp whose bucket begins before the first `i64`; and the device's errors that
/// [`TimeBuckets::aggregate`](crate::TimeBuckets::aggregate) lists.
///
/// ```
/// use gridstride::{Device, time_series::round_timestamps};
/// use ndarray::array;
///
/// let rounded = round_timestamps(&Device::auto(), array![-1, 0, 34, 36].view(), 35, 0)?;
/// assert_eq!(rounded, array![-35, 0, 0, 35]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn round_timestamps(
    devices: &(impl DeviceSet + ?Sized),
    timestamps: ArrayView1<i64>,
    every: i64,
    origin: i64,
) -> Result<Array1<i64>> {
    let floor = floor(ROUND, every, origin)?;
    let mut rounded = Array1::from(zeroed_lazily(timestamps.len()).during(ROUND)?);
    let rounding = Rounding::new(ROUND, floor, timestamps, rounded.view_mut())?;
    dispatch::round(devices.devices(), rounding).during(ROUND)?;
    Ok(rounded)
}

/// As [`round_timestamps`], but writes to `out`. After an error some of `out` may have been
/// written.
///
/// # Errors
/// Also [`Error::Shape`](gridstride_runtime::Error::Shape) if `out` has another length.
///
/// ```
/// use gridstride::{Device, time_series::round_timestamps_into};
/// use ndarray::{Array1, array};
///
/// let (timestamps, mut rounded) = (array![-1, 0, 34, 36], Array1::zeros(4));
/// round_timestamps_into(&Device::auto(), timestamps.view(), 35, 0, rounded.view_mut())?;
/// assert_eq!(rounded, array![-35, 0, 0, 35]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn round_timestamps_into(
    devices: &(impl DeviceSet + ?Sized),
    timestamps: ArrayView1<i64>,
    every: i64,
    origin: i64,
    out: ArrayViewMut1<i64>,
) -> Result<()> {
    let floor = floor(ROUND_INTO, every, origin)?;
    let rounding = Rounding::new(ROUND_INTO, floor, timestamps, out)?;
    dispatch::round(devices.devices(), rounding).during(ROUND_INTO)
}

/// As [`round_timestamps`], but in place. After an error the timestamps are unchanged.
///
/// ```
/// use gridstride::{Device, time_series::round_timestamps_inplace};
/// use ndarray::array;
///
/// let mut timestamps = array![3, 9, 14];
/// round_timestamps_inplace(&Device::auto(), timestamps.view_mut(), 10, 3)?;
/// assert_eq!(timestamps, array![3, 3, 13]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn round_timestamps_inplace(
    devices: &(impl DeviceSet + ?Sized),
    timestamps: ArrayViewMut1<i64>,
    every: i64,
    origin: i64,
) -> Result<()> {
    let floor = floor(ROUND_INPLACE, every, origin)?;
    dispatch::round_inplace(ROUND_INPLACE, floor, devices.devices(), timestamps)
        .during(ROUND_INPLACE)
}

/// As [`round_timestamps`], but takes an array in a device's memory and leaves the result there.
/// The call waits for the device, which checks the timestamps.
///
/// ```
/// use gridstride::{Device, time_series::round_timestamps_device};
/// use ndarray::array;
///
/// let timestamps = Device::auto().upload(&array![-1, 0, 34, 36])?;
/// let rounded = round_timestamps_device(&timestamps, 35, 0)?;
/// assert_eq!(rounded.download()?, array![-35, 0, 0, 35]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn round_timestamps_device(
    timestamps: &DeviceArray<i64, Ix1>,
    every: i64,
    origin: i64,
) -> Result<DeviceArray<i64, Ix1>> {
    let buffer = timestamps
        .device()
        .alloc(timestamps.len())
        .during(ROUND_DEVICE)?;
    let mut rounded = DeviceArray::from_buffer(buffer, timestamps.raw_dim())?;
    round_device_into(ROUND_DEVICE, timestamps, every, origin, &mut rounded)?;
    Ok(rounded)
}

/// As [`round_timestamps_into`], but for arrays in a device's memory.
///
/// # Errors
/// Also [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for arrays on two devices.
pub fn round_timestamps_device_into(
    timestamps: &DeviceArray<i64, Ix1>,
    every: i64,
    origin: i64,
    out: &mut DeviceArray<i64, Ix1>,
) -> Result<()> {
    let operation = "round_timestamps_device_into";
    round_device_into(operation, timestamps, every, origin, out)
}

fn round_device_into(
    operation: &'static str,
    timestamps: &DeviceArray<i64, Ix1>,
    every: i64,
    origin: i64,
    out: &mut DeviceArray<i64, Ix1>,
) -> Result<()> {
    let floor = floor(operation, every, origin)?;
    let device = timestamps.device();
    device.require_same(out.device(), operation)?;
    require_length(operation, timestamps.len(), out.len())?;
    let _ordered = device.ordered_with(&[out.device()])?;
    let out = out.inner_mut();
    // SAFETY: the guard orders the streams of both arrays with that of `device`.
    unsafe { out.start_copy_of(device, timestamps.buffer(), 0)? };
    let rounding = DeviceRounding {
        operation,
        floor,
        device,
        timestamps: out,
    };
    dispatch::round_device(rounding).during(operation)
}

/// As [`round_timestamps_inplace`], but for an array in a device's memory. After an error the
/// timestamps whose bucket has a label may have been rounded.
pub fn round_timestamps_device_inplace(
    timestamps: &mut DeviceArray<i64, Ix1>,
    every: i64,
    origin: i64,
) -> Result<()> {
    let floor = floor(ROUND_DEVICE_INPLACE, every, origin)?;
    let device = timestamps.device().clone();
    let rounding = DeviceRounding {
        operation: ROUND_DEVICE_INPLACE,
        floor,
        device: &device,
        timestamps: timestamps.inner_mut(),
    };
    dispatch::round_device(rounding).during(ROUND_DEVICE_INPLACE)
}

/// Returns the buckets that have points, and their numbers of points. The timestamps must not
/// descend.
///
/// # Errors
/// The errors of [`TimeBuckets::aggregate`](crate::TimeBuckets::aggregate).
///
/// ```
/// use gridstride::{Device, time_series::bucket_counts};
/// use ndarray::array;
///
/// let found = bucket_counts(&Device::auto(), array![0, 1, 34, 80].view(), 35, 0)?;
/// assert_eq!((found.starts, found.counts), (array![0, 70], array![3, 1]));
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn bucket_counts(
    devices: &(impl DeviceSet + ?Sized),
    timestamps: ArrayView1<i64>,
    every: i64,
    origin: i64,
) -> Result<BucketCounts> {
    let (options, offsets) = (
        TimeBuckets::every(every).origin(origin),
        [0, timestamps.len()],
    );
    let count = timestamps.len();
    let series = Series::without_values(COUNTS, &options, &offsets, timestamps, count)?;
    dispatch::counts(devices.devices(), &series).during(COUNTS)
}

/// As [`bucket_counts`], but takes an array in a device's memory and leaves the result there.
///
/// The call waits for the device, since the number of buckets is part of the result's shape.
///
/// ```
/// use gridstride::{Device, time_series::bucket_counts_device};
/// use ndarray::array;
///
/// let timestamps = Device::auto().upload(&array![0, 1, 34, 80])?;
/// let found = bucket_counts_device(&timestamps, 35, 0)?;
/// assert_eq!(found.starts.download()?, array![0, 70]);
/// assert_eq!(found.counts.download()?, array![3.0, 1.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn bucket_counts_device(
    timestamps: &DeviceArray<i64, Ix1>,
    every: i64,
    origin: i64,
) -> Result<DeviceBucketCounts> {
    let series = DeviceTimestamps::new(COUNTS_DEVICE, (every, origin), timestamps)?;
    dispatch::counts_device(&series).during(COUNTS_DEVICE)
}

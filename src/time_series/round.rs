//! Timestamps rounded down to their buckets, and the buckets' lengths.

use ndarray::{Array1, ArrayView1, ArrayViewMut1, Ix1};

use super::gpu;
use super::series::{check_count, packed};
use super::{BucketCounts, COUNTS, ROUND, cpu, divided, floor_of};
use crate::device::{DeviceArray, DeviceKind, assign, zeroed_lazily};
use crate::error::During;
use crate::{DeviceSet, Result};

/// The label of the bucket of each timestamp: origin + ⌊(t − origin)/granularity⌋·granularity. The timestamps may
/// be in any order and unit.
///
/// # Errors
/// [`Error::InvalidInput`](crate::Error::InvalidInput) for a granularity below 1, and for the first timestamp whose
/// bucket begins before the first `i64`; otherwise those of the device, as of [`Aggregation::run`](super::Aggregation::run).
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::round_timestamps;
/// use ndarray::array;
///
/// let rounded = round_timestamps(&Device::auto(), array![-1, 0, 34, 36].view(), 35, 0)?;
/// assert_eq!(rounded, array![-35, 0, 0, 35]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn round_timestamps(
    devices: &(impl DeviceSet + ?Sized),
    timestamps: ArrayView1<i64>,
    granularity: i64,
    origin: i64,
) -> Result<Array1<i64>> {
    let floor = floor_of(ROUND, granularity, origin)?;
    let mut parts = divided::rounded(&floor, devices.devices(), timestamps).during(ROUND)?;
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let mut rounded = Array1::from(zeroed_lazily(timestamps.len()).during(ROUND)?);
    write(&mut rounded.view_mut(), parts);
    Ok(rounded)
}

/// [`round_timestamps`] in place. After an error the timestamps are what they were.
///
/// # Errors
/// Those of [`round_timestamps`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::round_timestamps_inplace;
/// use ndarray::array;
///
/// let mut timestamps = array![3, 9, 14];
/// round_timestamps_inplace(&Device::auto(), timestamps.view_mut(), 10, 3)?;
/// assert_eq!(timestamps, array![3, 3, 13]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn round_timestamps_inplace(
    devices: &(impl DeviceSet + ?Sized),
    mut timestamps: ArrayViewMut1<i64>,
    granularity: i64,
    origin: i64,
) -> Result<()> {
    let floor = floor_of(ROUND, granularity, origin)?;
    match devices.devices() {
        [device] if device.kind() == DeviceKind::Cpu => cpu::round(&floor, timestamps),
        devices => {
            let parts = divided::rounded(&floor, devices, timestamps.view()).during(ROUND)?;
            write(&mut timestamps, parts);
            Ok(())
        }
    }
}

/// [`round_timestamps_inplace`] of an array in a device's memory. After an error the timestamps whose bucket has a
/// label may have been rounded.
///
/// # Errors
/// Those of [`round_timestamps`].
pub fn round_timestamps_device(
    timestamps: &mut DeviceArray<i64, Ix1>,
    granularity: i64,
    origin: i64,
) -> Result<()> {
    let floor = floor_of(ROUND, granularity, origin)?;
    if timestamps.device().kind() != DeviceKind::Cpu {
        return gpu::round(&floor, timestamps).during(ROUND);
    }
    let mut on_host = timestamps.download().during(ROUND)?;
    cpu::round(&floor, on_host.view_mut())?;
    let elements = on_host.as_slice().expect("an array as it was made");
    timestamps.buffer_mut().copy_from(elements)
}

/// The buckets that have points, and how many each has, of timestamps that do not descend.
///
/// # Errors
/// Those of [`Aggregation::run`](super::Aggregation::run).
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::bucket_counts;
/// use ndarray::array;
///
/// let found = bucket_counts(&Device::auto(), array![0, 1, 34, 80].view(), 35, 0)?;
/// assert_eq!((found.starts, found.counts), (array![0, 70], array![3, 1]));
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn bucket_counts(
    devices: &(impl DeviceSet + ?Sized),
    timestamps: ArrayView1<i64>,
    granularity: i64,
    origin: i64,
) -> Result<BucketCounts> {
    let floor = floor_of(COUNTS, granularity, origin)?;
    check_count(COUNTS, timestamps.len())?;
    let timestamps = packed(timestamps).during(COUNTS)?;
    divided::counts(&floor, devices.devices(), &timestamps).during(COUNTS)
}

/// Writes parts one after the other.
fn write(timestamps: &mut ArrayViewMut1<i64>, parts: Vec<Array1<i64>>) {
    let mut start = 0;
    for part in parts {
        let places = start..start + part.len();
        start = places.end;
        assign(timestamps.slice_mut(ndarray::s![places]), &part);
    }
}

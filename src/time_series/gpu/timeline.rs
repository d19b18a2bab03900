//! The timestamps of series, which all launches share.

use ndarray::Ix1;
use time_series_kernels::{self as kernels, Floor};

use super::kernels::MODULE;
use super::tuning;
use crate::device::{Buffer, DeviceArray, Element};
use crate::time_series::input::DeviceSeries;
use crate::{Device, Result};

/// Points of a call whose buckets are not bounded first: memory for as many buckets as points costs
/// less than to launch the kernel that bounds them, and to wait for it.
const FEW: usize = 1 << 16;

/// Timestamps of series in the memory of a device, and their rounding.
pub struct Timeline<'a> {
    /// The operation that the caller called.
    pub operation: &'static str,
    pub offsets: &'a [usize],
    /// Empty for one series of few points, which needs none.
    pub device_offsets: Buffer<u64>,
    pub timestamps: &'a DeviceArray<i64, Ix1>,
    /// A bit for each point: whether a series begins with it. Empty for one series.
    pub starts: Buffer<u32>,
    pub floor: Floor,
    /// The largest possible number of buckets. Each series counts with its number of points, or
    /// with the number of buckets from its first to its last point if that is smaller and there are
    /// more than [`FEW`] points.
    pub max_buckets: usize,
}

impl<'a> Timeline<'a> {
    pub fn of<V: Element>(series: &DeviceSeries<'a, V>) -> Result<Timeline<'a>> {
        let DeviceSeries {
            operation, offsets, ..
        } = *series;
        Timeline::new(operation, offsets, series.timestamps, series.floor)
    }

    pub fn new(
        operation: &'static str,
        offsets: &'a [usize],
        timestamps: &'a DeviceArray<i64, Ix1>,
        floor: Floor,
    ) -> Result<Timeline<'a>> {
        let device = timestamps.device();
        let config = tuning::grid_stride(offsets.len());
        let (is_few, is_one) = (timestamps.len() <= FEW, offsets.len() == 2);
        let device_offsets = match is_few && is_one {
            true => device.alloc(0)?,
            false => upload_offsets(device, offsets)?,
        };
        let words = match is_one {
            true => 0,
            false => timestamps.len().div_ceil(32),
        };
        let mut starts = device.zeros::<u32>(words)?;
        if words > 0 {
            let arguments = (device_offsets.slice(), timestamps.len(), starts.slice_mut());
            // SAFETY: a bit for each point, and offsets that were checked. Here and below, buffers
            // are of this device, and freed after the kernels have run.
            unsafe { device.launch(MODULE, &kernels::mark_series, config, arguments)? };
        }
        let mut max_buckets = timestamps.len() as u64;
        if !is_few {
            let mut sum = device.zeros::<u64>(1)?;
            let (points, to) = (timestamps.buffer().slice(), sum.slice_mut());
            let arguments = (device_offsets.slice(), points, floor, to);
            // SAFETY: the offsets were checked, and the sum has an element.
            unsafe { device.launch(MODULE, &kernels::bound_buckets, config, arguments)? };
            [max_buckets] = sum.first()?;
        }
        Ok(Timeline {
            operation,
            offsets,
            device_offsets,
            timestamps,
            starts,
            floor,
            max_buckets: max_buckets as usize,
        })
    }

    pub fn device(&self) -> &'a Device {
        self.timestamps.device()
    }
}

/// Copies offsets to a device, as kernels take them.
pub fn upload_offsets(device: &Device, offsets: &[usize]) -> Result<Buffer<u64>> {
    #[cfg(target_pointer_width = "64")]
    let wide: &[u64] = bytemuck::cast_slice(offsets);
    #[cfg(not(target_pointer_width = "64"))]
    let wide: &Vec<u64> = &offsets.iter().map(|&offset| offset as u64).collect();
    device.buffer_from(wide)
}

//! The timestamps of series, which all launches share.

use std::cell::OnceCell;

use gridstride_primitives::sums_and_total;
use gridstride_runtime::device::{Buffer, DeviceArray, Element};
use gridstride_runtime::offsets;
use gridstride_runtime::{Device, Result};
use ndarray::Ix1;
use time_series_kernels::{self as kernels, Floor, TILE};

use super::tuning;
use crate::MODULE;
use crate::input::DeviceSeries;

/// Points of a call that allocates memory for as many buckets as points: that costs less than to
/// wait for a bound on their number.
pub const FEW: usize = 1 << 16;

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
    /// The largest possible number of buckets.
    pub max_buckets: usize,
    /// The first place of each tile's buckets and the number of places, from bounds on the numbers
    /// of buckets. Empty for a single tile.
    bounds: Buffer<u64>,
    /// The same from the numbers of buckets, once a pass has counted them and found fewer.
    counted: OnceCell<Buffer<u64>>,
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
        let tiles = timestamps.len().div_ceil(TILE as usize);
        let (is_tile, is_one) = (tiles <= 1, offsets.len() == 2);
        let device_offsets = match is_tile && is_one {
            true => device.alloc(0)?,
            false => offsets::upload(device, offsets)?,
        };
        let words = match is_one {
            true => 0,
            false => timestamps.len().div_ceil(32),
        };
        let mut starts = device.zeros::<u32>(words)?;
        if words > 0 {
            let config = tuning::grid_stride(offsets.len());
            let arguments = (device_offsets.slice(), timestamps.len(), starts.slice_mut());
            // SAFETY: a bit for each point, and offsets that were checked. Here and below, buffers
            // are of this device, and freed after the kernels have run.
            unsafe { device.launch(&MODULE, &kernels::mark_series, config, arguments)? };
        }
        let mut max_buckets = timestamps.len() as u64;
        let bounds = match is_tile {
            true => device.alloc(0)?,
            false => {
                let mut total = device.alloc::<u64>(1)?;
                let mut widths = device.alloc::<u32>(tiles)?;
                let points = timestamps.buffer().slice();
                let arguments = (device_offsets.slice(), points, floor, widths.slice_mut());
                // SAFETY: a thread or a warp and a width for each tile, and the offsets were checked.
                let bounds = unsafe {
                    let config = tuning::bound_tiles(tiles, is_one);
                    device.launch(&MODULE, &kernels::bound_tiles, config, arguments)?;
                    sums_and_total(device, &widths, total.slice_mut())?
                };
                if timestamps.len() > FEW {
                    [max_buckets] = total.first()?;
                }
                bounds
            }
        };
        Ok(Timeline {
            operation,
            offsets,
            device_offsets,
            timestamps,
            starts,
            floor,
            max_buckets: max_buckets as usize,
            bounds,
            counted: OnceCell::new(),
        })
    }

    /// Returns the first place of each tile's buckets, and the number of places.
    pub fn places(&self) -> &Buffer<u64> {
        self.counted.get().unwrap_or(&self.bounds)
    }

    /// Takes the numbers of buckets that begin in each tile, which are no more than the bounds if
    /// timestamps are sorted, and gives each tile as many places. Returns whether that was not so before.
    pub fn count(&self, counts: &Buffer<u32>) -> Result<bool> {
        let device = self.device();
        // SAFETY: the buffers are of this device, and nothing else writes to them.
        let places = unsafe { sums_and_total(device, counts, device.alloc(0)?.slice_mut())? };
        Ok(self.counted.set(places).is_ok())
    }

    pub fn device(&self) -> &'a Device {
        self.timestamps.device()
    }
}

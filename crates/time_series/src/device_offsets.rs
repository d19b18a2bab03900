//! Offsets of series' buckets that stay in a device's memory until the host asks for them.

use std::fmt;
use std::sync::OnceLock;

use gridstride_runtime::Result;
use gridstride_runtime::device::Buffer;
use gridstride_runtime::offsets;
use gridstride_runtime::short::Short;

/// The index of each series' first bucket, and at the end the number of buckets.
pub enum DeviceOffsets {
    Host(Vec<usize>),
    Device {
        offsets: Buffer<u64>,
        copied: OnceLock<Vec<usize>>,
    },
}

impl fmt::Debug for DeviceOffsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceOffsets::Host(offsets) => Short(offsets).fmt(f),
            DeviceOffsets::Device { offsets, .. } => offsets.fmt(f),
        }
    }
}

impl DeviceOffsets {
    pub fn on_device(offsets: Buffer<u64>) -> DeviceOffsets {
        let copied = OnceLock::new();
        DeviceOffsets::Device { offsets, copied }
    }

    /// Returns the number of series.
    pub fn series_count(&self) -> usize {
        let len = match self {
            DeviceOffsets::Host(offsets) => offsets.len(),
            DeviceOffsets::Device { offsets, .. } => offsets.len(),
        };
        len - 1
    }

    /// Returns the offsets, which the first call copies from the device.
    pub fn get(&self) -> Result<&[usize]> {
        let (offsets, copied) = match self {
            DeviceOffsets::Host(offsets) => return Ok(offsets),
            DeviceOffsets::Device { offsets, copied } => (offsets, copied),
        };
        if let Some(offsets) = copied.get() {
            return Ok(offsets);
        }
        let offsets = offsets::download(offsets)?;
        Ok(copied.get_or_init(|| offsets))
    }

    /// As [`get`](Self::get), for those who need the offsets as a vector.
    pub fn into_host(self) -> Result<Vec<usize>> {
        match self {
            DeviceOffsets::Host(offsets) => Ok(offsets),
            DeviceOffsets::Device { offsets, copied } => match copied.into_inner() {
                Some(offsets) => Ok(offsets),
                None => offsets::download(&offsets),
            },
        }
    }
}

//! The pipeline and its settings.

use std::fmt;
use std::sync::{Mutex, MutexGuard};

use super::lane::Lane;
use crate::device::lock;
use crate::partition::require_devices;
use crate::{Device, DeviceSet, Error, Result};

/// Runs kernels over chunks of data: see the [module](super).
///
/// A pipeline keeps its streams and its memory from one call to the next, since page-locked memory takes long to get.
/// Concurrent calls from several threads each get their own.
pub struct Pipeline {
    pub(super) devices: Vec<Device>,
    pub(super) streams: usize,
    pub(super) memory: usize,
    idle: Mutex<Vec<Lane>>,
}

impl Pipeline {
    /// Returns a pipeline of four streams and 64 MiB on each device, or what a device's
    /// [limit](Device::with_memory_limit) leaves, if that is less. Each device takes a chunk when one of its streams is
    /// free.
    pub fn new(devices: &(impl DeviceSet + ?Sized)) -> Pipeline {
        Pipeline {
            devices: devices.devices().to_vec(),
            streams: 4,
            memory: 64 << 20,
            idle: Mutex::default(),
        }
    }

    /// Sets how many chunks are in flight on each device at a time. At 0, calls return [`Error::InvalidInput`].
    pub fn streams(mut self, streams: usize) -> Pipeline {
        self.streams = streams;
        self.idle().clear();
        self
    }

    /// Sets how many bytes of each device's memory the streams share; as many page-locked bytes of the host are used.
    ///
    /// Where a device's [limit](Device::with_memory_limit) leaves less, chunks are smaller. Memory that calls of other
    /// threads take at the same time counts against the limit.
    pub fn memory(mut self, bytes: usize) -> Pipeline {
        self.memory = bytes;
        self.idle().clear();
        self
    }

    /// Returns the devices that run the kernels.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Fails if there is no device or no stream.
    pub(super) fn require_streams(&self, operation: &'static str) -> Result<()> {
        require_devices(&self.devices, operation)?;
        if self.streams == 0 {
            let message = "the pipeline has 0 streams on each device: it needs at least 1";
            return Err(Error::input(operation, message));
        }
        Ok(())
    }

    /// The lanes of earlier calls.
    pub(super) fn idle(&self) -> MutexGuard<'_, Vec<Lane>> {
        lock(&self.idle)
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (streams, memory, devices) = (self.streams, self.memory, &self.devices);
        write!(
            f,
            "Pipeline({streams} streams and {memory} bytes on each of {devices:?})"
        )
    }
}

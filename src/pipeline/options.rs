//! The pipeline and its settings.

use std::fmt;
use std::sync::{Mutex, MutexGuard};

use super::slot::Slot;
use gridstride_runtime::device::lock;
use gridstride_runtime::partition::require_devices;
use gridstride_runtime::{Device, DeviceSet, Error, Result};

/// Runs kernels over chunks of data: see the [module](super).
///
/// A pipeline keeps its streams and memory between calls, since allocating page-locked memory is
/// slow. Concurrent calls from several threads have separate streams and memory.
pub struct Pipeline {
    pub(super) devices: Vec<Device>,
    pub(super) streams: usize,
    pub(super) memory: usize,
    idle: Mutex<Vec<Slot>>,
}

impl Pipeline {
    /// Returns a pipeline of four streams on each device. The streams of a device share 64 MiB, or
    /// less if the device's [limit](Device::with_memory_limit) leaves less.
    pub fn new(devices: &(impl DeviceSet + ?Sized)) -> Pipeline {
        Pipeline {
            devices: devices.devices().to_vec(),
            streams: 4,
            memory: 64 << 20,
            idle: Mutex::default(),
        }
    }

    /// Sets the number of chunks in flight on each device. With 0, calls return
    /// [`Error::InvalidInput`].
    pub fn streams(mut self, streams: usize) -> Pipeline {
        self.streams = streams;
        self.idle().clear();
        self
    }

    /// Sets how many bytes of each device's memory the streams share. The pipeline uses the same
    /// number of page-locked bytes of the host.
    ///
    /// Chunks are smaller where a device's [limit](Device::with_memory_limit) leaves less memory.
    /// Memory of concurrent calls counts against the limit.
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

    /// Returns the slots of earlier calls.
    pub(super) fn idle(&self) -> MutexGuard<'_, Vec<Slot>> {
        lock(&self.idle)
    }
}

/// Returns a pipeline with the same devices and settings, and with its own streams and memory.
impl Clone for Pipeline {
    fn clone(&self) -> Pipeline {
        Pipeline {
            devices: self.devices.clone(),
            idle: Mutex::default(),
            ..*self
        }
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (streams, memory, devices) = (self.streams, self.memory, &self.devices);
        let each = format_args!("{streams} streams and {memory} bytes on each");
        write!(f, "Pipeline({each} of {devices:?})")
    }
}

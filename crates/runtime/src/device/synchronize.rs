//! Waiting for the work of a device.

use super::handle::Backend;
use super::{Device, capture};
use crate::Result;

impl Device {
    /// Waits until all work on this handle's stream has finished: the device's main stream, or the
    /// stream that was [chosen](Device::on).
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if work on the GPU failed, possibly work of an earlier call.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse(self, "waiting for the stream")?;
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => Ok(()),
            Backend::Cuda(gpu) => {
                let waited = gpu.stream().synchronize();
                gpu.give_back();
                waited
            }
        }
    }

    /// Waits until all work on the device has finished, on every stream of this process, also of
    /// other libraries.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if work on the GPU failed, possibly work of an earlier call.
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) while a graph of the GPU is captured, if this thread captures one or
    /// belongs to rayon: other threads wait until no graph is captured.
    pub fn synchronize_all(&self) -> Result<()> {
        capture::refuse(self, "waiting for all streams")?;
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => Ok(()),
            Backend::Cuda(gpu) => gpu.synchronize_all(),
        }
    }
}

//! Kernels over data that is larger than the memory of a device, or than there should be on it at a time.
//!
//! A [`Pipeline`] cuts host arrays, or what an iterator gives, into chunks, and brings each to the device, runs a kernel
//! on it, and brings back what came of it. Several chunks are on their way at a time, each on a stream of its own, so
//! that copies in both directions, kernels and the work of the host run side by side. Results are the same for any number
//! of streams and devices and any budget of memory, as long as a kernel computes each element from those at the same place.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::stream::{Pipeline, add};
//! use ndarray::{Array1, array};
//!
//! let pipeline = Pipeline::new(&Device::auto()).streams(2).memory(1 << 20);
//! let mut sums = Array1::zeros(3);
//! add(&pipeline, &array![1, 2, i32::MAX], &array![10, 20, 1], &mut sums)?;
//! assert_eq!(sums, array![11.0, 22.0, 2147483648.0]);
//! # Ok::<(), gridstride::Error>(())
//! ```

mod add;
mod columns;
mod flow;
mod lane;
mod map;

pub use add::add;
pub use columns::{Input, Output};
pub use columns::{Inputs, Outputs};
pub use map::Chunk;

use std::fmt;
use std::sync::Mutex;

use crate::{Device, DeviceSet};

/// What errors call the operation.
const STREAM: &str = "stream";

/// Chunks of data on their way to a device and back: see the [module](self).
///
/// It keeps its streams and its memory from one call to the next, since page-locked memory takes long to get. Calls of
/// several threads at a time each get their own.
pub struct Pipeline {
    devices: Vec<Device>,
    streams: usize,
    memory: usize,
    idle: Mutex<Vec<lane::Lane>>,
}

impl Pipeline {
    /// A pipeline of four streams and 64 MiB on each device, or what a device's [limit](Device::with_memory_limit) leaves, if
    /// that is less. Chunks go to several devices in turn.
    pub fn new(devices: &(impl DeviceSet + ?Sized)) -> Pipeline {
        Pipeline {
            devices: devices.devices().to_vec(),
            streams: 4,
            memory: 64 << 20,
            idle: Mutex::default(),
        }
    }

    /// With so many chunks on their way to and from a device at a time, at least 1.
    pub fn streams(mut self, streams: usize) -> Pipeline {
        self.streams = streams.max(1);
        self.forget();
        self
    }

    /// Sets how many bytes of each device's memory the streams share; as many page-locked bytes of the host are used.
    ///
    /// Where a device's [limit](Device::with_memory_limit) leaves less, chunks are smaller. Memory that calls of other threads
    /// take at the same time counts against the limit.
    pub fn memory(mut self, bytes: usize) -> Pipeline {
        self.memory = bytes;
        self.forget();
        self
    }

    /// The devices that run the kernels.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Gives streams and memory back.
    fn forget(&mut self) {
        self.idle
            .get_mut()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .clear();
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Pipeline({} streams and {} bytes on each of {:?})",
            self.streams, self.memory, self.devices
        )
    }
}

//! Kinds and ids of devices, and kinds of memory.

use std::fmt;

/// The kinds of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The CPU, with native implementations.
    Cpu,
    /// The GPU's kernels, run on the CPU.
    Simulator,
    /// An NVIDIA GPU.
    Cuda {
        /// The GPU's number, counted from 0.
        ordinal: usize,
    },
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceKind::Cpu => f.pad("cpu"),
            DeviceKind::Simulator => f.pad("simulator"),
            DeviceKind::Cuda { ordinal } => f.pad(&format!("cuda:{ordinal}")),
        }
    }
}

/// Identifies a device within the process: see [`Device::id`](super::Device::id). Handles to the
/// same device have equal ids, whatever their [limits](super::Device::with_memory_limit).
///
/// ```
/// use gridstride::Device;
///
/// let (first, second) = (Device::simulator()?, Device::simulator()?);
/// assert_eq!(first.id(), first.clone().with_memory_limit(1 << 20).id());
/// assert_ne!(first.id().to_string(), second.id().to_string()); // simulator:0 and simulator:1
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId {
    pub(super) kind: DeviceKind,
    /// The number of the simulator; 0 for other devices.
    pub(super) number: u64,
}

/// Formats the id, for example `cpu`, `simulator:0` or `cuda:0`.
impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            DeviceKind::Simulator => f.pad(&format!("simulator:{}", self.number)),
            kind => kind.fmt(f),
        }
    }
}

/// The memory that an [allocation](crate::Error::Allocation) is made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Ordinary memory of the host, also that of the CPU and of simulators without a
    /// [limit](super::Device::with_memory_limit).
    Host,
    /// [Page-locked](super::PinnedBuffer) memory of the host.
    PageLocked,
    /// The memory of a GPU, or the memory that a device's
    /// [limit](super::Device::with_memory_limit) allows.
    Device(DeviceId),
}

/// Formats the memory, for example `the host` or `cuda:0`.
impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryKind::Host => f.pad("the host"),
            MemoryKind::PageLocked => f.pad("page-locked memory of the host"),
            MemoryKind::Device(device) => device.fmt(f),
        }
    }
}

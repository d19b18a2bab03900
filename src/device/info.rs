//! What a device is and has.

use super::{Device, Kind};
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
        /// Its number, counted from 0.
        ordinal: usize,
    },
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceKind::Cpu => f.write_str("cpu"),
            DeviceKind::Simulator => f.write_str("simulator"),
            DeviceKind::Cuda { ordinal } => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// Identifies a device within the process: [`Device::id`]. Handles to the same device have equal ids, whatever their
/// [limits](Device::with_memory_limit).
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
pub struct DeviceId(Id);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Id {
    Cpu,
    #[cfg(feature = "simulator")]
    Simulator(u64),
    #[cfg(feature = "cuda")]
    Cuda(usize),
}

impl DeviceId {
    /// The id of a GPU.
    #[cfg(feature = "cuda")]
    pub(super) fn cuda(ordinal: usize) -> DeviceId {
        DeviceId(Id::Cuda(ordinal))
    }
}

/// `cpu`, `simulator:0` or `cuda:0`.
impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Cpu => f.write_str("cpu"),
            #[cfg(feature = "simulator")]
            Id::Simulator(number) => write!(f, "simulator:{number}"),
            #[cfg(feature = "cuda")]
            Id::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// The memory that an [allocation](crate::Error::Allocation) is made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Ordinary memory of the host. The CPU and simulators without a [limit](Device::with_memory_limit) use it too.
    Host,
    /// [Page-locked](super::PinnedBuffer) memory of the host.
    PageLocked,
    /// The memory of a GPU, or the share of it that the device's [limit](Device::with_memory_limit) leaves.
    Device(DeviceId),
}

/// `the host`, `page-locked memory of the host`, or the device.
impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryKind::Host => f.write_str("the host"),
            MemoryKind::PageLocked => f.write_str("page-locked memory of the host"),
            MemoryKind::Device(device) => device.fmt(f),
        }
    }
}

/// What a device is and has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its kind.
    pub kind: DeviceKind,
    /// Its name, for a GPU that of the product.
    pub name: String,
    /// Major and minor compute capability; for the simulator the one whose limits it has.
    pub compute_capability: Option<(u32, u32)>,
    /// Bytes of memory in all, of a GPU.
    pub total_memory: Option<u64>,
    /// Bytes of memory that were free at the time of asking, of a GPU.
    pub free_memory: Option<u64>,
    /// Multiprocessors of a GPU, or threads that the CPU runs at once.
    pub processors: usize,
    /// The most shared memory that one block can have, in bytes.
    pub shared_memory_per_block: Option<u32>,
}

impl Device {
    /// Returns what identifies the device within the process.
    pub fn id(&self) -> DeviceId {
        DeviceId(match &self.kind {
            Kind::Cpu => Id::Cpu,
            #[cfg(feature = "simulator")]
            Kind::Simulator(simulator) => Id::Simulator(simulator.number),
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => Id::Cuda(context.ordinal()),
        })
    }

    /// The memory that buffers of this device are allocated in.
    pub(crate) fn memory_kind(&self) -> MemoryKind {
        match (self.kind(), &self.limit) {
            (DeviceKind::Cpu | DeviceKind::Simulator, None) => MemoryKind::Host,
            _ => MemoryKind::Device(self.id()),
        }
    }

    /// What the device is and has.
    pub fn info(&self) -> DeviceInfo {
        match &self.kind {
            Kind::Cpu => DeviceInfo {
                kind: self.kind(),
                name: std::env::consts::ARCH.to_string(),
                compute_capability: None,
                total_memory: None,
                free_memory: None,
                processors: rayon::current_num_threads(),
                shared_memory_per_block: None,
            },
            #[cfg(feature = "simulator")]
            Kind::Simulator(simulator) => DeviceInfo {
                kind: self.kind(),
                name: "simulator".to_string(),
                compute_capability: Some((9, 0)),
                total_memory: None,
                free_memory: None,
                processors: rayon::current_num_threads(),
                shared_memory_per_block: Some(simulator.settings.limits.shared_bytes),
            },
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => context.info(),
        }
    }
}

/// One line: kind, name, compute capability and memory, as far as the device has them.
impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.name)?;
        if let Some((major, minor)) = self.compute_capability {
            write!(f, ", compute capability {major}.{minor}")?;
        }
        write!(f, ", {} processors", self.processors)?;
        if let (Some(free), Some(total)) = (self.free_memory, self.total_memory) {
            let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
            write!(f, ", {:.1} of {:.1} GiB free", gib(free), gib(total))?;
        }
        Ok(())
    }
}

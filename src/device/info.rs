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
                shared_memory_per_block: Some(simulator.limits.shared_bytes),
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

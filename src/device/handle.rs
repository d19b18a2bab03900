//! Handles to devices.

use super::cuda::{self, Gpu};
use super::info::Id;
use super::limit::{Limit, Reservation};
use super::simulator::Simulator;
use super::{DeviceId, DeviceInfo, DeviceKind, MemoryKind};
use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// A handle to a device: the CPU, an NVIDIA GPU, or the simulator. Cloning is cheap and returns another handle to the
/// same device.
#[derive(Clone)]
pub struct Device {
    pub(super) backend: Backend,
    limit: Option<Arc<Limit>>,
}

/// What runs the work of a device. Builds without a back end have the variant, but no value of it.
#[derive(Clone)]
pub(super) enum Backend {
    Cpu,
    Simulator(Simulator),
    Cuda(Gpu),
}

impl From<Backend> for Device {
    fn from(backend: Backend) -> Device {
        Device {
            backend,
            limit: None,
        }
    }
}

impl Device {
    /// Returns the CPU of this machine, with the native implementations.
    pub fn cpu() -> Device {
        Backend::Cpu.into()
    }

    /// Returns GPU number `ordinal`, counted from 0 as the driver does.
    ///
    /// All devices made from one ordinal share the GPU's primary context, which other CUDA libraries in the process use
    /// too.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the reason: this build lacks the feature `cuda`, there is no driver, or no such GPU.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        Ok(Backend::Cuda(Gpu::open(ordinal)?).into())
    }

    /// Returns a new simulator, which runs the GPU's kernels on the CPU, slowly, and stops at their synchronisation
    /// mistakes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this build lacks the feature `simulator`.
    pub fn simulator() -> Result<Device> {
        Ok(Backend::Simulator(Simulator::open()?).into())
    }

    /// Returns a simulator with custom settings, above all the seed from which it draws the order in which threads run.
    /// A kernel whose results differ between seeds lacks a barrier.
    #[cfg(feature = "simulator")]
    pub fn simulator_with(simulator: simt::Simulator) -> Device {
        Backend::Simulator(Simulator::new(simulator)).into()
    }

    /// Returns the first GPU that runs this crate's kernels (compute capability 7.0 or newer), else the CPU.
    pub fn auto() -> Device {
        gpus().find(runs_kernels).unwrap_or_else(Device::cpu)
    }

    /// Returns all GPUs that run this crate's kernels: a [set](super::DeviceSet) to divide work over, possibly empty.
    pub fn gpus() -> Vec<Device> {
        gpus().filter(runs_kernels).collect()
    }

    /// Returns the devices of this machine: the CPU, the simulator if it was built in, and the GPUs.
    ///
    /// Each GPU is opened to ask for its memory, and closed again if nothing else holds it, which takes a moment.
    pub fn list() -> Vec<DeviceInfo> {
        let devices = [Device::cpu()]
            .into_iter()
            .chain(Device::simulator().ok())
            .chain(gpus());
        devices.map(|device| device.info()).collect()
    }

    /// Returns the kind of the device.
    pub fn kind(&self) -> DeviceKind {
        match &self.backend {
            Backend::Cpu => DeviceKind::Cpu,
            Backend::Simulator(_) => DeviceKind::Simulator,
            Backend::Cuda(gpu) => DeviceKind::Cuda {
                ordinal: gpu.ordinal(),
            },
        }
    }

    /// Returns what identifies the device within the process.
    pub fn id(&self) -> DeviceId {
        DeviceId(match &self.backend {
            Backend::Cpu => Id::Cpu,
            Backend::Simulator(simulator) => Id::Simulator(simulator.number()),
            Backend::Cuda(gpu) => Id::Cuda(gpu.ordinal()),
        })
    }

    /// Returns the device's name, memory and other properties.
    pub fn info(&self) -> DeviceInfo {
        match &self.backend {
            Backend::Cpu => DeviceInfo {
                kind: self.kind(),
                name: std::env::consts::ARCH.to_string(),
                compute_capability: None,
                total_memory: None,
                free_memory: None,
                processors: self.processors(),
                shared_memory_per_block: None,
            },
            Backend::Simulator(_) => DeviceInfo {
                kind: self.kind(),
                name: "simulator".to_string(),
                compute_capability: Some(self.compute_capability()),
                total_memory: None,
                free_memory: None,
                processors: self.processors(),
                shared_memory_per_block: self.shared_memory_per_block(),
            },
            Backend::Cuda(gpu) => gpu.info(),
        }
    }

    /// The multiprocessors of a GPU, or the threads that the CPU runs at once.
    pub(crate) fn processors(&self) -> usize {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => rayon::current_num_threads(),
            Backend::Cuda(gpu) => gpu.multiprocessors(),
        }
    }

    /// Major and minor compute capability of a GPU, or the one whose limits the simulator has.
    pub(crate) fn compute_capability(&self) -> (u32, u32) {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => (9, 0),
            Backend::Cuda(gpu) => gpu.compute_capability(),
        }
    }

    /// The most shared memory in bytes that one block can have; `None` for the CPU, which runs no kernels.
    pub(crate) fn shared_memory_per_block(&self) -> Option<u32> {
        match &self.backend {
            Backend::Cpu => None,
            Backend::Simulator(simulator) => Some(simulator.shared_memory_per_block()),
            Backend::Cuda(gpu) => Some(gpu.shared_memory_per_block()),
        }
    }

    /// The memory that buffers of this device are allocated in.
    pub(crate) fn memory_kind(&self) -> MemoryKind {
        match (self.kind(), &self.limit) {
            (DeviceKind::Cpu | DeviceKind::Simulator, None) => MemoryKind::Host,
            _ => MemoryKind::Device(self.id()),
        }
    }

    /// Waits until everything that was started on this handle's stream, the device's main stream unless the handle was
    /// made by [`on`](Device::on), has finished.
    ///
    /// # Errors
    /// [`Error::Driver`] if work on the GPU failed, possibly started by an earlier call.
    pub fn synchronize(&self) -> Result<()> {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => Ok(()),
            Backend::Cuda(gpu) => gpu.synchronize(),
        }
    }

    /// Whether both are handles to the same device, whatever their streams and limits. Two simulators are two devices,
    /// also with the same settings.
    pub fn same_as(&self, other: &Device) -> bool {
        self.id() == other.id()
    }

    /// Fails unless `other` is this device.
    pub(crate) fn require_same(&self, other: &Device, operation: &'static str) -> Result<()> {
        if self.same_as(other) {
            return Ok(());
        }
        Err(Error::DifferentDevices {
            operation,
            left: self.to_string(),
            right: other.to_string(),
        })
    }

    /// A handle to the same device with this handle's limit and the stream of `other`.
    pub(super) fn with_stream_of(&self, other: &Device) -> Device {
        Device {
            backend: other.backend.clone(),
            limit: self.limit.clone(),
        }
    }
}

/// Limits of memory.
impl Device {
    /// Returns a handle to the same device whose buffers may use at most `bytes` of its memory at a time. The memory of a
    /// dropped buffer can be used again.
    ///
    /// Calls that take a [`DeviceSet`](super::DeviceSet) cut their work into parts that fit. The CPU's limit bounds its
    /// buffers, but not the memory that such calls compute in. Clones share the limit: an allocation of one fails while
    /// another has the memory. The limit of a handle that already has one is replaced.
    ///
    /// ```
    /// use gridstride::{Device, Error};
    ///
    /// let device = Device::auto().with_memory_limit(1 << 10);
    /// let small = device.zeros::<u64>(100)?;
    /// assert!(matches!(device.zeros::<u64>(100), Err(Error::Allocation { free: Some(224), .. })));
    /// drop(small);
    /// assert!(device.zeros::<u64>(100).is_ok());
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn with_memory_limit(&self, bytes: u64) -> Device {
        Device {
            backend: self.backend.clone(),
            limit: Some(Arc::new(Limit::new(bytes))),
        }
    }

    /// Returns the [limit](Device::with_memory_limit) in bytes; `None` for a handle without one.
    ///
    /// [`info`](Device::info) has the total and the free memory of a GPU.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// assert_eq!(Device::auto().memory_limit(), None);
    /// assert_eq!(Device::auto().with_memory_limit(1 << 20).memory_limit(), Some(1 << 20));
    /// ```
    pub fn memory_limit(&self) -> Option<u64> {
        self.limit.as_ref().map(|limit| limit.bytes())
    }

    /// Returns how many bytes of the [limit](Device::with_memory_limit) are in use: those of all buffers that were made
    /// through this handle and its clones. `None` for a handle without a limit, whose buffers are not counted.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// let device = Device::auto().with_memory_limit(1 << 20);
    /// let buffer = device.zeros::<f32>(64)?;
    /// assert_eq!(device.memory_used(), Some(256));
    /// drop(buffer);
    /// assert_eq!(device.memory_used(), Some(0));
    /// assert_eq!(Device::auto().memory_used(), None);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn memory_used(&self) -> Option<u64> {
        self.limit.as_ref().map(|limit| limit.used())
    }

    /// Bytes that the limit leaves.
    pub(crate) fn limit_left(&self) -> Option<u64> {
        self.limit
            .as_ref()
            .map(|limit| limit.bytes() - limit.used())
    }

    /// Whether both are handles to the same device, with the same limit or none.
    pub(crate) fn shares_limit(&self, other: &Device) -> bool {
        let limits = match (&self.limit, &other.limit) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        limits && self.same_as(other)
    }

    /// Bytes available for new allocations: what remains of the limit, or the GPU's total memory.
    pub(crate) fn memory_budget(&self) -> Option<u64> {
        match &self.backend {
            Backend::Cpu => None,
            Backend::Simulator(_) => self.limit_left(),
            Backend::Cuda(gpu) => self.limit_left().or_else(|| Some(gpu.total_memory())),
        }
    }

    /// Takes bytes of the limit, if there is one.
    pub(super) fn reserve(&self, bytes: usize) -> Result<Option<Reservation>> {
        let Some(limit) = &self.limit else {
            return Ok(None);
        };
        Reservation::new(limit, bytes as u64, self.memory_kind()).map(Some)
    }
}

/// Whether a GPU runs this crate's kernels.
fn runs_kernels(gpu: &Device) -> bool {
    gpu.info().compute_capability >= Some((7, 0))
}

/// The usable GPUs.
fn gpus() -> impl Iterator<Item = Device> {
    (0..cuda::count()).filter_map(|ordinal| Device::cuda(ordinal).ok())
}

/// `cpu`, `simulator:0` or `cuda:0`: the [id](Device::id). Simulators are counted in the order in which the process makes
/// them.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

//! Handles to devices.

use super::available::{MemoryState, no_memory};
use super::cuda::{self, Gpu};
use super::limit::{Limit, Reservation};
use super::simulator::Simulator;
use super::{DeviceId, DeviceInfo, DeviceKind, DeviceName, DriverInfo, MemoryKind};
use crate::{Error, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// A cheaply cloned handle to a device: the CPU, an NVIDIA GPU, or the simulator.
#[derive(Clone)]
pub struct Device {
    pub(super) backend: Backend,
    limit: Option<Arc<Limit>>,
}

/// The back end of a device. Builds without a back end have the variant, but no values of it.
#[derive(Clone)]
pub(super) enum Backend {
    Cpu,
    Simulator(Simulator),
    Cuda(Gpu),
}

impl DeviceName {
    /// Opens the device.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the device is not there.
    pub fn open(self) -> Result<Device> {
        match self {
            DeviceName::Auto => Ok(Device::auto()),
            DeviceName::Cpu => Ok(Device::cpu()),
            DeviceName::Cuda(ordinal) => Device::cuda(ordinal),
            DeviceName::Simulator => Device::simulator(),
        }
    }
}

impl Device {
    fn new(backend: Backend) -> Device {
        let limit = None;
        Device { backend, limit }
    }

    /// Returns the CPU of this machine, with the native implementations.
    pub fn cpu() -> Device {
        Device::new(Backend::Cpu)
    }

    /// Returns GPU number `ordinal`, counted from 0 as the driver does.
    ///
    /// All devices made from one ordinal share the GPU's primary context, which other CUDA
    /// libraries in the process use too.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no such GPU, no driver, or no feature `cuda` in this
    /// build, [`Error::Driver`] if the driver cannot make a context or a stream on the GPU.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        Gpu::open(ordinal).map(|gpu| Device::new(Backend::Cuda(gpu)))
    }

    /// Returns a new simulator, which runs the GPU's kernels slowly on the CPU, and stops at
    /// mistakes in their synchronisation and in their use of memory.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this build lacks the feature `simulator`.
    pub fn simulator() -> Result<Device> {
        Simulator::open().map(|simulator| Device::new(Backend::Simulator(simulator)))
    }

    /// Returns a simulator with custom settings, such as the seed of the random order in which
    /// threads run. A kernel whose results differ between seeds lacks a barrier.
    #[cfg(feature = "simulator")]
    pub fn simulator_with(simulator: simt::Simulator) -> Device {
        Device::new(Backend::Simulator(Simulator::new(simulator)))
    }

    /// Returns the first GPU that runs this crate's kernels (compute capability 7.0 or newer), or
    /// else the CPU.
    pub fn auto() -> Device {
        gpus().find(runs_kernels).unwrap_or_else(Device::cpu)
    }

    /// Returns all GPUs that run this crate's kernels: a possibly empty [set](super::DeviceSet).
    pub fn gpus() -> Vec<Device> {
        gpus().filter(runs_kernels).collect()
    }

    /// Returns the machine's devices: the CPU, the simulator if this build has it, and the GPUs.
    ///
    /// This takes a moment: unused GPUs are opened to read their memory, and closed again.
    pub fn list() -> Vec<DeviceInfo> {
        let host = [Device::cpu()].into_iter().chain(Device::simulator().ok());
        host.chain(gpus()).map(|device| device.info()).collect()
    }

    /// Returns the version and the state of the NVIDIA driver: the reason why there is no GPU.
    ///
    /// The first call starts the driver, which takes a moment. Later calls, and calls after a GPU
    /// was opened, return the state at that time.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::device::DriverState;
    ///
    /// match Device::driver().state {
    ///     DriverState::Ready { gpus } => println!("{gpus} GPUs"),
    ///     DriverState::NotBuilt => println!("build with the feature cuda"),
    ///     DriverState::Missing { reason } => println!("install the NVIDIA driver: {reason}"),
    ///     other => println!("the driver does not start: {other:?}"),
    /// }
    /// ```
    pub fn driver() -> DriverInfo {
        DriverInfo {
            cuda_version: cuda::driver_version(),
            state: cuda::driver_state(),
        }
    }

    /// Returns the kind of the device.
    pub fn kind(&self) -> DeviceKind {
        match &self.backend {
            Backend::Cpu => DeviceKind::Cpu,
            Backend::Simulator(_) => DeviceKind::Simulator,
            Backend::Cuda(gpu) => gpu.properties().id.kind,
        }
    }

    /// Returns the id of the device within the process.
    pub fn id(&self) -> DeviceId {
        let number = match &self.backend {
            Backend::Cpu | Backend::Cuda(_) => 0,
            Backend::Simulator(simulator) => simulator.number(),
        };
        let kind = self.kind();
        DeviceId { kind, number }
    }

    /// Returns the device's name, memory and other properties.
    pub fn info(&self) -> DeviceInfo {
        let (name, compute_capability) = match &self.backend {
            Backend::Cpu => (std::env::consts::ARCH, None),
            Backend::Simulator(_) => ("simulator", Some(self.compute_capability())),
            Backend::Cuda(gpu) => return gpu.info(),
        };
        DeviceInfo {
            kind: self.kind(),
            name: name.to_string(),
            compute_capability,
            total_memory: None,
            free_memory: None,
            processors: self.processors(),
            shared_memory_per_block: self.shared_memory_per_block(),
        }
    }

    /// Returns the number of a GPU's multiprocessors, or of the threads that the CPU runs at once.
    #[doc(hidden)]
    pub fn processors(&self) -> usize {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => rayon::current_num_threads(),
            Backend::Cuda(gpu) => gpu.properties().multiprocessors,
        }
    }

    /// Returns the compute capability of a GPU, or the one whose limits the simulator has.
    #[doc(hidden)]
    pub fn compute_capability(&self) -> (u32, u32) {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => (9, 0),
            Backend::Cuda(gpu) => gpu.properties().compute_capability,
        }
    }

    /// Returns the most bytes of shared memory that one block can have; `None` for the CPU.
    #[doc(hidden)]
    pub fn shared_memory_per_block(&self) -> Option<u32> {
        match &self.backend {
            Backend::Cpu => None,
            Backend::Simulator(simulator) => Some(simulator.shared_memory_per_block()),
            Backend::Cuda(gpu) => Some(gpu.properties().shared_memory_per_block),
        }
    }

    /// Returns the memory in which buffers of this device are allocated.
    #[doc(hidden)]
    pub fn memory_kind(&self) -> MemoryKind {
        match (self.kind(), &self.limit) {
            (DeviceKind::Cpu | DeviceKind::Simulator, None) => MemoryKind::Host,
            _ => MemoryKind::Device(self.id()),
        }
    }

    /// Sets the stack of each thread of a kernel on a GPU, in bytes, for the whole process: for all handles to
    /// the GPU, and for other libraries that use its primary context.
    ///
    /// The driver gives a kernel as much as it needs if the compiler knows which functions it
    /// calls. Otherwise a thread has 1 KiB by default, and the launch fails if it takes more, as
    /// `println!` of an `f32` does. The GPU reserves the memory for all threads that it can run at
    /// the same time, such as 132 · 2048 on an H200.
    ///
    /// Has no effect on the CPU, which runs no kernels, nor in the simulator, whose stacks are
    /// larger.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use gridstride::Device;
    /// use gridstride::device::{LaunchConfig, Module};
    ///
    /// /// Prints a number, by functions of the standard library that call others by address.
    /// #[kernel]
    /// pub fn print(x: f32) {
    ///     cuda_std::println!("x = {x}");
    /// }
    ///
    /// # fn main() -> gridstride::Result<()> {
    /// # static KERNELS: Module = Module::new("kernels", &[]);
    /// // On a GPU: Device::cuda(0)?
    /// let device = Device::simulator()?;
    /// device.set_stack_size(4 << 10)?;
    /// // SAFETY: the kernel accesses no memory of the host.
    /// unsafe { device.launch(&KERNELS, &print, LaunchConfig::new(1, 1), (0.1,))? };
    /// device.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`] if the memory does not suffice, or earlier work on the GPU failed.
    pub fn set_stack_size(&self, bytes: usize) -> Result<()> {
        match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => Ok(()),
            Backend::Cuda(gpu) => gpu.set_stack_size(bytes),
        }
    }

    /// Whether both are handles to the same device, whatever their streams and limits. Two
    /// simulators are different devices, even with the same settings.
    pub fn same_as(&self, other: &Device) -> bool {
        self.id() == other.id()
    }

    /// Whether the work of both handles is ordered on the same stream: on the CPU and in the
    /// simulator, whose calls finish before they return, all work of the device.
    pub(super) fn shares_stream(&self, other: &Device) -> bool {
        match (&self.backend, &other.backend) {
            (Backend::Cuda(gpu), Backend::Cuda(other)) => gpu.shares_stream(other),
            _ => self.same_as(other),
        }
    }

    /// Fails unless `other` is this device.
    #[doc(hidden)]
    pub fn require_same(&self, other: &Device, operation: &'static str) -> Result<()> {
        if self.same_as(other) {
            return Ok(());
        }
        Err(Error::DifferentDevices {
            operation,
            left: self.to_string(),
            right: other.to_string(),
        })
    }

    /// Returns a handle with this handle's limit and another back end, which has another stream.
    pub(super) fn with_backend(&self, backend: Backend) -> Device {
        let limit = self.limit.clone();
        Device { backend, limit }
    }
}

/// Limits of memory.
impl Device {
    /// Returns a handle to the same device whose buffers may use at most `bytes` of its memory at a
    /// time. Dropping a buffer frees its share. The new limit replaces the limit of this handle.
    ///
    /// Calls that take a [`DeviceSet`](super::DeviceSet) split their work into partitions that fit.
    /// On the CPU, the limit bounds buffers, but not the memory that such calls compute in. Clones
    /// share the limit: an allocation through one fails while buffers of another use the memory.
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
        self.with_limit(Limit::new(Some(bytes), 0..0))
    }

    /// Returns a handle to the same device, some of whose allocations fail as if the device had no
    /// memory left: those with these numbers, counted from 0 over all buffers that are made through
    /// the handle and its clones. Buffers of 0 bytes are not counted. This is for tests of how a
    /// program goes on after [`Error::Allocation`]: fail allocation 0, then 1, and so on, until the
    /// program succeeds.
    ///
    /// The handle keeps the [limit](Device::with_memory_limit) of this handle.
    ///
    /// ```
    /// use gridstride::{Device, Error};
    ///
    /// let device = Device::auto().with_failing_allocations(1..2);
    /// assert!(device.zeros::<u64>(100).is_ok());
    /// assert!(matches!(device.zeros::<u64>(100), Err(Error::Allocation { requested: 800, .. })));
    /// assert!(device.zeros::<u64>(100).is_ok());
    /// assert_eq!(device.memory_used(), Some(0));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn with_failing_allocations(&self, numbers: Range<u64>) -> Device {
        self.with_limit(Limit::new(self.memory_limit(), numbers))
    }

    fn with_limit(&self, limit: Limit) -> Device {
        let limit = Some(Arc::new(limit));
        let backend = self.backend.clone();
        Device { backend, limit }
    }

    /// Returns the [limit](Device::with_memory_limit) in bytes, if the handle has one.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// assert_eq!(Device::auto().memory_limit(), None);
    /// assert_eq!(Device::auto().with_memory_limit(1 << 20).memory_limit(), Some(1 << 20));
    /// ```
    pub fn memory_limit(&self) -> Option<u64> {
        self.limit.as_ref()?.bytes
    }

    /// Returns the bytes of all buffers made through this handle and its clones; `None` for a
    /// handle without a [limit](Device::with_memory_limit) or
    /// [failing allocations](Device::with_failing_allocations), whose buffers are not counted.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// let device = Device::auto().with_memory_limit(1 << 20);
    /// let buffer = device.zeros::<f32>(64)?;
    /// assert_eq!(device.memory_used(), Some(256));
    /// drop(buffer);
    /// assert_eq!(device.memory_used(), Some(0));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn memory_used(&self) -> Option<u64> {
        self.limit.as_ref().map(|limit| limit.used())
    }

    /// Returns the bytes of the limit that are not in use.
    #[doc(hidden)]
    pub fn limit_left(&self) -> Option<u64> {
        Some(self.memory_limit()? - self.memory_used()?)
    }

    /// Returns the error of an allocation of `requested` bytes when the limit leaves `free` bytes.
    #[doc(hidden)]
    pub fn beyond_limit(&self, requested: u64, free: u64) -> Error {
        let state = self.memory_limit().map(|total| MemoryState { free, total });
        no_memory(self.memory_kind(), requested, state)
    }

    /// Whether both are handles to the same device, with the same limit or none.
    #[doc(hidden)]
    pub fn shares_limit(&self, other: &Device) -> bool {
        let limit = |device: &Device| device.limit.as_ref().map(Arc::as_ptr);
        limit(self) == limit(other) && self.same_as(other)
    }

    /// Returns the bytes available for allocations: the rest of the limit, or a GPU's memory.
    #[doc(hidden)]
    pub fn memory_budget(&self) -> Option<u64> {
        match &self.backend {
            Backend::Cpu => None,
            Backend::Simulator(_) => self.limit_left(),
            Backend::Cuda(gpu) => self
                .limit_left()
                .or_else(|| Some(gpu.properties().total_memory)),
        }
    }

    /// Reserves bytes of the limit, if there is a limit.
    pub(super) fn reserve(&self, bytes: usize) -> Result<Option<Reservation>> {
        let limit = self.limit.as_ref();
        let reserved = limit.map(|limit| limit.reserve(bytes as u64, self.memory_kind()));
        reserved.transpose()
    }
}

/// Whether a GPU runs this crate's kernels.
fn runs_kernels(gpu: &Device) -> bool {
    gpu.info().compute_capability >= Some((7, 0))
}

/// Returns the GPUs that can be opened.
fn gpus() -> impl Iterator<Item = Device> {
    (0..cuda::count()).filter_map(|ordinal| Device::cuda(ordinal).ok())
}

/// Formats the [id](Device::id), for example `cpu`, `simulator:0` or `cuda:0`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(f)
    }
}

/// Compares the [ids](Device::id), as [`same_as`](Device::same_as) does: handles to the same device
/// are equal, whatever their streams and limits.
///
/// ```
/// use gridstride::Device;
///
/// assert_eq!(Device::cpu(), Device::cpu().with_memory_limit(1 << 20));
/// assert_ne!(Device::simulator()?, Device::simulator()?);
/// # Ok::<(), gridstride::Error>(())
/// ```
impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.same_as(other)
    }
}

impl Eq for Device {}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

//! Where an operation runs, and what it runs with: devices, buffers, streams and launches.
//!
//! A [`Device`] is a value. The same call runs natively on the CPU, on an NVIDIA GPU, or in the
//! simulator, which runs the GPU's kernels on the CPU:
//!
//! ```
//! use gridstride::Device;
//! use ndarray::array;
//!
//! let device = Device::auto();
//! let on_device = device.upload(&array![[1.0f32, 2.0], [3.0, 4.0]].t())?;
//! assert_eq!(on_device.download()?, array![[1.0, 3.0], [2.0, 4.0]]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Order and streams
//! Every device has a main stream, on which its copies, and launches that name no other stream,
//! run in the order of the calls, whatever thread makes them. A [`Stream`] of one's own runs beside
//! it: an [`Event`] orders one after the other, or [`Stream::synchronize`] waits.
//!
//! # Lifetimes
//! Buffers, streams and events keep their device alive and may be dropped in any order, on any
//! thread. On a GPU a freed buffer's memory is not used again before the work on it has finished:
//! freeing takes its turn on the main stream. While other streams exist, allocating waits for the
//! main stream, and freeing for all. A GPU keeps up to an eighth of its memory, once freed, for its
//! next allocations.
//!
//! # Memory
//! [`Device::with_memory_limit`] gives a handle that takes no more than so much of a device's memory. Calls that take a
//! [`DeviceSet`] cut work that is larger than that, or than all the memory of a GPU, and do one part after the other;
//! over several devices they do parts side by side. The results are those of a single device with room for all, but for
//! the order of additions where a module's documentation says so.
//!
//! # Copies
//! They run at the bus's speed from and to [page-locked memory](PinnedBuffer). Between a GPU and ordinary
//! memory of the host, copies of 8 MiB and more go in pieces through 48 MiB of page-locked memory, which
//! the device keeps from the first such copy on: all threads copy a piece while the GPU copies another.

mod array;
mod available;
mod buffer;
#[cfg(feature = "cuda")]
mod cuda;
mod host_memory;
mod info;
#[cfg(feature = "kernels")]
mod launch;
mod limit;
#[cfg(feature = "kernels")]
mod module;
mod pinned;
mod set;
mod stream;
mod view;

pub use array::DeviceArray;
pub(crate) use available::require_available;
pub use buffer::{Buffer, Element};
pub(crate) use host_memory::{
    append, assign, collected, copied, copy_bytes, packed, reserve, room_to_sort, zeroed,
    zeroed_columns, zeroed_lazily, zeroed_sparsely,
};
pub use info::{DeviceId, DeviceInfo, DeviceKind, MemoryKind};
#[cfg(feature = "kernels")]
pub use module::{Image, Module};
pub use pinned::PinnedBuffer;
pub use set::DeviceSet;
pub use stream::{Event, Stream, StreamScope};
pub use view::DeviceView;

#[cfg(feature = "kernels")]
#[doc(inline)]
pub use cuda_std::host::{Dim3, LaunchConfig};

use crate::{Error, Result};
use limit::{Limit, Reservation};
use std::fmt;
use std::sync::Arc;
#[cfg(feature = "simulator")]
use std::sync::atomic::{AtomicU64, Ordering};

/// A device: the CPU, an NVIDIA GPU, or the simulator. Cloning is cheap and gives the same device.
#[derive(Clone)]
pub struct Device {
    kind: Kind,
    limit: Option<Arc<Limit>>,
}

#[derive(Clone)]
enum Kind {
    Cpu,
    #[cfg(feature = "simulator")]
    Simulator(Arc<NumberedSimulator>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<cuda::Context>),
}

/// A simulator, and its number among all of the process.
#[cfg(feature = "simulator")]
struct NumberedSimulator {
    number: u64,
    settings: simt::Simulator,
}

impl From<Kind> for Device {
    fn from(kind: Kind) -> Device {
        Device { kind, limit: None }
    }
}

impl Device {
    /// The CPU of this machine, with the native implementations.
    pub fn cpu() -> Device {
        Kind::Cpu.into()
    }

    /// The GPU number `ordinal`, counted from 0 as the driver does.
    ///
    /// All devices made from one ordinal share the GPU's primary context, the one that other CUDA
    /// libraries in the process use too.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the reason: this build lacks the feature `cuda`, there is no
    /// driver, or no such GPU.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        #[cfg(feature = "cuda")]
        {
            Ok(Kind::Cuda(cuda::Context::open(ordinal)?).into())
        }
        #[cfg(not(feature = "cuda"))]
        {
            Err(without_feature(format!("cuda:{ordinal}"), "cuda"))
        }
    }

    /// The simulator: it runs the kernels of the GPU on the CPU, slowly, and stops at their
    /// synchronisation mistakes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this build lacks the feature `simulator`.
    pub fn simulator() -> Result<Device> {
        #[cfg(feature = "simulator")]
        {
            Ok(Device::simulator_with(simt::Simulator::default()))
        }
        #[cfg(not(feature = "simulator"))]
        {
            Err(without_feature("simulator".into(), "simulator"))
        }
    }

    /// A simulator with settings of one's own, above all the seed from which it draws the order in
    /// which threads run. A kernel whose results differ between seeds lacks a barrier.
    #[cfg(feature = "simulator")]
    pub fn simulator_with(simulator: simt::Simulator) -> Device {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let simulator = NumberedSimulator {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            settings: simulator,
        };
        Kind::Simulator(Arc::new(simulator)).into()
    }

    /// The first GPU that runs this crate's kernels (compute capability 7.0 or newer), else the
    /// CPU.
    pub fn auto() -> Device {
        gpus().find(runs_kernels).unwrap_or_else(Device::cpu)
    }

    /// All GPUs that run this crate's kernels, none where there is none: a [set](DeviceSet) to divide work over.
    pub fn gpus() -> Vec<Device> {
        gpus().filter(runs_kernels).collect()
    }

    /// The devices of this machine: the CPU, the simulator if it was built in, and the GPUs.
    ///
    /// To ask a GPU for its memory it is opened, and closed again if nothing else holds it, which
    /// takes a moment.
    pub fn list() -> Vec<DeviceInfo> {
        let devices = [Device::cpu()]
            .into_iter()
            .chain(Device::simulator().ok())
            .chain(gpus());
        devices.map(|device| device.info()).collect()
    }

    /// What kind of device this is.
    pub fn kind(&self) -> DeviceKind {
        match &self.kind {
            Kind::Cpu => DeviceKind::Cpu,
            #[cfg(feature = "simulator")]
            Kind::Simulator(_) => DeviceKind::Simulator,
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => DeviceKind::Cuda {
                ordinal: context.ordinal(),
            },
        }
    }

    /// Waits until everything that was started on the device's main stream has finished.
    ///
    /// # Errors
    /// [`Error::Driver`] if something that ran on the GPU failed; it may have been started
    /// earlier.
    pub fn synchronize(&self) -> Result<()> {
        match &self.kind {
            Kind::Cpu => Ok(()),
            #[cfg(feature = "simulator")]
            Kind::Simulator(_) => Ok(()),
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => context.synchronize(),
        }
    }

    /// Whether both stand for the same device. Two simulators are two devices, also with the same
    /// settings.
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
}

/// Whether a GPU runs this crate's kernels.
fn runs_kernels(gpu: &Device) -> bool {
    gpu.info().compute_capability >= Some((7, 0))
}

/// The usable GPUs.
fn gpus() -> impl Iterator<Item = Device> {
    #[cfg(feature = "cuda")]
    let count = cuda::device_count().unwrap_or(0);
    #[cfg(not(feature = "cuda"))]
    let count = 0;
    (0..count).filter_map(|ordinal| Device::cuda(ordinal).ok())
}

/// Locks also what a panic has left: all that is locked here is complete at any time.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(not(all(feature = "cuda", feature = "simulator")))]
fn without_feature(device: String, feature: &str) -> Error {
    Error::Unavailable {
        device,
        reason: format!("gridstride was built without its feature `{feature}`"),
    }
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

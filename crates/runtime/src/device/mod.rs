//! Devices, and their buffers, arrays, streams and launches.
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
//! Every device has a main stream, on which copies, launches and all other work run in the order of
//! the calls, whatever thread makes them. A [`Stream`] runs beside the main stream. [`Device::on`]
//! returns a handle whose work is ordered on a stream. An [`Event`] orders one stream after
//! another.
//!
//! # Lifetimes
//! Buffers, streams and events keep their device open and may be dropped in any order, on any
//! thread. On a GPU, memory is allocated and freed in the order of the buffer's stream, so the
//! memory of a freed buffer is used again only after the work on the buffer. A call with buffers of
//! several streams orders the streams. [`Stream::launch`] does not know its buffers and has its own
//! rule. A GPU keeps up to an eighth of its memory, once freed, for later allocations, and a stream
//! up to 32 buffers of at most 1 MiB.
//!
//! # Graphs
//! [`Device::capture`] records the work that calls start on a handle's stream, and
//! [`Graph::launch`] starts all of it again in about the time of one launch.
//!
//! # Memory
//! [`Device::with_memory_limit`] returns a handle that uses only a share of a device's memory.
//! Calls that take a [`DeviceSet`] split work that needs more memory than the limit, or than a GPU
//! has, into partitions that run one after the other. Several devices run partitions side by side.
//! The results equal those of a single device with enough memory, except for the order of additions
//! if a module's documentation says so.
//!
//! # Copies
//! A copy to a device has read its source when the call returns. A GPU may finish copies of at most
//! 1 KiB later, in the order of the stream. Copies run at the bus's speed from and to
//! [page-locked memory](PinnedBuffer). Copies of 8 MiB and more between a GPU and ordinary host
//! memory go in chunks through 48 MiB of page-locked memory, which the device keeps afterwards. All
//! threads copy one chunk while the GPU copies another. Sketches of sequences copy their batches
//! through up to 64 MiB more, so that the host prepares a batch while the GPU computes others.

mod allocations;
mod array;
mod available;
mod buffer;
mod capture;
mod constant;
#[cfg_attr(not(feature = "cuda"), path = "no_cuda.rs")]
mod cuda;
mod driver;
mod element;
mod for_tests;
mod gate;
mod graph;
mod handle;
mod host_allocation;
mod host_memory;
mod info;
mod kind;
mod launch;
#[cfg(debug_assertions)]
mod launched;
mod limit;
mod lock;
mod memory;
mod module;
mod name;
mod occupancy;
mod pinned;
mod present;
mod reserve;
mod set;
mod side_streams;
#[cfg_attr(not(feature = "simulator"), path = "no_simulator.rs")]
mod simulator;
#[cfg(any(feature = "cuda", test))]
mod split;
mod stream;
mod synchronize;
mod tensor_map;
mod uploads;
mod view;
mod workspace;

pub use array::{BufferMut, DeviceArray};
pub use buffer::Buffer;
pub use driver::{DriverInfo, DriverState};
pub use element::Element;
pub use graph::Graph;
pub use handle::Device;
pub use info::DeviceInfo;
pub use kind::{DeviceId, DeviceKind, MemoryKind};
pub use module::{Image, Module};
pub use occupancy::Occupancy;
pub use pinned::PinnedBuffer;
pub use set::DeviceSet;
pub use stream::{Event, Stream, StreamScope};
pub use view::DeviceView;

// The front ends read the names of devices with them.
#[doc(hidden)]
pub use name::{DeviceName, UnknownDevice};

// For the kernel crates: see the crate's documentation.
pub use crate::workspace;
pub use array::is_countable;
pub use available::require_available;
pub use capture::refuse as refuse_capture;
pub use for_tests::cpu_and_gpu;
#[cfg(feature = "simulator")]
pub use for_tests::device_for_tests;
pub use host_memory::{
    append, assign, copied, copy_bytes, packed, resize_lazily, zeroed, zeroed_columns,
    zeroed_lazily, zeroed_sparsely,
};
pub use lock::{Unshared, into_inner, lock};
pub use present::Aside;
pub use reserve::{collected, reserve, room_to_sort};
pub use side_streams::SideStreams;
pub use uploads::Uploads;

#[doc(inline)]
pub use cuda_std::host::{Dim3, LaunchConfig};

//! The host's side: what a kernel is to those who launch it, and what an executor on the CPU
//! provides to the kernels that it runs.

mod access;
mod barriers;
#[cfg(all(
    feature = "race-detector",
    unix,
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod instrumented;
mod kernel;
mod lane;
mod limits;
pub(crate) mod mbarrier;
mod misuse;
pub(crate) mod mma;
mod numbers;
mod phases;
mod shared;
mod statics;
mod tensor;
pub(crate) mod tensor_copies;
mod tiles;
pub(crate) mod wgmma;

pub use access::{Access, AccessKind, AccessSite, Ordered};
pub use barriers::Barriers;
#[cfg(all(
    feature = "race-detector",
    unix,
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use instrumented::is_instrumented;
pub use kernel::{BlockBound, Dim3, Instance, Kernel, KernelArgs, LaunchConfig};
pub use lane::{BARRIER_BITS, BlockOfCluster, Lane, Perform, Position, enter, is_inside_kernel};
pub(crate) use lane::{lane, out_of_bounds, sync_threads_count};
pub use limits::{LaunchError, MAX_THREADS};
#[doc(hidden)]
pub use linkme;
pub use misuse::Misuse;
pub use phases::BarrierPhase;
pub use statics::{CONSTANT_STATICS, ConstantStatic, SHARED_STATICS, SharedStatic};
pub use tensor::{Pending as PendingTensorTiles, TensorTiles};
pub use tiles::Pending as PendingWgmma;

pub use crate::warp::WarpOperation;

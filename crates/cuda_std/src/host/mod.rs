//! The host's side: what a kernel is to those who launch it, and what an executor on the CPU
//! provides to the kernels that it runs.

mod kernel;
mod lane;
mod limits;
mod misuse;
pub(crate) mod mma;
mod numbers;
mod shared;
mod tiles;
pub(crate) mod wgmma;

pub use kernel::{BlockBound, Dim3, Kernel, KernelArgs, LaunchConfig};
pub use lane::{Lane, Perform, Position, enter, is_inside_kernel};
pub(crate) use lane::{lane, out_of_bounds};
pub use limits::{LaunchError, MAX_THREADS};
pub use misuse::Misuse;
pub use tiles::Pending as PendingWgmma;

pub use crate::warp::WarpOperation;

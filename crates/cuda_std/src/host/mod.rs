//! The host's side: what a kernel is to those who launch it, and what an executor on the CPU
//! provides to the kernels that it runs.

mod kernel;
mod lane;

pub use kernel::{BlockBound, DeviceParam, Dim3, Kernel, KernelArgs, LaunchConfig};
pub use lane::{Lane, Position, enter, is_inside_kernel};
pub(crate) use lane::{lane, out_of_bounds};

pub use crate::warp::WarpOperation;

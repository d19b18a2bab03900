//! NVIDIA GPUs: the one place that uses cust.
//!
//! cust's safe wrappers leave gaps (a context that is current on one thread alone, slices without
//! lifetimes, module loading without the compiler's log, streams that lose their flags), so this
//! module takes the driver's functions from `cust::sys` and closes the gaps here:
//!
//! - every handle keeps its [`Context`] alive, and makes it current around each call, on whatever
//!   thread: so handles may be used from any thread and dropped in any order;
//! - every result code is checked, and becomes an error that says what was being done;
//! - cust finds the functions in the driver at run time.

mod context;
mod memory;
mod module;
mod staging;
mod stream;

pub(super) use context::{Context, device_count};
pub(super) use memory::{Allocation, HostAllocation};
pub(super) use stream::{EventHandle, UserStream};

use crate::Error;
use cust::sys::{self, cudaError_enum};

/// Turns a result code into an error that names the operation and the device.
fn check(result: sys::CUresult, operation: &str, device: &str) -> Result<(), Error> {
    if result == cudaError_enum::CUDA_SUCCESS {
        return Ok(());
    }
    // cust's enum lacks the codes of newer drivers.
    let code = cust::driver::last_error().unwrap_or(result as u32);
    Err(Error::Driver {
        operation: operation.to_string(),
        device: device.to_string(),
        code,
        message: cust::driver::error_text(code),
    })
}

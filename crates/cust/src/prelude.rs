//! The names that programs usually need: `use cust::prelude::*`.

pub use crate::CudaFlags;
pub use crate::context::Context;
pub use crate::device::Device;
pub use crate::function::Function;
pub use crate::launch;
pub use crate::memory::{CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice};
pub use crate::module::Module;
pub use crate::stream::{Stream, StreamFlags};
pub use crate::util::*;

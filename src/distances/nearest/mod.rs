//! The nearest rows of a database for each query, without the matrix of distances in memory.

mod calls;
pub mod cpu;
mod device_output;
pub mod gpu;
pub mod input;
pub mod merge;
mod output;
mod partition;
pub mod slide;

pub use calls::nearest;
pub use device_output::DeviceNearest;
pub use output::Nearest;
pub use slide::slide_nearest;

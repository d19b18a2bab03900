//! Arrays in the memory of devices, as arguments and results: those of this package, and those of
//! other libraries by DLPack or the CUDA array interface.

mod argument;
mod array;
pub mod box_overlap;
pub mod distances;
mod dtype;
pub mod matmul;
mod stream;
pub mod time_series;

pub use argument::{DeviceArgument, Out, Place, lists_device_arrays, on_device, resident};
pub use array::{PyDeviceArray, uploaded};

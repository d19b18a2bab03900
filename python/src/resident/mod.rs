//! Arrays in the memory of devices, as arguments and results: those of this package, and those of
//! other libraries by DLPack or the CUDA array interface.

mod argument;
mod array;
pub mod box_overlap;
pub mod distances;
mod dtype;
mod location;
pub mod matmul;
mod methods;
mod place;
mod stream;
pub mod time_series;

pub use argument::{DeviceArgument, Out, resident};
pub use array::PyDeviceArray;
pub use location::{lists_device_arrays, on_device};
pub use methods::uploaded;
pub use place::Place;

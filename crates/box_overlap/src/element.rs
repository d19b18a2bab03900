//! The types of coordinates.

use gridstride_runtime::device::Buffer;
use gridstride_runtime::{Device, Number, Result};

use super::device_output::DeviceOverlaps;
use super::input::{DeviceProblem, Problem};
use super::slices::Search;

/// A type of coordinates of boxes: `f32`, `f64` or `i32`. Sealed.
pub trait Coordinate: Number + Dispatch {}

impl Coordinate for f32 {}
impl Coordinate for f64 {}
impl Coordinate for i32 {}

/// The implementations for a type of coordinates, in `dispatch.rs`. They are compiled here, once
/// for each type, not in each crate that searches.
pub trait Dispatch: Number {
    /// Prepares a search over a set of devices.
    fn host<'a>(devices: &[Device], problem: Problem<'a, Self>) -> Result<Box<dyn Search + 'a>>;

    /// Writes the number of each row's pairs to `counts`, searched on a set of devices.
    fn host_counts(devices: &[Device], problem: Problem<Self>, counts: &mut [u32]) -> Result<()>;

    /// Finds the pairs of sets in a device's memory, and writes the number of each row's pairs to
    /// `counts`.
    fn device(problem: DeviceProblem<Self>, counts: &mut Buffer<u32>) -> Result<DeviceOverlaps>;

    /// Writes the number of each row's pairs to `counts`, for sets in a device's memory.
    fn device_counts(problem: DeviceProblem<Self>, counts: &mut Buffer<u32>) -> Result<()>;
}

//! The element types of rows.

use gridstride_runtime::{Device, Real, Result};

use super::input::{DevicePairs, DeviceQueries, HostPairs, HostQueries};
use super::output::{DevicePlaces, HostPlaces};

/// A type of elements of rows: `f32` or `f64`. This trait is sealed.
pub trait Component: Real + Dispatch {}

impl Component for f32 {}
impl Component for f64 {}

/// The implementations for an element type: `dispatch.rs` compiles them, so that callers need not.
pub trait Dispatch: Sized {
    /// Writes distances of host arrays, on a set of devices.
    fn host_pairs(devices: &[Device], whole: HostPairs<Self>) -> Result<()>;

    /// Writes distances of arrays in a device's memory. The shapes and devices fit.
    fn device_pairs(pairs: DevicePairs<Self>) -> Result<()>
    where
        Self: Component;

    /// Writes the nearest rows of queries among host arrays, on a set of devices.
    fn host_nearest(devices: &[Device], whole: HostQueries<Self>, places: HostPlaces)
    -> Result<()>;

    /// Writes the nearest rows of queries in a device's memory. The shapes and devices fit.
    fn device_nearest(whole: DeviceQueries<Self>, places: DevicePlaces) -> Result<()>
    where
        Self: Component;
}

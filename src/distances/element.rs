//! The types of elements of rows.

use super::input::{DeviceTile, Tile};
use crate::{Device, Real, Result};

/// A type of elements of rows: `f32` or `f64`. This trait is sealed.
pub trait Component: Real + Dispatch {}

impl Component for f32 {}
impl Component for f64 {}

/// The implementations for a type of elements, in `dispatch.rs`: compiled there, once for each type, and not in each
/// crate that computes distances.
pub trait Dispatch: Sized {
    /// Writes distances between rows in the host's memory, with all of the devices.
    fn host(devices: &[Device], whole: Tile<Self>) -> Result<()>;

    /// Writes distances between rows in a device's memory. The shapes fit, and all arrays are on the same device.
    fn device(tile: DeviceTile<Self>) -> Result<()>
    where
        Self: Component;
}

//! The element types of rows.

use super::input::{DevicePairs, HostPairs};
use crate::{Device, Real, Result};

/// A type of elements of rows: `f32` or `f64`. This trait is sealed.
pub trait Component: Real + Dispatch {}

impl Component for f32 {}
impl Component for f64 {}

/// The implementations for an element type: `dispatch.rs` compiles them, so that callers need not.
pub trait Dispatch: Sized {
    /// Writes distances between rows of host arrays, on a set of devices.
    fn host(devices: &[Device], whole: HostPairs<Self>) -> Result<()>;

    /// Writes distances between rows in a device's memory. The shapes and devices fit.
    fn device(pairs: DevicePairs<Self>) -> Result<()>
    where
        Self: Component;
}

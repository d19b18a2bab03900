//! The element types of rows.

use super::input::{DevicePairs, HostPairs};
use super::nearest::input::{
    DeviceQueries, DeviceSlideQueries, HostQueries, HostSlideQueries, Places,
};
use super::nearest::merge::Found;
use super::slide::input::{DeviceSlides, HostSlides};
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

    /// Writes slide distances between sequences of host arrays, on a set of devices.
    fn host_slides(devices: &[Device], whole: HostSlides<Self>) -> Result<()>;

    /// Writes slide distances between sequences in a device's memory. The shapes and devices fit.
    fn device_slides(slides: DeviceSlides<Self>) -> Result<()>
    where
        Self: Component;

    /// Returns the nearest rows of queries among host arrays, on a set of devices.
    fn host_nearest(devices: &[Device], whole: HostQueries<Self>) -> Result<Vec<Found>>;

    /// Writes the nearest rows of queries in a device's memory. The shapes and devices fit.
    fn device_nearest(whole: DeviceQueries<Self>, places: Places) -> Result<()>
    where
        Self: Component;

    /// Returns the nearest sequences of queries among host arrays, by slide distances, on a set of
    /// devices.
    fn host_slide_nearest(devices: &[Device], whole: HostSlideQueries<Self>) -> Result<Vec<Found>>;

    /// Writes the nearest sequences of queries in a device's memory, by slide distances. The shapes
    /// and devices fit.
    fn device_slide_nearest(whole: DeviceSlideQueries<Self>, places: Places) -> Result<()>
    where
        Self: Component;
}

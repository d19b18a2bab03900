//! The types of a sketch's entries.

use gridstride_runtime::{Device, Real, Result};

use super::input::{DeviceSketch, HostSketch, Job};
use super::options::Plan;
use super::session::batch::Engine;

/// `f32` or `f64`: the type of a sketch's entries, and of their sums. Sealed.
pub trait Entry: Real + Dispatch {}

impl Entry for f32 {}
impl Entry for f64 {}

/// The implementations for a type of entries, compiled in `dispatch.rs`, not by callers.
pub trait Dispatch: Real {
    /// Writes the rows of all sequences or windows in the host's memory.
    fn host(devices: &[Device], whole: HostSketch<Self>) -> Result<()>;

    /// Writes the rows of all sequences or windows in a device's memory.
    fn device(sketch: DeviceSketch<Self>) -> Result<()>;

    /// Makes the engine of a session in the Fourier form.
    fn engine(job: &Job, device: &Device) -> Result<Box<dyn Engine<Self>>>;

    /// Describes how a device computes sketches.
    fn plan(job: &Job, device: &Device) -> Result<Plan>;
}

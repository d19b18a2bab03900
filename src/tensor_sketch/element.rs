//! The types of a sketch's entries.

use super::input::{Job, Windows};
use super::options::Plan;
use super::session::batch::Engine;
use crate::device::Buffer;
use crate::sequences::{DeviceSequences, SequencesView};
use crate::{Device, Real, Result};

/// `f32` or `f64`: the type of a sketch's entries, and of their sums. Sealed.
pub trait Entry: Real + Dispatch {}

impl Entry for f32 {}
impl Entry for f64 {}

/// The implementations for a type of entries, compiled in `dispatch.rs`, not by callers.
pub trait Dispatch: Real {
    /// Writes the rows of all sequences in the host's memory.
    fn host(
        job: &Job,
        devices: &[Device],
        sequences: SequencesView,
        out: &mut [Self],
    ) -> Result<()>;

    /// Writes the rows of all sequences in a device's memory.
    fn device(job: &Job, sequences: &DeviceSequences, out: &mut Buffer<Self>) -> Result<()>;

    /// Writes the sketches of windows of a text in the host's memory.
    fn windows(
        job: &Job,
        devices: &[Device],
        codes: &[u8],
        windows: Windows,
        out: &mut [Self],
    ) -> Result<()>;

    /// Writes the sketches of windows of the only sequence in a device's memory.
    fn windows_device(
        job: &Job,
        sequences: &DeviceSequences,
        windows: Windows,
        out: &mut Buffer<Self>,
    ) -> Result<()>;

    /// Makes the engine of a session.
    fn engine(job: &Job, device: &Device) -> Result<Box<dyn Engine<Self>>>;

    /// Describes how a device computes sketches.
    fn plan(job: &Job, device: &Device) -> Result<Plan>;
}

//! Where an operation runs.

use crate::Result;

/// A device: the CPU, an NVIDIA GPU, or the simulator.
#[derive(Clone, Debug)]
pub struct Device(());

impl Device {
    /// The CPU of this machine: the native implementations.
    pub fn cpu() -> Device {
        Device(())
    }

    /// The GPU number `ordinal`.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        let _ = ordinal;
        Ok(Device(()))
    }

    /// The simulator.
    pub fn simulator() -> Result<Device> {
        Ok(Device(()))
    }

    /// The first usable GPU, else the CPU.
    pub fn auto() -> Device {
        Device(())
    }
}

//! Sequences in a device's memory.

use super::gpu::SequenceBuffers;
use super::input::{CodeAt, Sequences};
use crate::device::DeviceKind;
use crate::error::During;
use crate::{Device, Error, Result};

const UPLOAD: &str = "Sequences::upload";

/// Sequences in a device's memory, the result of [`Sequences::upload`]. The `_device` calls of
/// [`TensorSketch`](super::TensorSketch) take them.
#[derive(Debug)]
pub struct DeviceSequences {
    pub(super) device: Device,
    pub(super) memory: Memory,
    pub(super) largest: Option<CodeAt>,
    count: usize,
}

#[derive(Debug)]
pub(super) enum Memory {
    Host(Sequences),
    Device(SequenceBuffers),
}

impl Sequences {
    /// Copies the sequences to a device.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the device's memory does not suffice, [`Error::Driver`] if the copy
    /// fails.
    ///
    /// ```
    /// use gridstride::{Device, tensor_sketch::Sequences};
    ///
    /// let sequences = Sequences::from(vec![vec![0, 1, 2], vec![3]]);
    /// assert_eq!(sequences.upload(&Device::cpu())?.len(), 2);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn upload(&self, device: &Device) -> Result<DeviceSequences> {
        let largest = self.view().largest_code();
        let bound = largest.map_or(0, |largest| usize::from(largest.code) + 1);
        let memory = match device.kind() {
            DeviceKind::Cpu => Memory::Host(self.try_clone().during(UPLOAD)?),
            _ => {
                let buffers = SequenceBuffers::upload(device, self.view(), bound);
                Memory::Device(buffers.during(UPLOAD)?)
            }
        };
        Ok(DeviceSequences {
            device: device.clone(),
            memory,
            largest,
            count: self.len(),
        })
    }
}

impl DeviceSequences {
    /// Returns the number of sequences, N.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the handle that the sequences were uploaded with.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the length of the only sequence.
    pub(super) fn single_length(&self, operation: &'static str) -> Result<usize> {
        if self.count != 1 {
            let message = format!("windows are of one sequence, not of {}", self.count);
            return Err(Error::input(operation, message));
        }
        Ok(match &self.memory {
            Memory::Host(sequences) => sequences.total_length(),
            Memory::Device(buffers) => buffers.lengths().sum::<u64>() as usize,
        })
    }
}

//! Sequences in a device's memory.

use std::fmt;
use std::{any::Any, sync::OnceLock};

use gridstride_runtime::device::DeviceKind;
use gridstride_runtime::error::During;
use gridstride_runtime::short::Short;
use gridstride_runtime::{Device, Error, Result};

use super::host::Sequences;
use super::packed::PackedLetters;
use super::view::{CodeAt, SequencesView};

const UPLOAD: &str = "Sequences::upload";

/// Sequences in a device's memory, the result of [`Sequences::upload`]. The `_device` calls take
/// them.
#[derive(Debug)]
pub struct DeviceSequences {
    device: Device,
    memory: Memory,
    largest: Option<CodeAt>,
    count: usize,
}

#[derive(Debug)]
enum Memory {
    Host(Sequences),
    Device(SequenceBuffers),
}

#[doc(hidden)]
/// The sequences in the memory of a GPU or the simulator.
pub struct SequenceBuffers {
    pub letters: PackedLetters,
    /// Index of the first letter of each sequence, and at the end the number of letters.
    pub offsets: Vec<u64>,
    /// The value that [`derived`](Self::derived) has made.
    derived: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl fmt::Debug for SequenceBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequenceBuffers")
            .field("letters", &self.letters)
            .field("offsets", &Short(&self.offsets))
            .finish_non_exhaustive()
    }
}

#[doc(hidden)]
impl SequenceBuffers {
    /// Copies `sequences`, whose codes are below `bound`.
    pub fn upload(device: &Device, sequences: SequencesView, bound: usize) -> Result<Self> {
        let letters = PackedLetters::upload(device, sequences.own_codes(), bound)?;
        let offsets = sequences.offsets_from_zero()?;
        Ok(Self {
            letters,
            offsets,
            derived: OnceLock::new(),
        })
    }

    /// Returns what the tensor sketch derives from the lengths: `make` makes it in the first call
    /// that succeeds, and later calls return the same. The edit distance needs none of it.
    pub fn derived<D: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<D>) -> Result<&D> {
        if self.derived.get().is_none() {
            // Of several threads that get here, one keeps what it has made.
            let _ = self.derived.set(Box::new(make()?));
        }
        let derived = self
            .derived
            .get()
            .and_then(|derived| derived.downcast_ref());
        Ok(derived.expect("all calls are for one type"))
    }

    pub fn lengths(&self) -> impl ExactSizeIterator<Item = u64> {
        self.offsets.windows(2).map(|ends| ends[1] - ends[0])
    }
}

impl Sequences {
    /// Copies the sequences to a device. On a GPU a letter takes 1, 2, 4 or 8 bits, whichever the
    /// largest code needs. The first tensor sketch of the result adds the
    /// places of chunks of the sequences, which stay for later sketches.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the device's memory does not suffice, [`Error::Driver`] if the copy
    /// fails.
    ///
    /// ```
    /// use gridstride::{Device, sequences::Sequences};
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

    /// Returns the largest code and where it stands, unless there are no codes.
    #[doc(hidden)]
    pub fn largest(&self) -> Option<CodeAt> {
        self.largest
    }

    /// Returns the sequences of a CPU, which are in the host's memory.
    #[doc(hidden)]
    pub fn download(&self) -> SequencesView<'_> {
        match &self.memory {
            Memory::Host(sequences) => sequences.view(),
            Memory::Device(_) => unreachable!("kernels read these sequences"),
        }
    }

    /// Returns the sequences of a device that runs kernels.
    #[doc(hidden)]
    pub fn buffers(&self) -> &SequenceBuffers {
        match &self.memory {
            Memory::Host(_) => unreachable!("the CPU reads these sequences"),
            Memory::Device(buffers) => buffers,
        }
    }

    /// Returns the length of the only sequence.
    #[doc(hidden)]
    pub fn single_length(&self, operation: &'static str) -> Result<usize> {
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

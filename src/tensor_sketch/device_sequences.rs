//! Sequences in a device's memory.

use super::Sequences;
use super::gpu;
use super::sequences::SequencesView;
use crate::error::During;
use crate::parallel;
use crate::{Device, Result};

/// The name of [`Sequences::upload`] in errors.
const UPLOAD: &str = "Sequences::upload";

/// Codes that a thread looks at in one go.
const BLOCK: usize = 1 << 16;

/// A set of sequences in the memory of a device, to be sketched there several times.
///
/// [`Sequences::upload`] makes one, [`TensorSketch::sketch_device`](super::TensorSketch::sketch_device)
/// takes it.
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
    Device(gpu::SequenceBuffers),
}

/// A code and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeAt {
    pub code: u8,
    pub sequence: usize,
    pub position: u64,
}

impl Sequences {
    /// Copies the sequences to a device.
    ///
    /// # Errors
    ///
    /// [`Error::Allocation`](crate::Error::Allocation) if the device's memory does not suffice,
    /// [`Error::Driver`](crate::Error::Driver) if the copy fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::Sequences;
    ///
    /// let sequences: Sequences = [vec![0, 1, 2], vec![3]].iter().collect();
    /// assert_eq!(sequences.upload(&Device::cpu())?.len(), 2);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn upload(&self, device: &Device) -> Result<DeviceSequences> {
        let largest = self.largest_code();
        let bound = largest.map_or(0, |largest| usize::from(largest.code) + 1);
        let memory = match device.kind() {
            crate::device::DeviceKind::Cpu => Memory::Host(self.try_clone().during(UPLOAD)?),
            _ => Memory::Device(
                gpu::SequenceBuffers::upload(device, self.view(), bound).during(UPLOAD)?,
            ),
        };
        Ok(DeviceSequences {
            device: device.clone(),
            memory,
            largest,
            count: self.len(),
        })
    }

    /// The largest code, where it stands first; `None` if there are no codes.
    fn largest_code(&self) -> Option<CodeAt> {
        let largest = parallel::map(self.codes().chunks(BLOCK), largest_of);
        let largest = largest.into_iter().max().flatten()?;
        self.first_code_from(usize::from(largest))
    }

    /// The first code that is not below `bound`.
    pub(super) fn first_code_from(&self, bound: usize) -> Option<CodeAt> {
        self.view().first_code_from(bound)
    }
}

impl SequencesView<'_> {
    /// The first code that is not below `bound`.
    pub fn first_code_from(&self, bound: usize) -> Option<CodeAt> {
        let place = self.offsets[0] + first_code_from(self.own_codes(), bound)? as u64;
        let sequence = (self.offsets).partition_point(|&offset| offset <= place) - 1;
        Some(CodeAt {
            code: self.codes[place as usize],
            sequence,
            position: place - self.offsets[sequence],
        })
    }
}

/// The place of the first code that is not below `bound`.
pub(super) fn first_code_from(codes: &[u8], bound: usize) -> Option<usize> {
    if bound > usize::from(u8::MAX) {
        return None;
    }
    let reaches = |code: u8| usize::from(code) >= bound;
    parallel::find_first(codes.len().div_ceil(BLOCK), &|number| {
        let places = parallel::chunk(number, BLOCK, codes.len());
        let block = &codes[places.clone()];
        if !largest_of(block).is_some_and(reaches) {
            return None;
        }
        let index = block.iter().position(|&code| reaches(code));
        index.map(|index| places.start + index)
    })
}

/// Reads the whole block without a branch, which is many times faster than a search.
#[inline(always)]
pub(super) fn largest_of(block: &[u8]) -> Option<u8> {
    block.iter().copied().max()
}

impl DeviceSequences {
    /// The number of sequences, N.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The device in whose memory the sequences are.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

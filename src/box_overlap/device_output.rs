//! The pairs of overlapping boxes, in the memory of a device.

use ndarray::{Ix1, Ix2};

use super::gpu;
use super::input::matrix_size;
use super::output::{OverlapMatrix, Overlaps};
#[allow(unused_imports, reason = "for links")]
use crate::Error;
use crate::device::{Buffer, DeviceArray, DeviceKind};
use crate::error::During;
use crate::offsets;
use crate::{Device, Result};

const PAIRS: &str = "pairs";

/// The pairs of overlapping boxes as compressed rows, like [`Overlaps`], in the memory of a device.
///
/// ```
/// use gridstride::{Device, box_overlap::BoxOverlap};
/// use ndarray::array;
///
/// let device = Device::auto();
/// let set1 = device.upload(&array![[0, 0, 2, 2], [9, 9, 9, 9]])?;
/// let set2 = device.upload(&array![[2, 2, 3, 3], [5, 5, 6, 6], [1, 0, 1, 0]])?;
/// let found = BoxOverlap::new().overlaps_device(&set1, &set2)?;
/// assert_eq!(found.pair_count(), 2);
/// assert_eq!(found.offsets().download()?, array![0, 2, 2]);
/// assert_eq!(found.indices().download()?, array![0, 2]);
/// assert_eq!(found.matrix(3)?.download()?, array![[0, 2, -1], [-1, -1, -1]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceOverlaps {
    offsets: DeviceArray<u64, Ix1>,
    indices: DeviceArray<u32, Ix1>,
}

/// The pairs of overlapping boxes as a matrix, like [`OverlapMatrix`], in the memory of a device.
#[derive(Debug)]
pub struct DeviceOverlapMatrix {
    /// N×limit: see [`OverlapMatrix::indices`].
    pub indices: DeviceArray<i32, Ix2>,
    /// N numbers: see [`OverlapMatrix::counts`].
    pub counts: DeviceArray<u32, Ix1>,
}

impl DeviceOverlapMatrix {
    /// Copies both to the host.
    ///
    /// # Errors
    /// Those of [`DeviceArray::download`].
    pub fn download(&self) -> Result<OverlapMatrix> {
        Ok(OverlapMatrix {
            indices: self.indices.download()?,
            counts: self.counts.download()?,
        })
    }
}

impl DeviceOverlaps {
    pub(super) fn new(offsets: Buffer<u64>, indices: Buffer<u32>) -> Result<Self> {
        let (rows, pairs) = (offsets.len(), indices.len());
        Ok(DeviceOverlaps {
            offsets: DeviceArray::from_buffer(offsets, Ix1(rows))?,
            indices: DeviceArray::from_buffer(indices, Ix1(pairs))?,
        })
    }

    pub(super) fn upload(device: &Device, overlaps: &Overlaps) -> Result<Self> {
        let offsets = offsets::upload(device, overlaps.offsets())?;
        DeviceOverlaps::new(offsets, device.upload(&overlaps.indices())?.into_buffer())
    }

    /// Returns the number of boxes of the first set, N.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether the first set has no boxes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of pairs.
    pub fn pair_count(&self) -> usize {
        self.indices.len()
    }

    /// Returns where each row begins among the [`indices`](Self::indices), and where the last row
    /// ends: N + 1 numbers, of 64 bits as the kernels write them.
    pub fn offsets(&self) -> &DeviceArray<u64, Ix1> {
        &self.offsets
    }

    /// Returns the boxes of the second set, row after row, ascending in each.
    pub fn indices(&self) -> &DeviceArray<u32, Ix1> {
        &self.indices
    }

    /// Copies the pairs to the host.
    ///
    /// # Errors
    /// Those of [`DeviceArray::download`], and [`Error::Allocation`] if the host's memory does not
    /// suffice.
    pub fn download(&self) -> Result<Overlaps> {
        let download = || {
            let offsets = offsets::download(self.offsets.buffer())?;
            Ok(Overlaps::new(offsets, self.indices.buffer().to_vec()?))
        };
        download().during("download of overlaps")
    }

    /// Returns the pairs (box of the first set, box of the second), sorted: P×2, on the device.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if the GPU fails.
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let boxes = Device::auto().upload(&array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]])?;
    /// let found = BoxOverlap::new().self_overlaps_device(&boxes)?;
    /// assert_eq!(found.pairs()?.download()?, array![[0, 1], [1, 2]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn pairs(&self) -> Result<DeviceArray<u32, Ix2>> {
        let device = self.offsets.device();
        if device.kind() != DeviceKind::Cpu {
            let pairs = gpu::pair_list(&self.offsets, &self.indices).during(PAIRS)?;
            return DeviceArray::from_buffer(pairs, Ix2(self.pair_count(), 2));
        }
        let pairs = || device.upload(&self.download()?.pairs()?);
        pairs().during(PAIRS)
    }

    /// Returns the pairs as a matrix N×`limit`, on the device, padded with −1. The offsets tell how
    /// many pairs a row has.
    ///
    /// # Errors
    /// Those of [`pairs`](Self::pairs), and [`Error::InvalidInput`] for more than 2³¹ − 1 columns.
    pub fn matrix(&self, limit: usize) -> Result<DeviceArray<i32, Ix2>> {
        self.matrix_of("matrix", limit)
    }

    /// As [`matrix`](Self::matrix), for another operation.
    pub(super) fn matrix_of(
        &self,
        operation: &'static str,
        limit: usize,
    ) -> Result<DeviceArray<i32, Ix2>> {
        let device = self.offsets.device();
        let shape = (self.len(), limit);
        let size = matrix_size(operation, device.memory_kind(), shape)?;
        if device.kind() != DeviceKind::Cpu {
            let matrix = gpu::matrix(&self.offsets, &self.indices, limit as u32, size);
            return DeviceArray::from_buffer(matrix.during(operation)?, Ix2(shape.0, shape.1));
        }
        let matrix = || {
            let OverlapMatrix { indices, .. } = self.download()?.matrix(operation, limit)?;
            device.upload(&indices)
        };
        matrix().during(operation)
    }
}

//! The pairs of overlapping boxes, in the memory of a device.

#[allow(unused_imports, reason = "for links")]
use gridstride_runtime::Error;
use gridstride_runtime::device::{Buffer, DeviceArray};
use gridstride_runtime::error::During;
use gridstride_runtime::offsets;
use gridstride_runtime::{Device, Result};
use ndarray::{Ix1, Ix2};

use super::output::{OverlapMatrix, Overlaps};

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
    /// The errors of [`DeviceArray::download`].
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

    pub(super) fn device(&self) -> &Device {
        self.offsets.device()
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
    /// The errors of [`DeviceArray::download`], and [`Error::Allocation`] if the host's memory does not
    /// suffice.
    pub fn download(&self) -> Result<Overlaps> {
        let download = || {
            let offsets = offsets::download(self.offsets.buffer())?;
            Ok(Overlaps::new(offsets, self.indices.buffer().to_vec()?))
        };
        download().during("download of overlaps")
    }
}

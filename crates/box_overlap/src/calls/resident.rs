//! The calls over boxes in a device's memory.

#[allow(unused_imports, reason = "for links")]
use gridstride_runtime::Error;
use gridstride_runtime::Result;
use gridstride_runtime::device::DeviceArray;
use gridstride_runtime::error::During;
use ndarray::{Ix1, Ix2};

use crate::device_output::{DeviceOverlapMatrix, DeviceOverlaps};
use crate::dispatch;
use crate::element::Coordinate;
use crate::input::{DeviceProblem, require_counts};
use crate::options::BoxOverlap;

const MATRIX: &str = "matrix_device";

impl BoxOverlap {
    /// As [`overlaps`](Self::overlaps), for boxes in a device's memory. Both sets may be the same
    /// array.
    ///
    /// The call waits for the device up to four times, among up to 512 boxes in each set once, since
    /// the number of pairs must be known. It is ordered on the stream of the handle of `set1`, by
    /// default the device's main stream. The indices may not be written yet when the call returns:
    /// other streams must wait for an event.
    ///
    /// # Errors
    /// The errors of [`overlaps`](Self::overlaps), and [`Error::DifferentDevices`] for sets on two
    /// devices.
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let set1 = device.upload(&array![[0.0, 0.0, 1.0, 1.0]])?;
    /// let set2 = device.upload(&array![[1.0, 1.0, 2.0, 2.0], [1.5, 0.0, 2.0, 1.0]])?;
    /// let found = BoxOverlap::new().overlaps_device(&set1, &set2)?;
    /// assert_eq!(found.download()?.pairs()?, array![[0, 0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn overlaps_device<T: Coordinate>(
        &self,
        set1: &DeviceArray<T, Ix2>,
        set2: &DeviceArray<T, Ix2>,
    ) -> Result<DeviceOverlaps> {
        let problem = DeviceProblem::new("overlaps_device", self.algorithm, set1, Some(set2))?;
        Ok(find(problem)?.0)
    }

    /// As [`self_overlaps`](Self::self_overlaps), for boxes in a device's memory.
    pub fn self_overlaps_device<T: Coordinate>(
        &self,
        set: &DeviceArray<T, Ix2>,
    ) -> Result<DeviceOverlaps> {
        let problem = DeviceProblem::new("self_overlaps_device", self.algorithm, set, None)?;
        Ok(find(problem)?.0)
    }

    /// As [`counts`](Self::counts), for boxes in a device's memory. The call waits for the device
    /// up to four times.
    ///
    /// # Errors
    /// The errors of [`overlaps_device`](Self::overlaps_device).
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let boxes = Device::auto().upload(&array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]])?;
    /// let search = BoxOverlap::new();
    /// let mut counts = search.counts_device(&boxes, &boxes)?;
    /// assert_eq!(counts.download()?, array![2, 3, 2]);
    /// search.self_counts_device_into(&boxes, &mut counts)?;
    /// assert_eq!(counts.download()?, array![1, 1, 0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn counts_device<T: Coordinate>(
        &self,
        set1: &DeviceArray<T, Ix2>,
        set2: &DeviceArray<T, Ix2>,
    ) -> Result<DeviceArray<u32, Ix1>> {
        let problem = DeviceProblem::new("counts_device", self.algorithm, set1, Some(set2))?;
        count(problem)
    }

    /// As [`counts_device`](Self::counts_device), but writes the counts to `out`, on the same
    /// device. The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// The errors of [`counts_device`](Self::counts_device), and [`Error::Shape`] if `out` does not have
    /// N elements.
    pub fn counts_device_into<T: Coordinate>(
        &self,
        set1: &DeviceArray<T, Ix2>,
        set2: &DeviceArray<T, Ix2>,
        out: &mut DeviceArray<u32, Ix1>,
    ) -> Result<()> {
        let problem = DeviceProblem::new("counts_device_into", self.algorithm, set1, Some(set2))?;
        count_into(problem, out)
    }

    /// As [`self_counts`](Self::self_counts), for boxes in a device's memory.
    pub fn self_counts_device<T: Coordinate>(
        &self,
        set: &DeviceArray<T, Ix2>,
    ) -> Result<DeviceArray<u32, Ix1>> {
        let problem = DeviceProblem::new("self_counts_device", self.algorithm, set, None)?;
        count(problem)
    }

    /// As [`counts_device_into`](Self::counts_device_into), for the boxes j > i of one set.
    pub fn self_counts_device_into<T: Coordinate>(
        &self,
        set: &DeviceArray<T, Ix2>,
        out: &mut DeviceArray<u32, Ix1>,
    ) -> Result<()> {
        let problem = DeviceProblem::new("self_counts_device_into", self.algorithm, set, None)?;
        count_into(problem, out)
    }

    /// As [`matrix`](Self::matrix), for boxes in a device's memory.
    ///
    /// # Errors
    /// The errors of [`overlaps_device`](Self::overlaps_device), and [`Error::InvalidInput`] for more
    /// than 2³¹ − 1 columns.
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let boxes = Device::auto().upload(&array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]])?;
    /// let found = BoxOverlap::new().matrix_device(&boxes, &boxes, 2)?;
    /// assert_eq!(found.indices.download()?, array![[0, 1], [0, 1], [1, 2]]);
    /// assert_eq!(found.counts.download()?, array![2, 3, 2]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matrix_device<T: Coordinate>(
        &self,
        set1: &DeviceArray<T, Ix2>,
        set2: &DeviceArray<T, Ix2>,
        limit: usize,
    ) -> Result<DeviceOverlapMatrix> {
        let problem = DeviceProblem::new(MATRIX, self.algorithm, set1, Some(set2))?;
        let (found, counts) = find(problem)?;
        let indices = dispatch::matrix(MATRIX, &found, limit).during(MATRIX)?;
        Ok(DeviceOverlapMatrix { indices, counts })
    }
}

impl DeviceOverlaps {
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
        dispatch::pair_list(self).during("pairs")
    }

    /// Returns the pairs as a matrix N×`limit`, on the device, padded with −1. The offsets tell how
    /// many pairs a row has.
    ///
    /// # Errors
    /// The errors of [`pairs`](Self::pairs), and [`Error::InvalidInput`] for more than 2³¹ − 1 columns.
    pub fn matrix(&self, limit: usize) -> Result<DeviceArray<i32, Ix2>> {
        const OPERATION: &str = "matrix";
        dispatch::matrix(OPERATION, self, limit).during(OPERATION)
    }
}

/// Finds all pairs, and the number of each row's pairs.
fn find<T: Coordinate>(
    problem: DeviceProblem<T>,
) -> Result<(DeviceOverlaps, DeviceArray<u32, Ix1>)> {
    let device = problem.device();
    let _ordered = device.ordered_with(&[problem.any_set2().device()])?;
    let mut counts = alloc_counts(problem)?;
    let found = T::device(problem, counts.inner_mut()).during(problem.operation)?;
    Ok((found, counts))
}

fn count<T: Coordinate>(problem: DeviceProblem<T>) -> Result<DeviceArray<u32, Ix1>> {
    let mut counts = alloc_counts(problem)?;
    count_into(problem, &mut counts)?;
    Ok(counts)
}

fn count_into<T: Coordinate>(
    problem: DeviceProblem<T>,
    out: &mut DeviceArray<u32, Ix1>,
) -> Result<()> {
    let device = problem.device();
    device.require_same(out.device(), problem.operation)?;
    require_counts(problem.operation, problem.rows1(), out.len())?;
    let _ordered = device.ordered_with(&[problem.any_set2().device(), out.device()])?;
    T::device_counts(problem, out.inner_mut()).during(problem.operation)
}

fn alloc_counts<T: Coordinate>(problem: DeviceProblem<T>) -> Result<DeviceArray<u32, Ix1>> {
    let (device, rows) = (problem.device(), problem.rows1());
    let counts = device.alloc(rows).during(problem.operation)?;
    DeviceArray::from_buffer(counts, Ix1(rows))
}

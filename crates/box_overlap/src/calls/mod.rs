//! The public calls: over boxes on the host, and in a device's memory.

mod resident;

#[allow(unused_imports, reason = "for links")]
use gridstride_runtime::Error;
use gridstride_runtime::error::During;
use gridstride_runtime::{Device, DeviceSet, Result};
use ndarray::{Array1, ArrayView2, ArrayViewMut1};

use super::element::Coordinate;
use super::input::{Problem, require_counts};
use super::options::BoxOverlap;
use super::output::{OverlapMatrix, Overlaps};
use super::slices::{OverlapSlices, counts};

const COUNTS: &str = "counts";
const SELF_COUNTS: &str = "self_counts";
const MATRIX: &str = "matrix";
const SLICES: &str = "slices";

/// Finds all pairs of overlapping boxes of two sets, N×6 and M×6 or N×4 and M×4:
/// [`BoxOverlap::overlaps`] with the defaults.
///
/// ```
/// use gridstride::{Device, box_overlap::overlaps};
/// use ndarray::array;
///
/// let set1 = array![[0.0, 0.0, 1.0, 1.0]];
/// let set2 = array![[1.0, 1.0, 2.0, 2.0], [1.5, 0.0, 2.0, 1.0]];
/// assert_eq!(overlaps(&Device::auto(), set1.view(), set2.view())?.pairs()?, array![[0, 0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn overlaps<T: Coordinate>(
    devices: &(impl DeviceSet + ?Sized),
    set1: ArrayView2<T>,
    set2: ArrayView2<T>,
) -> Result<Overlaps> {
    BoxOverlap::new().overlaps(devices, set1, set2)
}

/// Finds all pairs (i, j), i < j, of overlapping boxes of one set, N×6 or N×4:
/// [`BoxOverlap::self_overlaps`] with the defaults.
///
/// ```
/// use gridstride::{Device, box_overlap::self_overlaps};
/// use ndarray::array;
///
/// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
/// let found = self_overlaps(&Device::auto(), boxes.view())?;
/// assert_eq!(found.pairs()?, array![[0, 1], [1, 2]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn self_overlaps<T: Coordinate>(
    devices: &(impl DeviceSet + ?Sized),
    set: ArrayView2<T>,
) -> Result<Overlaps> {
    BoxOverlap::new().self_overlaps(devices, set)
}

impl BoxOverlap {
    /// Finds all pairs of overlapping boxes of two sets, N×6 and M×6 or N×4 and M×4, as compressed
    /// rows.
    ///
    /// Views may have any strides. A view in row-major order without gaps is not copied on the
    /// host.
    ///
    /// # Errors
    /// - [`Error::Shape`] for rows of a length other than 4 or 6, or of two lengths.
    /// - [`Error::InvalidInput`] for a row with NaN or with a minimum above its maximum, with the
    ///   index of the first such row; also for more than 2³¹ − 1 rows, and for a set of no devices.
    /// - [`Error::Allocation`] if the host's memory does not suffice for the pairs, or a device's
    ///   memory for the smallest search. [`slices`](Self::slices) need less of the host's memory.
    /// - On GPUs [`Error::Driver`] if the driver fails and [`Error::Load`] if it does not accept
    ///   the kernels.
    pub fn overlaps<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<T>,
        set2: ArrayView2<T>,
    ) -> Result<Overlaps> {
        let problem = Problem::new("overlaps", self.algorithm, set1, Some(set2))?;
        find(devices.devices(), problem)
    }

    /// As [`overlaps`](Self::overlaps), for the pairs (i, j), i < j, of one set, N×6 or N×4.
    pub fn self_overlaps<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
    ) -> Result<Overlaps> {
        let problem = Problem::new("self_overlaps", self.algorithm, set, None)?;
        find(devices.devices(), problem)
    }

    /// Counts the boxes of `set2` that overlap each box of `set1`, without the pairs: N numbers.
    ///
    /// # Errors
    /// The errors of [`overlaps`](Self::overlaps).
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
    /// let counts = BoxOverlap::new().counts(&Device::auto(), boxes.view(), boxes.view())?;
    /// assert_eq!(counts, array![2, 3, 2]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn counts<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<T>,
        set2: ArrayView2<T>,
    ) -> Result<Array1<u32>> {
        let problem = Problem::new(COUNTS, self.algorithm, set1, Some(set2))?;
        count(devices.devices(), problem)
    }

    /// As [`counts`](Self::counts), but writes the counts to `out`, which may have any stride. The
    /// content of `out` is unspecified after an error.
    ///
    /// A GPU that uses the index searches for some boxes of the first set while others are copied,
    /// if both sets and `out` are [page-locked](gridstride_runtime::Device::pinned) and without gaps, the first
    /// set has at least 2¹⁹ boxes, and the second 2¹⁸.
    ///
    /// # Errors
    /// The errors of [`counts`](Self::counts), and [`Error::Shape`] if `out` does not have N elements.
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::{Array2, array};
    ///
    /// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
    /// let mut table = Array2::zeros((3, 2));
    /// let (search, device) = (BoxOverlap::new(), Device::auto());
    /// search.counts_into(&device, boxes.view(), boxes.view(), table.column_mut(0))?;
    /// search.self_counts_into(&device, boxes.view(), table.column_mut(1))?;
    /// assert_eq!(table, array![[2, 1], [3, 1], [2, 0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn counts_into<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<T>,
        set2: ArrayView2<T>,
        out: ArrayViewMut1<u32>,
    ) -> Result<()> {
        let problem = Problem::new("counts_into", self.algorithm, set1, Some(set2))?;
        count_into(devices.devices(), problem, out)
    }

    /// As [`counts`](Self::counts), for the boxes j > i of one set that overlap box i.
    pub fn self_counts<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
    ) -> Result<Array1<u32>> {
        let problem = Problem::new(SELF_COUNTS, self.algorithm, set, None)?;
        count(devices.devices(), problem)
    }

    /// As [`counts_into`](Self::counts_into), for the boxes j > i of one set that overlap box i.
    pub fn self_counts_into<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
        out: ArrayViewMut1<u32>,
    ) -> Result<()> {
        let problem = Problem::new("self_counts_into", self.algorithm, set, None)?;
        count_into(devices.devices(), problem, out)
    }

    /// Returns the pairs as a matrix N×`limit`, padded with −1, and the number of each row's pairs,
    /// which may be above `limit`. The call takes memory for all pairs.
    ///
    /// # Errors
    /// The errors of [`overlaps`](Self::overlaps), and [`Error::InvalidInput`] for more than 2³¹ − 1
    /// columns.
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
    /// let found = BoxOverlap::new().matrix(&Device::auto(), boxes.view(), boxes.view(), 2)?;
    /// assert_eq!(found.indices, array![[0, 1], [0, 1], [1, 2]]);
    /// assert_eq!(found.counts, array![2, 3, 2]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn matrix<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<T>,
        set2: ArrayView2<T>,
        limit: usize,
    ) -> Result<OverlapMatrix> {
        let problem = Problem::new(MATRIX, self.algorithm, set1, Some(set2))?;
        find(devices.devices(), problem)?.matrix(MATRIX, limit)
    }

    /// Finds the pairs in slices of consecutive rows, for results larger than memory: each slice
    /// has at most `max_pairs` pairs, or a single row.
    ///
    /// The boxes and the index stay on the device. On a GPU each slice takes up to 20 bytes a pair,
    /// and a pass over all rows of the first set, so few large slices are faster than many small
    /// ones. Each slice is a separate search if there are several devices, or if the memory does
    /// not suffice for the boxes and the index. After an error there are no more slices.
    ///
    /// # Errors
    /// The errors of [`overlaps`](Self::overlaps).
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
    /// let (device, search) = (Device::auto(), BoxOverlap::new());
    /// let mut written = 0;
    /// for slice in search.slices(&device, boxes.view(), boxes.view(), 3)? {
    ///     let slice = slice?;
    ///     assert!(slice.overlaps.pair_count() <= 3);
    ///     written += slice.overlaps.pair_count();
    /// }
    /// assert_eq!(written, 7);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slices<'a, T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<'a, T>,
        set2: ArrayView2<'a, T>,
        max_pairs: usize,
    ) -> Result<OverlapSlices<'a>> {
        let problem = Problem::new(SLICES, self.algorithm, set1, Some(set2))?;
        slices(devices.devices(), problem, max_pairs)
    }

    /// As [`slices`](Self::slices), for the pairs (i, j), i < j, of one set.
    ///
    /// ```
    /// use gridstride::{Device, box_overlap::BoxOverlap};
    /// use ndarray::array;
    ///
    /// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
    /// let slices = BoxOverlap::new().self_slices(&Device::auto(), boxes.view(), 1)?;
    /// assert_eq!(slices.counts(), [1, 1, 0]);
    /// assert_eq!(slices.count(), 2);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn self_slices<'a, T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<'a, T>,
        max_pairs: usize,
    ) -> Result<OverlapSlices<'a>> {
        let problem = Problem::new("self_slices", self.algorithm, set, None)?;
        slices(devices.devices(), problem, max_pairs)
    }
}

fn find<T: Coordinate>(devices: &[Device], problem: Problem<T>) -> Result<Overlaps> {
    let (operation, rows) = (problem.operation, problem.rows1());
    let found = T::host(devices, problem).and_then(|mut search| search.overlaps(0..rows));
    found.during(operation)
}

fn count<T: Coordinate>(devices: &[Device], problem: Problem<T>) -> Result<Array1<u32>> {
    let (operation, rows) = (problem.operation, problem.rows1());
    let found = T::host(devices, problem).and_then(|mut search| counts(&mut *search, rows));
    found.map(Array1::from).during(operation)
}

fn count_into<T: Coordinate>(
    devices: &[Device],
    problem: Problem<T>,
    mut out: ArrayViewMut1<u32>,
) -> Result<()> {
    let operation = problem.operation;
    require_counts(operation, problem.rows1(), out.len())?;
    if let Some(places) = out.as_slice_mut() {
        return T::host_counts(devices, problem, places).during(operation);
    }
    out.assign(&count(devices, problem)?);
    Ok(())
}

/// Counts the pairs of each row, and prepares slices.
fn slices<'a, T: Coordinate>(
    devices: &[Device],
    problem: Problem<'a, T>,
    max_pairs: usize,
) -> Result<OverlapSlices<'a>> {
    let (operation, rows) = (problem.operation, problem.rows1());
    let search = T::host(devices, problem).during(operation)?;
    OverlapSlices::new(operation, search, rows, max_pairs)
}

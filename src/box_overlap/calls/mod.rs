//! The calls: over sets of boxes on the host, and in a device's memory.

mod resident;

use ndarray::{Array1, ArrayView1, ArrayView2, ArrayViewMut1};

use super::element::Coordinate;
use super::input::{Problem, require_counts};
use super::options::BoxOverlap;
use super::output::{OverlapMatrix, Overlaps};
use super::slices::{OverlapSlices, Search, counts};
#[allow(unused_imports, reason = "for links")]
use crate::Error;
use crate::error::During;
use crate::{DeviceSet, Result};

const OVERLAPS: &str = "overlaps";
const SELF_OVERLAPS: &str = "self_overlaps";
const COUNTS: &str = "counts";
const COUNTS_INTO: &str = "counts_into";
const SELF_COUNTS: &str = "self_counts";
const SELF_COUNTS_INTO: &str = "self_counts_into";
const MATRIX: &str = "matrix";
const SLICES: &str = "slices";
const SELF_SLICES: &str = "self_slices";

/// Finds all pairs of overlapping boxes of two sets, N×6 and M×6 or N×4 and M×4, as compressed rows.
///
/// # Errors
/// Those of [`BoxOverlap::overlaps`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::box_overlap::overlaps;
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

/// Finds all pairs (i, j), i < j, of overlapping boxes of one set, N×6 or N×4, as compressed rows.
///
/// # Errors
/// Those of [`BoxOverlap::overlaps`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::box_overlap::self_overlaps;
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
    /// Finds all pairs of overlapping boxes of two sets, N×6 and M×6 or N×4 and M×4, as compressed rows.
    ///
    /// Views may have any strides. A view in row-major order without gaps is not copied on the host.
    ///
    /// # Errors
    /// - [`Error::Shape`] for rows of another length than 4 or 6, or of two lengths.
    /// - [`Error::InvalidInput`] for a row with NaN or with a minimum above its maximum, with the index of the first such
    ///   row; also for more than 2³¹ − 1 rows, and for a set of no devices.
    /// - [`Error::Allocation`] if the host's memory does not suffice for the pairs, of which [`slices`](Self::slices) keep
    ///   some at a time, or a device's memory for the smallest search.
    /// - On GPUs [`Error::Driver`] if the driver fails and [`Error::Load`] if it does not accept the kernels.
    pub fn overlaps<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<T>,
        set2: ArrayView2<T>,
    ) -> Result<Overlaps> {
        self.find(OVERLAPS, devices, set1, Some(set2))
    }

    /// Finds all pairs (i, j), i < j, of overlapping boxes of one set, N×6 or N×4, as compressed rows.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps).
    pub fn self_overlaps<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
    ) -> Result<Overlaps> {
        self.find(SELF_OVERLAPS, devices, set, None)
    }

    /// Counts how many boxes of `set2` overlap each box of `set1`, without the pairs: N numbers.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::box_overlap::BoxOverlap;
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
        let mut search = self.search(COUNTS, devices, set1, Some(set2))?;
        Ok(counts(&mut *search, set1.nrows()).during(COUNTS)?.into())
    }

    /// Writes how many boxes of `set2` overlap each box of `set1` to memory that exists: [`counts`](Self::counts) without
    /// an allocation of the result. `out` may have any stride. Its content is unspecified after an error.
    ///
    /// # Errors
    /// Those of [`counts`](Self::counts), and [`Error::Shape`] if `out` does not have N elements.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::box_overlap::BoxOverlap;
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
        self.count(COUNTS_INTO, devices, set1, Some(set2), out)
    }

    /// Counts how many boxes j > i of the set overlap box i: N numbers.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps).
    pub fn self_counts<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
    ) -> Result<Array1<u32>> {
        let mut search = self.search(SELF_COUNTS, devices, set, None)?;
        Ok(counts(&mut *search, set.nrows())
            .during(SELF_COUNTS)?
            .into())
    }

    /// Writes how many boxes j > i of the set overlap box i to memory that exists: [`self_counts`](Self::self_counts)
    /// without an allocation of the result. `out` may have any stride. Its content is unspecified after an error.
    ///
    /// # Errors
    /// Those of [`counts_into`](Self::counts_into).
    pub fn self_counts_into<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
        out: ArrayViewMut1<u32>,
    ) -> Result<()> {
        self.count(SELF_COUNTS_INTO, devices, set, None, out)
    }

    /// Returns the pairs as a matrix N×`limit`, filled up with −1, and the number of each row's pairs, which tells which
    /// rows have more than `limit`. All pairs are found first, which takes memory for them.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps), and [`Error::InvalidInput`] for more than 2³¹ − 1 columns.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::box_overlap::BoxOverlap;
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
        self.find(MATRIX, devices, set1, Some(set2))?
            .matrix(MATRIX, limit)
    }

    /// Finds the pairs in slices of consecutive rows, for results larger than memory: each slice has at most `max_pairs`
    /// pairs, or a single row.
    ///
    /// The boxes and the index stay on the device meanwhile. On a GPU each slice takes up to 20 bytes a pair, and a pass
    /// over all rows of the first set, so that few large slices are faster than many small ones. Over several devices, or
    /// where the memory does not suffice for the boxes and the index, each slice is a separate search. After an error
    /// there are no more slices.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::box_overlap::BoxOverlap;
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
        let search = self.search(SLICES, devices, set1, Some(set2))?;
        OverlapSlices::new(SLICES, search, set1.nrows(), max_pairs)
    }

    /// Finds the pairs (i, j), i < j, of one set in slices, like [`slices`](Self::slices).
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::box_overlap::BoxOverlap;
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
        let search = self.search(SELF_SLICES, devices, set, None)?;
        OverlapSlices::new(SELF_SLICES, search, set.nrows(), max_pairs)
    }

    /// Finds all pairs. Without a second set, those within the first.
    fn find<'a, T: Coordinate>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<'a, T>,
        set2: Option<ArrayView2<'a, T>>,
    ) -> Result<Overlaps> {
        self.search(operation, devices, set1, set2)?
            .overlaps(0..set1.nrows())
            .during(operation)
    }

    /// Counts the pairs of each row, into memory that exists.
    fn count<'a, T: Coordinate>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<'a, T>,
        set2: Option<ArrayView2<'a, T>>,
        mut out: ArrayViewMut1<u32>,
    ) -> Result<()> {
        let problem = Problem::new(operation, self.algorithm, set1, set2)?;
        require_counts(operation, set1.nrows(), out.len())?;
        let mut search = T::host(devices.devices(), problem).during(operation)?;
        if let Some(places) = out.as_slice_mut() {
            return search.counts(places).during(operation);
        }
        let counts = counts(&mut *search, set1.nrows()).during(operation)?;
        out.assign(&ArrayView1::from(&counts));
        Ok(())
    }

    /// Prepares a search.
    fn search<'a, T: Coordinate>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<'a, T>,
        set2: Option<ArrayView2<'a, T>>,
    ) -> Result<Box<dyn Search + 'a>> {
        let problem = Problem::new(operation, self.algorithm, set1, set2)?;
        T::host(devices.devices(), problem).during(operation)
    }
}

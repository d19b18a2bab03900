//! Box overlap: all pairs of axis-aligned boxes of two sets that overlap.
//!
//! A box is a row of 6 numbers, minX, minY, minZ, maxX, maxY, maxZ, or of 4 without Z, of type `f32`,
//! `f64` or `i32`. Two boxes overlap when on every axis min₁ ≤ max₂ and max₁ ≥ min₂: touching counts,
//! and a box may be a point. The answer is exact, without a tolerance: the same pairs in the same
//! order on every device, with every algorithm and on every run. Infinite limits are numbers like
//! others; NaN is refused, and so is a minimum above its maximum.
//!
//! # Examples
//!
//! ```
//! use gridstride::Device;
//! use gridstride::box_overlap::overlaps;
//! use ndarray::array;
//!
//! let welds = array![[0.9f32, 0.0, 0.0, 1.1, 0.2, 0.2], [4.0, 4.0, 4.0, 4.1, 4.1, 4.1]];
//! let pipes = array![[0.0f32, 0.0, 0.0, 1.0, 0.1, 0.1], [1.0, 0.0, 0.0, 2.0, 0.1, 0.1]];
//! let found = overlaps(&Device::auto(), welds.view(), pipes.view())?;
//! assert_eq!(found.pairs()?, array![[0, 0], [0, 1]]);
//! assert_eq!(found.counts(), array![2, 0]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Several devices
//! Over a [set](DeviceSet) of devices the rows of the first set are divided, and each device searches in all of the second
//! one. Pairs within one set are found in groups of rows, and between each group and the rows behind it.
//!
//! # Memory
//! On GPUs a search takes memory for the boxes, for what its [`Algorithm`] needs, and 4 bytes and more a pair. Where the
//! memory of the device, or its [limit](crate::Device::with_memory_limit), does not suffice for the pairs, they are fetched a
//! part of the rows at a time. Where it does not suffice for the search, rows of the first set are tested against rows of
//! the second in tiles, halved until one has room: a tile is a search of its own. All pairs are put together in the
//! memory of the host, unless they are asked for in [slices](BoxOverlap::slices).
//!
//! The pairs and their order are the same in any case.

mod boxes;
mod cpu;
mod device_overlaps;
mod divided;
mod gpu;
mod overlaps;
pub mod reference;
mod search;
mod slices;
mod tile;

use ndarray::{Array1, ArrayView2, Ix2};

use crate::device::DeviceArray;
use crate::error::During;
use crate::{DeviceSet, Result};
pub use boxes::Coordinate;
use boxes::{Packed, axes, same_axes};
pub use device_overlaps::DeviceOverlaps;
pub use overlaps::{OverlapMatrix, Overlaps};
use search::Problem;
pub use slices::{OverlapSlice, OverlapSlices};

const OVERLAPS: &str = "overlaps";
const SELF_OVERLAPS: &str = "self_overlaps";
const MATRIX: &str = "overlap matrix";

/// How pairs are found. All find the same ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// The algorithm that is expected to be faster. On GPUs `Auto` tries the index for all but small sets, and goes over to
    /// the brute force where a sample says that many pairs overlap, or that the way to them is long: it takes about twice
    /// as long as the faster algorithm at most. The CPU decides by the numbers of boxes.
    #[default]
    Auto,
    /// Tests every pair: best for small sets, and where many pairs overlap, a few percent on a GPU. On GPUs it
    /// takes a bit of memory for each 65 536 pairs of boxes besides some words for each box.
    BruteForce,
    /// Sorts the boxes along Hilbert's curve, packs a tree of bounding boxes over the second set, and walks it
    /// for each box of the first: I. Kamel, C. Faloutsos, 'On Packing R-trees' (1993). On GPUs it takes about
    /// 100 bytes of memory for each box of the first set and 70 for each of the second.
    Indexed,
}

/// A search for overlapping boxes with settings of one's own; [`overlaps`] is one with the defaults.
///
/// ```
/// use gridstride::Device;
/// use gridstride::box_overlap::{Algorithm, BoxOverlap};
/// use ndarray::array;
///
/// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
/// let search = BoxOverlap::new().algorithm(Algorithm::Indexed);
/// let found = search.self_overlaps(&Device::auto(), boxes.view())?;
/// assert_eq!(found.pairs()?, array![[0, 1], [1, 2]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BoxOverlap {
    algorithm: Algorithm,
}

/// All pairs of overlapping boxes of two sets, N×6 and M×6 or N×4 and M×4, as compressed rows.
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

/// All pairs (i, j), i < j, of overlapping boxes of one set, N×6 or N×4, as compressed rows.
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
    /// A search with the defaults.
    pub fn new() -> BoxOverlap {
        BoxOverlap::default()
    }

    /// How pairs are found; by default [`Algorithm::Auto`].
    pub fn algorithm(self, algorithm: Algorithm) -> BoxOverlap {
        BoxOverlap { algorithm }
    }

    /// All pairs of overlapping boxes of two sets, N×6 and M×6 or N×4 and M×4, as compressed rows.
    ///
    /// Views may have any strides; one in row-major order without gaps is not copied on the host.
    ///
    /// # Errors
    /// - [`Error::Shape`] for rows of another length than 4 or 6, or of two lengths.
    /// - [`Error::InvalidInput`] for more than 2³¹ − 1 rows, and for a row with NaN or with a minimum above its
    ///   maximum: the first one is named.
    /// - [`Error::Allocation`] if the host's memory does not suffice for the pairs, of which [`slices`](Self::slices) keep
    ///   some at a time, or a device's for the smallest search.
    /// - [`Error::InvalidInput`] for a set of no devices.
    /// - On GPUs [`Error::Driver`] if the driver fails and [`Error::Load`] if it does not accept the kernels.
    pub fn overlaps<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set1: ArrayView2<T>,
        set2: ArrayView2<T>,
    ) -> Result<Overlaps> {
        let rows = 0..set1.nrows();
        T::search(devices.devices(), self.problem(set1, set2)?)
            .and_then(|mut search| search.overlaps(rows))
            .during(OVERLAPS)
    }

    /// All pairs (i, j), i < j, of overlapping boxes of one set, N×6 or N×4, as compressed rows.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps).
    pub fn self_overlaps<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
    ) -> Result<Overlaps> {
        let rows = 0..set.nrows();
        T::search(devices.devices(), self.self_problem(set)?)
            .and_then(|mut search| search.overlaps(rows))
            .during(SELF_OVERLAPS)
    }

    /// How many boxes of `set2` overlap each box of `set1`, without the pairs: N numbers.
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
        let search = T::search(devices.devices(), self.problem(set1, set2)?);
        let counts = search.and_then(|mut search| search.counts());
        Ok(counts.during(OVERLAPS)?.into())
    }

    /// How many boxes j > i of the set overlap box i: N numbers.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps).
    pub fn self_counts<T: Coordinate>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        set: ArrayView2<T>,
    ) -> Result<Array1<u32>> {
        let search = T::search(devices.devices(), self.self_problem(set)?);
        let counts = search.and_then(|mut search| search.counts());
        Ok(counts.during(SELF_OVERLAPS)?.into())
    }

    /// The pairs as a matrix N×`limit`, filled up with −1, and the true number of each row's pairs, by
    /// which a row that has more than `limit` is seen. All pairs are found first, which takes memory for them.
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
        self.overlaps(devices, set1, set2)?.to_matrix(limit)
    }

    /// The pairs in slices of consecutive rows, for results larger than memory: each has at most
    /// `max_pairs` pairs, or a single row.
    ///
    /// The boxes and the index stay on the device meanwhile. On a GPU a slice takes up to 20 bytes a pair there,
    /// and a look at each row of the first set, so that few large slices are faster than many small ones. Over several
    /// devices, or where the memory does not suffice for the boxes and the index, each slice is a search of its own.
    /// After an error there are no more slices.
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
        OverlapSlices::new(
            T::search(devices.devices(), self.problem(set1, set2)?).during(OVERLAPS)?,
            max_pairs,
        )
        .during(OVERLAPS)
    }

    /// The pairs (i, j), i < j, of one set in slices, as [`slices`](Self::slices) are of two.
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
        OverlapSlices::new(
            T::search(devices.devices(), self.self_problem(set)?).during(SELF_OVERLAPS)?,
            max_pairs,
        )
        .during(SELF_OVERLAPS)
    }

    /// [`overlaps`](Self::overlaps) of boxes that are in a device's memory, left there: N×6 and M×6 or N×4
    /// and M×4.
    ///
    /// It waits for the device up to four times, since the number of pairs must be known before they are
    /// written; the indices may still be on their way when it returns: another stream than the device's main
    /// one has to wait for an event. Both may be the same array.
    ///
    /// # Errors
    /// Those of [`overlaps`](Self::overlaps), and [`Error::DifferentDevices`] for sets on two devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::box_overlap::BoxOverlap;
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
        set1.device().require_same(set2.device(), OVERLAPS)?;
        same_axes(OVERLAPS, dim(set1), dim(set2))?;
        T::on_device(self.algorithm, set1, Some(set2)).during(OVERLAPS)
    }

    /// [`self_overlaps`](Self::self_overlaps) of boxes that are in a device's memory, left there: N×6 or
    /// N×4.
    ///
    /// # Errors
    /// Those of [`self_overlaps`](Self::self_overlaps).
    pub fn self_overlaps_device<T: Coordinate>(
        &self,
        set: &DeviceArray<T, Ix2>,
    ) -> Result<DeviceOverlaps> {
        axes(SELF_OVERLAPS, "set", dim(set))?;
        T::on_device(self.algorithm, set, None).during(SELF_OVERLAPS)
    }

    fn problem<'a, T: Coordinate>(
        &self,
        set1: ArrayView2<'a, T>,
        set2: ArrayView2<'a, T>,
    ) -> Result<Problem<'a, T>> {
        same_axes(OVERLAPS, set1.dim(), set2.dim())?;
        Ok(Problem {
            operation: OVERLAPS,
            algorithm: self.algorithm,
            set1: Packed::new(set1).during(OVERLAPS)?,
            set2: Some(Packed::new(set2).during(OVERLAPS)?),
        })
    }

    fn self_problem<'a, T: Coordinate>(&self, set: ArrayView2<'a, T>) -> Result<Problem<'a, T>> {
        axes(SELF_OVERLAPS, "set", set.dim())?;
        Ok(Problem {
            operation: SELF_OVERLAPS,
            algorithm: self.algorithm,
            set1: Packed::new(set).during(SELF_OVERLAPS)?,
            set2: None,
        })
    }
}

fn dim<T: Coordinate>(set: &DeviceArray<T, Ix2>) -> (usize, usize) {
    (set.shape()[0], set.shape()[1])
}

mod sealed {
    use ndarray::Ix2;

    use super::cpu::CpuSearch;
    use super::search::{Problem, Search};
    use super::{Algorithm, BoxOverlap, DeviceOverlaps, divided};
    use super::{OVERLAPS, SELF_OVERLAPS, gpu};
    use crate::device::{DeviceArray, DeviceKind};
    use crate::{Device, Result};

    /// What the devices need to know of the type.
    pub trait Sealed: Doors + gpu::HasKernels {}

    /// The doors to what is large and generic: behind them that is compiled here, once for each type, and
    /// not again in each crate that searches.
    pub trait Doors: Sized {
        /// Prepares a search over all of the devices.
        fn search<'a>(_: &[Device], _: Problem<'a, Self>) -> Result<Box<dyn Search + 'a>>
        where
            Self: super::Coordinate;
        /// Prepares a search on a device that has room for it.
        fn search_on<'a>(_: &Device, _: Problem<'a, Self>) -> Result<Box<dyn Search + 'a>>
        where
            Self: super::Coordinate;
        /// Searches on the sets' device. Without a second set, for pairs within the first.
        fn on_device(
            _: Algorithm,
            set1: &DeviceArray<Self, Ix2>,
            set2: Option<&DeviceArray<Self, Ix2>>,
        ) -> Result<DeviceOverlaps>
        where
            Self: super::Coordinate;
    }

    macro_rules! doors {
        ($($type:ident)*) => {$(
            impl Sealed for $type {}
            impl Doors for $type {
                fn search<'a>(devices: &[Device], problem: Problem<'a, $type>) -> Result<Box<dyn Search + 'a>> {
                    divided::search(devices, problem)
                }

                fn search_on<'a>(device: &Device, problem: Problem<'a, $type>) -> Result<Box<dyn Search + 'a>> {
                    match device.kind() {
                        DeviceKind::Cpu => Ok(Box::new(CpuSearch::new(problem)?)),
                        _ => Ok(Box::new(gpu::GpuSearch::new(device, &problem)?)),
                    }
                }

                fn on_device(
                    algorithm: Algorithm,
                    set1: &DeviceArray<$type, Ix2>,
                    set2: Option<&DeviceArray<$type, Ix2>>,
                ) -> Result<DeviceOverlaps> {
                    let device = set1.device();
                    if device.kind() != DeviceKind::Cpu {
                        let operation = if set2.is_some() { OVERLAPS } else { SELF_OVERLAPS };
                        return gpu::overlaps(operation, algorithm, set1, set2);
                    }
                    let search = BoxOverlap { algorithm };
                    let set1 = set1.download()?;
                    let found = match set2 {
                        Some(set2) => search.overlaps(device, set1.view(), set2.download()?.view())?,
                        None => search.self_overlaps(device, set1.view())?,
                    };
                    DeviceOverlaps::upload(device, &found)
                }
            }
        )*};
    }
    doors! { f32 f64 i32 }
}

//! The calls for nearest rows.

use gridstride_runtime::device::DeviceArray;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::{ArrayView2, ArrayViewMut2, Ix2};

use crate::device_output::DeviceNearest;
use crate::element::Component;
use crate::options::Distances;
use crate::output::Nearest;
use crate::rows::{DeviceRows, HostRows};

/// Finds the `k` rows of `database` that are nearest to each of `queries`, by their Euclidean
/// distance, as [`Distances::nearest`].
///
/// ```
/// use gridstride::{Device, distances::nearest};
/// use ndarray::array;
///
/// let database = array![[0.0, 0.0], [3.0, 4.0], [6.0, 8.0], [3.0, 4.0]];
/// let queries = array![[3.0, 4.0], [7.0, 8.0]];
/// let found = nearest(&Device::auto(), queries.view(), database.view(), 2)?;
/// assert_eq!(found.indices, array![[1, 3], [2, 1]]);
/// assert_eq!(found.distances, array![[0.0, 0.0], [1.0, 32f64.sqrt()]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn nearest<T: Component>(
    devices: &(impl DeviceSet + ?Sized),
    queries: ArrayView2<T>,
    database: ArrayView2<T>,
    k: usize,
) -> Result<Nearest> {
    Distances::new().nearest(devices, queries, database, k)
}

/// Nearest rows: see the [module's documentation](crate#nearest-rows).
impl Distances {
    /// Finds the `k` rows of `database`, M×D, that are nearest to each of `queries`, N×D: indices
    /// and distances, each N×k, the nearest first.
    ///
    /// The result is exact: that of sorting the rows of [`distances`](Self::distances) by distance,
    /// and at the same distance by index. The matrix of distances is not in memory.
    ///
    /// Devices that run kernels take a `k` of up to 1024, the CPU any.
    ///
    /// # Errors
    /// - [`Error::Shape`](gridstride_runtime::Error::Shape) if the rows of `queries` and `database` differ in
    ///   length.
    /// - [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for NaN, infinities, or no devices;
    ///   for a `k` above the rows of `database`; and for a `k` above 1024 on devices that run
    ///   kernels.
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the host has too little memory for the
    ///   result, or a device for two rows and a list of candidates of 8 to 32 KiB.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Metric};
    /// use ndarray::array;
    ///
    /// let database = array![[0.0f32], [10.0], [4.0]];
    /// let squared = Distances::new().metric(Metric::SquaredL2);
    /// let found = squared.nearest(&Device::auto(), array![[3.0]].view(), database.view(), 2)?;
    /// assert_eq!((found.indices, found.distances), (array![[2, 0]], array![[1.0, 9.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn nearest<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        queries: ArrayView2<T>,
        database: ArrayView2<T>,
        k: usize,
    ) -> Result<Nearest> {
        let queries = self.queries("nearest", HostRows::from(queries), database.into(), k);
        queries.search(devices)
    }

    /// As [`nearest`](Self::nearest), but writes to `indices` and `distances`, views of N×k with
    /// any strides, whose columns are k. After an error their content is unspecified.
    ///
    /// # Errors
    /// The errors of [`nearest`](Self::nearest), and [`Error::Shape`](gridstride_runtime::Error::Shape) if
    /// `indices` and `distances` differ in shape or do not have a row for each query.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
    /// use ndarray::{Array2, array};
    ///
    /// let (queries, database) = (array![[3.0]], array![[0.0], [10.0], [4.0]]);
    /// let (mut indices, mut distances) = (Array2::zeros((1, 2)), Array2::zeros((1, 2)));
    /// Distances::new().nearest_into(
    ///     &Device::auto(),
    ///     queries.view(),
    ///     database.view(),
    ///     indices.view_mut(),
    ///     distances.view_mut(),
    /// )?;
    /// assert_eq!((indices, distances), (array![[2, 0]], array![[1.0, 3.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn nearest_into<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        queries: ArrayView2<T>,
        database: ArrayView2<T>,
        indices: ArrayViewMut2<u64>,
        distances: ArrayViewMut2<f64>,
    ) -> Result<()> {
        let queries = self.queries("nearest_into", HostRows::from(queries), database.into(), 0);
        queries.search_into(devices, indices, distances)
    }

    /// As [`nearest`](Self::nearest), but of rows in a device's memory. The result stays there.
    ///
    /// Besides the arrays, the call takes up to 1 GiB, and at most an eighth of the device's memory
    /// if that suffices for a query.
    ///
    /// The work is ordered on the stream of the handle of `queries`, by default the device's main
    /// stream. The call waits for the check of the rows; the result may not be written yet when it
    /// returns.
    ///
    /// # Errors
    /// The errors of [`nearest`](Self::nearest), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for arrays on different devices.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let queries = device.upload(&array![[3.0]])?;
    /// let database = device.upload(&array![[0.0], [10.0], [4.0]])?;
    /// let found = Distances::new().nearest_device(&queries, &database, 2)?.download()?;
    /// assert_eq!((found.indices, found.distances), (array![[2, 0]], array![[1.0, 3.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn nearest_device<T: Component>(
        &self,
        queries: &DeviceArray<T, Ix2>,
        database: &DeviceArray<T, Ix2>,
        k: usize,
    ) -> Result<DeviceNearest> {
        let queries = DeviceRows::from(queries);
        self.queries("nearest_device", queries, database.into(), k)
            .search()
    }

    /// As [`nearest_device`](Self::nearest_device), but writes to `indices` and `distances`, N×k on
    /// the same device, whose columns are k. After an error their content is unspecified.
    ///
    /// # Errors
    /// The errors of [`nearest_device`](Self::nearest_device) and
    /// [`nearest_into`](Self::nearest_into).
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
    /// use ndarray::{Array2, array};
    ///
    /// let device = Device::auto();
    /// let queries = device.upload(&array![[3.0]])?;
    /// let database = device.upload(&array![[0.0], [10.0], [4.0]])?;
    /// let mut indices = device.upload(&Array2::zeros((1, 1)))?;
    /// let mut distances = device.upload(&Array2::zeros((1, 1)))?;
    /// let options = Distances::new();
    /// options.nearest_device_into(&queries, &database, &mut indices, &mut distances)?;
    /// assert_eq!(indices.download()?, array![[2]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn nearest_device_into<T: Component>(
        &self,
        queries: &DeviceArray<T, Ix2>,
        database: &DeviceArray<T, Ix2>,
        indices: &mut DeviceArray<u64, Ix2>,
        distances: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        let queries = DeviceRows::from(queries);
        let queries = self.queries("nearest_device_into", queries, database.into(), 0);
        queries.search_into(indices, distances)
    }
}

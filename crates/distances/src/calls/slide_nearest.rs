//! The calls for the nearest sequences by slide distances.

use gridstride_runtime::device::DeviceArray;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::{ArrayViewMut2, Ix2};

use crate::device_output::DeviceNearest;
use crate::element::Component;
use crate::options::Distances;
use crate::output::Nearest;
use crate::rows::{DeviceRows, HostRows};
use crate::windows::{DeviceWindows, Windows};

/// Finds the `k` sequences of `database` with the least slide distances to each of `queries`, as
/// [`Distances::slide_nearest`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::distances::{Windows, slide_nearest};
/// use ndarray::array;
///
/// let (rows, query) = (array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]], array![[3.0, 4.0]]);
/// let database = Windows::new(rows.view(), &[0, 2, 3])?; // 2 windows and 1
/// let queries = Windows::new(query.view(), &[0, 1])?;
/// let found = slide_nearest(&Device::auto(), queries, database, 2)?;
/// assert_eq!(found.indices, array![[1, 0]]);
/// assert_eq!(found.distances, array![[0.0, 5.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn slide_nearest<T: Component>(
    devices: &(impl DeviceSet + ?Sized),
    queries: Windows<T>,
    database: Windows<T>,
    k: usize,
) -> Result<Nearest> {
    Distances::new().slide_nearest(devices, queries, database, k)
}

/// Nearest sequences by their [slide distances](crate#slide-distances).
impl Distances {
    /// Finds the `k` sequences of `database`, M sequences, with the least slide distances to each of
    /// `queries`, N sequences: indices and distances, each N×k, the nearest first.
    ///
    /// The result is exact: that of sorting the rows of [`slide_distances`](Self::slide_distances)
    /// by distance, and at the same distance by index. The whole matrix of distances is not in
    /// memory. The distance to a sequence without windows is NaN, which comes after all distances.
    ///
    /// Devices that run kernels take a `k` of up to 1024, the CPU any.
    ///
    /// # Errors
    /// - [`Error::Shape`](gridstride_runtime::Error::Shape) if the windows of `queries` and `database` differ in
    ///   length.
    /// - [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for NaN, infinities, or no devices; for
    ///   a `k` above the sequences of `database`; and on devices that run kernels for a `k` above
    ///   1024 and a sequence of more than 2³¹ − 16 numbers.
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the host has too little memory for the
    ///   result, or a device for two sequences and a list of candidates of 8 to 32 KiB.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Metric, Windows};
    /// use ndarray::array;
    ///
    /// let (rows, query) = (array![[0.0f32], [10.0], [4.0], [8.0]], array![[3.0], [8.0]]);
    /// let database = Windows::new(rows.view(), &[0, 2, 4])?;
    /// let queries = Windows::new(query.view(), &[0, 2])?;
    /// let squared = Distances::new().metric(Metric::SquaredL2);
    /// let found = squared.slide_nearest(&Device::auto(), queries, database, 2)?;
    /// assert_eq!((found.indices, found.distances), (array![[1, 0]], array![[1.0, 13.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        queries: Windows<T>,
        database: Windows<T>,
        k: usize,
    ) -> Result<Nearest> {
        let queries = self.queries("slide_nearest", HostRows::from(queries), database.into(), k);
        queries.search(devices)
    }

    /// As [`slide_nearest`](Self::slide_nearest), but writes to `indices` and `distances`, views of
    /// N×k with any strides, whose columns are k. After an error their content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_nearest`](Self::slide_nearest), and
    /// [`Error::Shape`](gridstride_runtime::Error::Shape) if `indices` and `distances` differ in shape or do not
    /// have a row for each query.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Windows};
    /// use ndarray::{Array2, array};
    ///
    /// let rows = array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]];
    /// let windows = Windows::new(rows.view(), &[0, 2, 3])?;
    /// let (mut indices, mut distances) = (Array2::zeros((2, 1)), Array2::zeros((2, 1)));
    /// let (device, options) = (Device::auto(), Distances::new());
    /// let places = (indices.view_mut(), distances.view_mut());
    /// options.slide_nearest_into(&device, windows, windows, places.0, places.1)?;
    /// assert_eq!((indices, distances), (array![[0], [1]], array![[0.0], [0.0]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest_into<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        queries: Windows<T>,
        database: Windows<T>,
        indices: ArrayViewMut2<u64>,
        distances: ArrayViewMut2<f64>,
    ) -> Result<()> {
        let queries = HostRows::from(queries);
        let queries = self.queries("slide_nearest_into", queries, database.into(), 0);
        queries.search_into(devices, indices, distances)
    }

    /// As [`slide_nearest`](Self::slide_nearest), but of windows in a device's memory. The result
    /// stays there.
    ///
    /// Besides the arrays, the call takes up to 256 MiB, and at most an eighth of the device's
    /// memory if that suffices for a query.
    ///
    /// The work is ordered on the stream of the handle of `queries`, by default the device's main
    /// stream. The call waits for the check of the windows; the result may not be written yet when
    /// it returns.
    ///
    /// # Errors
    /// The errors of [`slide_nearest`](Self::slide_nearest), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for arrays on different devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let rows = device.upload(&array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]])?;
    /// let windows = DeviceWindows::new(&rows, &[0, 2, 3])?;
    /// let found = Distances::new().slide_nearest_device(windows, windows, 2)?.download()?;
    /// assert_eq!(found.indices, array![[0, 1], [1, 0]]);
    /// assert_eq!(found.distances, array![[0.0, 5.0], [0.0, 5.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest_device<T: Component>(
        &self,
        queries: DeviceWindows<T>,
        database: DeviceWindows<T>,
        k: usize,
    ) -> Result<DeviceNearest> {
        let queries = DeviceRows::from(queries);
        self.queries("slide_nearest_device", queries, database.into(), k)
            .search()
    }

    /// As [`slide_nearest_device`](Self::slide_nearest_device), but writes to `indices` and
    /// `distances`, N×k on the same device, whose columns are k. After an error their content is
    /// unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_nearest_device`](Self::slide_nearest_device) and
    /// [`slide_nearest_into`](Self::slide_nearest_into).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::{Array2, array};
    ///
    /// let device = Device::auto();
    /// let rows = device.upload(&array![[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]])?;
    /// let windows = DeviceWindows::new(&rows, &[0, 2, 3])?;
    /// let mut indices = device.upload(&Array2::zeros((2, 1)))?;
    /// let mut distances = device.upload(&Array2::zeros((2, 1)))?;
    /// let options = Distances::new();
    /// options.slide_nearest_device_into(windows, windows, &mut indices, &mut distances)?;
    /// assert_eq!(indices.download()?, array![[0], [1]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_nearest_device_into<T: Component>(
        &self,
        queries: DeviceWindows<T>,
        database: DeviceWindows<T>,
        indices: &mut DeviceArray<u64, Ix2>,
        distances: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        let queries = DeviceRows::from(queries);
        let queries = self.queries("slide_nearest_device_into", queries, database.into(), 0);
        queries.search_into(indices, distances)
    }
}

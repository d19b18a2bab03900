//! The calls: distances of arrays of the host, and of arrays in a device's memory.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Ix2};

use super::element::Component;
use super::input::{self, DeviceTile, Tile};
use super::options::Distances;
use crate::device::{DeviceArray, zeroed_lazily};
use crate::error::During;
use crate::{DeviceSet, Result};

const DISTANCES: &str = "distances";
const PAIRWISE: &str = "pairwise";

/// Computes the Euclidean distances of all rows of `a` to all rows of `b`: N×D, M×D → N×M.
///
/// # Errors
/// Those of [`Distances::distances`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::distances::distances;
/// use ndarray::array;
///
/// let a = array![[0.0, 0.0], [3.0, 0.0]];
/// let b = array![[3.0, 4.0]];
/// assert_eq!(distances(&Device::auto(), a.view(), b.view())?, array![[5.0], [4.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn distances<T: Component>(
    devices: &(impl DeviceSet + ?Sized),
    a: ArrayView2<T>,
    b: ArrayView2<T>,
) -> Result<Array2<f64>> {
    Distances::new().distances(devices, a, b)
}

/// Computes the Euclidean distances of all rows of `a` to each other: N×D → N×N.
///
/// # Errors
/// Those of [`Distances::pairwise`].
///
/// ```
/// use gridstride::Device;
/// use gridstride::distances::pairwise;
/// use ndarray::array;
///
/// let rows = array![[0.0, 0.0], [3.0, 4.0]];
/// assert_eq!(pairwise(&Device::auto(), rows.view())?, array![[0.0, 5.0], [5.0, 0.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn pairwise<T: Component>(
    devices: &(impl DeviceSet + ?Sized),
    a: ArrayView2<T>,
) -> Result<Array2<f64>> {
    Distances::new().pairwise(devices, a)
}

impl Distances {
    /// Computes the distances of all rows of `a` to all rows of `b`: N×D, M×D → N×M.
    ///
    /// # Errors
    /// - [`Error::Shape`](crate::Error::Shape) if the rows of `a` and `b` differ in length.
    /// - [`Error::InvalidInput`](crate::Error::InvalidInput) for a row that is not finite, and for
    ///   a set of no devices.
    /// - [`Error::Allocation`](crate::Error::Allocation) if the host's memory does not suffice for
    ///   the distances, or a device's for two rows.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::array;
    ///
    /// let (a, b) = (array![[0.0, 0.0], [3.0, 0.0]], array![[3.0, 4.0]]);
    /// let result = Distances::new().distances(&Device::auto(), a.view(), b.view())?;
    /// assert_eq!(result, array![[5.0], [4.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn distances<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView2<T>,
        b: ArrayView2<T>,
    ) -> Result<Array2<f64>> {
        input::require_rows(DISTANCES, a.shape(), b.shape())?;
        let mut out = host_array(DISTANCES, a.nrows(), b.nrows())?;
        self.distances_into(devices, a, b, out.view_mut())?;
        Ok(out)
    }

    /// Writes the [distances](Self::distances) of all rows of `a` to all rows of `b` into `out`, a
    /// view of N×M with any strides.
    ///
    /// The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// Those of [`distances`](Self::distances), and [`Error::Shape`](crate::Error::Shape) if `out`
    /// does not have the shape of the result.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::{Array2, array, s};
    ///
    /// let (a, b) = (array![[0.0, 0.0], [3.0, 0.0]], array![[3.0, 4.0]]);
    /// let mut table = Array2::zeros((2, 3));
    /// let column = table.slice_mut(s![.., 1..2]);
    /// Distances::new().distances_into(&Device::auto(), a.view(), b.view(), column)?;
    /// assert_eq!(table, array![[0.0, 5.0, 0.0], [0.0, 4.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn distances_into<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView2<T>,
        b: ArrayView2<T>,
        out: ArrayViewMut2<f64>,
    ) -> Result<()> {
        input::require_rows(DISTANCES, a.shape(), b.shape())?;
        input::require_out(DISTANCES, (a.nrows(), b.nrows()), out.shape())?;
        let tile = Tile {
            operation: DISTANCES,
            metric: self.metric,
            a,
            b: Some(b),
            out,
        };
        T::host(devices.devices(), tile).during(DISTANCES)
    }

    /// Computes the [distances](Self::distances) of rows in a device's memory and leaves them
    /// there: N×D, M×D → N×M. `a` and `b` may be the same array.
    ///
    /// On a GPU this may return before the distances are computed. Downloading them waits; a stream
    /// other than the device's main one has to wait for an event.
    ///
    /// # Errors
    /// Those of [`distances`](Self::distances), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on different devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[0.0, 0.0], [3.0, 0.0]])?;
    /// let b = device.upload(&array![[3.0, 4.0]])?;
    /// let result = Distances::new().distances_device(&a, &b)?;
    /// assert_eq!(result.download()?, array![[5.0], [4.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn distances_device<T: Component>(
        &self,
        a: &DeviceArray<T, Ix2>,
        b: &DeviceArray<T, Ix2>,
    ) -> Result<DeviceArray<f64, Ix2>> {
        a.device().require_same(b.device(), DISTANCES)?;
        input::require_rows(DISTANCES, a.shape(), b.shape())?;
        let mut out = device_array(DISTANCES, a, b)?;
        self.distances_device_into(a, b, &mut out)?;
        Ok(out)
    }

    /// Writes the [distances](Self::distances) of rows in a device's memory into `out`, N×M, on the
    /// same device.
    ///
    /// Like [`distances_device`](Self::distances_device), this may return before the distances are
    /// computed. The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// Those of [`distances_device`](Self::distances_device), and
    /// [`Error::Shape`](crate::Error::Shape) if `out` does not have the shape of the result.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::{Array2, array};
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[0.0, 0.0], [3.0, 0.0]])?;
    /// let mut out = device.upload(&Array2::zeros((2, 1)))?;
    /// for (row, expected) in [([3.0, 4.0], [[5.0], [4.0]]), ([0.0, 0.0], [[0.0], [3.0]])] {
    ///     let b = device.upload(&array![row])?;
    ///     Distances::new().distances_device_into(&a, &b, &mut out)?;
    ///     assert_eq!(out.download()?, array![expected[0], expected[1]]);
    /// }
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn distances_device_into<T: Component>(
        &self,
        a: &DeviceArray<T, Ix2>,
        b: &DeviceArray<T, Ix2>,
        out: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        a.device().require_same(b.device(), DISTANCES)?;
        a.device().require_same(out.device(), DISTANCES)?;
        input::require_rows(DISTANCES, a.shape(), b.shape())?;
        input::require_out(DISTANCES, (a.shape()[0], b.shape()[0]), out.shape())?;
        let _ordered = a.device().ordered_with(&[b.device(), out.device()])?;
        let tile = DeviceTile {
            operation: DISTANCES,
            metric: self.metric,
            a,
            b: Some(b),
            out,
        };
        T::device(tile).during(DISTANCES)
    }

    /// Computes the distances of all rows of `a` to each other: N×D → N×N, symmetric with a zero
    /// diagonal.
    ///
    /// The result has the bits of [`distances`](Self::distances), but each pair is computed once;
    /// twice over a [set](DeviceSet) of devices, or where a device's memory does not suffice for
    /// all rows.
    ///
    /// # Errors
    /// Those of [`distances`](Self::distances) but [`Error::Shape`](crate::Error::Shape).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::array;
    ///
    /// let rows = array![[0.0, 0.0], [3.0, 4.0]];
    /// let result = Distances::new().pairwise(&Device::auto(), rows.view())?;
    /// assert_eq!(result, array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn pairwise<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView2<T>,
    ) -> Result<Array2<f64>> {
        let mut out = host_array(PAIRWISE, a.nrows(), a.nrows())?;
        self.pairwise_into(devices, a, out.view_mut())?;
        Ok(out)
    }

    /// Writes the [distances](Self::pairwise) of all rows of `a` to each other into `out`, a view
    /// of N×N with any strides.
    ///
    /// The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// Those of [`pairwise`](Self::pairwise), and [`Error::Shape`](crate::Error::Shape) if `out`
    /// does not have the shape of the result.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::{Array2, array};
    ///
    /// let rows = array![[0.0, 0.0], [3.0, 4.0]];
    /// let mut out = Array2::zeros((2, 2));
    /// Distances::new().pairwise_into(&Device::auto(), rows.view(), out.view_mut())?;
    /// assert_eq!(out, array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn pairwise_into<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView2<T>,
        out: ArrayViewMut2<f64>,
    ) -> Result<()> {
        input::require_out(PAIRWISE, (a.nrows(), a.nrows()), out.shape())?;
        let tile = Tile {
            operation: PAIRWISE,
            metric: self.metric,
            a,
            b: None,
            out,
        };
        T::host(devices.devices(), tile).during(PAIRWISE)
    }

    /// Computes the [distances](Self::pairwise) of rows in a device's memory to each other and
    /// leaves them there: N×D → N×N.
    ///
    /// Like [`distances_device`](Self::distances_device), this may return before the distances are
    /// computed.
    ///
    /// # Errors
    /// Those of [`pairwise`](Self::pairwise).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::array;
    ///
    /// let rows = Device::auto().upload(&array![[0.0, 0.0], [3.0, 4.0]])?;
    /// let result = Distances::new().pairwise_device(&rows)?;
    /// assert_eq!(result.download()?, array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn pairwise_device<T: Component>(
        &self,
        a: &DeviceArray<T, Ix2>,
    ) -> Result<DeviceArray<f64, Ix2>> {
        let mut out = device_array(PAIRWISE, a, a)?;
        self.pairwise_device_into(a, &mut out)?;
        Ok(out)
    }

    /// Writes the [distances](Self::pairwise) of rows in a device's memory to each other into
    /// `out`, N×N, on the same device.
    ///
    /// Like [`distances_device`](Self::distances_device), this may return before the distances are
    /// computed. The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// Those of [`pairwise`](Self::pairwise), [`Error::Shape`](crate::Error::Shape) if `out` does
    /// not have the shape of the result, and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) if it is on another device.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::Distances;
    /// use ndarray::{Array2, array};
    ///
    /// let device = Device::auto();
    /// let rows = device.upload(&array![[0.0, 0.0], [3.0, 4.0]])?;
    /// let mut out = device.upload(&Array2::zeros((2, 2)))?;
    /// Distances::new().pairwise_device_into(&rows, &mut out)?;
    /// assert_eq!(out.download()?, array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn pairwise_device_into<T: Component>(
        &self,
        a: &DeviceArray<T, Ix2>,
        out: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        a.device().require_same(out.device(), PAIRWISE)?;
        input::require_out(PAIRWISE, (a.shape()[0], a.shape()[0]), out.shape())?;
        let _ordered = a.device().ordered_with(&[out.device()])?;
        let tile = DeviceTile {
            operation: PAIRWISE,
            metric: self.metric,
            a,
            b: None,
            out,
        };
        T::device(tile).during(PAIRWISE)
    }
}

/// Returns an array of the host for so many distances, whose pages are made when they are written.
fn host_array(operation: &'static str, rows: usize, columns: usize) -> Result<Array2<f64>> {
    let distances = zeroed_lazily(rows.saturating_mul(columns)).during(operation)?;
    Ok(Array2::from_shape_vec((rows, columns), distances).expect("a distance for each pair"))
}

/// Returns an array for the distances of the rows of `a` and `b`, on their device.
fn device_array<T: Component>(
    operation: &'static str,
    a: &DeviceArray<T, Ix2>,
    b: &DeviceArray<T, Ix2>,
) -> Result<DeviceArray<f64, Ix2>> {
    let (rows, columns) = (a.shape()[0], b.shape()[0]);
    let out = a
        .device()
        .alloc(rows.saturating_mul(columns))
        .during(operation)?;
    DeviceArray::from_buffer(out, Ix2(rows, columns))
}

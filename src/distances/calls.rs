//! The calls: distances of host arrays, and of arrays in a device's memory.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Ix2};

use super::element::Component;
use super::input::{self, Pairs};
use super::options::Distances;
use crate::device::{DeviceArray, zeroed_lazily};
use crate::error::During;
use crate::{DeviceSet, Result};

const DISTANCES: &str = "distances";
const DISTANCES_DEVICE: &str = "distances_device";
const PAIRWISE: &str = "pairwise";
const PAIRWISE_DEVICE: &str = "pairwise_device";

/// Computes the Euclidean distances of all rows of `a` to all rows of `b`, N×D, M×D → N×M, as
/// [`Distances::distances`].
///
/// ```
/// use gridstride::{Device, distances::distances};
/// use ndarray::array;
///
/// let (a, b) = (array![[0.0, 0.0], [3.0, 0.0]], array![[3.0, 4.0]]);
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

/// Computes the Euclidean distances of all rows of `a` to each other, N×D → N×N, as
/// [`Distances::pairwise`].
///
/// ```
/// use gridstride::{Device, distances::pairwise};
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
    /// - [`Error::InvalidInput`](crate::Error::InvalidInput) for NaN, infinities, or no devices.
    /// - [`Error::Allocation`](crate::Error::Allocation) if the host has too little memory for the
    ///   distances, or a device for two rows.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
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
        self.host(DISTANCES, devices, a, Some(b), (out.view_mut(), true))?;
        Ok(out)
    }

    /// As [`distances`](Self::distances), but writes to `out`, a view of N×M with any strides.
    /// After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`distances`](Self::distances), and [`Error::Shape`](crate::Error::Shape) if
    /// `out` does not have the shape of the result.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
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
        self.host("distances_into", devices, a, Some(b), (out, false))
    }

    /// As [`distances`](Self::distances), but of rows in a device's memory. The result stays there.
    /// `a` and `b` may be the same array.
    ///
    /// The work is ordered on the stream of `a`'s handle, by default the device's main stream. The
    /// call waits for the check of the rows; the distances may not be written yet when it returns.
    ///
    /// # Errors
    /// The errors of [`distances`](Self::distances), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on different devices.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
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
        a.device().require_same(b.device(), DISTANCES_DEVICE)?;
        input::require_rows(DISTANCES_DEVICE, a.shape(), b.shape())?;
        let mut out = device_array(DISTANCES_DEVICE, a, b)?;
        self.device(DISTANCES_DEVICE, a, Some(b), &mut out)?;
        Ok(out)
    }

    /// As [`distances_device`](Self::distances_device), but writes to `out`, N×M on the same
    /// device. After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`distances_device`](Self::distances_device) and
    /// [`distances_into`](Self::distances_into).
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
    /// use ndarray::{Array2, array};
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[0.0, 0.0], [3.0, 0.0]])?;
    /// let b = device.upload(&array![[3.0, 4.0]])?;
    /// let mut out = device.upload(&Array2::zeros((2, 1)))?;
    /// Distances::new().distances_device_into(&a, &b, &mut out)?;
    /// assert_eq!(out.download()?, array![[5.0], [4.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn distances_device_into<T: Component>(
        &self,
        a: &DeviceArray<T, Ix2>,
        b: &DeviceArray<T, Ix2>,
        out: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        self.device("distances_device_into", a, Some(b), out)
    }

    /// Computes the distances of all rows of `a` to each other: N×D → N×N, with a zero diagonal.
    ///
    /// The result has the bits of [`distances`](Self::distances), but each pair is computed once;
    /// twice over a [set](DeviceSet) of devices, or if a device has too little memory for all rows.
    ///
    /// # Errors
    /// The errors of [`distances`](Self::distances) but [`Error::Shape`](crate::Error::Shape).
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
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
        self.host(PAIRWISE, devices, a, None, (out.view_mut(), true))?;
        Ok(out)
    }

    /// As [`pairwise`](Self::pairwise), but writes to `out`, a view of N×N with any strides. After
    /// an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`pairwise`](Self::pairwise), and [`Error::Shape`](crate::Error::Shape) if
    /// `out` does not have the shape of the result.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
    /// use ndarray::{Array2, array};
    ///
    /// let (rows, mut out) = (array![[0.0, 0.0], [3.0, 4.0]], Array2::zeros((2, 2)));
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
        self.host("pairwise_into", devices, a, None, (out, false))
    }

    /// As [`pairwise`](Self::pairwise), but of rows in a device's memory, and ordered like
    /// [`distances_device`](Self::distances_device). The result stays there.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
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
        let mut out = device_array(PAIRWISE_DEVICE, a, a)?;
        self.device(PAIRWISE_DEVICE, a, None, &mut out)?;
        Ok(out)
    }

    /// As [`pairwise_device`](Self::pairwise_device), but writes to `out`, N×N on the same device.
    /// After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`pairwise_into`](Self::pairwise_into), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) if `out` is on another device.
    ///
    /// ```
    /// use gridstride::{Device, distances::Distances};
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
        self.device("pairwise_device_into", a, None, out)
    }

    fn host<T: Component>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        a: ArrayView2<T>,
        b: Option<ArrayView2<T>>,
        (out, is_new): (ArrayViewMut2<f64>, bool),
    ) -> Result<()> {
        let columns = b.as_ref().unwrap_or(&a);
        input::require_rows(operation, a.shape(), columns.shape())?;
        input::require_out(operation, (a.nrows(), columns.nrows()), out.shape())?;
        let pairs = Pairs {
            operation,
            metric: self.metric,
            a,
            b,
            out,
            is_new,
        };
        T::host(devices.devices(), pairs).during(operation)
    }

    fn device<T: Component>(
        &self,
        operation: &'static str,
        a: &DeviceArray<T, Ix2>,
        b: Option<&DeviceArray<T, Ix2>>,
        out: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        let columns = b.unwrap_or(a);
        a.device().require_same(columns.device(), operation)?;
        a.device().require_same(out.device(), operation)?;
        input::require_rows(operation, a.shape(), columns.shape())?;
        input::require_out(operation, (a.shape()[0], columns.shape()[0]), out.shape())?;
        let _ordered = (a.device()).ordered_with(&[columns.device(), out.device()])?;
        let pairs = Pairs {
            operation,
            metric: self.metric,
            a,
            b,
            out,
            is_new: false,
        };
        T::device(pairs).during(operation)
    }
}

/// Returns a host array for the distances, whose pages are allocated when they are written.
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
    let elements = rows.saturating_mul(columns);
    let out = a.device().alloc(elements).during(operation)?;
    DeviceArray::from_buffer(out, Ix2(rows, columns))
}

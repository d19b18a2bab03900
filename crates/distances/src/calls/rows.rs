//! The calls for distances of rows.

use gridstride_runtime::device::DeviceArray;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Ix2};

use crate::element::Component;
use crate::options::Distances;
use crate::rows::{DeviceRows, HostRows};

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
    /// - [`Error::Shape`](gridstride_runtime::Error::Shape) if the rows of `a` and `b` differ in length.
    /// - [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for NaN, infinities, or no devices.
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the host has too little memory for the
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
        let pairs = self.pairs("distances", HostRows::from(a), Some(b.into()));
        pairs.compute(devices)
    }

    /// As [`distances`](Self::distances), but writes to `out`, a view of N×M with any strides.
    /// After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`distances`](Self::distances), and [`Error::Shape`](gridstride_runtime::Error::Shape) if
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
        let pairs = self.pairs("distances_into", HostRows::from(a), Some(b.into()));
        pairs.compute_into(devices, out)
    }

    /// As [`distances`](Self::distances), but of rows in a device's memory. The result stays there.
    /// `a` and `b` may be the same array.
    ///
    /// The work is ordered on the stream of `a`'s handle, by default the device's main stream. The
    /// call waits for the check of the rows; the distances may not be written yet when it returns.
    ///
    /// # Errors
    /// The errors of [`distances`](Self::distances), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for arrays on different devices.
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
        let pairs = self.pairs("distances_device", DeviceRows::from(a), Some(b.into()));
        pairs.compute()
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
        let pairs = self.pairs("distances_device_into", DeviceRows::from(a), Some(b.into()));
        pairs.compute_into(out)
    }

    /// Computes the distances of all rows of `a` to each other: N×D → N×N, with a zero diagonal.
    ///
    /// The result has the bits of [`distances`](Self::distances), but each pair is computed once;
    /// twice over a [set](DeviceSet) of devices, or if a device has too little memory for all rows.
    ///
    /// # Errors
    /// The errors of [`distances`](Self::distances) but [`Error::Shape`](gridstride_runtime::Error::Shape).
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
        self.pairs("pairwise", HostRows::from(a), None)
            .compute(devices)
    }

    /// As [`pairwise`](Self::pairwise), but writes to `out`, a view of N×N with any strides. After
    /// an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`pairwise`](Self::pairwise), and [`Error::Shape`](gridstride_runtime::Error::Shape) if
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
        let pairs = self.pairs("pairwise_into", HostRows::from(a), None);
        pairs.compute_into(devices, out)
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
        self.pairs("pairwise_device", DeviceRows::from(a), None)
            .compute()
    }

    /// As [`pairwise_device`](Self::pairwise_device), but writes to `out`, N×N on the same device.
    /// After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`pairwise_into`](Self::pairwise_into), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) if `out` is on another device.
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
        let pairs = self.pairs("pairwise_device_into", DeviceRows::from(a), None);
        pairs.compute_into(out)
    }
}

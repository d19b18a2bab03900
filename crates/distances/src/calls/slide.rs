//! The calls for slide distances.

use gridstride_runtime::device::DeviceArray;
use gridstride_runtime::{DeviceSet, Result};
use ndarray::{Array1, Array2, ArrayViewMut1, ArrayViewMut2, Axis, Ix1, Ix2};

use crate::element::Component;
use crate::options::Distances;
use crate::rows::{DeviceRows, HostRows};
use crate::windows::{DeviceWindows, Windows};

/// Computes the slide distances of all sequences of `a` to all of `b`, N×M, as
/// [`Distances::slide_distances`].
///
/// ```
/// use gridstride::distances::{Windows, slide_distances};
/// use gridstride::Device;
/// use ndarray::array;
///
/// let (a, b) = (array![[0.0, 0.0], [1.0, 1.0]], array![[3.0, 4.0]]);
/// let (a, b) = (Windows::new(a.view(), &[0, 2])?, Windows::new(b.view(), &[0, 1])?);
/// assert_eq!(slide_distances(&Device::auto(), a, b)?, array![[5.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn slide_distances<T: Component>(
    devices: &(impl DeviceSet + ?Sized),
    a: Windows<T>,
    b: Windows<T>,
) -> Result<Array2<f64>> {
    Distances::new().slide_distances(devices, a, b)
}

/// Computes the slide distance of each sequence of `a` to the sequence of `b` that has its index,
/// N, as [`Distances::slide_paired`].
///
/// ```
/// use gridstride::distances::{Windows, slide_paired};
/// use gridstride::Device;
/// use ndarray::array;
///
/// let (a, b) = (array![[0.0, 0.0], [1.0, 1.0]], array![[3.0, 4.0], [1.0, 2.0]]);
/// let (a, b) = (Windows::new(a.view(), &[0, 1, 2])?, Windows::new(b.view(), &[0, 1, 2])?);
/// assert_eq!(slide_paired(&Device::auto(), a, b)?, array![5.0, 1.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn slide_paired<T: Component>(
    devices: &(impl DeviceSet + ?Sized),
    a: Windows<T>,
    b: Windows<T>,
) -> Result<Array1<f64>> {
    Distances::new().slide_paired(devices, a, b)
}

/// Slide distances, which the [module's documentation](crate#slide-distances) defines.
/// With [`Metric::SquaredL2`](crate::Metric::SquaredL2) they are not rooted.
impl Distances {
    /// Computes the slide distances of all sequences of `a`, N, to all of `b`, M: N×M. The distance
    /// to a sequence without windows is NaN.
    ///
    /// Offsets `[0, 1, 2, …]` make sequences of a single window, whose slide distances are the
    /// [`distances`](Self::distances) of the rows.
    ///
    /// # Errors
    /// - [`Error::Shape`](gridstride_runtime::Error::Shape) if the windows of `a` and `b` differ in length.
    /// - [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for NaN, infinities, or no devices,
    ///   and for a sequence of more than 2³¹ − 16 numbers on devices that run kernels.
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the host has too little memory for the
    ///   distances, or a device for two sequences.
    ///
    /// ```
    /// use gridstride::distances::{Distances, Windows};
    /// use gridstride::Device;
    /// use ndarray::array;
    ///
    /// let (a, b) = (array![[0.0, 0.0], [1.0, 1.0], [6.0, 8.0]], array![[3.0, 4.0], [1.0, 2.0]]);
    /// let a = Windows::new(a.view(), &[0, 2, 3])?;
    /// let b = Windows::new(b.view(), &[0, 2])?;
    /// let result = Distances::new().slide_distances(&Device::auto(), a, b)?;
    /// assert_eq!(result, array![[26f64.sqrt()], [5.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_distances<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: Windows<T>,
        b: Windows<T>,
    ) -> Result<Array2<f64>> {
        let pairs = self.pairs("slide_distances", HostRows::from(a), Some(b.into()));
        pairs.compute(devices)
    }

    /// As [`slide_distances`](Self::slide_distances), but writes to `out`, a view of N×M with any
    /// strides. After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_distances`](Self::slide_distances), and
    /// [`Error::Shape`](gridstride_runtime::Error::Shape) if `out` does not have the shape of the result.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Windows};
    /// use ndarray::{Array2, array};
    ///
    /// let (rows, mut out) = (array![[0.0, 0.0], [3.0, 4.0]], Array2::zeros((2, 2)));
    /// let windows = Windows::new(rows.view(), &[0, 1, 2])?;
    /// let devices = Device::auto();
    /// Distances::new().slide_distances_into(&devices, windows, windows, out.view_mut())?;
    /// assert_eq!(out, array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_distances_into<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: Windows<T>,
        b: Windows<T>,
        out: ArrayViewMut2<f64>,
    ) -> Result<()> {
        let pairs = self.pairs("slide_distances_into", HostRows::from(a), Some(b.into()));
        pairs.compute_into(devices, out)
    }

    /// Computes the slide distance of each sequence of `a` to the sequence of `b` that has its
    /// index: N. It is NaN if one of them has no windows.
    ///
    /// The distances have the error bound of [`slide_distances`](Self::slide_distances), but not
    /// its bits.
    ///
    /// # Errors
    /// The errors of [`slide_distances`](Self::slide_distances), and
    /// [`Error::Shape`](gridstride_runtime::Error::Shape) if `a` and `b` differ in their number of sequences.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Windows};
    /// use ndarray::array;
    ///
    /// let (a, b) = (array![[0.0, 0.0], [1.0, 1.0]], array![[3.0, 4.0], [1.0, 2.0]]);
    /// let a = Windows::new(a.view(), &[0, 1, 2])?;
    /// let b = Windows::new(b.view(), &[0, 1, 2])?;
    /// let result = Distances::new().slide_paired(&Device::auto(), a, b)?;
    /// assert_eq!(result, array![5.0, 1.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_paired<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: Windows<T>,
        b: Windows<T>,
    ) -> Result<Array1<f64>> {
        let pairs = self.pairs("slide_paired", HostRows::from(a), Some(b.into()));
        let column = pairs.each().compute(devices)?;
        Ok(column.index_axis_move(Axis(1), 0))
    }

    /// As [`slide_paired`](Self::slide_paired), but writes to `out`, a view of N with any stride.
    /// After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_paired`](Self::slide_paired), and
    /// [`Error::Shape`](gridstride_runtime::Error::Shape) if `out` does not have the shape of the result.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{Distances, Windows};
    /// use ndarray::{Array2, array, s};
    ///
    /// let (a, b) = (array![[0.0, 0.0], [1.0, 1.0]], array![[3.0, 4.0], [1.0, 2.0]]);
    /// let a = Windows::new(a.view(), &[0, 1, 2])?;
    /// let b = Windows::new(b.view(), &[0, 1, 2])?;
    /// let mut table = Array2::zeros((2, 2));
    /// let column = table.slice_mut(s![.., 1]);
    /// Distances::new().slide_paired_into(&Device::auto(), a, b, column)?;
    /// assert_eq!(table, array![[0.0, 5.0], [0.0, 1.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_paired_into<T: Component>(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: Windows<T>,
        b: Windows<T>,
        out: ArrayViewMut1<f64>,
    ) -> Result<()> {
        let pairs = self.pairs("slide_paired_into", HostRows::from(a), Some(b.into()));
        pairs.each().compute_into(devices, out.insert_axis(Axis(1)))
    }

    /// As [`slide_distances`](Self::slide_distances), but of windows in a device's memory. The
    /// result stays there.
    ///
    /// The work is ordered on the stream of the handle of `a`'s rows, by default the device's main
    /// stream. The call waits for the check of the windows; the distances may not be written yet
    /// when it returns.
    ///
    /// # Errors
    /// The errors of [`slide_distances`](Self::slide_distances), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for arrays on different devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::array;
    ///
    /// let rows = Device::auto().upload(&array![[0.0, 0.0], [3.0, 4.0]])?;
    /// let windows = DeviceWindows::new(&rows, &[0, 1, 2])?;
    /// let result = Distances::new().slide_distances_device(windows, windows)?;
    /// assert_eq!(result.download()?, array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_distances_device<T: Component>(
        &self,
        a: DeviceWindows<T>,
        b: DeviceWindows<T>,
    ) -> Result<DeviceArray<f64, Ix2>> {
        let pairs = self.pairs(
            "slide_distances_device",
            DeviceRows::from(a),
            Some(b.into()),
        );
        pairs.compute()
    }

    /// As [`slide_distances_device`](Self::slide_distances_device), but writes to `out`, N×M on the
    /// same device. After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_distances_device`](Self::slide_distances_device) and
    /// [`slide_distances_into`](Self::slide_distances_into).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::{Array2, array};
    ///
    /// let device = Device::auto();
    /// let rows = device.upload(&array![[0.0, 0.0], [3.0, 4.0]])?;
    /// let mut out = device.upload(&Array2::zeros((2, 2)))?;
    /// let windows = DeviceWindows::new(&rows, &[0, 1, 2])?;
    /// Distances::new().slide_distances_device_into(windows, windows, &mut out)?;
    /// assert_eq!(out.download()?, array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_distances_device_into<T: Component>(
        &self,
        a: DeviceWindows<T>,
        b: DeviceWindows<T>,
        out: &mut DeviceArray<f64, Ix2>,
    ) -> Result<()> {
        let pairs = self.pairs(
            "slide_distances_device_into",
            DeviceRows::from(a),
            Some(b.into()),
        );
        pairs.compute_into(out)
    }

    /// As [`slide_paired`](Self::slide_paired), but of windows in a device's memory, and ordered
    /// like [`slide_distances_device`](Self::slide_distances_device). The result stays there.
    ///
    /// # Errors
    /// The errors of [`slide_paired`](Self::slide_paired), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for arrays on different devices.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[0.0, 0.0], [1.0, 1.0]])?;
    /// let b = device.upload(&array![[3.0, 4.0], [1.0, 2.0]])?;
    /// let a = DeviceWindows::new(&a, &[0, 1, 2])?;
    /// let b = DeviceWindows::new(&b, &[0, 1, 2])?;
    /// assert_eq!(Distances::new().slide_paired_device(a, b)?.download()?, array![5.0, 1.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_paired_device<T: Component>(
        &self,
        a: DeviceWindows<T>,
        b: DeviceWindows<T>,
    ) -> Result<DeviceArray<f64, Ix1>> {
        let pairs = self.pairs("slide_paired_device", DeviceRows::from(a), Some(b.into()));
        let distances = pairs.each().compute()?.into_buffer();
        let count = distances.len();
        DeviceArray::from_buffer(distances, Ix1(count))
    }

    /// As [`slide_paired_device`](Self::slide_paired_device), but writes to `out`, N on the same
    /// device. After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_paired_device`](Self::slide_paired_device) and
    /// [`slide_paired_into`](Self::slide_paired_into).
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::distances::{DeviceWindows, Distances};
    /// use ndarray::{Array1, array};
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[0.0, 0.0], [3.0, 4.0]])?;
    /// let b = device.upload(&array![[0.0, 2.0], [3.0, 4.0]])?;
    /// let mut out = device.upload(&Array1::zeros(1))?;
    /// let (a, b) = (DeviceWindows::new(&a, &[0, 2])?, DeviceWindows::new(&b, &[0, 2])?);
    /// Distances::new().slide_paired_device_into(a, b, &mut out)?;
    /// assert_eq!(out.download()?, array![2.0]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn slide_paired_device_into<T: Component>(
        &self,
        a: DeviceWindows<T>,
        b: DeviceWindows<T>,
        out: &mut DeviceArray<f64, Ix1>,
    ) -> Result<()> {
        let pairs = self.pairs(
            "slide_paired_device_into",
            DeviceRows::from(a),
            Some(b.into()),
        );
        pairs.each().compute_into(out)
    }
}

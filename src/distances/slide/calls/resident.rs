//! The calls for slide distances of sequences in a device's memory.

use ndarray::{Dimension, Ix1, Ix2};

use crate::Result;
use crate::device::DeviceArray;
use crate::distances::element::Component;
use crate::distances::options::Distances;
use crate::distances::slide::input::{self, Pairing, Slides};
use crate::distances::slide::windows::DeviceWindows;
use crate::error::During;

const SLIDE_DISTANCES_DEVICE: &str = "slide_distances_device";
const SLIDE_PAIRED_DEVICE: &str = "slide_paired_device";

/// Slide distances of sequences in a device's memory.
impl Distances {
    /// As [`slide_distances`](Self::slide_distances), but of windows in a device's memory. The
    /// result stays there.
    ///
    /// The work is ordered on the stream of the handle of `a`'s rows, by default the device's main
    /// stream. The call waits for the check of the windows; the distances may not be written yet
    /// when it returns.
    ///
    /// # Errors
    /// The errors of [`slide_distances`](Self::slide_distances), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on different devices.
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
        let shape = device_shape(SLIDE_DISTANCES_DEVICE, Pairing::All, a, b)?;
        let mut out = device_array(SLIDE_DISTANCES_DEVICE, a, Ix2(shape.0, shape.1))?;
        self.device_slides(SLIDE_DISTANCES_DEVICE, a, b, Pairing::All, &mut out)?;
        Ok(out)
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
        let operation = "slide_distances_device_into";
        let (rows, columns) = device_shape(operation, Pairing::All, a, b)?;
        a.rows.device().require_same(out.device(), operation)?;
        input::require_out(operation, &[rows, columns], out.shape())?;
        self.device_slides(operation, a, b, Pairing::All, out)
    }

    /// As [`slide_paired`](Self::slide_paired), but of windows in a device's memory, and ordered
    /// like [`slide_distances_device`](Self::slide_distances_device). The result stays there.
    ///
    /// # Errors
    /// The errors of [`slide_paired`](Self::slide_paired), and
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for arrays on different devices.
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
        let (rows, _) = device_shape(SLIDE_PAIRED_DEVICE, Pairing::Each, a, b)?;
        let mut out = device_array(SLIDE_PAIRED_DEVICE, a, Ix1(rows))?;
        self.device_slides(SLIDE_PAIRED_DEVICE, a, b, Pairing::Each, &mut out)?;
        Ok(out)
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
        let operation = "slide_paired_device_into";
        let (rows, _) = device_shape(operation, Pairing::Each, a, b)?;
        a.rows.device().require_same(out.device(), operation)?;
        input::require_out(operation, &[rows], out.shape())?;
        self.device_slides(operation, a, b, Pairing::Each, out)
    }

    fn device_slides<T: Component, D: Dimension>(
        &self,
        operation: &'static str,
        a: DeviceWindows<T>,
        b: DeviceWindows<T>,
        pairs: Pairing,
        out: &mut DeviceArray<f64, D>,
    ) -> Result<()> {
        let device = a.rows.device();
        let _ordered = device.ordered_with(&[b.rows.device(), out.device()])?;
        let slides = Slides {
            operation,
            metric: self.metric,
            a,
            b,
            pairs,
            out: out.inner_mut(),
        };
        T::device_slides(slides).during(operation)
    }
}

fn device_shape<T: Component>(
    operation: &'static str,
    pairs: Pairing,
    a: DeviceWindows<T>,
    b: DeviceWindows<T>,
) -> Result<(usize, usize)> {
    a.rows.device().require_same(b.rows.device(), operation)?;
    input::shape(operation, pairs, (a.len(), a.dim()), (b.len(), b.dim()))
}

/// Returns an array for distances, on the device of the windows.
fn device_array<T: Component, D: Dimension>(
    operation: &'static str,
    windows: DeviceWindows<T>,
    shape: D,
) -> Result<DeviceArray<f64, D>> {
    let elements = shape
        .slice()
        .iter()
        .fold(1, |a: usize, &b| a.saturating_mul(b));
    let out = windows.rows.device().alloc(elements).during(operation)?;
    DeviceArray::from_buffer(out, shape)
}

//! The calls for slide distances: of sequences on the host, and in a device's memory.

mod resident;

use ndarray::{Array1, Array2, ArrayViewMut1, ArrayViewMut2, Axis};

use super::input::{self, Pairing, Slides};
use super::windows::Windows;
use crate::device::zeroed_lazily;
use crate::distances::element::Component;
use crate::distances::options::Distances;
use crate::error::During;
use crate::{DeviceSet, Result};

const SLIDE_DISTANCES: &str = "slide_distances";
const SLIDE_PAIRED: &str = "slide_paired";

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

/// Slide distances, which the [module's documentation](crate::distances#slide-distances) defines.
/// With [`Metric::SquaredL2`](crate::distances::Metric::SquaredL2) they are not rooted.
impl Distances {
    /// Computes the slide distances of all sequences of `a`, N, to all of `b`, M: N×M. The distance
    /// to a sequence without windows is NaN.
    ///
    /// Offsets `[0, 1, 2, …]` make sequences of a single window, whose slide distances are the
    /// [`distances`](Self::distances) of the rows.
    ///
    /// # Errors
    /// - [`Error::Shape`](crate::Error::Shape) if the windows of `a` and `b` differ in length.
    /// - [`Error::InvalidInput`](crate::Error::InvalidInput) for NaN, infinities, or no devices,
    ///   and for a sequence of more than 2³¹ − 16 numbers on devices that run kernels.
    /// - [`Error::Allocation`](crate::Error::Allocation) if the host has too little memory for the
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
        let shape = shape(SLIDE_DISTANCES, Pairing::All, a, b)?;
        let distances = zeroed_lazily(shape.0.saturating_mul(shape.1)).during(SLIDE_DISTANCES)?;
        let mut out = Array2::from_shape_vec(shape, distances).expect("a distance for each pair");
        self.host_slides(SLIDE_DISTANCES, devices, a, b, Pairing::All, out.view_mut())?;
        Ok(out)
    }

    /// As [`slide_distances`](Self::slide_distances), but writes to `out`, a view of N×M with any
    /// strides. After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_distances`](Self::slide_distances), and
    /// [`Error::Shape`](crate::Error::Shape) if `out` does not have the shape of the result.
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
        let operation = "slide_distances_into";
        let (rows, columns) = shape(operation, Pairing::All, a, b)?;
        input::require_out(operation, &[rows, columns], out.shape())?;
        self.host_slides(operation, devices, a, b, Pairing::All, out)
    }

    /// Computes the slide distance of each sequence of `a` to the sequence of `b` that has its
    /// index: N. It is NaN if one of them has no windows.
    ///
    /// The distances have the error bound of [`slide_distances`](Self::slide_distances), but not
    /// its bits.
    ///
    /// # Errors
    /// The errors of [`slide_distances`](Self::slide_distances), and
    /// [`Error::Shape`](crate::Error::Shape) if `a` and `b` differ in their number of sequences.
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
        let (rows, _) = shape(SLIDE_PAIRED, Pairing::Each, a, b)?;
        let mut out = Array1::from_vec(zeroed_lazily(rows).during(SLIDE_PAIRED)?);
        let column = out.view_mut().insert_axis(Axis(1));
        self.host_slides(SLIDE_PAIRED, devices, a, b, Pairing::Each, column)?;
        Ok(out)
    }

    /// As [`slide_paired`](Self::slide_paired), but writes to `out`, a view of N with any stride.
    /// After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`slide_paired`](Self::slide_paired), and
    /// [`Error::Shape`](crate::Error::Shape) if `out` does not have the shape of the result.
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
        let operation = "slide_paired_into";
        let (rows, _) = shape(operation, Pairing::Each, a, b)?;
        input::require_out(operation, &[rows], out.shape())?;
        let column = out.insert_axis(Axis(1));
        self.host_slides(operation, devices, a, b, Pairing::Each, column)
    }

    fn host_slides<T: Component>(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        a: Windows<T>,
        b: Windows<T>,
        pairs: Pairing,
        out: ArrayViewMut2<f64>,
    ) -> Result<()> {
        let slides = Slides {
            operation,
            metric: self.metric,
            a,
            b,
            pairs,
            out,
        };
        T::host_slides(devices.devices(), slides).during(operation)
    }
}

fn shape<T>(
    operation: &'static str,
    pairs: Pairing,
    a: Windows<T>,
    b: Windows<T>,
) -> Result<(usize, usize)> {
    input::shape(operation, pairs, (a.len(), a.dim()), (b.len(), b.dim()))
}

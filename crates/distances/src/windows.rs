//! The windows of several sequences.

use std::fmt;

use gridstride_runtime::device::{DeviceArray, Element};
use gridstride_runtime::short::Short;
use gridstride_runtime::{Result, offsets};
use ndarray::{ArrayBase, ArrayView2, Ix2, ViewRepr};

/// The windows of several sequences: rows of numbers, such as the sketches that
/// `TensorSketch::windows` returns, of one sequence
/// after the other.
///
/// ```
/// use gridstride::distances::Windows;
/// use ndarray::array;
///
/// let rows = array![[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]];
/// let windows = Windows::new(rows.view(), &[0, 2, 2, 3])?; // 2, 0 and 1 windows
/// assert_eq!(windows.len(), 3);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Windows<'a, T> {
    /// An `ArrayView2`, written so that a longer lifetime converts to a shorter one.
    pub(super) rows: ArrayBase<ViewRepr<&'a T>, Ix2, T>,
    pub(super) offsets: &'a [usize],
}

/// Formats only the first of many offsets.
impl<T: fmt::Debug> fmt::Debug for Windows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Windows")
            .field("rows", &self.rows)
            .field("offsets", &Short(self.offsets))
            .finish()
    }
}

impl<'a, T> Windows<'a, T> {
    /// Takes the windows as the rows of a view with any strides, without a copy. Sequence `i` has
    /// the rows `offsets[i]..offsets[i + 1]`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) with the index of the offset unless
    /// `offsets` begins with 0, never decreases, and ends with the number of rows.
    ///
    /// ```
    /// use gridstride::distances::Windows;
    /// use ndarray::Array2;
    ///
    /// let rows = Array2::<f32>::zeros((3, 2));
    /// let error = Windows::new(rows.view(), &[0, 2]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "Windows::new: the offsets go from 0 to 2, and have to go from 0 to the number of rows, 3"
    /// );
    /// ```
    pub fn new(rows: ArrayView2<'a, T>, offsets: &'a [usize]) -> Result<Self> {
        offsets::check("Windows::new", offsets, rows.nrows(), "rows")?;
        Ok(Windows { rows, offsets })
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many numbers a window has.
    pub fn dim(&self) -> usize {
        self.rows.ncols()
    }
}

/// As [`Windows`], in a device's memory.
///
/// ```
/// use gridstride::{Device, distances::DeviceWindows};
/// use ndarray::array;
///
/// let rows = Device::auto().upload(&array![[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])?;
/// let windows = DeviceWindows::new(&rows, &[0, 2, 2, 3])?; // 2, 0 and 1 windows
/// assert_eq!((windows.len(), windows.dim()), (3, 2));
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct DeviceWindows<'a, T: Element> {
    pub(super) rows: &'a DeviceArray<T, Ix2>,
    pub(super) offsets: &'a [usize],
}

/// Formats only the first of many offsets.
impl<T: Element> fmt::Debug for DeviceWindows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceWindows")
            .field("rows", &self.rows)
            .field("offsets", &Short(self.offsets))
            .finish()
    }
}

impl<'a, T: Element> DeviceWindows<'a, T> {
    /// Takes the windows as the rows of an array in a device's memory, without a copy. Sequence `i`
    /// has the rows `offsets[i]..offsets[i + 1]`; each call copies the offsets to the device.
    ///
    /// # Errors
    /// As [`Windows::new`].
    pub fn new(rows: &'a DeviceArray<T, Ix2>, offsets: &'a [usize]) -> Result<Self> {
        offsets::check("DeviceWindows::new", offsets, rows.shape()[0], "rows")?;
        Ok(DeviceWindows { rows, offsets })
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many numbers a window has.
    pub fn dim(&self) -> usize {
        self.rows.shape()[1]
    }
}

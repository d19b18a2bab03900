//! Views of arrays in a device's memory.

use super::{Buffer, Device, DeviceArray, Element, is_countable, packed, zeroed_lazily};
use crate::error::During;
use crate::{Error, Result};
use ndarray::{Array, ArrayView, Dimension, Ix1, Ix2, ShapeBuilder};
use std::any::type_name;
use std::fmt;
use std::ops::Range;

const DOWNLOAD: &str = "download of a device array";
const TO_ARRAY: &str = "copy of a device view";

/// A view of a [`DeviceArray`]: a slice, or the axes in another order. No elements are moved.
///
/// ```
/// use gridstride::Device;
/// use ndarray::array;
///
/// let there = Device::auto().upload(&array![[1, 2, 3], [4, 5, 6]])?;
/// let view = there.view().t();
/// assert_eq!(view.shape(), [3, 2]);
/// assert_eq!(view.slice_axis(0, 1..3)?.shape(), [2, 2]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct DeviceView<'a, T: Element, D: Dimension> {
    buffer: &'a Buffer<T>,
    start: usize,
    shape: D,
    /// In elements.
    strides: D,
}

impl<T: Element, D: Dimension> DeviceArray<T, D> {
    /// Returns a view of the whole array.
    pub fn view(&self) -> DeviceView<'_, T, D> {
        let shape = self.raw_dim();
        DeviceView {
            buffer: self.buffer(),
            start: 0,
            strides: row_major(&shape),
            shape,
        }
    }
}

/// Returns the strides of row-major order without gaps.
fn row_major<D: Dimension>(shape: &D) -> D {
    let mut strides = D::zeros(shape.ndim());
    let mut distance = 1usize;
    for axis in (0..shape.ndim()).rev() {
        strides[axis] = distance;
        // Arrays without elements may overflow, but never use the distance.
        distance = distance.saturating_mul(shape[axis]);
    }
    strides
}

impl<'a, T: Element, D: Dimension> From<&'a DeviceArray<T, D>> for DeviceView<'a, T, D> {
    fn from(array: &'a DeviceArray<T, D>) -> Self {
        array.view()
    }
}

impl<'a, T: Element, D: Dimension> DeviceView<'a, T, D> {
    /// Makes a view of elements of a buffer: the first is that at index `start`, and along an axis,
    /// successive elements are as far apart as its stride, in elements.
    ///
    /// # Errors
    /// [`Error::Shape`] if an element is outside of the buffer.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::device::DeviceView;
    /// use ndarray::{Ix2, array};
    ///
    /// let buffer = Device::auto().buffer_from(&[0, 1, 2, 3, 4, 5])?;
    /// let columns = DeviceView::new(&buffer, 1, Ix2(2, 2), Ix2(1, 2))?;
    /// assert_eq!(columns.download()?, array![[1, 3], [2, 4]]);
    /// assert!(DeviceView::new(&buffer, 2, Ix2(2, 2), Ix2(1, 3)).is_err());
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn new(buffer: &'a Buffer<T>, start: usize, shape: D, strides: D) -> Result<Self> {
        let mut axes = shape.slice().iter().zip(strides.slice());
        let last = axes.try_fold(start, |last, (&axis, &stride)| {
            last.checked_add(axis.saturating_sub(1).checked_mul(stride)?)
        });
        let is_empty = shape.slice().contains(&0);
        let is_within = is_empty || last.is_some_and(|last| last < buffer.len());
        if is_countable(shape.slice()) && is_within && shape.ndim() == strides.ndim() {
            return Ok(DeviceView {
                buffer,
                start: if is_empty { 0 } else { start },
                shape,
                strides,
            });
        }
        let (shape, strides, length) = (shape.slice(), strides.slice(), buffer.len());
        Err(Error::Shape {
            operation: "view of a buffer",
            message: format!(
                "the shape {shape:?} with the strides {strides:?} from element {start} on is not within the \
                 buffer's {length} elements"
            ),
        })
    }

    /// Exchanges two axes.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such axis.
    pub fn swap_axes(mut self, first: usize, second: usize) -> Result<Self> {
        self.require_axis(first.max(second))?;
        let (shape, strides) = (self.shape.slice_mut(), self.strides.slice_mut());
        shape.swap(first, second);
        strides.swap(first, second);
        Ok(self)
    }

    /// Slices the view to the indices in `range` along an axis.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such axis, or if the axis is too short.
    pub fn slice_axis(mut self, axis: usize, range: Range<usize>) -> Result<Self> {
        self.require_axis(axis)?;
        if range.start > range.end || range.end > self.shape[axis] {
            let shape = self.shape();
            return Err(Error::Shape {
                operation: "slice of a device array",
                message: format!("{range:?} is not within axis {axis} of the shape {shape:?}"),
            });
        }
        // An empty view has no first element. Its strides may be of any size, and so may those of axes
        // with one index.
        if !range.is_empty() && !self.shape().contains(&0) {
            self.start += range.start * self.strides[axis];
        }
        self.shape[axis] = range.len();
        Ok(self)
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        self.shape.slice()
    }

    /// Returns the handle that the array was made by, or moved to.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// Returns the address of the first element: see [`Buffer::as_ptr`].
    pub fn as_ptr(&self) -> *const T {
        self.buffer.as_ptr().wrapping_add(self.start)
    }

    /// Copies the view's elements to the host.
    ///
    /// # Errors
    /// [`Error::Driver`] if the copy, or earlier work on the array's stream, fails,
    /// [`Error::Allocation`] if the host's memory does not suffice for all elements of the array
    /// between the view's first and last.
    ///
    /// ```
    /// use gridstride::Device;
    /// use ndarray::array;
    ///
    /// let there = Device::auto().upload(&array![[1, 2, 3], [4, 5, 6]])?;
    /// assert_eq!(there.view().slice_axis(1, 1..3)?.t().download()?, array![[2, 5], [3, 6]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn download(&self) -> Result<Array<T, D>> {
        if self.shape.size() == 0 {
            return Ok(Array::from_shape_fn(self.shape.clone(), |_| T::zeroed()));
        }
        let axes = self.shape().iter().zip(self.strides.slice());
        let span: usize = axes.map(|(axis, stride)| (axis - 1) * stride).sum();
        let mut elements = zeroed_lazily(span + 1).during(DOWNLOAD)?;
        self.buffer.copy_part_to(self.start, &mut elements)?;
        let shape = self.shape.clone().strides(self.strides.clone());
        let view = ArrayView::from_shape(shape, &elements).map_err(|error| Error::Shape {
            operation: "view of a device array",
            message: error.to_string(),
        })?;
        if !view.is_standard_layout() {
            elements = packed(&view).during(DOWNLOAD)?;
        }
        let array = Array::from_shape_vec(self.shape.clone(), elements);
        Ok(array.expect("packed elements have the view's length"))
    }

    /// Copies the view's elements to a new array on the same device, for calls that take a
    /// [`DeviceArray`].
    ///
    /// The device copies a view in row-major order without gaps, such as a range of rows, and may
    /// still be copying when this returns. Other views go through the host.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the device's memory does not suffice, [`Error::Driver`] if the copy
    /// fails; for views that go through the host also those of [`download`](Self::download).
    ///
    /// ```
    /// use gridstride::Device;
    /// use ndarray::array;
    ///
    /// let there = Device::auto().upload(&array![[1, 2], [3, 4], [5, 6]])?;
    /// let rows = there.view().slice_axis(0, 1..3)?.to_array()?;
    /// assert_eq!(rows.download()?, array![[3, 4], [5, 6]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn to_array(&self) -> Result<DeviceArray<T, D>> {
        let (device, size) = (self.device(), self.shape.size());
        let strides = row_major(&self.shape);
        // The stride of an axis of length 1 is never used.
        let is_packed = |axis| self.shape[axis] == 1 || self.strides[axis] == strides[axis];
        if size == 0 || !(0..strides.ndim()).all(is_packed) {
            let uploaded = self.download().and_then(|array| device.upload(&array));
            return uploaded.during(TO_ARRAY);
        }
        let mut buffer = device.alloc(size).during(TO_ARRAY)?;
        // SAFETY: both buffers are ordered on the stream of `device`.
        unsafe { buffer.start_copy_of(device, self.buffer, self.start)? };
        DeviceArray::from_buffer(buffer, self.shape.clone())
    }

    fn require_axis(&self, axis: usize) -> Result<()> {
        if axis < self.shape.ndim() {
            return Ok(());
        }
        Err(Error::Shape {
            operation: "view of a device array",
            message: format!("the shape {:?} has no axis {axis}", self.shape()),
        })
    }

    /// Returns the buffer, the index of the first element, the shape and the strides.
    #[doc(hidden)]
    pub fn parts(self) -> (&'a Buffer<T>, usize, D, D) {
        (self.buffer, self.start, self.shape, self.strides)
    }
}

impl<'a, T: Element> DeviceView<'a, T, Ix1> {
    /// Returns a view of the elements `start..start + len` of a buffer.
    #[doc(hidden)]
    pub fn part(buffer: &'a Buffer<T>, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= buffer.len());
        DeviceView {
            buffer,
            start,
            shape: Ix1(len),
            strides: Ix1(1),
        }
    }
}

impl<'a, T: Element> DeviceView<'a, T, Ix2> {
    /// Returns the transposed matrix.
    pub fn t(self) -> Self {
        let (shape, strides) = (self.shape, self.strides);
        DeviceView {
            shape: Ix2(shape[1], shape[0]),
            strides: Ix2(strides[1], strides[0]),
            ..self
        }
    }
}

impl<T: Element, D: Dimension> fmt::Debug for DeviceView<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element, shape) = (type_name::<T>(), self.shape());
        write!(f, "DeviceView<{element}>({shape:?} on {})", self.device())
    }
}

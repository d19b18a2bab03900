//! n-dimensional arrays in a device's memory.

use super::{Buffer, Device, Element, packed};
use crate::error::During;
use crate::{Error, Result};
use ndarray::{Array, ArrayRef, Dimension};
use std::any::type_name;
use std::fmt;
use std::ops::Deref;

const UPLOAD: &str = "upload of an array";

/// Whether an array can have this shape: ndarray limits the product of all axes longer than 0.
#[doc(hidden)]
pub fn is_countable(shape: &[usize]) -> bool {
    let mut axes = shape.iter().filter(|&&axis| axis > 0);
    let product = axes.try_fold(1usize, |product, &axis| product.checked_mul(axis));
    product.is_some_and(|product| product <= isize::MAX as usize)
}

/// An array of dimension `D` in the memory of a device, always in row-major order without gaps.
///
/// [`Device::upload`] copies any view, and [`download`](Self::download) returns an owned array.
pub struct DeviceArray<T: Element, D: Dimension> {
    buffer: Buffer<T>,
    shape: D,
}

/// The buffer of an array, for writing: see [`DeviceArray::buffer_mut`].
///
/// It cannot be exchanged for a buffer of another length, which the array's shape would not fit:
///
/// ```compile_fail,E0596
/// # let device = gridstride::Device::cpu();
/// let mut array = device.upload(&ndarray::array![1, 2])?;
/// std::mem::swap(&mut *array.buffer_mut(), &mut device.zeros(1)?);
/// # Ok::<(), gridstride::Error>(())
/// ```
///
/// For calls that take `&mut Buffer`, [`DeviceArray::into_buffer`] returns the buffer, and
/// [`DeviceArray::from_buffer`] makes it an array again.
#[derive(Debug)]
pub struct BufferMut<'a, T: Element>(&'a mut Buffer<T>);

impl<T: Element> BufferMut<'_, T> {
    /// Copies `source` into the elements, as [`Buffer::copy_from`] does.
    ///
    /// # Errors
    /// As [`Buffer::copy_from`].
    pub fn copy_from(&mut self, source: &[T]) -> Result<()> {
        self.0.copy_from(source)
    }

    /// Sets all bytes to zero, as [`Buffer::fill_zero`] does.
    ///
    /// # Errors
    /// As [`Buffer::fill_zero`].
    pub fn fill_zero(&mut self) -> Result<()> {
        self.0.fill_zero()
    }

    /// Returns the elements as an argument of a kernel that writes them.
    pub fn slice_mut(&mut self) -> cuda_std::DeviceSliceMut<T> {
        self.0.slice_mut()
    }
}

impl<T: Element> Deref for BufferMut<'_, T> {
    type Target = Buffer<T>;

    fn deref(&self) -> &Buffer<T> {
        self.0
    }
}

impl Device {
    /// Copies a view of any layout to the device.
    ///
    /// A view in another than row-major order, or with gaps, is packed on the host first.
    ///
    /// # Errors
    /// [`Error::Allocation`] if the memory does not suffice, [`Error::Driver`] if the copy fails.
    ///
    /// ```
    /// use gridstride::Device;
    /// use ndarray::{array, s};
    ///
    /// let table = array![[1, 2, 3], [4, 5, 6]];
    /// let column = Device::cpu().upload(&table.slice(s![..;-1, 1]))?;
    /// assert_eq!(column.download()?, array![5, 2]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn upload<T: Element, D: Dimension>(
        &self,
        view: &ArrayRef<T, D>,
    ) -> Result<DeviceArray<T, D>> {
        let buffer = match view.as_slice() {
            Some(elements) => self.buffer_from(elements),
            None => packed(view).and_then(|elements| self.buffer_from(&elements)),
        };
        Ok(DeviceArray {
            buffer: buffer.during(UPLOAD)?,
            shape: view.raw_dim(),
        })
    }
}

impl<T: Element, D: Dimension> DeviceArray<T, D> {
    /// Makes an array from the elements of `buffer` in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape has another number of elements.
    pub fn from_buffer(buffer: Buffer<T>, shape: D) -> Result<Self> {
        if is_countable(shape.slice()) && shape.size() == buffer.len() {
            return Ok(Self { buffer, shape });
        }
        let (shape, length) = (shape.slice(), buffer.len());
        Err(Error::Shape {
            operation: "array from a buffer",
            message: format!("the shape {shape:?} does not have the buffer's {length} elements"),
        })
    }

    /// Copies the array to the host.
    ///
    /// # Errors
    /// [`Error::Driver`] if the copy, or earlier work on the array's stream, fails, and
    /// [`Error::Allocation`] if the host's memory does not suffice.
    pub fn download(&self) -> Result<Array<T, D>> {
        let elements = self.buffer.to_vec().during("download of a device array")?;
        let array = Array::from_shape_vec(self.shape.clone(), elements);
        Ok(array.expect("the shape has the buffer's length"))
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        self.shape.slice()
    }

    /// Returns the shape as ndarray's dimension.
    pub fn raw_dim(&self) -> D {
        self.shape.clone()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Returns the handle that the array was made by, or [moved](DeviceArray::on) to.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// Returns the elements in row-major order.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// Returns the elements in row-major order, for writing.
    ///
    /// ```
    /// use gridstride::Device;
    /// use ndarray::array;
    ///
    /// let mut on_device = Device::cpu().upload(&array![[1, 2], [3, 4]])?;
    /// on_device.buffer_mut().copy_from(&[5, 6, 7, 8])?;
    /// assert_eq!(on_device.download()?, array![[5, 6], [7, 8]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn buffer_mut(&mut self) -> BufferMut<'_, T> {
        BufferMut(&mut self.buffer)
    }

    /// Returns the buffer itself, which the caller must not exchange for one of another length.
    #[doc(hidden)]
    pub fn inner_mut(&mut self) -> &mut Buffer<T> {
        &mut self.buffer
    }

    /// Converts the array to a buffer in row-major order.
    pub fn into_buffer(self) -> Buffer<T> {
        self.buffer
    }
}

impl<T: Element, D: Dimension> fmt::Debug for DeviceArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element, shape) = (type_name::<T>(), self.shape());
        write!(f, "DeviceArray<{element}>({shape:?} on {})", self.device())
    }
}

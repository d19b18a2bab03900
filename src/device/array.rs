//! n-dimensional arrays in a device's memory.

use super::{Buffer, Device, Element, packed};
use crate::Result;
use crate::error::During;
use ndarray::{Array, ArrayRef, Dimension};
use std::fmt;

/// The name of [`Device::upload`] in errors of memory.
const UPLOAD: &str = "upload of an array";

/// An array of dimension `D` in the memory of a device, always in row-major order without gaps.
///
/// [`Device::upload`] makes one from any view, [`download`](Self::download) gives an owned array
/// back.
pub struct DeviceArray<T: Element, D: Dimension> {
    buffer: Buffer<T>,
    shape: D,
}

impl Device {
    /// Copies a view of any layout to the device.
    ///
    /// A view in row-major order without gaps is copied as it stands; any other is packed on the
    /// host first.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation) if the memory does not suffice,
    /// [`Error::Driver`](crate::Error::Driver) if the copy fails.
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
            Some(elements) => self.buffer_from(elements).during(UPLOAD)?,
            None => self
                .buffer_from(&packed(view).during(UPLOAD)?)
                .during(UPLOAD)?,
        };
        Ok(DeviceArray {
            buffer,
            shape: view.raw_dim(),
        })
    }
}

impl<T: Element, D: Dimension> DeviceArray<T, D> {
    /// Makes an array from the elements of `buffer` in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if the shape has another number of elements.
    pub fn from_buffer(buffer: Buffer<T>, shape: D) -> Result<Self> {
        // ndarray's own limit: axes of length 0 aside, the product must be an index.
        let axes = shape.slice().iter().filter(|&&axis| axis > 0);
        let is_index = axes
            .clone()
            .try_fold(1usize, |product, &axis| product.checked_mul(axis))
            .is_some_and(|product| product <= isize::MAX as usize);
        if is_index && shape.size() == buffer.len() {
            return Ok(Self { buffer, shape });
        }
        Err(crate::Error::Shape {
            operation: "array from a buffer",
            message: format!(
                "the shape {:?} does not have the buffer's {} elements",
                shape.slice(),
                buffer.len()
            ),
        })
    }

    /// Copies the array to the host.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the copy, or earlier work on the array's
    /// stream, fails.
    pub fn download(&self) -> Result<Array<T, D>> {
        let elements = self.buffer.to_vec().during("download of a device array")?;
        Ok(Array::from_shape_vec(self.shape.clone(), elements)
            .expect("a shape of as many elements"))
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
    pub fn buffer_mut(&mut self) -> &mut Buffer<T> {
        &mut self.buffer
    }

    /// Converts the array to a buffer in row-major order.
    pub fn into_buffer(self) -> Buffer<T> {
        self.buffer
    }
}

impl<T: Element, D: Dimension> fmt::Debug for DeviceArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "DeviceArray<{}>({:?} on {})",
            std::any::type_name::<T>(),
            self.shape(),
            self.device()
        )
    }
}

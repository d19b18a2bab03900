//! Conversion of arrays on a device from one type of numbers to another.

use gridstride_runtime::device::DeviceArray;
use gridstride_runtime::error::During;
use gridstride_runtime::{Number, Result};
use ndarray::Dimension;

use crate::element::CastTo;

/// Conversion of arrays in a device's memory to another type of numbers.
pub trait Cast {
    /// The type of the array's numbers.
    type Number: Number;
    /// The array's dimension.
    type Dim: Dimension;

    /// Converts each element to another type of numbers, on the array's device: the `f32` product
    /// of `f16` or `bf16` matrices becomes a factor of the next product.
    ///
    /// Each number is rounded to the nearest number of the new type, ties to even, and to ±∞ beyond
    /// the largest. Conversion to a wider type is exact. NaN remains NaN, becomes quiet, and keeps
    /// its sign and the upper bits of its payload. The bits are the same on every device.
    ///
    /// On a GPU the work is ordered on the stream of the array's handle, by default the device's
    /// main stream, and may still run when the call returns. There is no direct conversion between
    /// `f64` and 16 bits; two casts round twice.
    ///
    /// # Errors
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if the memory does not suffice.
    /// - On GPUs, [`Error::Driver`](gridstride_runtime::Error::Driver) if the driver fails and
    ///   [`Error::Load`](gridstride_runtime::Error::Load) if it rejects the kernels.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::matmul::{Cast, MatMul};
    /// use half::f16;
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[1.0f32, 2.0], [3.0, 4.0]])?.cast::<f16>()?;
    /// let square = MatMul::new().matmul_device(&a, &a)?.cast::<f16>()?;
    /// let cube = MatMul::new().matmul_device(&square, &a)?;
    /// assert_eq!(cube.download()?, array![[37.0, 54.0], [81.0, 118.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    fn cast<U: Number>(&self) -> Result<DeviceArray<U, Self::Dim>>
    where
        Self::Number: CastTo<U>;
}

impl<T: Number, D: Dimension> Cast for DeviceArray<T, D> {
    type Number = T;
    type Dim = D;

    fn cast<U: Number>(&self) -> Result<DeviceArray<U, D>>
    where
        T: CastTo<U>,
    {
        let buffer = T::cast_buffer(self.buffer()).during("cast")?;
        DeviceArray::from_buffer(buffer, self.raw_dim())
    }
}

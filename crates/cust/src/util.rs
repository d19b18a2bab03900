//! Methods of slices and values that copy them to the device.

use crate::error::CudaResult;
use crate::memory::{DeviceBox, DeviceBuffer, DeviceCopy};

/// Copies of slices.
pub trait SliceExt<T: DeviceCopy> {
    /// Allocates a buffer and copies the elements there.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>>;
}

impl<T: DeviceCopy> SliceExt<T> for &[T] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }
}

impl<T: DeviceCopy, const N: usize> SliceExt<T> for [T; N] {
    fn as_dbuf(&self) -> CudaResult<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self)
    }
}

/// Copies of values.
pub trait DeviceCopyExt: DeviceCopy {
    /// Allocates memory and copies the value there.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    fn as_dbox(&self) -> CudaResult<DeviceBox<Self>> {
        DeviceBox::new(self)
    }
}

impl<T: DeviceCopy> DeviceCopyExt for T {}

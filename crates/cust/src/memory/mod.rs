//! Memory of a device.

mod buffer;
mod pointer;
mod slice;

use std::ffi::c_void;
use std::mem::MaybeUninit;

pub use buffer::{DeviceBox, DeviceBuffer};
pub use cust_core::device_copy::DeviceCopy;
/// Implements [`DeviceCopy`](trait@DeviceCopy) for a struct, an enum or a union whose fields all
/// implement it.
///
/// ```
/// use cust::memory::DeviceCopy;
///
/// #[repr(C)]
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct Pair(u32, f32);
/// ```
pub use cust_derive::DeviceCopy;
pub use pointer::DevicePointer;
pub use slice::{DeviceSlice, DeviceSliceIndex};

use crate::error::{CudaError, CudaResult};
use crate::sys::{self, CUdeviceptr};

// SAFETY: an address of the device, which may be any number.
unsafe impl<T: DeviceCopy> DeviceCopy for DevicePointer<T> {}

/// Memory that values can be copied to and from. Each copy waits for its end, and for earlier work
/// of all [streams](crate::stream::Stream) of this crate.
pub trait CopyDestination<O: ?Sized> {
    /// Copies from `source`.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](CudaError::InvalidValue) for slices of different lengths, and what the
    /// driver returns.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies to `dest`.
    ///
    /// # Errors
    ///
    /// As [`copy_from`](Self::copy_from), and `InvalidValue` for a variable of a module whose bytes
    /// are no value of the type.
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// Waits for the default stream, in which copies and fills run.
///
/// The driver returns from copies to a device once it has staged the host's bytes, and from fills
/// and copies within a device at once. Streams of other libraries may not wait for the default
/// stream, and so would not see what this crate has copied.
fn finish() -> CudaResult<()> {
    // SAFETY: the default stream always exists.
    unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) }.to_result()
}

/// Copies to the device, and waits.
///
/// # Safety
///
/// `address` is that of `count` elements in the device's memory.
pub(crate) unsafe fn copy_in<T: DeviceCopy>(
    address: CUdeviceptr,
    source: *const T,
    count: usize,
) -> CudaResult<()> {
    let bytes = count * size_of::<T>();
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: by the contract of this function, `address` is that of `count` elements in the
    // device's memory.
    unsafe { sys::cuMemcpyHtoD_v2(address, source.cast(), bytes) }.to_result()?;
    finish()
}

/// Copies from the device, and waits.
///
/// # Safety
///
/// `address` is that of `count` elements in the device's memory, and `target` that of as many on
/// the host.
pub(crate) unsafe fn copy_out<T: DeviceCopy>(
    target: *mut T,
    address: CUdeviceptr,
    count: usize,
) -> CudaResult<()> {
    let bytes = count * size_of::<T>();
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: by the contract of this function, `address` is that of `count` elements in the
    // device's memory, and `target` that of as many on the host.
    unsafe { sys::cuMemcpyDtoH_v2(target.cast::<c_void>(), address, bytes) }.to_result()
}

/// Copies within the device, and waits.
///
/// # Safety
///
/// Both addresses are those of `count` elements in the device's memory.
unsafe fn copy_within<T: DeviceCopy>(
    target: CUdeviceptr,
    source: CUdeviceptr,
    count: usize,
) -> CudaResult<()> {
    let bytes = count * size_of::<T>();
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: by the contract of this function, both addresses are those of `count` elements in the
    // device's memory.
    unsafe { sys::cuMemcpyDtoD_v2(target, source, bytes) }.to_result()?;
    finish()
}

/// Copies a value to the host, of a type that is not known to be the device's.
///
/// # Errors
///
/// [`InvalidValue`](CudaError::InvalidValue) if the bytes are no value of the type, and what the
/// driver returns.
///
/// # Safety
///
/// The device has initialised bytes, as many as the type has, at `address`.
pub(crate) unsafe fn read_checked<T: DeviceCopy>(address: CUdeviceptr) -> CudaResult<T> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: room for one value.
    unsafe { copy_out(value.as_mut_ptr(), address, 1)? };
    // SAFETY: the copy has written all bytes, gaps included.
    let bytes = unsafe { std::slice::from_raw_parts(value.as_ptr().cast(), size_of::<T>()) };
    match T::is_value(bytes) {
        // SAFETY: the bytes are a value, as checked or as the type promises.
        true => Ok(unsafe { value.assume_init() }),
        false => Err(CudaError::InvalidValue),
    }
}

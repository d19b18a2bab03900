//! Memory of a device.

mod buffer;
mod pointer;
mod slice;

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

pub use buffer::{DeviceBox, DeviceBuffer};
pub use pointer::DevicePointer;
pub use slice::{DeviceSlice, DeviceSliceIndex};

use crate::error::{CudaError, CudaResult};
use crate::sys::{self, CUdeviceptr};

/// A type whose values may be copied to a device byte by byte, and back.
///
/// # Safety
///
/// The type holds no pointers to memory that the device cannot access, and has the same layout on
/// both sides. Every pattern of initialised bytes is a value of the type, unless
/// [`is_value`](Self::is_value) refuses those that are none.
pub unsafe trait DeviceCopy: Copy {
    /// Whether `bytes`, as many as the type has, are a value of the type. The default is `true`. A
    /// type with a `bool`, a `char` or an enum overrides it:
    ///
    /// ```
    /// use cust::memory::DeviceCopy;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(u8)]
    /// enum Axis {
    ///     X,
    ///     Y,
    /// }
    ///
    /// // SAFETY: one byte on both sides, of which 0 and 1 are values.
    /// unsafe impl DeviceCopy for Axis {
    ///     fn is_value(bytes: &[u8]) -> bool {
    ///         bytes[0] <= Axis::Y as u8
    ///     }
    /// }
    /// assert!(Axis::is_value(&[Axis::X as u8]) && !Axis::is_value(&[2]));
    /// ```
    ///
    /// [`Module::get_global`](crate::module::Module::get_global) takes the type of a variable from
    /// its caller, so copies from variables check this. Copies from buffers do not: a kernel that
    /// writes to a buffer of this type is launched by an unsafe function.
    fn is_value(bytes: &[u8]) -> bool {
        let _ = bytes;
        true
    }
}

macro_rules! device_copy {
    ($($type:ty)*) => {$(
        // SAFETY: a number has one layout on both sides, and all bytes are numbers.
        unsafe impl DeviceCopy for $type {}
    )*};
}
device_copy! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

// SAFETY: one byte on both sides, which is checked.
unsafe impl DeviceCopy for bool {
    fn is_value(bytes: &[u8]) -> bool {
        matches!(bytes, [0 | 1])
    }
}
// SAFETY: a u32 on both sides, which is checked.
unsafe impl DeviceCopy for char {
    fn is_value(bytes: &[u8]) -> bool {
        bytes
            .try_into()
            .is_ok_and(|bytes| char::from_u32(u32::from_ne_bytes(bytes)).is_some())
    }
}
// SAFETY: elements of one layout, without gaps, each of which is checked.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {
    fn is_value(bytes: &[u8]) -> bool {
        // Elements without bytes make an array without bytes, which has no chunks.
        let size = size_of::<T>().max(1);
        bytes.chunks_exact(size).all(T::is_value)
    }
}
// SAFETY: it has no data.
unsafe impl<T: ?Sized> DeviceCopy for PhantomData<T> {}
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
    // SAFETY: passed on to the caller.
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
    // SAFETY: passed on to the caller.
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
    // SAFETY: passed on to the caller.
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

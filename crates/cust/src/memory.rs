//! Memory of a device.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use crate::error::{CudaError, CudaResult};
use crate::sys::{self, CUdeviceptr};

/// A type whose values may be copied to a device byte by byte, and back.
///
/// # Safety
///
/// The type holds no pointers to memory that the device cannot access, and has the same layout on
/// both sides.
pub unsafe trait DeviceCopy: Copy {}

macro_rules! device_copy {
    ($($type:ty)*) => {$(
        // SAFETY: a primitive has one layout on both sides.
        unsafe impl DeviceCopy for $type {}
    )*};
}
device_copy! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char }
// SAFETY: elements of one layout, without gaps.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}
// SAFETY: it has no data.
unsafe impl<T: ?Sized> DeviceCopy for PhantomData<T> {}
// SAFETY: an address of the device.
unsafe impl<T: DeviceCopy> DeviceCopy for DevicePointer<T> {}

/// An address in a device's memory. A kernel takes it as `*const T` or `*mut T`.
#[repr(transparent)]
pub struct DevicePointer<T: DeviceCopy> {
    address: CUdeviceptr,
    of: PhantomData<*mut T>,
}

impl<T: DeviceCopy> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: DeviceCopy> Copy for DevicePointer<T> {}

impl<T: DeviceCopy> DevicePointer<T> {
    /// Makes a pointer of the driver's.
    pub fn from_raw(address: CUdeviceptr) -> Self {
        let of = PhantomData;
        Self { address, of }
    }

    /// Returns the driver's pointer.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.address
    }

    /// Whether the address is 0, as for memory without bytes.
    pub fn is_null(self) -> bool {
        self.address == 0
    }

    /// Returns the pointer to the element `count` further on.
    #[must_use]
    pub fn wrapping_add(self, count: usize) -> Self {
        let bytes = (count as u64).wrapping_mul(size_of::<T>() as u64);
        Self::from_raw(self.address.wrapping_add(bytes))
    }

    /// Returns the same address for another type.
    pub fn cast<U: DeviceCopy>(self) -> DevicePointer<U> {
        DevicePointer::from_raw(self.address)
    }
}

impl<T: DeviceCopy> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

/// Memory that values can be copied to and from. A copy waits for its end, and for nothing on
/// streams that are [`NON_BLOCKING`](crate::stream::StreamFlags::NON_BLOCKING): synchronise them
/// first.
pub trait CopyDestination<O: ?Sized> {
    /// Copies from the host.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](CudaError::InvalidValue) for slices of different lengths, and what the
    /// driver returns.
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies to the host.
    ///
    /// # Errors
    ///
    /// As [`copy_from`](Self::copy_from).
    fn copy_to(&self, dest: &mut O) -> CudaResult<()>;
}

/// Copies to the device.
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
    unsafe { sys::cuMemcpyHtoD_v2(address, source.cast(), bytes) }.to_result()
}

/// Copies from the device.
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

/// Elements in a device's memory.
#[derive(Debug)]
pub struct DeviceSlice<T: DeviceCopy> {
    pointer: DevicePointer<T>,
    length: usize,
}

// SAFETY: an address, which threads may share as they may share a slice.
unsafe impl<T: DeviceCopy + Send> Send for DeviceSlice<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy + Sync> Sync for DeviceSlice<T> {}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the pointer to the first element, for a launch.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.pointer
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut values = Vec::with_capacity(self.length);
        // SAFETY: both have room for these elements, which are initialised by the copy.
        unsafe {
            copy_out(values.as_mut_ptr(), self.pointer.address, self.length)?;
            values.set_len(self.length);
        }
        Ok(values)
    }

    fn require_length(&self, host: usize) -> CudaResult<()> {
        match host == self.length {
            true => Ok(()),
            false => Err(CudaError::InvalidValue),
        }
    }
}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> CopyDestination<I> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &I) -> CudaResult<()> {
        let source = source.as_ref();
        self.require_length(source.len())?;
        // SAFETY: both have this length.
        unsafe { copy_in(self.pointer.address, source.as_ptr(), source.len()) }
    }

    fn copy_to(&self, dest: &mut I) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.require_length(dest.len())?;
        // SAFETY: both have this length.
        unsafe { copy_out(dest.as_mut_ptr(), self.pointer.address, dest.len()) }
    }
}

/// Allocated elements in a device's memory. Dropping it frees the memory.
#[derive(Debug)]
pub struct DeviceBuffer<T: DeviceCopy> {
    slice: DeviceSlice<T>,
}

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Allocates memory for `size` elements.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](CudaError::OutOfMemory), and what else the driver returns.
    ///
    /// # Safety
    ///
    /// The elements are written before they are read.
    pub unsafe fn uninitialized(size: usize) -> CudaResult<Self> {
        let bytes = size.checked_mul(size_of::<T>());
        let bytes = bytes.ok_or(CudaError::OutOfMemory)?;
        let mut address = 0;
        // The driver does not allocate 0 bytes.
        if bytes > 0 {
            // SAFETY: it writes one address.
            unsafe { sys::cuMemAlloc_v2(&mut address, bytes) }.to_result()?;
        }
        let pointer = DevicePointer::from_raw(address);
        let slice = DeviceSlice {
            pointer,
            length: size,
        };
        Ok(Self { slice })
    }

    /// Allocates memory and copies the elements of `slice` there.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: written below.
        let buffer = unsafe { Self::uninitialized(slice.len())? };
        let address = buffer.slice.pointer.address;
        // SAFETY: both have this length.
        unsafe { copy_in(address, slice.as_ptr(), slice.len())? };
        Ok(buffer)
    }
}

impl<T: DeviceCopy> Deref for DeviceBuffer<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        &self.slice
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        &mut self.slice
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        let address = self.slice.pointer.address;
        if address != 0 {
            // SAFETY: allocated in `uninitialized`, and freed once.
            let _ = unsafe { sys::cuMemFree_v2(address) };
        }
    }
}

/// An allocated value in a device's memory. Dropping it frees the memory.
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy> {
    buffer: DeviceBuffer<T>,
}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Allocates memory and copies the value there.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn new(value: &T) -> CudaResult<Self> {
        let buffer = DeviceBuffer::from_slice(std::slice::from_ref(value))?;
        Ok(Self { buffer })
    }

    /// Returns the pointer to the value, for a launch.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.buffer.as_device_ptr()
    }

    /// Copies the value to the host.
    ///
    /// # Errors
    ///
    /// What the driver returns.
    pub fn as_host_value(&self) -> CudaResult<T> {
        // SAFETY: the memory holds a value.
        unsafe { read(self.buffer.slice.pointer.address) }
    }
}

/// Copies a value to the host.
///
/// # Safety
///
/// The device has a value of this type at `address`.
pub(crate) unsafe fn read<T: DeviceCopy>(address: CUdeviceptr) -> CudaResult<T> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: room for one value, which the copy initialises.
    unsafe {
        copy_out(value.as_mut_ptr(), address, 1)?;
        Ok(value.assume_init())
    }
}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        // SAFETY: one value each.
        unsafe { copy_in(self.buffer.slice.pointer.address, source, 1) }
    }

    fn copy_to(&self, dest: &mut T) -> CudaResult<()> {
        *dest = self.as_host_value()?;
        Ok(())
    }
}

//! Allocated memory of a device.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, PodCastError, Zeroable};

use super::{CopyDestination, DeviceCopy, DevicePointer, DeviceSlice, copy_in, copy_out};
use crate::context::Owner;
use crate::error::{CudaError, CudaResult};
use crate::sys;

/// Allocated elements in a device's memory. Dropping it frees the memory, on every thread.
#[derive(Debug)]
pub struct DeviceBuffer<T: DeviceCopy> {
    address: sys::CUdeviceptr,
    length: usize,
    owner: Owner,
    of: PhantomData<T>,
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
        let (mut address, mut owner) = (0, Owner::NONE);
        // The driver does not allocate 0 bytes.
        if bytes > 0 {
            owner = Owner::current()?;
            // SAFETY: it writes one address.
            unsafe { sys::cuMemAlloc_v2(&mut address, bytes) }.to_result()?;
        }
        Ok(Self {
            address,
            length: size,
            owner,
            of: PhantomData,
        })
    }

    /// Takes memory that [`into_device`](DeviceBox::into_device) or the driver's `cuMemAlloc` has
    /// returned, in the context that is current on this thread.
    ///
    /// # Errors
    ///
    /// Without a current context, dropping the buffer does not free the memory.
    ///
    /// # Safety
    ///
    /// The allocation has `capacity` elements, is initialised, and nothing else frees it.
    pub unsafe fn from_raw_parts(ptr: DevicePointer<T>, capacity: usize) -> DeviceBuffer<T> {
        Self {
            address: ptr.as_raw(),
            length: capacity,
            owner: Owner::current().unwrap_or(Owner::NONE),
            of: PhantomData,
        }
    }

    /// Allocates memory and copies the elements of `slice` there.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn from_slice(slice: &[T]) -> CudaResult<Self> {
        // SAFETY: written below.
        let buffer = unsafe { Self::uninitialized(slice.len())? };
        // SAFETY: both have this length.
        unsafe { copy_in(buffer.address, slice.as_ptr(), slice.len())? };
        Ok(buffer)
    }

    /// Returns all elements.
    pub fn as_slice(&self) -> &DeviceSlice<T> {
        self
    }

    fn free(&mut self) -> CudaResult<()> {
        match self.address {
            0 => {
                self.owner.release();
                Ok(())
            }
            // SAFETY: allocated in this context, and freed once.
            address => self.owner.destroy(|| unsafe { sys::cuMemFree_v2(address) }),
        }
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBuffer<T> {
    /// Allocates memory for `size` elements whose bytes are 0.
    ///
    /// # Errors
    ///
    /// As [`from_slice`](Self::from_slice).
    pub fn zeroed(size: usize) -> CudaResult<Self> {
        // SAFETY: written below.
        let mut buffer = unsafe { Self::uninitialized(size)? };
        buffer.set_zero()?;
        Ok(buffer)
    }
}

impl<A: DeviceCopy + Pod> DeviceBuffer<A> {
    /// Returns the same memory as elements of another type.
    ///
    /// # Panics
    ///
    /// If [`try_cast`](Self::try_cast) fails.
    pub fn cast<B: DeviceCopy + Pod>(self) -> DeviceBuffer<B> {
        match self.try_cast() {
            Ok(buffer) => buffer,
            Err(error) => panic!("cannot cast a buffer: {error}"),
        }
    }

    /// Returns the same memory as elements of another type.
    ///
    /// # Errors
    ///
    /// If the memory is not aligned for that type, or not a multiple of its size. The memory is
    /// freed.
    pub fn try_cast<B: DeviceCopy + Pod>(self) -> Result<DeviceBuffer<B>, PodCastError> {
        let bytes = self.length * size_of::<A>();
        let length = match size_of::<B>() {
            size if size == size_of::<A>() => self.length,
            0 => return Err(PodCastError::SizeMismatch),
            size if bytes.is_multiple_of(size) => bytes / size,
            _ => return Err(PodCastError::OutputSliceWouldHaveSlop),
        };
        if !self.address.is_multiple_of(align_of::<B>() as u64) {
            return Err(PodCastError::TargetAlignmentGreaterAndInputNotAligned);
        }
        let mut this = ManuallyDrop::new(self);
        Ok(DeviceBuffer {
            address: this.address,
            length,
            owner: std::mem::replace(&mut this.owner, Owner::NONE),
            of: PhantomData,
        })
    }
}

impl<T: DeviceCopy> Deref for DeviceBuffer<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        // SAFETY: the allocation has these elements, and is borrowed.
        unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(self.address), self.length) }
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        let data = DevicePointer::from_raw(self.address);
        // SAFETY: the allocation has these elements, and is borrowed mutably.
        unsafe { DeviceSlice::from_raw_parts_mut(data, self.length) }
    }
}

destroyed! { [T: DeviceCopy] DeviceBuffer<T> }

/// An allocated value in a device's memory. Dropping it frees the memory, on every thread.
#[derive(Debug)]
pub struct DeviceBox<T: DeviceCopy> {
    buffer: DeviceBuffer<T>,
}

impl<T: DeviceCopy> DeviceBox<T> {
    /// Allocates memory and copies the value there.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn new(value: &T) -> CudaResult<Self> {
        let buffer = DeviceBuffer::from_slice(std::slice::from_ref(value))?;
        Ok(Self { buffer })
    }

    /// Allocates memory for a value.
    ///
    /// # Errors
    ///
    /// As [`DeviceBuffer::uninitialized`].
    ///
    /// # Safety
    ///
    /// The value is written before it is read.
    pub unsafe fn uninitialized() -> CudaResult<Self> {
        // SAFETY: by the contract of this function, the value is written before it is read.
        let buffer = unsafe { DeviceBuffer::uninitialized(1)? };
        Ok(Self { buffer })
    }

    /// Takes memory that [`into_device`](Self::into_device) or the driver's `cuMemAlloc` has
    /// returned, in the context that is current on this thread.
    ///
    /// # Safety
    ///
    /// As [`DeviceBuffer::from_raw_parts`], with one element.
    pub unsafe fn from_raw(ptr: sys::CUdeviceptr) -> Self {
        // SAFETY: the caller keeps the contract of `DeviceBuffer::from_raw_parts`, which this
        // function shares; with one element.
        unsafe { Self::from_device(DevicePointer::from_raw(ptr)) }
    }

    /// As [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    ///
    /// As [`from_raw`](Self::from_raw).
    pub unsafe fn from_device(ptr: DevicePointer<T>) -> Self {
        // SAFETY: the caller keeps the contract of `from_raw`, which this function shares.
        let buffer = unsafe { DeviceBuffer::from_raw_parts(ptr, 1) };
        Self { buffer }
    }

    /// Returns the pointer without freeing the memory, which is left to the caller. The memory lives
    /// as long as its context, which the box keeps no longer.
    pub fn into_device(b: DeviceBox<T>) -> DevicePointer<T> {
        let mut buffer = ManuallyDrop::new(b.buffer);
        buffer.owner.release();
        DevicePointer::from_raw(buffer.address)
    }

    /// Frees the memory. Dropping the value does the same and ignores an error.
    ///
    /// # Errors
    ///
    /// The error that the driver returns, with the value.
    pub fn drop(b: DeviceBox<T>) -> crate::error::DropResult<DeviceBox<T>> {
        DeviceBuffer::drop(b.buffer).map_err(|(error, buffer)| (error, Self { buffer }))
    }

    /// Returns the pointer to the value, for a launch.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.buffer.as_device_ptr()
    }

    /// Copies the value to the host.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn as_host_value(&self) -> CudaResult<T> {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: room for one value, which the copy initialises: the memory holds one.
        unsafe {
            copy_out(value.as_mut_ptr(), self.buffer.address, 1)?;
            Ok(value.assume_init())
        }
    }
}

impl<T: DeviceCopy + Zeroable> DeviceBox<T> {
    /// Allocates memory for a value whose bytes are 0.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn zeroed() -> CudaResult<Self> {
        let buffer = DeviceBuffer::zeroed(1)?;
        Ok(Self { buffer })
    }
}

impl<T: DeviceCopy> CopyDestination<T> for DeviceBox<T> {
    fn copy_from(&mut self, source: &T) -> CudaResult<()> {
        // SAFETY: one value each.
        unsafe { copy_in(self.buffer.address, source, 1) }
    }

    fn copy_to(&self, dest: &mut T) -> CudaResult<()> {
        *dest = self.as_host_value()?;
        Ok(())
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBox<T>> for DeviceBox<T> {
    fn copy_from(&mut self, source: &DeviceBox<T>) -> CudaResult<()> {
        self.buffer.copy_from(&source.buffer)
    }

    fn copy_to(&self, dest: &mut DeviceBox<T>) -> CudaResult<()> {
        self.buffer.copy_to(&mut dest.buffer)
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceBuffer<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &DeviceBuffer<T>) -> CudaResult<()> {
        source.as_slice().copy_to(self)
    }

    fn copy_to(&self, dest: &mut DeviceBuffer<T>) -> CudaResult<()> {
        let dest: &mut DeviceSlice<T> = dest;
        self.copy_to(dest)
    }
}

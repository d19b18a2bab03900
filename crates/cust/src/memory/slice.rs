//! Elements in a device's memory that are borrowed.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{
    Bound, Index, IndexMut, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo,
    RangeToInclusive,
};

use bytemuck::{Pod, Zeroable};

use super::{CopyDestination, DeviceCopy, DevicePointer, copy_in, copy_out, copy_within, finish};
use crate::error::{CudaError, CudaResult};
use crate::sys;

/// Elements in a device's memory. A [`DeviceBuffer`](super::DeviceBuffer) dereferences to all of its elements, and
/// ranges of them are slices too. A range past the end panics, as with a slice of Rust.
///
/// ```no_run
/// use cust::prelude::*;
///
/// # fn main() -> Result<(), cust::error::CudaError> {
/// let _context = cust::quick_init()?;
/// let mut values = [1.0f32, 2.0, 3.0, 4.0].as_dbuf()?;
/// let (first, second) = values.split_at_mut(2);
/// second.copy_from(&*first)?;
/// assert_eq!(values[1..].as_host_vec()?, [2.0, 1.0, 2.0]);
/// # Ok(())
/// # }
/// ```
#[repr(transparent)]
pub struct DeviceSlice<T: DeviceCopy> {
    of: PhantomData<T>,
    /// At the device's address. It has no bytes there, so references to it are valid on the host.
    elements: [()],
}

impl<T: DeviceCopy> fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSlice")
            .field("pointer", &self.as_device_ptr())
            .field("length", &self.len())
            .finish()
    }
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// Makes a slice of `len` elements.
    ///
    /// # Safety
    ///
    /// The device has `len` elements at `data`, which live as long as the slice and are not written
    /// meanwhile.
    pub unsafe fn from_raw_parts<'a>(data: DevicePointer<T>, len: usize) -> &'a DeviceSlice<T> {
        let slice = Self::pointer(data, len);
        // SAFETY: no bytes at an address other than 0; by the contract of this function, the memory
        // lives as long as the slice.
        unsafe { &*slice }
    }

    /// Makes a mutable slice of `len` elements.
    ///
    /// # Safety
    ///
    /// As [`from_raw_parts`](Self::from_raw_parts); nothing else accesses the elements meanwhile.
    pub unsafe fn from_raw_parts_mut<'a>(
        data: DevicePointer<T>,
        len: usize,
    ) -> &'a mut DeviceSlice<T> {
        let slice = Self::pointer(data, len);
        // SAFETY: no bytes at an address other than 0; by the contract of this function, the memory
        // lives as long as the slice.
        unsafe { &mut *slice }
    }

    /// A reference may not have the address 0, which the driver gives to memory without bytes.
    fn pointer(data: DevicePointer<T>, len: usize) -> *mut DeviceSlice<T> {
        let data = match data.is_null() {
            true => std::ptr::without_provenance_mut(align_of::<T>()),
            false => data.as_mut_ptr(),
        };
        std::ptr::slice_from_raw_parts_mut(data.cast::<()>(), len) as *mut DeviceSlice<T>
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns the pointer to the first element, for a launch. It is aligned and not null, also if
    /// there are no elements.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.elements.as_ptr().addr() as u64)
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut values = Vec::with_capacity(self.len());
        // SAFETY: both have room for these elements, which are initialised by the copy.
        unsafe {
            copy_out(
                values.as_mut_ptr(),
                self.as_device_ptr().as_raw(),
                self.len(),
            )?;
            values.set_len(self.len());
        }
        Ok(values)
    }

    /// Returns the elements before `mid`, and the others.
    ///
    /// # Panics
    ///
    /// If `mid` is past the end.
    pub fn split_at(&self, mid: usize) -> (&DeviceSlice<T>, &DeviceSlice<T>) {
        (&self[..mid], &self[mid..])
    }

    /// As [`split_at`](Self::split_at), mutable.
    ///
    /// # Panics
    ///
    /// If `mid` is past the end.
    pub fn split_at_mut(&mut self, mid: usize) -> (&mut DeviceSlice<T>, &mut DeviceSlice<T>) {
        let (first, second) = self.split_at(mid);
        let (first, second) = (first.parts(), second.parts());
        // SAFETY: the parts do not overlap, and are borrowed from `self`.
        unsafe {
            (
                Self::from_raw_parts_mut(first.0, first.1),
                Self::from_raw_parts_mut(second.0, second.1),
            )
        }
    }

    fn parts(&self) -> (DevicePointer<T>, usize) {
        (self.as_device_ptr(), self.len())
    }

    fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    fn require_length(&self, other: usize) -> CudaResult<()> {
        match other == self.len() {
            true => Ok(()),
            false => Err(CudaError::InvalidValue),
        }
    }
}

/// Defines methods that fill a slice with numbers of one size.
macro_rules! fills {
    ($($(#[$doc:meta])* $name:ident($type:ty) = $function:ident;)*) => {
        impl<T: DeviceCopy + Pod> DeviceSlice<T> {$(
            $(#[$doc])*
            ///
            /// # Errors
            ///
            /// [`InvalidValue`](CudaError::InvalidValue) if the slice does not consist of whole,
            /// aligned numbers of this size, and what the driver returns.
            pub fn $name(&mut self, value: $type) -> CudaResult<()> {
                let (address, bytes) = (self.as_device_ptr().as_raw(), self.bytes());
                if bytes == 0 {
                    return Ok(());
                }
                let size = size_of::<$type>();
                if !bytes.is_multiple_of(size) || !address.is_multiple_of(size as u64) {
                    return Err(CudaError::InvalidValue);
                }
                // SAFETY: the slice has these bytes, and all bytes are values of its type.
                unsafe { sys::$function(address, value, bytes / size) }.to_result()?;
                finish()
            }
        )*}
    };
}

fills! {
    /// Writes `value` to each byte.
    set_8(u8) = cuMemsetD8_v2;
    /// Writes `value` to each 2 bytes.
    set_16(u16) = cuMemsetD16_v2;
    /// Writes `value` to each 4 bytes.
    set_32(u32) = cuMemsetD32_v2;
}

impl<T: DeviceCopy + Zeroable> DeviceSlice<T> {
    /// Writes 0 to each byte.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn set_zero(&mut self) -> CudaResult<()> {
        let (data, bytes) = (self.as_device_ptr().cast::<u8>(), self.bytes());
        // SAFETY: the bytes of this slice, and zeros are a value of its type.
        unsafe { DeviceSlice::from_raw_parts_mut(data, bytes) }.set_8(0)
    }
}

/// An element or a range of elements of a [`DeviceSlice`], which gives a `DeviceSlice` either way.
pub trait DeviceSliceIndex {
    /// Returns the first element and the number of elements. Panics past the end.
    #[doc(hidden)]
    fn part(self, elements: &[()]) -> (usize, usize);
}

impl DeviceSliceIndex for usize {
    #[track_caller]
    fn part(self, elements: &[()]) -> (usize, usize) {
        // Panics past the end.
        let () = elements[self];
        (self, 1)
    }
}

macro_rules! ranges {
    ($($range:ty)*) => {$(
        impl DeviceSliceIndex for $range {
            #[track_caller]
            fn part(self, elements: &[()]) -> (usize, usize) {
                let start = match self.start_bound() {
                    Bound::Included(&start) => start,
                    Bound::Excluded(_) | Bound::Unbounded => 0,
                };
                (start, elements[self].len())
            }
        }
    )*};
}
ranges! {
    Range<usize> RangeFrom<usize> RangeFull RangeInclusive<usize> RangeTo<usize>
    RangeToInclusive<usize>
}

impl<T: DeviceCopy, I: DeviceSliceIndex> Index<I> for DeviceSlice<T> {
    type Output = DeviceSlice<T>;

    #[track_caller]
    fn index(&self, index: I) -> &DeviceSlice<T> {
        let (start, count) = index.part(&self.elements);
        let data = self.as_device_ptr().wrapping_add(start);
        // SAFETY: elements of `self`, from which they are borrowed.
        unsafe { Self::from_raw_parts(data, count) }
    }
}

impl<T: DeviceCopy, I: DeviceSliceIndex> IndexMut<I> for DeviceSlice<T> {
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut DeviceSlice<T> {
        let (data, count) = self[index].parts();
        // SAFETY: elements of `self`, from which they are borrowed mutably.
        unsafe { Self::from_raw_parts_mut(data, count) }
    }
}

impl<T: DeviceCopy, I: AsRef<[T]> + AsMut<[T]> + ?Sized> CopyDestination<I> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &I) -> CudaResult<()> {
        let source = source.as_ref();
        self.require_length(source.len())?;
        // SAFETY: both have this length.
        unsafe { copy_in(self.as_device_ptr().as_raw(), source.as_ptr(), source.len()) }
    }

    fn copy_to(&self, dest: &mut I) -> CudaResult<()> {
        let dest = dest.as_mut();
        self.require_length(dest.len())?;
        // SAFETY: both have this length.
        unsafe { copy_out(dest.as_mut_ptr(), self.as_device_ptr().as_raw(), dest.len()) }
    }
}

impl<T: DeviceCopy> CopyDestination<DeviceSlice<T>> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &DeviceSlice<T>) -> CudaResult<()> {
        source.copy_to(self)
    }

    fn copy_to(&self, dest: &mut DeviceSlice<T>) -> CudaResult<()> {
        self.require_length(dest.len())?;
        let (target, source) = (dest.as_device_ptr(), self.as_device_ptr());
        // SAFETY: both have this length.
        unsafe { copy_within::<T>(target.as_raw(), source.as_raw(), self.len()) }
    }
}

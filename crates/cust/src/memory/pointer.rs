//! Addresses of a device.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::DeviceCopy;
use crate::sys::CUdeviceptr;

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

impl<T: DeviceCopy> PartialEq for DevicePointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}
impl<T: DeviceCopy> Eq for DevicePointer<T> {}

impl<T: DeviceCopy> Hash for DevicePointer<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
    }
}

impl<T: DeviceCopy> DevicePointer<T> {
    /// Makes a pointer from the driver's.
    pub fn from_raw(address: CUdeviceptr) -> Self {
        let of = PhantomData;
        Self { address, of }
    }

    /// Returns the address 0.
    pub fn null() -> Self {
        Self::from_raw(0)
    }

    /// Returns the driver's pointer.
    pub fn as_raw(&self) -> CUdeviceptr {
        self.address
    }

    /// Returns the address as a pointer of Rust, which the host must not dereference.
    pub fn as_ptr(&self) -> *const T {
        self.as_mut_ptr()
    }

    /// As [`as_ptr`](Self::as_ptr).
    pub fn as_mut_ptr(&self) -> *mut T {
        std::ptr::without_provenance_mut(self.address as usize)
    }

    /// Whether the address is 0.
    pub fn is_null(self) -> bool {
        self.address == 0
    }

    /// Returns the pointer to the element `count` further on, or back if `count` is negative.
    ///
    /// # Safety
    ///
    /// Both pointers are in the same allocation or at its end.
    #[must_use]
    pub unsafe fn offset(self, count: isize) -> Self {
        self.wrapping_offset(count)
    }

    /// As [`offset`](Self::offset), for every `count`.
    #[must_use]
    pub fn wrapping_offset(self, count: isize) -> Self {
        let bytes = (count as i64).wrapping_mul(size_of::<T>() as i64);
        Self::from_raw(self.address.wrapping_add_signed(bytes))
    }

    /// Returns the pointer to the element `count` further on.
    ///
    /// # Safety
    ///
    /// Both pointers are in the same allocation or at its end.
    #[must_use]
    #[allow(
        clippy::should_implement_trait,
        reason = "the name of Rust's own pointers"
    )]
    pub unsafe fn add(self, count: usize) -> Self {
        self.wrapping_add(count)
    }

    /// As [`add`](Self::add), for every `count`.
    #[must_use]
    pub fn wrapping_add(self, count: usize) -> Self {
        self.wrapping_offset(count as isize)
    }

    /// Returns the pointer to the element `count` before.
    ///
    /// # Safety
    ///
    /// Both pointers are in the same allocation or at its end.
    #[must_use]
    #[allow(
        clippy::should_implement_trait,
        reason = "the name of Rust's own pointers"
    )]
    pub unsafe fn sub(self, count: usize) -> Self {
        self.wrapping_sub(count)
    }

    /// As [`sub`](Self::sub), for every `count`.
    #[must_use]
    pub fn wrapping_sub(self, count: usize) -> Self {
        self.wrapping_offset((count as isize).wrapping_neg())
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

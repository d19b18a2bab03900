//! Page-locked memory of the host.

use super::primary::Primary;
use crate::Result;
use crate::device::available::no_memory;
use crate::device::{Element, MemoryKind, require_available};
use cust::error::CudaError;
use cust::sys;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Page-locked memory of the host.
pub struct HostAllocation<T> {
    pointer: NonNull<T>,
    length: usize,
    primary: Arc<Primary>,
}

// SAFETY: owns its memory, as a vector does.
unsafe impl<T: Send> Send for HostAllocation<T> {}
// SAFETY: a shared reference gives only shared references to the elements, as that of a vector
// does.
unsafe impl<T: Sync> Sync for HostAllocation<T> {}

impl<T: Element> HostAllocation<T> {
    /// Allocates memory for `length` elements whose values are unspecified.
    pub fn new(primary: &Arc<Primary>, length: usize) -> Result<Self> {
        let mut pointer = null_mut::<c_void>();
        let bytes = length.saturating_mul(size_of::<T>());
        if bytes > 0 {
            require_available(bytes)?;
            let _bound = primary.bind()?;
            // SAFETY: writes one pointer.
            let result = unsafe { sys::cuMemAllocHost_v2(&mut pointer, bytes) }.to_result();
            if result == Err(CudaError::OutOfMemory) {
                return Err(no_memory(MemoryKind::PageLocked, bytes as u64, None));
            }
            primary.check(result, "allocating page-locked memory")?;
        }
        Ok(Self {
            // The driver aligns to pages.
            pointer: NonNull::new(pointer.cast::<T>()).unwrap_or(NonNull::dangling()),
            length,
            primary: primary.clone(),
        })
    }

    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `length` elements, for which all bytes are values, or dangling for no bytes.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: `length` elements, for which all bytes are values, or dangling for no bytes; and
        // `&mut self` excludes other borrows.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }
}

impl<T> Drop for HostAllocation<T> {
    fn drop(&mut self) {
        if self.length == 0 || size_of::<T>() == 0 {
            return;
        }
        if let Ok(_bound) = self.primary.bind() {
            // SAFETY: allocated in `new` and freed once. All users wait for their copies.
            unsafe { sys::cuMemFreeHost(self.pointer.as_ptr().cast()) };
        }
    }
}

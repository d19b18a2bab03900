//! The memory of buffers.

use super::available::no_memory;
use super::cuda;
use super::handle::Backend;
use super::limit::Reservation;
use super::{Device, MemoryKind, require_available};
use crate::Result;
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// The memory of a buffer, which graphs share if their work uses the buffer.
pub struct Memory {
    pub place: Place,
    /// The share of the device's limit.
    _reservation: Option<Reservation>,
}

pub enum Place {
    Host(HostMemory),
    Cuda(cuda::Allocation),
}

/// What keeps the memory of another library: dropping it gives the memory back.
pub type ForeignOwner = Box<dyn Send + Sync>;

impl Memory {
    /// Allocates memory of a device. Its content is unspecified.
    pub fn new(device: &Device, layout: Layout) -> Result<Memory> {
        let reservation = device.reserve(layout.size())?;
        let place = match &device.backend {
            Backend::Cuda(gpu) => gpu.allocate(layout.size()).map(Place::Cuda),
            Backend::Cpu | Backend::Simulator(_) => HostMemory::new(layout).map(Place::Host),
        };
        Ok(Memory {
            place: place?,
            _reservation: reservation,
        })
    }

    /// Takes memory of another library, which `owner` keeps. No limit counts it.
    ///
    /// # Safety
    /// Until `owner` is dropped, the device's kernels may access the bytes from `address` on, and
    /// other work on them is ordered with that of the `device`.
    pub unsafe fn foreign(
        device: &Device,
        address: *mut u8,
        layout: Layout,
        owner: ForeignOwner,
    ) -> Result<Memory> {
        let place = match &device.backend {
            Backend::Cuda(gpu) => {
                // SAFETY: the caller keeps the contract, which is that of `Gpu::borrow` too: until
                // `owner` is dropped, kernels may access the bytes, and other work on them is
                // ordered with that of the device.
                Place::Cuda(unsafe { gpu.borrow(address, layout.size(), owner)? })
            }
            Backend::Cpu | Backend::Simulator(_) => {
                Place::Host(HostMemory::foreign(address, layout, owner))
            }
        };
        Ok(Memory {
            place,
            _reservation: None,
        })
    }
}

/// Memory of the host. Kernels in the simulator access it through raw pointers, like a GPU's
/// memory, so no references to it are ever made.
pub struct HostMemory {
    pointer: NonNull<u8>,
    layout: Layout,
    /// What keeps the memory, if it is not this.
    owner: Option<ForeignOwner>,
}

// SAFETY: owns its memory, as a box does; `Buffer` hands out access by its own borrows.
unsafe impl Send for HostMemory {}
// SAFETY: a shared reference gives only the address; `Buffer` hands out access by its own borrows.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// The alignment of CUDA's allocations, so that aligned accesses behave the same.
    pub const ALIGNMENT: usize = 256;

    /// Allocates memory whose bits are all ones, which are NaN as floats: this shows in results
    /// that depend on unwritten memory.
    fn new(layout: Layout) -> Result<Self> {
        if layout.size() == 0 {
            let aligned = std::ptr::without_provenance_mut(layout.align());
            let pointer = NonNull::new(aligned).expect("alignments are not zero");
            return Ok(Self {
                pointer,
                layout,
                owner: None,
            });
        }
        require_available(layout.size())?;
        let none = || no_memory(MemoryKind::Host, layout.size() as u64, None);
        // SAFETY: the size is not zero.
        let pointer = NonNull::new(unsafe { alloc(layout) }).ok_or_else(none)?;
        // SAFETY: just allocated with that size.
        unsafe { pointer.as_ptr().write_bytes(0xff, layout.size()) };
        Ok(Self {
            pointer,
            layout,
            owner: None,
        })
    }

    fn foreign(address: *mut u8, layout: Layout, owner: ForeignOwner) -> Self {
        let aligned = std::ptr::without_provenance_mut(layout.align());
        Self {
            // No bytes may have no address.
            pointer: NonNull::new(address).unwrap_or(NonNull::new(aligned).expect("not zero")),
            layout,
            owner: Some(owner),
        }
    }

    pub fn address(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.layout.size() > 0 && self.owner.is_none() {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.pointer.as_ptr(), self.layout) };
        }
    }
}

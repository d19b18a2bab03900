//! Allocations in the host's memory.

use super::available::no_memory;
use super::reserve::prefer_large_pages;
use super::{MemoryKind, require_available};
use crate::Result;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// The bytes of new memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Unspecified,
    Zeros,
}

/// The elements of a buffer, for messages.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "simulator"),
    expect(dead_code, reason = "the simulator alone names them")
)]
pub struct Elements {
    /// The name of the type.
    pub name: &'static str,
    pub count: usize,
}

/// The owner of another library's memory. Dropping it gives the memory back.
pub type ForeignOwner = Box<dyn Send + Sync>;

/// Memory of the host. Kernels in the simulator access it through raw pointers, like a GPU's
/// memory, so no references to it are ever made.
pub struct HostMemory {
    /// The first byte.
    pointer: NonNull<u8>,
    _owner: Owner,
}

/// The owner of the host's memory. Dropping it frees the memory.
enum Owner {
    /// There are no bytes.
    Nobody,
    /// An allocation, which begins at or before the first byte.
    Allocation(NonNull<u8>, Layout),
    Foreign {
        _owner: ForeignOwner,
    },
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Owner::Allocation(start, layout) = *self {
            // SAFETY: allocated in `HostMemory::new` with this layout.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }
}

// SAFETY: owns its memory, as a box does; `Buffer` hands out access by its own borrows.
unsafe impl Send for HostMemory {}

// SAFETY: a shared reference gives only the address; `Buffer` hands out access by its own borrows.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// The alignment of CUDA's allocations, so that aligned accesses behave the same.
    pub const ALIGNMENT: usize = 256;

    /// The alignment that allocations have without being asked.
    const USUAL_ALIGNMENT: usize = align_of::<u64>();

    /// Allocates zeros, whose pages the system makes when they are first written to.
    ///
    /// Builds with debug assertions fill unspecified memory with ones, which are NaN as floats: this
    /// shows in results that depend on unwritten memory.
    pub fn new(layout: Layout, content: Content) -> Result<Self> {
        let (size, alignment) = (layout.size(), layout.align());
        if size == 0 {
            return Ok(Self {
                pointer: nowhere(layout),
                _owner: Owner::Nobody,
            });
        }
        require_available(size)?;
        let none = || no_memory(MemoryKind::Host, size as u64, None);
        // The allocator writes the zeros itself if it is asked for a larger alignment.
        let gap = alignment - Self::USUAL_ALIGNMENT;
        let whole = size.checked_add(gap).ok_or_else(none)?;
        let whole = Layout::from_size_align(whole, Self::USUAL_ALIGNMENT).map_err(|_| none())?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(whole) }).ok_or_else(none)?;
        let owner = Owner::Allocation(start, whole);
        // SAFETY: at most the gap, behind which the allocation has `size` bytes.
        let pointer = unsafe { start.add(start.align_offset(alignment)) };
        prefer_large_pages(pointer.as_ptr(), size);
        if cfg!(debug_assertions) && content == Content::Unspecified {
            // SAFETY: the allocation has `size` bytes from here on, which nothing else accesses yet.
            unsafe { pointer.write_bytes(0xff, size) };
        }
        Ok(Self {
            pointer,
            _owner: owner,
        })
    }

    pub fn foreign(address: *mut u8, layout: Layout, owner: ForeignOwner) -> Self {
        Self {
            // No bytes may have no address.
            pointer: NonNull::new(address).unwrap_or(nowhere(layout)),
            _owner: Owner::Foreign { _owner: owner },
        }
    }

    pub fn address(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }
}

/// Returns an aligned address for no bytes.
fn nowhere(layout: Layout) -> NonNull<u8> {
    let aligned = std::ptr::without_provenance_mut(layout.align());
    NonNull::new(aligned).expect("alignments are not zero")
}

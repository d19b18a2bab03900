//! Statics in shared memory, on the host.

/// The statics with `#[address_space(shared)]` of the whole program.
///
/// On the host each is one static, whereas each block of a GPU has its own. An executor that finds any runs one block at a
/// time in the whole process, and fills them when a block starts.
#[linkme::distributed_slice]
#[linkme(crate = linkme)]
pub static SHARED_STATICS: [SharedStatic];

/// A static with `#[address_space(shared)]`.
#[derive(Clone, Copy, Debug)]
pub struct SharedStatic {
    pointer: *mut u8,
    bytes: usize,
}

// SAFETY: an address. Whoever uses it sees to it that one block runs at a time.
unsafe impl Sync for SharedStatic {}

impl SharedStatic {
    /// Used by `#[address_space(shared)]`.
    #[doc(hidden)]
    pub const fn new<T>(pointer: *mut T) -> Self {
        Self {
            pointer: pointer.cast(),
            bytes: size_of::<T>(),
        }
    }

    /// Its address.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.pointer
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

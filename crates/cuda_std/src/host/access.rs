//! Reports to the executor of a kernel's accesses to memory, if they are instrumented.

use core::panic::Location;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic read.
    AtomicRead,
    /// An atomic write, or a read and a write in one.
    AtomicWrite,
}

/// Where a program accesses memory.
#[derive(Clone, Copy, Debug)]
pub enum AccessSite {
    /// An address in the machine code, just behind the access.
    Code(usize),
    /// The place of a call in the kernel's source.
    Call(&'static Location<'static>),
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The address of the first byte.
    pub address: usize,
    /// The number of bytes.
    pub bytes: usize,
    /// The kind.
    pub kind: AccessKind,
    /// What the address has to be a multiple of, 1 if that is not known.
    pub alignment: usize,
    /// Where.
    pub site: AccessSite,
}

/// An operation that orders the accesses of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// A fence.
    Fence,
    /// The thread gets memory from the heap. Accesses before were to other memory at its address.
    Allocate {
        /// The address of the first byte.
        address: usize,
        /// The number of bytes.
        bytes: usize,
    },
    /// A read of what other threads release at the address.
    Acquire {
        /// The address of the atomic variable or barrier.
        address: usize,
        /// Whether only a later fence makes the read acquire.
        is_relaxed: bool,
    },
    /// A write that others acquire.
    Release {
        /// The address of the atomic variable or barrier.
        address: usize,
        /// Whether the write releases only what came before the last fence.
        is_relaxed: bool,
        /// Whether others still acquire what was released there before, as they do when the value
        /// before is changed and not overwritten.
        keeps: bool,
    },
}

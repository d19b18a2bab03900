//! Shared memory as operations of several threads read it.

use super::Misuse;

/// A block's dynamic shared memory, to be used while no thread of the block runs, or by the one that
/// does.
#[derive(Clone, Copy)]
pub(crate) struct DynamicShared {
    start: *mut u8,
    length: usize,
}

impl DynamicShared {
    /// # Safety
    /// `start` points to `length` initialised bytes that are there while their block runs.
    pub(crate) unsafe fn new(start: *mut u8, length: usize) -> Self {
        Self { start, length }
    }

    /// The address of a byte of the memory.
    pub(crate) fn address(&self, offset: usize) -> usize {
        self.start as usize + offset
    }

    /// The `N` bytes at a multiple of `N`, for `access`; only while an operation is performed, or
    /// while all threads of the block wait.
    pub(crate) fn read<const N: usize>(
        &self,
        access: &'static str,
        address: usize,
    ) -> Result<[u8; N], Misuse> {
        self.require::<N>(access, address)?;
        // SAFETY: the bytes are inside of the memory, which by the promise made to `new` is
        // initialised and there while the block runs; its other threads wait meanwhile.
        Ok(unsafe { self.start.add(address).cast::<[u8; N]>().read() })
    }

    /// Writes `N` bytes at a multiple of `N`, for `access`; only while an operation is performed.
    pub(crate) fn write<const N: usize>(
        &self,
        access: &'static str,
        address: usize,
        bytes: [u8; N],
    ) -> Result<(), Misuse> {
        self.require::<N>(access, address)?;
        // SAFETY: as in `read`.
        unsafe { self.start.add(address).cast::<[u8; N]>().write(bytes) };
        Ok(())
    }

    /// Whether `N` bytes at a multiple of `N` are in the memory, for `access`.
    pub(crate) fn require<const N: usize>(
        &self,
        access: &'static str,
        address: usize,
    ) -> Result<(), Misuse> {
        if address.checked_add(N).is_none_or(|end| end > self.length) {
            return Err(Misuse::OutOfRange {
                access,
                address,
                bytes: N,
                length: self.length,
            });
        }
        if !address.is_multiple_of(N) {
            return Err(Misuse::Misaligned {
                what: access,
                value: address,
                alignment: N,
            });
        }
        Ok(())
    }
}

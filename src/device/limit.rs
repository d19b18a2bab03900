//! Limits of how much of a device's memory is used.

#[cfg(feature = "kernels")]
use super::Kind;
use super::available::ALLOCATION;
use super::{Device, MemoryKind};
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So many bytes, which buffers share.
pub struct Limit {
    bytes: u64,
    used: AtomicU64,
}

/// What a buffer has of a limit; dropping it gives it back.
pub struct Reservation {
    limit: Arc<Limit>,
    bytes: u64,
}

impl Device {
    /// Returns a handle to the same device whose buffers may use at most `bytes` of its memory at a time. The memory of a
    /// dropped buffer can be used again.
    ///
    /// Calls that take a [`DeviceSet`](super::DeviceSet) cut their work into parts that fit. The CPU's limit bounds its
    /// buffers, but not the memory that such calls compute in. Clones share the limit: an allocation of one fails while
    /// another has the memory. The limit of a handle that already has one is replaced.
    ///
    /// ```
    /// use gridstride::{Device, Error};
    ///
    /// let device = Device::auto().with_memory_limit(1 << 10);
    /// let small = device.zeros::<u64>(100)?;
    /// assert!(matches!(device.zeros::<u64>(100), Err(Error::Allocation { free: Some(224), .. })));
    /// drop(small);
    /// assert!(device.zeros::<u64>(100).is_ok());
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn with_memory_limit(&self, bytes: u64) -> Device {
        Device {
            kind: self.kind.clone(),
            limit: Some(Arc::new(Limit {
                bytes,
                used: AtomicU64::new(0),
            })),
        }
    }

    /// Returns the [limit](Device::with_memory_limit) in bytes; `None` for a handle without one.
    ///
    /// The memory that a GPU has, and how much of that is free, is in [`info`](Device::info).
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// assert_eq!(Device::auto().memory_limit(), None);
    /// assert_eq!(Device::auto().with_memory_limit(1 << 20).memory_limit(), Some(1 << 20));
    /// ```
    pub fn memory_limit(&self) -> Option<u64> {
        self.limit.as_ref().map(|limit| limit.bytes)
    }

    /// Returns how many bytes of the [limit](Device::with_memory_limit) are in use: those of all buffers that were made
    /// through this handle and its clones. `None` for a handle without a limit, whose buffers are not counted.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// let device = Device::auto().with_memory_limit(1 << 20);
    /// let buffer = device.zeros::<f32>(64)?;
    /// assert_eq!(device.memory_used(), Some(256));
    /// drop(buffer);
    /// assert_eq!(device.memory_used(), Some(0));
    /// assert_eq!(Device::auto().memory_used(), None);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn memory_used(&self) -> Option<u64> {
        let limit = self.limit.as_ref()?;
        Some(limit.used.load(Ordering::Relaxed))
    }

    /// Bytes that the limit leaves.
    #[cfg(feature = "kernels")]
    pub(crate) fn limit_left(&self) -> Option<u64> {
        let limit = self.limit.as_ref()?;
        Some(limit.bytes - limit.used.load(Ordering::Relaxed))
    }

    /// Whether both are handles to the same device, with the same limit or none.
    #[cfg(feature = "kernels")]
    pub(crate) fn shares_limit(&self, other: &Device) -> bool {
        let limits = match (&self.limit, &other.limit) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        limits && self.same_as(other)
    }

    /// Bytes available for new allocations: what remains of the limit, or the GPU's total memory.
    #[cfg(feature = "kernels")]
    pub(crate) fn memory_budget(&self) -> Option<u64> {
        match &self.kind {
            Kind::Cpu => None,
            #[cfg(feature = "simulator")]
            Kind::Simulator(_) => self.limit_left(),
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => self.limit_left().or_else(|| Some(context.total_memory())),
        }
    }

    /// Takes bytes of the limit, if there is one.
    pub(super) fn reserve(&self, bytes: usize) -> Result<Option<Reservation>> {
        let Some(limit) = &self.limit else {
            return Ok(None);
        };
        let bytes = bytes as u64;
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit.bytes);
        match limit
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        {
            Ok(_) => Ok(Some(Reservation {
                limit: limit.clone(),
                bytes,
            })),
            Err(used) => Err(Error::Allocation {
                operation: ALLOCATION,
                memory: MemoryKind::Device(self.id()),
                requested: bytes,
                free: Some(limit.bytes - used),
                total: Some(limit.bytes),
            }),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.limit.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

//! Limits of how much of a device's memory is used.

use super::Device;
#[cfg(feature = "kernels")]
use super::Kind;
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
    /// The same device, of whose memory all buffers that are made through this handle and its clones take at most so many
    /// bytes at a time. What a buffer gives back can be taken anew.
    ///
    /// Calls that take a [`DeviceSet`](super::DeviceSet) cut their work into parts that fit; the host's own memory, which
    /// the CPU computes in, has no limit. Clones share the limit: work of one may fail while another has the memory. A
    /// limit of a handle that has one takes its place.
    ///
    /// ```
    /// use gridstride::{Device, Error};
    ///
    /// let device = Device::auto().limit_memory(1 << 10);
    /// let small = device.zeros::<u64>(100)?;
    /// assert!(matches!(device.zeros::<u64>(100), Err(Error::Allocation { free: Some(224), .. })));
    /// drop(small);
    /// assert!(device.zeros::<u64>(100).is_ok());
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn limit_memory(&self, bytes: u64) -> Device {
        Device {
            kind: self.kind.clone(),
            limit: Some(Arc::new(Limit {
                bytes,
                used: AtomicU64::new(0),
            })),
        }
    }

    /// Bytes that work may take at a time, as far as that is known: of the limit what is left, else all memory of a GPU.
    #[cfg(feature = "kernels")]
    pub(crate) fn memory_budget(&self) -> Option<u64> {
        let left = |limit: &Arc<Limit>| limit.bytes - limit.used.load(Ordering::Relaxed);
        match &self.kind {
            Kind::Cpu => None,
            #[cfg(feature = "simulator")]
            Kind::Simulator(_) => self.limit.as_ref().map(left),
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => {
                Some((self.limit.as_ref()).map_or_else(|| context.total_memory(), left))
            }
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
                device: self.to_string(),
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

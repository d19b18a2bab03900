//! Limits of how much of a device's memory is used.

use super::MemoryKind;
use super::available::ALLOCATION;
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number of bytes that buffers share.
pub struct Limit {
    bytes: u64,
    used: AtomicU64,
}

/// The bytes of a limit that a buffer uses; dropping it gives them back.
pub struct Reservation {
    limit: Arc<Limit>,
    bytes: u64,
}

impl Limit {
    pub fn new(bytes: u64) -> Limit {
        Limit {
            bytes,
            used: AtomicU64::new(0),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

impl Reservation {
    /// Takes bytes of a limit, that of `memory`.
    pub fn new(limit: &Arc<Limit>, bytes: u64, memory: MemoryKind) -> Result<Reservation> {
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= limit.bytes);
        let taken = (limit.used).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        match taken {
            Ok(_) => Ok(Reservation {
                limit: limit.clone(),
                bytes,
            }),
            Err(used) => Err(Error::Allocation {
                operation: ALLOCATION,
                memory,
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

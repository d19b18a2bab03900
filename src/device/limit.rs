//! Limits on the memory of a device that buffers use.

use super::MemoryKind;
use super::available::{MemoryState, no_memory};
use crate::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A limit in bytes that buffers share.
pub struct Limit {
    pub bytes: u64,
    used: AtomicU64,
}

/// The bytes of a limit that a buffer uses. Dropping the reservation returns them.
pub struct Reservation {
    limit: Arc<Limit>,
    bytes: u64,
}

impl Limit {
    pub fn new(bytes: u64) -> Limit {
        let used = AtomicU64::new(0);
        Limit { bytes, used }
    }

    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Reserves `bytes` bytes. An error names `memory`.
    pub fn reserve(self: &Arc<Limit>, bytes: u64, memory: MemoryKind) -> Result<Reservation> {
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= self.bytes);
        match self.used.fetch_update(Relaxed, Relaxed, more) {
            Ok(_) => Ok(Reservation {
                limit: self.clone(),
                bytes,
            }),
            Err(used) => {
                let state = MemoryState {
                    free: self.bytes - used,
                    total: self.bytes,
                };
                Err(no_memory(memory, bytes, Some(state)))
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.limit.used.fetch_sub(self.bytes, Relaxed);
    }
}

//! Limits on the memory of a device that buffers use.

use super::MemoryKind;
use super::available::{MemoryState, no_memory};
use crate::Result;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

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

#[cfg(all(test, shuttle))]
mod model {
    use super::*;
    use crate::sync::thread;

    /// Threads reserve more than there is: the limit holds at all times, a reservation fails only
    /// while others hold the bytes, and all bytes come back.
    #[test]
    fn reservations_keep_the_limit() {
        let model = || {
            let limit = Arc::new(Limit::new(10));
            let held = Arc::new(AtomicU64::new(0));
            let threads = [4, 5, 6].map(|bytes| {
                let (limit, held) = (limit.clone(), held.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        if let Ok(_reserved) = limit.reserve(bytes, MemoryKind::Host) {
                            assert!(held.fetch_add(bytes, Relaxed) + bytes <= limit.bytes);
                            thread::yield_now();
                            held.fetch_sub(bytes, Relaxed);
                        }
                    }
                })
            });
            for thread in threads {
                thread.join().expect("the thread ends");
            }
            assert_eq!(limit.used(), 0);
            assert!(limit.reserve(10, MemoryKind::Host).is_ok());
        };
        shuttle::check_random(model, 2000);
    }
}

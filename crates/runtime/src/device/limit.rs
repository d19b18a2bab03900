//! Limits on the memory of a device that buffers use.

use super::MemoryKind;
use super::available::{MemoryState, no_memory};
use crate::Result;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::ops::Range;
use std::sync::Arc;

/// A limit that buffers share: in bytes, and as the numbers of allocations that fail.
pub struct Limit {
    /// `None` if only allocations fail.
    pub bytes: Option<u64>,
    failing: Range<u64>,
    used: AtomicU64,
    /// Allocations so far.
    allocations: AtomicU64,
}

/// The bytes of a limit that a buffer uses. Dropping the reservation returns them.
pub struct Reservation {
    limit: Arc<Limit>,
    bytes: u64,
}

impl Limit {
    pub fn new(bytes: Option<u64>, failing: Range<u64>) -> Limit {
        Limit {
            bytes,
            failing,
            used: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
        }
    }

    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Reserves `bytes` bytes. An error names `memory`.
    pub fn reserve(self: &Arc<Limit>, bytes: u64, memory: MemoryKind) -> Result<Reservation> {
        let is_failing = |number| self.failing.contains(&number);
        if bytes > 0 && is_failing(self.allocations.fetch_add(1, Relaxed)) {
            return Err(no_memory(memory, bytes, None));
        }
        let total = self.bytes.unwrap_or(u64::MAX);
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= total);
        match self.used.try_update(Relaxed, Relaxed, more) {
            Ok(_) => Ok(Reservation {
                limit: self.clone(),
                bytes,
            }),
            Err(used) => {
                let state = MemoryState {
                    free: total - used,
                    total,
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
    use crate::Error;
    use crate::sync::thread;

    /// Threads reserve more than there is: the limit holds at all times, a reservation fails only
    /// while others hold the bytes, and all bytes come back.
    #[test]
    fn reservations_keep_the_limit() {
        let model = || {
            let limit = Arc::new(Limit::new(Some(10), 0..0));
            let held = Arc::new(AtomicU64::new(0));
            let threads = [4, 5, 6].map(|bytes| {
                let (limit, held) = (limit.clone(), held.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        match limit.reserve(bytes, MemoryKind::Host) {
                            Ok(_reserved) => {
                                assert!(held.fetch_add(bytes, Relaxed) + bytes <= 10);
                                thread::yield_now();
                                held.fetch_sub(bytes, Relaxed);
                            }
                            Err(Error::Allocation { free, .. }) => assert!(free < Some(bytes)),
                            Err(error) => panic!("{error}"),
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

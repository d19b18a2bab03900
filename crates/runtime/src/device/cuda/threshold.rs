//! The amount of freed memory that the driver's pool holds.

use crate::device::lock;
use crate::sync::Mutex;

/// The granularity in bytes with which the threshold follows the memory in use.
const STEP: u64 = 1 << 28;

/// Bytes in use, and the threshold beyond which the driver returns freed memory to the system.
pub struct Threshold {
    state: Mutex<State>,
    /// Bytes to hold beyond the bytes in use.
    kept: u64,
}

struct State {
    in_use: u64,
    /// The driver's threshold.
    set: u64,
}

impl Threshold {
    pub fn new(kept: u64) -> Threshold {
        Threshold {
            state: Mutex::new(State { in_use: 0, set: 0 }),
            kept,
        }
    }

    /// Counts memory that was used before, and did not leave the pool.
    pub fn reuse(&self, bytes: u64) {
        lock(&self.state).in_use += bytes;
    }

    /// Counts memory that is free, and stays in the pool.
    pub fn spare(&self, bytes: u64) {
        lock(&self.state).in_use -= bytes;
    }

    /// Counts new memory, and calls `set` if the driver needs another threshold.
    pub fn allocate(&self, bytes: u64, set: impl FnOnce(u64)) {
        self.change(|in_use| in_use + bytes, set);
    }

    /// Counts memory that has left the pool, and calls `set` if the driver needs another threshold.
    pub fn free(&self, bytes: u64, set: impl FnOnce(u64)) {
        self.change(|in_use| in_use - bytes, set);
    }

    /// Calls `set` while the lock is held: of two threads, the driver would otherwise keep the
    /// threshold of the slower one, which may be that of fewer bytes in use.
    fn change(&self, count: impl FnOnce(u64) -> u64, set: impl FnOnce(u64)) {
        let mut state = lock(&self.state);
        state.in_use = count(state.in_use);
        let threshold = state.in_use.next_multiple_of(STEP) + self.kept;
        // A step lower is as good: where the memory in use goes up and down around a multiple of
        // the step, each allocation would set the threshold, which takes as long as a launch.
        if threshold > state.set || threshold + STEP < state.set {
            state.set = threshold;
            set(threshold);
        }
    }
}

#[cfg(all(test, shuttle))]
mod model {
    use super::*;
    use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use crate::sync::thread;
    use std::sync::Arc;

    /// Several threads allocate, and one frees again: whatever the order, the driver holds at
    /// least the memory in use at the end, and at most two steps more.
    #[test]
    fn the_driver_holds_the_memory_in_use() {
        let model = || {
            let threshold = Arc::new(Threshold::new(0));
            let driver = Arc::new(AtomicU64::new(0));
            let threads = [1, 4, 2].map(|steps| {
                let (threshold, driver) = (threshold.clone(), driver.clone());
                thread::spawn(move || {
                    threshold.allocate(steps * STEP, |bytes| driver.store(bytes, Relaxed));
                    if steps == 4 {
                        threshold.free(steps * STEP, |bytes| driver.store(bytes, Relaxed));
                    }
                })
            });
            for thread in threads {
                thread.join().expect("the thread ends");
            }
            let held = driver.load(Relaxed);
            assert!((3 * STEP..=4 * STEP).contains(&held), "{held}");
        };
        shuttle::check_random(model, 2000);
    }
}

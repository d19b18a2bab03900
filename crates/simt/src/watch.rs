//! The state that the blocks of a launch share: whether one has failed, and whether all wait.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time after which blocks that all wait for each other count as a mistake: much longer than
/// the operating system keeps a thread from running.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of times that a block must have found nothing to do but wait. A loop that only waits
/// reaches it within a fraction of `PATIENCE`. A loop that works between its waits takes far longer.
const POLLS: u32 = 1000;

/// Shared by the blocks of a launch.
#[derive(Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    /// The number of running blocks that do not only wait.
    busy: AtomicUsize,
    /// Increases when a block ends, or continues after waiting.
    steps: AtomicU64,
}

impl Watch {
    /// Stops all blocks.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Begins a block. Dropping the result ends the block.
    pub(crate) fn enter(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Relaxed);
        Busy {
            watch: self,
            waiting: None,
        }
    }
}

/// A block that runs.
pub(crate) struct Busy<'a> {
    watch: &'a Watch,
    waiting: Option<Waiting>,
}

/// The state of a block while it waits.
struct Waiting {
    /// When all blocks began to wait.
    since: Instant,
    /// `Watch::steps` at that time.
    steps: u64,
    /// The number of waits of the block since then.
    polls: u32,
}

impl Busy<'_> {
    /// Called when all threads of the block wait for others to write something. Returns `false` if
    /// all blocks have waited too long.
    pub(crate) fn wait(&mut self) -> bool {
        let watch = self.watch;
        let steps = watch.steps.load(Relaxed);
        let fresh = || Waiting {
            since: Instant::now(),
            steps,
            polls: 0,
        };
        let waiting = self.waiting.get_or_insert_with(|| {
            watch.busy.fetch_sub(1, Relaxed);
            fresh()
        });
        std::thread::yield_now();
        if steps != waiting.steps || watch.busy.load(Relaxed) > 0 {
            *waiting = fresh();
            return true;
        }
        waiting.polls = waiting.polls.saturating_add(1);
        waiting.polls < POLLS || waiting.since.elapsed() < PATIENCE
    }

    /// Called when a thread does something other than wait.
    pub(crate) fn go_on(&mut self) {
        if self.waiting.take().is_some() {
            self.watch.busy.fetch_add(1, Relaxed);
            self.watch.steps.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.go_on();
        self.watch.busy.fetch_sub(1, Relaxed);
        self.watch.steps.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_works_between_waits_does_not_only_wait() {
        let watch = Watch::default();
        let mut block = watch.enter();
        assert!(block.wait());
        // As if the work between the waits had taken long.
        block.waiting.as_mut().expect("it waits").since -= 2 * PATIENCE;
        for _ in 0..100 {
            assert!(block.wait());
        }
    }
}

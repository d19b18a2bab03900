//! What the blocks of a launch know of each other: whether one has failed, and whether all wait.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long all blocks may wait for each other before that counts as a mistake: much longer than the operating
/// system keeps any of its threads from running.
const PATIENCE: Duration = Duration::from_secs(5);

/// Shared by the blocks of a launch.
#[derive(Default)]
pub(crate) struct Watch {
    stopped: AtomicBool,
    /// Blocks that run and do not merely wait.
    busy: AtomicUsize,
    /// Goes up when a block ends, or goes on after it has waited.
    steps: AtomicU64,
}

impl Watch {
    /// No block is to go on.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// A block begins; it ends when what this returns is dropped.
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
    /// Since when nothing has happened, and the steps then.
    waiting: Option<(Instant, u64)>,
}

impl Busy<'_> {
    /// All threads of the block that could run wait for what another one writes. Whether there is hope.
    pub(crate) fn wait(&mut self) -> bool {
        let watch = self.watch;
        let steps = watch.steps.load(Relaxed);
        let (since, seen) = *self.waiting.get_or_insert_with(|| {
            watch.busy.fetch_sub(1, Relaxed);
            (Instant::now(), steps)
        });
        std::thread::yield_now();
        if steps != seen || watch.busy.load(Relaxed) > 0 {
            self.waiting = Some((Instant::now(), steps));
            return true;
        }
        since.elapsed() < PATIENCE
    }

    /// A thread does something else than wait.
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

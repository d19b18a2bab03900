//! Ends threads of kernels that run for too long without waiting for others.

use crate::block::index_of;
use crate::error::Place;
use cuda_std::host::LaunchConfig;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// The time between two looks at the running threads.
const POLL: Duration = Duration::from_millis(100);

/// The time that a thread gets to end.
const GRACE: Duration = Duration::from_secs(10);

/// What a thread of the OS runs.
pub(crate) struct Running {
    kernel: &'static str,
    config: LaunchConfig,
    limit: Duration,
    /// Odd while a thread of the kernel runs.
    turns: AtomicU64,
    /// The turn that is to be ended.
    requested: AtomicU64,
    block: AtomicU64,
    thread: AtomicU32,
    os_thread: OsThread,
}

/// Lists what the calling thread of the OS runs, until it is dropped.
pub(crate) struct Spinning {
    running: Arc<Running>,
    before: *const Running,
}

/// What was seen of a thread of the OS.
struct Seen {
    running: Arc<Running>,
    turns: u64,
    /// How long it has been in the same turn.
    time: Duration,
}

static ALL: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

thread_local! {
    /// What this thread of the OS runs.
    static RUNNING: Cell<*const Running> = const { Cell::new(ptr::null()) };
}

fn all() -> MutexGuard<'static, Vec<Seen>> {
    // Ignores poisoning: the list is valid between statements.
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Spinning {
    /// Lists a launch, whose threads are ended if there is a `limit` other than zero.
    pub(crate) fn new(kernel: &'static str, config: LaunchConfig, limit: Duration) -> Self {
        let running = Arc::new(Running {
            kernel,
            config,
            limit,
            turns: AtomicU64::new(0),
            requested: AtomicU64::new(0),
            block: AtomicU64::new(0),
            thread: AtomicU32::new(0),
            os_thread: this_thread(),
        });
        if !limit.is_zero() {
            static WATCH: Once = Once::new();
            WATCH.call_once(|| {
                let builder = std::thread::Builder::new().name("simulator's watch".into());
                // Without the thread, a launch may hang.
                let _ = builder.spawn(watch);
            });
            all().push(Seen {
                running: running.clone(),
                turns: 0,
                time: Duration::ZERO,
            });
        }
        let before = RUNNING.replace(Arc::as_ptr(&running));
        Self { running, before }
    }

    /// Notes that a thread of the kernel runs, until the result is dropped.
    #[inline]
    pub(crate) fn turn(&self, block: u64, thread: u32) -> Turn<'_> {
        let running = &*self.running;
        running.block.store(block, Relaxed);
        running.thread.store(thread, Relaxed);
        running.count_turn();
        Turn(running)
    }
}

/// The time in which a thread of the kernel runs. Ends when it is dropped, also by a panic.
pub(crate) struct Turn<'a>(&'a Running);

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.count_turn();
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        if !self.running.limit.is_zero() {
            all().retain(|seen| !Arc::ptr_eq(&seen.running, &self.running));
        }
        RUNNING.set(self.before);
    }
}

impl Running {
    /// Counts the begin or the end of a turn.
    #[inline]
    fn count_turn(&self) {
        // Nothing else writes it.
        let turns = self.turns.load(Relaxed);
        self.turns.store(turns + 1, Relaxed);
    }

    fn place(&self) -> Place {
        Place {
            kernel: self.kernel,
            block: index_of(self.block.load(Relaxed), self.config.grid),
            thread: index_of(self.thread.load(Relaxed).into(), self.config.block),
        }
    }
}

/// Returns the thread that this thread of the OS runs.
pub(crate) fn place() -> Option<Place> {
    // SAFETY: null, or what this thread runs, which it owns until it has set another value.
    let running = unsafe { RUNNING.get().as_ref() };
    running.map(Running::place)
}

fn watch() {
    let mut last = Instant::now();
    loop {
        std::thread::sleep(POLL);
        // The process may have been stopped meanwhile.
        let passed = last.elapsed().min(2 * POLL);
        last = Instant::now();
        for seen in &mut *all() {
            let turns = seen.running.turns.load(Relaxed);
            if turns != seen.turns || turns.is_multiple_of(2) {
                seen.turns = turns;
                seen.time = Duration::ZERO;
                continue;
            }
            seen.time += passed;
            let running = &*seen.running;
            if seen.time < running.limit {
                continue;
            }
            let is_requested = running.requested.swap(turns, SeqCst) == turns;
            if !is_requested && request(&running.os_thread) {
                continue;
            }
            if !is_requested || seen.time >= running.limit + GRACE {
                let (place, seconds) = (running.place(), running.limit.as_secs_f64());
                eprintln!(
                    "the simulator: {place} ran for {seconds} s without waiting for others, and cannot be \
                     ended: a loop around an atomic needs thread::nanosleep, which lets others run"
                );
                std::process::abort();
            }
        }
    }
}

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
mod system {
    use super::{RUNNING, Relaxed, SeqCst};

    pub(super) type OsThread = libc::pthread_t;

    /// Its address tells the requests from other signals.
    static REQUEST: u8 = 0;

    pub(super) fn this_thread() -> OsThread {
        // SAFETY: returns the handle of the calling thread.
        unsafe { libc::pthread_self() }
    }

    /// Asks a thread to end the turn that it is in.
    pub(super) fn request(thread: &OsThread) -> bool {
        let value = libc::sigval {
            sival_ptr: (&raw const REQUEST).cast_mut().cast(),
        };
        // SAFETY: the thread lives, since it takes itself off the list, which is locked. The signal has
        // a handler, which was installed before the launch began.
        unsafe { libc::pthread_sigqueue(*thread, libc::SIGSEGV, value) == 0 }
    }

    /// Returns whether a signal asks for the end of the present turn; `None` for other signals.
    pub(crate) fn is_request(information: &libc::siginfo_t) -> Option<bool> {
        if information.si_code != libc::SI_QUEUE {
            return None;
        }
        // SAFETY: queued signals have a value, of which any bits are a pointer.
        let value = unsafe { information.si_value().sival_ptr };
        if !std::ptr::addr_eq(value, &raw const REQUEST) {
            return None;
        }
        // SAFETY: null, or what this thread runs, which it owns until it has set another value.
        let running = unsafe { RUNNING.get().as_ref() };
        Some(
            running.is_some_and(|running| {
                running.requested.load(SeqCst) == running.turns.load(Relaxed)
            }),
        )
    }
}

#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
mod system {
    pub(super) struct OsThread;

    pub(super) fn this_thread() -> OsThread {
        OsThread
    }

    pub(super) fn request(_thread: &OsThread) -> bool {
        false
    }

    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        not(miri)
    ))]
    pub(crate) fn is_request(_information: &libc::siginfo_t) -> Option<bool> {
        None
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
pub(crate) use system::is_request;
use system::{OsThread, request, this_thread};

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    /// A wait after a panic is no turn.
    #[test]
    fn panics_end_turns() {
        let spinning = Spinning::new("kernel", LaunchConfig::new(1, 1), Duration::ZERO);
        let turns = || spinning.running.turns.load(Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _turn = spinning.turn(0, 0);
            assert_eq!(turns(), 1);
            resume_unwind(Box::new(()));
        }));
        assert!(result.is_err());
        assert_eq!(turns(), 2);
    }
}

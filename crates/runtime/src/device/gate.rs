//! Keeps the launches of graphs apart from other work in the simulator.
//!
//! On a GPU a stream orders them. In the simulator, several threads may work at the same time on
//! buffers of which each is borrowed properly; but the launch of a graph writes to buffers that it
//! shares with other owners.

use super::lock;
use crate::sync::{Condvar, Mutex};
use crate::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{LazyLock, PoisonError};

/// The operation in error messages.
pub(super) const LAUNCH: &str = "launch of a graph";

/// The threads that run the kernels of graphs. The threads of the callers' pool may all wait until
/// the launch of a graph has ended.
static POOL: LazyLock<Result<ThreadPool, String>> = LazyLock::new(|| {
    let builder = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads());
    let named = builder.thread_name(|number| format!("gridstride graph {number}"));
    named.build().map_err(|error| error.to_string())
});

/// Lets either any number of threads work, or one launch a graph.
///
/// A thread that works may enter again to work: rayon gives it other tasks while it waits for the
/// blocks of a kernel. Launches that wait therefore do not hold off work.
#[derive(Default)]
pub struct Gate {
    inside: Mutex<Inside>,
    left: Condvar,
}

#[derive(Default)]
struct Inside {
    /// The number of times that threads have entered to work and not left.
    workers: usize,
    is_launching: bool,
}

/// Work on buffers, until it is dropped.
pub struct Working<'a>(&'a Gate);

/// The launch of a graph, until it is dropped.
struct Launching<'a>(&'a Gate);

impl Gate {
    /// Waits until `may_enter`, and then calls `enter`.
    fn enter(&self, may_enter: impl Fn(&Inside) -> bool, enter: impl FnOnce(&mut Inside)) {
        let outside = |inside: &mut Inside| !may_enter(inside);
        let entered = self.left.wait_while(lock(&self.inside), outside);
        enter(&mut entered.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until no thread launches a graph.
    pub fn work(&self) -> Working<'_> {
        self.enter(|inside| !inside.is_launching, |inside| inside.workers += 1);
        Working(self)
    }

    /// Waits until no thread works or launches a graph, and runs the steps of a graph, which do not
    /// enter the gate. Fails on a thread of rayon: the launch may be a task that rayon gave to a
    /// thread that works, and would wait for itself.
    pub fn launch(&self, steps: impl FnOnce() -> Result<()> + Send) -> Result<()> {
        if rayon::current_thread_index().is_some() {
            let message = "the simulator launches graphs on no thread of rayon, whose other tasks \
                           may have to finish first: launch the graph outside of parallel \
                           iterators and thread pools";
            return Err(Error::input(LAUNCH, message));
        }
        let pool = POOL.as_ref().map_err(|reason| Error::Unavailable {
            device: "simulator".into(),
            reason: format!("no threads could be started to run a graph: {reason}"),
        })?;
        let _launching = self.launching();
        pool.install(steps)
    }

    /// Waits until no thread works or launches a graph.
    fn launching(&self) -> Launching<'_> {
        self.enter(
            |inside| inside.workers == 0 && !inside.is_launching,
            |inside| inside.is_launching = true,
        );
        Launching(self)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut inside = lock(&self.0.inside);
        inside.workers -= 1;
        if inside.workers == 0 {
            self.0.left.notify_all();
        }
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        lock(&self.0.inside).is_launching = false;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    #[test]
    fn launches_are_alone() {
        let (gate, working, launching) =
            (Gate::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for number in 0..6 {
                let (gate, working, launching) = (&gate, &working, &launching);
                scope.spawn(move || {
                    for _ in 0..200 {
                        if number < 2 {
                            let steps = || {
                                assert_eq!(launching.fetch_add(1, SeqCst), 0);
                                assert_eq!(working.load(SeqCst), 0);
                                launching.fetch_sub(1, SeqCst);
                                Ok(())
                            };
                            gate.launch(steps).unwrap();
                        } else {
                            let _working = (gate.work(), gate.work());
                            working.fetch_add(1, SeqCst);
                            assert_eq!(launching.load(SeqCst), 0);
                            working.fetch_sub(1, SeqCst);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn launches_are_refused_on_threads_of_rayon() {
        let gate = Gate::default();
        let (first, second) = rayon::join(|| gate.launch(|| Ok(())), || gate.launch(|| Ok(())));
        for refused in [first, second] {
            assert!(matches!(refused, Err(Error::InvalidInput { .. })));
        }
        // A failure ends the launch.
        let error = || Err(Error::input(LAUNCH, "on purpose"));
        assert!(gate.launch(error).is_err());
        let _working = gate.work();
    }
}

#[cfg(all(test, shuttle))]
mod model {
    use super::*;
    use crate::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use crate::sync::thread;
    use std::sync::Arc;

    /// Two threads work, of which one enters twice, and two launch: all of them end, and a launch
    /// is alone.
    #[test]
    fn launches_are_alone() {
        let model = || {
            let state = Arc::new((Gate::default(), AtomicUsize::new(0), AtomicUsize::new(0)));
            let threads = [0, 1, 2, 3].map(|number| {
                let state = state.clone();
                thread::spawn(move || {
                    let (gate, working, launching) = &*state;
                    if number < 2 {
                        let _launching = gate.launching();
                        assert_eq!(launching.fetch_add(1, SeqCst), 0);
                        assert_eq!(working.load(SeqCst), 0);
                        launching.fetch_sub(1, SeqCst);
                    } else {
                        let _working = gate.work();
                        working.fetch_add(1, SeqCst);
                        let _again = (number == 3).then(|| gate.work());
                        assert_eq!(launching.load(SeqCst), 0);
                        working.fetch_sub(1, SeqCst);
                    }
                })
            });
            for thread in threads {
                thread.join().expect("the thread ends");
            }
        };
        shuttle::check_random(model, 2000);
    }
}

//! Keeps the launches of graphs apart from other work in the simulator.
//!
//! On a GPU a stream orders them. In the simulator, several threads may work at the same time on
//! buffers of which each is borrowed properly; but the launch of a graph writes to buffers that it
//! shares with other owners.

use super::lock;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Lets either any number of threads work, or one launch a graph. A thread may enter again: rayon
/// gives it other tasks while it waits for the blocks of a kernel.
#[derive(Default)]
pub struct Gate {
    inside: Mutex<Inside>,
    left: Condvar,
}

#[derive(Default)]
struct Inside {
    /// How often each thread has entered to work.
    workers: HashMap<ThreadId, usize>,
    /// The thread that launches graphs, and how often it has entered to do so.
    launcher: Option<(ThreadId, usize)>,
}

/// Work on buffers, until it is dropped.
pub struct Working<'a>(&'a Gate);

/// The launch of a graph, until it is dropped.
pub struct Launching<'a>(&'a Gate);

impl Gate {
    /// Waits until `may_enter`, which gets the calling thread.
    fn wait(&self, may_enter: impl Fn(&Inside, ThreadId) -> bool) -> MutexGuard<'_, Inside> {
        let own = thread::current().id();
        let outside = |inside: &mut Inside| !may_enter(inside, own);
        let entered = self.left.wait_while(lock(&self.inside), outside);
        entered.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread launches a graph.
    pub fn work(&self) -> Working<'_> {
        let may_enter =
            |inside: &Inside, own| inside.launcher.is_none_or(|(launcher, _)| launcher == own);
        let mut inside = self.wait(may_enter);
        *inside.workers.entry(thread::current().id()).or_default() += 1;
        Working(self)
    }

    /// Waits until no other thread works or launches a graph.
    pub fn launch(&self) -> Launching<'_> {
        let may_enter = |inside: &Inside, own| {
            inside.workers.keys().all(|worker| *worker == own)
                && inside.launcher.is_none_or(|(launcher, _)| launcher == own)
        };
        let mut inside = self.wait(may_enter);
        let own = (thread::current().id(), 0);
        inside.launcher.get_or_insert(own).1 += 1;
        Launching(self)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut inside = lock(&self.0.inside);
        let own = thread::current().id();
        let entered = inside.workers.get_mut(&own).expect("this thread works");
        *entered -= 1;
        if *entered == 0 {
            inside.workers.remove(&own);
            self.0.left.notify_all();
        }
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        let mut inside = lock(&self.0.inside);
        let entered = &mut inside.launcher.as_mut().expect("this thread launches").1;
        *entered -= 1;
        if *entered == 0 {
            inside.launcher = None;
            self.0.left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

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
                            let _launching = gate.launch();
                            // Also from within.
                            let _again = (gate.launch(), gate.work());
                            assert_eq!(launching.fetch_add(1, SeqCst), 0);
                            assert_eq!(working.load(SeqCst), 0);
                            launching.fetch_sub(1, SeqCst);
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
        // A thread that works may launch: rayon gave it the task.
        let _working = gate.work();
        let _launching = gate.launch();
    }
}

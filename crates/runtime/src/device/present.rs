//! The capture of a graph that a thread does, whatever it records.

use std::any::Any;
use std::cell::RefCell;

thread_local! {
    static PRESENT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Makes `capture` the capture of this thread.
pub fn begin(capture: impl Any) {
    PRESENT.set(Some(Box::new(capture)));
}

/// Returns this thread's capture, which then is over. Drop it outside of [`with`]: buffers and
/// streams look for a capture when they are dropped.
pub fn end() -> Option<Box<dyn Any>> {
    PRESENT.take()
}

/// Calls `f` with this thread's capture, if there is one. A thread that ends has none: destructors
/// of other thread-local values may still work on devices.
pub fn with<R>(f: impl FnOnce(&mut dyn Any) -> R) -> Option<R> {
    let called = PRESENT.try_with(|present| present.borrow_mut().as_deref_mut().map(f));
    called.ok().flatten()
}

/// Whether this thread captures a graph.
pub fn is_present() -> bool {
    with(|_| ()).is_some()
}

/// Sets this thread's capture aside until it is dropped.
///
/// A thread that waits for tasks of rayon runs tasks of other calls meanwhile, whose work is no part
/// of the capture.
#[doc(hidden)]
pub struct Aside(Option<Box<dyn Any>>);

impl Aside {
    /// Sets the capture aside, if this thread has one.
    #[expect(clippy::new_without_default, reason = "a guard has no default")]
    pub fn new() -> Aside {
        Aside(PRESENT.try_with(RefCell::take).ok().flatten())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(capture) = self.0.take() {
            PRESENT.set(Some(capture));
        }
    }
}

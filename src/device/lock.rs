//! Locking.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks and ignores poisoning: the values of this crate are valid between statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

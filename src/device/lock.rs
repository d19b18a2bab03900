//! Locks that ignore poisoning.

use crate::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// Locks and ignores poisoning: the values of this crate are valid between statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the value of a mutex, and ignores poisoning as [`lock`] does.
pub(crate) fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

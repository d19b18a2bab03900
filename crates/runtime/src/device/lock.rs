//! Locks that ignore poisoning.

use crate::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// Locks and ignores poisoning: the values of this crate are valid between statements.
#[doc(hidden)]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value that only `&mut` gives access to, so that a type with it is `Sync` though the value is
/// not. The mutex is never locked.
#[derive(Debug)]
#[doc(hidden)]
pub struct Unshared<T>(std::sync::Mutex<T>);

impl<T> Unshared<T> {
    #[doc(hidden)]
    pub fn new(value: T) -> Unshared<T> {
        Unshared(std::sync::Mutex::new(value))
    }

    #[doc(hidden)]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the value of a mutex, and ignores poisoning as [`lock`] does.
#[doc(hidden)]
pub fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

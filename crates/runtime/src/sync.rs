//! Locks, atomic numbers and threads: those of std, or in the models those of shuttle.
//!
//! A model is a test in a module `model`, which `cargo xtask models` compiles with `--cfg shuttle`
//! and runs under many orders of its threads. The other tests do not run in that build, because
//! shuttle's locks work only inside of a model.

#[cfg(not(all(test, shuttle)))]
pub use std::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
};

#[cfg(all(test, shuttle))]
pub use shuttle::{
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
};

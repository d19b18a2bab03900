//! Calls of the library without Python's global lock.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;
use std::{process, thread};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::OrRaise;

/// Calls with fewer operations take less than about a tenth of a second, and have no thread of
/// their own, since starting one takes 20 µs.
const LONG: f64 = 1e8;

/// The time between two looks at Python's signals.
pub const POLL: Duration = Duration::from_millis(50);

/// Runs `work` without the global lock, so that other threads of Python run meanwhile.
///
/// A call of many `operations` runs on a thread of its own, and this thread waits for it and for
/// signals. The library's calls cannot be stopped: after Ctrl-C this function returns the
/// exception, and the call goes on. Therefore `work` owns its arguments. Errors name the
/// `function`.
pub fn call<T: Send + 'static>(
    py: Python<'_>,
    function: &'static str,
    operations: f64,
    work: impl FnOnce() -> gridstride::Result<T> + Send + 'static,
) -> PyResult<T> {
    require_threads()?;
    let result = match operations < LONG {
        true => py.detach(work),
        false => py.detach(|| interruptible(work))?,
    };
    result.or_raise(py, function)
}

/// Fails in a process that was forked from one with calls. It has none of the threads of the CPU's
/// pool, so that its calls would wait for ever.
pub fn require_threads() -> PyResult<()> {
    static FIRST: OnceLock<u32> = OnceLock::new();
    if *FIRST.get_or_init(process::id) == process::id() {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "this process was forked after calls of gridstride, whose threads it does not have: start processes \
         with the method 'spawn' or 'forkserver'",
    ))
}

/// The threads that read arguments. The library's own may be busy with a call that Ctrl-C has ended
/// for Python.
pub fn threads() -> &'static ThreadPool {
    static THREADS: OnceLock<ThreadPool> = OnceLock::new();
    THREADS.get_or_init(|| {
        let threads = ThreadPoolBuilder::new().thread_name(|_| "gridstride-read".into());
        threads.build().expect("the system has threads")
    })
}

fn interruptible<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    let thread = thread::Builder::new().name("gridstride-call".into());
    let thread = thread
        .spawn(move || {
            // Fails if a signal has ended the wait.
            let _ = sender.send(work());
        })
        .map_err(|error| PyRuntimeError::new_err(format!("a call needs a thread: {error}")))?;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            // The call has panicked.
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(payload) => resume_unwind(payload),
                Ok(()) => unreachable!("the thread sends a result"),
            },
        }
    }
}

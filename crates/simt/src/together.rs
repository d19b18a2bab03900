//! Operations of whole warps and warp groups, which exchange more than a word.

use crate::error::SimError;
use crate::lane::{State, Thread, WarpCall};
use crate::warp::is_same_operation;
use cuda_std::host::Perform;
use cuda_std::warp::WARP_SIZE;

/// Threads of a warp group.
pub(crate) const GROUP_SIZE: u32 = 4 * WARP_SIZE;

/// What a thread that waits hands in; both pointers are good until it goes on or is unwound.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    words: *mut [u32],
    perform: *const Perform<'static>,
}

impl Part {
    pub(crate) fn new(words: &mut [u32], perform: &Perform<'_>) -> Self {
        // SAFETY: this only forgets the lifetime, of a pointer that is used while the thread waits.
        let perform =
            unsafe { std::mem::transmute::<*const Perform<'_>, *const Perform<'static>>(perform) };
        Self { words, perform }
    }
}

/// Performs the operation of a warp group if all its threads have arrived, and adds their indices, the
/// first of which is `first`, to `runnable`.
pub(crate) fn complete(
    group: &[Thread<'_>],
    first: u32,
    runnable: &mut Vec<u32>,
) -> Result<(), SimError> {
    let [thread, ..] = group else { return Ok(()) };
    if let State::Warp(call) = thread.state.get()
        && call.operation.threads() == GROUP_SIZE
        && group.iter().all(|thread| is_in(thread, &call))
    {
        perform(group, &call)?;
        runnable.extend((first..).take(group.len()));
    }
    Ok(())
}

fn is_in(thread: &Thread<'_>, call: &WarpCall) -> bool {
    matches!(thread.state.get(), State::Warp(other) if is_same_operation(call, &other))
}

/// Performs the operation in which all of `threads` wait.
pub(crate) fn perform(threads: &[Thread<'_>], call: &WarpCall) -> Result<(), SimError> {
    let parts = threads.iter().filter_map(|thread| thread.part.get());
    let mut perform = None;
    let mut words: Vec<&mut [u32]> = parts
        .map(|part| {
            perform.get_or_insert(part.perform);
            // SAFETY: the thread waits in `together`, which has borrowed the words for as long; each
            // thread has its own.
            unsafe { &mut *part.words }
        })
        .collect();
    if let Some(perform) = perform {
        // SAFETY: the thread that it is of waits in `together`, which has borrowed it for as long.
        let result = unsafe { &*perform }(&mut words);
        result.map_err(|(index, misuse)| SimError::Misuse {
            place: threads[index].place(),
            misuse,
            site: call.site,
        })?;
    }
    for thread in threads {
        thread.state.set(State::Runnable);
    }
    Ok(())
}

/// Why the operation that `waiting` of `group` waits in, as `call`, cannot be performed.
pub(crate) fn missing(group: &[Thread<'_>], waiting: &Thread<'_>, call: &WarpCall) -> SimError {
    let missing = group.iter().filter(|thread| !is_in(thread, call));
    SimError::ThreadsMissing {
        place: waiting.place(),
        operation: call.operation,
        site: call.site,
        missing: missing
            .filter_map(|thread| Some((thread.place().thread, thread.state.get().activity()?)))
            .collect(),
    }
}

//! Operations of warp groups.

use crate::collective;
use crate::error::SimError;
use crate::state::{State, WarpCall};
use crate::thread::Thread;
use cuda_std::warp::WARP_SIZE;

/// The number of threads of a warp group.
pub(crate) const GROUP_SIZE: u32 = 4 * WARP_SIZE;

/// Performs the operation of a warp group if all its threads have arrived, and adds their indices
/// to `runnable`. The first thread has the index `first`.
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
        collective::perform(group, &call)?;
        runnable.extend((first..).take(group.len()));
    }
    Ok(())
}

fn is_in(thread: &Thread<'_>, call: &WarpCall) -> bool {
    matches!(thread.state.get(), State::Warp(other) if call.is_same_operation(&other))
}

/// Returns the error of an operation, called by `waiting` as `call`, that others never reach.
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

//! Collective operations of whole warps and warp groups that exchange more than a word.

use crate::error::SimError;
use crate::state::{State, WarpCall};
use crate::thread::Thread;

/// Performs the operation in which all of `threads` wait.
pub(crate) fn perform(threads: &[Thread<'_>], call: &WarpCall) -> Result<(), SimError> {
    let parts = threads.iter().filter_map(|thread| thread.part.get());
    let mut perform = None;
    let mut words: Vec<&mut [u32]> = parts
        .map(|part| {
            perform.get_or_insert(part.perform);
            // SAFETY: the thread waits in `collective`, which borrows the words meanwhile. Each
            // thread has its own words.
            unsafe { &mut *part.words }
        })
        .collect();
    if let Some(perform) = perform {
        // SAFETY: its thread waits in `collective`, which borrows the function meanwhile.
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

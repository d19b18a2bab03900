//! The stacks of simulated threads. They are kept for later launches, since mapping a stack takes
//! as long as a thousand switches.

use corosensei::stack::DefaultStack;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest number of stacks of one launch, and of unused stacks.
///
/// A stack takes two mappings. Linux by default allows a process 65 530 mappings.
pub(crate) const MAX_STACKS: usize = 8192;

/// Unused stacks by size.
static POOL: Mutex<Option<HashMap<usize, Vec<DefaultStack>>>> = Mutex::new(None);

fn pool() -> MutexGuard<'static, Option<HashMap<usize, Vec<DefaultStack>>>> {
    // Ignores poisoning: the pool is valid between statements.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stacks of one size, which return to the pool when dropped.
pub(crate) struct Stacks {
    bytes: usize,
    stacks: Vec<DefaultStack>,
}

impl Stacks {
    /// Takes `count` stacks of at least `bytes` bytes from the pool, or makes them.
    pub(crate) fn take(count: usize, bytes: usize) -> io::Result<Self> {
        // corosensei panics if the size with its pages exceeds the address space.
        if isize::try_from(bytes).is_err() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let mut stacks = Vec::with_capacity(count);
        if let Some(unused) = pool().get_or_insert_default().get_mut(&bytes) {
            let kept = unused.len().saturating_sub(count);
            stacks.extend(unused.drain(kept..));
        }
        let mut taken = Self { bytes, stacks };
        while taken.stacks.len() < count {
            taken.stacks.push(DefaultStack::new(bytes)?);
        }
        Ok(taken)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut DefaultStack> {
        self.stacks.iter_mut()
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        let mut pool = pool();
        let pool = pool.get_or_insert_default();
        let kept: usize = pool.values().map(Vec::len).sum();
        self.stacks.truncate(MAX_STACKS.saturating_sub(kept));
        pool.entry(self.bytes).or_default().append(&mut self.stacks);
    }
}

//! The states of threads.

use crate::error::{Activity, Site, is_same_site};
use cuda_std::host::{Perform, WarpOperation};

/// A call of a warp operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpCall {
    pub(crate) operation: WarpOperation,
    pub(crate) mask: u32,
    pub(crate) value: u32,
    pub(crate) argument: u32,
    pub(crate) site: Site,
}

impl WarpCall {
    /// Whether two calls are the same operation, as the calls of all lanes of a mask must be.
    pub(crate) fn is_same_operation(&self, other: &Self) -> bool {
        self.operation == other.operation
            && self.mask == other.mask
            && is_same_site(self.site, other.site)
    }
}

/// The state of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Waits for its turn.
    Runnable,
    Barrier(Site),
    Warp(WarpCall),
    /// Waits until a thread of this block or another writes something, or for an mbarrier at this
    /// place of the dynamic shared memory.
    Paused(Site, Option<usize>),
    Finished,
}

impl State {
    pub(crate) fn activity(self) -> Option<Activity> {
        match self {
            Self::Runnable => None,
            Self::Paused(site, _) => Some(Activity::Waiting(site)),
            Self::Finished => Some(Activity::Finished),
            Self::Barrier(site) => Some(Activity::AtBarrier(site)),
            Self::Warp(call) => Some(Activity::InWarpOperation {
                operation: call.operation,
                mask: call.mask,
                site: call.site,
            }),
        }
    }
}

/// The arguments of a thread that waits in a collective operation. Both pointers are valid until
/// the thread continues or is unwound.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) words: *mut [u32],
    pub(crate) perform: *const Perform<'static>,
}

impl Part {
    pub(crate) fn new(words: &mut [u32], perform: &Perform<'_>) -> Self {
        // SAFETY: only the lifetime changes, and the pointer is used only while the thread waits.
        let perform =
            unsafe { std::mem::transmute::<*const Perform<'_>, *const Perform<'static>>(perform) };
        Self { words, perform }
    }
}

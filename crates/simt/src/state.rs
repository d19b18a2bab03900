//! What a thread waits for, and what it hands in meanwhile.

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
    /// Whether two calls are the same operation: what the lanes of a mask must agree on.
    pub(crate) fn is_same_operation(&self, other: &Self) -> bool {
        self.operation == other.operation
            && self.mask == other.mask
            && is_same_site(self.site, other.site)
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// For its turn.
    Runnable,
    Barrier(Site),
    Warp(WarpCall),
    /// For something that a thread of another block, or of this one, writes.
    Paused(Site),
    Finished,
}

impl State {
    pub(crate) fn activity(self) -> Option<Activity> {
        match self {
            Self::Runnable => None,
            Self::Paused(site) => Some(Activity::Waiting(site)),
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

/// What a thread that waits hands in; both pointers are good until it goes on or is unwound.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) words: *mut [u32],
    pub(crate) perform: *const Perform<'static>,
}

impl Part {
    pub(crate) fn new(words: &mut [u32], perform: &Perform<'_>) -> Self {
        // SAFETY: this only forgets the lifetime, of a pointer that is used while the thread waits.
        let perform =
            unsafe { std::mem::transmute::<*const Perform<'_>, *const Perform<'static>>(perform) };
        Self { words, perform }
    }
}

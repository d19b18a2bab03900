//! The report of a race.

use crate::source;
use cuda_std::host::{AccessKind, AccessSite, Dim3};
use std::fmt;

/// Two accesses of different threads to the same memory, at least one of them a write and at least
/// one not atomic, that nothing orders.
#[derive(Clone, PartialEq, Eq)]
pub struct Race {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Whether it is shared memory, and not global memory.
    pub is_shared: bool,
    /// The bytes of the second access.
    pub bytes: usize,
    /// The access that the simulator made first.
    pub first: RaceAccess,
    /// The other access.
    pub second: RaceAccess,
}

/// One of the accesses of a [`Race`].
#[derive(Clone, PartialEq, Eq)]
pub struct RaceAccess {
    /// The block's index in the grid.
    pub block: Dim3,
    /// The thread's index in the block.
    pub thread: Dim3,
    /// The kind of the access.
    pub kind: AccessKind,
    /// File and line.
    pub site: String,
}

impl fmt::Display for RaceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            block,
            thread,
            kind,
            site,
        } = self;
        let verb = match kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::AtomicRead => "atomically reads",
            AccessKind::AtomicWrite => "atomically writes",
        };
        write!(f, "block {block}, thread {thread} {verb} at {site}")
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            is_shared,
            bytes,
            first,
            second,
        } = self;
        let memory = if *is_shared { "shared" } else { "global" };
        let unit = if *bytes == 1 { "byte" } else { "bytes" };
        let is_plain =
            |access: &RaceAccess| matches!(access.kind, AccessKind::Read | AccessKind::Write);
        let remedy = match () {
            () if is_plain(first) != is_plain(second) => {
                "make both accesses atomic, or order them with a barrier or a fence on each side of \
                 an atomic flag"
            }
            () if first.block == second.block => {
                "put a barrier between them (sync_threads, or sync_warp within a warp)"
            }
            () => {
                "no barrier orders blocks: use atomics, a fence on each side of an atomic flag, or \
                 two launches"
            }
        };
        write!(
            f,
            "kernel `{kernel}`: race on {bytes} {unit} of {memory} memory: {first}, and {second}, in \
             no order; {remedy}"
        )
    }
}

/// Returns file and line of an access, outside of the libraries that kernels call.
pub(crate) fn resolve(site: AccessSite) -> String {
    match site {
        AccessSite::Call(location) => location.to_string(),
        AccessSite::Code(address) => source::line(address),
    }
}

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
            () if line_of(&first.site) == line_of(&second.site) && first.kind != second.kind => {
                "if the line changes a value of several threads, such as `count += 1`, use an atomic \
                 function (cuda_std::atomic); if one thread needs what another writes there, put a \
                 barrier between them, or use two launches for threads of two blocks"
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

/// Returns a site without the column, which that of a call has.
fn line_of(site: &str) -> &str {
    let is_line = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match site.rsplit_once(':') {
        Some((rest, _)) if rest.rsplit_once(':').is_some_and(|(_, last)| is_line(last)) => rest,
        _ => site,
    }
}

/// Returns file and line of an access, outside of the libraries that kernels call.
pub(crate) fn resolve(site: AccessSite) -> String {
    match site {
        AccessSite::Call(location) => location.to_string(),
        AccessSite::Code(address) => source::line(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kinds: [AccessKind; 2], blocks: [u32; 2], sites: [&str; 2]) -> String {
        let access = |i: usize| RaceAccess {
            block: blocks[i].into(),
            thread: (i as u32).into(),
            kind: kinds[i],
            site: sites[i].to_owned(),
        };
        let race = Race {
            kernel: "k",
            is_shared: false,
            bytes: 4,
            first: access(0),
            second: access(1),
        };
        race.to_string()
    }

    #[test]
    fn the_advice_fits_the_accesses() {
        use AccessKind::{AtomicWrite, Read, Write};
        for (kinds, blocks, sites, advice) in [
            // `count += 1`, in a block and in two.
            (
                [Write, Read],
                [0, 0],
                ["a:1", "a:1"],
                "use an atomic function",
            ),
            (
                [Write, Read],
                [0, 0],
                ["a:1:20", "a:1:9"],
                "use an atomic function",
            ),
            (
                [Read, Write],
                [0, 1],
                ["a:1", "a:1"],
                "use an atomic function",
            ),
            (
                [Write, Write],
                [0, 0],
                ["a:1", "a:1"],
                "; put a barrier between them",
            ),
            (
                [Write, Read],
                [0, 0],
                ["a:1", "a:2"],
                "; put a barrier between them",
            ),
            (
                [Write, Read],
                [0, 1],
                ["a:1", "a:2"],
                "no barrier orders blocks",
            ),
            (
                [AtomicWrite, Read],
                [0, 0],
                ["a:1", "a:1"],
                "make both accesses atomic",
            ),
        ] {
            let message = message(kinds, blocks, sites);
            assert!(message.contains(advice), "{message}");
        }
    }
}

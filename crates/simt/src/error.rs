//! What goes wrong in a launch.

use cuda_std::host::{BlockBound, Dim3, LaunchError, Misuse, WarpOperation};
use std::fmt;
use std::panic::Location;

/// A place in the source of a kernel.
pub type Site = &'static Location<'static>;

/// Whether two calls are made at the same place, which may have several copies in the program.
#[inline]
pub(crate) fn is_same_site(a: Site, b: Site) -> bool {
    // By address first: that decides nearly always, and comparing texts is slow.
    std::ptr::eq(a, b) || a == b
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The block's index in the grid.
    pub block: Dim3,
    /// The thread's index in the block.
    pub thread: Dim3,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            block,
            thread,
        } = self;
        write!(f, "kernel `{kernel}`, block {block}, thread {thread}")
    }
}

/// What a thread does that others wait for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// It has returned from the kernel.
    Finished,
    /// It waits at the block's barrier.
    AtBarrier(Site),
    /// It waits in a warp operation.
    InWarpOperation {
        /// The operation.
        operation: WarpOperation,
        /// The lanes that it waits for.
        mask: u32,
        /// Where it was called.
        site: Site,
    },
    /// It waits for what another thread writes, in `thread::nanosleep`.
    Waiting(Site),
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "has finished"),
            Self::AtBarrier(site) => write!(f, "waits at the barrier at {site}"),
            Self::Waiting(site) => write!(f, "waits for what others write at {site}"),
            Self::InWarpOperation {
                operation,
                mask,
                site,
            } => write!(f, "waits in {operation} with mask {mask:#010x} at {site}"),
        }
    }
}

/// Why a launch in the simulator failed.
///
/// Those up to [`Stacks`](Self::Stacks) come before any thread runs. The others are mistakes of the
/// kernel; on a GPU they hang, corrupt memory or go unnoticed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// A dimension of the grid or of the block is 0.
    #[error("kernel `{kernel}` cannot be launched: {what} is 0")]
    ZeroSize {
        /// The kernel's name.
        kernel: &'static str,
        /// The dimension.
        what: &'static str,
    },

    /// More of something than the device has.
    #[error("kernel `{kernel}` cannot be launched: {what} is {value}, and the limit is {limit}")]
    LimitExceeded {
        /// The kernel's name.
        kernel: &'static str,
        /// What there is too much of.
        what: &'static str,
        /// How much was asked for.
        value: u64,
        /// How much there may be.
        limit: u64,
    },

    /// The block is not one that the kernel was written for.
    #[error("kernel `{kernel}` cannot be launched with blocks of {block}: it {}", describe(.bound))]
    WrongBlock {
        /// The kernel's name.
        kernel: &'static str,
        /// The block asked for.
        block: Dim3,
        /// The bound of the kernel.
        bound: BlockBound,
    },

    /// A kernel launched a kernel.
    #[error("kernel `{kernel}` cannot be launched from within a kernel")]
    NestedLaunch {
        /// The name of the kernel that should have been launched.
        kernel: &'static str,
    },

    /// The operating system gave no memory for the threads' stacks.
    #[error("kernel `{kernel}`: no memory for {threads} stacks of {bytes} bytes: {source}")]
    Stacks {
        /// The kernel's name.
        kernel: &'static str,
        /// The threads of a block.
        threads: usize,
        /// The size of a stack.
        bytes: usize,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// Threads of a block wait at different barriers.
    #[error(
        "kernel `{kernel}`, block {block}: thread {} waits at the barrier at {}, but thread {} at \
         the one at {}; all threads of a block must reach the same barrier",
        .first.0, .first.1, .second.0, .second.1
    )]
    DivergentBarrier {
        /// The kernel's name.
        kernel: &'static str,
        /// The block's index in the grid.
        block: Dim3,
        /// A thread, and where it waits.
        first: (Dim3, Site),
        /// Another thread, and where that one waits.
        second: (Dim3, Site),
    },

    /// Threads of a block have finished while others wait at a barrier.
    ///
    /// GPUs since compute capability 7.0 let the others pass, but the rule of CUDA, and this
    /// simulator's, is that all threads of a block reach every barrier.
    #[error(
        "{place} waits at the barrier at {site}, but {} without reaching it",
        list_finished(.finished)
    )]
    BarrierNotReached {
        /// A thread that waits.
        place: Place,
        /// Where it waits.
        site: Site,
        /// The threads of the block that have finished.
        finished: Vec<Dim3>,
    },

    /// Threads wait for what another block writes, and no block does anything else.
    #[error(
        "{place} waits at {site} for what another thread writes, but all blocks that run wait; a block may wait \
         only for one that is known to have started"
    )]
    AllWait {
        /// A thread that waits.
        place: Place,
        /// Where it waits.
        site: Site,
    },

    /// Lanes in the mask of a warp operation do not take part in it.
    #[error(
        "{place} waits in {operation} with mask {mask:#010x} at {site}, but {}",
        list_missing(.missing)
    )]
    LanesMissing {
        /// A thread that waits.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The mask that it gave.
        mask: u32,
        /// Where it waits.
        site: Site,
        /// The lanes that do not come, and what they do instead.
        missing: Vec<(u32, Activity)>,
    },

    /// A thread called a warp operation with a mask that does not contain it.
    #[error(
        "{place}: {operation} at {site} with mask {mask:#010x}, without the caller's lane {lane}"
    )]
    MaskWithoutCaller {
        /// The thread.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The mask that it gave.
        mask: u32,
        /// The thread's own lane.
        lane: u32,
        /// Where.
        site: Site,
    },

    /// A mask names lanes that the last warp of the block does not have.
    #[error(
        "{place}: {operation} at {site} with mask {mask:#010x}, but this warp has only {lanes} \
         lanes"
    )]
    MaskBeyondBlock {
        /// The thread.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The mask that it gave.
        mask: u32,
        /// The lanes that the warp has.
        lanes: u32,
        /// Where.
        site: Site,
    },

    /// A shuffle reads from a lane outside of its mask, whose value is undefined.
    #[error(
        "{place}: {operation} at {site} reads from lane {lane}, which is not in its mask {mask:#010x}"
    )]
    ShuffleFromOutside {
        /// The thread that reads.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The mask.
        mask: u32,
        /// The lane that it reads from.
        lane: u32,
        /// Where.
        site: Site,
    },

    /// Threads of a warp group do not take part in an operation of it.
    #[error("{place} waits in {operation} at {site}, but {}", list_absent(.missing))]
    ThreadsMissing {
        /// A thread that waits.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// Where it waits.
        site: Site,
        /// The threads that do not come, and what they do instead.
        missing: Vec<(Dim3, Activity)>,
    },

    /// An operation of a whole warp or warp group in one that is cut by the end of the block.
    #[error(
        "{place}: {operation} at {site} is an operation of {} threads, but there are only {threads}",
        .operation.threads()
    )]
    BeyondBlock {
        /// The thread.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The threads that there are.
        threads: u32,
        /// Where.
        site: Site,
    },

    /// A wrong asynchronous copy or matrix instruction.
    #[error("{place}, at {site}: {misuse}")]
    Misuse {
        /// The thread.
        place: Place,
        /// What is wrong.
        misuse: Misuse,
        /// Where.
        site: Site,
    },

    /// An access past the end of a device slice.
    #[error(
        "{place}: {access} of element {index} at {site}, past the end of a slice of {length} elements"
    )]
    OutOfBounds {
        /// The thread.
        place: Place,
        /// `read`, `write` or `address`.
        access: &'static str,
        /// The element asked for.
        index: usize,
        /// The elements that there are.
        length: usize,
        /// Where.
        site: Site,
    },

    /// A block used more shared memory than there is.
    #[error("{place}: {what} comes to {value} bytes, and the limit is {limit}")]
    SharedMemory {
        /// The thread that declared the array that was too much.
        place: Place,
        /// Which memory.
        what: &'static str,
        /// How much the block uses.
        value: usize,
        /// How much there may be.
        limit: usize,
    },

    /// A block wrote just past the end of an array in shared memory; found when it had finished.
    #[error(
        "kernel `{kernel}`, block {block}: something wrote past the end of {what} of {bytes} bytes"
    )]
    SharedOverrun {
        /// The kernel's name.
        kernel: &'static str,
        /// The block's index in the grid.
        block: Dim3,
        /// Which memory.
        what: &'static str,
        /// Its size.
        bytes: usize,
    },

    /// The kernel panicked.
    #[error("{place} panicked: {message}")]
    Panic {
        /// The thread.
        place: Place,
        /// What it said.
        message: String,
    },
}

impl SimError {
    /// A launch that breaks a limit.
    pub(crate) fn of_launch(kernel: &'static str, error: LaunchError) -> Self {
        let exceeded = |what, value, limit: u32| Self::LimitExceeded {
            kernel,
            what,
            value,
            limit: limit.into(),
        };
        match error {
            LaunchError::NoExtent { of, axis } => Self::ZeroSize {
                kernel,
                what: size_along(of, axis),
            },
            LaunchError::TooLarge {
                of,
                axis,
                size,
                limit,
            } => exceeded(size_along(of, axis), size.into(), limit),
            LaunchError::TooManyThreads { block, limit } => {
                exceeded("the number of threads in a block", block.count(), limit)
            }
            LaunchError::SharedMemory { bytes, limit } => {
                exceeded("the dynamic shared memory in bytes", bytes.into(), limit)
            }
            LaunchError::WrongBlock { block, bound } => Self::WrongBlock {
                kernel,
                block,
                bound,
            },
        }
    }
}

fn size_along(of: &str, axis: char) -> &'static str {
    match (of, axis) {
        ("grid", 'x') => "the grid's size along x",
        ("grid", 'y') => "the grid's size along y",
        ("grid", _) => "the grid's size along z",
        (_, 'x') => "the block's size along x",
        (_, 'y') => "the block's size along y",
        _ => "the block's size along z",
    }
}

fn describe(bound: &BlockBound) -> String {
    match bound {
        BlockBound::Any => "takes any block".into(),
        BlockBound::Exactly(shape) => format!("needs blocks of exactly {shape}"),
        BlockBound::AtMost(threads) => format!("takes at most {threads} threads"),
    }
}

/// How many threads a sentence lists before it only counts.
const LISTED: usize = 4;

fn and_more(count: usize) -> String {
    match count.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

fn list_finished(threads: &[Dim3]) -> String {
    let names: Vec<_> = threads.iter().take(LISTED).map(Dim3::to_string).collect();
    let (noun, verb) = match threads.len() {
        1 => ("thread", "has"),
        _ => ("threads", "have"),
    };
    let more = and_more(threads.len());
    format!("{noun} {}{more} {verb} finished", names.join(", "))
}

fn list_absent(threads: &[(Dim3, Activity)]) -> String {
    let names: Vec<_> = threads
        .iter()
        .take(LISTED)
        .map(|(thread, activity)| format!("thread {thread} {activity}"))
        .collect();
    format!("{}{}", names.join(", "), and_more(threads.len()))
}

fn list_missing(lanes: &[(u32, Activity)]) -> String {
    let names: Vec<_> = lanes
        .iter()
        .take(LISTED)
        .map(|(lane, activity)| format!("lane {lane} {activity}"))
        .collect();
    format!("{}{}", names.join(", "), and_more(lanes.len()))
}

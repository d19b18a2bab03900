//! Errors of launches.

use crate::global::{Damage, Described, Elements};
use crate::guard::Side;
use crate::race::Race;
use cuda_std::host::{BarrierPhase, BlockBound, Dim3, LaunchError, Misuse, WarpOperation};
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// A place in the source of a kernel.
pub type Site = &'static Location<'static>;

/// Whether two calls are at the same place in the source, which the program may contain several
/// times.
#[inline]
pub(crate) fn is_same_site(a: Site, b: Site) -> bool {
    // Comparing texts is slow, and the address nearly always decides.
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

/// The activity of a thread that others wait for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// The thread has returned from the kernel.
    Finished,
    /// The thread waits at the block's barrier.
    AtBarrier(Site),
    /// The thread waits in a warp operation.
    InWarpOperation {
        /// The operation.
        operation: WarpOperation,
        /// The lanes for which the thread waits.
        mask: u32,
        /// The place of the call.
        site: Site,
    },
    /// The thread waits in `thread::nanosleep` until another thread has written something.
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

/// The memory that a thread accessed by mistake. Bytes are counted from the start of an array or buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Accessed {
    /// Beside an array in shared memory.
    Shared {
        /// The kind of memory.
        what: &'static str,
        /// The array's size.
        bytes: usize,
        /// The byte.
        byte: isize,
    },
    /// Beside a buffer of global memory.
    Buffer {
        /// The elements of the buffer.
        buffer: Elements,
        /// The byte.
        byte: isize,
    },
    /// In a buffer of global memory that was freed.
    Freed {
        /// The elements of the buffer.
        buffer: Elements,
        /// The byte.
        byte: isize,
    },
    /// At an address where there is no memory, such as that of a null pointer.
    Nothing {
        /// The address. `None` if it is not one that memory can have.
        address: Option<usize>,
    },
}

impl fmt::Display for Accessed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared { what, bytes, byte } => {
                write!(f, "at byte {byte} of {what} of {bytes} bytes")
            }
            Self::Buffer { buffer, byte } => write!(f, "at byte {byte} of a buffer of {buffer}"),
            Self::Freed { buffer, byte } => {
                write!(f, "at byte {byte} of a freed buffer of {buffer}")
            }
            Self::Nothing {
                address: Some(address),
            } => write!(f, "at the address {address:#x}, where there is no memory"),
            Self::Nothing { address: None } => write!(f, "at an address that no memory has"),
        }
    }
}

/// Why a launch in the simulator failed.
///
/// The errors up to [`Stacks`](Self::Stacks) occur before any thread runs. The others are mistakes
/// of the kernel, which hang on a GPU, corrupt memory or go unnoticed.
///
/// `Debug` gives the same text as `Display`, so that `unwrap` and a `main` that returns the error
/// print the message. The message includes the cause, so that
/// [`source`](std::error::Error::source) has nothing to add, and returns `None`.
#[derive(thiserror::Error)]
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

    /// A size exceeds a limit of the device.
    #[error("kernel `{kernel}` cannot be launched: {what} is {value}, and the limit is {limit}")]
    LimitExceeded {
        /// The kernel's name.
        kernel: &'static str,
        /// The size's name.
        what: &'static str,
        /// The requested size.
        value: u64,
        /// The limit.
        limit: u64,
    },

    /// The kernel does not support the shape of the block.
    #[error("kernel `{kernel}` cannot be launched with blocks of {block}: it {}", describe(.bound))]
    WrongBlock {
        /// The kernel's name.
        kernel: &'static str,
        /// The requested shape.
        block: Dim3,
        /// The bound of the kernel.
        bound: BlockBound,
    },

    /// The grid is not made of whole clusters.
    #[error(
        "kernel `{kernel}` cannot be launched with {blocks} blocks along x, which are no multiple of its clusters of {cluster}"
    )]
    CutCluster {
        /// The kernel's name.
        kernel: &'static str,
        /// The blocks along x.
        blocks: u32,
        /// The blocks of a cluster.
        cluster: u32,
    },

    /// A kernel launched a kernel.
    #[error("kernel `{kernel}` cannot be launched from within a kernel")]
    NestedLaunch {
        /// The name of the kernel that was to be launched.
        kernel: &'static str,
    },

    /// The operating system has no memory for the threads' stacks.
    #[error("kernel `{kernel}`: no memory for {threads} stacks of {bytes} bytes: {error}")]
    Stacks {
        /// The kernel's name.
        kernel: &'static str,
        /// The threads of a block.
        threads: usize,
        /// The size of a stack.
        bytes: usize,
        /// The operating system's error.
        error: std::io::Error,
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
        /// A thread, and its barrier.
        first: (Dim3, Site),
        /// Another thread, and its barrier.
        second: (Dim3, Site),
    },

    /// Threads of a block have finished while others wait at a barrier.
    ///
    /// GPUs since compute capability 7.0 let the others pass, but CUDA requires, and so does this
    /// simulator, that all threads of a block reach every barrier.
    #[error(
        "{place} waits at the barrier at {site}, but {} without reaching it",
        list_finished(.finished)
    )]
    BarrierNotReached {
        /// A thread that waits.
        place: Place,
        /// The place of the call.
        site: Site,
        /// The threads of the block that have finished.
        finished: Vec<Dim3>,
    },

    /// All blocks wait, and this thread waits for a value that another thread writes.
    #[error(
        "{place} waits at {site} for what another thread writes, but all blocks that run wait; a block may wait \
         only for one that is known to have started"
    )]
    AllWait {
        /// A thread that waits.
        place: Place,
        /// The place of the call.
        site: Site,
    },

    /// All blocks wait, and this thread waits for the end of a phase of an mbarrier.
    #[error(
        "{place} waits at {site}, but nothing ends what it waits for: {}",
        list_phases(.phases)
    )]
    PhaseNotOver {
        /// A thread that waits.
        place: Place,
        /// The phases of the barriers of the block. The thread waits for the first one.
        phases: Vec<BarrierPhase>,
        /// The place of the call.
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
        /// The mask.
        mask: u32,
        /// The place of the call.
        site: Site,
        /// The missing lanes, and what they do instead.
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
        /// The mask.
        mask: u32,
        /// The thread's own lane.
        lane: u32,
        /// The place of the call.
        site: Site,
    },

    /// A mask contains lanes that the last warp of the block does not have.
    #[error(
        "{place}: {operation} at {site} with mask {mask:#010x}, but this warp has only {lanes} \
         lanes"
    )]
    MaskBeyondBlock {
        /// The thread.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The mask.
        mask: u32,
        /// The number of lanes of the warp.
        lanes: u32,
        /// The place of the call.
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
        /// The lane from which the thread reads.
        lane: u32,
        /// The place of the call.
        site: Site,
    },

    /// Threads of a warp group do not take part in an operation of the group.
    #[error("{place} waits in {operation} at {site}, but {}", list_absent(.missing))]
    ThreadsMissing {
        /// A thread that waits.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The place of the call.
        site: Site,
        /// The missing threads, and what they do instead.
        missing: Vec<(Dim3, Activity)>,
    },

    /// An operation of a whole warp or warp group was called in an incomplete one at the end of the
    /// block.
    #[error(
        "{place}: {operation} at {site} is an operation of {} threads, but there are only {threads}",
        .operation.threads()
    )]
    BeyondBlock {
        /// The thread.
        place: Place,
        /// The operation.
        operation: WarpOperation,
        /// The number of threads of the warp or warp group.
        threads: u32,
        /// The place of the call.
        site: Site,
    },

    /// A wrong asynchronous copy or matrix instruction.
    #[error("{place}, at {site}: {misuse}")]
    Misuse {
        /// The thread.
        place: Place,
        /// The mistake.
        misuse: Misuse,
        /// The place of the call.
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
        /// The requested element.
        index: usize,
        /// The number of elements.
        length: usize,
        /// The place of the call.
        site: Site,
    },

    /// A block uses too much shared memory.
    #[error("{place}: {what} comes to {value} bytes, and the limit is {limit}")]
    SharedMemory {
        /// The thread that declared the array that exceeds the limit.
        place: Place,
        /// The kind of memory.
        what: &'static str,
        /// The bytes that the block uses.
        value: usize,
        /// The limit in bytes.
        limit: usize,
    },

    /// A block wrote just before or behind an array in shared memory. Detected at the end of the
    /// block.
    #[error("kernel `{kernel}`, block {block}: something wrote {side} {what} of {bytes} bytes")]
    SharedOverrun {
        /// The kernel's name.
        kernel: &'static str,
        /// The block's index in the grid.
        block: Dim3,
        /// The side of the array.
        side: Side,
        /// The kind of memory.
        what: &'static str,
        /// The array's size.
        bytes: usize,
    },

    /// Something wrote beside a buffer of the device, or into a buffer that was freed. Detected at the
    /// end of the launch.
    #[error("kernel `{kernel}`: something wrote {}", Described { buffer: *buffer, damage: *damage })]
    BufferDamage {
        /// The kernel that ran. Another launch at the same time, the host, or an earlier launch (if the
        /// buffer was freed) may have written.
        kernel: &'static str,
        /// The elements of the buffer.
        buffer: Elements,
        /// Where something wrote.
        damage: Damage,
    },

    /// A thread accessed memory that it does not have.
    #[error("{place}: {access} at {site}, {memory}")]
    NoMemory {
        /// The thread.
        place: Place,
        /// `read`, `write` or `access`.
        access: &'static str,
        /// File and line, or the address in the program if it has no debug information.
        site: String,
        /// Where the thread accessed.
        memory: Box<Accessed>,
    },

    /// A thread accessed an address that is no multiple of the alignment of the accessed type. Needs
    /// the feature `race-detector`.
    #[error(
        "{place}: misaligned {access} of {bytes} bytes at {site}: the address {address:#x} is no multiple of {alignment}"
    )]
    Misaligned {
        /// The thread.
        place: Place,
        /// `read` or `write`.
        access: &'static str,
        /// The number of bytes.
        bytes: usize,
        /// File and line.
        site: String,
        /// The address.
        address: usize,
        /// The alignment.
        alignment: usize,
    },

    /// A thread has used up its stack, by large arrays or by recursion.
    #[error(
        "{place}: stack overflow at {site}: a simulated thread has a stack of {bytes} bytes, which \
         `Simulator::stack_bytes` sets"
    )]
    StackOverflow {
        /// The thread.
        place: Place,
        /// File and line, or the address in the program if it has no debug information.
        site: String,
        /// The size of the stack.
        bytes: usize,
    },

    /// A thread ran for too long without waiting for others.
    #[error(
        "{place} ran for {} s without waiting for others, and is at {site}: a loop around an atomic \
         needs `thread::nanosleep`, which lets others run, and `Simulator::spin_limit` sets the time",
        .time.as_secs_f64()
    )]
    Spinning {
        /// The thread.
        place: Place,
        /// File and line, or the address in the program if it has no debug information.
        site: String,
        /// The time.
        time: Duration,
    },

    /// Two threads access the same memory, at least one of them writes, and nothing orders the
    /// accesses. Needs the feature `race-detector`.
    #[error("{0}")]
    Race(Box<Race>),

    /// The feature `race-detector` is on, but no kernel was compiled for it.
    #[error(
        "kernel `{kernel}` cannot be launched: the feature race-detector needs kernels that were \
         compiled with race-rustc as RUSTC_WRAPPER, in a target folder of their own"
    )]
    NotInstrumented {
        /// The kernel's name.
        kernel: &'static str,
    },

    /// The kernel panicked, for example at an index past the end of a slice.
    #[error("{place} panicked{}: {message}", at(site))]
    Panic {
        /// The thread.
        place: Place,
        /// File, line and column, unless the program has set a panic hook since.
        site: Option<String>,
        /// The panic's message.
        message: String,
    },
}

impl fmt::Debug for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn at(site: &Option<String>) -> String {
    site.as_ref()
        .map(|site| format!(" at {site}"))
        .unwrap_or_default()
}

impl SimError {
    /// Returns the error of a launch that exceeds a limit.
    pub(crate) fn from_launch(kernel: &'static str, error: LaunchError) -> Self {
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
            LaunchError::CutCluster { blocks, cluster } => Self::CutCluster {
                kernel,
                blocks,
                cluster,
            },
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
        BlockBound::Exactly(shape) | BlockBound::Cluster { block: shape, .. } => {
            format!("needs blocks of exactly {shape}")
        }
        BlockBound::AtMost(threads) => format!("takes at most {threads} threads"),
    }
}

/// The number of threads that a message lists; it counts the others.
const LISTED: usize = 4;

fn and_more(count: usize) -> String {
    match count.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

/// Lists the phases of barriers.
fn list_phases(phases: &[BarrierPhase]) -> String {
    /// Two for each of four stages.
    const LISTED: usize = 8;
    let listed = phases.iter().take(LISTED).map(BarrierPhase::to_string);
    let listed = listed.collect::<Vec<_>>().join("; ");
    match phases.len().saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed}; and {more} more"),
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

//! A launch and its blocks.

use crate::copies::CopyTime;
use crate::error::SimError;
use crate::limits::Limits;
use crate::race::Detector;
use crate::shared::{Poison, SharedMemory};
use crate::watch::Watch;
use cuda_std::host::{Barriers, Dim3, LaunchConfig, PendingTensorTiles};
use cuda_std::warp::WARP_SIZE;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// The properties of a launch that its blocks share.
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'static str,
    pub(crate) config: LaunchConfig,
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
    /// The blocks of a cluster.
    pub(crate) cluster: u32,
    pub(crate) watch: &'a Watch,
    pub(crate) stack_bytes: usize,
    pub(crate) spin_limit: Duration,
    /// The bytes around buffers that only mistakes access, in ascending order.
    #[cfg(feature = "race-detector")]
    pub(crate) zones: Vec<std::ops::Range<usize>>,
    /// Runs the kernel as the current lane.
    pub(crate) body: &'a (dyn Fn() + Sync),
}

/// State that the blocks of a cluster share.
pub(crate) struct Cluster<'a> {
    /// The memory of each block.
    pub(crate) rooms: Vec<Room<'a>>,
    /// The number of threads, and of those that have arrived at the cluster's barrier.
    pub(crate) threads: u64,
    pub(crate) arrived: Cell<u64>,
    /// The number of times that all threads have arrived.
    pub(crate) meetings: Cell<u64>,
}

/// A block's memory, as its cluster sees it.
pub(crate) struct Room<'a> {
    pub(crate) shared: &'a RefCell<SharedMemory>,
    pub(crate) tensor_tiles: RefCell<PendingTensorTiles>,
    pub(crate) barriers: RefCell<Barriers>,
    pub(crate) copy_time: CopyTime,
}

/// The properties of a block that its threads share.
pub(crate) struct Block<'a> {
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) index: Dim3,
    pub(crate) poison: Poison,
    pub(crate) copy_time: CopyTime,
    pub(crate) shared: &'a RefCell<SharedMemory>,
    /// The number of the block in its cluster.
    pub(crate) rank: u32,
    pub(crate) cluster: &'a Cluster<'a>,
    pub(crate) detector: &'a RefCell<Detector>,
    /// The mistake of the thread that just ran.
    pub(crate) error: Cell<Option<SimError>>,
    /// Whether a destructor made the launch during a panic.
    pub(crate) host_is_unwinding: bool,
}

impl Block<'_> {
    /// Returns the lane of a thread, and the number of lanes of its warp.
    pub(crate) fn lane_of(&self, thread: Dim3) -> (u32, u32) {
        self.place_among(thread, WARP_SIZE)
    }

    /// Returns the index of a thread in its group of `size` threads, and the number of threads in
    /// the group, which is smaller at the end of the block.
    pub(crate) fn place_among(&self, thread: Dim3, size: u32) -> (u32, u32) {
        let shape = self.launch.config.block;
        let linear = thread.x + shape.x * (thread.y + shape.y * thread.z);
        let index = linear % size;
        let rest = shape.count() as u32 - (linear - index);
        (index, rest.min(size))
    }
}

/// Returns the index of a thread or block in a `shape`, by its number in the order x, y, z.
pub(crate) fn index_of(linear: u64, shape: Dim3) -> Dim3 {
    let [x, y] = [shape.x, shape.y].map(u64::from);
    Dim3 {
        x: (linear % x) as u32,
        y: (linear / x % y) as u32,
        z: (linear / x / y) as u32,
    }
}

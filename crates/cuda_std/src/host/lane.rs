//! The interface between a kernel's thread and the executor that runs it on the CPU.

use super::access::{Access, Ordered};
use super::kernel::Dim3;
use super::shared::DynamicShared;
use super::{Barriers, Misuse, PendingTensorTiles, PendingWgmma, WarpOperation};
use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::panic::Location;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Index of the thread in its block.
    pub thread: Dim3,
    /// Index of the block in the grid.
    pub block: Dim3,
    /// Threads in a block.
    pub block_dim: Dim3,
    /// Blocks in the grid.
    pub grid_dim: Dim3,
}

/// Changes the words of all threads of an operation, in the order of the threads. A mistake comes with
/// the index of the thread that made it.
pub type Perform<'a> = dyn Fn(&mut [&mut [u32]]) -> Result<(), (usize, Misuse)> + 'a;

/// A block of a cluster, as the threads of the cluster see it.
#[derive(Clone, Copy, Debug)]
pub struct BlockOfCluster<'a> {
    /// The dynamic shared memory, aligned to 1024 bytes.
    pub shared: *mut u8,
    /// Its size.
    pub shared_bytes: usize,
    /// The copies of tiles to the block that have been started and are not done: at first none.
    /// `None` if the block does each copy when it is started.
    pub pending_tensor_tiles: Option<&'a RefCell<PendingTensorTiles>>,
    /// The barriers that count arrivals in the dynamic shared memory.
    pub barriers: &'a RefCell<Barriers>,
}

impl BlockOfCluster<'_> {
    /// The dynamic shared memory.
    pub(super) fn shared(&self) -> DynamicShared {
        // SAFETY: `Lane` promises initialised memory of this size, which lives as long as the block.
        unsafe { DynamicShared::new(self.shared, self.shared_bytes) }
    }
}

/// One thread of a kernel on the CPU, as seen by the functions of this crate. The simulator
/// implements it.
///
/// A call may suspend the thread until others have caught up. A thread whose executor has found
/// a mistake does not return from the call: the executor unwinds it.
///
/// # Safety
/// Kernels trust the answers: memory that [`shared_static`](Self::shared_static) and
/// [`shared_dynamic`](Self::shared_dynamic) hand out must be aligned, as large as asked for, the
/// same for all threads of a block, and live as long as the block runs. The dynamic one has
/// [`shared_dynamic_bytes`](Self::shared_dynamic_bytes) bytes, all of them initialised; so have the
/// blocks of the cluster, which run on one thread of the operating system.
pub unsafe trait Lane {
    /// Where the thread stands.
    fn position(&self) -> &Position;

    /// The block's barrier, called at `site`.
    fn sync_threads(&self, site: &'static Location<'static>);

    /// Lets other threads run, of this block and of others, since the thread waits for what one of
    /// them writes, or for the end of a phase of the [barrier](crate::mbarrier) at `barrier` of the
    /// dynamic shared memory.
    fn pause(&self, barrier: Option<usize>, site: &'static Location<'static>);

    /// Called after an arrival at a [barrier](crate::mbarrier) at `site`, where other threads may run
    /// before this one goes on.
    fn arrived(&self, _site: &'static Location<'static>) {}

    /// Whether the thread unwinds, so that it must not wait for others.
    fn is_unwinding(&self) -> bool {
        false
    }

    /// An operation among the lanes of `mask`: hands in `value` and `argument`, returns this
    /// lane's result.
    fn warp(
        &self,
        operation: WarpOperation,
        mask: u32,
        value: u32,
        argument: u32,
        site: &'static Location<'static>,
    ) -> u32;

    /// An operation of all [threads](WarpOperation::threads) of a warp or warp group: when they
    /// have arrived, `perform` of one of them gets the `words` of each, and changes them.
    fn collective(
        &self,
        operation: WarpOperation,
        words: &mut [u32],
        perform: &Perform<'_>,
        site: &'static Location<'static>,
    );

    /// Starts a copy of `bytes` bytes to the dynamic shared memory, `to` bytes from its start; of
    /// zeros if there is nothing to copy `from`. Addresses that are out of range or no multiples of
    /// `bytes` are a mistake.
    ///
    /// # Safety
    /// The source must be initialised, and no thread may write it before the copy has been
    /// waited for or the thread has ended.
    unsafe fn copy_async(
        &self,
        to: u32,
        from: Option<*const u8>,
        bytes: usize,
        site: &'static Location<'static>,
    );

    /// Closes the copies started since the last call into a group.
    fn commit_copies(&self);

    /// Waits for all groups of copies but the latest `pending`.
    fn wait_for_copies(&self, pending: u32);

    /// The matrix instructions of the thread's warp group that it has not waited for: at first
    /// none.
    fn pending_wgmma(&self) -> &RefCell<PendingWgmma>;

    /// The number of the block in its cluster.
    fn cluster_rank(&self) -> u32;

    /// Waits until all threads of the cluster have called this.
    fn cluster_sync(&self, site: &'static Location<'static>);

    /// Block `rank` of the cluster, if it has so many.
    fn block_of_cluster(&self, rank: u32) -> Option<BlockOfCluster<'_>>;

    /// Ends the thread with a mistake; does not return.
    fn misuse(&self, misuse: Misuse, site: &'static Location<'static>) -> !;

    /// The block's shared array known by `key`, made on first use.
    fn shared_static(&self, key: usize, layout: Layout) -> *mut u8;

    /// The block's dynamic shared memory, aligned to 1024 bytes.
    fn shared_dynamic(&self) -> *mut u8;

    /// The size of the block's dynamic shared memory.
    fn shared_dynamic_bytes(&self) -> usize;

    /// The thread made an access past the end of a slice; does not return.
    fn out_of_bounds(
        &self,
        access: &'static str,
        index: usize,
        length: usize,
        site: &'static Location<'static>,
    ) -> !;

    /// Called before an access to memory, if the kernel was compiled so, and for those of copies.
    fn access(&self, _access: Access) {}

    /// Called for an operation that orders accesses, if the kernel was compiled so, and for arrivals
    /// and waits at [barriers](crate::mbarrier) that count.
    fn order(&self, _operation: Ordered) {}
}

thread_local! {
    static CURRENT: Cell<Option<*const dyn Lane>> = const { Cell::new(None) };
}

/// Makes `lane` the current one of this OS thread while `run` runs: an executor wraps each stretch
/// of a kernel's thread in it.
///
/// Calls nest; what was current before is so again afterwards, also when `run` unwinds.
///
/// # Safety
/// On one OS thread, calls must end in the reverse order of their begin (a coroutine must not be
/// suspended out of `run`, so that another `enter` outlives this one), and `lane` must outlive
/// every call of this crate's functions that began in `run`, also one that is suspended.
pub unsafe fn enter<R>(lane: &dyn Lane, run: impl FnOnce() -> R) -> R {
    struct Restore(Option<*const dyn Lane>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    // SAFETY: this only forgets the lifetime. The pointer is current while `run` runs, during which
    // `lane` is borrowed; that calls end in order, so that `Restore` takes it back, and that
    // suspended ones do not outlive the lane, is the caller's promise.
    let pointer = unsafe {
        core::mem::transmute::<*const (dyn Lane + '_), *const (dyn Lane + 'static)>(lane)
    };
    let _restore = Restore(CURRENT.replace(Some(pointer)));
    run()
}

/// Whether the caller runs as a thread of a kernel.
pub fn is_inside_kernel() -> bool {
    CURRENT.get().is_some()
}

/// As [`lane`], or `None` outside of a kernel.
#[cfg(feature = "race-detector")]
pub(super) fn current<'a>() -> Option<&'a dyn Lane> {
    // SAFETY: as in `lane`.
    CURRENT.get().map(|pointer| unsafe { &*pointer })
}

/// The current lane, for one call by a function of this crate: whoever keeps the reference could
/// outlive the lane.
///
/// # Panics
/// Outside of a kernel: its functions mean nothing there.
#[track_caller]
pub(crate) fn lane<'a>() -> &'a dyn Lane {
    let pointer = CURRENT
        .get()
        .expect("a function of cuda_std that needs a GPU thread was called outside of a kernel");
    // SAFETY: the pointer is set only while `enter` borrows the lane. The functions of this crate
    // use the reference within one call, which the lane outlives by the promise made to `enter`.
    unsafe { &*pointer }
}

/// The key of the [shared static](Lane::shared_static) with a bit for each thread of a block, in
/// place of what hardware counts. It takes no shared memory of the kernel.
pub static BARRIER_BITS: u8 = 0;

/// The block's barrier: returns in how many of its threads `predicate` is set, and how many threads
/// it has.
pub(crate) fn sync_threads_count(predicate: bool, site: &'static Location<'static>) -> (u32, u32) {
    /// A bit for each thread of a block.
    type Bits = [u32; 32];
    let lane = lane();
    let Position {
        thread, block_dim, ..
    } = *lane.position();
    let bits =
        lane.shared_static(&raw const BARRIER_BITS as usize, Layout::new::<Bits>()) as *mut u32;
    let index = thread.x + block_dim.x * (thread.y + block_dim.y * thread.z);
    let threads = block_dim.count() as u32;
    let (word, bit) = ((index / 32) as usize, 1 << (index % 32));
    // SAFETY: shared memory of that layout. Threads of a block run in turn, so that none writes
    // meanwhile.
    let set = |is_set: bool| unsafe {
        let word = bits.add(word);
        word.write(if is_set {
            word.read() | bit
        } else {
            word.read() & !bit
        });
    };
    set(predicate);
    lane.sync_threads(site);
    let is_set = |index: u32| {
        // SAFETY: shared memory of that layout. All threads have written their bits.
        let word = unsafe { bits.add((index / 32) as usize).read() };
        word >> (index % 32) & 1
    };
    let count = (0..threads).map(is_set).sum();
    // Nobody writes for the next barrier before all have read.
    lane.sync_threads(site);
    (count, threads)
}

/// The dynamic shared memory of the lane's block.
pub(super) fn dynamic_shared(lane: &dyn Lane) -> DynamicShared {
    // SAFETY: `Lane` promises initialised memory of this size, which lives as long as the block.
    unsafe { DynamicShared::new(lane.shared_dynamic(), lane.shared_dynamic_bytes()) }
}

/// The lane's block, as its cluster sees it.
pub(super) fn own_block(lane: &dyn Lane) -> BlockOfCluster<'_> {
    let block = lane.block_of_cluster(lane.cluster_rank());
    block.expect("a cluster has the block that asks")
}

/// Reports an access past the end of a slice.
#[cold]
pub(crate) fn out_of_bounds(
    access: &'static str,
    index: usize,
    length: usize,
    site: &'static Location<'static>,
) -> ! {
    match CURRENT.get() {
        // SAFETY: as in `lane`.
        Some(pointer) => unsafe { &*pointer }.out_of_bounds(access, index, length, site),
        None => panic!("{access} of element {index} of a device slice of {length}, at {site}"),
    }
}

//! A simulated thread, which implements the functions of cuda_std that its kernel calls.

use crate::block::{Block, Cluster, Launch, index_of};
use crate::copies::{Copies, Copy, CopyTime};
use crate::error::{Accessed, Place, SimError, Site};
use crate::faults::{Cause, Fault};
use crate::global::{self, Found};
use crate::order::Random;
#[cfg(feature = "race-detector")]
use crate::race;
use crate::race::{IS_ENABLED, Id};
use crate::shared::StaticBytes;
use crate::state::{Part, State, WarpCall};
use corosensei::Yielder;
#[cfg(feature = "race-detector")]
use cuda_std::host::AccessKind;
use cuda_std::host::{
    Access, BARRIER_BITS, BlockOfCluster, Dim3, Lane, Misuse, Ordered, PendingWgmma, Perform,
    Position, WarpOperation,
};
use cuda_std::warp::FULL_MASK;
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
#[cfg(feature = "race-detector")]
use std::ops::Range;
use std::panic::resume_unwind;
use std::ptr;

/// A thread of a block.
pub(crate) struct Thread<'a> {
    block: &'a Block<'a>,
    position: Position,
    id: Id,
    pub(crate) state: Cell<State>,
    /// The result of the warp operation that the thread waited for.
    pub(crate) result: Cell<u32>,
    /// The arguments of an operation of a whole warp or warp group while the thread waits in it.
    pub(crate) part: Cell<Option<Part>>,
    copies: RefCell<Copies>,
    pending_wgmma: RefCell<PendingWgmma>,
    /// The number of arrivals at mbarriers.
    arrivals: Cell<u64>,
    /// Suspends the thread's coroutine; null before it starts.
    yielder: Cell<*const Yielder<(), ()>>,
}

/// The payload that unwinds a thread whose mistake is already stored in its block.
struct Reported;

impl<'a> Thread<'a> {
    pub(crate) fn new(block: &'a Block<'a>, thread: Dim3) -> Self {
        let config = &block.launch.config;
        Self {
            block,
            position: Position {
                thread,
                block: block.index,
                block_dim: config.block,
                grid_dim: config.grid,
            },
            id: Id {
                block: block.poison.block as u32,
                thread: block.place_among(thread, u32::MAX).0 as u16,
            },
            state: Cell::new(State::Runnable),
            result: Cell::new(0),
            part: Cell::new(None),
            copies: RefCell::default(),
            pending_wgmma: RefCell::default(),
            arrivals: Cell::new(0),
            yielder: Cell::new(ptr::null()),
        }
    }

    /// The body of the thread's coroutine.
    pub(crate) fn run(&self, yielder: &Yielder<(), ()>) {
        self.yielder.set(yielder);
        (self.block.launch.body)();
    }

    pub(crate) fn place(&self) -> Place {
        Place {
            kernel: self.block.launch.kernel,
            block: self.block.index,
            thread: self.position.thread,
        }
    }

    /// Whether the thread's block is the only one of its cluster.
    pub(crate) fn is_alone(&self) -> bool {
        self.block.cluster.rooms.len() == 1
    }

    /// The changes of the cluster's mbarriers so far.
    pub(crate) fn changes_of_barriers(&self) -> u64 {
        let rooms = self.block.cluster.rooms.iter();
        rooms.map(|room| room.barriers.borrow().changes()).sum()
    }

    /// Returns the first race of the launch, if there is one.
    pub(crate) fn race(&self) -> Option<SimError> {
        let Launch { kernel, config, .. } = self.block.launch;
        self.block.detector.borrow_mut().race(
            kernel,
            |block| index_of(block.into(), config.grid),
            |thread| index_of(thread.into(), config.block),
        )
    }

    /// Returns the error for a fault of this thread.
    #[cold]
    pub(crate) fn faulted(&self, fault: &Fault) -> SimError {
        let Launch {
            stack_bytes,
            spin_limit,
            ..
        } = *self.block.launch;
        let (place, site) = (self.place(), fault.site());
        match fault.cause {
            Cause::StackOverflow => SimError::StackOverflow {
                place,
                site,
                bytes: stack_bytes,
            },
            Cause::Spinning => SimError::Spinning {
                place,
                site,
                time: spin_limit,
            },
            Cause::Access { access, address } => SimError::NoMemory {
                place,
                access,
                site,
                memory: Box::new(self.accessed(address)),
            },
        }
    }

    /// Describes the memory that an address is near.
    fn accessed(&self, address: Option<usize>) -> Accessed {
        let Some(address) = address else {
            return Accessed::Nothing { address };
        };
        let rooms = self.block.cluster.rooms.iter();
        let shared = rooms.filter_map(|room| room.shared.try_borrow().ok()?.find(address));
        if let Some((what, bytes, byte)) = { shared }.next() {
            return Accessed::Shared { what, bytes, byte };
        }
        match global::find(address) {
            Some(Found {
                elements: buffer,
                is_freed: false,
                byte,
            }) => Accessed::Buffer { buffer, byte },
            Some(Found {
                elements: buffer,
                byte,
                ..
            }) => Accessed::Freed { buffer, byte },
            None => Accessed::Nothing {
                address: Some(address),
            },
        }
    }

    /// Returns the mistake of an access that the thread has made since it began to run, without
    /// unwinding.
    pub(crate) fn access_error(&self) -> Option<SimError> {
        self.block.error.take()
    }

    /// Notes an access that is misaligned or to a guard zone. Called by instrumented code, which
    /// cannot unwind from here.
    #[cfg(feature = "race-detector")]
    fn check(&self, access: &Access) {
        let Access {
            address,
            bytes,
            kind,
            alignment,
            site,
        } = *access;
        let is_outside = || {
            let bytes = address..address.saturating_add(bytes);
            let is_hit = |zone: &Range<usize>| zone.start < bytes.end && bytes.start < zone.end;
            let zones = &self.block.launch.zones;
            let next = zones.partition_point(|zone| zone.end <= bytes.start);
            zones.get(next).is_some_and(is_hit)
                || self.block.cluster.rooms.iter().any(|room| {
                    let shared = room.shared.try_borrow();
                    shared.is_ok_and(|shared| shared.zones().any(|zone| is_hit(&zone)))
                })
        };
        let is_misaligned = !address.is_multiple_of(alignment);
        if !is_misaligned && !is_outside() {
            return;
        }
        let (place, site) = (self.place(), race::site(site));
        let access = match kind {
            AccessKind::Read | AccessKind::AtomicRead => "read",
            AccessKind::Write | AccessKind::AtomicWrite => "write",
        };
        let error = match is_misaligned {
            true => SimError::Misaligned {
                place,
                access,
                bytes,
                site,
                address,
                alignment,
            },
            false => SimError::NoMemory {
                place,
                access,
                site,
                memory: Box::new(self.accessed(Some(address))),
            },
        };
        // The first one counts.
        let first = self.block.error.take().unwrap_or(error);
        self.block.error.set(Some(first));
    }

    /// Tells the race detector that threads of this one's block have met.
    pub(crate) fn meet(&self, met: impl Iterator<Item = usize> + Clone) {
        let mut detector = self.block.detector.borrow_mut();
        detector.meet(self.id.block, met);
    }

    /// Lets others run until the scheduler resumes this thread, which then is `Runnable` again.
    fn wait(&self, state: State) {
        self.state.set(state);
        // SAFETY: `run` has set the pointer, since only kernel code calls this. The yielder is on
        // the coroutine's own stack, below the frames that call this, so it outlives them; and
        // cuda_std uses this lane only while its coroutine runs.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    fn fail(&self, error: SimError) -> ! {
        self.block.error.set(Some(error));
        // Unwinds without a panic, so that the panic hook prints nothing.
        resume_unwind(Box::new(Reported))
    }
}

// SAFETY: the block's shared memory is allocated with the requested layouts, found by the same key
// from all its threads, and freed after they have ended. Dynamic memory is filled when the block
// starts.
unsafe impl Lane for Thread<'_> {
    #[inline]
    fn position(&self) -> &Position {
        &self.position
    }

    #[inline]
    fn sync_threads(&self, site: Site) {
        if !self.is_unwinding() {
            self.wait(State::Barrier(site));
        }
    }

    fn pause(&self, barrier: Option<usize>, site: Site) {
        if !self.is_unwinding() {
            self.wait(State::Paused(site, barrier));
        }
    }

    /// Half of the time, other threads run before this one goes on. What it still does with the memory
    /// that it has released by the arrival shows then.
    fn arrived(&self, site: Site) {
        let Launch { seed, .. } = *self.block.launch;
        let number = self.arrivals.get();
        self.arrivals.set(number + 1);
        let Id { block, thread } = self.id;
        let stream = number << 48 ^ u64::from(block) << 16 ^ u64::from(thread);
        if seed != 0 && Random::new(seed, stream).next() & 1 == 1 {
            self.pause(None, site);
        }
    }

    /// Whether a destructor called this while the thread unwinds, from its own panic or because its
    /// block has failed. The thread must not wait then, since no other thread would arrive.
    fn is_unwinding(&self) -> bool {
        std::thread::panicking() && !self.block.host_is_unwinding
    }

    fn warp(
        &self,
        operation: WarpOperation,
        mask: u32,
        value: u32,
        argument: u32,
        site: Site,
    ) -> u32 {
        if self.is_unwinding() {
            return value;
        }
        let (lane, lanes) = self.block.lane_of(self.position.thread);
        if mask >> lane & 1 == 0 {
            self.fail(SimError::MaskWithoutCaller {
                place: self.place(),
                operation,
                mask,
                lane,
                site,
            });
        }
        if u64::from(mask) >> lanes != 0 {
            self.fail(SimError::MaskBeyondBlock {
                place: self.place(),
                operation,
                mask,
                lanes,
                site,
            });
        }
        self.wait(State::Warp(WarpCall {
            operation,
            mask,
            value,
            argument,
            site,
        }));
        self.result.get()
    }

    fn collective(
        &self,
        operation: WarpOperation,
        words: &mut [u32],
        perform: &Perform<'_>,
        site: Site,
    ) {
        if self.is_unwinding() {
            return;
        }
        let size = operation.threads();
        let (_, threads) = self.block.place_among(self.position.thread, size);
        if threads < size {
            self.fail(SimError::BeyondBlock {
                place: self.place(),
                operation,
                threads,
                site,
            });
        }
        self.part.set(Some(Part::new(words, perform)));
        self.wait(State::Warp(WarpCall {
            operation,
            mask: FULL_MASK,
            value: 0,
            argument: 0,
            site,
        }));
        self.part.set(None);
    }

    unsafe fn copy_async(&self, to: u32, from: Option<*const u8>, bytes: usize, site: Site) {
        if self.is_unwinding() {
            return;
        }
        let shared = self.block.shared.borrow();
        match Copy::new(&shared, to as usize, from, bytes, site) {
            Ok(copy) => {
                copy.accesses().for_each(|access| self.access(access));
                // SAFETY: the source is valid by the caller's contract, and the block's shared
                // memory exists while its threads run.
                unsafe { self.copies.borrow_mut().start(copy, self.block.copy_time) }
            }
            Err(misuse) => {
                drop(shared);
                self.misuse(misuse, site)
            }
        }
    }

    fn commit_copies(&self) {
        self.copies.borrow_mut().commit();
    }

    fn wait_for_copies(&self, pending: u32) {
        // SAFETY: the source is valid by the contract of `copy_async`, since this thread has not
        // ended.
        unsafe {
            self.copies.borrow_mut().wait(pending as usize, |copy| {
                copy.accesses().for_each(|access| self.access(access));
            });
        }
    }

    fn pending_wgmma(&self) -> &RefCell<PendingWgmma> {
        &self.pending_wgmma
    }

    fn cluster_rank(&self) -> u32 {
        self.block.rank
    }

    fn cluster_sync(&self, site: Site) {
        if self.is_unwinding() {
            return;
        }
        let Cluster {
            threads,
            arrived,
            meetings,
            ..
        } = self.block.cluster;
        // Any address serves, if all threads of the cluster use it and nobody else. The detector
        // forgets it when the next cluster starts.
        let address = &raw const *self.block.cluster as usize;
        self.order(Ordered::Release {
            address,
            is_relaxed: false,
            keeps: true,
        });
        let before = meetings.get();
        arrived.set(arrived.get() + 1);
        if arrived.get() == *threads {
            arrived.set(0);
            meetings.set(before + 1);
        }
        while meetings.get() == before {
            self.wait(State::Paused(site, None));
        }
        self.order(Ordered::Acquire {
            address,
            is_relaxed: false,
        });
    }

    fn block_of_cluster(&self, rank: u32) -> Option<BlockOfCluster<'_>> {
        let room = self.block.cluster.rooms.get(rank as usize)?;
        let shared = room.shared.borrow();
        let is_late = room.copy_time == CopyTime::AtWait;
        Some(BlockOfCluster {
            shared: shared.dynamic(),
            shared_bytes: shared.dynamic_bytes(),
            pending_tensor_tiles: is_late.then_some(&room.tensor_tiles),
            barriers: &room.barriers,
        })
    }

    fn misuse(&self, misuse: Misuse, site: Site) -> ! {
        self.fail(SimError::Misuse {
            place: self.place(),
            misuse,
            site,
        })
    }

    fn shared_static(&self, key: usize, layout: Layout) -> *mut u8 {
        let Block { launch, poison, .. } = self.block;
        let dynamic = launch.config.shared_bytes as usize;
        let total = launch.limits.shared_bytes as usize;
        let statics = launch.limits.static_shared_bytes as usize;
        let limit = statics.min(total.saturating_sub(dynamic));
        let is_counted = key != &raw const BARRIER_BITS as usize;
        let limit = is_counted.then_some(limit);
        let array = self
            .block
            .shared
            .borrow_mut()
            .static_array(key, layout, *poison, limit);
        match array {
            Ok(array) => {
                if IS_ENABLED {
                    let bytes = array as usize..array as usize + layout.size();
                    self.block.detector.borrow_mut().add_shared(bytes);
                }
                array
            }
            Err(StaticBytes(bytes)) if bytes > statics => self.fail(SimError::SharedMemory {
                place: self.place(),
                what: "static shared memory",
                value: bytes,
                limit: statics,
            }),
            Err(StaticBytes(bytes)) => self.fail(SimError::SharedMemory {
                place: self.place(),
                what: "static and dynamic shared memory together",
                value: bytes.saturating_add(dynamic),
                limit: total,
            }),
        }
    }

    fn shared_dynamic(&self) -> *mut u8 {
        self.block.shared.borrow().dynamic()
    }

    fn shared_dynamic_bytes(&self) -> usize {
        self.block.shared.borrow().dynamic_bytes()
    }

    fn access(&self, access: Access) {
        if !IS_ENABLED {
            return;
        }
        // The thread's own stack, between this frame and the coroutine's first one.
        let here = 0u8;
        let stack = &raw const here as usize..self.yielder.get() as usize;
        if !stack.contains(&access.address) {
            #[cfg(feature = "race-detector")]
            self.check(&access);
            self.block.detector.borrow_mut().access(self.id, access);
        }
    }

    fn order(&self, operation: Ordered) {
        // The detector allocates too, while it is borrowed.
        if IS_ENABLED && let Ok(mut detector) = self.block.detector.try_borrow_mut() {
            detector.order(self.id, operation);
        }
    }

    fn out_of_bounds(&self, access: &'static str, index: usize, length: usize, site: Site) -> ! {
        self.fail(SimError::OutOfBounds {
            place: self.place(),
            access,
            index,
            length,
            site,
        })
    }
}

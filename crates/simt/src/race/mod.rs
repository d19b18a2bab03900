//! Finds accesses of different threads to the same memory that nothing orders.
//!
//! The method is that of FastTrack (Flanagan and Freund, 2009): each thread has a vector clock, and
//! each byte of memory the latest accesses with their threads' times. An access races with an
//! earlier one whose time the thread's clock has not reached. Barriers of blocks and clusters,
//! `sync_warp`, barriers that count arrivals, and atomic variables with fences hand on clocks;
//! shuffles and votes do not, as on GPUs. The end of a launch orders everything.

mod clock;
mod report;
mod shadow;

use crate::error::SimError;
use clock::Clock;
use cuda_std::host::{Access, Dim3, Ordered};
#[cfg(feature = "race-detector")]
pub(crate) use report::resolve as site;
pub use report::{Race, RaceAccess};
use shadow::{Record, Shadow};
use std::collections::BTreeMap;
use std::ops::Range;

/// Whether races are looked for.
pub(crate) const IS_ENABLED: bool = cfg!(feature = "race-detector");

/// A thread of the grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id {
    /// The block's number in the grid.
    pub(crate) block: u32,
    /// The thread's number in the block.
    pub(crate) thread: u16,
}

/// The events of other threads that happened before a thread's next one.
#[derive(Clone)]
struct Knowledge {
    clock: Clock,
    /// The thread's own time.
    time: u32,
    /// The clock at the last fence.
    fenced: Clock,
    /// The clock that relaxed reads have seen, for the next fence or barrier.
    seen: Clock,
}

/// The accesses and the order of a launch's threads. Blocks run on one thread of the CPU.
#[derive(Default)]
pub(crate) struct Detector {
    shadow: Shadow,
    /// The first block of the cluster that runs.
    first: u32,
    /// The threads of each of its blocks.
    blocks: Vec<Vec<Knowledge>>,
    /// The clocks released at addresses.
    released: BTreeMap<usize, Clock>,
    /// The shared memory of the cluster's blocks.
    shared: Vec<Range<usize>>,
    race: Option<(Record, Record, Range<usize>)>,
}

impl Detector {
    /// Begins a cluster: its first block, its number of blocks and the threads of each.
    pub(crate) fn start(&mut self, first: u32, blocks: u32, threads: usize) {
        for bytes in std::mem::take(&mut self.shared) {
            self.forget(bytes);
        }
        let fresh = Knowledge {
            clock: Clock::default(),
            time: 1,
            fenced: Clock::default(),
            seen: Clock::default(),
        };
        self.first = first;
        self.blocks = vec![vec![fresh; threads]; blocks as usize];
    }

    /// Forgets what was done to memory that is other memory from now on.
    fn forget(&mut self, bytes: Range<usize>) {
        self.shadow.forget(bytes.clone());
        self.released.extract_if(bytes, |_, _| true).for_each(drop);
    }

    /// Tells of shared memory of the cluster that runs.
    pub(crate) fn add_shared(&mut self, bytes: Range<usize>) {
        if !self.shared.contains(&bytes) {
            self.shared.push(bytes);
        }
    }

    pub(crate) fn access(&mut self, id: Id, access: Access) {
        let Access {
            address,
            bytes,
            kind,
            site,
            ..
        } = access;
        let thread = &self.blocks[(id.block - self.first) as usize][usize::from(id.thread)];
        let new = Record::new(id.block, id.thread, kind, thread.time, site);
        let bytes = address..address.saturating_add(bytes);
        let raced = self.shadow.access(bytes.clone(), new, |old| {
            thread.clock.of(old.block, old.thread) >= old.time
        });
        if let Some(old) = raced {
            self.race.get_or_insert((old, new, bytes));
        }
    }

    fn thread(&mut self, id: Id) -> &mut Knowledge {
        &mut self.blocks[(id.block - self.first) as usize][usize::from(id.thread)]
    }

    /// Returns what has happened until now in a thread, which goes on at a later time.
    fn now(&mut self, id: Id) -> Clock {
        let threads = self.blocks[0].len();
        let thread = self.thread(id);
        let mut clock = thread.clock.clone();
        let own = (usize::from(id.thread), thread.time);
        clock.set(id.block, threads, [own].into_iter());
        thread.time += 1;
        clock
    }

    pub(crate) fn order(&mut self, id: Id, operation: Ordered) {
        match operation {
            Ordered::Allocate { address, bytes } => self.forget(address..address + bytes),
            Ordered::Fence => {
                let thread = self.thread(id);
                let seen = std::mem::take(&mut thread.seen);
                thread.clock.join(&seen);
                self.thread(id).fenced = self.now(id);
            }
            Ordered::Acquire {
                address,
                is_relaxed,
            } => {
                let Some(released) = self.released.get(&address).cloned() else {
                    return;
                };
                let thread = self.thread(id);
                if is_relaxed {
                    thread.seen.join(&released);
                } else {
                    thread.clock.join(&released);
                }
            }
            Ordered::Release {
                address,
                is_relaxed,
                keeps,
            } => {
                let clock = if is_relaxed {
                    self.thread(id).fenced.clone()
                } else {
                    self.now(id)
                };
                let released = self.released.entry(address).or_default();
                if keeps {
                    released.join(&clock);
                } else {
                    *released = clock;
                }
            }
        }
    }

    /// Orders the accesses of threads of a block before and after they have met.
    pub(crate) fn meet(&mut self, block: u32, met: impl Iterator<Item = usize> + Clone) {
        let threads = &mut self.blocks[(block - self.first) as usize];
        let (mut all, mut fenced) = (Clock::default(), Clock::default());
        for index in met.clone() {
            let thread = &mut threads[index];
            let seen = std::mem::take(&mut thread.seen);
            thread.clock.join(&seen);
            all.join(&thread.clock);
            fenced.join(&thread.fenced);
        }
        let times = met.clone().map(|index| (index, threads[index].time));
        all.set(block, threads.len(), times);
        for index in met {
            threads[index].clock = all.clone();
            threads[index].fenced = fenced.clone();
            threads[index].time += 1;
        }
    }

    /// Returns the first race.
    pub(crate) fn race(
        &mut self,
        kernel: &'static str,
        block_of: impl Fn(u32) -> Dim3,
        thread_of: impl Fn(u16) -> Dim3,
    ) -> Option<SimError> {
        let (old, new, bytes) = self.race.take()?;
        let shared = &self.shared;
        let access = |record: &Record| RaceAccess {
            block: block_of(record.block),
            thread: thread_of(record.thread),
            kind: record.kind,
            site: report::resolve(record.site),
        };
        Some(SimError::Race(Box::new(Race {
            kernel,
            is_shared: shared.iter().any(|range| range.contains(&bytes.start)),
            bytes: bytes.len(),
            first: access(&old),
            second: access(&new),
        })))
    }
}

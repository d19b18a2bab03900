//! Runs the threads of a block as coroutines.

use crate::block::{Block, Cluster, Launch, Room, index_of};
use crate::copies::CopyTime;
use crate::error::SimError;
use crate::faults::SignalStack;
use crate::panics;
use crate::race::{Detector, IS_ENABLED};
use crate::schedule::{Ending, Routine, Schedule};
use crate::shared::{Overrun, Poison, SharedMemory};
use crate::spin::Spinning;
use crate::stacks::Stacks;
use crate::thread::Thread;
use corosensei::Coroutine;
use cuda_std::host::{self, SHARED_STATICS};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The memory with which an OS thread runs clusters of a launch, one after the other: for each
/// block of a cluster.
pub(crate) struct Worker {
    pub(crate) _signal_stack: Option<SignalStack>,
    pub(crate) spinning: Spinning,
    pub(crate) stacks: Vec<Stacks>,
    pub(crate) shared: Vec<RefCell<SharedMemory>>,
    pub(crate) detector: RefCell<Detector>,
}

impl Worker {
    /// Runs cluster number `number` of the grid. Its blocks take turns.
    pub(crate) fn run(&mut self, launch: &Launch<'_>, number: u64) -> Result<(), SimError> {
        let shape = launch.config.block;
        let first = number * u64::from(launch.cluster);
        let poisons: Vec<_> = (0..u64::from(launch.cluster))
            .map(|rank| Poison {
                seed: launch.seed,
                block: first + rank,
            })
            .collect();
        let rooms = self.shared.iter().zip(&poisons).map(|(shared, &poison)| {
            shared.borrow_mut().start(poison);
            Room {
                shared,
                tensor_tiles: RefCell::default(),
                barriers: RefCell::default(),
                copy_time: CopyTime::draw(poison),
            }
        });
        let cluster = Cluster {
            rooms: rooms.collect(),
            threads: u64::from(launch.cluster) * shape.count(),
            arrived: Cell::new(0),
            meetings: Cell::new(0),
        };
        let blocks = (0..).zip(&poisons).zip(&cluster.rooms);
        let blocks = blocks.map(|((rank, &poison), room)| Block {
            launch,
            index: index_of(poison.block, launch.config.grid),
            poison,
            copy_time: room.copy_time,
            shared: room.shared,
            rank,
            cluster: &cluster,
            detector: &self.detector,
            error: Cell::new(None),
            host_is_unwinding: std::thread::panicking(),
        });
        let blocks: Vec<Block<'_>> = blocks.collect();
        if IS_ENABLED {
            let mut detector = self.detector.borrow_mut();
            detector.start(first as u32, launch.cluster, shape.count() as usize);
            for shared in &self.shared {
                let shared = shared.borrow();
                let start = shared.dynamic() as usize;
                detector.add_shared(start..start + shared.dynamic_bytes());
            }
            // The address that stands for the cluster's barrier. The next cluster has another barrier.
            let barrier = &raw const cluster as usize;
            detector.add_shared(barrier..barrier + size_of_val(&cluster));
            for array in SHARED_STATICS.iter() {
                let start = array.as_mut_ptr() as usize;
                detector.add_shared(start..start + array.bytes());
            }
        }
        let threads_of = |block| {
            let indices = (0..shape.count()).map(|i| index_of(i, shape));
            indices.map(|index| Thread::new(block, index)).collect()
        };
        let threads: Vec<Vec<_>> = blocks.iter().map(threads_of).collect();
        // Declared last, so that the coroutines are dropped before their borrowed values.
        let mut routines: Vec<Vec<Routine<'_>>> = (threads.iter().zip(&mut self.stacks))
            .map(|(threads, stacks)| {
                let routine = |(thread, stack)| {
                    let thread: &Thread<'_> = thread;
                    let body = move |yielder: &_, ()| thread.run(yielder);
                    // SAFETY: the coroutine borrows `thread` and its borrowed values, which all
                    // outlive `routines`. `routines` is never forgotten, so the borrow ends when
                    // it is dropped.
                    unsafe { Coroutine::with_stack_unchecked(stack, body) }
                };
                threads.iter().zip(stacks.iter_mut()).map(routine).collect()
            })
            .collect();

        let mut schedules: Vec<Schedule<'_>> = (threads.iter().zip(&poisons))
            .map(|(threads, poison)| Schedule::new(threads, launch, poison.block, &self.spinning))
            .collect();
        let current = Cell::new(0);
        // After a panic, only the index of the thread that ran is read, which is valid.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            take_turns(&mut schedules, &mut routines, &current)
        }));
        let rank = current.get();
        let place = threads[rank][schedules[rank].current].place();
        // After a failure, unwinds the threads that have not finished, whose destructors may use
        // the lane.
        for (thread, routine) in threads.iter().flatten().zip(routines.iter_mut().flatten()) {
            // SAFETY: launches do not nest, and `threads` outlives the coroutines.
            unsafe { host::enter(thread, || routine.force_unwind()) };
        }
        match outcome {
            Ok(Ok(Ending::Stopped)) => return Ok(()),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(error),
            Err(payload) => {
                return Err(blocks[rank]
                    .error
                    .take()
                    .unwrap_or_else(|| panics::error(place, &*payload)));
            }
        }
        blocks.iter().try_for_each(|block| {
            let checked = block.shared.borrow().check();
            checked.map_err(|Overrun { what, bytes, side }| SimError::SharedOverrun {
                kernel: launch.kernel,
                block: block.index,
                side,
                what,
                bytes,
            })
        })
    }
}

/// Runs the blocks of a cluster until all are complete: each until its threads wait for others.
/// `current` is the block that runs, or ran last.
fn take_turns(
    schedules: &mut [Schedule<'_>],
    routines: &mut [Vec<Routine<'_>>],
    current: &Cell<usize>,
) -> Result<Ending, SimError> {
    let mut is_complete = vec![false; schedules.len()];
    while is_complete.contains(&false) {
        for (rank, schedule) in schedules.iter_mut().enumerate() {
            if is_complete[rank] {
                continue;
            }
            current.set(rank);
            match schedule.run(&mut routines[rank])? {
                Ending::Complete => is_complete[rank] = true,
                Ending::Stopped => return Ok(Ending::Stopped),
                Ending::Waiting => schedule.wait()?,
            }
        }
    }
    Ok(Ending::Complete)
}

//! Runs the threads of a block as coroutines.

use crate::block::{Block, Launch};
use crate::copies::CopyTime;
use crate::error::{Place, SimError};
use crate::panics;
use crate::schedule::{Ending, Routine, Schedule};
use crate::shared::{Overrun, Poison, SharedMemory};
use crate::stacks::Stacks;
use crate::thread::Thread;
use corosensei::Coroutine;
use cuda_std::host::{self, Dim3};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The memory with which an OS thread runs blocks of a launch, one after the other.
pub(crate) struct Worker {
    pub(crate) stacks: Stacks,
    pub(crate) shared: RefCell<SharedMemory>,
}

impl Worker {
    /// Runs block number `linear` of the grid.
    pub(crate) fn run(&mut self, launch: &Launch<'_>, linear: u64) -> Result<(), SimError> {
        let poison = Poison {
            seed: launch.seed,
            block: linear,
        };
        self.shared.borrow_mut().start(poison);
        let index = index_of(linear, launch.config.grid);
        let block = Block {
            launch,
            index,
            poison,
            copy_time: CopyTime::draw(poison),
            tensor_tiles: RefCell::default(),
            shared: &self.shared,
            error: Cell::new(None),
            host_is_unwinding: std::thread::panicking(),
        };
        let shape = launch.config.block;
        let threads: Vec<_> = (0..shape.count())
            .map(|linear| Thread::new(&block, index_of(linear, shape)))
            .collect();
        // Declared last, so that the coroutines are dropped before their borrowed values.
        let mut routines: Vec<Routine<'_>> = threads
            .iter()
            .zip(self.stacks.iter_mut())
            .map(|(thread, stack)| {
                let body = move |yielder: &_, ()| thread.run(yielder);
                // SAFETY: the coroutine borrows `thread` and its borrowed values, which all outlive
                // `routines`. `routines` is never forgotten, so the borrow ends when it is dropped.
                unsafe { Coroutine::with_stack_unchecked(stack, body) }
            })
            .collect();

        let mut schedule = Schedule::new(&threads, launch, linear);
        // After a panic, only the index of the thread that ran is read, which is valid.
        let outcome = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut routines)));
        let place = threads[schedule.current].place();
        // After a failure, unwinds the threads that have not finished, whose destructors may use
        // the lane.
        for (thread, routine) in threads.iter().zip(&mut routines) {
            // SAFETY: as in `round`.
            unsafe { host::enter(thread, || routine.force_unwind()) };
        }
        match outcome {
            Ok(Ok(Ending::Complete)) => {}
            Ok(Ok(Ending::Stopped)) => return Ok(()),
            Ok(Err(error)) => return Err(error),
            Err(payload) => {
                return Err(block
                    .error
                    .take()
                    .unwrap_or_else(|| panics::error(place, &*payload)));
            }
        }
        let Place { kernel, block, .. } = place;
        self.shared
            .borrow()
            .check()
            .map_err(|Overrun { what, bytes }| SimError::SharedOverrun {
                kernel,
                block,
                what,
                bytes,
            })
    }
}

fn index_of(linear: u64, shape: Dim3) -> Dim3 {
    let [x, y] = [shape.x, shape.y].map(u64::from);
    Dim3 {
        x: (linear % x) as u32,
        y: (linear / x % y) as u32,
        z: (linear / x / y) as u32,
    }
}

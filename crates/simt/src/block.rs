//! The run of one block: its threads as coroutines, from one synchronisation point to the next.

use crate::copies::CopyTime;
use crate::error::{Place, SimError, Site, is_same_site};
use crate::lane::{State, Thread};
use crate::order::Random;
use crate::shared::{Overrun, Poison, SharedMemory};
use crate::simulator::Limits;
use crate::stacks::Stacks;
use crate::together::{self, GROUP_SIZE};
use crate::warp;
use crate::watch::{Busy, Watch};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use cuda_std::host::{self, Dim3, LaunchConfig};
use cuda_std::warp::WARP_SIZE;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A launch, as every block of it needs it.
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'static str,
    pub(crate) config: LaunchConfig,
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
    pub(crate) watch: &'a Watch,
    /// Runs the kernel as the current lane.
    pub(crate) body: &'a (dyn Fn() + Sync),
}

/// What an OS thread needs to run blocks of a launch, one after the other.
pub(crate) struct Worker {
    pub(crate) stacks: Stacks,
    pub(crate) shared: RefCell<SharedMemory>,
}

/// A block, as its threads see it.
pub(crate) struct Block<'a> {
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) index: Dim3,
    pub(crate) poison: Poison,
    pub(crate) copy_time: CopyTime,
    pub(crate) shared: &'a RefCell<SharedMemory>,
    /// The mistake of the thread that just unwound.
    pub(crate) error: Cell<Option<SimError>>,
    /// Whether the launch was made by a destructor that a panic runs.
    pub(crate) host_is_unwinding: bool,
}

impl Block<'_> {
    /// The lane of a thread, and how many lanes its warp has.
    pub(crate) fn lane_of(&self, thread: Dim3) -> (u32, u32) {
        self.place_among(thread, WARP_SIZE)
    }

    /// The index of a thread in its group of `size` threads of the block, and how many that has.
    pub(crate) fn place_among(&self, thread: Dim3, size: u32) -> (u32, u32) {
        let shape = self.launch.config.block;
        let linear = thread.x + shape.x * (thread.y + shape.y * thread.z);
        let index = linear % size;
        let rest = shape.count() as u32 - (linear - index);
        (index, rest.min(size))
    }
}

type Routine<'a> = Coroutine<(), (), (), &'a mut DefaultStack>;

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
            shared: &self.shared,
            error: Cell::new(None),
            host_is_unwinding: std::thread::panicking(),
        };
        let shape = launch.config.block;
        let threads: Vec<_> = (0..shape.count())
            .map(|linear| Thread::new(&block, index_of(linear, shape)))
            .collect();
        // Declared last, so that they are dropped before what they borrow.
        let mut routines: Vec<Routine<'_>> = threads
            .iter()
            .zip(self.stacks.iter_mut())
            .map(|(thread, stack)| {
                let body = move |yielder: &_, ()| thread.run(yielder);
                // SAFETY: the coroutine borrows `thread` and what that borrows. All of it outlives
                // `routines`, which is never forgotten, so the borrow ends with its drop.
                unsafe { Coroutine::with_stack_unchecked(stack, body) }
            })
            .collect();

        let mut schedule = Schedule::new(&threads, launch, linear);
        // The state that a panic may leave is read only as far as it was complete: who ran.
        let outcome = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut routines)));
        let place = threads[schedule.current].place();
        // After a failure. Each as its own lane, since destructors may ask for it.
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
                    .unwrap_or_else(|| panicked(place, &*payload)));
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

fn panicked(place: Place, payload: &(dyn Any + Send)) -> SimError {
    let message = if let Some(message) = payload.downcast_ref::<&str>() {
        (*message).to_owned()
    } else if let Some(message) = payload.downcast_ref::<String>() {
        message.clone()
    } else {
        "with a payload that is not text".to_owned()
    };
    SimError::Panic { place, message }
}

/// Which threads of a block run next.
struct Schedule<'a> {
    threads: &'a [Thread<'a>],
    /// The threads of this round, in their order.
    runnable: Vec<u32>,
    /// Draws the orders; none for seed 0.
    random: Option<Random>,
    /// The thread that runs, or ran last.
    current: usize,
    finished: usize,
    in_warp_operation: usize,
    barrier: Barrier,
    watch: &'a Watch,
    busy: Busy<'a>,
    /// The threads that wait for what others write.
    paused: Vec<u32>,
    /// Whether the last round did nothing but look whether it has been written.
    is_waiting: bool,
}

/// How a block ends without a mistake of its own.
enum Ending {
    Complete,
    /// Because another one has failed.
    Stopped,
}

/// The barrier that threads have arrived at.
#[derive(Default)]
struct Barrier {
    arrived: usize,
    site: Option<Site>,
    is_divergent: bool,
}

impl Barrier {
    #[inline]
    fn arrive(&mut self, site: Site) {
        self.arrived += 1;
        let first = *self.site.get_or_insert(site);
        self.is_divergent |= !is_same_site(first, site);
    }
}

impl<'a> Schedule<'a> {
    fn new(threads: &'a [Thread<'a>], launch: &'a Launch<'a>, block: u64) -> Self {
        let (seed, watch) = (launch.seed, launch.watch);
        Self {
            watch,
            busy: watch.enter(),
            paused: Vec::new(),
            is_waiting: false,
            threads,
            runnable: (0..threads.len() as u32).collect(),
            random: (seed != 0).then(|| Random::new(seed, block)),
            current: 0,
            finished: 0,
            in_warp_operation: 0,
            barrier: Barrier::default(),
        }
    }

    fn run(&mut self, routines: &mut [Routine<'_>]) -> Result<Ending, SimError> {
        let count = self.threads.len();
        while self.finished < count {
            if let Some(random) = &mut self.random {
                random.shuffle(&mut self.runnable);
            }
            self.round(routines);
            if self.barrier.arrived == count && !self.barrier.is_divergent {
                self.barrier = Barrier::default();
                if self.runnable.len() < count {
                    self.runnable.clear();
                    self.runnable.extend(0..count as u32);
                }
                continue;
            }
            self.runnable.clear();
            if self.in_warp_operation > 0 {
                self.complete_warp_operations()?;
            }
            if !self.paused.is_empty() {
                if self.watch.is_stopped() {
                    return Ok(Ending::Stopped);
                }
                if self.runnable.is_empty() && self.is_waiting {
                    self.wait()?;
                } else {
                    self.busy.go_on();
                }
                self.runnable.append(&mut self.paused);
            }
            if self.runnable.is_empty() && self.finished < count {
                return Err(self.stuck());
            }
        }
        Ok(Ending::Complete)
    }

    /// Lets other blocks go on.
    fn wait(&mut self) -> Result<(), SimError> {
        if self.busy.wait() {
            return Ok(());
        }
        let thread = &self.threads[self.paused[0] as usize];
        match thread.state.get() {
            State::Paused(site) => Err(SimError::AllWait {
                place: thread.place(),
                site,
            }),
            _ => unreachable!("it is among the paused"),
        }
    }

    /// Runs every runnable thread to its next synchronisation point or its end.
    fn round(&mut self, routines: &mut [Routine<'_>]) {
        self.is_waiting = true;
        for &index in &self.runnable {
            self.current = index as usize;
            let thread = &self.threads[self.current];
            let had_paused = matches!(thread.state.get(), State::Paused(_));
            let routine = &mut routines[self.current];
            // SAFETY: the coroutine enters nothing that it is suspended out of, since launches do not
            // nest; `threads` outlives the coroutines and so the calls that they are suspended in.
            let result = unsafe { host::enter(thread, || routine.resume(())) };
            if let CoroutineResult::Return(()) = result {
                thread.state.set(State::Finished);
            }
            match thread.state.get() {
                State::Barrier(site) => self.barrier.arrive(site),
                State::Warp(_) => self.in_warp_operation += 1,
                State::Paused(_) => {
                    self.is_waiting &= had_paused;
                    self.paused.push(index);
                    continue;
                }
                State::Finished => self.finished += 1,
                State::Runnable => unreachable!("a thread says what it waits for"),
            }
            self.is_waiting = false;
        }
    }

    fn complete_warp_operations(&mut self) -> Result<(), SimError> {
        let size = WARP_SIZE as usize;
        for (warp, first) in self.threads.chunks(size).zip((0..).step_by(size)) {
            warp::complete(warp, first, &mut self.runnable)?;
        }
        let size = GROUP_SIZE as usize;
        for (group, first) in self.threads.chunks(size).zip((0..).step_by(size)) {
            together::complete(group, first, &mut self.runnable)?;
        }
        self.in_warp_operation -= self.runnable.len();
        Ok(())
    }

    /// Why no thread can go on although some have not finished.
    fn stuck(&self) -> SimError {
        // Warp operations first: whoever waits at a barrier may well wait for these.
        for warp in self.threads.chunks(WARP_SIZE as usize) {
            for (lane, thread) in warp.iter().enumerate() {
                if let State::Warp(call) = thread.state.get()
                    && call.operation.threads() == WARP_SIZE
                {
                    return warp::missing(warp, lane, &call);
                }
            }
        }
        for group in self.threads.chunks(GROUP_SIZE as usize) {
            for thread in group {
                if let State::Warp(call) = thread.state.get() {
                    return together::missing(group, thread, &call);
                }
            }
        }
        let mut waiting = self
            .threads
            .iter()
            .filter_map(|thread| match thread.state.get() {
                State::Barrier(site) => Some((thread.place(), site)),
                _ => None,
            });
        let (place, site) = waiting
            .next()
            .expect("a thread that has not finished waits");
        if let Some((other, second)) = waiting.find(|(_, second)| !is_same_site(second, site)) {
            return SimError::DivergentBarrier {
                kernel: place.kernel,
                block: place.block,
                first: (place.thread, site),
                second: (other.thread, second),
            };
        }
        let finished = self.threads.iter();
        let finished = finished.filter(|thread| matches!(thread.state.get(), State::Finished));
        SimError::BarrierNotReached {
            place,
            site,
            finished: finished.map(|thread| thread.place().thread).collect(),
        }
    }
}

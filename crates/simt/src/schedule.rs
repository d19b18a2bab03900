//! Runs the threads of a block from one synchronisation point to the next.

use crate::block::Launch;
use crate::error::{SimError, Site, is_same_site};
use crate::faults;
use crate::group::{self, GROUP_SIZE};
use crate::order::Random;
use crate::race::IS_ENABLED;
use crate::spin::Spinning;
use crate::state::State;
use crate::thread::Thread;
use crate::warp;
use crate::watch::{Busy, Watch};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use cuda_std::host::{self, BarrierPhase};
use cuda_std::warp::WARP_SIZE;

pub(crate) type Routine<'a> = Coroutine<(), (), (), &'a mut DefaultStack>;

/// Decides which threads of a block run next.
pub(crate) struct Schedule<'a> {
    threads: &'a [Thread<'a>],
    /// The threads of this round, in the order in which they run.
    runnable: Vec<u32>,
    /// Draws the orders; `None` for seed 0.
    random: Option<Random>,
    /// The thread that runs, or ran last.
    pub(crate) current: usize,
    finished: usize,
    in_warp_operation: usize,
    barrier: Barrier,
    watch: &'a Watch,
    /// Ends threads that run for too long.
    spinning: &'a Spinning,
    /// The number of the block.
    block: u64,
    /// `None` when the block is complete.
    busy: Option<Busy<'a>>,
    /// The threads that wait until others have written something.
    paused: Vec<u32>,
    /// Whether all threads of the last round were paused before and are paused again.
    is_waiting: bool,
    /// The changes of the cluster's mbarriers when all threads waited last.
    changes_of_barriers: u64,
    /// The number of rounds in a row in which all threads waited at mbarriers and no mbarrier changed.
    quiet_rounds: u32,
}

/// After how many quiet rounds nothing can continue. In one, a thread may start a copy before it waits
/// again; in the next, the copy changes the mbarrier that another thread waits at.
const QUIET_ROUNDS: u32 = 3;

/// Why the threads of a block do not run on, without an error.
pub(crate) enum Ending {
    Complete,
    /// Another block has failed.
    Stopped,
    /// All threads wait until others write something.
    Waiting,
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
    pub(crate) fn new(
        threads: &'a [Thread<'a>],
        launch: &'a Launch<'a>,
        block: u64,
        spinning: &'a Spinning,
    ) -> Self {
        let (seed, watch) = (launch.seed, launch.watch);
        Self {
            watch,
            spinning,
            block,
            busy: Some(watch.enter()),
            paused: Vec::new(),
            is_waiting: false,
            changes_of_barriers: 0,
            quiet_rounds: 0,
            threads,
            runnable: (0..threads.len() as u32).collect(),
            random: (seed != 0).then(|| Random::new(seed, block)),
            current: 0,
            finished: 0,
            in_warp_operation: 0,
            barrier: Barrier::default(),
        }
    }

    pub(crate) fn run(&mut self, routines: &mut [Routine<'_>]) -> Result<Ending, SimError> {
        let count = self.threads.len();
        while self.finished < count {
            if let Some(random) = &mut self.random {
                random.shuffle(&mut self.runnable);
            }
            self.round(routines)?;
            // Before a barrier begins the next round: other blocks may wait for this one meanwhile.
            if !self.is_waiting
                && let Some(busy) = &mut self.busy
            {
                busy.go_on();
            }
            if self.barrier.arrived == count && !self.barrier.is_divergent {
                self.barrier = Barrier::default();
                if IS_ENABLED {
                    self.threads[0].meet(0..count);
                }
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
                let is_waiting = self.runnable.is_empty() && self.is_waiting;
                self.runnable.append(&mut self.paused);
                if is_waiting {
                    return Ok(Ending::Waiting);
                }
            }
            if self.runnable.is_empty() && self.finished < count {
                return Err(self.stuck());
            }
        }
        self.busy = None;
        Ok(Ending::Complete)
    }

    /// Lets other blocks run, after all threads of this one have waited.
    pub(crate) fn wait(&mut self) -> Result<(), SimError> {
        let changes = self.threads[0].changes_of_barriers();
        let before = std::mem::replace(&mut self.changes_of_barriers, changes);
        if changes != before {
            self.quiet_rounds = 0;
            if let Some(busy) = &mut self.busy {
                busy.go_on();
            }
            return Ok(());
        }
        self.quiet_rounds = match self.all_need_a_change() {
            true => self.quiet_rounds + 1,
            false => 0,
        };
        if self.quiet_rounds < QUIET_ROUNDS && self.busy.as_mut().is_none_or(Busy::wait) {
            return Ok(());
        }
        Err(self.all_wait())
    }

    /// Whether all running threads wait at mbarriers that no other block can change.
    fn all_need_a_change(&self) -> bool {
        let mut states =
            (self.runnable.iter()).map(|&index| self.threads[index as usize].state.get());
        self.threads[0].is_alone() && states.all(|state| matches!(state, State::Paused(_, Some(_))))
    }

    /// Returns the error of paused threads that wait in vain.
    fn all_wait(&self) -> SimError {
        let paused = self.runnable.iter().map(|&index| {
            let thread = &self.threads[index as usize];
            match thread.state.get() {
                State::Paused(site, barrier) => (thread.place(), site, barrier),
                _ => unreachable!("it is among the paused"),
            }
        });
        // Prefers a thread at an mbarrier, since the phase says what is missing, and a phase that has begun.
        let mut phases = BarrierPhase::all(&self.threads[0]);
        let at_barrier = |has_begun: bool| {
            paused.clone().find_map(|(place, site, barrier)| {
                let is_waited_for = |phase: &BarrierPhase| {
                    Some(phase.address) == barrier && phase.has_begun() == has_begun
                };
                Some((place, site, phases.iter().position(is_waited_for)?))
            })
        };
        match at_barrier(true).or_else(|| at_barrier(false)) {
            Some((place, site, index)) => {
                phases[..=index].rotate_right(1);
                SimError::PhaseNotOver {
                    place,
                    phases,
                    site,
                }
            }
            None => {
                let (place, site, _) = paused.clone().next().expect("a thread waits");
                SimError::AllWait { place, site }
            }
        }
    }

    /// Runs every runnable thread to its next synchronisation point or its end.
    fn round(&mut self, routines: &mut [Routine<'_>]) -> Result<(), SimError> {
        self.is_waiting = true;
        for &index in &self.runnable {
            self.current = index as usize;
            let thread = &self.threads[self.current];
            let had_paused = matches!(thread.state.get(), State::Paused(..));
            let routine = &mut routines[self.current];
            let handler = routine.trap_handler();
            // SAFETY: launches do not nest, so the coroutine is never suspended within another
            // `enter`; `threads` outlives the coroutines, and so the calls in which they are
            // suspended.
            let resume = || unsafe { host::enter(thread, || routine.resume(())) };
            // Ends also if a panic of the thread goes through `resume`.
            let turn = self.spinning.turn(self.block, index);
            let result = faults::watch(handler, resume);
            drop(turn);
            let result = result.map_err(|fault| thread.faulted(&fault))?;
            if IS_ENABLED && let Some(error) = thread.access_error() {
                return Err(error);
            }
            if IS_ENABLED && let Some(race) = thread.race() {
                return Err(race);
            }
            if let CoroutineResult::Return(()) = result {
                thread.state.set(State::Finished);
            }
            match thread.state.get() {
                State::Barrier(site) => self.barrier.arrive(site),
                State::Warp(_) => self.in_warp_operation += 1,
                State::Paused(..) => {
                    self.is_waiting &= had_paused;
                    self.paused.push(index);
                    continue;
                }
                State::Finished => self.finished += 1,
                State::Runnable => unreachable!("a thread says what it waits for"),
            }
            self.is_waiting = false;
        }
        Ok(())
    }

    fn complete_warp_operations(&mut self) -> Result<(), SimError> {
        let size = WARP_SIZE as usize;
        for (warp, first) in self.threads.chunks(size).zip((0..).step_by(size)) {
            warp::complete(warp, first, &mut self.runnable)?;
        }
        let size = GROUP_SIZE as usize;
        for (group, first) in self.threads.chunks(size).zip((0..).step_by(size)) {
            group::complete(group, first, &mut self.runnable)?;
        }
        self.in_warp_operation -= self.runnable.len();
        Ok(())
    }

    /// Returns the reason why no thread can continue, although some have not finished.
    fn stuck(&self) -> SimError {
        // Warp operations come first, since threads at a barrier may wait for their threads.
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
                    return group::missing(group, thread, &call);
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

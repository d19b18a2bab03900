//! Launches: their validation, and the distribution of blocks to OS threads.

use crate::block::Launch;
use crate::error::SimError;
use crate::limits::Limits;
use crate::order::BlockOrder;
use crate::shared::SharedMemory;
use crate::stacks::{MAX_STACKS, Stacks};
use crate::watch::Watch;
use crate::worker::Worker;
use cuda_std::host::{self, BlockBound, Kernel, KernelArgs, LaunchConfig};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Runs kernels on the CPU, the threads in an order drawn from a seed.
///
/// It is plain data: the same simulator can launch from several OS threads.
///
/// ```
/// use cuda_std::host::LaunchConfig;
/// use cuda_std::prelude::*;
/// use simt::Simulator;
///
/// /// Doubles every element.
/// #[kernel]
/// pub unsafe fn double(data: DeviceSliceMut<u32>) {
///     for i in thread::grid_stride(data.len()) {
///         // SAFETY: `i` is below the length, and no other thread has the same `i`.
///         unsafe { data.set(i, 2 * data.at(i)) };
///     }
/// }
///
/// # fn main() -> Result<(), simt::SimError> {
/// let mut data: Vec<u32> = (0..1000).collect();
/// // SAFETY: the slice covers `data`, which nothing else uses during the launch.
/// unsafe {
///     let slice = DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len());
///     Simulator::default().launch(&double, LaunchConfig::new(4, 128), (slice,))?;
/// }
/// assert!(data.iter().zip(0..).all(|(&x, i)| x == 2 * i));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Simulator {
    /// What the order of threads and blocks and the content of uninitialised shared memory are
    /// drawn from. Seed 0 means plain order and bytes of `0xff`. The default is 0.
    pub seed: u64,
    /// Whether blocks run in parallel, on rayon's threads; the default. Without it they run one
    /// after the other on the caller's thread, and the same seed gives the same results and the
    /// same error every time.
    pub parallel: bool,
    /// The stack of each simulated thread, by default 256 KiB: enough for kernels without
    /// optimisation, and for a panic hook that prints a backtrace. Memory is taken only as far as
    /// it is used. An overflow ends the process.
    pub stack_bytes: usize,
    /// What the simulated device has at most.
    pub limits: Limits,
}

impl Default for Simulator {
    fn default() -> Self {
        Self {
            seed: 0,
            parallel: true,
            stack_bytes: 256 << 10,
            limits: Limits::default(),
        }
    }
}

impl Simulator {
    /// A simulator that runs blocks and threads in an order drawn from `seed`, one block after the
    /// other, so that every run is the same.
    pub fn with_seed(seed: u64) -> Self {
        Self::default().seed(seed).parallel(false)
    }

    /// The same with this [`seed`](Self::seed).
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same with blocks in [`parallel`](Self::parallel), or not.
    pub fn parallel(self, parallel: bool) -> Self {
        Self { parallel, ..self }
    }

    /// The same with stacks of this [size](Self::stack_bytes).
    pub fn stack_bytes(self, stack_bytes: usize) -> Self {
        Self {
            stack_bytes,
            ..self
        }
    }

    /// The same with these [`limits`](Self::limits).
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Runs `kernel` to its end, as a GPU would after a launch and a wait for it.
    ///
    /// # Safety
    /// The kernel's own contract, as for a launch on a GPU: the pointers in `args` are valid for
    /// what the kernel does with them, from every OS thread, and nothing else uses that memory in
    /// a conflicting way until this returns. A mistake that the simulator reports has done no harm
    /// by itself, but the kernel's output is then incomplete.
    ///
    /// # Errors
    /// A shape that the device or the kernel does not allow, before anything runs. Else the first
    /// mistake of a thread: see [`SimError`]. Once a block has failed, no other one is started.
    /// With blocks in parallel, when several fail before they are stopped, the error is that of the
    /// lowest one among them.
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        args: A,
    ) -> Result<(), SimError> {
        let args = Shareable(args);
        // SAFETY: the caller vouches for the kernel's contract, and `launch_body` checks the
        // block's shape first.
        let body = || unsafe { kernel.run_thread(args.get()) };
        self.launch_body(kernel.name(), kernel.bound(), config, &body)
    }

    /// Checks the shape, and runs `body` in each thread. It is compiled once for all kernels.
    fn launch_body(
        &self,
        kernel: &'static str,
        bound: BlockBound,
        config: LaunchConfig,
        body: &(dyn Fn() + Sync),
    ) -> Result<(), SimError> {
        self.check(kernel, bound, config)?;
        let watch = Watch::default();
        self.run(&Launch {
            watch: &watch,
            kernel,
            config,
            limits: self.limits,
            seed: self.seed,
            body,
        })
    }

    fn check(
        &self,
        name: &'static str,
        bound: BlockBound,
        config: LaunchConfig,
    ) -> Result<(), SimError> {
        if host::is_inside_kernel() {
            return Err(SimError::NestedLaunch { kernel: name });
        }
        let limits = self.limits;
        let checked = config.check(bound, limits.block_threads, limits.shared_bytes);
        checked.map_err(|error| SimError::of_launch(name, error))
    }

    fn run(&self, launch: &Launch<'_>) -> Result<(), SimError> {
        let count = launch.config.grid.count();
        let order = BlockOrder::new(self.seed, count);
        let next = AtomicU64::new(0);
        let failure: Mutex<Option<(u64, SimError)>> = Mutex::new(None);
        let fail = |block, error| {
            launch.watch.stop();
            let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
            if failure.as_ref().is_none_or(|(lowest, _)| block < *lowest) {
                *failure = Some((block, error));
            }
        };
        let work = || {
            let mut worker = match self.worker(launch) {
                Ok(worker) => worker,
                Err(error) => return fail(u64::MAX, error),
            };
            while !launch.watch.is_stopped() {
                let position = next.fetch_add(1, Relaxed);
                if position >= count {
                    break;
                }
                let block = order.at(position);
                if let Err(error) = worker.run(launch, block) {
                    fail(block, error);
                }
            }
        };
        match self.workers(launch) {
            1 => work(),
            workers => rayon::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|_| work());
                }
            }),
        }
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// How many OS threads share the blocks.
    fn workers(&self, launch: &Launch<'_>) -> usize {
        if !self.parallel {
            return 1;
        }
        let resident = MAX_STACKS / launch.config.block.count() as usize;
        let blocks = usize::try_from(launch.config.grid.count()).unwrap_or(usize::MAX);
        rayon::current_num_threads()
            .min(resident)
            .min(blocks)
            .max(1)
    }

    fn worker(&self, launch: &Launch<'_>) -> Result<Worker, SimError> {
        let threads = launch.config.block.count() as usize;
        let stacks = Stacks::take(threads, self.stack_bytes);
        let stacks = stacks.map_err(|source| SimError::Stacks {
            kernel: launch.kernel,
            threads,
            bytes: self.stack_bytes,
            source,
        })?;
        let shared = SharedMemory::new(launch.config.shared_bytes as usize);
        Ok(Worker {
            stacks,
            shared: RefCell::new(shared),
        })
    }
}

/// Arguments that every thread of the launch gets a copy of.
struct Shareable<A>(A);

impl<A: Copy> Shareable<A> {
    /// A method, so that closures capture the wrapper and not what is in it.
    fn get(&self) -> A {
        self.0
    }
}

// SAFETY: arguments are `Copy` plain data: numbers, which are harmless, and addresses, for which
// the caller of `launch` vouches that every OS thread may use them as the kernel does.
unsafe impl<A: KernelArgs> Sync for Shareable<A> {}

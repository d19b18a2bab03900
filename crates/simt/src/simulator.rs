//! Checks launches, and distributes their blocks to OS threads.

use crate::block::Launch;
use crate::error::SimError;
use crate::faults::{self, SignalStack};
#[cfg(feature = "race-detector")]
use crate::global;
use crate::global::GlobalMemory;
use crate::limits::Limits;
use crate::order::BlockOrder;
use crate::panics;
use crate::race::IS_ENABLED;
use crate::shared::SharedMemory;
use crate::spin::Spinning;
use crate::stacks::{MAX_STACKS, Stacks};
use crate::watch::Watch;
use crate::worker::Worker;
use cuda_std::host::{self, BlockBound, Kernel, LaunchConfig, MAX_THREADS, SHARED_STATICS};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// Runs kernels on the CPU, with an order of threads that is drawn from a seed.
///
/// A simulator is plain data, and can launch from several OS threads.
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
    /// The seed of the order of threads and blocks, and of the content of uninitialised shared
    /// memory. Seed 0, the default, means ascending order and bytes of `0xff`.
    pub seed: u64,
    /// Whether blocks run in parallel on rayon's threads, as by default. Otherwise they run one
    /// after the other on the caller's thread, and a seed always gives the same results and the
    /// same error. A program with `#[address_space(shared)]` statics never runs blocks in
    /// parallel: on the host a static is the same for all of them.
    pub parallel: bool,
    /// The size of each simulated thread's stack. The default, 256 KiB, is enough for unoptimised
    /// kernels, and for a panic hook that prints a backtrace. Unused pages take no memory. An
    /// overflow is an error of the launch on Linux, and ends the process elsewhere.
    pub stack_bytes: usize,
    /// Whether arrays in shared memory, and buffers of gridstride's simulator devices, have guard zones
    /// around them. The default is yes, unless the variable `GRIDSTRIDE_SIMULATOR_GUARDS` has the
    /// value `0`.
    pub guards: bool,
    /// How long a thread may run without waiting for others, before the launch fails; zero for no
    /// limit. The default is 30 seconds, or as many as the variable
    /// `GRIDSTRIDE_SIMULATOR_SPIN_LIMIT` says. Time during which the process is stopped does not count.
    pub spin_limit: Duration,
    /// The limits of the simulated device.
    pub limits: Limits,
}

/// Whether guard zones are not switched off by the environment.
fn has_guards() -> bool {
    static IS_ON: LazyLock<bool> = LazyLock::new(|| {
        std::env::var_os("GRIDSTRIDE_SIMULATOR_GUARDS").is_none_or(|text| text != "0")
    });
    *IS_ON
}

fn default_spin_limit() -> Duration {
    /// Much longer than kernels run in tests, also in builds without optimisation.
    const DEFAULT: Duration = Duration::from_secs(30);
    const VARIABLE: &str = "GRIDSTRIDE_SIMULATOR_SPIN_LIMIT";
    static LIMIT: LazyLock<Duration> = LazyLock::new(|| {
        let Ok(text) = std::env::var(VARIABLE) else {
            return DEFAULT;
        };
        let seconds = text.parse().ok();
        let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        limit.unwrap_or_else(|| {
            eprintln!(
                "{VARIABLE}={text:?} is not a number of seconds: the limit stays 30 s. Example: {VARIABLE}=60"
            );
            DEFAULT
        })
    });
    *LIMIT
}

impl Default for Simulator {
    fn default() -> Self {
        Self {
            seed: 0,
            parallel: true,
            stack_bytes: 256 << 10,
            guards: has_guards(),
            spin_limit: default_spin_limit(),
            limits: Limits::default(),
        }
    }
}

impl Simulator {
    /// Returns a simulator that runs blocks one after the other, in an order drawn from `seed`, so
    /// that all runs are the same.
    pub fn with_seed(seed: u64) -> Self {
        Self::default().seed(seed).parallel(false)
    }

    /// Sets the [`seed`](Self::seed).
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets whether blocks run in [`parallel`](Self::parallel).
    pub fn parallel(self, parallel: bool) -> Self {
        Self { parallel, ..self }
    }

    /// Sets the [size of stacks](Self::stack_bytes).
    pub fn stack_bytes(self, stack_bytes: usize) -> Self {
        Self {
            stack_bytes,
            ..self
        }
    }

    /// Sets whether shared arrays have [guard zones](Self::guards).
    pub fn guards(self, guards: bool) -> Self {
        Self { guards, ..self }
    }

    /// Sets how long a thread may run [without waiting for others](Self::spin_limit).
    pub fn spin_limit(self, spin_limit: Duration) -> Self {
        Self { spin_limit, ..self }
    }

    /// Sets the [`limits`](Self::limits).
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Runs `kernel` and waits for its end.
    ///
    /// # Safety
    /// The kernel's own contract must hold, as for a launch on a GPU. `A` may be any `Copy` type:
    /// copies of `args` may be used on every OS thread, even if `A` is not `Send`. The pointers and
    /// references in `args` are valid for the kernel's accesses from every OS thread, and nothing
    /// else accesses the memory in a conflicting way until this returns. A mistake that the simulator reports causes no
    /// undefined behaviour, but leaves the kernel's output incomplete.
    ///
    /// # Errors
    /// Fails before anything runs if the device or the kernel does not allow the shape. Otherwise
    /// returns the first mistake of a thread: see [`SimError`]. After a block has failed, no more
    /// blocks are started. If several parallel blocks fail, the error is that of the lowest block.
    pub unsafe fn launch<A: Copy + 'static>(
        &self,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        args: A,
    ) -> Result<(), SimError> {
        let args = Shareable(args);
        // SAFETY: the caller guarantees the kernel's contract, and `launch_body` checks the block's
        // shape first.
        let body = || unsafe { kernel.run_thread(args.get()) };
        self.launch_body(kernel.name(), kernel.bound(), config, &body)
    }

    /// As [`launch`](Self::launch), with buffers of a simulated device. Also fails if something was
    /// written around a buffer of `memory`, or to one that was freed.
    ///
    /// # Safety
    /// As of [`launch`](Self::launch).
    ///
    /// # Errors
    /// As [`launch`](Self::launch), and [`SimError::BufferDamage`].
    pub unsafe fn launch_in<A: Copy + 'static>(
        &self,
        memory: &GlobalMemory,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        args: A,
    ) -> Result<(), SimError> {
        // SAFETY: the caller keeps the contract of `launch`.
        let launched = unsafe { self.launch(kernel, config, args) };
        // After an error too: the next launch is not to be blamed for it.
        let damage = memory.check();
        launched?;
        damage.map_or(Ok(()), |(buffer, damage)| {
            Err(SimError::BufferDamage {
                kernel: kernel.name(),
                buffer,
                damage,
            })
        })
    }

    /// Checks the shape, and runs `body` in each thread. Compiled once for all kernels.
    fn launch_body(
        &self,
        kernel: &'static str,
        bound: BlockBound,
        config: LaunchConfig,
        body: &(dyn Fn() + Sync),
    ) -> Result<(), SimError> {
        self.check(kernel, bound, config)?;
        panics::watch();
        faults::install();
        let watch = Watch::default();
        self.run(&Launch {
            watch: &watch,
            kernel,
            config,
            limits: self.limits,
            seed: self.seed,
            cluster: bound.cluster(),
            stack_bytes: self.stack_bytes,
            spin_limit: self.spin_limit,
            #[cfg(feature = "race-detector")]
            zones: global::zones(),
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
        #[cfg(feature = "race-detector")]
        if !host::is_instrumented() {
            return Err(SimError::NotInstrumented { kernel: name });
        }
        let limits = self.limits;
        let block_threads = limits.block_threads.min(MAX_THREADS);
        let checked = config.check(bound, block_threads, limits.shared_bytes);
        checked.map_err(|error| SimError::from_launch(name, error))
    }

    fn run(&self, launch: &Launch<'_>) -> Result<(), SimError> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = (!SHARED_STATICS.is_empty())
            .then(|| ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner));
        let count = launch.config.grid.count() / u64::from(launch.cluster);
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
        let no_stacks: Mutex<Option<SimError>> = Mutex::new(None);
        let work = || {
            let mut worker = match self.worker(launch) {
                Ok(worker) => worker,
                // Another OS thread may have stacks, and then runs all blocks.
                Err(error) => {
                    *no_stacks.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
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
            workers => {
                rayon::scope(|scope| {
                    for _ in 0..workers {
                        scope.spawn(|_| work());
                    }
                });
                // Threads that took memory at the same time may all lack a part of it.
                if next.load(Relaxed) == 0 {
                    work();
                }
            }
        }
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        let no_stacks = no_stacks
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match (failure, no_stacks) {
            (Some((_, error)), _) => Err(error),
            (None, Some(error)) if next.into_inner() == 0 => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the number of OS threads that share the blocks.
    fn workers(&self, launch: &Launch<'_>) -> usize {
        if !self.parallel || IS_ENABLED || !SHARED_STATICS.is_empty() {
            return 1;
        }
        let cluster = launch.cluster as usize;
        let resident = MAX_STACKS / (launch.config.block.count() as usize * cluster);
        let blocks = usize::try_from(launch.config.grid.count()).unwrap_or(usize::MAX);
        rayon::current_num_threads()
            .min(resident)
            .min(blocks / cluster)
            .max(1)
    }

    fn worker(&self, launch: &Launch<'_>) -> Result<Worker, SimError> {
        let threads = launch.config.block.count() as usize;
        let mut worker = Worker {
            _signal_stack: SignalStack::new(),
            spinning: Spinning::new(launch.kernel, launch.config, launch.spin_limit),
            stacks: Vec::new(),
            shared: Vec::new(),
            detector: RefCell::default(),
        };
        for _ in 0..launch.cluster {
            let stacks = Stacks::take(threads, self.stack_bytes);
            worker.stacks.push(stacks.map_err(|error| SimError::Stacks {
                kernel: launch.kernel,
                threads,
                bytes: self.stack_bytes,
                error,
            })?);
            let shared = SharedMemory::new(launch.config.shared_bytes as usize, self.guards);
            worker.shared.push(RefCell::new(shared));
        }
        Ok(worker)
    }
}

/// Arguments of which every thread of the launch gets a copy.
struct Shareable<A>(A);

impl<A: Copy> Shareable<A> {
    /// A method, so that closures capture the wrapper and not the field.
    fn get(&self) -> A {
        self.0
    }
}

// SAFETY: threads of the OS only copy the arguments, which are `Copy`. What a kernel may do with the
// copies is up to the contract of `launch`: it holds on every OS thread.
unsafe impl<A> Sync for Shareable<A> {}

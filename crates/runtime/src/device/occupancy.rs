//! The number of blocks of a kernel that a multiprocessor runs at a time.

use super::handle::Backend;
use super::{Device, Dim3, LaunchConfig, Module};
use crate::{Error, Result};
use cuda_std::host::{BlockBound, Kernel, KernelArgs, MAX_THREADS};

/// Threads of a warp.
const WARP: u32 = 32;

/// The limits of a multiprocessor of compute capability 9.0, which the simulator has: threads and
/// blocks at a time, and bytes of shared memory that it takes for itself in each block. (CUDA C++
/// Programming Guide, "Compute Capabilities".)
const SIMULATED_THREADS: u32 = 2048;
const SIMULATED_BLOCKS: u32 = 32;
const RESERVED_SHARED_BYTES: u32 = 1 << 10;

/// The number of blocks of a kernel that a multiprocessor runs at a time: see
/// [`Device::occupancy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Occupancy {
    /// Blocks that a multiprocessor runs at a time; 0 if a block needs more registers than it has.
    pub blocks_per_multiprocessor: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// The most threads that a multiprocessor runs at a time, whatever the kernel.
    pub threads_per_multiprocessor: u32,
    /// Registers of 32 bits that a thread has; `None` for the simulator, which has no registers.
    pub registers_per_thread: Option<u32>,
}

impl Occupancy {
    /// Returns the warps that a multiprocessor runs at a time, as a share of the most that it can
    /// run: from 0 to 1.
    ///
    /// A high share hides the latency of memory, but is no goal in itself: a kernel whose threads
    /// have much independent work is fast at a low one.
    pub fn share(&self) -> f64 {
        let warps = self.threads_per_block.div_ceil(WARP) * self.blocks_per_multiprocessor;
        f64::from(warps) / f64::from(self.threads_per_multiprocessor / WARP)
    }
}

/// Occupancy.
impl Device {
    /// Returns how many blocks of a kernel a multiprocessor runs at a time, for blocks of a shape
    /// with `shared_bytes` bytes of dynamic shared memory.
    ///
    /// A GPU's driver calculates it from the registers and the shared memory of the compiled
    /// kernel, which is loaded if necessary. The simulator compiles nothing: it calculates with the
    /// limits of compute capability 9.0 from the threads and the dynamic shared memory alone. What
    /// it returns is the most that a GPU of that capability can reach, and less is reached with
    /// many registers or with static shared memory, such as that of `shared_array!`.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use gridstride::Device;
    /// use gridstride::device::Module;
    ///
    /// /// Doubles each number.
    /// #[kernel]
    /// pub unsafe fn double(numbers: &mut [f32]) {
    ///     if let Some(number) = numbers.get_mut(thread::index_1d() as usize) {
    ///         *number *= 2.0;
    ///     }
    /// }
    ///
    /// # fn main() -> gridstride::Result<()> {
    /// # static KERNELS: Module = Module::new("kernels", &[]);
    /// // On a GPU: Device::cuda(0)?
    /// let device = Device::simulator()?;
    /// let occupancy = device.occupancy(&KERNELS, &double, 256, 0)?;
    /// assert_eq!((occupancy.blocks_per_multiprocessor, occupancy.share()), (8, 1.0));
    /// // Of 228 KiB of shared memory, two blocks have 100 KiB each.
    /// let occupancy = device.occupancy(&KERNELS, &double, 256, 100 << 10)?;
    /// assert_eq!((occupancy.blocks_per_multiprocessor, occupancy.share()), (2, 0.25));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Launch`] if such blocks break a limit of the kernel or of the device, or if the
    /// module has the PTX of another package,
    /// [`Error::Load`] if the driver does not accept the module, [`Error::Driver`] if the driver
    /// fails, [`Error::Unavailable`] on the CPU, which runs no kernels.
    pub fn occupancy<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        block: impl Into<Dim3>,
        shared_bytes: u32,
    ) -> Result<Occupancy> {
        module.require_package(kernel.name(), kernel.package())?;
        let config = one_cluster(kernel.bound(), block.into(), shared_bytes);
        self.occupancy_of(module, kernel.name(), kernel.bound(), config)
    }

    /// Returns the number of threads in a block with which a multiprocessor runs the most threads of
    /// a kernel at a time: of equal numbers the largest, as CUDA's `cudaOccupancyMaxPotentialBlockSize`
    /// does. `shared_bytes` gives the dynamic shared memory of a block by its number of threads.
    ///
    /// Tries all whole warps that the kernel's bound allows, in blocks of one dimension. Kernels
    /// for blocks of one shape have only that. The result is a start for measurements: the fastest
    /// block need not be the one with the highest [occupancy](Self::occupancy), and in the simulator
    /// nothing is known of registers.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # use gridstride::Device;
    /// # use gridstride::device::{LaunchConfig, Module};
    /// # /// Doubles each number.
    /// # #[kernel]
    /// # pub unsafe fn double(numbers: &mut [f32]) {
    /// #     if let Some(number) = numbers.get_mut(thread::index_1d() as usize) {
    /// #         *number *= 2.0;
    /// #     }
    /// # }
    /// # fn main() -> gridstride::Result<()> {
    /// # static KERNELS: Module = Module::new("kernels", &[]);
    /// # let device = Device::simulator()?;
    /// // 64 bytes of shared memory for each thread.
    /// let threads = device.suggested_block(&KERNELS, &double, |threads| 64 * threads)?;
    /// let config = LaunchConfig::for_len(1_000_000, threads).with_shared_bytes(64 * threads);
    /// assert_eq!(config.block.x, 1024);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Launch`] if no block fits, otherwise as [`occupancy`](Self::occupancy).
    pub fn suggested_block<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        shared_bytes: impl Fn(u32) -> u32,
    ) -> Result<u32> {
        module.require_package(kernel.name(), kernel.package())?;
        let (name, bound) = (kernel.name(), kernel.bound());
        self.most_threads(module, name, bound, &shared_bytes)
    }

    // These functions are compiled once, not for each kernel.

    fn most_threads(
        &self,
        module: &'static Module,
        kernel: &'static str,
        bound: BlockBound,
        shared_bytes: &dyn Fn(u32) -> u32,
    ) -> Result<u32> {
        let blocks: Vec<Dim3> = match bound {
            BlockBound::Exactly(block) | BlockBound::Cluster { block, .. } => vec![block],
            BlockBound::Any => whole_warps(MAX_THREADS),
            BlockBound::AtMost(threads) => whole_warps(threads),
        };
        let mut best = Err(Error::Launch {
            kernel: kernel.to_string(),
            message: "no block has enough registers on this device".to_string(),
        });
        let mut most = 0;
        for block in blocks {
            let threads = block.count() as u32;
            let config = one_cluster(bound, block, shared_bytes(threads));
            match self.occupancy_of(module, kernel, bound, config) {
                Ok(occupancy) if occupancy.blocks_per_multiprocessor * threads > most => {
                    most = occupancy.blocks_per_multiprocessor * threads;
                    best = Ok(threads);
                }
                // Too much shared memory for blocks of this size.
                Err(error @ Error::Launch { .. }) if most == 0 => best = Err(error),
                Ok(_) | Err(Error::Launch { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        best
    }

    fn occupancy_of(
        &self,
        module: &'static Module,
        kernel: &'static str,
        bound: BlockBound,
        config: LaunchConfig,
    ) -> Result<Occupancy> {
        self.require_fitting(kernel, bound, config)?;
        let threads = config.block.count() as u32;
        match &self.backend {
            Backend::Cpu => Err(self.runs_no_kernels(kernel)),
            Backend::Simulator(simulator) => Ok(simulated(
                threads,
                config.shared_bytes,
                simulator.shared_memory_per_block(),
            )),
            Backend::Cuda(gpu) => {
                let (blocks, registers) =
                    gpu.occupancy(module, kernel, threads, config.shared_bytes)?;
                Ok(Occupancy {
                    blocks_per_multiprocessor: blocks,
                    threads_per_block: threads,
                    threads_per_multiprocessor: gpu.properties().threads_per_multiprocessor,
                    registers_per_thread: Some(registers),
                })
            }
        }
    }
}

/// Returns the smallest launch of a kernel: a block, or the blocks of a cluster.
fn one_cluster(bound: BlockBound, block: Dim3, shared_bytes: u32) -> LaunchConfig {
    LaunchConfig::new(bound.cluster(), block).with_shared_bytes(shared_bytes)
}

/// Returns the blocks of whole warps with at most `threads` threads, the largest first.
fn whole_warps(threads: u32) -> Vec<Dim3> {
    let largest = threads.min(MAX_THREADS);
    let warps = (1..=largest / WARP).rev().map(|warps| warps * WARP);
    // A kernel that allows less than a warp.
    let part = (largest < WARP).then_some(largest);
    warps.chain(part).map(Dim3::from).collect()
}

/// Returns the occupancy that the threads and the dynamic shared memory of a block allow. A block
/// may have at most `shared_bytes_per_block`.
fn simulated(threads: u32, shared_bytes: u32, shared_bytes_per_block: u32) -> Occupancy {
    let warps = threads.div_ceil(WARP);
    let by_threads = SIMULATED_THREADS / (warps * WARP);
    // A block may have all but what is reserved for it.
    let by_memory = (shared_bytes_per_block.saturating_add(RESERVED_SHARED_BYTES))
        / (shared_bytes.saturating_add(RESERVED_SHARED_BYTES));
    Occupancy {
        blocks_per_multiprocessor: SIMULATED_BLOCKS.min(by_threads).min(by_memory),
        threads_per_block: threads,
        threads_per_multiprocessor: SIMULATED_THREADS,
        registers_per_thread: None,
    }
}

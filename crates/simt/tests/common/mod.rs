//! What the tests share.
#![allow(dead_code)] // Each test file uses a part of it.

use cuda_std::host::{Kernel, KernelArgs, LaunchConfig};
use cuda_std::{DeviceSlice, DeviceSliceMut};
use simt::{SimError, Simulator};

/// The seeds that tests run under.
pub const SEEDS: std::ops::Range<u64> = 0..8;

/// A kernel's view of `data`, to read.
pub fn slice<T: Copy>(data: &[T]) -> DeviceSlice<T> {
    // SAFETY: each test keeps `data` while its kernel runs, and does not use it meanwhile.
    unsafe { DeviceSlice::from_raw_parts(data.as_ptr(), data.len()) }
}

/// A kernel's view of `data`, to write.
pub fn slice_mut<T: Copy>(data: &mut [T]) -> DeviceSliceMut<T> {
    // SAFETY: each test keeps `data` while its kernel runs, and does not use it meanwhile.
    unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) }
}

/// Launches with arguments made by [`slice`] and [`slice_mut`].
pub fn launch<A: KernelArgs>(
    simulator: &Simulator,
    kernel: &Kernel<A>,
    config: LaunchConfig,
    args: A,
) -> Result<(), SimError> {
    // SAFETY: the tests' kernels take slices of live buffers and check or know their lengths.
    unsafe { simulator.launch(kernel, config, args) }
}

/// Launches under each seed, one block after the other and in parallel, expecting no mistake; `run`
/// makes the arguments and checks the results.
pub fn under_all_schedules(run: impl Fn(&Simulator)) {
    for seed in SEEDS {
        for parallel in [false, true] {
            run(&Simulator::default().seed(seed).parallel(parallel));
        }
    }
}

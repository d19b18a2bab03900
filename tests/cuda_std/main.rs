//! Compares every function of cuda_std, in kernels that run on every device, with results computed
//! without cuda_std.
//!
//! The exceptions are in `machine`. `breakpoint` is called in the simulator only, since a GPU
//! without a debugger stops with an error. `profiler_counter` has no result to compare. Nothing
//! calls `visible_in_the_ptx`, which is for other modules. The PTX must have all three.

mod atomic_floats;
mod atomics;
mod children;
mod constants;
mod copies;
mod core_atomics;
mod floats;
mod generics;
mod heap;
mod integers;
mod launches;
mod machine;
mod matrices;
mod names;
mod ordered_atomics;
mod parameters;
mod random;
mod shared_memory;
mod slices;
mod statics;
mod std_floats;
mod text;
mod threads;
mod tiles;
mod vectors;
mod warp_functions;
mod warps;

use test_support as common;

use common::{fails, module, simulator, small, with_kernels};
use cuda_std::host::{Kernel, KernelArgs};
use cuda_std::{DeviceSlice, DeviceSliceMut};
use cuda_std_tests_kernels as kernels;
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig, Module};

static MODULE: Module = module!(
    "cuda_std_tests",
    "kernels-gpu/ptx/cuda_std_tests",
    "sm_70",
    "sm_80",
    "sm_90a"
);

/// The kernels with the same instructions on all architectures, which are in the PTX of the oldest
/// one alone.
static COMMON: Module = module!("cuda_std_tests", "kernels-gpu/ptx/cuda_std_tests", "sm_70");

/// Returns the devices that run kernels and whose compute capability has the instructions of a
/// test. Says on stderr which devices are skipped.
fn with_capability(has: impl Fn((u32, u32)) -> bool) -> impl Iterator<Item = Device> {
    with_kernels().filter(move |device| {
        let info = device.info();
        let is_enough = info.compute_capability.is_some_and(&has);
        if !is_enough {
            eprintln!("skipped on {info}, which does not have the instructions");
        }
        is_enough
    })
}

/// # Safety
/// As of [`Device::launch`].
unsafe fn launch<A: KernelArgs>(
    device: &Device,
    kernel: &Kernel<A>,
    config: LaunchConfig,
    arguments: A,
) {
    // SAFETY: the caller keeps the contract of `Device::launch`.
    unsafe { launch_of(&MODULE, device, kernel, config, arguments) }
}

/// # Safety
/// As of [`Device::launch`].
unsafe fn launch_of<A: KernelArgs>(
    module: &'static Module,
    device: &Device,
    kernel: &Kernel<A>,
    config: LaunchConfig,
    arguments: A,
) {
    // SAFETY: the caller keeps the contract of `Device::launch`.
    unsafe { device.launch(module, kernel, config, arguments) }.unwrap();
}

/// Returns the number of blocks of a large launch.
fn blocks() -> u32 {
    if small() { 2 } else { 17 }
}

/// Numbers without a pattern (SplitMix64).
fn random(seed: u64, count: usize) -> Vec<u64> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn random_u32(seed: u64, count: usize) -> Vec<u32> {
    random(seed, count).iter().map(|&v| v as u32).collect()
}

//! Clocks, counters of profilers, breakpoints, the architecture, and functions of the GPU only.

use cuda_std::cfg::ComputeCapability;
use cuda_std::prelude::*;
use cuda_std::{externally_visible, gpu_only, misc};

/// Reads the clock before and after work that takes its time, then counts up each counter of a
/// profiler.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn clocks(rounds: u32, out: DeviceSliceMut<[u64; 3]>) {
    let before = misc::clock();
    let mut state = rounds as u64;
    for _ in 0..rounds {
        state = core::hint::black_box(state.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ (state >> 7));
    }
    let after = misc::clock();
    for counter in 0..=7 {
        misc::profiler_counter(counter);
    }
    // SAFETY: an element per thread.
    unsafe { out.set(thread::global_index(), [before, after, state]) };
}

/// Stops for a debugger if `stop` is not 0.
#[kernel]
pub fn breakpoints(stop: u32) {
    if stop != 0 {
        misc::breakpoint();
    }
}

/// A counter that no profiler has.
#[kernel]
pub fn wrong_counter(counter: u32) {
    misc::profiler_counter(counter);
}

/// What the kernel is compiled for: its place among the capabilities from 7.0 on, and comparisons.
///
/// # Safety
/// `out` has three elements.
#[kernel(block = 1)]
pub unsafe fn capability(out: DeviceSliceMut<u32>) {
    let compiled_for = ComputeCapability::from_cuda_arch_env();
    let number = match compiled_for {
        ComputeCapability::Compute70 => 70,
        ComputeCapability::Compute80 => 80,
        ComputeCapability::Compute90 => 90,
        _ => 0,
    };
    // SAFETY: three elements.
    unsafe {
        out.set(0, number);
        out.set(1, (compiled_for >= ComputeCapability::Compute70) as u32);
        out.set(2, (compiled_for < ComputeCapability::Compute80) as u32);
    }
}

/// The lowest 32 bits of the GPU's timer, which there is no function for.
#[gpu_only]
pub fn timer() -> u32 {
    let nanoseconds: u32;
    // SAFETY: it reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %globaltimer_lo;", out(reg32) nanoseconds) };
    nanoseconds
}

/// Calls a function of the GPU only, if `call` is not 0.
///
/// # Safety
/// `out` has an element.
#[kernel(block = 1)]
pub unsafe fn gpu_only_functions(call: u32, out: DeviceSliceMut<u32>) {
    let found = if call != 0 { timer() | 1 } else { 0 };
    // SAFETY: an element.
    unsafe { out.set(0, found) };
}

/// A function that no kernel calls, for other modules.
#[externally_visible]
#[unsafe(no_mangle)]
pub extern "C" fn visible_in_the_ptx(x: u32) -> u32 {
    x.wrapping_mul(3)
}

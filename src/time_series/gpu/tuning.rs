//! How the kernels are launched.

use time_series_kernels::ROUND_THREADS;

use crate::device::LaunchConfig;

/// Threads of a block of kernels that have an element a thread.
const THREADS: u32 = 256;

/// Blocks of such kernels at most: all that the largest GPUs run at a time.
const MAX_BLOCKS: u32 = 2048;

/// Timestamps that a thread that rounds has at a time.
const ROUNDED_AT_ONCE: usize = 8;

/// A kernel that visits `len` elements with a stride.
pub fn grid_stride(len: usize) -> LaunchConfig {
    let blocks = LaunchConfig::for_len(len, THREADS).grid.x;
    LaunchConfig::new(blocks.min(MAX_BLOCKS), THREADS)
}

/// The same for kernels that are written for blocks of so many threads.
pub fn blocks_of(threads: u32, len: usize) -> LaunchConfig {
    LaunchConfig::for_len(len, threads)
}

/// Rounds `len` timestamps.
pub fn round(len: usize) -> LaunchConfig {
    LaunchConfig::for_len(len.div_ceil(ROUNDED_AT_ONCE), ROUND_THREADS)
}

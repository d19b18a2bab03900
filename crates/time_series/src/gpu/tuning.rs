//! Launch shapes.

use cuda_std::warp::WARP_SIZE;
use gridstride_runtime::device::LaunchConfig;
use time_series_kernels::{BOUND_THREADS, ROUND_THREADS};

/// Threads of a block of kernels that process one element per thread.
const THREADS: u32 = 256;

/// The most blocks of such kernels: as many as the largest GPUs run at a time.
const MAX_BLOCKS: u32 = 2048;

/// Timestamps that a thread rounds at a time.
const ROUNDED_AT_ONCE: usize = 8;

/// Returns the shape of a kernel that visits `len` elements with a stride.
pub fn grid_stride(len: usize) -> LaunchConfig {
    let blocks = LaunchConfig::for_len(len, THREADS).grid.x;
    LaunchConfig::new(blocks.min(MAX_BLOCKS), THREADS)
}

/// Returns the shape of the kernel that rounds `len` timestamps.
pub fn round(len: usize) -> LaunchConfig {
    LaunchConfig::for_len(len.div_ceil(ROUNDED_AT_ONCE), ROUND_THREADS)
}

/// Returns the shape of the kernel that bounds the buckets of `tiles` tiles: a thread for each tile
/// of one series, and a warp for each tile of several.
pub fn bound_tiles(tiles: usize, is_one: bool) -> LaunchConfig {
    let lanes = if is_one { 1 } else { WARP_SIZE as usize };
    LaunchConfig::for_len(tiles * lanes, BOUND_THREADS)
}

//! Percentiles.

use cuda_std::DeviceSlice;
use cuda_std::warp::WARP_SIZE;
use gridstride_primitives::exclusive_sums_into;
use gridstride_runtime::device::{Buffer, LaunchConfig};
use gridstride_runtime::{Device, Result};
use time_series_kernels::{
    self as kernels, Bucketed, CLASSES, HUGE_THREADS, HUGE_TILE, Huge, LONG_THREADS, LongerBuckets,
    Percentiles, ROUNDS, SELECT_THREADS, class_start,
};

use super::kernels::HasKernels;
use super::pass::Pass;
use super::tuning;
use crate::MODULE;
use crate::device_output::DeviceColumns;
use crate::workspace::{HugeBuckets, Longer};

/// Computes percentiles of the values of a pass, given the first point of each bucket.
pub fn percentiles<V: HasKernels>(
    pass: &Pass<V>,
    firsts: &Buffer<u32>,
    percents: &[(usize, f64)],
    to: &mut DeviceColumns,
) -> Result<()> {
    if firsts.is_empty() {
        return Ok(());
    }
    // One launch writes columns that are neighbours.
    let mut groups = percents.chunk_by(|before, next| before.0 + 1 == next.0);
    groups.try_for_each(|percents| neighbours(pass, firsts, percents, to))
}

fn neighbours<V: HasKernels>(
    pass: &Pass<V>,
    firsts: &Buffer<u32>,
    percents: &[(usize, f64)],
    to: &mut DeviceColumns,
) -> Result<()> {
    let device = firsts.device();
    let points = Bucketed {
        values: pass.values.slice(),
        firsts: firsts.slice(),
        absent: pass.absent,
    };
    let first = percents[0].0;
    let percents: Vec<f64> = percents.iter().map(|&(_, percent)| percent).collect();
    let device_percents = device.buffer_from(&percents)?;
    let columns = Percentiles {
        percents: device_percents.slice(),
        columns: to.columns_mut(first, percents.len()),
        stride: to.stride,
    };
    let mut longer = Longer::allocate(device, pass.values.len())?;
    longer.counts.fill_zero()?;
    let others = LongerBuckets {
        counts: longer.counts.slice_mut(),
        list: longer.list.slice_mut(),
    };
    let config = LaunchConfig::for_len(firsts.len(), SELECT_THREADS);
    // SAFETY: blocks of whole warps, room for each bucket in each column, and in the list for all
    // buckets of each class. Here and below, buffers are of this device, and freed after the
    // kernels have run.
    unsafe { device.launch(&MODULE, V::KERNELS.short, config, (points, columns, others))? };
    let counts: [u32; CLASSES.len()] = longer.counts.first()?;
    // The threads of each bucket.
    let selections = [
        (V::KERNELS.sorted, 1),
        (V::KERNELS.middle_64, WARP_SIZE),
        (V::KERNELS.middle_256, WARP_SIZE),
        (V::KERNELS.middle_1024, WARP_SIZE),
        (V::KERNELS.middle_2048, WARP_SIZE),
        (V::KERNELS.long, LONG_THREADS),
    ];
    for (class, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let start = class_start(pass.values.len(), class);
        // SAFETY: elements that were written; the list outlives the launches.
        let buckets = unsafe {
            DeviceSlice::from_raw_parts(longer.list.slice().as_ptr().add(start), count as usize)
        };
        let Some(&(selection, threads)) = selections.get(class) else {
            huge(device, points, columns, buckets)?;
            continue;
        };
        let len = buckets.len() * threads as usize;
        let config = LaunchConfig::for_len(len, threads.max(SELECT_THREADS));
        // SAFETY: blocks of whole warps, and a place for each bucket in each column. The buckets
        // and the list outlive the kernel, and the buckets of a class are no longer than its kernel
        // takes.
        unsafe { device.launch(&MODULE, selection, config, (points, columns, buckets))? };
    }
    Ok(())
}

/// Computes percentiles of buckets that several blocks read.
fn huge<V: HasKernels>(
    device: &Device,
    points: Bucketed<V>,
    columns: Percentiles,
    buckets: DeviceSlice<u32>,
) -> Result<()> {
    let mut memory = HugeBuckets::allocate(device, buckets.len())?;
    memory.states.fill_zero()?;
    memory.histograms.fill_zero()?;
    let per_bucket = tuning::grid_stride(buckets.len());
    let counts = memory.tile_counts.slice_mut();
    let arguments = (points.values.len(), points.firsts, buckets, counts);
    // SAFETY: the first points of all buckets, and room for a number for each listed one. The
    // buffers are on this device and freed after the kernel has run.
    unsafe { device.launch(&MODULE, &kernels::huge_tiles, per_bucket, arguments)? };
    exclusive_sums_into(&memory.tile_counts, &mut memory.tiles)?;
    let huge = Huge {
        buckets,
        tiles: memory.tiles.slice(),
        states: memory.states.slice_mut(),
        histograms: memory.histograms.slice_mut(),
        candidates: memory.candidates.slice_mut(),
    };
    // At most the last tile of each bucket is not full.
    let tiles = points.values.len() / HUGE_TILE as usize + buckets.len();
    let per_tile = LaunchConfig::new(tiles as u32, HUGE_THREADS);
    let blocks = LaunchConfig::new(buckets.len() as u32, HUGE_THREADS);
    let kernels = V::KERNELS;
    // SAFETY: the contract of `Huge`: its buckets, which exist, and their tiles; room for each
    // bucket, with states and histograms of zeros; launches in the order of the search, on one
    // stream. There is a block for each tile or for each bucket, and columns have room.
    unsafe {
        device.launch(&MODULE, kernels.huge_extents, per_tile, (points, huge))?;
        for percentile in 0..columns.percents.len() as u32 {
            let step = (huge, columns, percentile);
            device.launch(&MODULE, &kernels::huge_begin, per_bucket, step)?;
            for _ in 0..ROUNDS {
                device.launch(&MODULE, kernels.huge_histogram, per_tile, (points, huge))?;
                device.launch(&MODULE, &kernels::huge_choose, blocks, (huge,))?;
            }
            device.launch(&MODULE, kernels.huge_gather, per_tile, (points, huge))?;
            device.launch(&MODULE, &kernels::huge_finish, blocks, step)?;
        }
    }
    Ok(())
}

//! Percentiles.

use cuda_std::DeviceSlice;
use time_series_kernels::{
    self as kernels, BucketLengths, Bucketed, LongBuckets, Percentiles, SELECT_THREADS, SHORT,
    Sorted,
};

use super::kernels::{HasKernels, MODULE};
use super::pass::Pass;
use super::tuning;
use super::workspace::Pairs;
use crate::device::{Buffer, DeviceView, LaunchConfig};
use crate::primitives::{exclusive_sums, sort_pairs};
use crate::time_series::device_output::DeviceColumns;
use crate::{Device, Result};

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
    let mut counts = device.zeros::<u32>(2)?;
    let room = pass.values.len() / (SHORT as usize + 1);
    let mut list = device.alloc::<u32>(room)?;
    let others = LongBuckets {
        counts: counts.slice_mut(),
        list: list.slice_mut(),
    };
    let config = LaunchConfig::for_len(firsts.len(), SELECT_THREADS);
    // SAFETY: room for each bucket in each column, and in the list for each bucket that is not
    // short. Here and below, buffers are of this device, and freed after the kernels have run.
    unsafe { device.launch(MODULE, V::KERNELS.short, config, (points, columns, others))? };
    let [middle, long] = counts.first()?.map(|count: u32| count as usize);
    let listed = |start: usize, len: usize| {
        // SAFETY: elements that were written; the list outlives the launches.
        unsafe { DeviceSlice::from_raw_parts(list.slice().as_ptr().add(start), len) }
    };
    if middle > 0 {
        let config = LaunchConfig::for_len(32 * middle, SELECT_THREADS);
        let arguments = (points, columns, listed(0, middle));
        // SAFETY: as above, with blocks of whole warps.
        unsafe { device.launch(MODULE, V::KERNELS.middle, config, arguments)? };
    }
    if long > 0 {
        sort(device, points, columns, listed(room - long, long))?;
    }
    Ok(())
}

/// Computes percentiles of buckets by sorting all their points.
fn sort<V: HasKernels>(
    device: &Device,
    points: Bucketed<V>,
    columns: Percentiles,
    buckets: DeviceSlice<u32>,
) -> Result<()> {
    let of_buckets = tuning::grid_stride(buckets.len());
    let mut lengths = device.alloc::<u32>(buckets.len())?;
    let arguments = BucketLengths {
        points: points.values.len(),
        firsts: points.firsts,
        buckets,
        lengths: lengths.slice_mut(),
    };
    // SAFETY: room for each length. Buffers as above.
    unsafe { device.launch(MODULE, &kernels::bucket_lengths, of_buckets, (arguments,))? };
    let offsets = exclusive_sums(&lengths)?;
    let count = DeviceView::part(&offsets, buckets.len(), 1).download()?[0] as usize;
    let of_points = tuning::grid_stride(count);
    let mut pairs = Pairs::allocate(device, count)?;
    let (keys, entries) = (pairs.keys.slice_mut(), pairs.values.slice_mut());
    let arguments = (points, buckets, offsets.slice(), keys, entries);
    // SAFETY: room for all points of the buckets.
    unsafe { device.launch(MODULE, V::KERNELS.keys, of_points, arguments)? };
    let (keys, entries) = sort_pairs(pairs.keys, pairs.values, 0..u64::BITS)?;
    let mut pairs = Pairs::allocate(device, count)?;
    let (wide, order) = (pairs.keys.slice_mut(), pairs.values.slice_mut());
    let arguments = (entries.slice(), wide, order);
    // SAFETY: room for each entry.
    unsafe { device.launch(MODULE, &kernels::widen, of_points, arguments)? };
    let bits = u64::BITS - (buckets.len() as u64 - 1).leading_zeros();
    let (_, order) = sort_pairs(pairs.keys, pairs.values, 0..bits)?;
    let sorted = Sorted {
        buckets,
        offsets: offsets.slice(),
        keys: keys.slice(),
        order: order.slice(),
    };
    let kernel = &kernels::percentiles_of_sorted;
    // SAFETY: room for each bucket in each column.
    unsafe { device.launch(MODULE, kernel, of_buckets, (sorted, columns)) }
}

//! Buckets dropped and filled, on the device.

use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_primitives::exclusive_sums;
use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, DeviceArray, collected, reserve};
use gridstride_runtime::offsets;
use ndarray::Ix1;
use time_series_kernels::{self as kernels, Counts, Filling, Repeated};

use super::timeline::Timeline;
use super::tuning;
use crate::MODULE;
use crate::device_offsets::DeviceOffsets;
use crate::device_output::{DeviceAggregates, DeviceColumns};
use crate::fill::{Fill, Fills};
use crate::options::TimeBuckets;

/// Drops buckets, removes the counts behind the columns that the caller asked for, and fills.
pub fn finish(
    options: &TimeBuckets,
    timeline: &Timeline,
    mut found: DeviceAggregates,
) -> Result<DeviceAggregates> {
    if found.methods.len() > options.methods.len() {
        found = kept(options, found)?;
    }
    match options.fill.is_none() || found.is_empty() {
        true => Ok(found),
        false => filled(timeline, &options.fill, found),
    }
}

/// Keeps the buckets that have degrees of freedom, by the counts behind the columns.
fn kept(options: &TimeBuckets, mut found: DeviceAggregates) -> Result<DeviceAggregates> {
    let device = found.starts.device().clone();
    let (asked, len) = (options.methods.len(), found.len());
    let mut is_kept = device.alloc::<u32>(len)?;
    let config = tuning::grid_stride(len);
    let counts = |index: usize| match index < found.methods.len() {
        true => found.columns.column(index, len),
        false => found.columns.column(0, 0),
    };
    let counts = Counts {
        counts: counts(asked),
        more: counts(asked + 1),
    };
    let arguments = (counts, f64::from(options.ddof), is_kept.slice_mut());
    // SAFETY: a count and a place for each bucket. Here and below, buffers are of this device, and
    // freed after the kernels have run.
    unsafe { device.launch(&MODULE, &kernels::keep_buckets, config, arguments)? };
    let before = exclusive_sums(&is_kept)?;
    let before_on_host = before.to_vec()?;
    let count = before_on_host[len] as usize;
    let indices = kept_indices(&before, count)?;
    let mut starts = device.alloc::<i64>(count)?;
    let (all, to) = (found.starts.buffer().slice(), starts.slice_mut());
    let (config, arguments) = (tuning::grid_stride(count), (all, indices.slice(), 0, to));
    // SAFETY: the indices are those of buckets, and there is a place for each.
    unsafe { device.launch(&MODULE, &kernels::pick_i64, config, arguments)? };
    found.methods.truncate(asked);
    let offsets = found.offsets.get()?.iter();
    let offsets = collected(offsets.map(|&offset| before_on_host[offset] as usize))?;
    found.offsets = DeviceOffsets::Host(offsets);
    picked(found, starts, |column, _, to| {
        pick(column, &indices, f64::NAN, to)
    })
}

/// Returns the indices of the `count` buckets that are kept, from the number of those before each.
fn kept_indices(before: &Buffer<u64>, count: usize) -> Result<Buffer<u64>> {
    let device = before.device();
    let mut indices = device.alloc::<u64>(count)?;
    let config = tuning::grid_stride(before.len() - 1);
    let arguments = (before.slice(), indices.slice_mut());
    // SAFETY: a place for each bucket that is kept. The buffers are on this device and freed after the
    // kernel has run.
    unsafe { device.launch(&MODULE, &kernels::kept_indices, config, arguments)? };
    Ok(indices)
}

/// Returns the buckets with these starts. `pick` writes a column from its results, given the number of
/// the column.
fn picked(
    found: DeviceAggregates,
    starts: Buffer<i64>,
    pick: impl Fn(DeviceSlice<f64>, usize, DeviceSliceMut<f64>) -> Result<()>,
) -> Result<DeviceAggregates> {
    let (device, len) = (starts.device().clone(), starts.len());
    let size = len.saturating_mul(found.methods.len());
    let mut columns = DeviceColumns {
        elements: device.alloc::<f64>(size)?,
        stride: len,
    };
    for index in 0..found.methods.len() {
        let from = found.columns.column(index, found.len());
        pick(from, index, columns.columns_mut(index, 1))?;
    }
    Ok(DeviceAggregates {
        starts: DeviceArray::from_buffer(starts, Ix1(len))?,
        columns,
        ..found
    })
}

/// Inserts the buckets that are missing between the first and the last bucket of each series.
fn filled(
    timeline: &Timeline,
    fill: &Fills,
    mut found: DeviceAggregates,
) -> Result<DeviceAggregates> {
    let device = found.starts.device().clone();
    let offsets = offsets::upload(&device, found.offsets.get()?)?;
    let series = found.offsets.series_count();
    let mut lengths = device.alloc::<u64>(series)?;
    let all_starts = found.starts.buffer().slice();
    let arguments = (
        offsets.slice(),
        all_starts,
        timeline.floor,
        lengths.slice_mut(),
    );
    let config = tuning::grid_stride(series);
    // SAFETY: the offsets are those of the buckets, and there is a place for each series. The
    // buffers are on this device and freed after the kernel has run.
    unsafe { device.launch(&MODULE, &kernels::filled_lengths, config, arguments)? };
    let mut filled_offsets = Vec::new();
    reserve(&mut filled_offsets, series + 1)?;
    filled_offsets.push(0u64);
    for length in lengths.to_vec()? {
        let before = filled_offsets[filled_offsets.len() - 1];
        filled_offsets.push(before.saturating_add(length));
    }
    // Numbers that do not fit cannot be allocated either.
    let count = usize::try_from(filled_offsets[series]).unwrap_or(usize::MAX);
    let device_filled = device.buffer_from(&filled_offsets)?;
    let mut starts = device.alloc::<i64>(count)?;
    let mut indices = device.alloc::<u64>(count)?;
    let filling = Filling {
        offsets: offsets.slice(),
        filled_offsets: device_filled.slice(),
        starts: all_starts,
        floor: timeline.floor,
    };
    let arguments = (filling, starts.slice_mut(), indices.slice_mut());
    let config = tuning::grid_stride(count);
    // SAFETY: a place for each bucket. The buffers are on this device and freed after the kernel has
    // run.
    unsafe { device.launch(&MODULE, &kernels::fill_buckets, config, arguments)? };
    let fills: Vec<_> = found.methods.iter().map(|method| fill.of(method)).collect();
    let filled_offsets = collected(filled_offsets.iter().map(|&offset| offset as usize))?;
    found.offsets = DeviceOffsets::Host(filled_offsets);
    picked(found, starts, |results, column, to| match fills[column] {
        Fill::Previous => repeat(&offsets, results, &indices, to),
        Fill::Value(value) => pick(results, &indices, value, to),
        Fill::None | Fill::Nan => pick(results, &indices, f64::NAN, to),
    })
}

/// Writes the results of buckets, with `gap` for those without points.
fn pick(
    results: DeviceSlice<f64>,
    indices: &Buffer<u64>,
    gap: f64,
    to: DeviceSliceMut<f64>,
) -> Result<()> {
    let config = tuning::grid_stride(indices.len());
    let arguments = (results, indices.slice(), gap, to);
    let device = indices.device();
    // SAFETY: the indices are those of buckets, and there is a place for each. The buffers are on
    // this device and freed after the kernel has run.
    unsafe { device.launch(&MODULE, &kernels::pick_f64, config, arguments) }
}

/// Writes the results of buckets. Those without points repeat the last result of their series that is
/// not NaN.
fn repeat(
    offsets: &Buffer<u64>,
    results: DeviceSlice<f64>,
    indices: &Buffer<u64>,
    to: DeviceSliceMut<f64>,
) -> Result<()> {
    let (device, buckets) = (indices.device(), results.len());
    let mut is_kept = device.alloc::<u32>(buckets)?;
    let config = tuning::grid_stride(buckets);
    let arguments = (results, is_kept.slice_mut());
    // SAFETY: a place for each result. Here and below, buffers are of this device, and freed after
    // the kernels have run.
    unsafe { device.launch(&MODULE, &kernels::keep_results, config, arguments)? };
    let before = exclusive_sums(&is_kept)?;
    let mut count = [0];
    before.copy_part_to(buckets, &mut count)?;
    let [count] = count.map(|count| count as usize);
    // If every bucket has a result, the kernel reads no other.
    let kept = match count < buckets {
        true => kept_indices(&before, count)?,
        false => device.alloc(0)?,
    };
    let repeated = Repeated {
        offsets: offsets.slice(),
        results,
        before: before.slice(),
        kept: kept.slice(),
    };
    let config = tuning::grid_stride(indices.len());
    let arguments = (repeated, indices.slice(), to);
    // SAFETY: the indices are those of buckets, and there is a place for each.
    unsafe { device.launch(&MODULE, &kernels::pick_previous, config, arguments) }
}

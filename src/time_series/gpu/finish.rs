//! Buckets dropped and filled, on the device.

use ndarray::{Array1, Ix1};
use time_series_kernels::{self as kernels, Counts, Filling, NONE};

use super::kernels::MODULE;
use super::timeline::Timeline;
use super::tuning;
use crate::Result;
use crate::device::{Buffer, DeviceArray, collected, reserve};
use crate::offsets;
use crate::primitives::exclusive_sums;
use crate::time_series::device_offsets::DeviceOffsets;
use crate::time_series::device_output::{DeviceAggregates, DeviceColumns};
use crate::time_series::fill::{Fill, Fills};
use crate::time_series::options::TimeBuckets;

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
    unsafe { device.launch(MODULE, &kernels::keep_buckets, config, arguments)? };
    let before = exclusive_sums(&is_kept)?;
    let before_on_host = before.to_vec()?;
    let count = before_on_host[len] as usize;
    let mut indices = device.alloc::<u64>(count)?;
    let arguments = (before.slice(), indices.slice_mut());
    // SAFETY: a place for each bucket that is kept.
    unsafe { device.launch(MODULE, &kernels::kept_indices, config, arguments)? };
    let mut starts = device.alloc::<i64>(count)?;
    let (all, to) = (found.starts.buffer().slice(), starts.slice_mut());
    let (config, arguments) = (tuning::grid_stride(count), (all, indices.slice(), 0, to));
    // SAFETY: the indices are those of buckets, and there is a place for each.
    unsafe { device.launch(MODULE, &kernels::pick_i64, config, arguments)? };
    found.methods.truncate(asked);
    let offsets = found.offsets.get()?.iter();
    let offsets = collected(offsets.map(|&offset| before_on_host[offset] as usize))?;
    found.offsets = DeviceOffsets::Host(offsets);
    picked(found, starts, |_| (&indices, f64::NAN))
}

/// Returns the buckets with these starts. `pick` returns the indices of a column, and the number of
/// buckets whose index is [`NONE`].
fn picked<'a>(
    found: DeviceAggregates,
    starts: Buffer<i64>,
    pick: impl Fn(usize) -> (&'a Buffer<u64>, f64),
) -> Result<DeviceAggregates> {
    let (device, len) = (starts.device().clone(), starts.len());
    let config = tuning::grid_stride(len);
    let size = len.saturating_mul(found.methods.len());
    let mut columns = DeviceColumns {
        elements: device.alloc::<f64>(size)?,
        stride: len,
    };
    for index in 0..found.methods.len() {
        let from = found.columns.column(index, found.len());
        let to = columns.columns_mut(index, 1);
        let (indices, otherwise) = pick(index);
        let arguments = (from, indices.slice(), otherwise, to);
        // SAFETY: the indices are those of buckets, and there is a place for each. The buffers are
        // on this device and freed after the kernel has run.
        unsafe { device.launch(MODULE, &kernels::pick_f64, config, arguments)? };
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
    unsafe { device.launch(MODULE, &kernels::filled_lengths, config, arguments)? };
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
    let mut indices = |is_previous: bool| {
        let mut indices = device.alloc::<u64>(count)?;
        let filling = Filling {
            offsets: offsets.slice(),
            filled_offsets: device_filled.slice(),
            starts: all_starts,
            floor: timeline.floor,
            is_previous: u32::from(is_previous),
        };
        let arguments = (filling, starts.slice_mut(), indices.slice_mut());
        let config = tuning::grid_stride(count);
        // SAFETY: a place for each bucket. The buffers are on this device and freed after the kernel
        // has run.
        unsafe { device.launch(MODULE, &kernels::fill_buckets, config, arguments)? };
        Ok(indices)
    };
    let fills: Vec<_> = found.methods.iter().map(|method| fill.of(method)).collect();
    let repeats = fills.contains(&Fill::Previous);
    let repeated = repeats.then(|| indices(true)).transpose()?;
    // Without methods, this launch computes the starts.
    let has_gaps = fills.is_empty() || fills.iter().any(|fill| *fill != Fill::Previous);
    let with_gaps = has_gaps.then(|| indices(false)).transpose()?;
    let mut last_results = Vec::new();
    for (index, fill) in fills.iter().enumerate() {
        last_results.push(match &repeated {
            Some(repeated) if *fill == Fill::Previous => {
                let column = found.column(index).download()?;
                last_results_of(&column, found.offsets.get()?, repeated)?
            }
            _ => None,
        });
    }
    let pick = |index: usize| match fills[index] {
        Fill::Previous => {
            let indices = last_results[index].as_ref().or(repeated.as_ref());
            (indices.expect("a column repeats"), f64::NAN)
        }
        Fill::Value(value) => (with_gaps.as_ref().expect("a column has gaps"), value),
        Fill::None | Fill::Nan => (with_gaps.as_ref().expect("a column has gaps"), f64::NAN),
    };
    let offsets = collected(filled_offsets.iter().map(|&offset| offset as usize))?;
    found.offsets = DeviceOffsets::Host(offsets);
    picked(found, starts, pick)
}

/// Returns the buckets that a column's results come from: for buckets without points, the last
/// bucket before with a result that is not NaN. `repeated` has the last bucket before whatever its
/// result. `None` if no result is NaN, so that both are the same.
fn last_results_of(
    column: &Array1<f64>,
    offsets: &[usize],
    repeated: &Buffer<u64>,
) -> Result<Option<Buffer<u64>>> {
    if !column.iter().any(|number| number.is_nan()) {
        return Ok(None);
    }
    let mut last = Vec::new();
    reserve(&mut last, column.len())?;
    for series in offsets.windows(2) {
        let mut result = NONE;
        for bucket in series[0]..series[1] {
            if !column[bucket].is_nan() {
                result = bucket as u64;
            }
            last.push(result);
        }
    }
    let mut indices = repeated.to_vec()?;
    let mut before = NONE;
    for index in &mut indices {
        let bucket = *index;
        // The bucket itself comes first, and the buckets without points behind it.
        if bucket == before {
            *index = last[bucket as usize];
        }
        before = bucket;
    }
    repeated.device().buffer_from(&indices).map(Some)
}

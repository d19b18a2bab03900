//! Buckets dropped and filled, on the device.

use ndarray::Ix1;
use time_series_kernels::{self as kernels, Counts, Filling};

use super::kernels::MODULE;
use super::timeline::{Timeline, upload_offsets};
use super::tuning;
use crate::device::{Buffer, DeviceArray};
use crate::primitives::exclusive_sums;
use crate::time_series::device_output::{DeviceAggregates, DeviceColumns};
use crate::time_series::options::{Fill, TimeBuckets};
use crate::{Error, Result};

/// Takes the columns of the methods that are needed: drops buckets, strips the counts, and fills.
pub fn finish(
    options: &TimeBuckets,
    timeline: &Timeline,
    mut found: DeviceAggregates,
) -> Result<DeviceAggregates> {
    let asked = options.methods.len();
    if found.methods.len() > asked {
        let kept = kept_indices(options, &found)?;
        found.methods.truncate(asked);
        let offsets = found
            .offsets
            .iter()
            .map(|&offset| kept.before[offset] as usize);
        let offsets = offsets.collect();
        found = picked(&found, offsets, None, &kept.indices, f64::NAN)?;
    }
    match options.fill {
        Fill::None => Ok(found),
        fill => filled(timeline, fill, &found),
    }
}

struct Kept {
    /// The number of buckets that are kept among the lower ones, of each and in all.
    before: Vec<u64>,
    indices: Buffer<u64>,
}

/// The buckets that have degrees of freedom, by the counts behind the columns that were asked for.
fn kept_indices(options: &TimeBuckets, found: &DeviceAggregates) -> Result<Kept> {
    let device = found.starts.device();
    let asked = options.methods.len();
    let mut kept = device.alloc::<u32>(found.len())?;
    let config = tuning::grid_stride(found.len());
    let counts = |index: usize| match index < found.methods.len() {
        true => {
            let all = found.columns.elements.slice();
            let start = index * found.columns.stride;
            // SAFETY: the column's place in the buffer, which outlives the launch.
            unsafe { cuda_std::DeviceSlice::from_raw_parts(all.as_ptr().add(start), found.len()) }
        }
        // SAFETY: no element.
        false => unsafe { cuda_std::DeviceSlice::from_raw_parts(std::ptr::null(), 0) },
    };
    // SAFETY: as many counts, and room for each. Buffers are of this device, and freed after the kernels have run:
    // here and below.
    unsafe {
        let counts = Counts {
            counts: counts(asked),
            more: counts(asked + 1),
        };
        let arguments = (counts, f64::from(options.ddof), kept.slice_mut());
        device.launch(MODULE, &kernels::keep_buckets, config, arguments)?;
    }
    let before = exclusive_sums(&kept)?;
    let on_host = before.to_vec()?;
    let mut indices = device.alloc::<u64>(on_host[found.len()] as usize)?;
    // SAFETY: room for each that is kept.
    unsafe {
        let arguments = (before.slice(), indices.slice_mut());
        device.launch(MODULE, &kernels::kept_indices, config, arguments)?;
    }
    Ok(Kept {
        before: on_host,
        indices,
    })
}

/// The buckets with these indices, with these starts or their own.
fn picked(
    found: &DeviceAggregates,
    offsets: Vec<usize>,
    starts: Option<Buffer<i64>>,
    indices: &Buffer<u64>,
    otherwise: f64,
) -> Result<DeviceAggregates> {
    let device = indices.device();
    let len = indices.len();
    let config = tuning::grid_stride(len);
    let starts = match starts {
        Some(starts) => starts,
        None => {
            let mut starts = device.alloc::<i64>(len)?;
            let arguments = (
                found.starts.buffer().slice(),
                indices.slice(),
                0,
                starts.slice_mut(),
            );
            // SAFETY: the indices are those of buckets, and there is room for each: here and below.
            unsafe { device.launch(MODULE, &kernels::pick_i64, config, arguments)? };
            starts
        }
    };
    let size = len.saturating_mul(found.methods.len());
    let mut elements = device.alloc::<f64>(size)?;
    for column in 0..found.methods.len() {
        let (from, to) = (found.columns.elements.slice(), elements.slice_mut());
        // SAFETY: the columns' places in the buffers, which outlive the launch.
        unsafe {
            let from = from.as_ptr().add(column * found.columns.stride);
            let to = to.as_mut_ptr().add(column * len);
            let arguments = (
                cuda_std::DeviceSlice::from_raw_parts(from, found.len()),
                indices.slice(),
                otherwise,
                cuda_std::DeviceSliceMut::from_raw_parts(to, len),
            );
            device.launch(MODULE, &kernels::pick_f64, config, arguments)?;
        }
    }
    Ok(DeviceAggregates {
        offsets,
        starts: DeviceArray::from_buffer(starts, Ix1(len))?,
        methods: found.methods.clone(),
        columns: DeviceColumns {
            elements,
            stride: len,
        },
    })
}

/// With all buckets between the first and the last one of each series.
fn filled(timeline: &Timeline, fill: Fill, found: &DeviceAggregates) -> Result<DeviceAggregates> {
    if found.is_empty() {
        let indices = found.starts.device().alloc(0)?;
        return picked(found, found.offsets.clone(), None, &indices, f64::NAN);
    }
    let device = found.starts.device();
    let offsets = upload_offsets(device, &found.offsets)?;
    let series = found.offsets.len() - 1;
    let mut lengths = device.alloc::<u64>(series)?;
    // SAFETY: the offsets are those of the buckets, and there is room for each series. Buffers as above.
    unsafe {
        let arguments = (
            offsets.slice(),
            found.starts.buffer().slice(),
            timeline.floor,
            lengths.slice_mut(),
        );
        let config = tuning::grid_stride(series);
        device.launch(MODULE, &kernels::filled_lengths, config, arguments)?;
    }
    let mut filled_offsets = vec![0u64];
    for length in lengths.to_vec()? {
        let before = filled_offsets[filled_offsets.len() - 1];
        filled_offsets.push(before.saturating_add(length));
    }
    let count = filled_offsets[series];
    let too_many = || Error::Allocation {
        operation: timeline.operation,
        memory: device.memory_kind(),
        requested: count.saturating_mul(size_of::<i64>() as u64),
        free: None,
        total: None,
    };
    let count = usize::try_from(count).map_err(|_| too_many())?;
    let device_filled = device.buffer_from(&filled_offsets)?;
    let (mut starts, mut indices) = (device.alloc::<i64>(count)?, device.alloc::<u64>(count)?);
    let filling = Filling {
        offsets: offsets.slice(),
        filled_offsets: device_filled.slice(),
        starts: found.starts.buffer().slice(),
        floor: timeline.floor,
        is_previous: u32::from(fill == Fill::Previous),
    };
    // SAFETY: room for each bucket. Buffers as above.
    unsafe {
        let arguments = (filling, starts.slice_mut(), indices.slice_mut());
        let config = tuning::grid_stride(count);
        device.launch(MODULE, &kernels::fill_buckets, config, arguments)?;
    }
    let otherwise = match fill {
        Fill::Value(value) => value,
        _ => f64::NAN,
    };
    let offsets = filled_offsets.iter().map(|&offset| offset as usize);
    picked(found, offsets.collect(), Some(starts), &indices, otherwise)
}

//! Percentiles.

use cuda_std::DeviceSlice;
use time_series_kernels::{
    self as kernels, BucketLengths, Bucketed, LongBuckets, SELECT_THREADS, SHORT, Sorted,
};

use super::kernels::{HasKernels, MODULE};
use super::pass::{Input, part};
use super::tuning;
use super::workspace::{BucketOrder, Keys};
use crate::device::{Buffer, DeviceView};
use crate::primitives::{exclusive_sums, sort_pairs};
use crate::time_series::device_output::DeviceColumns;
use crate::{Device, Result};

/// What percentiles are taken of.
pub struct Percentiles<'a, V: HasKernels> {
    pub input: &'a Input<'a, V>,
    /// The first point of each bucket.
    pub firsts: &'a Buffer<u32>,
    /// Columns, and the percentiles that go there.
    pub percents: &'a [(usize, f64)],
}

/// Computes percentiles.
pub fn percentiles<V: HasKernels>(of: Percentiles<V>, to: &mut DeviceColumns) -> Result<()> {
    if of.firsts.is_empty() {
        return Ok(());
    }
    // Neighbours are written by one launch.
    let mut rest = of.percents;
    while !rest.is_empty() {
        let pairs = rest.windows(2);
        let count = 1 + pairs.take_while(|pair| pair[0].0 + 1 == pair[1].0).count();
        let (these, others) = rest.split_at(count);
        neighbours(&of, these, to)?;
        rest = others;
    }
    Ok(())
}

fn neighbours<V: HasKernels>(
    of: &Percentiles<V>,
    percents: &[(usize, f64)],
    to: &mut DeviceColumns,
) -> Result<()> {
    let device = of.firsts.device();
    let points = Bucketed {
        values: of.input.values.slice(),
        firsts: of.firsts.slice(),
        absent: of.input.absent,
    };
    let only: Vec<f64> = percents.iter().map(|&(_, percent)| percent).collect();
    let only = device.buffer_from(&only)?;
    let columns = kernels::Percentiles {
        percents: only.slice(),
        columns: part(to, percents[0].0, percents.len()),
        stride: to.stride,
    };
    let values = of.input.values.len();
    let mut counts = device.zeros::<u32>(2)?;
    let room = values / (SHORT as usize + 1);
    let mut list = device.alloc::<u32>(room)?;
    let others = LongBuckets {
        counts: counts.slice_mut(),
        list: list.slice_mut(),
    };
    let config = tuning::blocks_of(SELECT_THREADS, of.firsts.len());
    // SAFETY: room for each bucket in each column, and for as many buckets of some length as the points make.
    // Buffers are of this device, and freed after the kernels have run: here and below.
    unsafe { device.launch(MODULE, V::KERNELS.short, config, (points, columns, others))? };
    let [middle, long] = counts.first()?.map(|count: u32| count as usize);
    let listed = |start: usize, len: usize| {
        // SAFETY: that many elements, all written; the list outlives the launches.
        unsafe { DeviceSlice::from_raw_parts(list.slice().as_ptr().add(start), len) }
    };
    if middle > 0 {
        let config = tuning::blocks_of(SELECT_THREADS, 32 * middle);
        let arguments = (points, columns, listed(0, middle));
        // SAFETY: as above, with blocks of whole warps.
        unsafe { device.launch(MODULE, V::KERNELS.middle, config, arguments)? };
    }
    if long > 0 {
        sort(device, points, columns, listed(room - long, long))?;
    }
    Ok(())
}

/// Takes percentiles of buckets by sorting all their points.
fn sort<V: HasKernels>(
    device: &Device,
    points: Bucketed<V>,
    columns: kernels::Percentiles,
    buckets: DeviceSlice<u32>,
) -> Result<()> {
    let of_buckets = tuning::grid_stride(buckets.len());
    let mut lengths = device.alloc::<u32>(buckets.len())?;
    // SAFETY: room for each; buffers as above.
    unsafe {
        let arguments = BucketLengths {
            points: points.values.len(),
            firsts: points.firsts,
            buckets,
            lengths: lengths.slice_mut(),
        };
        device.launch(MODULE, &kernels::bucket_lengths, of_buckets, (arguments,))?;
    }
    let offsets = exclusive_sums(&lengths)?;
    let count = DeviceView::part(&offsets, buckets.len(), 1).download()?[0] as usize;
    let of_points = tuning::grid_stride(count);
    let Keys {
        mut keys,
        mut entries,
    } = Keys::allocate(device, count)?;
    // SAFETY: room for all points of the buckets.
    unsafe {
        let arguments = (
            points,
            buckets,
            offsets.slice(),
            keys.slice_mut(),
            entries.slice_mut(),
        );
        device.launch(MODULE, V::KERNELS.keys, of_points, arguments)?;
    }
    let (keys, entries) = sort_pairs(keys, entries, 0..u64::BITS)?;
    let BucketOrder {
        mut wide,
        mut order,
    } = BucketOrder::allocate(device, count)?;
    // SAFETY: room for each.
    unsafe {
        let arguments = (entries.slice(), wide.slice_mut(), order.slice_mut());
        device.launch(MODULE, &kernels::widen, of_points, arguments)?;
    }
    let bits = u64::BITS - (buckets.len() as u64 - 1).leading_zeros();
    let (_, order) = sort_pairs(wide, order, 0..bits)?;
    let sorted = Sorted {
        buckets,
        offsets: offsets.slice(),
        keys: keys.slice(),
        order: order.slice(),
    };
    // SAFETY: room for each bucket in each column.
    unsafe {
        device.launch(
            MODULE,
            &kernels::percentiles_of_sorted,
            of_buckets,
            (sorted, columns),
        )
    }
}

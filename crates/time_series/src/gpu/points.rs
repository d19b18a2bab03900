//! Points in order, and without the values that the options leave out.

use gridstride_primitives::sort_pairs;
use gridstride_runtime::device::{Buffer, DeviceArray, Element};
use gridstride_runtime::offsets;
use gridstride_runtime::{Error, Result};
use ndarray::Ix1;
use time_series_kernels::{self as kernels, Preparation};

use super::kernels::{HasKernels, Reorder};
use super::timeline::Timeline;
use super::tuning;
use crate::MODULE;
use crate::input::{DeviceSeries, require_labels};
use crate::options::{Duplicates, Nan, Order};
use crate::workspace::{Array, Pairs};

/// Timestamps and values.
type Arrays<V> = (DeviceArray<i64, Ix1>, DeviceArray<V, Ix1>);

/// Returns the points in the order of time if the options sort them.
pub fn sorted<V: HasKernels>(series: &DeviceSeries<V>) -> Result<Option<Arrays<V>>> {
    match series.options.order {
        Order::Required => Ok(None),
        Order::Sort => sort(series).map(Some),
    }
}

/// Returns the series with its points in the order of time.
pub fn in_order<'a, V: HasKernels>(
    series: &DeviceSeries<'a, V>,
    sorted: &'a Option<Arrays<V>>,
) -> DeviceSeries<'a, V> {
    let (timestamps, values) = match sorted {
        None => (series.timestamps, series.values),
        Some((timestamps, values)) => (timestamps, values),
    };
    DeviceSeries {
        timestamps,
        values,
        ..*series
    }
}

/// Replaces an error of sorted points by that which has the index before sorting.
pub fn unsorted<V: HasKernels, R>(series: &DeviceSeries<V>, found: Result<R>) -> Result<R> {
    if let (Err(Error::InvalidInput { .. }), Order::Sort) = (&found, series.options.order) {
        let timestamps = series.timestamps.download()?;
        require_labels(series.operation, &timestamps, &series.floor)?;
    }
    found
}

/// Returns the timestamps and values stably sorted by series, then by time.
fn sort<V: HasKernels>(series: &DeviceSeries<V>) -> Result<Arrays<V>> {
    let (device, offsets, timestamps) = (series.device(), series.offsets, series.timestamps);
    let len = timestamps.len();
    let config = tuning::grid_stride(len);
    let mut pairs = Pairs::allocate(device, len)?;
    let (keys, order) = (pairs.keys.slice_mut(), pairs.values.slice_mut());
    let arguments = (timestamps.buffer().slice(), keys, order);
    // SAFETY: a place for each timestamp. Here and below, buffers are of this device, and freed
    // after the kernels have run.
    unsafe { device.launch(&MODULE, &kernels::time_keys, config, arguments)? };
    let (mut keys, mut order) = sort_pairs(pairs.keys, pairs.values, 0..64)?;
    if offsets.len() > 2 {
        let device_offsets = offsets::upload(device, offsets)?;
        let arguments = (device_offsets.slice(), order.slice(), keys.slice_mut());
        // SAFETY: the order is one of all points, and the offsets were checked.
        unsafe { device.launch(&MODULE, &kernels::series_keys, config, arguments)? };
        (_, order) = sort_pairs(keys, order, 0..u64::BITS - offsets.len().leading_zeros())?;
    }
    Ok((
        reordered(timestamps, &kernels::reorder_i64, &order)?,
        reordered(series.values, V::KERNELS.reorder, &order)?,
    ))
}

fn reordered<T: Element>(
    array: &DeviceArray<T, Ix1>,
    kernel: &'static Reorder<T>,
    order: &Buffer<u32>,
) -> Result<DeviceArray<T, Ix1>> {
    let device = order.device();
    let mut elements = device.alloc(array.len())?;
    let arguments = (array.buffer().slice(), order.slice(), elements.slice_mut());
    // SAFETY: the order has all indices. The buffers are on this device and freed after the kernel
    // has run.
    unsafe { device.launch(&MODULE, kernel, tuning::grid_stride(array.len()), arguments)? };
    DeviceArray::from_buffer(elements, array.raw_dim())
}

/// Returns the value of each point, or its rate, as an `f64`. Points without one have the bits of
/// `ABSENT`.
pub fn prepared<V: HasKernels>(
    series: &DeviceSeries<V>,
    timeline: &Timeline,
    makes_rates: bool,
) -> Result<Buffer<f64>> {
    let (options, values) = (series.options, series.values);
    let device = series.device();
    let mut prepared = Array::allocate(device, values.len())?.elements;
    let preparation = Preparation {
        timestamps: series.timestamps.buffer().slice(),
        series_starts: timeline.starts.slice(),
        duplicates: match options.duplicates {
            Duplicates::Keep => kernels::Duplicates::Keep,
            Duplicates::First => kernels::Duplicates::First,
            Duplicates::Last => kernels::Duplicates::Last,
        },
        skips_nan: u32::from(options.nan == Nan::Skip),
        makes_rates: u32::from(makes_rates),
    };
    let arguments = (preparation, values.buffer().slice(), prepared.slice_mut());
    let config = tuning::grid_stride(values.len());
    // SAFETY: the timestamps, the values and `prepared` have the same length. The buffers are on
    // this device and freed after the kernel has run.
    unsafe { device.launch(&MODULE, V::KERNELS.prepare, config, arguments)? };
    Ok(prepared)
}

//! Points brought into order.

use ndarray::Ix1;
use time_series_kernels as kernels;

use super::kernels::{HasKernels, MODULE, Reorder};
use super::timeline::upload_offsets;
use super::tuning;
use crate::Result;
use crate::device::{Buffer, DeviceArray, Element};
use crate::primitives::sort_pairs;
use crate::time_series::input::DeviceSeries;

/// The points sorted by series, then by time; otherwise in the order in which they are.
pub fn sorted<V: HasKernels>(
    series: &DeviceSeries<V>,
) -> Result<(DeviceArray<i64, Ix1>, DeviceArray<V, Ix1>)> {
    let DeviceSeries {
        offsets,
        timestamps,
        values,
        ..
    } = *series;
    let device = series.device();
    let len = timestamps.len();
    let config = tuning::grid_stride(len);
    let (mut keys, mut order) = (device.alloc::<u64>(len)?, device.alloc::<u32>(len)?);
    // SAFETY: room for each; buffers are of this device, and freed after the kernels have run: here and below.
    unsafe {
        let arguments = (
            timestamps.buffer().slice(),
            keys.slice_mut(),
            order.slice_mut(),
        );
        device.launch(MODULE, &kernels::time_keys, config, arguments)?;
    }
    let (mut keys, mut order) = sort_pairs(keys, order, 0..64)?;
    if offsets.len() > 2 {
        let offsets_there = upload_offsets(device, offsets)?;
        // SAFETY: as above.
        unsafe {
            let arguments = (offsets_there.slice(), order.slice(), keys.slice_mut());
            device.launch(MODULE, &kernels::series_keys, config, arguments)?;
        }
        (_, order) = sort_pairs(keys, order, 0..u64::BITS - offsets.len().leading_zeros())?;
    }
    Ok((
        reordered(timestamps, &kernels::reorder_i64, &order)?,
        reordered(values, V::KERNELS.reorder, &order)?,
    ))
}

fn reordered<T: Element>(
    array: &DeviceArray<T, Ix1>,
    kernel: &'static Reorder<T>,
    order: &Buffer<u32>,
) -> Result<DeviceArray<T, Ix1>> {
    let device = order.device();
    let mut elements = device.alloc(array.len())?;
    // SAFETY: the order is one of all indices; buffers as above.
    unsafe {
        let arguments = (array.buffer().slice(), order.slice(), elements.slice_mut());
        device.launch(MODULE, kernel, tuning::grid_stride(array.len()), arguments)?;
    }
    DeviceArray::from_buffer(elements, array.raw_dim())
}

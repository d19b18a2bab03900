//! Distances on GPUs and in the simulator.

pub mod kernels;
pub mod tuning;

use distances_kernels::{Matrices, Parameters, THREADS};
use ndarray::Ix2;

use kernels::HasKernels;

use super::input::{self, DevicePairs, HostPairs, Pairs};
use super::options::Metric;
use super::scale::Scale;
use crate::device::{DeviceArray, LaunchConfig, assign};
use crate::{Device, Result, modules};

pub fn host<T: HasKernels>(device: &Device, pairs: &mut HostPairs<T>) -> Result<()> {
    let a = device.upload(&pairs.a)?;
    let b = pairs.b.map(|b| device.upload(&b)).transpose()?;
    let out = device.alloc(pairs.out.len())?;
    let mut out = DeviceArray::from_buffer(out, pairs.out.raw_dim())?;
    self::device(Pairs {
        operation: pairs.operation,
        metric: pairs.metric,
        a: &a,
        b: b.as_ref(),
        out: &mut out,
    })?;
    match pairs.out.as_slice_mut() {
        Some(places) => out.buffer().copy_to(places)?,
        None => assign(pairs.out.view_mut(), &out.download()?),
    }
    Ok(())
}

pub fn device<T: HasKernels>(pairs: DevicePairs<T>) -> Result<()> {
    let (operation, metric, out) = (pairs.operation, pairs.metric, pairs.out);
    let (a, b) = (pairs.a, pairs.b);
    let largest = largest(operation, ["a", "b"], a, b)?;
    if out.is_empty() {
        return Ok(());
    }
    let (device, dim) = (a.device(), a.shape()[1]);
    let (rows, columns) = (out.shape()[0], out.shape()[1]);
    input::require_dim(operation, dim, tuning::MAX_DIM)?;
    let Scale { scale, unscale } = Scale::new(largest, dim, metric, T::KERNELS.max_exponent);
    let parameters = Parameters {
        rows: rows as u64,
        columns: columns as u64,
        dim: dim as u32,
        root: u32::from(metric == Metric::L2),
        scale,
        unscale,
    };
    let tiles = match b {
        Some(_) => tuning::tiles(rows, columns, T::KERNELS.tile_columns),
        None => tuning::tiles_below(rows, T::KERNELS.tile_columns),
    };
    let tiles = tiles.ok_or_else(|| input::too_many(operation, (rows, columns)))?;
    let config = LaunchConfig::new(tiles, THREADS);
    let (a, out) = (a.buffer().slice(), out.buffer_mut().slice_mut());
    let module = &modules::DISTANCES;
    // SAFETY: a block per tile, or without `b` per tile on or below the diagonal; the arrays are of
    // this device, have the rows and columns that the parameters name, and are freed after the
    // kernel has run; buffers are aligned to 256 bytes.
    unsafe {
        match b {
            Some(b) => {
                let b = b.buffer().slice();
                let arguments = (parameters, Matrices { a, b }, out);
                device.launch(module, T::KERNELS.distances, config, arguments)
            }
            None => device.launch(module, T::KERNELS.pairwise, config, (parameters, a, out)),
        }
    }
}

/// Returns the largest magnitude of both arrays, or the error for a row that is not finite.
pub fn largest<T: HasKernels>(
    operation: &'static str,
    names: [&str; 2],
    a: &DeviceArray<T, Ix2>,
    b: Option<&DeviceArray<T, Ix2>>,
) -> Result<f64> {
    let device = a.device();
    let arrays = [(names[0], Some(a)), (names[1], b)];
    // A copy from the host would wait for the device once more.
    let mut found = device.zeros(2 * arrays.len())?;
    for (number, (_, array)) in arrays.iter().enumerate() {
        let Some(array) = array.filter(|array| !array.is_empty()) else {
            continue;
        };
        let blocks = tuning::largest_blocks(array.len());
        let config = LaunchConfig::new(blocks, tuning::LARGEST_THREADS);
        let arguments = (number as u32, array.buffer().slice(), found.slice_mut());
        // SAFETY: two elements per array, on this device, and whole warps; the buffers are freed
        // after the kernel has run.
        unsafe { device.launch(&modules::DISTANCES, T::KERNELS.largest, config, arguments)? };
    }
    let mut largest = 0.0f64;
    for ((name, array), &[magnitude, bad]) in arrays.iter().zip(found.to_vec()?.as_chunks().0) {
        // The complement of the first index.
        if let Some(array) = array.filter(|_| bad != 0) {
            let row = !bad as usize / array.shape()[1];
            return Err(input::not_finite(operation, name, row));
        }
        largest = largest.max((T::KERNELS.magnitude)(magnitude));
    }
    Ok(largest)
}

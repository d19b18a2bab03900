//! Distances on GPUs and in the simulator.

pub mod kernels;
pub mod tuning;

use distances_kernels::{LARGEST_THREADS, Matrices, Parameters, Scale, THREADS};
use ndarray::Ix2;

use kernels::HasKernels;

use super::input::{self, DevicePairs, HostPairs, Pairs};
use super::options::Metric;
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
        is_new: true,
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
    let numbers = a.len() + b.map_or(0, DeviceArray::len);
    let is_few = tuning::are_few(numbers, out.len());
    let largest = match is_few {
        // The kernels find it.
        true => 0.0,
        false => largest(operation, ["a", "b"], a, b)?,
    };
    if out.is_empty() {
        return Ok(());
    }
    let (device, dim) = (a.device(), a.shape()[1]);
    let (rows, columns) = (out.shape()[0], out.shape()[1]);
    input::require_dim(operation, dim, tuning::MAX_DIM)?;
    let is_root = metric == Metric::L2;
    let Scale { scale, unscale } = Scale::new(largest, dim, is_root, T::KERNELS.max_exponent);
    let parameters = Parameters {
        rows: rows as u64,
        columns: columns as u64,
        dim: dim as u32,
        root: u32::from(is_root),
        scale,
        unscale,
    };
    let tiles = match b {
        Some(_) => tuning::tiles(rows, columns, T::KERNELS.tile_columns),
        None => tuning::tiles_below(rows, T::KERNELS.tile_columns),
    };
    let tiles = tiles.ok_or_else(|| input::too_many(operation, (rows, columns)))?;
    let config = LaunchConfig::new(tiles, THREADS);
    let (set1, out) = (a.buffer().slice(), out.inner_mut().slice_mut());
    let matrices = b.map(|b| Matrices {
        a: set1,
        b: b.buffer().slice(),
    });
    let (module, kernels) = (&modules::DISTANCES, T::KERNELS);
    // SAFETY: a block per tile, or without `b` per tile on or below the diagonal; the arrays are of
    // this device, have the rows and columns that the parameters name, and are freed after the
    // kernel has run; buffers are aligned to 256 bytes; `bad` has two elements.
    unsafe {
        if is_few {
            let mut bad = device.alloc(2)?;
            let to = bad.slice_mut();
            match matrices {
                Some(matrices) => {
                    let arguments = (parameters, matrices, out, to);
                    device.launch(module, kernels.few_distances, config, arguments)?;
                }
                None => {
                    let arguments = (parameters, set1, out, to);
                    device.launch(module, kernels.few_pairwise, config, arguments)?;
                }
            }
            let arrays = [("a", Some(a)), ("b", b)];
            return require_finite(operation, arrays, bad.first()?);
        }
        match matrices {
            Some(matrices) => device.launch(
                module,
                kernels.distances,
                config,
                (parameters, matrices, out),
            ),
            None => device.launch(module, kernels.pairwise, config, (parameters, set1, out)),
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
    let blocks = tuning::largest_blocks(a.len().max(b.map_or(0, DeviceArray::len)));
    let mut found = match blocks {
        // The kernel writes all elements.
        1 if b.is_some() => device.alloc(4)?,
        _ => device.zeros(4)?,
    };
    let config = LaunchConfig::new((blocks, 1 + u32::from(b.is_some())), LARGEST_THREADS);
    let matrices = Matrices {
        a: a.buffer().slice(),
        b: b.unwrap_or(a).buffer().slice(),
    };
    let arguments = (matrices, found.slice_mut());
    // SAFETY: two elements for each array, on this device, zeros if there are several blocks; the
    // buffers are freed after the kernel has run.
    unsafe { device.launch(&modules::DISTANCES, T::KERNELS.largest, config, arguments)? };
    let [largest_a, bad_a, largest_b, bad_b] = found.first()?;
    require_finite(
        operation,
        [(names[0], Some(a)), (names[1], b)],
        [bad_a, bad_b],
    )?;
    let magnitude = T::KERNELS.magnitude;
    Ok(magnitude(largest_a).max(magnitude(largest_b)))
}

/// Fails if an array has a row that is not finite: `bad` has the complement of the index of its
/// first such number, or 0.
fn require_finite<T: HasKernels>(
    operation: &'static str,
    arrays: [(&str, Option<&DeviceArray<T, Ix2>>); 2],
    bad: [u64; 2],
) -> Result<()> {
    for ((name, array), bad) in arrays.into_iter().zip(bad) {
        if let Some(array) = array.filter(|_| bad != 0) {
            let row = !bad as usize / array.shape()[1];
            return Err(input::not_finite(operation, name, row));
        }
    }
    Ok(())
}

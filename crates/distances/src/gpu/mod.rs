//! Distances on GPUs and in the simulator.

pub mod kernels;
mod nearest;
mod slide;
mod slide_nearest;
mod tuning;

use distances_kernels::{LARGEST_THREADS, Matrices, Parameters, Scale, THREADS};
use gridstride_runtime::device::{DeviceArray, LaunchConfig, assign};
use gridstride_runtime::{Device, Result};

use kernels::HasKernels;

use super::input::{self, Arguments, DevicePairs, HostPairs};
use super::options::Metric;
use super::rows::DeviceRows;
use crate::MODULE;

pub use nearest::{device_nearest, host_nearest};

/// Why a grid has enough blocks for a result: one that a device's memory holds.
const FITS_GRID: &str = "fewer tiles than a grid's blocks";

/// Writes the distances of all pairs of host arrays.
pub fn host_pairs<T: HasKernels>(device: &Device, pairs: &mut HostPairs<T>) -> Result<()> {
    let a = pairs.a.upload(device)?;
    let b = pairs.b.map(|b| b.upload(device)).transpose()?;
    let mut out = device.alloc(pairs.out.len())?;
    let b = b.as_ref().map(|b| b.view());
    device_pairs(pairs.with(a.view(), b, &mut out, true))?;
    match pairs.out.as_slice_mut() {
        Some(places) => out.copy_to(places),
        None => {
            let result = DeviceArray::from_buffer(out, pairs.out.raw_dim())?;
            assign(pairs.out.view_mut(), &result.download()?);
            Ok(())
        }
    }
}

/// Writes the distances of all pairs in a device's memory.
pub fn device_pairs<T: HasKernels>(pairs: DevicePairs<T>) -> Result<()> {
    match pairs.a.offsets {
        Some(_) => slide::pairs(pairs),
        None => rows(pairs),
    }
}

fn rows<T: HasKernels>(pairs: DevicePairs<T>) -> Result<()> {
    let (operation, arguments) = (pairs.operation, pairs.arguments());
    let (a, b, out) = (pairs.a, pairs.b, pairs.out);
    let numbers = a.numbers.len() + b.map_or(0, |b| b.numbers.len());
    let is_few = tuning::are_few(numbers, out.len());
    let largest = match is_few {
        // The kernels find it.
        true => 0.0,
        false => largest(operation, arguments)?,
    };
    if out.is_empty() {
        return Ok(());
    }
    let parameters = parameters(pairs.metric, a, b.unwrap_or(a), largest);
    let (rows, columns) = (parameters.rows as usize, parameters.columns as usize);
    let tiles = match b {
        Some(_) => tuning::tiles(rows, columns, T::KERNELS.tile_columns),
        None => tuning::tiles_below(rows, T::KERNELS.tile_columns),
    };
    let config = LaunchConfig::new(tiles.expect(FITS_GRID), THREADS);
    let (device, set1, out) = (a.device(), a.numbers.buffer().slice(), out.slice_mut());
    let matrices = b.map(|b| Matrices {
        a: set1,
        b: b.numbers.buffer().slice(),
    });
    let (module, kernels) = (&MODULE, T::KERNELS);
    // SAFETY: a block per tile, or without `b` per tile on or below the diagonal; the arrays are of
    // this device, have the rows and columns that the parameters name, and are freed after the
    // kernel has run; buffers are aligned to 256 bytes; `bad` has two elements.
    unsafe {
        if is_few {
            let mut bad = device.alloc(2)?;
            match matrices {
                Some(matrices) => {
                    let arguments = (parameters, matrices, out, bad.slice_mut());
                    device.launch(module, kernels.few_distances, config, arguments)?;
                }
                None => {
                    let arguments = (parameters, set1, out, bad.slice_mut());
                    device.launch(module, kernels.few_pairwise, config, arguments)?;
                }
            }
            return input::require_finite(operation, arguments, bad.first()?);
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

/// Returns the parameters of the distances of all pairs. No number exceeds `largest`.
fn parameters<T: HasKernels>(
    metric: Metric,
    a: DeviceRows<T>,
    b: DeviceRows<T>,
    largest: f64,
) -> Parameters {
    let (numbers, is_root) = (a.longest().max(b.longest()), metric == Metric::L2);
    let Scale { scale, unscale } = Scale::new(largest, numbers, is_root, T::KERNELS.max_exponent);
    Parameters {
        rows: a.count() as u64,
        columns: b.count() as u64,
        dim: a.dim() as u32,
        root: u32::from(is_root),
        scale,
        unscale,
    }
}

/// Returns the largest magnitude of all arguments, or the error for a row that is not finite.
fn largest<T: HasKernels>(
    operation: &'static str,
    arguments: Arguments<DeviceRows<T>>,
) -> Result<f64> {
    let [a, b] = arguments.map(|(_, rows)| rows.map(|rows| rows.numbers));
    let a = a.expect("a first argument");
    let device = a.device();
    let blocks = tuning::largest_blocks(a.len().max(b.map_or(0, DeviceArray::len)));
    let mut results = match blocks {
        // The kernel writes all elements.
        1 if b.is_some() => device.alloc(4)?,
        _ => device.zeros(4)?,
    };
    let config = LaunchConfig::new((blocks, 1 + u32::from(b.is_some())), LARGEST_THREADS);
    let matrices = Matrices {
        a: a.buffer().slice(),
        b: b.unwrap_or(a).buffer().slice(),
    };
    let kernel_arguments = (matrices, results.slice_mut());
    // SAFETY: two elements for each array, on this device, zeros if there are several blocks; the
    // buffers are freed after the kernel has run.
    unsafe { device.launch(&MODULE, T::KERNELS.largest, config, kernel_arguments)? };
    let [largest_a, bad_a, largest_b, bad_b] = results.first()?;
    input::require_finite(operation, arguments, [bad_a, bad_b])?;
    let magnitude = T::KERNELS.magnitude;
    Ok(magnitude(largest_a).max(magnitude(largest_b)))
}

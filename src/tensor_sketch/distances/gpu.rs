//! Launches of the kernels of the distances, the same for GPU and simulator.

use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use ndarray::Ix2;
use tensor_sketch_kernels::{self as kernels, DistanceParameters, THREADS};

use super::tuning::{self, LARGEST_THREADS, MAX_DIM};
use super::value::Scale;
use super::{Metric, Real, not_finite};
use crate::device::{DeviceArray, LaunchConfig};
use crate::{Device, Error, Result, modules};

/// The kernels for one type of numbers.
pub struct Kernels<T: 'static> {
    distances: &'static Distances<T>,
    pairwise: &'static Pairwise<T>,
    largest: &'static Largest<T>,
    /// Rows of `b` in a tile.
    tile_columns: u32,
}

type Distances<T> = Kernel<(
    DistanceParameters,
    DeviceSlice<T>,
    DeviceSlice<T>,
    DeviceSliceMut<f64>,
)>;
type Pairwise<T> = Kernel<(DistanceParameters, DeviceSlice<T>, DeviceSliceMut<f64>)>;
type Largest<T> = Kernel<(u32, DeviceSlice<T>, DeviceSliceMut<u64>)>;

impl Kernels<f32> {
    pub const SINGLE: Self = Self {
        distances: &kernels::distances_f32,
        pairwise: &kernels::pairwise_f32,
        largest: &kernels::largest_f32,
        tile_columns: kernels::TILE_COLUMNS_F32,
    };
}

impl Kernels<f64> {
    pub const DOUBLE: Self = Self {
        distances: &kernels::distances_f64,
        pairwise: &kernels::pairwise_f64,
        largest: &kernels::largest_f64,
        tile_columns: kernels::TILE_COLUMNS_F64,
    };
}

/// The distances of all rows of `a` and `b`, which have the same length and are on the same device,
/// one that runs kernels.
pub(super) fn distances<T: Real>(
    operation: &'static str,
    a: &DeviceArray<T, Ix2>,
    b: &DeviceArray<T, Ix2>,
    metric: Metric,
) -> Result<DeviceArray<f64, Ix2>> {
    let kernels = T::kernels();
    let device = a.device();
    let shape = (a.shape()[0], b.shape()[0]);
    let tiles = tuning::tiles(shape.0, shape.1, kernels.tile_columns);
    let (mut out, largest) = prepare(operation, device, shape, &[("a", a), ("b", b)])?;
    if !out.is_empty() {
        let parameters = parameters::<T>(operation, shape, a.shape()[1], metric, largest)?;
        let config = LaunchConfig::new(checked(operation, shape, tiles)?, THREADS);
        let arguments = (
            parameters,
            a.buffer().slice(),
            b.buffer().slice(),
            out.buffer_mut().slice_mut(),
        );
        // SAFETY: a block per tile, arrays of this device with the rows and columns that the
        // parameters name, which freeing waits for; buffers are aligned to 256 bytes.
        unsafe {
            device.launch(
                &modules::TENSOR_SKETCH,
                kernels.distances,
                config,
                arguments,
            )?
        };
    }
    Ok(out)
}

/// The distances of all rows of `a` to each other, on a device that runs kernels.
pub(super) fn pairwise<T: Real>(
    operation: &'static str,
    a: &DeviceArray<T, Ix2>,
    metric: Metric,
) -> Result<DeviceArray<f64, Ix2>> {
    let kernels = T::kernels();
    let device = a.device();
    let shape = (a.shape()[0], a.shape()[0]);
    let tiles = tuning::tiles_below(shape.0, kernels.tile_columns);
    let (mut out, largest) = prepare(operation, device, shape, &[("a", a)])?;
    if !out.is_empty() {
        let parameters = parameters::<T>(operation, shape, a.shape()[1], metric, largest)?;
        let config = LaunchConfig::new(checked(operation, shape, tiles)?, THREADS);
        let arguments = (parameters, a.buffer().slice(), out.buffer_mut().slice_mut());
        // SAFETY: as for the distances, with the tiles on or below the diagonal.
        unsafe { device.launch(&modules::TENSOR_SKETCH, kernels.pairwise, config, arguments)? };
    }
    Ok(out)
}

/// The memory of the result, and the largest magnitude in all the arrays.
fn prepare<T: Real>(
    operation: &'static str,
    device: &Device,
    (rows, columns): (usize, usize),
    arrays: &[(&str, &DeviceArray<T, Ix2>)],
) -> Result<(DeviceArray<f64, Ix2>, f64)> {
    let mut found = device.buffer_from(&[0, u64::MAX].repeat(arrays.len()))?;
    for (number, (_, array)) in arrays.iter().enumerate() {
        if array.is_empty() {
            continue;
        }
        let config = LaunchConfig::new(tuning::largest_blocks(array.len()), LARGEST_THREADS);
        let arguments = (number as u32, array.buffer().slice(), found.slice_mut());
        // SAFETY: two elements an array, on this device, and whole warps; freeing waits for the
        // kernel.
        unsafe {
            device.launch(
                &modules::TENSOR_SKETCH,
                T::kernels().largest,
                config,
                arguments,
            )?
        };
    }
    // Meanwhile.
    let out = device.alloc(rows.saturating_mul(columns))?;
    let mut largest = 0.0f64;
    for ((name, array), found) in arrays.iter().zip(found.to_vec()?.as_chunks::<2>().0) {
        let &[magnitude, first_bad] = found;
        if first_bad != u64::MAX {
            let row = first_bad as usize / array.shape()[1];
            return Err(not_finite(operation, name, row));
        }
        largest = largest.max(T::from_bits(magnitude));
    }
    Ok((DeviceArray::from_buffer(out, Ix2(rows, columns))?, largest))
}

fn parameters<T: Real>(
    operation: &'static str,
    (rows, columns): (usize, usize),
    dim: usize,
    metric: Metric,
    largest: f64,
) -> Result<DistanceParameters> {
    if dim > MAX_DIM {
        let message =
            format!("rows of {dim} numbers are longer than {MAX_DIM}: take the device cpu");
        return Err(Error::input(operation, message));
    }
    let Scale { scale, unscale } = Scale::new(largest, dim, metric, T::MAX_EXPONENT);
    Ok(DistanceParameters {
        rows: rows as u64,
        columns: columns as u64,
        dim: dim as u32,
        root: u32::from(metric == Metric::L2),
        scale,
        unscale,
    })
}

fn checked(
    operation: &'static str,
    (rows, columns): (usize, usize),
    tiles: Option<u32>,
) -> Result<u32> {
    tiles.ok_or_else(|| {
        let message = format!("{rows} × {columns} distances are more than one launch computes");
        Error::input(operation, message)
    })
}

//! The nearest rows on GPUs and in the simulator.

pub mod tuning;
mod workspace;

use distances_kernels::{
    Lists, MAX_NEAREST, Matrices, Parameters, Scale, Search, THREADS, TILE_ROWS,
};

use super::input::{self, DeviceQueries, HostQueries, HostSearch, Places, Queries, Rows};
use super::merge::Found;
use crate::device::{Buffer, LaunchConfig, collected};
use crate::distances::gpu::kernels::HasKernels;
use crate::distances::gpu::{largest, tuning as sizes};
use crate::distances::options::Metric;
use crate::partition::is_short_of_memory;
use crate::{Device, Result, modules};
use tuning::Shape;
use workspace::Candidates;

/// Returns the nearest rows of all queries, at most k.
pub fn host<T: HasKernels>(device: &Device, whole: &HostQueries<T>) -> Result<Vec<Found>> {
    let k = whole.columns();
    input::require_k(whole.all.operation, whole.all.k, MAX_NEAREST as usize)?;
    let queries = device.upload(&whole.all.queries)?;
    let database = device.upload(&whole.all.database)?;
    let elements = whole.all.queries.nrows().saturating_mul(k);
    let (mut indices, mut distances) = (device.alloc(elements)?, device.alloc(elements)?);
    let all = Queries {
        operation: whole.all.operation,
        metric: whole.all.metric,
        queries: &queries,
        database: &database,
        k,
    };
    let places = Places {
        indices: &mut indices,
        distances: &mut distances,
    };
    self::device(all, places)?;
    found(whole, &indices, &distances)
}

/// Returns results in a device's memory as candidates of the call.
pub fn found<M: Rows>(
    whole: &HostSearch<M>,
    indices: &Buffer<u64>,
    distances: &Buffer<f64>,
) -> Result<Vec<Found>> {
    if indices.is_empty() {
        return Ok(Vec::new());
    }
    let (indices, distances) = (indices.to_vec()?, distances.to_vec()?);
    let first_row = whole.first_row as u64;
    let pairs = distances.iter().zip(&indices);
    Ok(vec![Found {
        first_query: whole.first_query,
        per_query: whole.columns(),
        candidates: collected(
            pairs.map(|(distance, index): (&f64, &u64)| (distance.to_bits(), first_row + index)),
        )?,
    }])
}

pub fn device<T: HasKernels>(whole: DeviceQueries<T>, places: Places) -> Result<()> {
    let Queries {
        operation,
        metric,
        queries,
        database,
        k,
    } = whole;
    let largest = largest(operation, ["queries", "database"], queries, Some(database))?;
    let (count, dim, rows) = (queries.shape()[0], queries.shape()[1], database.shape()[0]);
    if count == 0 || k == 0 {
        return Ok(());
    }
    input::require_k(operation, k, MAX_NEAREST as usize)?;
    crate::distances::input::require_dim(operation, dim, sizes::MAX_DIM)?;
    let Scale { scale, unscale } =
        Scale::new(largest, dim, metric == Metric::L2, T::KERNELS.max_exponent);
    let parameters = Parameters {
        rows: count as u64,
        columns: rows as u64,
        dim: dim as u32,
        root: u32::from(metric == Metric::L2),
        scale,
        unscale,
    };
    let device = queries.device();
    let (shape, mut workspace) = allocate(device, k, count, rows, T::KERNELS.tile_columns)?
        .ok_or_else(|| crate::distances::input::too_many(operation, (count, rows)))?;
    for first in (0..count).step_by(shape.queries) {
        let in_launch = shape.queries.min(count - first);
        let search = Search {
            first: first as u64,
            queries: in_launch as u64,
            rescale: unscale.recip(),
            k: k as u32,
            capacity: shape.capacity,
            ranges: shape.ranges,
            tiles: shape.tiles,
        };
        let lists = Lists {
            candidates: workspace.candidates.slice_mut(),
            counts: workspace.counts.slice_mut(),
        };
        let matrices = Matrices {
            a: queries.buffer().slice(),
            b: database.buffer().slice(),
        };
        let blocks = in_launch.div_ceil(TILE_ROWS as usize) as u32 * shape.ranges;
        let config = LaunchConfig::new(blocks, THREADS);
        let arguments = (parameters, search, matrices, lists);
        // SAFETY: a block for each range and tile of queries; matrices and lists are of this device
        // and as large as the parameters say; buffers are aligned to 256 bytes and freed after the
        // kernel has run.
        unsafe { device.launch(&modules::DISTANCES, T::KERNELS.nearest, config, arguments)? };
        let config = LaunchConfig::new(in_launch as u32, THREADS);
        let (indices, distances) = (places.indices.slice_mut(), places.distances.slice_mut());
        let arguments = (search, lists, indices, distances);
        let kernel = &distances_kernels::merge_nearest;
        // SAFETY: a block for each query; the lists are those of the search before, and the results
        // have k elements for each query.
        unsafe { device.launch(&modules::DISTANCES, kernel, config, arguments)? };
    }
    Ok(())
}

/// Allocates lists for a search of k rows, as many as there is memory for; `None` if there are more
/// tiles than kernels count.
fn allocate(
    device: &Device,
    k: usize,
    queries: usize,
    rows: usize,
    tile_columns: u32,
) -> Result<Option<(Shape, Candidates)>> {
    let processors = device.processors();
    let mut budget = device.memory_budget();
    loop {
        let Some(shape) = Shape::new(k, queries, rows, tile_columns, processors, budget) else {
            return Ok(None);
        };
        let lists = shape.queries * shape.ranges as usize;
        match Candidates::allocate(device, lists, shape.capacity as usize) {
            Ok(workspace) => return Ok(Some((shape, workspace))),
            // Others may have taken the memory. With half of the lists there are more launches.
            Err(error) if lists > 1 && is_short_of_memory(device, &error) => {
                budget = Some(tuning::budget_for(k, lists / 2));
            }
            Err(error) => return Err(error),
        }
    }
}

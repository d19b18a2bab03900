//! The nearest sequences on GPUs and in the simulator: from blocks of the matrix of slide distances.

use cuda_std::DeviceSlice;
use distances_kernels::{
    Columns, Lists, MAX_NEAREST, Parameters, Search, THREADS, Windows as KernelWindows,
};

use super::tuning::{self, Selected, Shape};
use crate::device::{Buffer, LaunchConfig, collected};
use crate::distances::gpu::kernels::HasKernels;
use crate::distances::gpu::{largest, tuning as sizes};
use crate::distances::input::too_many;
use crate::distances::nearest::gpu::{found, tuning::list_bytes};
use crate::distances::nearest::input::{
    self, DeviceSlideQueries, HostSlideQueries, Places, Queries,
};
use crate::distances::nearest::merge::Found;
use crate::distances::slide::DeviceWindows;
use crate::distances::slide::gpu::{parameters, upload};
use crate::partition::is_short_of_memory;
use crate::{Device, Result, modules};

const NAMES: [&str; 2] = ["queries", "database"];

/// Returns the nearest sequences of all queries, at most k.
pub fn host<T: HasKernels>(device: &Device, whole: &HostSlideQueries<T>) -> Result<Vec<Found>> {
    let (k, all) = (whole.columns(), whole.all);
    input::require_k(all.operation, all.k, MAX_NEAREST as usize)?;
    let queries = device.upload(&all.queries.rows())?;
    let database = device.upload(&all.database.rows())?;
    let query_offsets = collected(all.queries.offsets())?;
    let offsets = collected(all.database.offsets())?;
    let elements = all.queries.len().saturating_mul(k);
    let (mut indices, mut distances) = (device.alloc(elements)?, device.alloc(elements)?);
    let resident = Queries {
        operation: all.operation,
        metric: all.metric,
        queries: DeviceWindows {
            rows: &queries,
            offsets: &query_offsets,
        },
        database: DeviceWindows {
            rows: &database,
            offsets: &offsets,
        },
        k,
    };
    let places = Places {
        indices: &mut indices,
        distances: &mut distances,
    };
    self::device(resident, places)?;
    found(whole, &indices, &distances)
}

pub fn device<T: HasKernels>(whole: DeviceSlideQueries<T>, places: Places) -> Result<()> {
    let Queries {
        operation,
        metric,
        queries,
        database,
        k,
    } = whole;
    let largest = largest(operation, NAMES, queries.rows, Some(database.rows))?;
    let (count, sequences) = (queries.len(), database.len());
    if count == 0 || k == 0 {
        return Ok(());
    }
    input::require_k(operation, k, MAX_NEAREST as usize)?;
    let parameters = parameters::<T>(operation, metric, NAMES, queries, database, largest)?;
    let device = queries.rows.device();
    let query_offsets = upload(device, queries.offsets)?;
    let offsets = upload(device, database.offsets)?;
    let (shape, mut workspace) = allocate(device, k, count, sequences)?;
    let module = &modules::DISTANCES;
    for first in (0..count).step_by(shape.queries) {
        let in_block = shape.queries.min(count - first);
        let search = Search {
            first: first as u64,
            queries: in_block as u64,
            rescale: parameters.unscale.recip(),
            k: k as u32,
            capacity: k as u32,
            ranges: shape.ranges,
            tiles: 0,
        };
        let lists = Lists {
            candidates: workspace.candidates.slice_mut(),
            counts: workspace.counts.slice_mut(),
        };
        for first_column in (0..sequences).step_by(shape.columns) {
            let columns = shape.columns.min(sequences - first_column);
            let parameters = Parameters {
                rows: in_block as u64,
                columns: columns as u64,
                ..parameters
            };
            let tiles = sizes::tiles(in_block, columns, T::KERNELS.tile_columns);
            let tiles = tiles.ok_or_else(|| too_many(operation, (in_block, columns)))?;
            let arguments = (
                parameters,
                windows(queries, &query_offsets, first, in_block),
                windows(database, &offsets, first_column, columns),
                workspace.matrix.slice_mut(),
            );
            let config = LaunchConfig::new(tiles, THREADS);
            // SAFETY: a block per tile; the sequences are of this device and as many as the
            // parameters say, and have at most `MAX_DIM` numbers each; the matrix has an element for
            // each pair; buffers are aligned to 256 bytes and freed after the kernel has run.
            unsafe { device.launch(module, T::KERNELS.slide, config, arguments)? };
            let columns = Columns {
                count: columns as u64,
                first: first_column as u64,
                per_range: shape.per_range as u64,
                appends: u32::from(first_column > 0),
            };
            let matrix = workspace.matrix.slice();
            let config = LaunchConfig::new(in_block as u32 * shape.ranges, THREADS);
            let kernel = &distances_kernels::select_nearest;
            // SAFETY: a block for each list; the matrix is that of the launch before.
            unsafe { device.launch(module, kernel, config, (search, columns, matrix, lists))? };
        }
        let config = LaunchConfig::new(in_block as u32, THREADS);
        let (indices, distances) = (places.indices.slice_mut(), places.distances.slice_mut());
        let kernel = &distances_kernels::merge_nearest;
        // SAFETY: a block for each query; the lists are those of the launches before, and the
        // results have k elements for each query.
        unsafe { device.launch(module, kernel, config, (search, lists, indices, distances))? };
    }
    Ok(())
}

/// Returns `count` sequences from `first` on.
fn windows<T: HasKernels>(
    windows: DeviceWindows<T>,
    offsets: &Buffer<u64>,
    first: usize,
    count: usize,
) -> KernelWindows<T> {
    let offsets = offsets.slice().as_ptr();
    KernelWindows {
        values: windows.rows.buffer().slice(),
        // SAFETY: the callers have these sequences, and there is an offset behind the last one.
        offsets: unsafe { DeviceSlice::from_raw_parts(offsets.add(first), count + 1) },
    }
}

/// Allocates a block of the matrix and its lists, as large as there is memory for.
fn allocate(
    device: &Device,
    k: usize,
    queries: usize,
    sequences: usize,
) -> Result<(Shape, Selected)> {
    let processors = device.processors();
    let mut bytes = tuning::bytes(k, device.memory_budget());
    loop {
        let shape = Shape::new(k, queries, sequences, processors, bytes);
        match Selected::allocate(device, shape.distances(), shape.lists(), k) {
            Ok(workspace) => return Ok((shape, workspace)),
            // Others may have taken the memory. With half of it there are more launches.
            Err(error) if bytes > list_bytes(k) && is_short_of_memory(device, &error) => {
                bytes = (bytes / 2).max(list_bytes(k));
            }
            Err(error) => return Err(error),
        }
    }
}

//! The nearest sequences on GPUs and in the simulator: from blocks of the matrix of slide distances.

use cuda_std::DeviceSlice;
use distances_kernels::{Columns, Lists, Parameters, Search, THREADS, Windows as KernelWindows};
use gridstride_runtime::device::{Buffer, LaunchConfig};
use gridstride_runtime::partition::is_short_of_memory;
use gridstride_runtime::{Device, Result};

use super::kernels::HasKernels;
use super::slide::upload_offsets;
use super::tuning::slide_nearest::{self as tuning, Shape};
use super::tuning::tiles;
use super::{FITS_GRID, parameters};
use crate::MODULE;
use crate::input::DeviceQueries;
use crate::output::DevicePlaces;
use crate::rows::DeviceRows;
use crate::workspace::{Selected, list_bytes};

/// Writes the nearest sequences of queries in a device's memory.
pub fn sequences<T: HasKernels>(
    whole: DeviceQueries<T>,
    places: DevicePlaces,
    largest: f64,
) -> Result<()> {
    let (queries, database, k) = (whole.queries, whole.database, whole.k);
    let (count, sequences) = (queries.count(), database.count());
    let parameters = parameters(whole.metric, queries, database, largest);
    let device = queries.device();
    let (query_offsets, offsets) = (upload_offsets(queries)?, upload_offsets(database)?);
    let (shape, mut workspace) = allocate(device, k, count, sequences)?;
    let module = &MODULE;
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
            let tiles = tiles(in_block, columns, T::KERNELS.tile_columns);
            let arguments = (
                parameters,
                windows(queries, &query_offsets, first, in_block),
                windows(database, &offsets, first_column, columns),
                workspace.matrix.slice_mut(),
            );
            let config = LaunchConfig::new(tiles.expect(FITS_GRID), THREADS);
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
    windows: DeviceRows<T>,
    offsets: &Buffer<u64>,
    first: usize,
    count: usize,
) -> KernelWindows<T> {
    let offsets = offsets.slice().as_ptr();
    KernelWindows {
        values: windows.numbers.buffer().slice(),
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

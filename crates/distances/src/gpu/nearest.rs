//! The nearest rows on GPUs and in the simulator.

use distances_kernels::{Lists, Matrices, Search, THREADS, TILE_ROWS};
use gridstride_runtime::device::{LaunchConfig, collected};
use gridstride_runtime::partition::is_short_of_memory;
use gridstride_runtime::{Device, Result};

use super::kernels::HasKernels;
use super::tuning::nearest::{Shape, budget_for};
use super::{FITS_GRID, largest, parameters, slide_nearest};
use crate::MODULE;
use crate::input::{DeviceQueries, HostQueries, Queries};
use crate::merge::RangeNearest;
use crate::output::{DevicePlaces, Places};
use crate::workspace::Candidates;

/// Returns the nearest rows of all queries of host arrays, at most k.
pub fn host_nearest<T: HasKernels>(
    device: &Device,
    whole: &HostQueries<T>,
) -> Result<Vec<RangeNearest>> {
    let k = whole.columns();
    let (queries, database) = (
        whole.queries.upload(device)?,
        whole.database.upload(device)?,
    );
    let elements = whole.queries.count().saturating_mul(k);
    let (mut indices, mut distances) = (device.alloc(elements)?, device.alloc(elements)?);
    let on_device = Queries {
        operation: whole.operation,
        metric: whole.metric,
        queries: queries.view(),
        database: database.view(),
        k,
        first_query: 0,
        first_row: 0,
    };
    let places = Places {
        indices: &mut indices,
        distances: &mut distances,
    };
    device_nearest(on_device, places)?;
    if elements == 0 {
        return Ok(Vec::new());
    }
    let (indices, distances) = (indices.to_vec()?, distances.to_vec()?);
    let first_row = whole.first_row as u64;
    let pairs = distances.iter().zip(&indices);
    Ok(vec![RangeNearest {
        first_query: whole.first_query,
        per_query: k,
        candidates: collected(
            pairs.map(|(distance, index): (&f64, &u64)| (distance.to_bits(), first_row + index)),
        )?,
    }])
}

/// Writes the nearest rows of queries in a device's memory.
pub fn device_nearest<T: HasKernels>(whole: DeviceQueries<T>, places: DevicePlaces) -> Result<()> {
    let largest = largest(whole.operation, whole.arguments())?;
    if whole.is_empty() {
        return Ok(());
    }
    match whole.database.offsets {
        Some(_) => slide_nearest::sequences(whole, places, largest),
        None => rows(whole, places, largest),
    }
}

fn rows<T: HasKernels>(whole: DeviceQueries<T>, places: DevicePlaces, largest: f64) -> Result<()> {
    let (queries, database, k) = (whole.queries, whole.database, whole.k);
    let parameters = parameters(whole.metric, queries, database, largest);
    let (count, rows) = (queries.count(), database.count());
    let device = queries.device();
    let (shape, mut workspace) = allocate(device, k, count, rows, T::KERNELS.tile_columns)?;
    for first in (0..count).step_by(shape.queries) {
        let in_launch = shape.queries.min(count - first);
        let search = Search {
            first: first as u64,
            queries: in_launch as u64,
            rescale: parameters.unscale.recip(),
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
            a: queries.numbers.buffer().slice(),
            b: database.numbers.buffer().slice(),
        };
        let blocks = in_launch.div_ceil(TILE_ROWS as usize) as u32 * shape.ranges;
        let config = LaunchConfig::new(blocks, THREADS);
        let arguments = (parameters, search, matrices, lists);
        // SAFETY: a block for each range and tile of queries; matrices and lists are of this device
        // and as large as the parameters say; buffers are aligned to 256 bytes and freed after the
        // kernel has run.
        unsafe { device.launch(&MODULE, T::KERNELS.nearest, config, arguments)? };
        let config = LaunchConfig::new(in_launch as u32, THREADS);
        let (indices, distances) = (places.indices.slice_mut(), places.distances.slice_mut());
        let arguments = (search, lists, indices, distances);
        let kernel = &distances_kernels::merge_nearest;
        // SAFETY: a block for each query; the lists are those of the search before, and the results
        // have k elements for each query.
        unsafe { device.launch(&MODULE, kernel, config, arguments)? };
    }
    Ok(())
}

/// Allocates lists for a search of k rows, as many as there is memory for.
fn allocate(
    device: &Device,
    k: usize,
    queries: usize,
    rows: usize,
    tile_columns: u32,
) -> Result<(Shape, Candidates)> {
    let processors = device.processors();
    let mut budget = device.memory_budget();
    loop {
        let shape = Shape::new(k, queries, rows, tile_columns, processors, budget);
        let shape = shape.expect(FITS_GRID);
        let lists = shape.queries * shape.ranges as usize;
        match Candidates::allocate(device, lists, shape.capacity as usize) {
            Ok(workspace) => return Ok((shape, workspace)),
            // Others may have taken the memory. With half of the lists there are more launches.
            Err(error) if lists > 1 && is_short_of_memory(device, &error) => {
                budget = Some(budget_for(k, lists / 2));
            }
            Err(error) => return Err(error),
        }
    }
}

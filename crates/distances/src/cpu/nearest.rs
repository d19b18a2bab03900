//! The nearest rows on the CPU, on all its threads, in `f64`.

use std::ops::Range;

use distances_kernels::Scale;
use gridstride_runtime::device::{reserve, zeroed};
use gridstride_runtime::{Result, parallel};
use ndarray::s;

use super::{Scaled, finish, squared_distance};
use crate::element::Component;
use crate::input::HostQueries;
use crate::merge::{NearestOf, RangeNearest};

/// Queries of a task: each row of the database is converted to `f64` once for all.
const QUERIES: usize = 32;

/// Rows of the database that are compared with all queries of a task before the next ones.
const ROWS: usize = 64;

/// The fewest rows of the database for which a task is worth while.
const LEAST_ROWS: usize = 1024;

/// Returns the nearest rows of ranges of queries and rows, at most k of each range.
pub fn rows<T: Component>(whole: &HostQueries<T>, scale: Scale) -> Result<Vec<RangeNearest>> {
    let (queries, database) = (whole.queries.all(), whole.database.all());
    let dim = queries.ncols();
    search(whole, LEAST_ROWS, |of_task, range, nearest| {
        let queries = Scaled::new(queries.slice(s![of_task, ..]).into(), scale)?;
        let mut values = zeroed(ROWS * dim)?;
        for start in range.clone().step_by(ROWS) {
            let indices = start..range.end.min(start + ROWS);
            let rows = database.slice(s![indices.clone(), ..]);
            for (target, value) in values.iter_mut().zip(rows) {
                *target = value.to_f64() * scale.scale;
            }
            for (query, nearest) in nearest.iter_mut().enumerate() {
                let query = queries.rows().row(query);
                for (row, index) in indices.clone().enumerate() {
                    let squared = squared_distance(query, &values[row * dim..][..dim]);
                    nearest.add(finish(squared, whole.metric, scale), index);
                }
            }
        }
        Ok(())
    })
}

/// Returns the nearest rows or sequences of ranges of queries and of the database, at most k of each
/// range. `compare` offers all rows of a range of the database to the nearest of each query of a
/// range.
pub fn search<T: Component>(
    whole: &HostQueries<T>,
    least_rows: usize,
    compare: impl Fn(Range<usize>, Range<usize>, &mut [NearestOf]) -> Result<()> + Sync,
) -> Result<Vec<RangeNearest>> {
    let (query_count, count) = (whole.queries.count(), whole.database.count());
    let (per_task, tasks) = tasks(query_count, count, least_rows.max(whole.k));
    parallel::try_map(tasks, |(first_query, start)| {
        let queries = first_query..query_count.min(first_query + QUERIES);
        let rows = start..count.min(start + per_task);
        let per_query = whole.k.min(rows.len());
        let mut nearest = Vec::new();
        reserve(&mut nearest, queries.len())?;
        for _ in queries.clone() {
            nearest.push(NearestOf::new(per_query, whole.first_row)?);
        }
        let mut candidates = Vec::new();
        reserve(&mut candidates, queries.len().saturating_mul(per_query))?;
        compare(queries, rows, &mut nearest)?;
        candidates.extend(nearest.into_iter().flat_map(NearestOf::sorted));
        Ok(RangeNearest {
            first_query: whole.first_query + first_query,
            per_query,
            candidates,
        })
    })
}

/// Returns how many rows of the database a task compares with [`QUERIES`] queries, at least
/// `least_rows` if there are as many, and the first query and the first row of each task. There
/// are enough tasks for all threads, also if there are few queries.
///
/// A range with fewer rows than are looked for would return them all.
fn tasks(
    queries: usize,
    rows: usize,
    least_rows: usize,
) -> (usize, impl ExactSizeIterator<Item = (usize, usize)> + Send) {
    let tiles = queries.div_ceil(QUERIES);
    let ranges = (4 * rayon::current_num_threads())
        .div_ceil(tiles)
        .clamp(1, (rows / least_rows).max(1));
    let rows_of_task = rows.div_ceil(ranges);
    let ranges = rows.div_ceil(rows_of_task);
    let tasks = (0..tiles * ranges)
        .map(move |task| (task / ranges * QUERIES, task % ranges * rows_of_task));
    (rows_of_task, tasks)
}

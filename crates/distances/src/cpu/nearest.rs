//! The nearest rows on the CPU, on all its threads, in `f64`.

use distances_kernels::Scale;
use gridstride_runtime::device::{reserve, zeroed};
use gridstride_runtime::{Result, parallel};
use ndarray::{ArrayView2, s};

use super::{Scaled, finish, squared_distance};
use crate::element::Component;
use crate::input::HostQueries;
use crate::merge::{Candidate, Found, NearestOf};

/// Queries of a task: each row of the database is converted to `f64` once for all.
pub const QUERIES: usize = 32;

/// Rows of the database that are compared with all queries of a task before the next ones.
const ROWS: usize = 64;

/// The fewest rows of the database for which a task is worth while.
const LEAST_ROWS: usize = 1024;

/// Returns the nearest rows of ranges of queries and rows, at most k of each range.
pub fn rows<T: Component>(whole: &HostQueries<T>, scale: Scale) -> Result<Vec<Found>> {
    let (metric, k) = (whole.metric, whole.k);
    let (queries, database) = (whole.queries.all(), whole.database.all());
    let (rows, tasks) = tasks(queries.nrows(), database.nrows(), LEAST_ROWS.max(k));
    parallel::try_map(tasks, |(first_query, start)| {
        let queries = queries.slice(s![first_query.., ..]);
        let queries = queries.slice(s![..queries.nrows().min(QUERIES), ..]);
        let database = database.slice(s![start.., ..]);
        let database = database.slice(s![..database.nrows().min(rows), ..]);
        let k = k.min(database.nrows());
        let distance = |query: &[f64], row: &[f64]| {
            finish(squared_distance(query, row), metric, scale).to_bits()
        };
        let first_row = whole.first_row + start;
        Ok(Found {
            first_query: whole.first_query + first_query,
            per_query: k,
            candidates: search(queries, database, first_row, k, scale, distance)?,
        })
    })
}

/// Returns how many rows of the database a task compares with [`QUERIES`] queries, at least
/// `least_rows` if there are as many, and the first query and the first row of each task. There
/// are enough tasks for all threads, also if there are few queries.
///
/// A range with fewer rows than are looked for would return them all.
pub fn tasks(
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

/// Returns the k nearest rows of each query in order. The first row of the database has the index
/// `first_row`.
fn search<T: Component>(
    queries: ArrayView2<T>,
    database: ArrayView2<T>,
    first_row: usize,
    k: usize,
    scale: Scale,
    distance: impl Fn(&[f64], &[f64]) -> u64,
) -> Result<Vec<Candidate>> {
    let dim = queries.ncols();
    let query_values = Scaled::new(queries.into(), scale)?.values;
    let mut values = zeroed(ROWS * dim)?;
    let mut nearest: Vec<NearestOf> = Vec::new();
    for _ in 0..queries.nrows() {
        nearest.push(NearestOf::new(k)?);
    }
    for start in (0..database.nrows()).step_by(ROWS) {
        let count = ROWS.min(database.nrows() - start);
        let rows = database.slice(s![start..start + count, ..]);
        for (target, value) in values.iter_mut().zip(rows) {
            *target = value.to_f64() * scale.scale;
        }
        for (query, nearest) in nearest.iter_mut().enumerate() {
            let query = &query_values[query * dim..][..dim];
            for row in 0..count {
                let bits = distance(query, &values[row * dim..][..dim]);
                nearest.add((bits, (first_row + start + row) as u64));
            }
        }
    }
    let mut candidates = Vec::new();
    reserve(&mut candidates, queries.nrows().saturating_mul(k))?;
    for nearest in nearest {
        candidates.extend(nearest.sorted());
    }
    Ok(candidates)
}

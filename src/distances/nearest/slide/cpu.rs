//! The nearest sequences on the CPU, on all its threads, in `f64`.

use crate::device::reserve;
use crate::distances::cpu::scaled;
use crate::distances::element::Component;
use crate::distances::nearest::cpu::{QUERIES, tasks, write};
use crate::distances::nearest::input::{
    DeviceSlideQueries, HostSlideQueries, Places, Queries, Rows,
};
use crate::distances::nearest::merge::{Found, NearestOf};
use crate::distances::slide::Windows;
use crate::distances::slide::cpu::{Sequences, distance, scale_of};
use crate::{Result, parallel};

/// The fewest sequences of the database for which a task is worth while.
const LEAST_SEQUENCES: usize = 128;

/// Returns the nearest sequences of ranges of queries and sequences, at most k of each range.
pub fn host<T: Component>(whole: &HostSlideQueries<T>) -> Result<Vec<Found>> {
    let Queries {
        operation,
        metric,
        queries,
        database,
        k,
    } = whole.all;
    let scale = scale_of(
        operation,
        metric,
        ["queries", "database"],
        queries,
        database,
    )?;
    if k == 0 || queries.is_empty() {
        return Ok(Vec::new());
    }
    let (query_values, values) = (
        scaled(queries.rows(), scale)?,
        scaled(database.rows(), scale)?,
    );
    let queries = Sequences::new(queries, &query_values)?;
    let sequences = Sequences::new(database, &values)?;
    let (query_count, count) = (whole.all.queries.len(), database.len());
    let (per_task, tasks) = tasks(query_count, count, LEAST_SEQUENCES.max(k));
    parallel::try_map(tasks, |(first_query, start)| {
        let of_task = first_query..query_count.min(first_query + QUERIES);
        let range = start..count.min(start + per_task);
        let k = k.min(range.len());
        let mut nearest = Vec::new();
        reserve(&mut nearest, of_task.len())?;
        for _ in of_task.clone() {
            nearest.push(NearestOf::new(k)?);
        }
        // Each sequence is read once for all queries of the task.
        for index in range {
            for (query, nearest) in of_task.clone().zip(&mut nearest) {
                let distance = distance(&queries, query, &sequences, index, metric, scale);
                // The bits of the only NaN come after those of all distances.
                nearest.add((distance.to_bits(), (whole.first_row + index) as u64));
            }
        }
        let mut candidates = Vec::new();
        reserve(&mut candidates, of_task.len().saturating_mul(k))?;
        candidates.extend(nearest.into_iter().flat_map(NearestOf::sorted));
        Ok(Found {
            first_query: whole.first_query + first_query,
            per_query: k,
            candidates,
        })
    })
}

/// Writes the nearest sequences of arrays in the memory of a CPU device, which are copied.
pub fn device<T: Component>(whole: DeviceSlideQueries<T>, places: Places) -> Result<()> {
    let (queries, database) = (
        whole.queries.rows.download()?,
        whole.database.rows.download()?,
    );
    let part = HostSlideQueries {
        all: Queries {
            operation: whole.operation,
            metric: whole.metric,
            queries: Windows::new(queries.view(), whole.queries.offsets)?,
            database: Windows::new(database.view(), whole.database.offsets)?,
            k: whole.k,
        },
        first_query: 0,
        first_row: 0,
    };
    let found = host(&part)?;
    write(&found, (part.all.queries.count(), whole.k), places)
}

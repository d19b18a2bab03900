//! The nearest sequences on the CPU, on all its threads, in `f64`.

use distances_kernels::Scale;
use gridstride_runtime::device::reserve;
use gridstride_runtime::{Result, parallel};

use super::nearest::{QUERIES, tasks};
use super::slide::{Sequences, distance};
use super::{Scaled, finish};
use crate::element::Component;
use crate::input::HostQueries;
use crate::merge::{Found, NearestOf};

/// The fewest sequences of the database for which a task is worth while.
const LEAST_SEQUENCES: usize = 128;

/// Returns the nearest sequences of ranges of queries and sequences, at most k of each range.
pub fn sequences<T: Component>(whole: &HostQueries<T>, scale: Scale) -> Result<Vec<Found>> {
    let (query_values, values) = (
        Scaled::new(whole.queries, scale)?,
        Scaled::new(whole.database, scale)?,
    );
    let (queries, sequences) = (Sequences::new(&query_values), Sequences::new(&values));
    let (query_count, count) = (whole.queries.count(), whole.database.count());
    let finish = |sum| finish(sum, whole.metric, scale);
    let (per_task, tasks) = tasks(query_count, count, LEAST_SEQUENCES.max(whole.k));
    parallel::try_map(tasks, |(first_query, start)| {
        let of_task = first_query..query_count.min(first_query + QUERIES);
        let range = start..count.min(start + per_task);
        let k = whole.k.min(range.len());
        let mut nearest = Vec::new();
        reserve(&mut nearest, of_task.len())?;
        for _ in of_task.clone() {
            nearest.push(NearestOf::new(k)?);
        }
        // Each sequence is read once for all queries of the task.
        for index in range {
            for (query, nearest) in of_task.clone().zip(&mut nearest) {
                let distance = distance(queries, query, sequences, index, &finish);
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

//! The nearest sequences on the CPU, on all its threads, in `f64`.

use distances_kernels::Scale;
use gridstride_runtime::Result;

use super::nearest::search;
use super::slide::{Sequences, distance};
use super::{Scaled, finish};
use crate::element::Component;
use crate::input::HostQueries;
use crate::merge::RangeNearest;

/// The fewest sequences of the database for which a task is worth while.
const LEAST_SEQUENCES: usize = 128;

/// Returns the nearest sequences of ranges of queries and sequences, at most k of each range.
pub fn sequences<T: Component>(whole: &HostQueries<T>, scale: Scale) -> Result<Vec<RangeNearest>> {
    let (queries, database) = (
        Scaled::new(whole.queries, scale)?,
        Scaled::new(whole.database, scale)?,
    );
    let (queries, sequences) = (Sequences::new(&queries), Sequences::new(&database));
    let finish = |sum| finish(sum, whole.metric, scale);
    search(whole, LEAST_SEQUENCES, |of_task, range, nearest| {
        // Each sequence is read once for all queries of the task.
        for index in range {
            for (query, nearest) in of_task.clone().zip(&mut *nearest) {
                nearest.add(distance(queries, query, sequences, index, &finish), index);
            }
        }
        Ok(())
    })
}

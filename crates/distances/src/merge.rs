//! The order of candidates, and the results of partitions.

use std::collections::BinaryHeap;
use std::ops::Range;

use gridstride_runtime::device::{collected, reserve};
use gridstride_runtime::{Result, parallel};
use ndarray::{ArrayViewMut2, Axis};

/// A row of the database: the bits of its distance and its index. No distance is negative, so the
/// order of the bits is that of the distances, with NaN, of which there is only one, at the end.
pub type Candidate = (u64, u64);

/// The nearest candidates of a query so far, at most k.
pub struct NearestOf {
    k: usize,
    first_row: usize,
    /// The farthest is on top.
    heap: BinaryHeap<Candidate>,
}

impl NearestOf {
    /// Returns an empty list, for rows of a partition of the database that begins with `first_row`.
    pub fn new(k: usize, first_row: usize) -> Result<NearestOf> {
        let mut room = Vec::new();
        reserve(&mut room, k)?;
        let heap = BinaryHeap::from(room);
        Ok(NearestOf { k, first_row, heap })
    }

    /// Adds a row of the partition if it is among the nearest.
    pub fn add(&mut self, distance: f64, row: usize) {
        let candidate = (distance.to_bits(), (self.first_row + row) as u64);
        if self.heap.len() < self.k {
            self.heap.push(candidate);
        } else if let Some(farthest) = self.heap.peek()
            && candidate < *farthest
        {
            self.heap.pop();
            self.heap.push(candidate);
        }
    }

    /// Returns the candidates in order.
    pub fn sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}

/// The nearest rows of consecutive queries in a range of the database.
pub struct RangeNearest {
    pub first_query: usize,
    /// Candidates of each query, at least 1.
    pub per_query: usize,
    /// In order for each query.
    pub candidates: Vec<Candidate>,
}

impl RangeNearest {
    /// Returns the tiles of queries in which there are queries of this result.
    fn tiles(&self) -> Range<usize> {
        let end = self.first_query + self.candidates.len() / self.per_query;
        self.first_query / QUERIES_PER_TASK..end.div_ceil(QUERIES_PER_TASK)
    }

    /// Returns the candidates of a query, or none if the query is outside of the range.
    fn of(&self, query: usize) -> &[Candidate] {
        let place = query.checked_sub(self.first_query);
        let start = place.map(|place| place * self.per_query);
        start
            .and_then(|start| self.candidates.get(start..start + self.per_query))
            .unwrap_or(&[])
    }
}

/// Queries of a tile, which a task merges.
const QUERIES_PER_TASK: usize = 64;

/// Returns, for each tile of `queries` queries, the results that have candidates of some of them.
/// Each task then looks at few of all results, which are about as many as tiles.
fn by_tile(results: &[RangeNearest], queries: usize) -> Result<Vec<Vec<&RangeNearest>>> {
    let tiles = queries.div_ceil(QUERIES_PER_TASK);
    let mut by_tile: Vec<Vec<&RangeNearest>> = collected((0..tiles).map(|_| Vec::new()))?;
    for result in results {
        for tile in &mut by_tile[result.tiles()] {
            reserve(tile, 1)?;
            tile.push(result);
        }
    }
    Ok(by_tile)
}

/// Writes the nearest rows of each query in all ranges that were searched. Together these have at
/// least as many as there are columns.
pub fn merge(
    results: &[RangeNearest],
    mut indices: ArrayViewMut2<u64>,
    mut distances: ArrayViewMut2<f64>,
) -> Result<()> {
    let k = indices.ncols();
    if k == 0 {
        return Ok(());
    }
    let tiles = by_tile(results, indices.nrows())?;
    let tasks = (indices.axis_chunks_iter_mut(Axis(0), QUERIES_PER_TASK))
        .zip(distances.axis_chunks_iter_mut(Axis(0), QUERIES_PER_TASK))
        .zip(&tiles)
        .enumerate();
    parallel::try_each(tasks, |(task, ((mut indices, mut distances), results))| {
        let first = task * QUERIES_PER_TASK;
        let mut all = Vec::new();
        let places = indices.outer_iter_mut().zip(distances.outer_iter_mut());
        for (query, (mut indices, mut distances)) in (first..).zip(places) {
            all.clear();
            for result in results {
                let candidates = result.of(query);
                reserve(&mut all, candidates.len())?;
                all.extend_from_slice(candidates);
            }
            all.sort_unstable();
            let nearest = all[..k].iter();
            for ((bits, row), (index, distance)) in
                nearest.zip(indices.iter_mut().zip(distances.iter_mut()))
            {
                (*index, *distance) = (*row, f64::from_bits(*bits));
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    /// The candidates of queries: rows from `first_row` on, at a distance of their index.
    fn result(queries: Range<usize>, first_row: u64, per_query: usize) -> RangeNearest {
        let rows = first_row..first_row + per_query as u64;
        let of_query = rows.map(|row| ((row as f64).to_bits(), row));
        RangeNearest {
            first_query: queries.start,
            per_query,
            candidates: queries.flat_map(|_| of_query.clone()).collect(),
        }
    }

    #[test]
    fn many_queries_of_small_and_large_results() {
        let queries = 20_011;
        // The second half of the rows as the result of one device, the first half in small tiles.
        let mut all = vec![result(0..queries, 3, 2)];
        for start in (0..queries).step_by(32) {
            all.push(result(start..queries.min(start + 32), 0, 3));
        }
        let tiles = by_tile(&all, queries).unwrap();
        let most = tiles.iter().map(Vec::len).max();
        assert_eq!((tiles.len(), most), (queries.div_ceil(64), Some(1 + 2)));

        let (mut indices, mut distances) =
            (Array2::zeros((queries, 4)), Array2::zeros((queries, 4)));
        merge(&all, indices.view_mut(), distances.view_mut()).unwrap();
        let expected = Array2::from_shape_fn((queries, 4), |(_, row)| row as u64);
        assert_eq!(indices, expected);
        assert_eq!(distances, expected.mapv(|row| row as f64));
    }

    #[test]
    fn results_that_begin_and_end_within_a_tile() {
        let all = [
            result(63..130, 0, 1),
            result(0..63, 7, 1),
            result(130..131, 9, 1),
        ];
        let tiles = by_tile(&all, 131).unwrap();
        let starts =
            |tile: &Vec<&RangeNearest>| tile.iter().map(|result| result.first_query).collect();
        let starts: Vec<Vec<usize>> = tiles.iter().map(starts).collect();
        assert_eq!(starts, [vec![63, 0], vec![63], vec![63, 130]]);
        let (mut indices, mut distances) = (Array2::zeros((131, 1)), Array2::zeros((131, 1)));
        merge(&all, indices.view_mut(), distances.view_mut()).unwrap();
        let expected = |query| match query {
            0..63 => 7,
            63..130 => 0,
            _ => 9,
        };
        assert_eq!(
            indices,
            Array2::from_shape_fn((131, 1), |(query, _)| expected(query))
        );
    }
}

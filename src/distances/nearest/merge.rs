//! The order of candidates, and the results of partitions.

use std::collections::BinaryHeap;

use ndarray::{ArrayViewMut2, Axis};

use crate::device::reserve;
use crate::{Result, parallel};

/// A row of the database: the bits of its distance and its index. No distance is negative, so the
/// order of the bits is that of the distances.
pub type Candidate = (u64, u64);

/// The nearest candidates of a query so far, at most k.
pub struct NearestOf {
    k: usize,
    /// The farthest is on top.
    heap: BinaryHeap<Candidate>,
}

impl NearestOf {
    pub fn new(k: usize) -> Result<NearestOf> {
        let mut room = Vec::new();
        reserve(&mut room, k)?;
        let heap = BinaryHeap::from(room);
        Ok(NearestOf { k, heap })
    }

    pub fn add(&mut self, candidate: Candidate) {
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
pub struct Found {
    pub first_query: usize,
    /// Candidates of each query, at least 1.
    pub per_query: usize,
    /// In order for each query.
    pub candidates: Vec<Candidate>,
}

impl Found {
    /// Returns the candidates of a query; none if it is not one of these.
    fn of(&self, query: usize) -> &[Candidate] {
        let place = query.checked_sub(self.first_query);
        let start = place.map(|place| place * self.per_query);
        start
            .and_then(|start| self.candidates.get(start..start + self.per_query))
            .unwrap_or(&[])
    }
}

/// Queries that a task merges.
const QUERIES_PER_TASK: usize = 64;

/// Writes the nearest rows of each query in all ranges that were searched. Together these have at
/// least as many as there are columns.
pub fn merge(
    found: &[Found],
    mut indices: ArrayViewMut2<u64>,
    mut distances: ArrayViewMut2<f64>,
) -> Result<()> {
    let k = indices.ncols();
    if k == 0 {
        return Ok(());
    }
    let rows = |first| first * QUERIES_PER_TASK..;
    let tasks = (indices.axis_chunks_iter_mut(Axis(0), QUERIES_PER_TASK))
        .zip(distances.axis_chunks_iter_mut(Axis(0), QUERIES_PER_TASK))
        .enumerate();
    parallel::try_each(tasks, |(task, (mut indices, mut distances))| {
        let mut all = Vec::new();
        let places = indices.outer_iter_mut().zip(distances.outer_iter_mut());
        for (query, (mut indices, mut distances)) in rows(task).zip(places) {
            all.clear();
            for found in found {
                let candidates = found.of(query);
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

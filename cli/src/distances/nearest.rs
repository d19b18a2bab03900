//! The nearest pairs of rows, and the range of distances.

use gridstride::distances;
use gridstride_runtime::parallel;
use ndarray::{ArrayView1, s};

use super::blocks::Block;

/// Pairs that the summary shows.
const SHOWN: usize = 10;

/// Takes distances as they come.
pub struct Nearest {
    /// Whether the rows are compared with each other: then each pair counts once.
    is_pairwise: bool,
    /// Number of pairs.
    pub count: u64,
    sum: f64,
    pub least: f64,
    pub greatest: f64,
    /// The nearest pairs, in order.
    pub pairs: Vec<Near>,
}

/// A pair of rows.
#[derive(Clone, Copy)]
pub struct Near {
    pub distance: f64,
    pub row: usize,
    pub column: usize,
    /// Rank of the column among the nearest rows, from 1 on. `None` if all pairs are compared.
    pub rank: Option<usize>,
}

impl Nearest {
    pub fn new(is_pairwise: bool) -> Nearest {
        Nearest {
            is_pairwise,
            count: 0,
            sum: 0.0,
            least: f64::INFINITY,
            greatest: 0.0,
            pairs: Vec::new(),
        }
    }

    /// Adds the distances of the next rows.
    pub fn add(&mut self, block: &Block) {
        let limit = match self.pairs.get(SHOWN - 1) {
            Some(last) => last.distance,
            None => f64::INFINITY,
        };
        let rows = parallel::map(0..block.distances.nrows(), |i| {
            let row = block.first_row + i;
            let first = if self.is_pairwise { row + 1 } else { 0 };
            let rest = block
                .distances
                .row(i)
                .slice_move(s![first - block.first_column..]);
            OfRow::new(row, first, rest, limit)
        });
        // In order, so that the sum has the same bits for any number of threads.
        for row in rows {
            self.count += row.count as u64;
            self.sum += row.sum;
            self.least = self.least.min(row.least);
            self.greatest = self.greatest.max(row.greatest);
            self.pairs.extend(row.pairs);
            keep_nearest(&mut self.pairs);
        }
    }

    /// Adds pairs of rows and the nearest other rows, N×k.
    pub fn add_neighbours(&mut self, neighbours: &distances::Nearest) {
        for ((row, place), &distance) in neighbours.distances.indexed_iter() {
            self.count += 1;
            self.sum += distance;
            self.least = self.least.min(distance);
            self.greatest = self.greatest.max(distance);
            self.pairs.push(Near {
                distance,
                row,
                column: neighbours.indices[(row, place)] as usize,
                rank: Some(place + 1),
            });
            if self.pairs.len() > 2 * SHOWN {
                keep_nearest(&mut self.pairs);
            }
        }
        keep_nearest(&mut self.pairs);
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// The same of one row.
struct OfRow {
    count: usize,
    sum: f64,
    least: f64,
    greatest: f64,
    pairs: Vec<Near>,
}

impl OfRow {
    /// Summarises the distances from the column `first` on. Pairs that are farther than `limit` do not
    /// count as near.
    fn new(row: usize, first: usize, distances: ArrayView1<f64>, limit: f64) -> OfRow {
        let mut of_row = OfRow {
            count: distances.len(),
            sum: 0.0,
            least: f64::INFINITY,
            greatest: 0.0,
            pairs: Vec::new(),
        };
        let mut limit = limit;
        for (column, &distance) in (first..).zip(distances) {
            of_row.sum += distance;
            of_row.least = of_row.least.min(distance);
            of_row.greatest = of_row.greatest.max(distance);
            if distance < limit || of_row.pairs.len() < SHOWN && distance <= limit {
                of_row.pairs.push(Near {
                    distance,
                    row,
                    column,
                    rank: None,
                });
                if of_row.pairs.len() == 2 * SHOWN {
                    keep_nearest(&mut of_row.pairs);
                    limit = of_row.pairs[SHOWN - 1].distance;
                }
            }
        }
        keep_nearest(&mut of_row.pairs);
        of_row
    }
}

/// Sorts pairs, and leaves those that are shown. Among equals those that came first stay.
fn keep_nearest(pairs: &mut Vec<Near>) {
    pairs.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    pairs.truncate(SHOWN);
}

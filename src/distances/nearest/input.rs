//! The queries and the database, and the checks of k and of results.

use ndarray::{ArrayView2, Ix2};

use crate::device::{Buffer, DeviceArray};
use crate::distances::options::Metric;
use crate::{Error, Result};

/// Queries, and the rows among which the nearest are searched.
#[derive(Clone, Copy)]
pub struct Queries<M> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    /// N×D.
    pub queries: M,
    /// M×D.
    pub database: M,
    /// How many rows are searched for each query.
    pub k: usize,
}

/// Queries and rows of host arrays: some of those of a call.
pub struct HostQueries<'a, T> {
    pub all: Queries<ArrayView2<'a, T>>,
    /// The index of the first query in the call.
    pub first_query: usize,
    /// The index of the first row of the database in the call.
    pub first_row: usize,
}

impl<T> HostQueries<'_, T> {
    /// Returns how many rows are found for each query: fewer than k if these are not all rows.
    pub fn columns(&self) -> usize {
        self.all.k.min(self.all.database.nrows())
    }
}

/// Queries and rows in a device's memory.
pub type DeviceQueries<'a, T> = Queries<&'a DeviceArray<T, Ix2>>;

/// The results in a device's memory, row-major.
pub struct Places<'a> {
    pub indices: &'a mut Buffer<u64>,
    pub distances: &'a mut Buffer<f64>,
}

/// Checks that rows are as long as queries, and that there are k.
pub fn check(
    operation: &'static str,
    queries: &[usize],
    database: &[usize],
    k: usize,
) -> Result<()> {
    if queries[1] != database[1] {
        let message = format!(
            "queries is {}×{} and database is {}×{}: their rows must have the same length",
            queries[0], queries[1], database[0], database[1]
        );
        return Err(Error::Shape { operation, message });
    }
    if k > database[0] {
        let message = format!(
            "k is {k}, but the database has {} rows: ask for at most as many",
            database[0]
        );
        return Err(Error::input(operation, message));
    }
    Ok(())
}

/// Checks that both results are N×k, and returns k.
pub fn columns(
    operation: &'static str,
    queries: usize,
    indices: &[usize],
    distances: &[usize],
) -> Result<usize> {
    if indices == distances && indices[0] == queries {
        return Ok(indices[1]);
    }
    let message = format!(
        "there are {queries} queries, but indices is {}×{} and distances is {}×{}: both need a row \
         for each query and a column for each of its nearest rows",
        indices[0], indices[1], distances[0], distances[1]
    );
    Err(Error::Shape { operation, message })
}

/// Checks that kernels can select k rows.
pub fn require_k(operation: &'static str, k: usize, most: usize) -> Result<()> {
    if k <= most {
        return Ok(());
    }
    let message = format!(
        "k is {k}, more than the {most} that kernels select: take the device cpu, or sort the rows \
         of distances"
    );
    Err(Error::input(operation, message))
}

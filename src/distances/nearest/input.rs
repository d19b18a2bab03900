//! The queries and the database, and the checks of k and of results.

use ndarray::{ArrayView2, Axis, Ix2};

use crate::device::{Buffer, DeviceArray, Element};
use crate::distances::options::Metric;
use crate::distances::slide::{DeviceWindows, Windows};
use crate::partition::bytes_of;
use crate::{Error, Result};

/// Queries, and the rows among which the nearest are searched.
#[derive(Clone, Copy)]
pub struct Queries<M> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    /// N×D, or N sequences of windows.
    pub queries: M,
    /// M×D, or M sequences of windows.
    pub database: M,
    /// How many rows are searched for each query.
    pub k: usize,
}

/// Rows of a host array, or sequences of windows, of which a search can take a part.
pub trait Rows: Copy + Send {
    fn count(&self) -> usize;

    /// Bytes that these take on a device.
    fn bytes(&self) -> u64;

    /// Splits the rows at an index.
    fn split_at(self, index: usize) -> (Self, Self);
}

impl<T: Element> Rows for ArrayView2<'_, T> {
    fn count(&self) -> usize {
        self.nrows()
    }

    fn bytes(&self) -> u64 {
        bytes_of(self.len(), size_of::<T>())
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        ArrayView2::split_at(self, Axis(0), index)
    }
}

impl<T: Element> Rows for Windows<'_, T> {
    fn count(&self) -> usize {
        self.len()
    }

    fn bytes(&self) -> u64 {
        let offsets = bytes_of(self.len() + 1, size_of::<u64>());
        bytes_of(self.rows().len(), size_of::<T>()).saturating_add(offsets)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        Windows::split_at(self, index)
    }
}

/// Queries and a database on the host: some of those of a call.
pub struct HostSearch<M> {
    pub all: Queries<M>,
    /// The index of the first query in the call.
    pub first_query: usize,
    /// The index of the first row of the database in the call.
    pub first_row: usize,
}

/// Queries and rows of host arrays.
pub type HostQueries<'a, T> = HostSearch<ArrayView2<'a, T>>;

/// Queries and sequences of host arrays.
pub type HostSlideQueries<'a, T> = HostSearch<Windows<'a, T>>;

impl<M: Rows> HostSearch<M> {
    /// Returns how many rows are found for each query: fewer than k if these are not all rows.
    pub fn columns(&self) -> usize {
        self.all.k.min(self.all.database.count())
    }
}

/// Queries and rows in a device's memory.
pub type DeviceQueries<'a, T> = Queries<&'a DeviceArray<T, Ix2>>;

/// Queries and sequences in a device's memory.
pub type DeviceSlideQueries<'a, T> = Queries<DeviceWindows<'a, T>>;

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
    check_k(operation, k, database[0], "row")
}

/// Checks that the windows of sequences are as long as those of queries, and that there are k
/// sequences. Takes the sequences and the numbers of a window.
pub fn check_slides(
    operation: &'static str,
    (_, query_dim): (usize, usize),
    (sequences, dim): (usize, usize),
    k: usize,
) -> Result<()> {
    if query_dim != dim {
        let message = format!(
            "the windows of queries have {query_dim} numbers and those of database {dim}: they \
             must have the same length"
        );
        return Err(Error::Shape { operation, message });
    }
    check_k(operation, k, sequences, "sequence")
}

fn check_k(operation: &'static str, k: usize, count: usize, what: &str) -> Result<()> {
    if k <= count {
        return Ok(());
    }
    let plural = if count == 1 { "" } else { "s" };
    let message =
        format!("k is {k}, but the database has {count} {what}{plural}: ask for at most as many");
    Err(Error::input(operation, message))
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

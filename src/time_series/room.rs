//! Existing arrays for the buckets of a call.

use ndarray::{ArrayView1, ArrayViewMut1, ArrayViewMut2, s};

use super::device_output::DeviceAggregates;
use super::output::Aggregates;
use crate::device::{Buffer, Element, assign, zeroed_lazily};
use crate::{Error, Result};

/// Existing arrays with room for buckets, on the host.
pub struct Room<'a> {
    /// The operation that the caller called.
    operation: &'static str,
    starts: ArrayViewMut1<'a, i64>,
    /// A row for each method.
    columns: ArrayViewMut2<'a, f64>,
}

impl<'a> Room<'a> {
    /// Checks that there is a row for each method, and that all rows have the same room.
    pub fn new(
        operation: &'static str,
        methods: usize,
        starts: ArrayViewMut1<'a, i64>,
        columns: ArrayViewMut2<'a, f64>,
    ) -> Result<Room<'a>> {
        if columns.dim() == (methods, starts.len()) {
            return Ok(Room {
                operation,
                starts,
                columns,
            });
        }
        let message = format!(
            "columns has the shape {:?} and starts {} elements: columns needs a row for each of the {methods} \
             methods, each as long as starts",
            columns.shape(),
            starts.len()
        );
        Err(Error::Shape { operation, message })
    }

    /// Copies buckets from the host, and returns the offsets of the series' buckets.
    pub fn assign(&mut self, found: Aggregates) -> Result<Vec<usize>> {
        let count = found.len();
        self.require(count)?;
        assign(self.starts.slice_mut(s![..count]), &found.starts);
        for (column, mut row) in found.columns.iter().zip(self.columns.rows_mut()) {
            assign(row.slice_mut(s![..count]), column);
        }
        Ok(found.offsets)
    }

    /// Copies buckets from a device, and returns the offsets of the series' buckets.
    pub fn download(&mut self, found: DeviceAggregates) -> Result<Vec<usize>> {
        let count = found.len();
        self.require(count)?;
        copy(found.starts.buffer(), 0, self.starts.slice_mut(s![..count]))?;
        let columns = &found.columns;
        for (index, mut row) in self.columns.rows_mut().into_iter().enumerate() {
            let first = index * columns.stride;
            copy(&columns.elements, first, row.slice_mut(s![..count]))?;
        }
        found.offsets.into_host()
    }

    fn require(&self, buckets: usize) -> Result<()> {
        let room = self.starts.len();
        if buckets <= room {
            return Ok(());
        }
        let message = format!(
            "there are {buckets} buckets, but starts and columns have room for {room}: make them longer"
        );
        Err(Error::Shape {
            operation: self.operation,
            message,
        })
    }
}

/// Copies consecutive elements of a buffer.
fn copy<T: Element>(from: &Buffer<T>, first: usize, mut to: ArrayViewMut1<T>) -> Result<()> {
    if let Some(to) = to.as_slice_mut() {
        return from.copy_part_to(first, to);
    }
    let mut elements = zeroed_lazily(to.len())?;
    from.copy_part_to(first, &mut elements)?;
    assign(to, &ArrayView1::from(&elements));
    Ok(())
}

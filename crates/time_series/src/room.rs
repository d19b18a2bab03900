//! Existing arrays for the buckets of a call.

use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, Element, assign, zeroed_lazily};
use ndarray::{ArrayView1, ArrayViewMut1, ArrayViewMut2, s};

use super::device_output::{DeviceAggregates, DeviceColumns};
use super::input::{require_room, require_rows};
use super::output::Aggregates;

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
        require_rows(operation, methods, starts.len(), columns.dim())?;
        Ok(Room {
            operation,
            starts,
            columns,
        })
    }

    /// Copies buckets, and returns the offsets of the series' buckets.
    pub fn assign(&mut self, found: Found) -> Result<Vec<usize>> {
        let count = match &found {
            Found::Host(found) => found.len(),
            Found::Device(found) => found.len(),
        };
        require_room(self.operation, count, self.starts.len())?;
        let mut starts = self.starts.slice_mut(s![..count]);
        let mut columns = self.columns.slice_mut(s![.., ..count]);
        match found {
            Found::Host(found) => {
                assign(starts, &found.starts);
                for (column, row) in found.columns.iter().zip(columns.rows_mut()) {
                    assign(row, column);
                }
                Ok(found.offsets)
            }
            Found::Device(found) => {
                copy(found.starts.buffer(), 0, starts.view_mut())?;
                let DeviceColumns { elements, stride } = &found.columns;
                for (index, row) in columns.rows_mut().into_iter().enumerate() {
                    copy(elements, index * stride, row)?;
                }
                found.offsets.into_host()
            }
        }
    }
}

/// Buckets on the host, or on the device that has found those of all points.
pub enum Found {
    Host(Aggregates),
    Device(DeviceAggregates),
}

impl Found {
    pub fn download(self) -> Result<Aggregates> {
        match self {
            Found::Host(found) => Ok(found),
            Found::Device(found) => found.download(),
        }
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

//! The rows of a join, made from the rows of both inputs.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt8Array, UInt32Array, new_null_array};
use datafusion::arrow::compute::take_arrays;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, exec_err};
use datafusion::physical_plan::metrics::{BaselineMetrics, Time};

/// What is known of a row, in the last column of the joins by tiles that [`BoxMatchExec`] completes.
///
/// [`BoxMatchExec`]: super::BoxMatchExec
pub mod state {
    /// The row belongs to the result.
    pub const DONE: u8 = 0;
    /// A left row without a partner in its own bin, which may have partners in other bins.
    pub const CANDIDATE: u8 = 1;
    /// A copy of a left row with a partner in another bin than the row's own.
    pub const WITNESS: u8 = 2;
}

/// Where the batches of a partition go.
#[derive(Clone)]
pub struct Sink {
    /// The type of the rows.
    pub schema: SchemaRef,
    /// Sends a batch to the stream, and returns false if the stream was dropped. Blocks while the
    /// stream's reader is slower.
    pub send: Arc<dyn Fn(RecordBatch) -> bool + Send + Sync>,
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// Whether rows have a [`state`].
    pub with_state: bool,
    /// The rows that are sent.
    pub baseline: BaselineMetrics,
    /// The time to gather rows.
    pub take_time: Time,
}

/// The columns of both inputs, whose rows are combined.
pub struct Output<'a> {
    /// Where the rows go.
    pub sink: &'a Sink,
    /// The columns of the left table.
    pub left: &'a [ArrayRef],
    /// The columns of the right table; none for semi and anti joins.
    pub right: &'a [ArrayRef],
}

impl Output<'_> {
    /// Sends the rows of pairs. Blocks while the stream's reader is slower.
    ///
    /// # Errors
    /// Fails if there is no reader any more.
    pub fn pairs(&self, left: &[u32], right: &[u32]) -> Result<()> {
        let rows = self.sink.batch_rows;
        for (left, right) in left.chunks(rows).zip(right.chunks(rows)) {
            let timer = self.sink.take_time.timer();
            let mut columns = take(self.left, left)?;
            columns.extend(take(self.right, right)?);
            timer.done();
            self.send(columns, left.len(), state::DONE)?;
        }
        Ok(())
    }

    /// Sends rows of the left table, with nulls for the right table. Blocks while the stream's reader
    /// is slower.
    ///
    /// # Errors
    /// Fails if there is no reader any more.
    pub fn left_rows(&self, left: &[u32], state: u8) -> Result<()> {
        for left in left.chunks(self.sink.batch_rows) {
            let timer = self.sink.take_time.timer();
            let mut columns = take(self.left, left)?;
            let null = |column: &ArrayRef| new_null_array(column.data_type(), left.len());
            columns.extend(self.right.iter().map(null));
            timer.done();
            self.send(columns, left.len(), state)?;
        }
        Ok(())
    }

    fn send(&self, mut columns: Vec<ArrayRef>, rows: usize, state: u8) -> Result<()> {
        if self.sink.with_state {
            columns.push(Arc::new(UInt8Array::from_value(state, rows)));
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.sink.schema), columns)?;
        self.sink.baseline.record_output(rows);
        if !(self.sink.send)(batch) {
            return exec_err!("BoxOverlapExec: the reader of the rows is gone");
        }
        Ok(())
    }
}

fn take(columns: &[ArrayRef], rows: &[u32]) -> Result<Vec<ArrayRef>> {
    let rows = UInt32Array::from(rows.to_vec());
    Ok(take_arrays(columns, &rows, None)?)
}

//! The rows of a join, made from the rows of both inputs.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, RecordBatch, RecordBatchOptions, UInt8Array, new_null_array,
};
use datafusion::common::{JoinSide, Result, exec_err};
use datafusion::physical_plan::metrics::{BaselineMetrics, Time};

use super::rows::Rows;
use super::schema::Columns;

/// The state of a row, in the last column of the joins by tiles that [`BoxMatchExec`]
/// completes.
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

/// Sends a batch to a stream, and returns false if the stream was dropped. Blocks while the
/// stream's reader is slower.
pub type Send = dyn Fn(RecordBatch) -> bool + std::marker::Send + Sync;

/// The receiver of a partition's batches.
#[derive(Clone)]
pub struct Sink {
    /// The columns of the rows.
    pub columns: Columns,
    /// The stream.
    pub send: Arc<Send>,
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// The rows that are sent.
    pub baseline: BaselineMetrics,
    /// The time to gather rows.
    pub take_time: Time,
}

/// The rows of both inputs, which are combined.
pub struct Output<'a> {
    /// The receiver of the rows.
    pub sink: &'a Sink,
    /// The rows of the left input.
    pub left: &'a Rows,
    /// The rows of the right input.
    pub right: &'a Rows,
}

impl Output<'_> {
    /// Sends the rows of pairs. Blocks while the stream's reader is slower.
    ///
    /// # Errors
    /// Fails if there is no reader any more.
    pub fn pairs(&self, left: &[u32], right: &[u32]) -> Result<()> {
        let rows = self.sink.batch_rows;
        for (left, right) in left.chunks(rows).zip(right.chunks(rows)) {
            self.send(left, Some(right), state::DONE)?;
        }
        Ok(())
    }

    /// Sends rows of the left table, with nulls for the right table. Blocks while the stream's
    /// reader is slower.
    ///
    /// # Errors
    /// Fails if there is no reader any more.
    pub fn left_rows(&self, left: &[u32], state: u8) -> Result<()> {
        let chunks = left.chunks(self.sink.batch_rows);
        chunks
            .into_iter()
            .try_for_each(|left| self.send(left, None, state))
    }

    fn send(&self, left: &[u32], right: Option<&[u32]>, state: u8) -> Result<()> {
        let timer = self.sink.take_time.timer();
        let rows = left.len();
        let left = self.left.places(left);
        let right = right.map(|right| self.right.places(right));
        let fields = self.sink.columns.schema.fields();
        let columns = self.sink.columns.users.iter().zip(fields);
        let columns = columns.map(|(column, field)| match (column.side, &right) {
            (JoinSide::Right, Some(right)) => self.right.take(column.index, right),
            (JoinSide::Right, None) => Ok(new_null_array(field.data_type(), rows)),
            _ => self.left.take(column.index, &left),
        });
        let mut columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        if self.sink.columns.with_state {
            columns.push(Arc::new(UInt8Array::from_value(state, rows)));
        }
        // A query such as `count(*)` needs rows without columns.
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.sink.columns.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        timer.done();
        self.sink.baseline.record_output(rows);
        if !(self.sink.send)(batch) {
            return exec_err!("BoxOverlapExec: the reader of the rows is gone");
        }
        Ok(())
    }
}

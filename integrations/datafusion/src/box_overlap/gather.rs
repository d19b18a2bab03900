//! Gathers the small batches of an input for a search, in memory of the engine's pool.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::common::{Result, exec_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_plan::metrics::Count;
use futures::StreamExt;

use super::box_type::BoxColumns;
use super::rows::Rows;
use super::search::ROW_BYTES;
use crate::memory::{self, Kept};

/// Rows that were gathered, and the memory that is reserved for them and for their boxes.
#[derive(Debug)]
pub struct Gathered {
    /// The rows.
    pub rows: Rows,
    /// The number of the first row in the input.
    pub first_row: u64,
    /// The bytes of the rows without their boxes.
    pub bytes: usize,
    /// Memory of the engine's pool, which is given back when this is dropped.
    pub reservation: MemoryReservation,
}

/// Reads an input in large batches.
pub struct Gatherer {
    input: SendableRecordBatchStream,
    /// Batches that were read but not returned, the next one last.
    rest: Vec<RecordBatch>,
    consumer: MemoryConsumer,
    pool: Arc<dyn MemoryPool>,
    /// The most bytes that a search of a row needs beside the row.
    box_bytes: usize,
    rows: u64,
    input_rows: Count,
    input_bytes: Count,
}

impl Gatherer {
    /// Reads an input with memory from a pool. The consumer is named in errors. The counters count
    /// what is read.
    ///
    /// # Errors
    /// A plan error if the columns are no boxes.
    pub fn new(
        input: SendableRecordBatchStream,
        boxes: &BoxColumns,
        consumer: MemoryConsumer,
        pool: &Arc<dyn MemoryPool>,
        [input_rows, input_bytes]: [&Count; 2],
    ) -> Result<Gatherer> {
        // Boxes are joined in one array, and copied from there without the nulls, with their rows.
        const COPIES: usize = 2;
        let kind = boxes.box_type(&input.schema())?;
        let width = kind.coordinate.primitive_width().unwrap_or_default();
        let row_number = size_of::<u32>();
        Ok(Gatherer {
            box_bytes: COPIES * (kind.width * width + 1) + row_number + ROW_BYTES,
            input,
            rest: Vec::new(),
            consumer,
            pool: Arc::clone(pool),
            rows: 0,
            input_rows: input_rows.clone(),
            input_bytes: input_bytes.clone(),
        })
    }

    /// Returns the next rows: `rows` rows or `bytes` bytes, or somewhat more, and fewer at the end
    /// of the input or if the memory does not suffice. `None` if there are none.
    pub async fn next(&mut self, rows: usize, bytes: usize) -> Result<Option<Gathered>> {
        let mut parts = Parts::new(self);
        while parts.rows < rows && (parts.rows == 0 || parts.reservation.size() < bytes) {
            let Some(batch) = self.read().await? else {
                break;
            };
            match parts.push(&batch) {
                Ok(()) => {}
                Err(_) if parts.rows > 0 => {
                    self.rest.push(batch);
                    break;
                }
                Err(error) if batch.num_rows() == 1 => return Err(error),
                Err(_) => {
                    let half = batch.num_rows() / 2;
                    self.rest.push(batch.slice(half, batch.num_rows() - half));
                    self.rest.push(batch.slice(0, half));
                }
            }
        }
        if parts.rows == 0 {
            return Ok(None);
        }
        self.finish(parts).map(Some)
    }

    /// Returns all rows of the input, which may be none.
    pub async fn all(&mut self) -> Result<Gathered> {
        let mut parts = Parts::new(self);
        while let Some(batch) = self.read().await? {
            parts.push(&batch)?;
        }
        self.finish(parts)
    }

    /// Returns the bin of the next row. The input is sorted by its last column, the bin.
    pub async fn peek_bin(&mut self) -> Result<Option<i32>> {
        let next = self.read().await?;
        let bin = next.as_ref().map(|batch| bins(batch)[0]);
        self.rest.extend(next);
        Ok(bin)
    }

    /// Returns all rows of a bin, which may be none. Smaller bins must have been read.
    pub async fn next_bin(&mut self, bin: i32) -> Result<Gathered> {
        let mut parts = Parts::new(self);
        while self.peek_bin().await? == Some(bin) {
            let Some(batch) = self.rest.pop() else { break };
            let end = bins(&batch).partition_point(|&other| other <= bin);
            parts.push(&batch.slice(0, end))?;
            if end < batch.num_rows() {
                self.rest.push(batch.slice(end, batch.num_rows() - end));
            }
        }
        self.finish(parts)
    }

    /// Returns the next batch that is not empty.
    async fn read(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.rest.pop() {
            return Ok(Some(batch));
        }
        while let Some(batch) = self.input.next().await.transpose()? {
            if batch.num_rows() > 0 {
                self.input_rows.add(batch.num_rows());
                self.input_bytes.add(memory::size(&batch)?);
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Returns the parts as rows of the input.
    fn finish(&mut self, parts: Parts) -> Result<Gathered> {
        /// Indices of rows have 32 bits, and the library takes fewer than 2³¹ boxes.
        const MAX_ROWS: usize = i32::MAX as usize;
        let rows = parts.rows;
        if rows > MAX_ROWS {
            return exec_err!(
                "{}: {rows} rows to be searched together, more than {MAX_ROWS}: partition both \
                 tables by tiles, with smaller tiles or more bins",
                self.consumer.name()
            );
        }
        let first_row = self.rows;
        self.rows += rows as u64;
        Ok(Gathered {
            rows: Rows::new(self.input.schema(), parts.batches),
            first_row,
            bytes: parts.bytes,
            reservation: parts.reservation,
        })
    }
}

/// Batches, and the memory that is reserved for them and for the boxes in them.
struct Parts {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    kept: Kept,
    box_bytes: usize,
    reservation: MemoryReservation,
}

impl Parts {
    fn new(gatherer: &Gatherer) -> Parts {
        let consumer = gatherer.consumer.clone_with_new_id();
        Parts {
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            kept: Kept::default(),
            box_bytes: gatherer.box_bytes,
            reservation: consumer.register(&gatherer.pool),
        }
    }

    /// Adds a batch. After an error the parts have what they had.
    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let bytes = self.kept.add(batch)?;
        let boxes = batch.num_rows() * self.box_bytes;
        if let Err(error) = memory::grow(&self.reservation, bytes + boxes) {
            if self.rows == 0 {
                self.kept = Kept::default();
            }
            return Err(error);
        }
        self.bytes += bytes;
        self.rows += batch.num_rows();
        self.batches.push(batch.clone());
        Ok(())
    }
}

/// Returns the bins of all rows.
fn bins(batch: &RecordBatch) -> &[i32] {
    let bins = batch.column(batch.num_columns() - 1);
    bins.as_primitive::<Int32Type>().values()
}

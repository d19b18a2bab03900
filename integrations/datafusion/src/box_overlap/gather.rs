//! Gathers the small batches of an input into large ones, in memory of the engine's pool.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::Int32Type;
use datafusion::common::{Result, exec_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_plan::metrics::Count;
use futures::StreamExt;

/// Rows that were gathered, and the memory that is reserved for them: twice what they take, for the
/// batches that they were in, and then for their boxes.
#[derive(Debug)]
pub struct Gathered {
    /// The rows.
    pub batch: RecordBatch,
    /// The number of the first row in the input.
    pub first_row: u64,
    /// Memory of the engine's pool, which is given back when this is dropped.
    pub reservation: MemoryReservation,
}

/// Reads an input in large batches.
pub struct Gatherer {
    input: SendableRecordBatchStream,
    /// What was read but not returned.
    rest: Option<RecordBatch>,
    consumer: MemoryConsumer,
    pool: Arc<dyn MemoryPool>,
    rows: u64,
    input_rows: Count,
    input_bytes: Count,
}

impl Gatherer {
    /// Reads an input with memory from a pool. The consumer is named in errors. The counters count
    /// what is read.
    pub fn new(
        input: SendableRecordBatchStream,
        consumer: MemoryConsumer,
        pool: &Arc<dyn MemoryPool>,
        [input_rows, input_bytes]: [&Count; 2],
    ) -> Gatherer {
        Gatherer {
            input,
            rest: None,
            consumer,
            pool: Arc::clone(pool),
            rows: 0,
            input_rows: input_rows.clone(),
            input_bytes: input_bytes.clone(),
        }
    }

    /// Returns the next rows: `rows` or somewhat more, and fewer at the end of the input or if the
    /// memory does not suffice. `None` if there are none.
    pub async fn next(&mut self, rows: usize) -> Result<Option<Gathered>> {
        let mut parts = Parts::new(self);
        while parts.rows < rows {
            let batch = match self.rest.take() {
                Some(batch) => batch,
                None => match self.read().await? {
                    Some(batch) => batch,
                    None => break,
                },
            };
            match parts.push(&batch) {
                Err(_) if parts.rows > 0 => {
                    self.rest = Some(batch);
                    break;
                }
                pushed => pushed?,
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
        if self.rest.is_none() {
            self.rest = self.read().await?;
        }
        Ok(self.rest.as_ref().map(|batch| bins(batch)[0]))
    }

    /// Returns all rows of a bin, which may be none. Smaller bins must have been read.
    pub async fn next_bin(&mut self, bin: i32) -> Result<Gathered> {
        let mut parts = Parts::new(self);
        while self.peek_bin().await? == Some(bin) {
            let Some(batch) = self.rest.take() else { break };
            let end = bins(&batch).partition_point(|&other| other <= bin);
            parts.push(&batch.slice(0, end))?;
            if end < batch.num_rows() {
                self.rest = Some(batch.slice(end, batch.num_rows() - end));
            }
        }
        self.finish(parts)
    }

    /// Returns the next batch that is not empty.
    async fn read(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.input.next().await.transpose()? {
            if batch.num_rows() > 0 {
                self.input_rows.add(batch.num_rows());
                self.input_bytes.add(memory_size(&batch));
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Joins the parts.
    fn finish(&mut self, parts: Parts) -> Result<Gathered> {
        /// Indices of rows have 32 bits, and the library takes fewer than 2³¹ boxes.
        const MAX_ROWS: usize = i32::MAX as usize;
        let Parts {
            batches,
            rows,
            reservation,
        } = parts;
        if rows > MAX_ROWS {
            return exec_err!(
                "{}: {rows} rows to be searched together, more than {MAX_ROWS}: partition both \
                 tables by tiles, with smaller tiles or more bins",
                self.consumer.name()
            );
        }
        let first_row = self.rows;
        self.rows += rows as u64;
        let batch = match <[RecordBatch; 1]>::try_from(batches) {
            Ok([batch]) => batch,
            Err(batches) => concat_batches(&self.input.schema(), &batches)?,
        };
        Ok(Gathered {
            batch,
            first_row,
            reservation,
        })
    }
}

/// Batches to be joined, and the memory that is reserved for them and for their copy in one batch.
struct Parts {
    batches: Vec<RecordBatch>,
    rows: usize,
    reservation: MemoryReservation,
}

impl Parts {
    fn new(gatherer: &Gatherer) -> Parts {
        let consumer = gatherer.consumer.clone_with_new_id();
        Parts {
            batches: Vec::new(),
            rows: 0,
            reservation: consumer.register(&gatherer.pool),
        }
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        self.reservation.try_grow(2 * memory_size(batch))?;
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

/// Returns the bytes of a batch's rows. Unlike `get_array_memory_size`, which counts the memory
/// that the arrays keep alive, slices of one large batch count as much as all of it, once.
pub fn memory_size(batch: &RecordBatch) -> usize {
    let size = |array: &Arc<dyn Array>| {
        let size = array.to_data().get_slice_memory_size();
        size.unwrap_or_else(|_| array.get_array_memory_size())
    };
    batch.columns().iter().map(size).sum()
}

//! The work of one partition of the queries: gathering, calls of the library, and the result.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Fields, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_plan::metrics::{Count, Time};
use futures::future::{BoxFuture, Shared};
use futures::stream::Fuse;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use tokio::task::JoinError;

use super::gather::{Gathered, Gatherer};
use super::output::{Neighbours, Output};
use super::search::{Database, Measures};
use crate::memory;

/// Bytes of queries after which the library is called, however few rows they are.
const GATHERED_BYTES: usize = 256 << 20;

/// An index and a distance, and both again while they are copied.
const BYTES_PER_RESULT: usize = 32;

/// The references, for all partitions; `None` if there are none.
pub type Loading = Shared<BoxFuture<'static, Result<Option<References>, Arc<DataFusionError>>>>;

/// The rows of the right input, and their vectors.
#[derive(Clone)]
pub struct References {
    pub rows: Arc<Gathered>,
    pub database: Arc<dyn Database>,
}

/// A partition of the queries.
pub struct Queries {
    pub input: Fuse<SendableRecordBatchStream>,
    pub gatherer: Gatherer,
    /// The pool of the gatherer's memory.
    pub pool: Arc<dyn MemoryPool>,
    /// The number of partitions that take memory of the pool at the same time.
    pub partitions: usize,
    /// Rows that have been read, but not gathered.
    pub waiting: Option<RecordBatch>,
    pub input_rows: Count,
    pub gather_time: Time,
}

/// The inputs of a partition other than its queries.
pub struct Work {
    pub k: usize,
    /// The number of rows of the result of a call.
    pub batch_rows: usize,
    pub references: Loading,
    pub schema: SchemaRef,
    /// The columns of the queries and of the references.
    pub fields: [Fields; 2],
    pub batch_size: usize,
    pub measures: Measures,
    pub output_time: Time,
}

/// Returns the result for the queries of a partition. Dropping the stream stops the work: a call of
/// the library that has begun ends first, on a thread of its own.
pub fn run(queries: Queries, work: Work) -> impl Stream<Item = Result<RecordBatch>> {
    let outputs = stream::try_unfold((queries, work), |(mut queries, work)| async move {
        let output = work.search(&mut queries).await?;
        Ok::<_, DataFusionError>(output.map(|output| (output, (queries, work))))
    });
    outputs.map_ok(stream::iter).try_flatten()
}

impl Work {
    /// Searches for the next queries, or returns `None` if there are no more.
    async fn search(&self, queries: &mut Queries) -> Result<Option<Output>> {
        let references = self
            .references
            .clone()
            .await
            .map_err(DataFusionError::Shared)?;
        let Some(references) = references else {
            return Ok(None);
        };
        let k = self.k.min(references.rows.rows());
        queries
            .gatherer
            .set_result_bytes(k.saturating_mul(BYTES_PER_RESULT));
        let Some(queries) = queries.gather((self.batch_rows / k).max(1)).await? else {
            return Ok(None);
        };
        let (database, measures) = (references.database, self.measures.clone());
        let task = SpawnedTask::spawn_blocking(move || {
            let neighbours = database.nearest(&queries.vectors, k, &measures);
            neighbours.map(|neighbours| (queries, neighbours))
        });
        let (queries, neighbours) = task.join_unwind().await.map_err(not_joined)??;
        let (schema, fields) = (Arc::clone(&self.schema), self.fields.clone());
        let neighbours = Neighbours {
            queries,
            references: references.rows,
            nearest: neighbours,
        };
        let output_time = self.output_time.clone();
        Ok(Some(Output::new(
            schema,
            fields,
            neighbours,
            self.batch_size,
            output_time,
        )))
    }
}

impl Queries {
    /// Gathers up to `most` rows, or fewer if they are large or memory runs out. Returns `None` at
    /// the end.
    async fn gather(&mut self, most: usize) -> Result<Option<Gathered>> {
        // A partition that took all memory would leave none for the first rows of the others.
        let share = memory::share(&*self.pool, self.partitions);
        while self.gatherer.rows() < most
            && self.gatherer.bytes() < GATHERED_BYTES
            && (self.gatherer.rows() == 0 || self.gatherer.reserved() < share)
        {
            let Some(batch) = self.next().await? else {
                break;
            };
            let _timer = self.gather_time.timer();
            let mut room = batch.num_rows().min(most - self.gatherer.rows());
            let refused = loop {
                match self.gatherer.push(&batch.slice(0, room)) {
                    Ok(()) => break false,
                    // The rows so far may leave the memory that these need.
                    Err(_) if self.gatherer.rows() > 0 => break true,
                    Err(error) if room <= 1 => return Err(error),
                    Err(_) => room /= 2,
                }
            };
            if refused {
                self.waiting = Some(batch);
                break;
            }
            if room < batch.num_rows() {
                self.waiting = Some(batch.slice(room, batch.num_rows() - room));
            }
        }
        let _timer = self.gather_time.timer();
        self.gatherer.take()
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.waiting.take() {
            return Ok(Some(batch));
        }
        let batch = self.input.next().await.transpose()?;
        self.input_rows
            .add(batch.as_ref().map_or(0, RecordBatch::num_rows));
        Ok(batch)
    }
}

/// Returns the error for a task that was stopped, as at the end of a process.
pub fn not_joined(error: JoinError) -> DataFusionError {
    DataFusionError::ExecutionJoin(Box::new(error))
}

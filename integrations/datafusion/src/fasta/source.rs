//! The scan of FASTA files, as DataFusion's file scans call it.

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileOpenFuture, FileOpener, FileScanConfig, FileSource,
};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::apply_expression_roots;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use files::sequences::{self, Letters, Reader};
use futures::StreamExt;

use super::columns::Columns;
use super::reader;

/// Text that is parsed in one go, and read although a query may need less.
const CHUNK: usize = 1 << 18;

/// Batches of a file that may wait for their consumer.
const WAITING: usize = 2;

/// Reads FASTA files in a `DataSourceExec`.
///
/// Its metric `bytes_scanned` counts bytes of files as they are stored, before decompression.
#[derive(Clone)]
pub struct FastaSource {
    table_schema: TableSchema,
    projection: SplitProjection,
    batch_size: Option<usize>,
    metrics: ExecutionPlanMetricsSet,
}

impl FastaSource {
    /// Returns a source of all columns: those of the files and, after them, those of folders.
    pub fn new(table_schema: TableSchema) -> FastaSource {
        FastaSource {
            projection: SplitProjection::unprojected(&table_schema),
            table_schema,
            batch_size: None,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl FileSource for FastaSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let wanted = self.projection.file_indices.clone();
        let file_schema = self.table_schema.file_schema();
        let opener = FastaOpener {
            store,
            schema: Arc::new(file_schema.project(&wanted)?),
            wanted,
            batch_size: self.batch_size.or(config.batch_size).unwrap_or(8192),
            bytes: MetricBuilder::new(&self.metrics).counter("bytes_scanned", partition),
        };
        ProjectionOpener::try_new(self.projection.clone(), Arc::new(opener), file_schema)
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(FastaSource {
            batch_size: Some(batch_size),
            ..self.clone()
        })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    /// Takes projections to columns. Other expressions stay above the scan, so that a scan consists
    /// of plain data that travels between processes.
    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let mut all = merged.iter();
        if !all.all(|projected| projected.expr.downcast_ref::<Column>().is_some()) {
            return Ok(None);
        }
        Ok(Some(Arc::new(FastaSource {
            projection: SplitProjection::new(self.table_schema.file_schema(), &merged),
            ..self.clone()
        })))
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "fasta"
    }

    /// A record's number of lines is unknown, so that a range of bytes could begin anywhere in it.
    fn supports_repartitioning(&self) -> bool {
        false
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.projection.source.iter(), visit)
    }
}

/// Opens the files of a partition.
struct FastaOpener {
    store: Arc<dyn ObjectStore>,
    /// The columns to build, by their index in the file's schema, and their schema.
    wanted: Vec<usize>,
    schema: SchemaRef,
    batch_size: usize,
    bytes: Count,
}

impl FileOpener for FastaOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let path = file.object_meta.location;
        let store = Arc::clone(&self.store);
        let columns = Columns::new(self.wanted.clone(), Arc::clone(&self.schema));
        let schema = Arc::clone(&self.schema);
        let (batch_size, bytes) = (self.batch_size, self.bytes.clone());
        Ok(Box::pin(async move {
            let raw = reader::open(store.as_ref(), &path, bytes).await?;
            // Files are read, decompressed and parsed on a thread that may block. Dropping the
            // stream closes its channel, and the next batch is the last one.
            let mut stream = RecordBatchReceiverStream::builder(schema, WAITING);
            let sender = stream.tx();
            stream.spawn_blocking(move || {
                let fail = |error: &dyn std::fmt::Display| in_file(path.as_ref(), error);
                let text =
                    reader::decompressed(raw, path.as_ref()).map_err(|error| fail(&error))?;
                let send = |batch| sender.blocking_send(Ok(batch)).is_ok();
                read(text, columns, batch_size, fail, send)
            });
            Ok(stream.build().boxed())
        }))
    }
}

/// Why reading ends early.
enum Stop {
    Wrong(sequences::Error),
    Engine(DataFusionError),
    /// The reader of batches has stopped.
    Closed,
}

impl From<sequences::Error> for Stop {
    fn from(error: sequences::Error) -> Stop {
        Stop::Wrong(error)
    }
}

/// Reads all records, and calls `send` with batches until it returns `false`.
///
/// A partition reads on a single thread, since the engine reads several files at a time.
fn read(
    text: Box<dyn Read + Send>,
    mut columns: Columns,
    batch_size: usize,
    fail: impl Fn(&dyn std::fmt::Display) -> DataFusionError,
    send: impl Fn(RecordBatch) -> bool,
) -> Result<()> {
    let mut reader = Reader::here(Letters::text(), text, Some(CHUNK));
    let wants_letters = columns.wants_letters();
    let send_batch = |columns: &mut Columns| {
        let batch = columns.take().map_err(Stop::Engine)?;
        match batch.is_none_or(&send) {
            true => Ok(()),
            false => Err(Stop::Closed),
        }
    };
    let mut next = || {
        let has_more = reader.next(|piece| {
            if wants_letters {
                columns.letters.extend_from_slice(piece.letters);
            }
            if piece.is_last {
                columns.end_record(piece.record);
                if columns.is_full(batch_size) {
                    send_batch(&mut columns)?;
                }
            }
            Ok::<(), Stop>(())
        })?;
        if !has_more {
            send_batch(&mut columns)?;
        }
        Ok::<bool, Stop>(has_more)
    };
    loop {
        match next() {
            Ok(true) => {}
            Ok(false) | Err(Stop::Closed) => return Ok(()),
            Err(Stop::Wrong(error)) => {
                return Err(match error.source() {
                    Some(cause) => fail(&format_args!("{error}: {cause}")),
                    None => fail(&error),
                });
            }
            Err(Stop::Engine(error)) => return Err(error),
        }
    }
}

fn in_file(path: &str, error: &dyn std::fmt::Display) -> DataFusionError {
    exec_datafusion_err!("fasta: /{path}, {error}")
}

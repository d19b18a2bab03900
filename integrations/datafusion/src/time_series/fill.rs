//! Rows for the buckets without points, in batches of bounded size.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array, new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, concat, take, take_record_batch};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;

use super::compute::Buckets;
use super::options::Fill;
use super::parameters::{TimeBucketParameters, integer};

/// Splits the rows of chunks to batches, with rows for empty buckets among them.
pub(super) struct Filler {
    parameters: Arc<TimeBucketParameters>,
    batch_size: usize,
    /// The row before the next chunk, and when its bucket begins.
    last: Option<(RecordBatch, i64)>,
}

impl Filler {
    pub fn new(parameters: Arc<TimeBucketParameters>, batch_size: usize) -> Filler {
        Filler {
            parameters,
            batch_size,
            last: None,
        }
    }

    /// Returns the batches of a chunk.
    pub fn batches(&mut self, buckets: Buckets) -> Result<Batches> {
        let Buckets {
            batch,
            starts,
            mut offsets,
            continues,
            reservation,
        } = buckets;
        let row = match self.last.take() {
            Some(last) if continues && self.fills() => Some(last),
            _ => None,
        };
        let rows = batch.num_rows();
        self.last = match offsets[offsets.len() - 2] < rows {
            true if self.fills() => {
                // A slice would keep the memory of the whole batch.
                let last = UInt64Array::from(vec![rows as u64 - 1]);
                Some((take_record_batch(&batch, &last)?, starts.value(rows - 1)))
            }
            // All buckets of the last series are left out: its row before still is the last one.
            false if offsets.len() == 2 => row.clone(),
            _ => None,
        };
        let fills = self.fills().then(|| {
            // The row before is row 0 of the source, and not returned again.
            if row.is_some() {
                offsets[1..].iter_mut().for_each(|offset| *offset += 1);
            }
            self.source(&batch, &starts, row.as_ref())
        });
        let begin = usize::from(fills.is_some() && row.is_some());
        Ok(Batches {
            fills: fills.transpose()?,
            row: begin,
            next: None,
            offsets,
            every: i128::from(self.parameters.every),
            batch_size: self.batch_size,
            batch,
            _reservation: reservation,
        })
    }

    fn fills(&self) -> bool {
        self.parameters.options.fill != Fill::None
    }

    fn source(
        &self,
        batch: &RecordBatch,
        starts: &Int64Array,
        before: Option<&(RecordBatch, i64)>,
    ) -> Result<Source> {
        let first_method = batch.num_columns() - self.parameters.methods.0.len();
        let mut columns = Vec::new();
        for (index, column) in batch.columns().iter().enumerate() {
            let filling = match index < first_method {
                true => new_null_array(column.data_type(), 1),
                false => filling(self.parameters.options.fill, column.data_type()),
            };
            let row = before.map(|(row, _)| row.column(index).as_ref());
            let parts: Vec<_> = row.into_iter().chain([column.as_ref(), &filling]).collect();
            columns.push(concat(&parts)?);
        }
        let before = before.map(|(_, start)| *start);
        Ok(Source {
            columns,
            first_method,
            starts: before
                .into_iter()
                .chain(starts.values().iter().copied())
                .collect(),
            repeats: self.parameters.options.fill == Fill::Previous,
        })
    }
}

/// Returns the value of a column in the rows of empty buckets.
fn filling(fill: Fill, data_type: &DataType) -> ArrayRef {
    match (fill, data_type) {
        (Fill::Nan, DataType::Float64) => Arc::new(Float64Array::from(vec![f64::NAN])),
        (Fill::Value(number), DataType::Float64) => Arc::new(Float64Array::from(vec![number])),
        (Fill::Value(number), DataType::Int64) => Arc::new(Int64Array::from(vec![integer(number)])),
        (_, other) => new_null_array(other, 1),
    }
}

/// The rows from which batches are taken: those of a chunk, with the row before it in front if its
/// series goes on, and at the end the row of an empty bucket.
struct Source {
    columns: Vec<ArrayRef>,
    /// The index of the first column that is filled.
    first_method: usize,
    /// When the bucket of each row begins, except the last row.
    starts: Vec<i64>,
    /// Whether empty buckets repeat the row before them.
    repeats: bool,
}

/// The batches of a chunk.
pub(super) struct Batches {
    batch: RecordBatch,
    fills: Option<Source>,
    /// The first row of each series, and the number of rows.
    offsets: Vec<usize>,
    /// The next row to return.
    row: usize,
    /// The next bucket to return before it, if not its own.
    next: Option<i128>,
    every: i128,
    batch_size: usize,
    _reservation: MemoryReservation,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let Some(source) = self.fills.take() else {
            let rows = self.batch_size.min(self.batch.num_rows() - self.row);
            let batch = self.batch.slice(self.row, rows);
            self.row += rows;
            return (rows > 0).then_some(Ok(batch));
        };
        let rows = self.rows(&source);
        let found = (!rows.starts.is_empty()).then(|| self.taken(&source, rows));
        self.fills = Some(source);
        found
    }
}

/// Rows of a batch.
#[derive(Default)]
struct Rows {
    starts: Vec<i64>,
    /// The row of the source with the series.
    series: Vec<u64>,
    /// The row of the source with the methods' values.
    values: Vec<u64>,
}

impl Batches {
    /// Returns the next rows, at most as many as a batch has.
    fn rows(&mut self, source: &Source) -> Rows {
        let mut rows = Rows::default();
        let filling = source.starts.len() as u64;
        while self.row < source.starts.len() && rows.starts.len() < self.batch_size {
            let start = source.starts[self.row];
            let is_first = self.offsets.binary_search(&self.row).is_ok();
            let next = match (self.next, is_first) {
                (Some(next), _) => next,
                (None, true) => i128::from(start),
                (None, false) => i128::from(source.starts[self.row - 1]) + self.every,
            };
            if next < i128::from(start) {
                let before = self.row as u64 - 1;
                // It is between two timestamps.
                rows.starts.push(next as i64);
                rows.series.push(before);
                rows.values
                    .push(if source.repeats { before } else { filling });
                self.next = Some(next + self.every);
            } else {
                rows.starts.push(start);
                rows.series.push(self.row as u64);
                rows.values.push(self.row as u64);
                self.row += 1;
                self.next = None;
            }
        }
        rows
    }

    fn taken(&self, source: &Source, rows: Rows) -> Result<RecordBatch> {
        let (series, values) = (
            UInt64Array::from(rows.series),
            UInt64Array::from(rows.values),
        );
        let schema = self.batch.schema();
        let options = CastOptions {
            safe: false,
            ..Default::default()
        };
        let mut starts = Some(Int64Array::from(rows.starts));
        let mut columns = Vec::with_capacity(source.columns.len());
        for (index, column) in source.columns.iter().enumerate() {
            columns.push(match starts.take_if(|_| index + 1 == source.first_method) {
                Some(starts) => {
                    cast_with_options(&starts, schema.field(index).data_type(), &options)?
                }
                None if index < source.first_method => take(column, &series, None)?,
                None => take(column, &values, None)?,
            });
        }
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

//! Rows for the buckets without points, in batches of bounded size.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array, new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, concat, take, take_record_batch};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;

use super::compute::Buckets;
use super::options::Fill;
use super::parameters::{TimeBucketParameters, integer};

/// Splits the rows of chunks to batches, with rows for empty buckets among them.
pub(super) struct Filler {
    parameters: Arc<TimeBucketParameters>,
    /// The columns of the output.
    schema: SchemaRef,
    batch_size: usize,
    /// The row before the next chunk, without its series, and when its bucket begins.
    last: Option<(RecordBatch, i64)>,
}

impl Filler {
    pub fn new(
        parameters: Arc<TimeBucketParameters>,
        schema: SchemaRef,
        batch_size: usize,
    ) -> Filler {
        Filler {
            parameters,
            schema,
            batch_size,
            last: None,
        }
    }

    /// Returns the batches of a chunk.
    pub fn batches(&mut self, buckets: Buckets) -> Result<Batches> {
        let Buckets {
            keys,
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
            schema: Arc::clone(&self.schema),
            keys,
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
        let mut columns = Vec::new();
        // The first column has the timestamps.
        for (index, column) in batch.columns().iter().enumerate().skip(1) {
            let filling = filling(self.parameters.options.fill, column.data_type());
            let row = before.map(|(row, _)| row.column(index).as_ref());
            let parts: Vec<_> = row.into_iter().chain([column.as_ref(), &filling]).collect();
            columns.push(concat(&parts)?);
        }
        let before = before.map(|(_, start)| *start);
        Ok(Source {
            columns,
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
    /// The columns of the methods.
    columns: Vec<ArrayRef>,
    /// When the bucket of each row begins, except the last row.
    starts: Vec<i64>,
    /// Whether empty buckets repeat the row before them.
    repeats: bool,
}

/// The batches of a chunk.
pub(super) struct Batches {
    schema: SchemaRef,
    /// The key of each series.
    keys: Option<ArrayRef>,
    /// The columns after the series.
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
            let columns = self.batch.slice(self.row, rows).columns().to_vec();
            let series = self.row..self.row + rows;
            self.row += rows;
            return (rows > 0).then(|| self.with_series(series, columns));
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
    /// A row of the source in the same series.
    series: Vec<usize>,
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
                let before = self.row - 1;
                // It is between two timestamps.
                rows.starts.push(next as i64);
                rows.series.push(before);
                rows.values.push(match source.repeats {
                    true => before as u64,
                    false => filling,
                });
                self.next = Some(next + self.every);
            } else {
                rows.starts.push(start);
                rows.series.push(self.row);
                rows.values.push(self.row as u64);
                self.row += 1;
                self.next = None;
            }
        }
        rows
    }

    fn taken(&self, source: &Source, rows: Rows) -> Result<RecordBatch> {
        let values = UInt64Array::from(rows.values);
        let options = CastOptions {
            safe: false,
            ..Default::default()
        };
        let starts = Int64Array::from(rows.starts);
        let timestamps = self.batch.column(0).data_type();
        let mut columns = vec![cast_with_options(&starts, timestamps, &options)?];
        for column in &source.columns {
            columns.push(take(column, &values, None)?);
        }
        self.with_series(rows.series, columns)
    }

    /// Puts the series of rows, in ascending order, in front of their other columns.
    fn with_series(
        &self,
        rows: impl IntoIterator<Item = usize>,
        mut columns: Vec<ArrayRef>,
    ) -> Result<RecordBatch> {
        if let Some(keys) = &self.keys {
            let mut series = 0;
            let numbers = rows.into_iter().map(|row| {
                while self.offsets[series + 1] <= row {
                    series += 1;
                }
                series as u64
            });
            let numbers = UInt64Array::from_iter_values(numbers);
            columns.insert(0, take(keys, &numbers, None)?);
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

//! Rows for the buckets without points, in batches of bounded size.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array, new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, concat, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use gridstride::time_series::Fill;

use super::compute::Buckets;
use super::parameters::{TimeBucketParameters, integer};

/// Splits the rows of chunks to batches, with rows for empty buckets among them.
pub(super) struct Filler {
    parameters: Arc<TimeBucketParameters>,
    /// The columns of the output.
    schema: SchemaRef,
    batch_size: usize,
    /// The row before the next chunk, without its series, and when its bucket begins. A method that
    /// repeats has its last result.
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
        let has_last = offsets[offsets.len() - 2] < rows;
        // All buckets of the last series are left out: its row before still is the last one.
        let stays = !has_last && offsets.len() == 2;
        let fills = self.fills().then(|| {
            // The row before is row 0 of the source, and not returned again.
            if row.is_some() {
                offsets[1..].iter_mut().for_each(|offset| *offset += 1);
            }
            self.source(&batch, &starts, &offsets, row.as_ref())
        });
        let fills = fills.transpose()?;
        let begin = usize::from(fills.is_some() && row.is_some());
        self.last = match &fills {
            Some(source) if has_last => Some(source.last_row(&batch)?),
            _ if stays => row,
            _ => None,
        };
        Ok(Batches {
            schema: Arc::clone(&self.schema),
            keys,
            fills,
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
        !self.parameters.options.fill.is_none()
    }

    fn source(
        &self,
        batch: &RecordBatch,
        starts: &Int64Array,
        offsets: &[usize],
        before: Option<&(RecordBatch, i64)>,
    ) -> Result<Source> {
        let (mut columns, mut repeats) = (Vec::new(), Vec::new());
        // The first column has the timestamps.
        let methods = self.parameters.methods.0.iter();
        for ((index, column), method) in batch.columns().iter().enumerate().skip(1).zip(methods) {
            let fill = self.parameters.options.fill.of(method);
            let row = before.map(|(row, _)| row.column(index).as_ref());
            let rows: Vec<_> = row.into_iter().chain([column.as_ref()]).collect();
            let rows = concat(&rows)?;
            repeats.push(fill == Fill::Previous);
            let filling = match fill {
                Fill::Previous => last_results(&rows, offsets)?,
                _ => filling(fill, column.data_type()),
            };
            columns.push(concat(&[&rows, &filling])?);
        }
        let before = before.map(|(_, start)| *start);
        Ok(Source {
            columns,
            starts: before
                .into_iter()
                .chain(starts.values().iter().copied())
                .collect(),
            repeats,
        })
    }
}

/// Returns for each row the last result of its series that exists, at this row or before.
fn last_results(column: &ArrayRef, offsets: &[usize]) -> Result<ArrayRef> {
    if column.null_count() == 0 {
        return Ok(Arc::clone(column));
    }
    let mut rows = Vec::with_capacity(column.len());
    for series in offsets.windows(2) {
        let mut last = None;
        rows.extend((series[0]..series[1]).map(|row| {
            last = column.is_valid(row).then_some(row as u64).or(last);
            last
        }));
    }
    Ok(take(column, &UInt64Array::from(rows), None)?)
}

/// Returns the value of a column in the rows of empty buckets.
fn filling(fill: Fill, data_type: &DataType) -> ArrayRef {
    match (fill, data_type) {
        (Fill::Value(number), DataType::Float64) => Arc::new(Float64Array::from(vec![number])),
        (Fill::Value(number), DataType::Int64) => Arc::new(Int64Array::from(vec![integer(number)])),
        (_, other) => new_null_array(other, 1),
    }
}

/// The rows from which batches are taken: those of a chunk, with the row before it in front if its
/// series goes on.
struct Source {
    /// The columns of the methods. Behind the rows are the results of empty buckets: for a method
    /// that repeats its last result, that of each row, and for others a single one.
    columns: Vec<ArrayRef>,
    /// When the bucket of each row begins, except the last row.
    starts: Vec<i64>,
    /// Whether each column repeats its last result in empty buckets.
    repeats: Vec<bool>,
}

impl Source {
    /// Returns the last row, with the first column of `batch`, and when its bucket begins.
    fn last_row(&self, batch: &RecordBatch) -> Result<(RecordBatch, i64)> {
        let (rows, last) = (self.starts.len(), self.starts.len() - 1);
        // A slice would keep the memory of the whole batch.
        let row_of = |column: &ArrayRef, row| take(column, &UInt64Array::from(vec![row]), None);
        let mut columns = vec![row_of(batch.column(0), batch.num_rows() as u64 - 1)?];
        for (column, &repeats) in self.columns.iter().zip(&self.repeats) {
            let row = if repeats { rows + last } else { last };
            columns.push(row_of(column, row as u64)?);
        }
        // A last result need not exist.
        let nullable = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
        let fields: Vec<_> = batch.schema().fields().iter().map(nullable).collect();
        let row = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        Ok((row, self.starts[last]))
    }
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
        let batch = (!rows.starts.is_empty()).then(|| self.taken(&source, rows));
        self.fills = Some(source);
        batch
    }
}

/// Rows of a batch.
#[derive(Default)]
struct Rows {
    starts: Vec<i64>,
    /// A row of the source in the same series.
    series: Vec<usize>,
    /// The row of the source with the methods' values: for an empty bucket, the row before it.
    values: Vec<u64>,
    /// Whether the bucket is empty.
    is_empty: Vec<bool>,
}

impl Batches {
    /// Returns the next rows, at most as many as a batch has.
    fn rows(&mut self, source: &Source) -> Rows {
        let mut rows = Rows::default();
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
                rows.values.push(before as u64);
                rows.is_empty.push(true);
                self.next = Some(next + self.every);
            } else {
                rows.starts.push(start);
                rows.series.push(self.row);
                rows.values.push(self.row as u64);
                rows.is_empty.push(false);
                self.row += 1;
                self.next = None;
            }
        }
        rows
    }

    fn taken(&self, source: &Source, rows: Rows) -> Result<RecordBatch> {
        let count = source.starts.len() as u64;
        let of_rows = |behind: fn(u64) -> u64| {
            let rows = rows.values.iter().zip(&rows.is_empty);
            let rows = rows.map(|(&row, &is_empty)| match is_empty {
                true => count + behind(row),
                false => row,
            });
            UInt64Array::from_iter_values(rows)
        };
        let (repeated, filled) = (of_rows(|row| row), of_rows(|_| 0));
        let options = CastOptions {
            safe: false,
            ..Default::default()
        };
        let starts = Int64Array::from(rows.starts);
        let timestamps = self.batch.column(0).data_type();
        let mut columns = vec![cast_with_options(&starts, timestamps, &options)?];
        for (column, &repeats) in source.columns.iter().zip(&source.repeats) {
            let values = if repeats { &repeated } else { &filled };
            columns.push(take(column, values, None)?);
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

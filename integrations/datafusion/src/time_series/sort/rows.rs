//! The points of a partition, and their order.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float32Array, Float64Array, Int64Array, RecordBatch, UInt32Array,
    UInt64Array, make_array, make_comparator, new_empty_array,
};
use datafusion::arrow::compute::{CastOptions, SortOptions, cast_with_options, take};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float32Type, Float64Type, Schema, SchemaRef,
};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

use super::super::piece::{Piece, changes};
use crate::memory::compact;

/// The points received so far, with their series as numbers.
pub(super) struct Rows {
    schema: SchemaRef,
    /// The type of the series, or of their values if they are dictionaries.
    key_type: DataType,
    /// Numbers the series. Floats are numbered by their bits: the engine would take -0.0 and 0.0 for
    /// the same, but they are two series wherever rows are compared.
    series: Box<dyn GroupValues>,
    batches: Vec<Batch>,
    reservation: MemoryReservation,
    /// The most memory.
    budget: usize,
    /// The memory of `series` that is reserved.
    series_bytes: usize,
}

struct Batch {
    /// The number of each row's series.
    series: Vec<u32>,
    timestamps: Int64Array,
    values: ArrayRef,
}

/// A point, without its series.
#[derive(Clone, Copy, Default)]
struct Point {
    timestamp: i64,
    value: f64,
}

/// The memory of a row until it is sorted: in its batch, and as a point.
const ROW: usize = size_of::<u32>() + size_of::<i64>() + size_of::<f64>() + size_of::<Point>();

/// The memory of a series while points are sorted: its number, count, next place and end.
const SERIES: usize = size_of::<u32>() + 3 * size_of::<usize>();

impl Rows {
    pub fn new(schema: SchemaRef, reservation: MemoryReservation, budget: usize) -> Result<Rows> {
        let key_type = match schema.field(0).data_type() {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            other => other.clone(),
        };
        let key = Schema::new(vec![Field::new("series", bits(&key_type), true)]);
        Ok(Rows {
            schema,
            key_type,
            series: new_group_values(key.into(), &GroupOrdering::None)?,
            batches: Vec::new(),
            reservation,
            budget,
            series_bytes: 0,
        })
    }

    /// Adds rows if there is memory for them, and returns whether there was.
    ///
    /// # Errors
    /// If the engine cannot number series of this type.
    pub fn push(&mut self, piece: Piece) -> Result<bool> {
        if !self.reserve(piece.len() * ROW) {
            return Ok(false);
        }
        let series = match &piece.series {
            Some(series) => self.number(series)?,
            None => vec![0; piece.len()],
        };
        self.batches.push(Batch {
            series,
            timestamps: piece.timestamps,
            values: piece.values,
        });
        // The memory of this batch's new series is known now. If the pool refuses it, so is the next batch.
        let series_bytes = self.series.size() + self.series.len() * SERIES;
        let grown = series_bytes.saturating_sub(self.series_bytes);
        match self.reserve(grown) {
            true => self.series_bytes += grown,
            false => self.budget = 0,
        }
        Ok(true)
    }

    fn reserve(&self, bytes: usize) -> bool {
        let is_free = self.reservation.size() + bytes <= self.budget;
        is_free && self.reservation.try_grow(bytes).is_ok()
    }

    /// Returns the number of each row's series.
    fn number(&mut self, series: &ArrayRef) -> Result<Vec<u32>> {
        let (rows, mut ids) = (series.len(), Vec::new());
        let changes = changes(series)?;
        if changes.len() >= rows / 2 {
            self.series.intern(&[self.key(series)?], &mut ids)?;
            return Ok(ids.into_iter().map(|id| id as u32).collect());
        }
        // Hashing costs more than comparing neighbours: one row of a run is enough.
        let heads = [0].into_iter().chain(changes.iter().copied());
        let heads = UInt64Array::from_iter_values(heads.map(|row| row as u64));
        let heads = self.key(&take(series, &heads, None)?)?;
        self.series.intern(&[heads], &mut ids)?;
        let mut numbers = Vec::with_capacity(rows);
        for (id, end) in ids.into_iter().zip(changes.into_iter().chain([rows])) {
            numbers.resize(end, id as u32);
        }
        Ok(numbers)
    }

    /// Returns all rows as batches, in the order of their coming. Each returns its memory to the
    /// pool when it is taken.
    pub fn into_batches(mut self) -> Result<impl Iterator<Item = Result<RecordBatch>>> {
        let keys = self.keys()?;
        Ok(self.batches.into_iter().map(move |batch| {
            let rows = batch.series.len();
            self.reservation
                .shrink((rows * ROW).min(self.reservation.size()));
            let series = take(&keys, &UInt32Array::from(batch.series), None)?;
            // Views would keep the texts of all series.
            let series = compact(series);
            record_batch(&self.schema, series, batch.timestamps, batch.values)
        }))
    }

    /// Returns series without a dictionary: all series together may be more than its keys can number.
    fn key(&self, series: &ArrayRef) -> Result<ArrayRef> {
        let options = CastOptions::default();
        let series = cast_with_options(series, &self.key_type, &options)?;
        reinterpreted(series, bits(&self.key_type))
    }

    /// Returns each series once, by their numbers.
    fn keys(&mut self) -> Result<ArrayRef> {
        // Some of the engine's numberings cannot return nothing.
        if self.series.is_empty() {
            return Ok(new_empty_array(&self.key_type));
        }
        let keys = self.series.emit(EmitTo::All)?.swap_remove(0);
        let keys = cast_with_options(&keys, &bits(&self.key_type), &CastOptions::default())?;
        reinterpreted(keys, self.key_type.clone())
    }

    /// Sorts the points.
    pub fn sort(mut self) -> Result<Sorted> {
        let keys = self.keys()?;
        let compare = make_comparator(&keys, &keys, SortOptions::default())?;
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| compare(a as usize, b as usize));

        let mut counts = vec![0; keys.len()];
        let numbers = self.batches.iter().flat_map(|batch| &batch.series);
        numbers.for_each(|&series| counts[series as usize] += 1);
        // Where the next point of each series goes.
        let mut next = vec![0; keys.len()];
        let (mut ends, mut end) = (Vec::with_capacity(keys.len()), 0);
        for &series in &order {
            next[series as usize] = end;
            end += counts[series as usize];
            ends.push(end);
        }
        let mut points = vec![Point::default(); end];
        for batch in std::mem::take(&mut self.batches) {
            let mut put = |row: usize, value: f64| {
                let place = &mut next[batch.series[row] as usize];
                points[*place] = Point {
                    timestamp: batch.timestamps.value(row),
                    value,
                };
                *place += 1;
            };
            // Numbers of 32 bits are numbers of 64 bits too.
            match batch.values.data_type() {
                DataType::Float32 => values::<Float32Type>(&batch.values)
                    .for_each(|(row, value)| put(row, f64::from(value))),
                _ => values::<Float64Type>(&batch.values).for_each(|(row, value)| put(row, value)),
            }
        }
        // The batches are gone.
        let bytes = end * (ROW - size_of::<Point>());
        (self.reservation).shrink(bytes.min(self.reservation.size()));
        let (mut rest, mut start) = (&mut points[..], 0);
        for &end in &ends {
            let series;
            (series, rest) = rest.split_at_mut(end - start);
            if !series.is_sorted_by_key(|point| point.timestamp) {
                series.sort_by_key(|point| point.timestamp);
            }
            start = end;
        }
        Ok(Sorted {
            schema: self.schema,
            keys: take(&keys, &UInt32Array::from(order), None)?,
            ends,
            points,
            series: 0,
            row: 0,
            _reservation: self.reservation,
        })
    }
}

/// Returns the type of the bits of floats, and other types as they are.
fn bits(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Float16 => DataType::UInt16,
        DataType::Float32 => DataType::UInt32,
        DataType::Float64 => DataType::UInt64,
        other => other.clone(),
    }
}

/// Returns the same bits as an array of another type of this size.
fn reinterpreted(array: ArrayRef, data_type: DataType) -> Result<ArrayRef> {
    if *array.data_type() == data_type {
        return Ok(array);
    }
    let data = array.to_data().into_builder().data_type(data_type);
    Ok(make_array(data.build()?))
}

fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> impl Iterator<Item = (usize, T::Native)> {
    array
        .as_primitive::<T>()
        .values()
        .iter()
        .copied()
        .enumerate()
}

/// Returns a batch of the columns, with the timestamps in their type.
fn record_batch(
    schema: &SchemaRef,
    series: ArrayRef,
    timestamps: Int64Array,
    values: ArrayRef,
) -> Result<RecordBatch> {
    let options = CastOptions {
        safe: false,
        ..Default::default()
    };
    let series = cast_with_options(&series, schema.field(0).data_type(), &options)?;
    let timestamps = cast_with_options(&timestamps, schema.field(1).data_type(), &options)?;
    let columns = vec![series, timestamps, values];
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// Sorted points, returned in batches.
pub(super) struct Sorted {
    schema: SchemaRef,
    /// Each series once, in order.
    keys: ArrayRef,
    /// The number of points of a series and those before it.
    ends: Vec<usize>,
    points: Vec<Point>,
    /// The first row that is not returned yet, and its series.
    row: usize,
    series: usize,
    _reservation: MemoryReservation,
}

impl Sorted {
    /// Returns the next points, at most as many as `rows`; `None` after the last.
    pub fn next(&mut self, rows: usize) -> Option<Result<RecordBatch>> {
        let (start, end) = (self.row, self.points.len().min(self.row + rows));
        (start < end).then(|| self.batch(start, end))
    }

    fn batch(&mut self, start: usize, end: usize) -> Result<RecordBatch> {
        let first = self.series;
        let mut series = Vec::with_capacity(end - start);
        while start + series.len() < end {
            let until = self.ends[self.series].min(end);
            series.resize(until - start, (self.series - first) as u64);
            self.series += usize::from(until == self.ends[self.series]);
        }
        self.row = end;
        // Views would keep the texts of all series.
        let last = self.series.min(self.keys.len() - 1);
        let keys = compact(self.keys.slice(first, last + 1 - first));
        let points = || self.points[start..end].iter();
        let timestamps = points().map(|point| point.timestamp);
        let values: ArrayRef = match self.schema.field(2).data_type() {
            DataType::Float32 => Arc::new(Float32Array::from_iter_values(
                points().map(|point| point.value as f32),
            )),
            _ => Arc::new(Float64Array::from_iter_values(
                points().map(|point| point.value),
            )),
        };
        let series = take(&keys, &UInt64Array::from(series), None)?;
        record_batch(
            &self.schema,
            series,
            Int64Array::from_iter_values(timestamps),
            values,
        )
    }
}

//! A call of the library for a chunk of rows.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array, Int64Array, PrimitiveArray,
    RecordBatch, UInt64Array,
};
use datafusion::arrow::buffer::{NullBuffer, ScalarBuffer};
use datafusion::arrow::compute::{CastOptions, cast_with_options, concat, take};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::metrics::{Count, Time};
use gridstride::device::DeviceKind;
use gridstride::ndarray::ArrayView1;
use gridstride::time_series::{Aggregates, TimeBuckets, Value};
use gridstride::{Device, Error};

use super::gather::{Chunk, bucket_start};
use super::parameters::{EXEC_NAME, TIMESTAMP, TimeBucketParameters, is_count};
use crate::arrow::into_buffer;
use crate::config;
use crate::error::external;

/// State that the calls of a partition share.
pub(super) struct Work {
    pub parameters: Arc<TimeBucketParameters>,
    pub buckets: TimeBuckets,
    /// The columns of the output.
    pub schema: SchemaRef,
    pub input_bytes: Count,
    pub calls: Count,
    pub gather_time: Time,
    pub kernel_time: Time,
    pub copy_time: Time,
}

/// The buckets of a chunk.
pub(super) struct Buckets {
    /// The key of each series, if the output has series. The keys of all buckets could have more text
    /// than an array holds.
    pub keys: Option<ArrayRef>,
    /// The columns of the output after the series.
    pub batch: RecordBatch,
    /// When the buckets begin.
    pub starts: Int64Array,
    /// The first row of each series, and the number of rows.
    pub offsets: Vec<usize>,
    /// Whether the first series goes on from the chunk before.
    pub continues: bool,
    /// The memory of the keys and of the batch, which is twice if empty buckets are filled.
    pub reservation: MemoryReservation,
}

impl Work {
    /// Aggregates the rows of a chunk.
    pub fn buckets(&self, chunk: Chunk) -> Result<Buckets> {
        match chunk.pieces[0].values.data_type() {
            DataType::Float32 => self.buckets_of::<Float32Type>(chunk, |value| value as f32),
            _ => self.buckets_of::<Float64Type>(chunk, |value| value),
        }
    }

    fn buckets_of<T: ArrowPrimitiveType<Native: Value>>(
        &self,
        chunk: Chunk,
        narrowed: fn(f64) -> T::Native,
    ) -> Result<Buckets> {
        let gathering = self.gather_time.timer();
        // The last point before the chunk is in an earlier bucket, whose row is dropped again.
        let before = chunk.before;
        let shift = usize::from(before.is_some());
        let rows = chunk.rows + shift;
        let bytes = rows * (size_of::<i64>() + size_of::<T::Native>());
        let timestamps = chunk.pieces.iter().map(|piece| &piece.timestamps);
        let timestamps = joined(timestamps, before.map(|point| point.0), rows);
        let values = chunk
            .pieces
            .iter()
            .map(|piece| piece.values.as_primitive::<T>());
        let values = joined(values, before.map(|point| narrowed(point.1)), rows);
        let mut offsets: Vec<_> = chunk.runs.iter().map(|run| run.start + shift).collect();
        offsets[0] = 0;
        offsets.push(rows);
        drop(gathering);

        self.calls.add(1);
        self.input_bytes.add(bytes);
        let views = (
            ArrayView1::from(&timestamps[..]),
            ArrayView1::from(&values[..]),
        );
        // Opening a device takes long: the first call does it, on its own thread.
        let device = config::open(self.parameters.device).map_err(external(EXEC_NAME))?;
        let aggregates = self
            .aggregate(&device, &offsets, views.0, views.1)
            .map_err(external(EXEC_NAME))?;
        let first = bucket_start(&self.parameters, timestamps[shift]);
        self.output(chunk, aggregates, first)
    }

    /// Calls the library. On devices with their own memory, copies and kernels are measured apart.
    fn aggregate<T: Value>(
        &self,
        device: &Device,
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> gridstride::Result<Aggregates> {
        let _turn = config::turn(device);
        if device.kind() != DeviceKind::Cpu {
            match self.aggregate_on_device(device, offsets, timestamps, values) {
                // The call for host arrays divides the work so that it fits.
                Err(Error::Allocation { .. }) => {}
                aggregates => return aggregates,
            }
        }
        let _timer = self.kernel_time.timer();
        self.buckets
            .aggregate_series(device, offsets, timestamps, values)
    }

    fn aggregate_on_device<T: Value>(
        &self,
        device: &Device,
        offsets: &[usize],
        timestamps: ArrayView1<i64>,
        values: ArrayView1<T>,
    ) -> gridstride::Result<Aggregates> {
        // Calls of other partitions have streams of their own, so that their copies overlap with
        // these kernels.
        let device = device.on(&device.stream()?)?;
        let copying = self.copy_time.timer();
        let (timestamps, values) = (device.upload(&timestamps)?, device.upload(&values)?);
        device.synchronize()?;
        drop(copying);
        let computing = self.kernel_time.timer();
        let aggregates = self
            .buckets
            .aggregate_series_device(offsets, &timestamps, &values)?;
        device.synchronize()?;
        drop(computing);
        let _copying = self.copy_time.timer();
        aggregates.download()
    }

    /// Explains the error of a column whose type cannot hold a value: the first bucket may begin
    /// before the least time of the type.
    fn not_held(&self, error: DataFusionError, field: &Field) -> DataFusionError {
        if field.name() != TIMESTAMP {
            return error;
        }
        error.context(format!(
            "time_buckets: a bucket begins at a time that the type {} of the timestamp column {:?} \
             cannot hold: choose another origin or length of a bucket, or cast the column to a \
             wider or signed type in a view",
            field.data_type(),
            self.parameters.names.timestamp
        ))
    }

    /// Returns the rows of the output. Buckets of the first series before `first` are dropped.
    fn output(&self, chunk: Chunk, aggregates: Aggregates, first: i64) -> Result<Buckets> {
        let _gathering = self.gather_time.timer();
        let of_first_series = aggregates
            .starts()
            .into_iter()
            .take(aggregates.series(0).end);
        let dropped = match chunk.before {
            Some(_) => of_first_series.filter(|&&start| start < first).count(),
            None => 0,
        };
        let mut offsets = aggregates.offsets().to_vec();
        for offset in &mut offsets[1..] {
            *offset -= dropped;
        }
        let methods = aggregates.methods().to_vec();
        let (starts, columns) = aggregates.into_parts();
        let rows = starts.len() - dropped;
        let starts = Int64Array::new(into_buffer(starts), None).slice(dropped, rows);

        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        arrays.extend(keys(&chunk)?);
        arrays.push(Arc::new(starts.clone()));
        for (column, method) in columns.into_iter().zip(&methods) {
            arrays.push(match is_count(method) {
                true => {
                    let counts = column.iter().skip(dropped).map(|&count| count as i64);
                    Arc::new(Int64Array::from_iter_values(counts))
                }
                false => {
                    // A result that is NaN does not exist.
                    let exists = column.iter().map(|number| !number.is_nan());
                    let exists = NullBuffer::from_iter(exists);
                    let nulls = Some(exists).filter(|exists| exists.null_count() > 0);
                    let numbers = Float64Array::new(into_buffer(column), nulls);
                    Arc::new(numbers.slice(dropped, rows))
                }
            });
        }
        // Timestamps get their type back, and texts the plan's: engines may have read them as views.
        let options = CastOptions {
            safe: false,
            ..Default::default()
        };
        for (array, field) in arrays.iter_mut().zip(self.schema.fields()) {
            if array.data_type() != field.data_type() {
                *array = cast_with_options(array, field.data_type(), &options)
                    .map_err(|error| self.not_held(error.into(), field))?;
            }
        }
        // A column has a row for each bucket, and the keys one for each series.
        let columns = arrays.split_off(arrays.len() - 1 - methods.len());
        let keys = arrays.pop();
        let fields = &self.schema.fields()[usize::from(keys.is_some())..];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns)?;
        let Chunk {
            continues,
            reservation,
            pieces,
            ..
        } = chunk;
        drop(pieces);
        let bytes = keys.as_ref().map_or(0, |keys| keys.get_array_memory_size())
            + batch.get_array_memory_size() * self.parameters.copies_of_buckets();
        reservation.try_resize(bytes).map_err(|error| {
            error.context(format!(
                "{EXEC_NAME}: the memory does not suffice for {rows} buckets"
            ))
        })?;
        Ok(Buckets {
            keys,
            batch,
            starts,
            offsets,
            continues,
            reservation,
        })
    }
}

/// Returns the key of each series, from one of its rows: arrays of all points may have a dictionary
/// each, and long texts.
fn keys(chunk: &Chunk) -> Result<Option<ArrayRef>> {
    let mut keys = Vec::new();
    for runs in chunk.runs.chunk_by(|a, b| a.key.0 == b.key.0) {
        let Some(series) = &chunk.pieces[runs[0].key.0].series else {
            return Ok(None);
        };
        let rows = UInt64Array::from_iter_values(runs.iter().map(|run| run.key.1 as u64));
        keys.push(take(series, &rows, None)?);
    }
    let keys: Vec<&dyn Array> = keys.iter().map(AsRef::as_ref).collect();
    let keys = concat(&keys)?;
    // Views would keep the texts of all points.
    Ok(Some(match keys.data_type() {
        DataType::Utf8View => Arc::new(keys.as_string_view().gc()),
        DataType::BinaryView => Arc::new(keys.as_binary_view().gc()),
        _ => keys,
    }))
}

/// Returns the numbers of arrays one after the other, with one number in front. A single array is
/// not copied.
fn joined<'a, T: ArrowPrimitiveType>(
    arrays: impl ExactSizeIterator<Item = &'a PrimitiveArray<T>>,
    first: Option<T::Native>,
    len: usize,
) -> ScalarBuffer<T::Native> {
    let mut arrays = arrays.peekable();
    if arrays.len() == 1
        && first.is_none()
        && let Some(only) = arrays.peek()
    {
        return only.values().clone();
    }
    let mut numbers = Vec::with_capacity(len);
    numbers.extend(first);
    arrays.for_each(|array| numbers.extend_from_slice(array.values()));
    numbers.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_array_is_not_copied_and_several_are_joined() {
        let (a, b) = (Int64Array::from(vec![1, 2, 3]), Int64Array::from(vec![4]));
        let slice = a.slice(1, 2);
        let only = joined([&slice].into_iter(), None, 2);
        assert_eq!(
            (&only[..], only.as_ptr()),
            (&[2, 3][..], a.values()[1..].as_ptr())
        );
        assert_eq!(joined([&slice, &b].into_iter(), None, 3)[..], [2, 3, 4]);
        assert_eq!(joined([&slice].into_iter(), Some(0), 3)[..], [0, 2, 3]);
    }
}

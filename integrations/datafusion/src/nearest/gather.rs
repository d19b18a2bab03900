//! Rows of an input, gathered for a call of the library.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray, RecordBatch};
use datafusion::arrow::compute::{cast, concat, filter_record_batch, interleave, is_not_null};
use datafusion::arrow::datatypes::Fields;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::memory_pool::MemoryReservation;

use super::parameters::{EXEC_NAME, VectorColumn};
use crate::memory::Kept;

/// Rows whose vectors are not null, in batches.
pub struct Gatherer {
    column: VectorColumn,
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    memory: Kept,
    /// Bytes that the result of a row takes.
    result_bytes: usize,
    reservation: MemoryReservation,
}

/// The rows that a [`Gatherer`] has gathered. Their vectors are one array, of which the batches have slices.
pub struct Gathered {
    batches: Vec<RecordBatch>,
    /// The first row of each batch.
    starts: Vec<usize>,
    pub vectors: FixedSizeListArray,
    pub bytes_per_row: usize,
    /// The memory of the rows, and of their results.
    _reservation: MemoryReservation,
}

impl Gatherer {
    /// Memory is taken from the pool of `reservation`: that of the rows, and `result_bytes` for the
    /// result of each row.
    pub fn new(
        column: VectorColumn,
        result_bytes: usize,
        reservation: MemoryReservation,
    ) -> Gatherer {
        Gatherer {
            column,
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            memory: Kept::default(),
            result_bytes,
            reservation,
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the memory that is reserved.
    pub fn reserved(&self) -> usize {
        self.reservation.size()
    }

    /// Sets the bytes that the result of each row takes.
    pub fn set_result_bytes(&mut self, bytes: usize) {
        self.result_bytes = bytes;
    }

    /// Adds the rows of a batch whose vectors are not null.
    ///
    /// # Errors
    /// If there is a null in a vector, or too little memory for the batch. Then the rows before it
    /// are still here.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let vectors = batch.column(self.column.index);
        let batch = match vectors.null_count() {
            0 => batch.clone(),
            _ => filter_record_batch(batch, &is_not_null(vectors)?)?,
        };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let vectors = batch.column(self.column.index).as_fixed_size_list();
        if vectors.values().null_count() > 0 {
            return exec_err!(
                "{EXEC_NAME}: a vector in column {} has a null in it",
                self.column.name
            );
        }
        // The vectors count twice, since those of several batches are copied into one array.
        let width = vectors.value_type().primitive_width().unwrap_or_default();
        let bytes = self.memory.add(&batch)? + vectors.values().len() * width;
        let result_bytes = batch.num_rows().saturating_mul(self.result_bytes);
        let grown = self
            .reservation
            .try_grow(bytes.saturating_add(result_bytes));
        if let Err(error) = grown {
            if self.rows == 0 {
                self.memory = Kept::default();
            }
            let column = &self.column.name;
            return Err(error.context(format!(
                "{EXEC_NAME}: the rows with {column} do not fit into memory"
            )));
        }
        self.rows += batch.num_rows();
        self.bytes += bytes;
        self.batches.push(batch);
        Ok(())
    }

    /// Takes the rows so far; `None` if there are none.
    pub fn take(&mut self) -> Result<Option<Gathered>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let bytes_per_row = self.bytes / self.rows;
        (self.rows, self.bytes) = (0, 0);
        self.memory = Kept::default();
        let mut batches = std::mem::take(&mut self.batches);
        let index = self.column.index;
        let reservation = self.reservation.take();
        let vectors = match &batches[..] {
            [batch] => batch.column(index).as_fixed_size_list().clone(),
            _ => {
                let vectors: Vec<_> = batches.iter().map(|b| b.column(index).as_ref()).collect();
                concat(&vectors)?.as_fixed_size_list().clone()
            }
        };
        let mut starts = Vec::with_capacity(batches.len());
        let mut rows = 0;
        for batch in &mut batches {
            let slice: ArrayRef = Arc::new(vectors.slice(rows, batch.num_rows()));
            let columns = batch.columns().iter().enumerate();
            let columns = columns.map(|(i, column)| if i == index { &slice } else { column });
            *batch = RecordBatch::try_new(batch.schema(), columns.cloned().collect())?;
            starts.push(rows);
            rows += batch.num_rows();
        }
        Ok(Some(Gathered {
            batches,
            starts,
            vectors,
            bytes_per_row,
            _reservation: reservation,
        }))
    }
}

impl Gathered {
    pub fn rows(&self) -> usize {
        self.vectors.len()
    }

    /// Returns the columns with these rows, in the types of `fields`: engines may have read text in
    /// another type than planned.
    pub fn columns(
        &self,
        rows: impl Iterator<Item = usize>,
        fields: &Fields,
    ) -> Result<Vec<ArrayRef>> {
        let place = |row: usize| {
            let batch = self.starts.partition_point(|start| *start <= row) - 1;
            (batch, row - self.starts[batch])
        };
        let places: Vec<_> = rows.map(place).collect();
        let column = |(index, field): (usize, &Arc<_>)| {
            let arrays: Vec<_> = self
                .batches
                .iter()
                .map(|b| b.column(index).as_ref())
                .collect();
            let rows = interleave(&arrays, &places)?;
            let field: &datafusion::arrow::datatypes::Field = field;
            match rows.data_type() == field.data_type() {
                true => Ok(rows),
                false => Ok::<_, DataFusionError>(cast(&rows, field.data_type())?),
            }
        };
        fields.iter().enumerate().map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Float32Array, Int64Array};
    use datafusion::arrow::buffer::NullBuffer;
    use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Schema};
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;
    use crate::arrow::rows;

    /// Returns a batch of ids from `first` on and of vectors (id, 0.5).
    fn batch(first: i64, valid: &[bool]) -> RecordBatch {
        let ids: Vec<_> = (first..).take(valid.len()).collect();
        let numbers = ids.iter().flat_map(|&id| [id as f32, 0.5]);
        let numbers = Arc::new(Float32Array::from_iter_values(numbers));
        let item = Arc::new(Field::new_list_field(DataType::Float32, true));
        let nulls = NullBuffer::from(valid.to_vec());
        let vectors = FixedSizeListArray::new(item, 2, numbers, Some(nulls));
        let ids: ArrayRef = Arc::new(Int64Array::from(ids));
        RecordBatch::try_from_iter([("id", ids), ("at", Arc::new(vectors) as _)]).unwrap()
    }

    fn gatherer(pool: &Arc<dyn MemoryPool>) -> Gatherer {
        let column = VectorColumn {
            name: "at".into(),
            index: 1,
        };
        Gatherer::new(column, 100, MemoryConsumer::new("test").register(pool))
    }

    fn place(batch: &RecordBatch) -> *const f32 {
        let vectors = batch.column(1).as_fixed_size_list();
        vectors
            .values()
            .as_primitive::<Float32Type>()
            .values()
            .as_ptr()
    }

    fn pool(bytes: usize) -> Arc<dyn MemoryPool> {
        Arc::new(GreedyMemoryPool::new(bytes))
    }

    #[test]
    fn the_vectors_of_one_batch_are_not_copied() {
        let mut gatherer = gatherer(&pool(1 << 20));
        let batch = batch(0, &[true; 4]).slice(1, 2);
        gatherer.push(&batch).unwrap();
        let gathered = gatherer.take().unwrap().unwrap();
        assert_eq!(
            rows::<Float32Type>(&gathered.vectors).unwrap().as_ptr(),
            place(&batch)
        );
        assert_eq!(place(&gathered.batches[0]), place(&batch));
        assert!(gatherer.take().unwrap().is_none());
    }

    #[test]
    fn several_batches_have_slices_of_one_array() {
        let mut gatherer = gatherer(&pool(1 << 20));
        let valid: [&[bool]; 4] = [&[true, false, true], &[false], &[], &[true, true]];
        for (number, valid) in valid.into_iter().enumerate() {
            gatherer.push(&batch(10 * number as i64, valid)).unwrap();
        }
        assert_eq!(gatherer.rows(), 4);
        let gathered = gatherer.take().unwrap().unwrap();
        let vectors = rows::<Float32Type>(&gathered.vectors).unwrap();
        assert_eq!(vectors.column(0).to_vec(), [0.0, 2.0, 30.0, 31.0]);
        let places: Vec<_> = gathered.batches.iter().map(place).collect();
        assert_eq!(places, [vectors.as_ptr(), vectors.row(2).as_ptr()]);

        // Rows are found in all batches, and get the planned types.
        let fields = Schema::new(vec![
            Field::new("id", DataType::Utf8, true),
            gathered.batches[0].schema().field(1).clone(),
        ]);
        let columns = gathered
            .columns([3, 0, 2, 0].into_iter(), fields.fields())
            .unwrap();
        let ids: Vec<_> = columns[0].as_string::<i32>().iter().flatten().collect();
        assert_eq!(ids, ["31", "0", "30", "0"]);
    }

    #[test]
    fn memory_is_that_of_rows_and_results() {
        let pool = pool(1000);
        let mut gatherer = gatherer(&pool);
        gatherer.push(&batch(0, &[true; 4])).unwrap();
        // 4 ids of 8 bytes and vectors of 8 bytes, these twice, and 4 results of 100 bytes.
        let least = 4 * (8 + 8 + 8 + 100);
        assert!(
            (least..700).contains(&pool.reserved()),
            "{}",
            pool.reserved()
        );
        let error = gatherer
            .push(&batch(4, &[true; 6]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("NearestExec: the rows with at do not fit into memory"),
            "{error}"
        );
        assert_eq!(gatherer.rows(), 4);
        drop(gatherer.take().unwrap());
        assert_eq!(pool.reserved(), 0);
    }
}

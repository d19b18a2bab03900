//! Rows in several batches, numbered from the first batch's first row.

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{concat_batches, interleave, take};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;

use super::box_type::BoxColumns;
use super::boxes::{AnyBoxes, with_boxes};
use crate::memory::compact;

/// Rows stay in the batches that they were read in: only the boxes are joined in one array. This
/// takes half the memory of one large batch, whose text could not have more than 2 GiB besides.
#[derive(Debug)]
pub struct Rows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The first row of each batch, and the number of all rows.
    starts: Vec<usize>,
    /// The batch of each row whose number is a multiple of [`STEP`].
    hints: Vec<u32>,
}

/// The distance of rows with a hint.
const STEP: usize = 1 << 10;

/// Rows to be taken.
pub enum Places {
    /// Rows of a single batch.
    Single(UInt32Array),
    /// Batches, and rows in them.
    Many(Vec<(usize, usize)>),
}

impl Rows {
    /// Returns the rows of batches that are not empty.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Rows {
        let (mut starts, mut hints) = (vec![0], Vec::new());
        for (number, batch) in (0..).zip(&batches) {
            let end = starts[starts.len() - 1] + batch.num_rows();
            starts.push(end);
            hints.resize(end.div_ceil(STEP), number);
        }
        Rows {
            schema,
            batches,
            starts,
            hints,
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// Returns the boxes of all rows. `first_row` is the number of the first row, for messages.
    ///
    /// # Errors
    /// The errors of [`AnyBoxes::new`].
    pub fn boxes(&self, columns: &BoxColumns, first_row: u64) -> Result<AnyBoxes> {
        let project = |batch: &RecordBatch| batch.project(&columns.columns);
        let schema = self.schema.project(&columns.columns)?.into();
        let batch = match &self.batches[..] {
            [batch] => project(batch)?,
            batches => {
                let batches: Vec<_> = batches.iter().map(project).collect::<Result<_, _>>()?;
                concat_batches(&schema, &batches)?
            }
        };
        let columns = BoxColumns {
            table: columns.table.clone(),
            columns: (0..columns.columns.len()).collect(),
        };
        AnyBoxes::new(&columns, &batch, first_row)
    }

    /// Returns the bytes of an array that [`boxes`](Self::boxes) joined the boxes in.
    pub fn joined_bytes(&self, boxes: &AnyBoxes) -> usize {
        match self.batches.len() {
            1 => 0,
            _ => with_boxes!(boxes, boxes => size_of_val(boxes.numbers())),
        }
    }

    /// Returns where rows are.
    pub fn places(&self, rows: &[u32]) -> Places {
        if self.batches.len() == 1 {
            return Places::Single(UInt32Array::from(rows.to_vec()));
        }
        let place = |&row: &u32| {
            let row = row as usize;
            let mut batch = self.hints[row / STEP] as usize;
            while self.starts[batch + 1] <= row {
                batch += 1;
            }
            (batch, row - self.starts[batch])
        };
        Places::Many(rows.iter().map(place).collect())
    }

    /// Returns the rows of a column.
    pub fn take(&self, column: usize, places: &Places) -> Result<ArrayRef> {
        Ok(compact(match places {
            Places::Single(rows) => take(self.batches[0].column(column), rows, None)?,
            Places::Many(places) => {
                let arrays = self.batches.iter();
                let arrays: Vec<_> = arrays.map(|batch| batch.column(column).as_ref()).collect();
                interleave(&arrays, places)?
            }
        }))
    }
}

//! The columns of a batch while its records are read.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, LargeStringArray, RecordBatch, RecordBatchOptions, StringBuilder,
};
use datafusion::arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use files::sequences::Record;

/// Text after which a batch ends.
const BATCH_BYTES: usize = 64 << 20;

const ID: usize = 0;
const DESCRIPTION: usize = 1;
const SEQUENCE: usize = 2;

/// Collects the columns that a query needs.
pub struct Columns {
    /// The columns to build, by their index in the file's schema.
    wanted: Vec<usize>,
    /// The schema of the wanted columns.
    schema: SchemaRef,
    ids: StringBuilder,
    descriptions: StringBuilder,
    /// The letters of all records, and the end of each record.
    pub letters: Vec<u8>,
    ends: Vec<i64>,
    rows: usize,
    /// The length of ids and descriptions.
    header_bytes: usize,
}

impl Columns {
    /// `wanted` are indices in the file's schema, `schema` is the projection to them.
    pub fn new(wanted: Vec<usize>, schema: SchemaRef) -> Columns {
        Columns {
            wanted,
            schema,
            ids: StringBuilder::new(),
            descriptions: StringBuilder::new(),
            letters: Vec::new(),
            ends: Vec::new(),
            rows: 0,
            header_bytes: 0,
        }
    }

    /// Whether records have to add their letters.
    pub fn wants_letters(&self) -> bool {
        self.wanted.contains(&SEQUENCE)
    }

    /// Ends a record whose letters have been added.
    pub fn end_record(&mut self, record: &Record) {
        if self.wanted.contains(&ID) {
            let id = record.name();
            self.ids.append_value(&id);
            self.header_bytes += id.len();
        }
        if self.wanted.contains(&DESCRIPTION) {
            let description = record.description();
            let known = (!description.is_empty()).then_some(&description);
            self.descriptions.append_option(known);
            self.header_bytes += description.len();
        }
        if self.wants_letters() {
            // A vector never has more than `isize::MAX` bytes.
            self.ends.push(self.letters.len() as i64);
        }
        self.rows += 1;
    }

    /// Whether the batch has `rows` records, or as much text as is good for memory.
    pub fn is_full(&self, rows: usize) -> bool {
        self.rows >= rows || self.letters.len() + self.header_bytes >= BATCH_BYTES
    }

    /// Takes the records so far, or `None` if there are none.
    pub fn take(&mut self) -> Result<Option<RecordBatch>> {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return Ok(None);
        }
        self.header_bytes = 0;
        let wanted = self.wanted.clone();
        let columns = wanted.into_iter().map(|column| self.take_column(column));
        let columns = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        Ok(Some(batch))
    }

    fn take_column(&mut self, column: usize) -> Result<ArrayRef> {
        Ok(match column {
            ID => Arc::new(self.ids.finish()),
            DESCRIPTION => Arc::new(self.descriptions.finish()),
            _ => {
                let mut offsets = vec![0];
                offsets.append(&mut self.ends);
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                let letters = Buffer::from_vec(std::mem::take(&mut self.letters));
                Arc::new(LargeStringArray::try_new(offsets, letters, None)?)
            }
        })
    }
}

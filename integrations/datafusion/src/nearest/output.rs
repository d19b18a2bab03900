//! The rows of the result.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Float64Array, Int32Array, RecordBatch};
use datafusion::arrow::datatypes::{Fields, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_plan::metrics::Time;
use gridstride::distances::Nearest;

use super::gather::Gathered;

/// Bytes of the columns of both tables in a batch, estimated.
const BATCH_BYTES: usize = 64 << 20;

/// The nearest references of gathered queries.
pub struct Neighbours {
    pub queries: Gathered,
    pub references: Arc<Gathered>,
    /// A row of indices and distances for each query.
    pub nearest: Nearest,
}

/// Iterates over the result for gathered queries, in batches.
pub struct Output {
    schema: SchemaRef,
    /// The columns of the queries and of the references.
    fields: [Fields; 2],
    neighbours: Neighbours,
    /// The next row of the result.
    next: usize,
    batch_size: usize,
    time: Time,
}

impl Output {
    pub fn new(
        schema: SchemaRef,
        fields: [Fields; 2],
        neighbours: Neighbours,
        batch_size: usize,
        time: Time,
    ) -> Output {
        let row = neighbours.queries.bytes_per_row + neighbours.references.bytes_per_row;
        Output {
            schema,
            fields,
            neighbours,
            next: 0,
            batch_size: batch_size.min(BATCH_BYTES / row.max(1)).max(1),
            time,
        }
    }

    fn batch(&self, range: Range<usize>) -> Result<RecordBatch> {
        let Neighbours {
            queries,
            references,
            nearest,
        } = &self.neighbours;
        let k = nearest.indices.ncols();
        let indices = nearest.indices.iter().skip(range.start).take(range.len());
        let distances = nearest.distances.iter().skip(range.start).take(range.len());
        let [of_queries, of_references] = &self.fields;
        let mut columns = queries.columns(range.clone().map(|place| place / k), of_queries)?;
        columns.extend(references.columns(indices.map(|&index| index as usize), of_references)?);
        // The parameters' check has found that k fits.
        let ranks = range.map(|place| (place % k) as i32 + 1);
        columns.push(Arc::new(Int32Array::from_iter_values(ranks)));
        columns.push(Arc::new(Float64Array::from_iter_values(distances.copied())));
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

impl Iterator for Output {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let time = self.time.clone();
        let _timer = time.timer();
        let end = self
            .neighbours
            .nearest
            .indices
            .len()
            .min(self.next + self.batch_size);
        let range = self.next..end;
        self.next = end;
        (!range.is_empty()).then(|| self.batch(range))
    }
}

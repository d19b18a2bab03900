//! Sessions, random numbers and tables of the tests.

use std::sync::Arc;

use datafusion::arrow::array::{Int64Array, RecordBatch};
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::Result;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};

/// Returns a session that computes on `device`.
pub async fn session(device: &str, partitions: usize, batch_size: usize) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_batch_size(batch_size);
    let context = SessionContext::new_with_config(config);
    gridstride_datafusion::register(&context).unwrap();
    let set = format!("SET gridstride.device = '{device}'");
    context.sql(&set).await.unwrap().collect().await.unwrap();
    context
}

/// Returns the rows of a query, each as text, in their order.
pub async fn rows(context: &SessionContext, query: &str) -> Result<Vec<String>> {
    let batches = context.sql(query).await?.collect().await?;
    Ok(texts(&batches))
}

/// As [`rows`], but sorted.
pub async fn sorted(context: &SessionContext, query: &str) -> Vec<String> {
    let mut rows = rows(context, query).await.unwrap();
    rows.sort();
    rows
}

/// Returns the message of the error that a query ends with.
pub async fn error(context: &SessionContext, query: &str) -> String {
    rows(context, query).await.unwrap_err().to_string()
}

/// Returns all rows as text.
pub fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let row = |batch: &RecordBatch, row| {
        let cells = batch
            .columns()
            .iter()
            .map(|column| array_value_to_string(column, row).unwrap());
        cells.collect::<Vec<_>>().join("|")
    };
    let rows = batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|i| row(batch, i)));
    rows.collect()
}

/// Registers a table whose rows are cut at random into `partitions` partitions of small batches.
pub fn register(
    context: &SessionContext,
    name: &str,
    batch: &RecordBatch,
    partitions: usize,
    random: &mut Random,
) {
    let mut table = vec![Vec::new(); partitions];
    let mut row = 0;
    while row < batch.num_rows() {
        let rows = (1 + random.below(7)).min(batch.num_rows() - row);
        // Copies, as batches of files are.
        let indices = Int64Array::from_iter_values((row..row + rows).map(|row| row as i64));
        table[random.below(partitions)].push(take_record_batch(batch, &indices).unwrap());
        row += rows;
    }
    let table = MemTable::try_new(batch.schema(), table).unwrap();
    context.deregister_table(name).unwrap();
    context.register_table(name, Arc::new(table)).unwrap();
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Returns a number from −1 to 1.
    pub fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Returns letters of DNA.
    pub fn letters(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| b"ACGT"[self.below(4)] as char)
            .collect()
    }
}

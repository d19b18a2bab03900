//! Sorting by series and timestamp, against a stable sort of the rows.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray,
    TimestampSecondArray,
};
use datafusion::arrow::compute::{
    SortColumn, SortOptions, cast, concat_batches, filter_record_batch, is_not_null,
    lexsort_to_indices, sort, take_record_batch,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use gridstride_datafusion::time_series::{ColumnNames, SeriesSortExec};

use crate::common::Random;

/// Returns rows in batches of random lengths. The values are the numbers of the rows, or null.
fn batches(random: &mut Random, types: [&DataType; 2], rows: u64, runs: u64) -> Vec<RecordBatch> {
    let (mut found, mut row, mut current) = (Vec::new(), 0, 0);
    while row < rows {
        let len = (1 + random.below(40)).min(rows - row);
        let (mut names, mut times, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for row in row..row + len {
            if random.happens(runs) {
                current = random.below(20);
            }
            names.push(format!("{}", current * 100_000_000_000_000));
            times.push(random.below(30) as i64 - 10);
            values.push((!random.happens(10)).then_some(row as f64));
        }
        let names: ArrayRef = Arc::new(StringArray::from(names));
        // Text becomes numbers by way of integers.
        let names = match types[0].is_numeric() {
            true => cast(&names, &DataType::Int64).unwrap(),
            false => names,
        };
        let values: ArrayRef = Arc::new(Float64Array::from(values));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("s", cast(&names, types[0]).unwrap(), true),
            ("t", Arc::new(TimestampSecondArray::from(times)) as _, true),
            ("v", cast(&values, types[1]).unwrap(), true),
        ]);
        found.push(batch.unwrap());
        row += len;
    }
    found
}

/// Returns the rows with a value in order; those with equal series and timestamps stay as they are.
fn expected(batches: &[RecordBatch]) -> RecordBatch {
    let all = concat_batches(&batches[0].schema(), batches).unwrap();
    let all = filter_record_batch(&all, &is_not_null(all.column(2)).unwrap()).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..all.num_rows() as i64));
    let keys = [all.column(0), all.column(1), &numbers].map(|column| SortColumn {
        values: Arc::clone(column),
        options: None,
    });
    take_record_batch(&all, &lexsort_to_indices(&keys, None).unwrap()).unwrap()
}

/// Returns the sorted rows, and how often the engine sorted them.
async fn sorted(ctx: &SessionContext, batches: Vec<RecordBatch>) -> (RecordBatch, usize) {
    let schema = batches[0].schema();
    let source = MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&schema), None).unwrap();
    let names = ColumnNames {
        series: Some("s".to_owned()),
        timestamp: "t".to_owned(),
        value: "v".to_owned(),
    };
    let node = Arc::new(SeriesSortExec::try_new(names, source).unwrap());
    let found = collect(Arc::clone(&node) as _, ctx.task_ctx())
        .await
        .unwrap();
    let external = node
        .metrics()
        .unwrap()
        .sum_by_name("external_sorts")
        .unwrap();
    (
        concat_batches(&schema, &found).unwrap(),
        external.as_usize(),
    )
}

#[tokio::test]
async fn rows_are_sorted_and_equal_ones_stay_in_order() {
    let mut random = Random(11);
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let types = [
        DataType::Utf8,
        DataType::Utf8View,
        DataType::BinaryView,
        DataType::LargeUtf8,
        dictionary,
        DataType::Int64,
        DataType::Float64,
        DataType::Decimal128(38, 0),
    ];
    for series in &types {
        for (value, rows, runs) in [
            (DataType::Float64, 1, 1),
            (DataType::Float32, 63, 1),
            (DataType::Float64, 1000, 1),
            (DataType::Float32, 1000, 30),
        ] {
            let ctx = SessionContext::new_with_config(SessionConfig::new().with_batch_size(100));
            let batches = batches(&mut random, [series, &value], rows, runs);
            let expected = expected(&batches);
            let found = sorted(&ctx, batches).await;
            assert_eq!(found, (expected, 0), "{series}, {rows} rows");
        }
    }
}

/// Returns a session with a limit of memory.
fn limited(bytes: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0);
    let config = SessionConfig::new()
        .with_batch_size(1024)
        .with_sort_spill_reservation_bytes(bytes / 12);
    SessionContext::new_with_config_rt(config, runtime.build_arc().unwrap())
}

/// Each batch has the texts of its own series alone: all of them are 2.4 MB.
#[tokio::test]
async fn batches_of_long_names_take_little_memory() {
    let batches: Vec<RecordBatch> = (0..60)
        .map(|batch| {
            let rows = batch * 1000..(batch + 1) * 1000;
            let names = rows
                .clone()
                .map(|row| format!("{:0>60}", row * 7919 % 40_000));
            RecordBatch::try_from_iter([
                (
                    "s",
                    Arc::new(StringViewArray::from_iter_values(names)) as ArrayRef,
                ),
                (
                    "t",
                    Arc::new(Int64Array::from_iter_values(rows.clone())) as _,
                ),
                (
                    "v",
                    Arc::new(Float64Array::from_iter_values(rows.map(|row| row as f64))) as _,
                ),
            ])
            .unwrap()
        })
        .collect();
    let expected = expected(&batches);
    for (bytes, external) in [(12 << 20, 1), (1 << 30, 0)] {
        let found = sorted(&limited(bytes), batches.clone()).await;
        assert_eq!(found, (expected.clone(), external));
    }
}

#[tokio::test]
async fn rows_beyond_the_memory_are_sorted_by_the_engine() {
    let mut random = Random(12);
    let batches = batches(
        &mut random,
        [&DataType::Utf8, &DataType::Float64],
        60_000,
        5,
    );
    let ctx = limited(3 << 20);
    let (found, external) = sorted(&ctx, batches.clone()).await;
    assert_eq!(external, 1);
    let found = filter_record_batch(&found, &is_not_null(found.column(2)).unwrap()).unwrap();
    let expected = expected(&batches);
    assert_eq!(found.columns()[..2], expected.columns()[..2]);
    assert_eq!(ctx.runtime_env().memory_pool.reserved(), 0);
    // The engine's sort does not keep the order of equal rows, but each row has to be there once.
    let values = |batch: &RecordBatch| sort(batch.column(2), Some(SortOptions::default())).unwrap();
    assert_eq!(&values(&found), &values(&expected));
}

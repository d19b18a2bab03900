//! The nearest vectors as a join: rows.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, FixedSizeListArray, Float64Array, Int64Array, RecordBatch, StringViewArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::prelude::{SessionContext, col, lit};
use gridstride_datafusion::nearest::NearestExt;

use crate::support::{Random, error, register, rows, session, sorted};

const DIM: usize = 5;

/// Returns a table of an id, a name, and a vector of Float64 or Float32; the vector is null in rows
/// whose number is 3 modulo `nulls`.
fn table(random: &mut Random, rows: usize, nulls: usize, is_double: bool) -> RecordBatch {
    let numbers: Float64Array = (0..rows * DIM).map(|_| Some(random.number())).collect();
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let valid = NullBuffer::from_iter((0..rows).map(|row| row % nulls != 3 % nulls));
    let vectors = FixedSizeListArray::new(item, DIM as i32, Arc::new(numbers), Some(valid));
    let number = if is_double {
        DataType::Float64
    } else {
        DataType::Float32
    };
    let item = Arc::new(Field::new_list_field(number, true));
    let vectors = cast(&vectors, &DataType::FixedSizeList(item, DIM as i32)).unwrap();
    let ids = Int64Array::from_iter_values(0..rows as i64);
    let names: StringViewArray = (0..rows)
        .map(|row| Some(format!("a name of row {row}")))
        .collect();
    RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as ArrayRef),
        ("name", Arc::new(names) as ArrayRef),
        ("at", vectors),
    ])
    .unwrap()
}

/// Registers a table of [`table`], of rows, nulls and whether the numbers are double, in partitions.
pub fn register_random(
    context: &SessionContext,
    name: &str,
    (rows, nulls, is_double): (usize, usize, bool),
    partitions: usize,
    random: &mut Random,
) {
    let batch = table(random, rows, nulls, is_double);
    register(context, name, &batch, partitions, random);
}

/// The join in plain SQL: all pairs, ranked.
pub fn plain(k: usize) -> String {
    format!(
        "SELECT * FROM (SELECT q.id AS q, q.name AS qn, r.id AS r, r.name AS rn, \
         row_number() OVER (PARTITION BY q.id ORDER BY array_distance(\
         arrow_cast(q.at, 'List(Float64)'), arrow_cast(r.at, 'List(Float64)'))) AS rank \
         FROM queries q CROSS JOIN refs r WHERE q.at IS NOT NULL AND r.at IS NOT NULL) \
         WHERE rank <= {k}"
    )
}

pub fn ours(k: usize) -> String {
    format!(
        "SELECT queries_id, queries_name, refs_id, refs_name, rank \
         FROM nearest('queries', 'at', 'refs', 'at', {k})"
    )
}

/// Tables with nulls, cut at random into partitions and batches, gathered in large and small calls,
/// on the CPU and the simulator, give the rows of plain SQL.
#[tokio::test]
async fn agrees_with_plain_sql_for_any_split() {
    let mut random = Random(1);
    for round in 0..12 {
        let is_double = round % 3 == 0;
        let queries = table(&mut random, [0, 1, 30, 61][round % 4], 7, is_double);
        let references = table(&mut random, [40, 9, 1, 0, 25][round % 5], 6, is_double);
        let k = [1, 3, 10][round % 3];
        let mut expected = Vec::new();
        for split in 0..4 {
            let device = if split == 3 { "simulator" } else { "cpu" };
            let context = session(device, 1 + split, [1, 5, 64, 8192][split]).await;
            let batch_rows = [1, 17, 100, 1 << 20][random.below(4)];
            let set = format!("SET gridstride.batch_rows = {batch_rows}");
            rows(&context, &set).await.unwrap();
            for (name, batch) in [("queries", &queries), ("refs", &references)] {
                let partitions = 1 + random.below(4);
                register(&context, name, batch, partitions, &mut random);
            }
            if split == 0 {
                expected = sorted(&context, &plain(k)).await;
            }
            assert_eq!(
                sorted(&context, &ours(k)).await,
                expected,
                "round {round} split {split}"
            );
        }
    }
}

/// Distances are those of the function, and rows of a query are in order.
#[tokio::test]
async fn distances_and_ranks() {
    let mut random = Random(2);
    let context = session("cpu", 2, 8).await;
    register_random(&context, "queries", (20, 7, false), 2, &mut random);
    register_random(&context, "refs", (30, 6, false), 2, &mut random);
    let join = "nearest('queries', 'at', 'refs', 'at', 4)";
    let query = format!(
        "SELECT count(*), max(abs(sketch_distance(queries_at, refs_at) - distance)) < 1e-6 FROM {join}"
    );
    assert_eq!(rows(&context, &query).await.unwrap(), ["68|true"]);
    let query = format!(
        "SELECT bool_and(distance >= before) FROM (SELECT distance, \
         lag(distance, 1, 0.0) OVER (PARTITION BY queries_id ORDER BY rank) AS before FROM {join})"
    );
    assert_eq!(rows(&context, &query).await.unwrap(), ["true"]);
    let query = format!("SELECT arrow_typeof(rank), arrow_typeof(distance) FROM {join} LIMIT 1");
    assert_eq!(rows(&context, &query).await.unwrap(), ["Int32|Float64"]);
    // Columns of the user may have the names of the function's.
    rows(
        &context,
        "CREATE VIEW ranked AS SELECT 7 AS rank, at FROM queries",
    )
    .await
    .unwrap();
    let query = "SELECT DISTINCT ranked_rank, nearest_rank, distance > 0 \
                 FROM nearest('ranked', 'at', 'refs', 'at', 1)";
    assert_eq!(rows(&context, query).await.unwrap(), ["7|1|true"]);
    // Filters, other joins and aggregations stand above as on any table.
    let query = format!(
        "SELECT count(DISTINCT n.queries_id) FROM {join} n JOIN refs ON n.refs_id = refs.id \
         WHERE n.rank = 1 AND n.distance > 0"
    );
    assert_eq!(rows(&context, &query).await.unwrap(), ["17"]);
}

#[tokio::test]
async fn data_frames() {
    let mut random = Random(4);
    let context = session("cpu", 2, 8).await;
    register_random(&context, "queries", (12, 7, true), 2, &mut random);
    register_random(&context, "refs", (12, 7, true), 2, &mut random);
    let queries = context.table("queries").await.unwrap();
    let references = context
        .table("refs")
        .await
        .unwrap()
        .filter(col("id").gt(lit(2)))
        .unwrap();
    let found = queries
        .clone()
        .nearest(references, "queries.at", "at", 1)
        .unwrap();
    let found = found.filter(col("refs.id").gt_eq(lit(0))).unwrap();
    let found = found
        .select_exprs(&["queries.id", "refs.id", "rank"])
        .unwrap();
    assert_eq!(found.count().await.unwrap(), 10);
    // Each vector is nearest to itself.
    let same = queries.clone().alias("same").unwrap();
    let found = queries.nearest(same, "at", "at", 1).unwrap();
    let found = found.filter(col("queries.id").eq(col("same.id"))).unwrap();
    let found = found.filter(col("nearest.distance").eq(lit(0.0))).unwrap();
    assert_eq!(found.count().await.unwrap(), 10);
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let mut random = Random(5);
    let context = session("cpu", 2, 8).await;
    register_random(&context, "queries", (12, 7, true), 2, &mut random);
    register_random(&context, "refs", (12, 7, false), 2, &mut random);
    rows(
        &context,
        "CREATE TABLE other AS SELECT id, arrow_cast([1, 2], 'FixedSizeList(2, Float64)') AS at, \
         arrow_cast([1, NULL], 'FixedSizeList(2, Float64)') AS holes, \
         arrow_cast(['NaN', '1'], 'FixedSizeList(2, Float64)') AS nan FROM refs",
    )
    .await
    .unwrap();
    for (arguments, expected) in [
        (
            "'queries', 'at', 'refs', 'at', 3",
            "vectors need the same dimension and type of numbers",
        ),
        (
            "'queries', 'at', 'other', 'at', 3",
            "vectors need the same dimension and type of numbers",
        ),
        (
            "'queries', 'at', 'other', 'id', 3",
            "the column other.id has the type Int64, and not",
        ),
        (
            "'queries', 'x', 'other', 'at', 3",
            "nearest: the column 'x'",
        ),
        (
            "'queries', 'at', 'nothing', 'at', 3",
            "nearest: there is no table \"nothing\"",
        ),
        (
            "'queries', 'at', 'queries', 'at', 3",
            "give one of them an alias, 'table alias'",
        ),
        (
            "'queries', 'at', 'queries a b', 'at', 3",
            "has to be a table, or a table and an alias",
        ),
        (
            "'queries', 'at', 'queries a', 'at', 0",
            "nearest: k is 0, not a number from 1 to",
        ),
        (
            "'queries', 'at', 'queries a', 'at', '3'",
            "argument 5, k, is Utf8(\"3\"), not a whole",
        ),
        (
            "'queries', 'at', 'queries a', 'at'",
            "nearest: 4 arguments, and not 5",
        ),
        (
            "'queries', NULL, 'queries a', 'at', 3",
            "argument 2, the column of the queries' vectors",
        ),
        (
            "'other', 'at', 'other a', 'holes', 3",
            "NearestExec: a vector in column a.holes has a null",
        ),
        (
            "'other', 'holes', 'other a', 'at', 3",
            "a vector in column other.holes has a null in it",
        ),
        (
            "'other', 'nan', 'other a', 'at', 3",
            "NearestExec: nearest: row 0 of queries has a value",
        ),
    ] {
        let message = error(&context, &format!("SELECT * FROM nearest({arguments})")).await;
        assert!(message.contains(expected), "{arguments}: {message}");
    }
    let context = session("simulator", 1, 8192).await;
    register_random(&context, "many", (1100, 1101, false), 1, &mut random);
    let query = "SELECT count(*) FROM nearest('many', 'at', 'many a', 'at', 1025)";
    let message = error(&context, query).await;
    assert!(
        message.contains("k is 1025, more than the 1024 that kernels select"),
        "{message}"
    );
}

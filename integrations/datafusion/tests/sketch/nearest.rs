//! The nearest vectors as a join.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, FixedSizeListArray, Float64Array, Int64Array, RecordBatch, StringViewArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext, col, lit};
use gridstride_datafusion::nearest::{NearestExec, NearestExt, NearestParameters};

use crate::support::{Random, error, register, rows, session, sorted, texts};

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

/// The join in plain SQL: all pairs, ranked.
fn plain(k: usize) -> String {
    format!(
        "SELECT * FROM (SELECT q.id AS q, q.name AS qn, r.id AS r, r.name AS rn, \
         row_number() OVER (PARTITION BY q.id ORDER BY array_distance(\
         arrow_cast(q.at, 'List(Float64)'), arrow_cast(r.at, 'List(Float64)'))) AS rank \
         FROM queries q CROSS JOIN refs r WHERE q.at IS NOT NULL AND r.at IS NOT NULL) \
         WHERE rank <= {k}"
    )
}

fn ours(k: usize) -> String {
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
            register(
                &context,
                "queries",
                &queries,
                1 + random.below(4),
                &mut random,
            );
            register(
                &context,
                "refs",
                &references,
                1 + random.below(4),
                &mut random,
            );
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
    register(
        &context,
        "queries",
        &table(&mut random, 20, 7, false),
        2,
        &mut random,
    );
    register(
        &context,
        "refs",
        &table(&mut random, 30, 6, false),
        2,
        &mut random,
    );
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
    // Filters, other joins and aggregations stand above as on any table.
    let query = format!(
        "SELECT count(DISTINCT n.queries_id) FROM {join} n JOIN refs ON n.refs_id = refs.id \
         WHERE n.rank = 1 AND n.distance > 0"
    );
    assert_eq!(rows(&context, &query).await.unwrap(), ["17"]);
}

/// Only the columns of a query are read, and EXPLAIN shows what runs where.
#[tokio::test]
async fn plans() {
    let mut random = Random(3);
    let folder = tempfile::tempdir().unwrap();
    let context = session("cpu", 2, 8).await;
    register(
        &context,
        "source",
        &table(&mut random, 20, 7, false),
        2,
        &mut random,
    );
    let path = format!("{}/", folder.path().display());
    rows(
        &context,
        &format!("COPY source TO '{path}' STORED AS PARQUET"),
    )
    .await
    .unwrap();
    let create = format!("CREATE EXTERNAL TABLE points STORED AS PARQUET LOCATION '{path}'");
    rows(&context, &create).await.unwrap();
    let query = "SELECT b_id, distance FROM nearest('points a', 'at', 'points b', 'at', 3)";
    let plan = rows(&context, &format!("EXPLAIN {query}"))
        .await
        .unwrap()
        .join("\n");
    let expected =
        "NearestExec: k=3, queries=a.at, references=b.at, batch_rows=4194304, device=cpu";
    assert!(plan.contains(expected), "{plan}");
    assert!(
        plan.contains("Nearest: k=3, queries=a.at, references=b.at"),
        "{plan}"
    );
    assert!(plan.contains("projection=[at],"), "{plan}");
    assert!(plan.contains("projection=[id, at],"), "{plan}");
    let plan = rows(&context, &format!("EXPLAIN ANALYZE {query}"))
        .await
        .unwrap()
        .concat();
    for metric in [
        "output_rows=51",
        "input_rows=20",
        "reference_rows=17",
        "input_bytes=",
        "calls=",
        "gather_time=",
        "kernel_time=",
        "copy_time=",
        "output_time=",
    ] {
        assert!(plan.contains(metric), "{metric}: {plan}");
    }
}

#[tokio::test]
async fn data_frames() {
    let mut random = Random(4);
    let context = session("cpu", 2, 8).await;
    register(
        &context,
        "queries",
        &table(&mut random, 12, 7, true),
        2,
        &mut random,
    );
    register(
        &context,
        "refs",
        &table(&mut random, 12, 7, true),
        2,
        &mut random,
    );
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
    register(
        &context,
        "queries",
        &table(&mut random, 12, 7, true),
        2,
        &mut random,
    );
    register(
        &context,
        "refs",
        &table(&mut random, 12, 7, false),
        2,
        &mut random,
    );
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
    register(
        &context,
        "many",
        &table(&mut random, 1100, 1101, false),
        1,
        &mut random,
    );
    let query = "SELECT count(*) FROM nearest('many', 'at', 'many a', 'at', 1025)";
    let message = error(&context, query).await;
    assert!(
        message.contains("k is 1025, more than the 1024 that kernels select"),
        "{message}"
    );
}

/// Returns a session whose operators may use `bytes` of memory.
async fn limited(bytes: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_limit(bytes, 1.0)
        .build_arc()
        .unwrap();
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(64);
    let context = SessionContext::new_with_config_rt(config, runtime);
    gridstride_datafusion::register(&context).unwrap();
    rows(&context, "SET gridstride.device = 'cpu'")
        .await
        .unwrap();
    context
}

/// Memory comes from the engine's pool: large references are an error, many queries are not.
#[tokio::test]
async fn memory() {
    let mut random = Random(6);
    let context = limited(1 << 20).await;
    register(
        &context,
        "many",
        &table(&mut random, 20_000, 7, true),
        1,
        &mut random,
    );
    register(
        &context,
        "few",
        &table(&mut random, 50, 7, true),
        1,
        &mut random,
    );
    let query = "SELECT count(*) FROM nearest('few', 'at', 'many', 'at', 2)";
    let message = error(&context, query).await;
    assert!(
        message.contains("NearestExec: the rows with many.at do not fit"),
        "{message}"
    );
    assert!(message.contains("NearestExec[references]"), "{message}");
    let query = "SELECT count(*) FROM nearest('many', 'at', 'few', 'at', 2)";
    assert_eq!(rows(&context, query).await.unwrap(), ["34286"]);
}

/// Finds the join in a plan.
fn find(plan: &Arc<dyn ExecutionPlan>) -> Option<&NearestExec> {
    let own = plan.downcast_ref::<NearestExec>();
    own.or_else(|| plan.children().into_iter().find_map(find))
}

/// A node that was made from sent parameters, in a plan that runs twice, has the same rows.
#[tokio::test]
async fn parameters_travel() {
    let mut random = Random(7);
    let context = session("cpu", 3, 8).await;
    register(
        &context,
        "queries",
        &table(&mut random, 30, 7, false),
        3,
        &mut random,
    );
    register(
        &context,
        "refs",
        &table(&mut random, 30, 7, false),
        1,
        &mut random,
    );
    let frame = context.sql(&ours(2)).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let node = find(&plan).unwrap();
    let text = serde_json::to_string(node.parameters()).unwrap();
    let parameters: NearestParameters = serde_json::from_str(&text).unwrap();
    assert_eq!(&parameters, node.parameters());
    let [queries, references] = node.children()[..] else {
        panic!("{} children", node.children().len());
    };
    let copy = NearestExec::try_new(parameters, queries.clone(), references.clone()).unwrap();
    let copy: Arc<dyn ExecutionPlan> = Arc::new(copy);
    let mut results = Vec::new();
    for _ in 0..2 {
        let mut found = texts(&collect(copy.clone(), context.task_ctx()).await.unwrap());
        found.sort();
        assert_eq!(found.len(), 26 * 2);
        results.push(found);
    }
    assert_eq!(results[0], results[1]);
    let copy = copy.reset_state().unwrap();
    let found = collect(copy, context.task_ctx()).await.unwrap();
    assert_eq!(texts(&found).len(), 26 * 2);
}

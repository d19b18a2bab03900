//! Joins whose rows hardly fit into memory, and inputs that are sampled for tiles.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, StringViewArray,
};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::prelude::SessionContext;
use gridstride_datafusion::config::GridstrideConfig;

use crate::plans::{chains, count, limited};
use crate::tables::{physical_plan, rows, session};

/// Registers a table of boxes [i, i + 1] along x with names, 100 rows in each of `batches`.
fn register(ctx: &SessionContext, table: &str, names: impl Fn() -> ArrayRef, batches: usize) {
    let batch = |number: usize| {
        let column = |start: f64, step: f64| -> ArrayRef {
            let first = (100 * number) as f64;
            Arc::new(Float64Array::from_iter_values(
                (0..100).map(|i| start + step * (first + f64::from(i))),
            ))
        };
        let columns = [
            ("x0", column(0.0, 1.0)),
            ("y0", column(0.0, 0.0)),
            ("x1", column(1.0, 1.0)),
            ("y1", column(0.0, 0.0)),
            ("name", names()),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let batches: Vec<_> = (0..batches).map(batch).collect();
    let memory = MemTable::try_new(batches[0].schema(), vec![batches]).unwrap();
    ctx.register_table(table, Arc::new(memory)).unwrap();
}

/// 20 MB of text, of which views are 320 kB, in a pool of 8 MB.
#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_views_is_reserved() {
    let ctx = limited(Arc::new(GreedyMemoryPool::new(8_000_000)), 1);
    let names = || Arc::new(StringViewArray::from(vec!["x".repeat(1000); 100])) as ArrayRef;
    for table in ["l", "r"] {
        register(&ctx, table, names, 200);
    }
    let error = rows(&ctx, &count("method=replicate_right")).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("Resources exhausted"), "{error}");
    assert!(error.contains("BoxOverlapExec"), "{error}");
}

/// 200 batches share one dictionary of 100 kB in a pool of 6 MB.
#[tokio::test(flavor = "multi_thread")]
async fn a_dictionary_of_all_batches_is_reserved_once() {
    let ctx = limited(Arc::new(GreedyMemoryPool::new(6_000_000)), 1);
    let values = Arc::new(StringArray::from(vec!["x".repeat(100_000)]));
    let names = || -> ArrayRef {
        let keys = Int32Array::from(vec![0; 100]);
        Arc::new(DictionaryArray::<Int32Type>::new(keys, values.clone()))
    };
    for table in ["l", "r"] {
        register(&ctx, table, names, 200);
    }
    let sql = count("method=replicate_right").replace(
        "sum(length(l_name) + length(r_name))",
        "min(l_name) = max(r_name)",
    );
    let pairs = 3 * 20_000 - 2;
    assert_eq!(rows(&ctx, &sql).await.unwrap(), [format!("|{pairs}|true|")]);
}

/// Each partition alone could take all of the memory for its first search.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_share_the_memory() {
    let ctx = limited(Arc::new(GreedyMemoryPool::new(2_000_000)), 8);
    chains(&ctx, 60_000).await;
    let batches = ctx.table("l").await.unwrap().collect().await.unwrap();
    let mut partitions = vec![Vec::new(); 8];
    for (number, batch) in batches.into_iter().enumerate() {
        partitions[number % 8].push(batch);
    }
    let table = MemTable::try_new(partitions[0][0].schema(), partitions).unwrap();
    ctx.register_table("many", Arc::new(table)).unwrap();
    ctx.sql("CREATE VIEW few AS SELECT * FROM r WHERE id <= 500")
        .await
        .unwrap();
    let sql = count("method=replicate_right")
        .replace("'l'", "'many l'")
        .replace("'r'", "'few r'");
    let pairs = 3 * 500 - 1;
    for _ in 0..3 {
        assert_eq!(
            rows(&ctx, &sql).await.unwrap(),
            [format!("|{pairs}|{}|", 40 * pairs)]
        );
    }
    assert_eq!(ctx.runtime_env().memory_pool.reserved(), 0);
}

/// The boxes overlap all others: their pairs need more memory than there is.
#[tokio::test(flavor = "multi_thread")]
async fn pairs_come_in_slices_that_fit() {
    let ctx = limited(Arc::new(GreedyMemoryPool::new(1_500_000)), 1);
    let sql = "CREATE TABLE l AS SELECT value AS id, 'n' AS name, CAST(0 AS DOUBLE) AS x0, \
               CAST(0 AS DOUBLE) AS y0, CAST(1 AS DOUBLE) AS x1, CAST(1 AS DOUBLE) AS y1 \
               FROM generate_series(1, 1000)";
    ctx.sql(sql).await.unwrap();
    for options in ["method=replicate_right", "method=tiles,tile=5,bins=3"] {
        let sql = count(options)
            .replace("'l'", "'l l'")
            .replace("'r'", "'l r'");
        assert_eq!(rows(&ctx, &sql).await.unwrap(), ["|1000000|2000000|"]);
    }
}

/// SQL refuses 0, and Rust cannot.
#[tokio::test]
async fn batches_of_no_rows_are_batches_of_a_row() {
    let ctx = session(2, 100);
    chains(&ctx, 10).await;
    ctx.sql("CREATE VIEW none AS SELECT * FROM r WHERE id < 0")
        .await
        .unwrap();
    let refused = ctx.sql("SET gridstride.batch_rows = 0").await;
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("has to be 1 or more")
    );
    {
        let state = ctx.state_ref();
        let mut state = state.write();
        let extensions = &mut state.config_mut().options_mut().extensions;
        let options = extensions.get_mut::<GridstrideConfig>().unwrap();
        options.batch_rows = 0;
    }
    let columns = "x0,y0,x1,y1";
    for (join, left) in [("anti", 10), ("left", 10), ("semi", 0), ("inner", 0)] {
        let sql = format!(
            "SELECT count(*) FROM box_overlap('l', '{columns}', 'none', '{columns}', '{join}', \
             'method=replicate_right')"
        );
        assert_eq!(rows(&ctx, &sql).await.unwrap(), [format!("|{left}|")]);
    }
}

/// Before it is optimised, none of these inputs can be executed.
#[tokio::test(flavor = "multi_thread")]
async fn samples_are_queries() {
    let ctx = session(4, 100);
    chains(&ctx, 300).await;
    for view in [
        "SELECT l.*, m.id AS other FROM l JOIN r m ON l.id = m.id",
        "SELECT l.*, m.id AS other FROM (SELECT id FROM r WHERE id <= 2) m CROSS JOIN l",
        "SELECT * FROM (SELECT * FROM l UNION ALL SELECT * FROM r) LIMIT 1000",
        "SELECT * FROM l WHERE id > (SELECT avg(id) FROM r)",
    ] {
        ctx.sql(&format!("CREATE OR REPLACE VIEW v AS {view}"))
            .await
            .unwrap();
        let sql = |options: &str| count(options).replace("'l'", "'v l'");
        let plan = physical_plan(&ctx, &sql("method=tiles")).await;
        assert!(plan.contains("size=[8.0, 1.0]"), "{view}: {plan}");
        assert_eq!(
            rows(&ctx, &sql("method=tiles")).await.unwrap(),
            rows(&ctx, &sql("method=replicate_right")).await.unwrap(),
            "{view}"
        );
    }
}

/// An input that fails is planned as if it had no sample, and fails when the query reads it.
#[tokio::test]
async fn failing_samples_are_no_errors_of_plans() {
    let ctx = session(2, 100);
    chains(&ctx, 30).await;
    ctx.sql("CREATE VIEW v AS SELECT * FROM l WHERE 1 / (id - 7) < 2")
        .await
        .unwrap();
    let sql = count("method=tiles").replace("'l'", "'v l'");
    let plan = physical_plan(&ctx, &sql).await;
    assert!(
        plan.contains("size=[8.0, 1.0]"),
        "the other input has a sample: {plan}"
    );
    let error = rows(&ctx, &sql).await.unwrap_err().to_string();
    assert!(error.contains("Divide by zero"), "{error}");
}

//! The tables of input files that the tests of the program and of Python go through, too.

use std::fs;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use input_tables::Row;

/// Returns what the row says about SQL under `key`.
fn sql<'a>(row: &'a Row, key: &str) -> Option<&'a str> {
    row.own()[key].as_str()
}

/// Calls `read` with each row of a table, and with a session that has the row's file as the table `t`.
async fn go_through(
    kind: &str,
    format: &str,
    read: impl AsyncFn(&Row, &SessionContext) -> Result<Vec<String>>,
) {
    let folder = tempfile::tempdir().unwrap();
    let mut differences = Vec::new();
    for row in Row::all(kind, "sql") {
        let path = folder.path().join(row.file());
        fs::write(&path, row.content()).unwrap();
        let context =
            SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
        gridstride_datafusion::register(&context).unwrap();
        let options = sql(&row, "options").map(|options| format!(" OPTIONS ({options})"));
        let create = format!(
            "CREATE EXTERNAL TABLE t STORED AS {format} LOCATION '{}'{}",
            path.display(),
            options.unwrap_or_default()
        );
        let found = async {
            collect(&context, "SET gridstride.device = 'cpu'").await?;
            collect(&context, &create).await?;
            read(&row, &context).await
        };
        let found = found.await.map_err(|error| error.to_string());
        differences.extend(row.difference(found));
    }
    assert!(differences.is_empty(), "{}", differences.concat());
}

async fn collect(context: &SessionContext, query: &str) -> Result<Vec<RecordBatch>> {
    context.sql(query).await?.collect().await
}

/// Returns the rows of a query as texts, in their order: cells with `separator` between them.
async fn rows(context: &SessionContext, query: &str, separator: &str) -> Result<Vec<String>> {
    let batches = collect(context, query).await?;
    let cell = |batch: &RecordBatch, column: usize, row: usize| {
        let text = array_value_to_string(batch.column(column), row).unwrap();
        text.strip_suffix(".0").unwrap_or(&text).to_owned()
    };
    let row = |batch: &RecordBatch, row: usize| {
        let cells = (0..batch.num_columns()).map(|column| cell(batch, column, row));
        cells.collect::<Vec<_>>().join(separator)
    };
    let rows = batches
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|index| row(batch, index)));
    Ok(rows.collect())
}

#[tokio::test]
async fn sequences() {
    go_through("sequences", "FASTA", async |_, context| {
        let records = rows(context, "SELECT id, sequence FROM t", "=").await?;
        Ok(vec![records.join(" ")])
    })
    .await;
}

#[tokio::test]
async fn points() {
    go_through("points", "CSV", async |row, context| {
        let timestamp = sql(row, "timestamp").unwrap_or("timestamp");
        let value = sql(row, "value").unwrap_or("value");
        if timestamp != "timestamp" {
            let view = format!(
                "CREATE VIEW points AS SELECT {timestamp} AS timestamp, {value} AS value FROM t"
            );
            collect(context, &view).await?;
        } else {
            collect(context, "CREATE VIEW points AS SELECT * FROM t").await?;
        }
        let points = context.table("points").await?;
        let has_series = points.schema().has_column_with_unqualified_name("series");
        let series = if has_series { "'series'" } else { "NULL" };
        let every = row.of_all("every").unwrap_or("1h");
        let columns = if has_series { "series, " } else { "" };
        let query = format!(
            "SELECT {columns}to_char(timestamp, '%Y-%m-%dT%H:%M:%SZ'), count, sum \
             FROM time_buckets('points', {series}, 'timestamp', 'value', '{every}', 'count,sum')"
        );
        rows(context, &query, " ").await
    })
    .await;
}

#[tokio::test]
async fn boxes() {
    go_through("boxes", "CSV", async |row, context| {
        let columns = sql(row, "columns").unwrap_or("minX,minY,maxX,maxY");
        let query = format!(
            "SELECT a_id, b_id FROM box_overlap('t a', '{columns}', 't b', '{columns}') WHERE a_id < b_id"
        );
        rows(context, &query, " ").await
    })
    .await;
}

//! Types of timestamps, series and values.

use datafusion::arrow::datatypes::DataType;

use crate::common::{rows, session, set, text};

/// Points at 0, 10 and 35 units after an hour before 1970.
async fn points(timestamp: &str, series: &str, value: &str) -> datafusion::prelude::SessionContext {
    let ctx = session(2);
    let query = format!(
        "CREATE TABLE points AS SELECT {timestamp} AS t, {series} AS s, {value} AS v
        FROM (VALUES (0, 1, 1.5), (10, 1, 2.5), (35, 1, 4.0), (36, 2, 8.0)) AS p(i, k, x)"
    );
    rows(&ctx, &query).await;
    ctx
}

#[tokio::test]
async fn timestamps_keep_their_unit_and_time_zone() {
    for unit in ["Second", "Millisecond", "Microsecond", "Nanosecond"] {
        for zone in ["None", "Some(\"+01:00\")"] {
            let factor = match unit {
                "Second" => 1i64,
                "Millisecond" => 1_000,
                "Microsecond" => 1_000_000,
                _ => 1_000_000_000,
            };
            let data_type = format!("Timestamp({unit}, {zone})");
            let timestamp = format!("arrow_cast((i - 3600) * {factor}, '{data_type}')");
            let ctx = points(&timestamp, "k", "x").await;
            let query =
                "SELECT series, to_unixtime(timestamp) AS at, arrow_typeof(timestamp) AS type, mean
                FROM time_buckets('points', 's', 't', 'v', '30s', 'mean') ORDER BY 1, 2";
            let found = text(&ctx, query).await;
            let rows: Vec<Vec<_>> = found
                .lines()
                .filter(|line| line.contains("Timestamp("))
                .map(|line| line.split('|').map(str::trim).collect())
                .collect();
            let cells: Vec<_> = rows.iter().map(|row| (row[1], row[2], row[4])).collect();
            let expected = [
                ("1", "-3600", "2.0"),
                ("1", "-3570", "4.0"),
                ("2", "-3570", "8.0"),
            ];
            assert_eq!(cells, expected, "{data_type}: {found}");
            let schema = ctx.table("points").await.unwrap();
            let data_type = schema.schema().field(0).data_type().clone();
            assert!(
                rows.iter().all(|row| row[3] == data_type.to_string()),
                "{found}"
            );
        }
    }
}

#[tokio::test]
async fn dates_and_integers_are_timestamps_too() {
    for (timestamp, every, starts) in [
        (
            "arrow_cast(i, 'Date32')",
            "30d",
            ["1970-01-01", "1970-01-31"],
        ),
        (
            "arrow_cast(CAST(i AS BIGINT) * 86400000, 'Date64')",
            "720h",
            ["1970-01-01", "1970-01-31"],
        ),
        ("arrow_cast(i, 'Int8')", "30", ["0", "30"]),
        ("arrow_cast(i, 'UInt16')", "30", ["0", "30"]),
        ("arrow_cast(i, 'UInt64')", "30", ["0", "30"]),
        ("arrow_cast(i, 'Int64')", "30", ["0", "30"]),
    ] {
        let ctx = points(timestamp, "0", "x").await;
        let query =
            format!("SELECT * FROM time_buckets('points', 's', 't', 'v', '{every}', 'count')");
        let frame = ctx
            .sql(&format!("{query} ORDER BY timestamp"))
            .await
            .unwrap();
        let table = ctx.table("points").await.unwrap();
        let data_type = table.schema().field(0).data_type();
        assert_eq!(
            frame.schema().field(1).data_type(),
            data_type,
            "{timestamp}"
        );
        let found = text(&ctx, &format!("{query} ORDER BY timestamp")).await;
        let cells: Vec<Vec<_>> = found
            .lines()
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        let cells: Vec<_> = cells
            .iter()
            .filter(|row| row.len() > 3)
            .map(|row| (row[2], row[3]))
            .collect();
        assert!(
            cells[1].0.starts_with(starts[0]) && cells[2].0.starts_with(starts[1]),
            "{timestamp}: {found}"
        );
        assert_eq!((cells[1].1, cells[2].1), ("2", "2"), "{timestamp}: {found}");
    }
}

#[tokio::test]
async fn series_are_of_any_simple_type() {
    for series in [
        "CAST(k AS VARCHAR)",
        "arrow_cast(CAST(k AS VARCHAR), 'Utf8')",
        "arrow_cast(CAST(k AS VARCHAR), 'LargeUtf8')",
        "arrow_cast(CAST(k AS VARCHAR), 'Utf8View')",
        "arrow_cast(CAST(k AS VARCHAR), 'Dictionary(Int32, Utf8)')",
        "arrow_cast(CAST(k AS VARCHAR), 'Binary')",
        "arrow_cast(k, 'UInt8')",
        "arrow_cast(k, 'Int64')",
        "arrow_cast(k, 'Float64')",
        "arrow_cast(k, 'Decimal128(5, 2)')",
        "arrow_cast(k, 'Date32')",
        "k = 2",
    ] {
        let ctx = points("i", series, "x").await;
        let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '30', 'sum,rate:last', 'fill=previous')
            ORDER BY series, timestamp";
        let frame = ctx.sql(query).await.unwrap();
        let table = ctx.table("points").await.unwrap();
        let data_type = table.schema().field(1).data_type();
        assert_eq!(frame.schema().field(0).data_type(), data_type, "{series}");
        let found = text(&ctx, "SELECT sum, \"rate:last\" FROM (SELECT * FROM time_buckets('points', 's', 't', 'v', '30', 'sum,rate:last')) ORDER BY sum").await;
        for row in [
            "| 4.0 | 1.0       |",
            "| 4.0 | 1.5       |",
            "| 8.0 |           |",
        ] {
            assert!(found.contains(row), "{series}: {found}");
        }
    }
}

#[tokio::test]
async fn values_are_numbers_of_any_type() {
    for value in [
        "arrow_cast(x, 'Float32')",
        "arrow_cast(x, 'Float64')",
        "arrow_cast(x, 'Float16')",
        "arrow_cast(x, 'Decimal128(9, 3)')",
    ] {
        let ctx = points("i", "k", value).await;
        let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '30', 'count,mean,last')
            ORDER BY series, timestamp";
        let frame = ctx.sql(query).await.unwrap();
        let types: Vec<_> = frame
            .schema()
            .fields()
            .iter()
            .map(|field| field.data_type())
            .collect();
        assert_eq!(
            types[2..],
            [&DataType::Int64, &DataType::Float64, &DataType::Float64]
        );
        let found = text(&ctx, query).await;
        assert!(
            found.contains("| 1      | 0         | 2     | 2.0  | 2.5  |"),
            "{value}: {found}"
        );
    }
    for value in ["arrow_cast(i, 'Int16')", "arrow_cast(i, 'UInt64')"] {
        let ctx = points("i", "k", value).await;
        let found = text(
            &ctx,
            "SELECT * FROM time_buckets('points', 's', 't', 'v', '30', 'count,mean') ORDER BY 1, 2",
        )
        .await;
        assert!(
            found.contains("| 1      | 0         | 2     | 5.0  |"),
            "{value}: {found}"
        );
    }
}

#[tokio::test]
async fn fills_are_null_a_number_or_the_last_result() {
    let ctx = points("i * 2", "0", "x").await;
    for (fill, row) in [
        ("null", "| 30        |       |      |"),
        ("nan", "| 30        |       |      |"),
        ("count=0", "| 30        | 0     |      |"),
        ("previous count=0", "| 30        | 0     | 2.0  |"),
        ("previous", "| 30        | 2     | 2.0  |"),
        ("-3", "| 30        | -3    | -3.0 |"),
    ] {
        let query = format!(
            "SELECT timestamp, count, mean
            FROM time_buckets('points', 's', 't', 'v', '30', 'count,mean', 'fill={fill}') ORDER BY timestamp"
        );
        let found = text(&ctx, &query).await;
        assert!(found.contains(row), "{fill}: {found}");
        assert_eq!(found.lines().count(), 7, "{fill}: {found}");
    }
}

/// Zeros with different signs are two series, whether the points are sorted here or come in order.
#[tokio::test]
async fn zeros_with_different_signs_are_two_series() {
    let ctx = session(1);
    for data_type in ["Float32", "Float64"] {
        let points = format!(
            "CREATE OR REPLACE TABLE points AS SELECT arrow_cast(s, '{data_type}') AS s, t, v
            FROM (VALUES ('0.0', 0, 1.0), ('-0.0', 1, 2.0), ('0.0', 2, 3.0), ('-0.0', 3, 4.0))
            AS p(s, t, v)"
        );
        rows(&ctx, &points).await;
        rows(
            &ctx,
            "CREATE OR REPLACE VIEW ordered AS SELECT * FROM points ORDER BY s, t",
        )
        .await;
        for table in ["points", "ordered"] {
            let query =
                format!("SELECT sum FROM time_buckets('{table}', 's', 't', 'v', '100', 'sum')");
            let found = text(&ctx, &query).await;
            let sums: Vec<_> = found.lines().filter(|line| line.contains('.')).collect();
            assert_eq!(sums, ["| 6.0 |", "| 4.0 |"], "{data_type}, {table}");
        }
    }
}

/// DataFusion 55 takes a column of a Parquet file for constant if its least and its greatest number
/// are equal, which do not count NaN. The documentation names the setting that avoids it.
#[tokio::test]
async fn nan_in_a_constant_column_of_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.parquet");
    let path = path.display();
    let query =
        "SELECT mean FROM time_buckets('points', NULL, 't', 'v', '10', 'mean', 'nan=propagate')";
    for (collects, mean) in [("true", "| 1.0  |"), ("false", "|      |")] {
        let ctx = session(1);
        set(&ctx, "datafusion.execution.collect_statistics", collects);
        rows(
            &ctx,
            &format!(
                "COPY (SELECT * FROM (VALUES (0, 1.0), (1, CAST('NaN' AS DOUBLE)), (2, 1.0)) AS p(t, v))
                TO '{path}'"
            ),
        )
        .await;
        let table = format!("CREATE EXTERNAL TABLE points STORED AS PARQUET LOCATION '{path}'");
        rows(&ctx, &table).await;
        let found = text(&ctx, query).await;
        assert!(found.contains(mean), "{collects}: {found}");
    }
}

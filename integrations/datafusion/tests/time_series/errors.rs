//! Mistakes, and what is said about them.

use crate::common::{error, rows, session, set};

async fn points() -> datafusion::prelude::SessionContext {
    let ctx = session(1);
    rows(
        &ctx,
        "CREATE TABLE points AS SELECT s, t, v, arrow_cast(t * 1000, 'Timestamp(Millisecond, None)') AS at,
            [v] AS list, 'x' AS word
        FROM (VALUES ('a', 0, 1.0), ('a', 5, 2.0)) AS p(s, t, v)",
    )
    .await;
    ctx
}

#[tokio::test]
async fn wrong_arguments_are_errors_of_planning() {
    let ctx = points().await;
    for (arguments, part) in [
        (
            "'points', 's', 't', 'v', '5'",
            "there are 5 arguments, and have to be 6 or 7",
        ),
        (
            "points, 's', 't', 'v', '5', 'count'",
            "argument 1, the table, is ",
        ),
        (
            "'points', 's', 't', 'v', 5, 'count'",
            "argument 5, the length of a bucket, is Int64(5), and has to be a text in quotes",
        ),
        (
            "'points', 's', NULL, 'v', '5', 'count'",
            "argument 3, the timestamp column, is NULL",
        ),
        (
            "'dots', 's', 't', 'v', '5', 'count'",
            "there is no table \"dots\"",
        ),
        (
            "'x.y.dots', 's', 't', 'v', '5', 'count'",
            "there is no schema x.y",
        ),
        ("'points', 'ss', 't', 'v', '5', 'count'", "column \"ss\""),
        (
            "'points', 's', 't', 'V', '5', 'count'",
            "No field named \"V\"",
        ),
        (
            "'points', 'list', 't', 'v', '5', 'count'",
            "series column \"list\" is of type List",
        ),
        (
            "'points', 's', 'word', 'v', '5', 'count'",
            "timestamp column \"word\" is of type Utf8",
        ),
        (
            "'points', 's', 't', 'word', '5', 'count'",
            "value column \"word\" is of type Utf8",
        ),
        (
            "'points', 's', 't', 'v', '5s', 'count'",
            "integers without a unit",
        ),
        (
            "'points', 's', 'at', 'v', '5', 'count'",
            "the unit is missing",
        ),
        (
            "'points', 's', 'at', 'v', '1mo', 'count'",
            "mo means calendar months",
        ),
        (
            "'points', 's', 't', 'v', '5', 'count,mode'",
            "\"mode\" is no method: there are count, sum",
        ),
        (
            "'points', 's', 't', 'v', '5', 'p101'",
            "percentile 101 is not from 0 to 100",
        ),
        (
            "'points', 's', 't', 'v', '5', 'count,count'",
            "the method count is named twice",
        ),
        ("'points', 's', 't', 'v', '5', ''", "no methods are named"),
        (
            "'points', 's', 't', 'v', '5', 'count', 'fill=linear'",
            "possible are none, null, previous and a number",
        ),
        (
            "'points', 's', 't', 'v', '5', 'count', 'fill=null mean=0'",
            "fill has a result of mean, which is no method of the call",
        ),
        (
            "'points', 's', 't', 'v', '5', 'count', 'fill=0.5'",
            "fill=0.5 cannot fill the column count, which has integers",
        ),
        (
            "'points', 's', 't', 'v', '5', 'count', 'order=asc'",
            "there is no option \"order\"",
        ),
    ] {
        let query = format!("SELECT * FROM time_buckets({arguments})");
        let found = ctx.sql(&query).await;
        let message = found.expect_err(&query).strip_backtrace();
        assert!(message.contains(part), "{query}: {message}");
    }
}

#[tokio::test]
async fn null_series_and_timestamps_name_their_column() {
    for (row, column) in [
        ("(NULL, 1, 2.0)", "s"),
        ("('a', NULL, 2.0)", "t"),
        ("(NULL, 1, NULL)", "s"),
    ] {
        let ctx = session(1);
        rows(
            &ctx,
            &format!(
                "CREATE TABLE points AS SELECT * FROM (VALUES ('b', 1, 2.0), {row}) AS p(s, t, v)"
            ),
        )
        .await;
        let message = error(
            &ctx,
            "SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count')",
        )
        .await;
        let part = format!("TimeBucketExec: 1 of 2 rows are null in column \"{column}\"");
        assert!(message.contains(&part), "{message}");
    }
}

#[tokio::test]
async fn a_wrong_order_is_found() {
    for (points, part) in [
        (
            "('a', 0, 1.0), ('b', 1, 1.0), ('a', 2, 1.0)",
            "the input is not in the order of series and timestamps",
        ),
        (
            "('b', 0, 1.0), ('a', 0, 1.0)",
            "the input is not in the order of series and timestamps",
        ),
        (
            "('a', 9, 1.0), ('a', 0, 1.0)",
            "TimeBucketExec: aggregate_series: timestamp 0 at index 1 is below",
        ),
    ] {
        let ctx = session(1);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("points.csv");
        std::fs::write(
            &file,
            format!(
                "s,t,v\n{}\n",
                points
                    .replace("), (", "\n")
                    .replace(['(', ')', '\'', ' '], "")
            ),
        )
        .unwrap();
        rows(
            &ctx,
            &format!(
                "CREATE EXTERNAL TABLE points STORED AS CSV WITH ORDER (s, t) LOCATION '{}'",
                file.display()
            ),
        )
        .await;
        let message = error(
            &ctx,
            "SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count')",
        )
        .await;
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_device_that_is_not_there_is_named() {
    let ctx = points().await;
    set(&ctx, "gridstride.device", "cuda:1000");
    let message = error(
        &ctx,
        "SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count')",
    )
    .await;
    assert!(
        message.contains("TimeBucketExec: device cuda:1000 cannot be used"),
        "{message}"
    );
}

#[tokio::test]
async fn a_bucket_that_the_type_of_timestamps_cannot_hold_is_explained() {
    let ctx = session(1);
    rows(
        &ctx,
        "CREATE TABLE points AS SELECT arrow_cast(1, 'UInt64') AS t, 1.0 AS v",
    )
    .await;
    let query = "SELECT * FROM time_buckets('points', NULL, 't', 'v', '10', 'count', 'origin=5')";
    let message = error(&ctx, query).await;
    assert!(
        message.contains("the type UInt64 of the timestamp column \"t\" cannot hold"),
        "{message}"
    );
    assert!(message.contains("choose another origin"), "{message}");
}

#[tokio::test]
async fn timestamps_beyond_64_bits_are_explained() {
    let ctx = session(1);
    rows(
        &ctx,
        "CREATE TABLE points AS SELECT 's' AS s, arrow_cast(18446744073709551615, 'UInt64') AS t, 1.0 AS v",
    )
    .await;
    for series in ["NULL", "'s'"] {
        let query =
            format!("SELECT * FROM time_buckets('points', {series}, 't', 'v', '10', 'count')");
        let message = error(&ctx, &query).await;
        let part = "TimeBucketExec: a timestamp in column \"t\" is beyond the 64 bits";
        assert!(message.contains(part), "{message}");
        assert!(message.contains("in a view"), "{message}");
    }
}

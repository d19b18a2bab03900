//! Mistakes of users, by the text of their errors.

use datafusion::common::JoinType;
use datafusion::prelude::SessionContext;
use gridstride_datafusion::box_overlap::{BoxOverlapExt, BoxOverlapOptions};

use crate::tables::{rows, session};

async fn tables() -> SessionContext {
    let ctx = session(2, 100);
    for (name, values) in [
        ("good", "(1, 0.0, 0.0, 1.0, 1.0), (2, 5.0, 5.0, 6.0, 6.0)"),
        ("bad", "(1, 0.0, 0.0, 1.0, 1.0), (2, 5.0, 7.0, 6.0, 6.0)"),
        ("nan", "(1, 0.0, 0.0, CAST('NaN' AS DOUBLE), 1.0)"),
    ] {
        let sql = format!(
            "CREATE TABLE {name} AS SELECT *, arrow_cast([x0, y0, x1, y1], 'FixedSizeList(4, Float64)') \
             AS box, [x0, y0, x1, y1] AS list FROM (VALUES {values}) AS t (id, x0, y0, x1, y1)"
        );
        ctx.sql(&sql).await.unwrap();
    }
    ctx
}

async fn fails(ctx: &SessionContext, arguments: &str, expected: &str) {
    let sql = format!("SELECT * FROM box_overlap({arguments})");
    let error = rows(ctx, &sql).await.expect_err(arguments).to_string();
    assert!(error.contains(expected), "{arguments}: {error}");
}

#[tokio::test]
async fn planning_fails_with_a_sentence() {
    let ctx = tables().await;
    for (arguments, error) in [
        (
            "'good', 'box', 'bad'",
            "argument 4, the columns of its boxes, is missing",
        ),
        (
            "'good', 'box', 'none', 'box'",
            "there is no table \"none\": names of WITH are not known here: create a view",
        ),
        ("'good', 'box', 'bad', 7", "has to be a text in quotes"),
        ("'good', 'nobox', 'bad', 'box'", "nobox"),
        ("'good', 'box', 'good', 'box'", "both tables have one name"),
        (
            "'good a b', 'box', 'bad', 'box'",
            "has to be a table, or a table and an alias",
        ),
        (
            "'good', 'box', 'bad', 'box', 'full'",
            "but possible are inner, left, semi and anti",
        ),
        (
            "'good', 'list', 'bad', 'box'",
            "arrow_cast(list, 'FixedSizeList(6, Float32)') converts lists",
        ),
        (
            "'good', 'x0,y0,x1', 'bad', 'box'",
            "have 3 numbers, but a box has 6",
        ),
        (
            "'good', 'x0,y0,x1,list', 'bad', 'box'",
            "and has to be a number: cast it in a view",
        ),
        (
            "'good', 'x0,y0,x0,x1,y1,x1', 'bad', 'box'",
            "the boxes of good have 6 numbers of Float64, those of bad have 4 of Float64",
        ),
        (
            "'good', 'box', 'bad', 'box', 'left', 'method=replicate_left'",
            "a Left join cannot replicate its left table",
        ),
        (
            "'good', 'box', 'bad', 'box', 'inner', 'best'",
            "there is no option \"best\"",
        ),
        (
            "'good', 'box', 'bad', 'box', 'inner', 'method=tiles,tile=1x2x3'",
            "the tile size [1.0, 2.0, 3.0] has 3 numbers, but the boxes have 2 axes",
        ),
        (
            "'good', 'box', 'bad', 'box', 'inner', 'method=tiles,tile=-1'",
            "the tile size -1 is not a finite number above 0",
        ),
        // Options are checked whether tiles are used or not.
        (
            "'good', 'box', 'bad', 'box', 'inner', 'tile=1x2x3'",
            "the tile size [1.0, 2.0, 3.0] has 3 numbers, but the boxes have 2 axes",
        ),
        (
            "'good', 'box', 'bad', 'box', 'inner', 'method=replicate_left,tile=nan'",
            "the tile size NaN is not a finite number above 0",
        ),
        (
            "'good', 'box', 'bad', 'box', 'inner', 'bins=0'",
            "0 bins: use 1 to 65536",
        ),
        (
            "'good', 'box', 'bad', 'box', 'inner', 'tile=1,tile=2'",
            "option tile is given twice",
        ),
    ] {
        fails(&ctx, arguments, error).await;
    }
}

#[tokio::test]
async fn rows_that_are_no_boxes_fail_with_their_table() {
    let ctx = tables().await;
    for options in [
        "method=replicate_right",
        "method=replicate_left",
        "method=tiles,tile=1",
    ] {
        let arguments =
            |table: &str| format!("'good', 'box', '{table}', 'box', 'inner', '{options}'");
        let bad = "row 1 of the partition of bad[box] is no box: along y the minimum 7.0 is above the \
                   maximum 6.0";
        fails(&ctx, &arguments("bad"), bad).await;
        let nan = "row 0 of the partition of nan[box] is no box: along x the minimum is 0.0 and the \
                   maximum NaN: NaN is no limit";
        fails(&ctx, &arguments("nan"), nan).await;
    }
    let columns = "'nan', 'x0,y0,x1,y1', 'good', 'box', 'anti'";
    fails(&ctx, columns, "nan[x0, y0, x1, y1] is no box").await;
    let image = "CREATE TABLE image AS SELECT x0 AS \"left\", y0 AS top, x1 AS \"right\", y1 AS bottom FROM good";
    ctx.sql(image).await.unwrap();
    let columns = "'image', 'left,bottom,right,top', 'good', 'box'";
    fails(
        &ctx,
        columns,
        "above the maximum 0.0; if y grows downwards, as in images, exchange the columns top and bottom",
    )
    .await;
}

/// A table function sees the tables of the session only.
#[tokio::test]
async fn names_of_with_are_not_seen() {
    let ctx = tables().await;
    let with = "WITH good AS (SELECT * FROM bad), few AS (SELECT * FROM good)";
    let sql =
        |table| format!("{with} SELECT * FROM box_overlap('{table}', 'box', 'good g', 'box')");
    assert_eq!(rows(&ctx, &sql("good a")).await.unwrap().len(), 2);
    let error = rows(&ctx, &sql("few")).await.unwrap_err().to_string();
    assert!(error.contains("names of WITH are not known"), "{error}");
}

#[tokio::test]
async fn tables_without_an_end_are_refused() {
    let ctx = tables().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("endless.csv");
    std::fs::write(&file, "x0,y0,x1,y1\n0.5,0.5,1.5,1.5\n").unwrap();
    let sql = format!(
        "CREATE UNBOUNDED EXTERNAL TABLE endless (x0 DOUBLE, y0 DOUBLE, x1 DOUBLE, y1 DOUBLE) \
         STORED AS CSV LOCATION '{}'",
        file.display()
    );
    ctx.sql(&sql).await.unwrap();
    let columns = "'x0,y0,x1,y1'";
    for options in ["", "method=tiles", "method=tiles,tile=1"] {
        for join in ["inner", "anti"] {
            let arguments =
                format!("'endless', {columns}, 'good', {columns}, '{join}', '{options}'");
            fails(
                &ctx,
                &arguments,
                "endless has no end, so it cannot be searched",
            )
            .await;
        }
    }
}

#[tokio::test]
async fn right_and_full_joins_are_refused() {
    let ctx = tables().await;
    for join in [JoinType::Right, JoinType::Full, JoinType::LeftMark] {
        let (good, bad) = (
            ctx.table("good").await.unwrap(),
            ctx.table("bad").await.unwrap(),
        );
        let options = BoxOverlapOptions::default();
        let error = good
            .box_overlap_join(bad, &["box"], &["box"], join, options)
            .unwrap_err();
        let expected = format!("a join of type {join} does not exist");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[tokio::test]
async fn equal_names_that_cannot_be_told_apart_need_another_alias() {
    let ctx = tables().await;
    for sql in [
        "CREATE TABLE parts AS SELECT id, id AS zone_id, box FROM good",
        "CREATE TABLE zone AS SELECT id, box FROM good",
        "CREATE SCHEMA a",
        "CREATE TABLE a.zone AS SELECT id, box FROM good",
    ] {
        ctx.sql(sql).await.unwrap();
    }
    let clash = "box_overlap: two columns of the result are called 'zone_id'";
    fails(&ctx, "'parts', 'box', 'zone', 'box'", clash).await;
    fails(&ctx, "'a.zone', 'box', 'zone', 'box'", clash).await;
    let sql = "SELECT z_id FROM box_overlap('parts', 'box', 'zone z', 'box')";
    assert_eq!(rows(&ctx, sql).await.unwrap().len(), 2);
}

#[tokio::test]
async fn quoted_names_may_have_blanks() {
    let ctx = tables().await;
    ctx.sql("CREATE TABLE \"My \"\"good\"\" parts\" AS SELECT id, box FROM good")
        .await
        .unwrap();
    let name = "\"My \"\"good\"\" parts\"";
    for (table, column) in [
        (name.to_owned(), "\"My \"\"good\"\" parts_id\""),
        (format!("{name} p"), "p_id"),
        (format!(" {name}  \"the \"\"p\" "), "\"the \"\"p_id\""),
    ] {
        let sql = format!("SELECT {column} FROM box_overlap('{table}', 'box', 'good', 'box')");
        let found = rows(&ctx, &sql).await;
        assert_eq!(found.expect(&table).len(), 2, "{table}");
    }
}

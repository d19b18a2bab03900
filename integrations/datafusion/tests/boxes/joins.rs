//! The rows of joins: the same as in plain SQL, whatever the plan and the partitions.

use datafusion::common::JoinType;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::{ParquetReadOptions, col};
use gridstride_datafusion::box_overlap::{BoxOverlapExt, BoxOverlapOptions};

use crate::tables::{
    Coordinates, JOINS, Random, box_columns, by_boxes, lines, physical_plan, reference,
    register_split, rows, session, set, table, two_tables,
};

/// Returns options of every kind of plan that a join has.
fn all_options(join: &str, random: &mut Random) -> Vec<String> {
    let mut options = vec!["method=replicate_right".to_owned()];
    if join == "inner" {
        options.push("method=replicate_left".to_owned());
    }
    for size in ["0.001", "0.5", "3", "100"] {
        let bins = random.one_of(&[1, 2, 5, 40]);
        options.push(format!("method=tiles,tile={size},bins={bins}"));
    }
    options.push("method=tiles".to_owned());
    options
}

async fn compare(device: &str, seeds: std::ops::Range<u64>, most_rows: usize) {
    for seed in seeds {
        let mut random = Random(seed);
        let axes = random.one_of(&[2, 3]);
        let coordinates = random.one_of(&[Coordinates::F32, Coordinates::F64, Coordinates::I32]);
        let ctx = session(1 + random.below(4), random.one_of(&[1, 7, 100, 8192]));
        set(&ctx, "device", device).await;
        let [left, right] = [(); 2].map(|()| {
            let rows = random.below(most_rows);
            table(&mut random, rows, axes, coordinates)
        });
        for join in JOINS {
            register_split(&ctx, "l", &left, &mut random);
            register_split(&ctx, "r", &right, &mut random);
            let expected = rows(&ctx, &reference(axes, join)).await.unwrap();
            for options in all_options(join, &mut random) {
                set(&ctx, "batch_rows", random.one_of(&[1, 20, 1000])).await;
                set(&ctx, "box_pairs", random.one_of(&[1, 100, 100_000])).await;
                let columns = box_columns(axes).join(",");
                let boxes = random.one_of(&["box", &columns]);
                let found = rows(&ctx, &by_boxes(boxes, join, &options)).await.unwrap();
                assert_eq!(found, expected, "seed {seed}, {join}, {options}, {boxes}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_those_of_plain_sql() {
    compare("cpu", 0..24, 120).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_those_of_plain_sql_in_the_simulator() {
    compare("simulator", 100..103, 40).await;
}

/// All rows in one tile, and one row that overlaps everything.
#[tokio::test(flavor = "multi_thread")]
async fn skew_changes_nothing() {
    let ctx = session(3, 64);
    let skewed = "SELECT value AS id, 'x' AS name, CAST(x0 AS DOUBLE) AS x0, CAST(0 AS DOUBLE) AS y0, \
                  CAST(x1 AS DOUBLE) AS x1, CAST(1 AS DOUBLE) AS y1 FROM (SELECT value, \
                  CASE WHEN value = 0 THEN -1e300 ELSE value * 1e-3 END AS x0, \
                  CASE WHEN value = 0 THEN 1e300 ELSE value * 1e-3 + 5e-4 END AS x1 \
                  FROM generate_series(0, 300))";
    for name in ["l", "r"] {
        ctx.sql(&format!("CREATE TABLE {name} AS {skewed}"))
            .await
            .unwrap();
    }
    for join in JOINS {
        let expected = rows(&ctx, &reference(2, join)).await.unwrap();
        for options in [
            "method=tiles,tile=1,bins=8",
            "method=tiles,tile=1e-3",
            "method=tiles",
        ] {
            let found = rows(&ctx, &by_boxes("x0,y0,x1,y1", join, options))
                .await
                .unwrap();
            assert_eq!(found, expected, "{join}, {options}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parquet_files_are_read_by_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let writer = session(3, 50);
    for name in ["l", "r"] {
        let rows = table(&mut random, 400, 3, Coordinates::F64);
        register_split(&writer, name, &rows, &mut random);
        let path = folder.path().join(name);
        let table = writer.table(name).await.unwrap();
        let options = DataFrameWriteOptions::new().with_single_file_output(false);
        let path = format!("{}/", path.display());
        table.write_parquet(&path, options, None).await.unwrap();
    }
    let ctx = session(3, 50);
    for name in ["l", "r"] {
        let path = format!("{}/", folder.path().join(name).display());
        let options = ParquetReadOptions::default();
        ctx.register_parquet(name, path, options).await.unwrap();
    }
    for join in JOINS {
        let expected = rows(&writer, &reference(3, join)).await.unwrap();
        for options in ["", "method=tiles,tile=2,bins=9"] {
            for boxes in ["box", "x0,y0,z0,x1,y1,z1"] {
                let found = rows(&ctx, &by_boxes(boxes, join, options)).await.unwrap();
                assert_eq!(found, expected, "{join}, {options}, {boxes}");
            }
        }
    }
}

#[tokio::test]
async fn data_frames_join_with_qualified_columns() {
    let ctx = two_tables(session(2, 100), 11, (80, 2, Coordinates::F32));
    for (join, name) in [
        (JoinType::Inner, "inner"),
        (JoinType::Left, "left"),
        (JoinType::LeftSemi, "semi"),
        (JoinType::LeftAnti, "anti"),
    ] {
        let (left, right) = (ctx.table("l").await.unwrap(), ctx.table("r").await.unwrap());
        let options = BoxOverlapOptions::default();
        let joined = left
            .box_overlap_join(right, &["l.box"], &["box"], join, options)
            .unwrap();
        let columns = match name {
            "inner" | "left" => &["l.id", "l.name", "r.id", "r.name"][..],
            _ => &["id", "name"],
        };
        let found = joined
            .select(columns.iter().map(|&name| col(name)))
            .unwrap()
            .collect()
            .await
            .unwrap();
        assert_eq!(
            lines(&found),
            rows(&ctx, &reference(2, name)).await.unwrap()
        );
    }
}

#[tokio::test]
async fn a_table_joins_itself_and_subqueries() {
    let ctx = two_tables(session(2, 100), 11, (80, 2, Coordinates::F32));
    let found = "SELECT a_id, b_id, r.name FROM box_overlap('l a', 'box', 'l b', 'x0,y0,x1,y1') AS pairs \
                 JOIN r ON pairs.a_id = r.id WHERE a_id < b_id AND r.name IS NOT NULL";
    let expected = "SELECT a.id, b.id, r.name FROM l a JOIN l b ON a.x0 <= b.x1 AND a.x1 >= b.x0 AND \
                    a.y0 <= b.y1 AND a.y1 >= b.y0 JOIN r ON a.id = r.id \
                    WHERE a.id < b.id AND r.name IS NOT NULL";
    let expected = rows(&ctx, expected).await.unwrap();
    assert!(expected.len() > 10);
    assert_eq!(rows(&ctx, found).await.unwrap(), expected);
    let count = "SELECT count(*) FROM box_overlap('l a', 'box', 'l b', 'box')";
    let all = "SELECT a.id FROM l a JOIN l b ON a.x0 <= b.x1 AND a.x1 >= b.x0 AND a.y0 <= b.y1 AND \
               a.y1 >= b.y0";
    let all = rows(&ctx, all).await.unwrap().len();
    assert_eq!(rows(&ctx, count).await.unwrap(), [format!("|{all}|")]);
}

#[tokio::test]
async fn only_needed_columns_are_read() {
    let ctx = two_tables(session(2, 100), 11, (80, 2, Coordinates::F32));
    let plan = "SELECT l_id FROM box_overlap('l', 'box', 'r', 'x0,y0,x1,y1', 'left')";
    let plan = ctx
        .sql(plan)
        .await
        .unwrap()
        .into_optimized_plan()
        .unwrap()
        .to_string();
    assert!(plan.contains("TableScan: l projection=[id, box]"), "{plan}");
    assert!(
        plan.contains("TableScan: r projection=[x0, y0, x1, y1]"),
        "{plan}"
    );
    let plan = physical_plan(
        &ctx,
        "SELECT r_id AS a, l_id AS b FROM box_overlap('l', 'box', 'r', 'box')",
    );
    let plan = plan.await;
    assert!(plan.contains("projection=[id, id], device="), "{plan}");
    let plan = physical_plan(
        &ctx,
        "SELECT name FROM box_overlap('l', 'box', 'r', 'box', 'semi')",
    );
    let plan = plan.await;
    assert!(
        plan.contains("BoxOverlapExec: join=LeftSemi, left=l[box], right=r[box]"),
        "{plan}"
    );
}

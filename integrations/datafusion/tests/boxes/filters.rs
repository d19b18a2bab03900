//! Filters of a join: applied to the rows of one side before the search where that is right.

use datafusion::prelude::SessionContext;

use crate::tables::{
    Coordinates, JOINS, by_boxes, physical_plan, reference, rows, session, two_tables,
};

fn tables(seed: u64) -> SessionContext {
    two_tables(session(3, 50), seed, (60, 2, Coordinates::F64))
}

/// Returns a filter with the names of columns that the function gives them.
fn of_function(filter: &str, join: &str) -> String {
    match join {
        "inner" | "left" => filter.replace("l.", "l_").replace("r.", "r_"),
        _ => filter.replace("l.", ""),
    }
}

/// Returns the filters of the result, and those below the join.
async fn placed(ctx: &SessionContext, join: &str, filter: &str) -> [Vec<String>; 2] {
    let filter = of_function(filter, join);
    let sql = format!("{} WHERE {filter}", by_boxes("box", join, ""));
    let plan = ctx.sql(&sql).await.unwrap().into_optimized_plan().unwrap();
    let plan = plan.display_indent().to_string();
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for line in plan.lines().map(str::trim) {
        if let Some((node, held)) = line.split_once(", filter=") {
            assert!(node.starts_with("BoxOverlap: "), "{plan}");
            above.push(held.to_owned());
        }
        if let Some(filter) = line.strip_prefix("Filter: ") {
            match plan.find("BoxOverlap") < plan.find(line) {
                true => below.push(filter.to_owned()),
                false => above.push(filter.to_owned()),
            }
        }
    }
    [above, below]
}

#[tokio::test]
async fn filters_are_placed_by_their_columns() {
    let ctx = tables(1);
    let (left, right) = ("l.id < Int64(30)", "r.id > Int64(9)");
    let both = "r.id != l.id";
    let one_null = "r.name IS NULL";
    let cases: [(_, _, &[_], &[_]); 12] = [
        ("inner", "l.id < 30", &[], &[left]),
        ("inner", "r.id > 9", &[], &[right]),
        ("inner", "l.id < 30 AND r.id > 9", &[], &[left, right]),
        ("inner", "l.id <> r.id", &[both], &[]),
        ("inner", "l.id <> r.id AND r.id > 9", &[both], &[right]),
        ("inner", "r.name IS NULL", &[], &[one_null]),
        // Columns of the right side are known by their names, which the left side shares.
        ("left", "l.id < 30", &[left], &[]),
        ("left", "r.id > 9", &[right], &[]),
        (
            "left",
            "l.id < 30 AND r.id > 9",
            &[&format!("{left} AND {right}")],
            &[],
        ),
        ("left", "r.name IS NULL", &[one_null], &[]),
        ("semi", "l.id < 30", &[], &[left]),
        ("anti", "l.id < 30", &[], &[left]),
    ];
    for (join, filter, above, below) in cases {
        let found = placed(&ctx, join, filter).await;
        assert_eq!(found, [above, below], "{join} {filter}");
    }
    for join in JOINS.into_iter().filter(|join| *join != "left") {
        let [above, below] = placed(&ctx, join, "random() * 60 < l.id AND l.id < 30").await;
        assert!(
            above.len() == 1 && above[0].contains("random()"),
            "{above:?}"
        );
        assert_eq!(below, [left], "{join}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filtered_rows_are_those_of_plain_sql() {
    const OF_LEFT: [&str; 5] = [
        "l.id < 30",
        "l.name IS NULL OR l.id % 2 = 0",
        "l.id < (SELECT avg(id) FROM r)",
        "l.id IN (SELECT id FROM r)",
        "(SELECT count(*) FROM r) < 10",
    ];
    const OF_BOTH: [&str; 6] = [
        "r.id > 9",
        "r.id IS NULL",
        "l.id < 30 AND r.id > 9 AND l.id <> r.id",
        "l.id < 9 OR r.id > 30",
        "coalesce(r.id, 100) > (SELECT max(id) FROM l)",
        "l.id = r.id AND l.x0 <= 0",
    ];
    for seed in 0..3 {
        let ctx = tables(seed);
        for join in JOINS {
            let of_both = match join {
                "inner" | "left" => &OF_BOTH[..],
                _ => &[],
            };
            for filter in OF_LEFT.iter().chain(of_both) {
                let expected = format!("{} WHERE {filter}", reference(2, join));
                let expected = rows(&ctx, &expected).await.unwrap();
                for options in ["", "method=tiles,bins=5"] {
                    let filter = of_function(filter, join);
                    let sql = format!("{} WHERE {filter}", by_boxes("box", join, options));
                    let found = rows(&ctx, &sql).await.unwrap();
                    assert_eq!(found, expected, "seed {seed}: {sql}");
                }
            }
        }
    }
}

/// The right columns are never null in their table, but in the result.
#[tokio::test]
async fn columns_that_are_not_null_are_null_for_left_rows_without_a_partner() {
    let ctx = session(2, 50);
    for (table, name, range) in [("l", "a", "1, 6"), ("r", "b", "4, 9")] {
        let create = format!(
            "CREATE TABLE {table} AS SELECT value AS {name}, arrow_cast([value, value, value, value],
             'FixedSizeList(4, Float64)') AS box_{name} FROM generate_series({range})"
        );
        ctx.sql(&create).await.unwrap().collect().await.unwrap();
    }
    let join = "SELECT a, b FROM box_overlap('l', 'box_a', 'r', 'box_b', 'left')";
    for (filter, found) in [
        ("b IS NULL", vec!["|1||", "|2||", "|3||"]),
        ("b IS NOT NULL", vec!["|4|4|", "|5|5|", "|6|6|"]),
        (
            "b % 2 = 0 OR b IS NULL",
            vec!["|1||", "|2||", "|3||", "|4|4|", "|6|6|"],
        ),
        (
            "NOT (a = b) OR coalesce(b, -1) = -1",
            vec!["|1||", "|2||", "|3||"],
        ),
        ("a < 3", vec!["|1||", "|2||"]),
    ] {
        let sql = format!("{join} WHERE {filter}");
        assert_eq!(rows(&ctx, &sql).await.unwrap(), found, "{sql}");
    }
    let plan = ctx.sql(&format!("{join} WHERE a < 3")).await.unwrap();
    let plan = plan.into_optimized_plan().unwrap().to_string();
    assert!(plan.find("BoxOverlap") < plan.find("Filter: l.a"), "{plan}");
}

/// Only the filter needs the column.
#[tokio::test]
async fn columns_of_filters_are_read() {
    let ctx = tables(5);
    let join = "FROM box_overlap('l', 'box', 'r', 'box')";
    let sql = format!("SELECT count(*) {join} WHERE l_id < r_id");
    let expected = format!("{} WHERE l.id < r.id", reference(2, "inner"));
    let expected = rows(&ctx, &expected).await.unwrap().len();
    assert!(expected > 10);
    assert_eq!(rows(&ctx, &sql).await.unwrap(), [format!("|{expected}|")]);
    let plan = ctx.sql(&sql).await.unwrap().into_optimized_plan().unwrap();
    let plan = plan.to_string();
    for table in ["l", "r"] {
        let scan = format!("TableScan: {table} projection=[id, box]");
        assert!(plan.contains(&scan), "{plan}");
    }
}

#[tokio::test]
async fn volatile_filters_are_of_the_pairs() {
    let ctx = tables(1);
    for join in JOINS {
        let sql = format!("{} WHERE random() < 0.5", by_boxes("box", join, ""));
        let plan = physical_plan(&ctx, &sql).await;
        assert_eq!(plan.matches("FilterExec").count(), 1, "{plan}");
        let line = |part: &str| plan.lines().position(|line| line.contains(part));
        assert!(
            line("FilterExec: random()") < line("BoxOverlapExec"),
            "{plan}"
        );
    }
}

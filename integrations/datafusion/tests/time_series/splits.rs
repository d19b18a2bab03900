//! Points in any order, files and partitions, against plain SQL.

use std::fs;

use datafusion::prelude::{ParquetReadOptions, SessionContext};
use gridstride_datafusion::time_series::{TimeBucketOptions, TimeBucketsExt};

use crate::common::{Point, Random, batch, register, rows, session, set, text};

/// The statistics that do not depend on the order of points. Values are integers: sums are exact.
const BUCKETS: &str = "SELECT series, timestamp, count, sum, mean, min, max
    FROM time_buckets('points', 's', 't', 'v', '35s', 'count,sum,mean,min,max', 'origin=7000')
    ORDER BY series, timestamp";

/// The same in plain SQL.
const GROUPS: &str = "SELECT s AS series,
        arrow_cast(date_bin(INTERVAL '35 seconds', t, TIMESTAMP '1970-01-01T00:00:07'), 'Timestamp(Millisecond, None)')
            AS timestamp,
        count(v) AS count, sum(v) AS sum, avg(v) AS mean, min(v) AS min, max(v) AS max
    FROM points WHERE v IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2";

/// Registers points as the view `points` of `raw`, with timestamps in milliseconds.
async fn view(ctx: &SessionContext) {
    rows(
        ctx,
        "CREATE OR REPLACE VIEW points AS
            SELECT s, arrow_cast(t * 1000, 'Timestamp(Millisecond, None)') AS t, v FROM raw",
    )
    .await;
}

/// Points without NaN, which SQL does not skip.
fn points(random: &mut Random, count: usize) -> Vec<Point> {
    let mut points = random.points(count, true);
    for point in &mut points {
        point.2 = point.2.filter(|value| !value.is_nan());
    }
    random.shuffle(&mut points);
    points
}

#[tokio::test]
async fn any_split_in_partitions_gives_the_groups_of_sql() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let ctx = session(1 + random.below(5) as usize);
        let batch_rows = 1 + random.below(300);
        set(&ctx, "gridstride.batch_rows", &batch_rows.to_string());
        let count = 1 + random.below(3000) as usize;
        let points = points(&mut random, count);
        let parts = 1 + random.below(6) as usize;
        let partitions = random.cut(&points, parts);
        let partition = |part: &&[Point]| part.chunks(500).map(batch).collect();
        register(
            &ctx,
            "raw",
            partitions.iter().map(partition).collect(),
            false,
        );
        view(&ctx).await;
        assert_eq!(
            text(&ctx, BUCKETS).await,
            text(&ctx, GROUPS).await,
            "seed {seed}"
        );
    }
}

#[tokio::test]
async fn any_split_in_files_gives_the_groups_of_sql_also_by_data_frames() {
    for seed in 1..=4 {
        let mut random = Random(100 + seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let ctx = session(1 + random.below(4) as usize);
        let points = points(&mut random, 2000);
        let files = 1 + random.below(5) as usize;
        for (index, part) in random.cut(&points, files).into_iter().enumerate() {
            register(&ctx, "part", vec![vec![batch(part)]], false);
            let order = ["", "ORDER BY s, t"][random.below(2) as usize];
            rows(
                &ctx,
                &format!("COPY (SELECT * FROM part {order}) TO '{path}/{index}.parquet'"),
            )
            .await;
        }
        assert_eq!(fs::read_dir(path).unwrap().count(), files);
        ctx.register_parquet("raw", path, ParquetReadOptions::default())
            .await
            .unwrap();
        view(&ctx).await;
        let expected = text(&ctx, GROUPS).await;
        assert_eq!(text(&ctx, BUCKETS).await, expected, "seed {seed}");

        let options: TimeBucketOptions = "origin=1970-01-01T00:00:07Z".parse().unwrap();
        let methods = "count,sum,mean,min,max";
        let frame = ctx.table("points").await.unwrap();
        let frame = frame
            .time_buckets(Some("s"), "t", "v", "35s", methods, options)
            .unwrap();
        ctx.register_table("buckets", frame.into_view()).unwrap();
        let found = text(&ctx, "SELECT * FROM buckets ORDER BY series, timestamp").await;
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[tokio::test]
async fn without_series_all_points_are_one() {
    let mut random = Random(5);
    let points = points(&mut random, 1500);
    let ctx = session(3);
    set(&ctx, "gridstride.batch_rows", "100");
    let partitions = random
        .cut(&points, 3)
        .into_iter()
        .map(|part| vec![batch(part)])
        .collect();
    register(&ctx, "raw", partitions, false);
    view(&ctx).await;
    let groups = text(
        &ctx,
        "SELECT arrow_cast(date_bin(INTERVAL '50 seconds', t), 'Timestamp(Millisecond, None)') AS timestamp,
            count(v) AS count, max(v) AS max
        FROM points WHERE v IS NOT NULL GROUP BY 1 ORDER BY 1",
    )
    .await;
    for none in ["NULL", "''"] {
        let query = format!(
            "SELECT * FROM time_buckets('points', {none}, 't', 'v', '50s', 'count,max') ORDER BY timestamp"
        );
        assert_eq!(text(&ctx, &query).await, groups);
    }
}

#[tokio::test]
async fn rates_and_order_do_not_depend_on_the_split() {
    let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '70s',
        'first,last,median,p90,rate:count,rate:sum,rate:last', 'fill=null') ORDER BY series, timestamp";
    let mut random = Random(9);
    // No two timestamps of a series are equal.
    let mut points = random.points(2500, false);
    let ctx = session(1);
    register(&ctx, "raw", vec![vec![batch(&points)]], false);
    view(&ctx).await;
    let expected = text(&ctx, query).await;
    for partitions in [2, 5] {
        random.shuffle(&mut points);
        let ctx = session(partitions);
        set(&ctx, "gridstride.batch_rows", "50");
        let parts = random
            .cut(&points, 4)
            .into_iter()
            .map(|part| vec![batch(part)])
            .collect();
        register(&ctx, "raw", parts, false);
        view(&ctx).await;
        assert_eq!(text(&ctx, query).await, expected, "{partitions} partitions");
    }
}

#[tokio::test]
async fn tables_without_points_have_no_buckets() {
    let ctx = session(2);
    register(
        &ctx,
        "raw",
        vec![vec![batch(&[])], vec![batch(&[("a".to_owned(), 0, None)])]],
        false,
    );
    view(&ctx).await;
    let found = rows(&ctx, BUCKETS).await;
    assert_eq!(found.iter().map(|batch| batch.num_rows()).sum::<usize>(), 0);
}

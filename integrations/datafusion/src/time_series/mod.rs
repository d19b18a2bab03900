//! Time series: statistics of the values of each series in buckets of time.
//!
//! In SQL it is the table function `time_buckets`, whose arguments are texts: a table's name, its
//! columns of the series (or NULL), the timestamps and the values, the length of a bucket, the
//! methods, and [options](TimeBucketOptions) if there are any. The table is a table or a view of the
//! session. Names of the query's `WITH` are not seen: if a table of the session has the same name, it
//! is read instead. Create views.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::common::Result<()> {
//! let ctx = SessionContext::new();
//! gridstride_datafusion::register(&ctx)?;
//! # ctx.sql("SET gridstride.device = 'cpu'").await?.collect().await?;
//! let points = "CREATE TABLE points AS SELECT column1 AS room,
//!         arrow_cast(column2, 'Timestamp(Millisecond, None)') AS at, column3 AS celsius
//!     FROM (VALUES ('attic', '2026-01-31T12:00:00', 20.5), ('attic', '2026-01-31T12:00:30', 21.5),
//!         ('attic', '2026-01-31T12:02:10', 24.0), ('cellar', '2026-01-31T12:01:00', 8.0))";
//! ctx.sql(points).await?.collect().await?;
//! let buckets = ctx
//!     .sql(
//!         "SELECT * FROM time_buckets('points', 'room', 'at', 'celsius', '1m', 'count,mean',
//!             'fill=null') ORDER BY series, timestamp",
//!     )
//!     .await?;
//! datafusion::assert_batches_eq!(
//!     [
//!         "+--------+---------------------+-------+------+",
//!         "| series | timestamp           | count | mean |",
//!         "+--------+---------------------+-------+------+",
//!         "| attic  | 2026-01-31T12:00:00 | 2     | 21.0 |",
//!         "| attic  | 2026-01-31T12:01:00 |       |      |",
//!         "| attic  | 2026-01-31T12:02:00 | 1     | 24.0 |",
//!         "| cellar | 2026-01-31T12:01:00 | 1     | 8.0  |",
//!         "+--------+---------------------+-------+------+",
//!     ],
//!     &buckets.collect().await?
//! );
//! # Ok(())
//! # }
//! ```
//!
//! [`TimeBucketsExt::time_buckets`] is the same for data frames. The methods and their accuracy are
//! those of [`gridstride::time_series`]. Columns of methods such as `rate:mean` and `p74.5` need
//! double quotes in SQL. Counts are `Int64`, all others `Float64`.
//!
//! # Points
//! - A row whose value is null is no point. Unlike `date_bin` and `GROUP BY`, which return a bucket
//!   with the count 0 for such rows, there is no bucket without a point, unless it is
//!   [filled](gridstride::time_series::Fill).
//! - A null series or timestamp is an error.
//! - NaN is a value that the methods skip by default, see [`TimeBucketOptions::nan`]. A bucket with
//!   points and without a result for a method, such as the standard deviation of one value or the
//!   mean of none, has null, as has a result that is NaN. DataFusion 55 loses NaN when it reads a Parquet file in which all other values of the column are
//!   equal, unless `datafusion.execution.collect_statistics` is false.
//! - Timestamps are of any unit and time zone, dates, or integers. Buckets are aligned in UTC, also
//!   for columns with a time zone. Their length is a whole number of units: for buckets of 100 ms,
//!   cast timestamps in seconds to milliseconds in a view.
//!
//! # Order
//! The operator needs its input in the order of series and timestamps. Tables that are in this order
//! already, such as those created `WITH ORDER (series ASC, timestamp ASC)`, are not sorted again if
//! they are read as one partition, or if `gridstride.merge_sorted` is set: then their partitions are
//! merged into one stream, which needs little memory and is slow. All others are hashed by their
//! series, and [`SeriesSortExec`] sorts each partition: in memory without comparing series, or on
//! disk if the memory does not suffice. The output is in the same order in each partition. Without
//! `ORDER BY`, the partitions come in any order.
//!
//! Points of a series with equal timestamps stay in their order if the table is read as one
//! partition that fits in memory; otherwise they have no order among each other. `first`, `last` and
//! `rate:` methods may differ from run to run then, and with `duplicates=first` or `duplicates=last`
//! all methods. All other results are the same however the table is divided in files and partitions,
//! except for the rounding of sums within the bounds that the library documents.
//!
//! # Memory
//! The operator gathers `gridstride.batch_rows` rows for a call of the library, and cuts them where
//! series or buckets begin. While the library computes, the rows of the next call are gathered.
//!
//! The memory is reserved from the engine's pool: of the rows, of their copy for the library, and of
//! the output if each row had a bucket of its own. If the pool has a limit, calls are of fewer rows,
//! so that a call takes a quarter of the pool at most, divided by the number of partitions. The rows
//! of a bucket are not divided. If a bucket does not fit, the operator waits up to 2 s for memory of
//! others, and ends the query with an error that names the operator.
//!
//! Filling gaps takes time for each empty bucket: one wrong timestamp in the year 1 makes billions
//! of them. Leave such rows out by a view.

mod calls;
mod compute;
mod duration;
mod exec;
mod fill;
mod gather;
mod logical;
mod options;
mod parameters;
mod piece;
mod sort;
mod stream;

pub use calls::TimeBucketsExt;
pub(crate) use calls::TimeBucketsFunction;
pub use exec::TimeBucketExec;
pub use logical::TimeBucketNode;
pub use options::TimeBucketOptions;
pub use parameters::{ColumnNames, Methods, TimeBucketParameters};
pub use sort::SeriesSortExec;

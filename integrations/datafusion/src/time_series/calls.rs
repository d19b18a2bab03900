//! The calls of users: a method of data frames, and a table function in SQL.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::dataframe::DataFrame;

use super::logical::{Call, plan};
use super::options::TimeBucketOptions;
use super::parameters::Methods;
use crate::table_function::{self, PlanTable};

const FUNCTION: &str = "time_buckets";

/// Time buckets of data frames.
pub trait TimeBucketsExt {
    /// Computes statistics of the values of each series in buckets of time. The result has a row
    /// for each series and each of its buckets, with the columns `series`, `timestamp` (when the
    /// bucket begins, in the type of the timestamps) and a column for each method.
    ///
    /// - `series`: the column that tells the series of a point, of any type that is not nested.
    ///   With `None` all points are one series, and the result has no such column.
    /// - `timestamp`: a column of timestamps, dates or integers.
    /// - `value`: a column of numbers. `f32` and `f64` are aggregated as they are, others as `f64`.
    /// - `every`: the length of a bucket, such as `35s`, in ns, us, ms, s, m, h, d or w; for
    ///   integers a number.
    /// - `methods`: with commas between them, names of
    ///   [`Method::ALL`](gridstride::time_series::Method::ALL) such as `count` or `mean`,
    ///   percentiles such as `p95` or `p74.5`, and each of them behind `rate:`, of the differences
    ///   between successive values.
    /// - `options`: see [`TimeBucketOptions`].
    ///
    /// The [module](crate::time_series) says what nulls mean, and which results are deterministic.
    ///
    /// # Errors
    /// If a column does not exist or has another type, or an argument is invalid. When the result
    /// is computed, null series and timestamps are errors.
    ///
    /// ```
    /// use datafusion::prelude::SessionContext;
    /// use gridstride_datafusion::time_series::{TimeBucketOptions, TimeBucketsExt};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> datafusion::common::Result<()> {
    /// let ctx = SessionContext::new();
    /// gridstride_datafusion::register(&ctx)?;
    /// # ctx.sql("SET gridstride.device = 'cpu'").await?.collect().await?;
    /// let points = ctx
    ///     .sql("SELECT * FROM (VALUES (0, 1.0), (5, 3.0), (35, 4.0)) AS points(at, celsius)")
    ///     .await?;
    /// let options = TimeBucketOptions::default();
    /// let buckets = points.time_buckets(None, "at", "celsius", "35", "count,mean", options)?;
    /// datafusion::assert_batches_eq!(
    ///     [
    ///         "+-----------+-------+------+",
    ///         "| timestamp | count | mean |",
    ///         "+-----------+-------+------+",
    ///         "| 0         | 2     | 2.0  |",
    ///         "| 35        | 1     | 4.0  |",
    ///         "+-----------+-------+------+",
    ///     ],
    ///     &buckets.collect().await?
    /// );
    /// # Ok(())
    /// # }
    /// ```
    fn time_buckets(
        self,
        series: Option<&str>,
        timestamp: &str,
        value: &str,
        every: &str,
        methods: &str,
        options: TimeBucketOptions,
    ) -> Result<DataFrame>;
}

impl TimeBucketsExt for DataFrame {
    fn time_buckets(
        self,
        series: Option<&str>,
        timestamp: &str,
        value: &str,
        every: &str,
        methods: &str,
        options: TimeBucketOptions,
    ) -> Result<DataFrame> {
        let (state, input) = self.into_parts();
        let call = Call {
            series,
            timestamp,
            value,
            every,
            methods: Methods::parse(methods)?,
            options,
        };
        let plan = plan(input, call)?;
        Ok(DataFrame::new(state, plan))
    }
}

/// `time_buckets('table', 'series', 'timestamp', 'value', 'every', 'methods' [, 'options'])`.
#[derive(Debug)]
pub(crate) struct TimeBucketsFunction;

impl TableFunctionImpl for TimeBucketsFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        const NAMES: [&str; 7] = [
            "the table",
            "the series column",
            "the timestamp column",
            "the value column",
            "the length of a bucket",
            "the methods",
            "the options",
        ];
        let arguments = args.exprs();
        if !(6..=7).contains(&arguments.len()) {
            return plan_err!(
                "{FUNCTION}: there are {} arguments, and have to be 6 or 7: {FUNCTION}('table', 'series', 'timestamp', 'value', '35s', 'count,mean' [, 'fill=null'])",
                arguments.len()
            );
        }
        let mut texts = [None; NAMES.len()];
        for (index, name) in NAMES.into_iter().enumerate() {
            texts[index] = table_function::text(FUNCTION, arguments, index, name)?;
        }
        let required = |index: usize| match texts[index] {
            Some(text) => Ok(text),
            None => plan_err!(
                "{FUNCTION}: argument {}, {}, is NULL",
                index + 1,
                NAMES[index]
            ),
        };
        let call = Call {
            series: texts[1].filter(|name| !name.is_empty()),
            timestamp: required(2)?,
            value: required(3)?,
            every: required(4)?,
            methods: Methods::parse(required(5)?)?,
            options: texts[6].unwrap_or_default().parse()?,
        };
        let input = table_function::scan(FUNCTION, args.session(), required(0)?)?;
        Ok(Arc::new(PlanTable(plan(input, call)?)))
    }
}

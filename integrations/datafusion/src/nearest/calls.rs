//! The join as a method of data frames and as a table function of SQL.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::logical_expr::Expr;

use super::parameters::NAME;
use super::plan::NearestNode;
use crate::table_function::{PlanTable, require_two_names, two_tables, unique_names};

const SYNTAX: &str = "nearest('queries', 'vectors', 'references', 'vectors', k)";

/// Joins of data frames by the distances of vectors.
pub trait NearestExt: Sized {
    /// Finds the `k` rows of `references` whose vectors are nearest to that of each row of `self`,
    /// by their Euclidean distance. `query` and `reference` name the columns of vectors.
    ///
    /// The result has the columns of both, qualified by their tables, and `nearest.rank` and
    /// `nearest.distance`. The [module](crate::nearest) says what nulls mean, and what is
    /// deterministic.
    ///
    /// # Errors
    /// A plan error if there are no such columns, if they are not vectors of one type, if `k` is 0,
    /// or if both data frames have a column of one name and one table. When the query runs, a
    /// vector with a null, NaN or infinity is an error.
    ///
    /// ```
    /// use datafusion::prelude::SessionContext;
    /// use gridstride_datafusion::nearest::NearestExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> datafusion::common::Result<()> {
    /// let ctx = SessionContext::new();
    /// gridstride_datafusion::register(&ctx)?;
    /// # ctx.sql("SET gridstride.device = 'cpu'").await?.collect().await?;
    /// let vectors = "SELECT column1 AS name, arrow_cast(column2, 'FixedSizeList(2, Float32)') AS at";
    /// let stars = ctx.sql(&format!("{vectors} FROM (VALUES ('a', [0, 0]), ('b', [3, 4]))")).await?;
    /// let here = ctx.sql(&format!("{vectors} FROM (VALUES ('x', [3, 0]))")).await?;
    /// let (stars, here) = (stars.alias("stars")?, here.alias("here")?);
    /// let nearest = here.nearest(stars, "at", "at", 2)?;
    /// datafusion::assert_batches_eq!(
    ///     [
    ///         "+------+------+----------+",
    ///         "| name | rank | distance |",
    ///         "+------+------+----------+",
    ///         "| a    | 1    | 3.0      |",
    ///         "| b    | 2    | 4.0      |",
    ///         "+------+------+----------+",
    ///     ],
    ///     &nearest.select_exprs(&["stars.name", "rank", "distance"])?.collect().await?
    /// );
    /// # Ok(())
    /// # }
    /// ```
    fn nearest(
        self,
        references: DataFrame,
        query: &str,
        reference: &str,
        k: usize,
    ) -> Result<DataFrame>;
}

impl NearestExt for DataFrame {
    fn nearest(
        self,
        references: DataFrame,
        query: &str,
        reference: &str,
        k: usize,
    ) -> Result<DataFrame> {
        let (state, queries) = self.into_parts();
        let references = (references.into_parts().1, reference);
        let node = NearestNode::try_new((queries, query), references, k)?;
        Ok(DataFrame::new(state, node.into_plan()))
    }
}

/// The table function `nearest('queries', 'vectors', 'references', 'vectors', k)`.
///
/// Tables are named with an alias if wanted, `'reads a'`; a table that is searched for its own rows
/// needs one. The result has the columns of both tables, `rank` and `distance`. Columns whose name
/// occurs twice are `table_column`; `rank` and `distance` are of the table `nearest`.
#[derive(Debug)]
pub struct NearestFunction;

impl TableFunctionImpl for NearestFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let arguments = args.exprs();
        if arguments.len() != 5 {
            return plan_err!("{NAME}: {} arguments, and not 5: {SYNTAX}", arguments.len());
        }
        let names = [
            "the table of queries",
            "the column of the queries' vectors",
            "the table of references",
            "the column of the references' vectors",
        ];
        let [queries, references] = two_tables(NAME, SYNTAX, names, &args)?;
        require_two_names(NAME, &queries.0, &references.0)?;
        let node = NearestNode::try_new(queries, references, k(&arguments[4])?)?;
        Ok(Arc::new(PlanTable(unique_names(NAME, node.into_plan())?)))
    }
}

fn k(argument: &Expr) -> Result<usize> {
    let number = match argument {
        Expr::Literal(value, _) if value.data_type().is_integer() => {
            value.cast_to(&DataType::UInt64).ok()
        }
        _ => None,
    };
    match number {
        Some(ScalarValue::UInt64(Some(k))) => Ok(usize::try_from(k).unwrap_or(usize::MAX)),
        _ => plan_err!("{NAME}: argument 5, k, is {argument}, not a whole number: {SYNTAX}"),
    }
}

//! The joins as a method of data frames and as a table function of SQL.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{JoinType, Result, plan_err};
use datafusion::dataframe::DataFrame;

use super::box_type::NAME;
use super::options::BoxOverlapOptions;
use super::parameters::BoxJoinType;
use super::plan::BoxOverlapNode;
use crate::error::choice;
use crate::table_function::{PlanTable, require_two_names, text, two_tables, unique_names};

/// Joins of data frames on their boxes.
pub trait BoxOverlapExt: Sized {
    /// Joins two data frames on their overlapping boxes. `left_boxes` and `right_boxes` name the
    /// columns: one of type `FixedSizeList` of 4 or 6 numbers, or 4 or 6 columns of numbers, minX,
    /// minY, minZ, maxX, maxY, maxZ or without Z, of `Float32`, `Float64` or `Int32`.
    ///
    /// The result has the columns of both, qualified by their tables, for [inner and left
    /// joins](BoxJoinType), and those of `self` for `LeftSemi` and `LeftAnti`. Its rows have no
    /// order. Rows with a null box, or a box with a null number, have no partner.
    ///
    /// # Errors
    /// A plan error if there are no such columns, if they are no boxes or have different types, if
    /// both data frames have a column of one name and one table, and for other types of joins. When
    /// the query runs, a box with NaN or with a minimum above its maximum is an error.
    ///
    /// ```
    /// use datafusion::common::JoinType;
    /// use datafusion::prelude::SessionContext;
    /// use gridstride_datafusion::box_overlap::{BoxOverlapExt, BoxOverlapOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> datafusion::common::Result<()> {
    /// let ctx = SessionContext::new();
    /// gridstride_datafusion::register(&ctx)?;
    /// ctx.sql("CREATE TABLE pipes AS SELECT 1 AS id, 0.0 AS x0, 0.0 AS y0, 2.0 AS x1, 2.0 AS y1")
    ///     .await?;
    /// ctx.sql("CREATE TABLE welds AS SELECT 7 AS id, 2.0 AS x0, 1.0 AS y0, 3.0 AS x1, 1.0 AS y1")
    ///     .await?;
    /// let columns = ["x0", "y0", "x1", "y1"];
    /// let (pipes, welds) = (ctx.table("pipes").await?, ctx.table("welds").await?);
    /// let options = BoxOverlapOptions::default();
    /// let pairs = pipes.box_overlap_join(welds, &columns, &columns, JoinType::Inner, options)?;
    /// let pairs = pairs.select_exprs(&["pipes.id AS pipe", "welds.id AS weld"])?;
    /// assert_eq!(pairs.count().await?, 1); // touching counts
    /// # Ok(())
    /// # }
    /// ```
    fn box_overlap_join(
        self,
        right: DataFrame,
        left_boxes: &[&str],
        right_boxes: &[&str],
        join: JoinType,
        options: BoxOverlapOptions,
    ) -> Result<DataFrame>;
}

impl BoxOverlapExt for DataFrame {
    fn box_overlap_join(
        self,
        right: DataFrame,
        left_boxes: &[&str],
        right_boxes: &[&str],
        join: JoinType,
        options: BoxOverlapOptions,
    ) -> Result<DataFrame> {
        let (state, left) = self.into_parts();
        let right = (right.into_parts().1, right_boxes);
        let node = BoxOverlapNode::try_new((left, left_boxes), right, join.try_into()?, options)?;
        Ok(DataFrame::new(state, node.into_plan()))
    }
}

/// The table function `box_overlap('left', 'boxes', 'right', 'boxes'[, 'join'[, 'options']])`.
///
/// Tables are named with an alias if wanted, `'parts a'`; a join of a table with itself needs one.
/// Boxes are the name of a column, or of 4 or 6 columns with commas between them. The join is
/// `inner`, `left`, `semi` or `anti`; the default is `inner`. [Options](BoxOverlapOptions) are
/// text.
///
/// The result has the columns of both tables. Columns whose name both tables have are
/// `table_column`.
#[derive(Debug)]
pub struct BoxOverlapFunction;

impl TableFunctionImpl for BoxOverlapFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let arguments = args.exprs();
        if arguments.len() > 6 {
            return plan_err!(
                "{NAME}: {} arguments, and 6 at most: {SYNTAX}",
                arguments.len()
            );
        }
        let boxes = "the columns of its boxes";
        let names = ["a table", boxes, "a table", boxes];
        let [left, right] = two_tables(NAME, SYNTAX, names, &args)?;
        let argument = |index, name| text(NAME, arguments, index, name);
        let join = argument(4, "the join")?.unwrap_or("inner");
        let join: BoxJoinType = choice(NAME, join)?;
        let options: BoxOverlapOptions = argument(5, "the options")?.unwrap_or("").parse()?;
        if matches!(join, BoxJoinType::Inner | BoxJoinType::Left) {
            require_two_names(NAME, &left.0, &right.0)?;
        }
        let [left_boxes, right_boxes] =
            [left.1, right.1].map(|names| names.split(',').map(str::trim).collect::<Vec<_>>());
        let (left, right) = ((left.0, &left_boxes[..]), (right.0, &right_boxes[..]));
        let node = BoxOverlapNode::try_new(left, right, join, options)?;
        Ok(Arc::new(PlanTable(unique_names(NAME, node.into_plan())?)))
    }
}

const SYNTAX: &str = "box_overlap('left', 'boxes', 'right', 'boxes'[, 'inner'[, 'options']])";

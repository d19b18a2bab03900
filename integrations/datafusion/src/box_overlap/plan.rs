//! The logical node of a join of boxes, and its plan.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::Field;
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::logical_plan::builder::build_join_schema;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;

use super::box_type::{BoxColumns, BoxType, NAME, require_same_type};
use super::choose::Choice;
use super::exec::BoxOverlapExec;
use super::match_exec::BoxMatchExec;
use super::options::BoxOverlapOptions;
use super::parameters::{
    BoxJoinType, BoxMatchParameters, BoxOverlapParameters, BoxTileParameters, Placement,
};
use super::tile_exec::BoxTileExec;
use crate::config::GridstrideConfig;
use crate::planner::{PlannedNode, Planning};
use crate::table_function::find_column;
use crate::volatile;

/// A join of two plans on their overlapping boxes.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct BoxOverlapNode {
    left: LogicalPlan,
    right: LogicalPlan,
    left_boxes: Vec<Column>,
    right_boxes: Vec<Column>,
    join: BoxJoinType,
    options: BoxOverlapOptions,
    /// Filters of the rows returned that are not of the rows of one input.
    filters: Vec<Expr>,
    schema: DFSchemaRef,
}

impl BoxOverlapNode {
    /// Joins two plans. The names of columns may be qualified by a table.
    ///
    /// # Errors
    /// A plan error if there are no such columns, if they are no boxes, if the boxes of both sides
    /// have different types, or if both sides have a column of one name and one table.
    pub fn try_new(
        left: (LogicalPlan, &[&str]),
        right: (LogicalPlan, &[&str]),
        join: BoxJoinType,
        options: BoxOverlapOptions,
    ) -> Result<BoxOverlapNode> {
        let boxes = |(plan, names): &(LogicalPlan, &[&str])| {
            let find = |name: &&str| find_column(NAME, plan.schema(), name);
            names.iter().map(find).collect::<Result<Vec<_>>>()
        };
        let boxes = [boxes(&left)?, boxes(&right)?];
        Self::with_columns([left.0, right.0], boxes, join, options)
    }

    /// Returns the node as a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension {
            node: Arc::new(self),
        })
    }

    fn with_columns(
        [left, right]: [LogicalPlan; 2],
        [left_boxes, right_boxes]: [Vec<Column>; 2],
        join: BoxJoinType,
        options: BoxOverlapOptions,
    ) -> Result<BoxOverlapNode> {
        let a = box_type(left.schema(), &left_boxes)?;
        let b = box_type(right.schema(), &right_boxes)?;
        require_same_type([(&table(&left_boxes), &a), (&table(&right_boxes), &b)])?;
        options.check(a.width / 2)?;
        let schema = build_join_schema(left.schema(), right.schema(), &join.into())?;
        Ok(BoxOverlapNode {
            left,
            right,
            left_boxes,
            right_boxes,
            join,
            options,
            filters: Vec::new(),
            schema: Arc::new(schema),
        })
    }
}

fn box_type(schema: &DFSchema, columns: &[Column]) -> Result<BoxType> {
    let field = |column: &Column| -> Result<&Field> {
        Ok(schema.field(schema.index_of_column(column)?).as_ref())
    };
    let fields: Vec<&Field> = columns.iter().map(field).collect::<Result<_>>()?;
    BoxType::of(&table(columns), &fields)
}

/// Returns the name of the columns' table, for messages.
fn table(columns: &[Column]) -> String {
    let table = columns.first().and_then(|column| column.relation.as_ref());
    table.map_or("a subquery".to_owned(), ToString::to_string)
}

impl PartialOrd for BoxOverlapNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for BoxOverlapNode {
    fn name(&self) -> &str {
        "BoxOverlap"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let columns = self.left_boxes.iter().chain(&self.right_boxes);
        let columns = columns.cloned().map(Expr::Column);
        columns.chain(self.filters.iter().cloned()).collect()
    }

    /// [`with_exprs_and_inputs`](Self::with_exprs_and_inputs) places all filters, except those of a
    /// left join's right columns: the engine simplifies the expressions of a node as if the columns
    /// were those of the inputs, where these may not be null.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        match self.join {
            BoxJoinType::Left => {
                let fields = self.right.schema().fields().iter();
                fields.map(|field| field.name().clone()).collect()
            }
            _ => HashSet::new(),
        }
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let names = |columns: &[Column]| {
            let names: Vec<_> = columns.iter().map(ToString::to_string).collect();
            names.join(", ")
        };
        write!(
            f,
            "BoxOverlap: join={:?}, left=[{}], right=[{}], {}{}",
            self.join,
            names(&self.left_boxes),
            names(&self.right_boxes),
            self.options,
            volatile::display(&self.filters)
        )
    }

    fn with_exprs_and_inputs(
        &self,
        mut exprs: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> Result<Self> {
        let columns = self.left_boxes.len() + self.right_boxes.len();
        let mut filters = exprs.split_off(columns.min(exprs.len()));
        // A left row that loses its only partner stays in the result of a left join, with nulls.
        let may_filter = [true, self.join == BoxJoinType::Inner];
        let before = [&self.left, &self.right];
        filters.extend(volatile::place(&mut inputs, &before, &may_filter)?);
        let Ok(inputs) = <[_; 2]>::try_from(inputs) else {
            return internal_err!("BoxOverlap has two inputs");
        };
        let mut left = Vec::new();
        for expr in exprs {
            let Expr::Column(column) = expr else {
                return internal_err!("BoxOverlap: the boxes became the expression {expr}");
            };
            left.push(column);
        }
        let right = left.split_off(self.left_boxes.len());
        let node = Self::with_columns(inputs, [left, right], self.join, self.options.clone())?;
        Ok(BoxOverlapNode { filters, ..node })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let left_columns = self.left.schema().fields().len();
        let (left, right): (Vec<usize>, Vec<usize>) = output_columns
            .iter()
            .partition(|&&column| column < left_columns);
        let right = right.iter().map(|column| column - left_columns);
        Some(vec![left, right.collect()])
    }
}

#[async_trait]
impl PlannedNode for BoxOverlapNode {
    async fn plan(
        &self,
        inputs: &[Arc<dyn ExecutionPlan>],
        planning: &Planning<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [left, right] = inputs else {
            return internal_err!("BoxOverlap has two inputs");
        };
        let config = GridstrideConfig::of(planning.session.config_options());
        let boxes = [
            box_columns(self.left.schema(), &self.left_boxes)?,
            box_columns(self.right.schema(), &self.right_boxes)?,
        ];
        let choice = Choice {
            options: &self.options,
            join: self.join,
            inputs: [left, right],
            boxes: [&boxes[0], &boxes[1]],
            axes: box_type(self.left.schema(), &self.left_boxes)?.width / 2,
            tile_rows: config.box_tile_rows,
            batch_rows: config.batch_rows,
            logical: [&self.left, &self.right],
            planning,
        };
        let placement = choice.placement().await;
        let [left_boxes, right_boxes] = boxes;
        let parameters = BoxOverlapParameters {
            join: self.join,
            left: left_boxes,
            right: right_boxes,
            placement,
            projection: None,
            batch_rows: config.batch_rows,
            batch_pairs: config.box_pairs,
            device: config.device,
        };
        join(parameters, Arc::clone(left), Arc::clone(right))
    }

    fn filters(&self) -> &[Expr] {
        &self.filters
    }
}

fn box_columns(schema: &DFSchema, columns: &[Column]) -> Result<BoxColumns> {
    let index = |column: &Column| schema.index_of_column(column);
    Ok(BoxColumns {
        table: table(columns),
        columns: columns.iter().map(index).collect::<Result<_>>()?,
    })
}

/// Returns the plan of a join: the nodes that a placement needs.
fn join(
    parameters: BoxOverlapParameters,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Placement::Tiles(tiling) = &parameters.placement else {
        return Ok(Arc::new(BoxOverlapExec::try_new(parameters, left, right)?));
    };
    let tile = |boxes: &BoxColumns, input, keep_nulls| -> Result<Arc<dyn ExecutionPlan>> {
        let parameters = BoxTileParameters {
            boxes: boxes.clone(),
            tiling: tiling.clone(),
            keep_nulls,
        };
        Ok(Arc::new(BoxTileExec::try_new(parameters, input)?))
    };
    let keep_nulls = matches!(parameters.join, BoxJoinType::Left | BoxJoinType::LeftAnti);
    let left = tile(&parameters.left, left, keep_nulls)?;
    let right = tile(&parameters.right, right, false)?;
    let matches = BoxMatchParameters {
        join: parameters.join,
        boxes: parameters.left.clone(),
    };
    let overlaps = Arc::new(BoxOverlapExec::try_new(parameters, left, right)?);
    if matches.join == BoxJoinType::Inner {
        return Ok(overlaps);
    }
    Ok(Arc::new(BoxMatchExec::try_new(matches, overlaps)?))
}

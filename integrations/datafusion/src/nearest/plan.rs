//! The node of logical plans, and its physical plan.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{
    Column, DFSchema, DFSchemaRef, Result, TableReference, internal_err, plan_err,
};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;

use super::exec::NearestExec;
use super::parameters::{
    DISTANCE, NAME, NearestParameters, RANK, VectorColumn, added_fields, check_vectors,
};
use crate::config::GridstrideConfig;
use crate::planner::{PlannedNode, Planning};
use crate::table_function::find_column;
use crate::volatile;

/// The nearest references of each query.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct NearestNode {
    inputs: [LogicalPlan; 2],
    /// The vectors of each input.
    vectors: [Column; 2],
    k: usize,
    /// Filters of the rows returned that are not of the queries alone.
    filters: Vec<Expr>,
    schema: DFSchemaRef,
}

impl NearestNode {
    /// Joins queries and references, each with the name of its vectors, which may be qualified by a
    /// table.
    ///
    /// # Errors
    /// A plan error if there are no such columns, if they are not vectors of one type, if `k` is 0,
    /// or if both sides have a column of one name and one table.
    pub fn try_new(
        queries: (LogicalPlan, &str),
        references: (LogicalPlan, &str),
        k: usize,
    ) -> Result<NearestNode> {
        let vectors = [
            find_column(NAME, queries.0.schema(), queries.1)?,
            find_column(NAME, references.0.schema(), references.1)?,
        ];
        Self::with_columns([queries.0, references.0], vectors, k)
    }

    /// Returns the node as a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension {
            node: Arc::new(self),
        })
    }

    fn with_columns(inputs: [LogicalPlan; 2], vectors: [Column; 2], k: usize) -> Result<Self> {
        let types = [0, 1].map(|side| data_type(inputs[side].schema(), &vectors[side]));
        let [queries, references] = types;
        let names = [vectors[0].to_string(), vectors[1].to_string()];
        check_vectors([&names[0], &names[1]], [&queries?, &references?], k)?;
        let own = |(table, field): (Option<&TableReference>, &Arc<_>)| {
            (table.cloned(), Arc::clone(field))
        };
        let of_inputs = inputs
            .iter()
            .flat_map(|input| input.schema().iter().map(own));
        let added = added_fields().map(|field| (Some(TableReference::bare(NAME)), field));
        let fields = of_inputs.chain(added).collect();
        let schema = match DFSchema::new_with_metadata(fields, Default::default()) {
            Ok(schema) => schema,
            Err(error) => {
                return Err(error.context(format!(
                    "{NAME}: both sides have a column of one name and one table: give one of them \
                     an alias"
                )));
            }
        };
        Ok(NearestNode {
            inputs,
            vectors,
            k,
            filters: Vec::new(),
            schema: Arc::new(schema),
        })
    }

    /// Returns the parameters of the physical node.
    fn parameters(&self, config: &GridstrideConfig) -> Result<NearestParameters> {
        let column = |side: usize| -> Result<VectorColumn> {
            Ok(VectorColumn {
                name: self.vectors[side].to_string(),
                index: self.inputs[side]
                    .schema()
                    .index_of_column(&self.vectors[side])?,
            })
        };
        Ok(NearestParameters {
            queries: column(0)?,
            references: column(1)?,
            k: self.k,
            device: config.device,
            batch_rows: config.batch_rows,
        })
    }
}

fn data_type(schema: &DFSchema, column: &Column) -> Result<DataType> {
    Ok(schema
        .field(schema.index_of_column(column)?)
        .data_type()
        .clone())
}

impl PartialOrd for NearestNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for NearestNode {
    fn name(&self) -> &str {
        "Nearest"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let vectors = self.vectors.iter().cloned().map(Expr::Column);
        vectors.chain(self.filters.iter().cloned()).collect()
    }

    /// [`with_exprs_and_inputs`](Self::with_exprs_and_inputs) places all filters, except those of
    /// the columns that the inputs lack: the engine simplifies the expressions of a node with the
    /// columns of its inputs.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        [RANK, DISTANCE].map(str::to_owned).into()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [queries, references] = &self.vectors;
        write!(
            f,
            "Nearest: k={}, queries={queries}, references={references}{}",
            self.k,
            volatile::display(&self.filters)
        )
    }

    fn with_exprs_and_inputs(
        &self,
        mut expressions: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> Result<NearestNode> {
        let mut filters = expressions.split_off(self.vectors.len().min(expressions.len()));
        // Without a reference, another one would be found instead.
        let may_filter = [true, false];
        let before = self.inputs.each_ref();
        filters.extend(volatile::place(&mut inputs, &before, &may_filter)?);
        let (Ok([Expr::Column(query), Expr::Column(reference)]), Ok(inputs)) =
            (<[_; 2]>::try_from(expressions), <[_; 2]>::try_from(inputs))
        else {
            return plan_err!("{NAME} takes two inputs, each with a column");
        };
        let node = NearestNode::with_columns(inputs, [query, reference], self.k)?;
        Ok(NearestNode { filters, ..node })
    }

    /// Columns that are not used later are not read, except the vectors.
    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let columns = self
            .inputs
            .each_ref()
            .map(|input| input.schema().fields().len());
        let queries = output_columns
            .iter()
            .copied()
            .filter(|column| *column < columns[0]);
        let references = output_columns.iter().filter_map(|column| {
            let column = column.checked_sub(columns[0])?;
            (column < columns[1]).then_some(column)
        });
        Some(vec![queries.collect(), references.collect()])
    }
}

#[async_trait]
impl PlannedNode for NearestNode {
    async fn plan(
        &self,
        inputs: &[Arc<dyn ExecutionPlan>],
        planning: &Planning<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [queries, references] = inputs else {
            return internal_err!("{NAME} has two inputs");
        };
        let parameters =
            self.parameters(&GridstrideConfig::of(planning.session.config_options()))?;
        let (queries, references) = (Arc::clone(queries), Arc::clone(references));
        Ok(Arc::new(NearestExec::try_new(
            parameters, queries, references,
        )?))
    }

    fn filters(&self) -> &[Expr] {
        &self.filters
    }
}

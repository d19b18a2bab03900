//! The columns of a join: which column of which input each is.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::{ColumnIndex, build_join_schema};

use super::parameters::BoxOverlapParameters;

/// The name of the column of [`state`](super::output::state).
const STATE: &str = "box_overlap_state";

/// The columns of a join.
#[derive(Clone, Debug)]
pub struct Columns {
    /// All columns: the users', and the state of rows if a
    /// [`BoxMatchExec`](super::BoxMatchExec) is to decide about them.
    pub schema: SchemaRef,
    /// The users' columns.
    pub users: Arc<[ColumnIndex]>,
    /// Whether there is a column of states.
    pub with_state: bool,
}

impl Columns {
    /// Returns the columns of a join of two inputs: without their bins, and only those of the
    /// projection.
    pub fn new(
        parameters: &BoxOverlapParameters,
        left: &Schema,
        right: &Schema,
    ) -> Result<Columns> {
        let users = |schema: &Schema| {
            let columns = parameters.user_columns(schema.fields().len());
            let fields = schema.fields()[..columns].to_vec();
            Schema::new_with_metadata(fields, schema.metadata().clone())
        };
        let join = parameters.join.into();
        let (mut schema, mut indices) = build_join_schema(&users(left), &users(right), &join);
        let with_state = parameters.with_state();
        if let Some(projection) = &parameters.projection {
            if with_state {
                return internal_err!("BoxOverlapExec: BoxMatchExec needs all columns");
            }
            schema = schema.project(projection)?;
            indices = projection.iter().map(|&i| indices[i].clone()).collect();
        }
        if with_state {
            let state = Arc::new(Field::new(STATE, DataType::UInt8, false));
            let fields: Vec<_> = schema.fields().iter().cloned().chain([state]).collect();
            schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        }
        Ok(Columns {
            schema: Arc::new(schema),
            users: indices.into(),
            with_state,
        })
    }
}

/// Returns an input's column of bins, the last.
pub fn bin_column(input: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn PhysicalExpr>> {
    let schema = input.schema();
    let last = schema.fields().len().checked_sub(1);
    match last.map(|index| (index, schema.field(index))) {
        Some((index, field)) if *field.data_type() == DataType::Int32 => {
            Ok(Arc::new(Column::new(field.name(), index)))
        }
        _ => internal_err!("BoxOverlapExec: an input has no column of bins"),
    }
}

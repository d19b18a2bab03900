//! The parameters of a plan node, and the types of its columns.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use serde::{Deserialize, Serialize};

use crate::config::DeviceName;

/// The name of the column of ranks, which count from 1.
pub(super) const RANK: &str = "rank";
/// The name of the column of distances.
pub(super) const DISTANCE: &str = "distance";

/// The name of the function and of the plan's node in messages.
pub(super) const NAME: &str = "nearest";
/// The name of the plan node in EXPLAIN and in errors.
pub(super) const EXEC_NAME: &str = "NearestExec";

/// All parameters of a [`NearestExec`](super::NearestExec), in a form that can be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearestParameters {
    /// The vectors of the queries, the left input.
    pub queries: VectorColumn,
    /// The vectors of the references, the right input.
    pub references: VectorColumn,
    /// The number of references to find for each query, at least 1.
    pub k: usize,
    /// The device on which the library computes.
    pub device: DeviceName,
    /// The number of rows of the result of a call of the library.
    pub batch_rows: usize,
}

/// A column of vectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VectorColumn {
    /// The user's name of the column, for messages.
    pub name: String,
    /// The index of the column in its input.
    pub index: usize,
}

impl NearestParameters {
    /// Returns the columns of the result.
    ///
    /// # Errors
    /// A plan error if `k` is 0, or if the columns are not vectors of the same type.
    pub(super) fn output_schema(&self, queries: &Schema, references: &Schema) -> Result<SchemaRef> {
        let field = |schema: &Schema, column: &VectorColumn| match schema.fields.get(column.index) {
            Some(field) => Ok(field.data_type().clone()),
            None => plan_err!("{NAME}: there is no column {}", column.name),
        };
        let query = field(queries, &self.queries)?;
        let reference = field(references, &self.references)?;
        check_vectors(
            [&self.queries.name, &self.references.name],
            [&query, &reference],
            self.k,
        )?;
        let columns = queries.fields().iter().chain(references.fields()).cloned();
        Ok(Arc::new(Schema::new(
            columns.chain(added_fields()).collect::<Vec<_>>(),
        )))
    }

    /// Whether the vectors consist of Float64.
    pub(super) fn is_double(&self, queries: &Schema) -> bool {
        match queries.field(self.queries.index).data_type() {
            DataType::FixedSizeList(item, _) => item.data_type() == &DataType::Float64,
            _ => false,
        }
    }
}

/// Refuses a `k` of 0, and columns that are not vectors of the same type.
pub(super) fn check_vectors(names: [&str; 2], types: [&DataType; 2], k: usize) -> Result<()> {
    if k == 0 || i32::try_from(k).is_err() {
        return plan_err!("{NAME}: k is {k}, not a number from 1 to {}", i32::MAX);
    }
    for (name, data_type) in names.iter().zip(types) {
        let is_vector = match data_type {
            DataType::FixedSizeList(item, length) => {
                matches!(item.data_type(), DataType::Float32 | DataType::Float64) && *length > 0
            }
            _ => false,
        };
        if !is_vector {
            return plan_err!(
                "{NAME}: the column {name} has the type {data_type}, and not FixedSizeList of \
                 Float32 or Float64: arrow_cast(list, 'FixedSizeList(96, Float32)') converts a \
                 list of 96 numbers"
            );
        }
    }
    let of_item = |data_type: &DataType| match data_type {
        DataType::FixedSizeList(item, length) => (item.data_type().clone(), *length),
        other => (other.clone(), 0),
    };
    if of_item(types[0]) != of_item(types[1]) {
        return plan_err!(
            "{NAME}: the column {} has the type {}, but {} has {}: vectors need the same dimension \
             and type of numbers",
            names[0],
            types[0],
            names[1],
            types[1]
        );
    }
    Ok(())
}

/// Returns the columns after those of the tables.
pub(super) fn added_fields() -> [Arc<Field>; 2] {
    [
        Arc::new(Field::new(RANK, DataType::Int32, false)),
        Arc::new(Field::new(DISTANCE, DataType::Float64, false)),
    ]
}

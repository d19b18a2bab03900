//! The columns of boxes, and the types of boxes.

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{Result, plan_err};
use serde::{Deserialize, Serialize};

/// The name of the function in messages.
pub(super) const NAME: &str = "box_overlap";

/// The columns of one table's boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxColumns {
    /// The table's name, for messages.
    pub table: String,
    /// The positions of the columns in the input: one of type `FixedSizeList`, or 4 or 6 of
    /// numbers.
    pub columns: Vec<usize>,
}

/// The type of boxes: that of their coordinates, and the number of coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxType {
    /// `Float32`, `Float64` or `Int32`.
    pub coordinate: DataType,
    /// 4 or 6.
    pub width: usize,
}

impl BoxType {
    /// Returns the type of boxes in the columns of these fields. Columns of other types of numbers, or of
    /// several, are `Float64`.
    ///
    /// # Errors
    /// A plan error if the columns are no boxes.
    pub fn of(table: &str, fields: &[&Field]) -> Result<BoxType> {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let names = names.join(", ");
        let (coordinate, width) = match fields {
            [field] => match field.data_type() {
                DataType::FixedSizeList(item, width) => (item.data_type(), *width as usize),
                other => {
                    return plan_err!(
                        "box_overlap: column {names} of {table} is {other}, but boxes are a \
                         FixedSizeList of 4 or 6 Float32, Float64 or Int32, or 4 or 6 columns of \
                         numbers; arrow_cast({names}, 'FixedSizeList(6, Float32)') \
                         converts lists"
                    );
                }
            },
            [first, ..] => {
                let is_number =
                    |data_type: &DataType| data_type.is_numeric() || data_type.is_null();
                if let Some(other) = fields.iter().find(|field| !is_number(field.data_type())) {
                    return plan_err!(
                        "box_overlap: column {} of {table} is {}, and has to be a number: cast it in a view",
                        other.name(),
                        other.data_type()
                    );
                }
                let same = first.data_type();
                let is_kept =
                    is_coordinate(same) && fields.iter().all(|field| field.data_type() == same);
                (
                    if is_kept { same } else { &DataType::Float64 },
                    fields.len(),
                )
            }
            [] => return plan_err!("box_overlap: no columns of boxes are named for {table}"),
        };
        if !is_coordinate(coordinate) {
            return plan_err!(
                "box_overlap: the boxes of {table} (columns: {names}) are of {coordinate}; cast \
                 them to Float32, Float64 or Int32"
            );
        }
        if width != 4 && width != 6 {
            return plan_err!(
                "box_overlap: the boxes of {table} (columns: {names}) have {width} numbers, but a \
                 box has 6, minX, minY, minZ, maxX, maxY, maxZ, or 4, without Z"
            );
        }
        Ok(BoxType {
            coordinate: coordinate.clone(),
            width,
        })
    }
}

/// Whether the library takes coordinates of this type.
fn is_coordinate(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Float32 | DataType::Float64 | DataType::Int32
    )
}

impl BoxColumns {
    /// Returns the type of the boxes.
    ///
    /// # Errors
    /// A plan error if the columns are no boxes, or are not in the schema.
    pub fn box_type(&self, schema: &Schema) -> Result<BoxType> {
        let mut fields = Vec::with_capacity(self.columns.len());
        for &column in &self.columns {
            let Some(field) = schema.fields().get(column) else {
                return plan_err!("box_overlap: {} has no column {column}", self.table);
            };
            fields.push(field.as_ref());
        }
        BoxType::of(&self.table, &fields)
    }

    /// Returns whether the limits of y are called as those of images, bottom and top.
    pub fn are_of_image(&self, schema: &Schema) -> bool {
        let axes = self.columns.len() / 2;
        let name = |place: usize| schema.field(self.columns[place]).name();
        axes > 1 && files::boxes::are_of_image(name(1), name(1 + axes))
    }

    /// Returns `table[column, …]`, for EXPLAIN.
    pub fn describe(&self, schema: &Schema) -> String {
        let names: Vec<&str> = self
            .columns
            .iter()
            .map(|&column| schema.field(column).name().as_str())
            .collect();
        format!("{}[{}]", self.table, names.join(", "))
    }
}

/// Fails unless the boxes of two tables have the same type.
pub fn require_same_type([(left, a), (right, b)]: [(&str, &BoxType); 2]) -> Result<()> {
    if a == b {
        return Ok(());
    }
    plan_err!(
        "box_overlap: the boxes of {left} have {} numbers of {}, those of {right} have {} of {}: cast \
         one of them",
        a.width,
        a.coordinate,
        b.width,
        b.coordinate
    )
}

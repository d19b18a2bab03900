//! Boxes in Arrow columns, as the views that the library takes.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, RecordBatch};
use datafusion::arrow::buffer::{NullBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{
    ArrowNativeType, DataType, Float32Type, Float64Type, Int32Type, Schema,
};
use datafusion::common::{Result, exec_err};
use gridstride::box_overlap::Coordinate;
use gridstride::ndarray::ArrayView2;

use super::box_type::{BoxColumns, NAME};
use crate::exact::to_float64;

/// A type of coordinates in Arrow and in the library: `f32`, `f64` or `i32`.
pub trait ArrowCoordinate: Coordinate + ArrowNativeType + PartialOrd + Into<f64> {
    /// The Arrow type.
    type Arrow: ArrowPrimitiveType<Native = Self>;
}

impl ArrowCoordinate for f32 {
    type Arrow = Float32Type;
}

impl ArrowCoordinate for f64 {
    type Arrow = Float64Type;
}

impl ArrowCoordinate for i32 {
    type Arrow = Int32Type;
}

/// The boxes of a batch, whatever the type of their coordinates.
#[derive(Clone, Debug)]
pub enum AnyBoxes {
    /// `Float32`.
    F32(Boxes<f32>),
    /// `Float64`.
    F64(Boxes<f64>),
    /// `Int32`.
    I32(Boxes<i32>),
}

/// Evaluates an expression over the [`Boxes`] in [`AnyBoxes`].
macro_rules! with_boxes {
    ($any:expr, $boxes:ident => $body:expr) => {
        match $any {
            AnyBoxes::F32($boxes) => $body,
            AnyBoxes::F64($boxes) => $body,
            AnyBoxes::I32($boxes) => $body,
        }
    };
}
pub(super) use with_boxes;

impl AnyBoxes {
    /// As [`Boxes::new`], for coordinates of the column's type.
    ///
    /// # Errors
    /// The errors of [`Boxes::new`].
    pub fn new(columns: &BoxColumns, batch: &RecordBatch, first_row: u64) -> Result<AnyBoxes> {
        let coordinate = columns.box_type(batch.schema_ref())?.coordinate;
        Ok(match coordinate {
            DataType::Float32 => AnyBoxes::F32(Boxes::new(columns, batch, first_row)?),
            DataType::Float64 => AnyBoxes::F64(Boxes::new(columns, batch, first_row)?),
            _ => AnyBoxes::I32(Boxes::new(columns, batch, first_row)?),
        })
    }

    /// Returns the bytes of memory that the boxes take beyond the batch.
    pub fn copied_bytes(&self) -> usize {
        with_boxes!(self, boxes => boxes.copied_bytes())
    }
}

/// The boxes of a batch that are not null, row by row without gaps.
#[derive(Clone, Debug)]
pub struct Boxes<T: ArrowCoordinate> {
    numbers: ScalarBuffer<T>,
    width: usize,
    /// Whether the numbers are a copy of those in the batch.
    copied: bool,
    /// The rows of the batch that have the boxes, or `None` if all rows have boxes.
    rows: Option<Vec<u32>>,
}

impl<T: ArrowCoordinate> Boxes<T> {
    /// Returns the boxes of a batch. A `FixedSizeList` column without nulls is not copied; columns
    /// of numbers are interleaved, and null boxes are left out.
    ///
    /// `first_row` is the number of the batch's first row, for messages.
    ///
    /// # Errors
    /// An execution error for a box with NaN, or with a minimum above its maximum.
    pub fn new(columns: &BoxColumns, batch: &RecordBatch, first_row: u64) -> Result<Self> {
        let arrays: Vec<&ArrayRef> = columns.columns.iter().map(|&i| batch.column(i)).collect();
        let (numbers, width, nulls) = match arrays[..] {
            [list] => list_of_boxes::<T>(list)?,
            _ => interleaved::<T>(columns, batch)?,
        };
        let boxes = match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => Boxes {
                numbers,
                width,
                copied: arrays.len() > 1,
                rows: None,
            },
            Some(nulls) => {
                let rows: Vec<u32> = nulls.valid_indices().map(|row| row as u32).collect();
                let valid = rows
                    .iter()
                    .flat_map(|&row| &numbers[row as usize * width..][..width]);
                Boxes {
                    numbers: valid.copied().collect(),
                    width,
                    copied: true,
                    rows: Some(rows),
                }
            }
        };
        boxes.check(columns, batch.schema_ref(), first_row)?;
        Ok(boxes)
    }

    /// Returns the number of boxes.
    pub fn len(&self) -> usize {
        self.numbers.len() / self.width
    }

    /// Returns the view that the library takes: one row a box.
    pub fn view(&self) -> ArrayView2<'_, T> {
        ArrayView2::from_shape((self.len(), self.width), &self.numbers).expect("whole rows")
    }

    /// Returns the numbers of all boxes.
    pub fn numbers(&self) -> &[T] {
        &self.numbers
    }

    /// Returns the numbers of a box.
    pub fn get(&self, index: usize) -> &[T] {
        &self.numbers[index * self.width..][..self.width]
    }

    /// Returns the row of the batch that has box `index`.
    pub fn row(&self, index: usize) -> u32 {
        match &self.rows {
            Some(rows) => rows[index],
            None => index as u32,
        }
    }

    /// Returns the bytes of memory that the boxes take beyond the batch.
    pub fn copied_bytes(&self) -> usize {
        let numbers = if self.copied {
            size_of_val(&self.numbers[..])
        } else {
            0
        };
        numbers + self.rows.as_ref().map_or(0, |rows| 4 * rows.len())
    }

    fn check(&self, columns: &BoxColumns, schema: &Schema, first_row: u64) -> Result<()> {
        for index in 0..self.len() {
            let (minima, maxima) = self.get(index).split_at(self.width / 2);
            for (axis, (min, max)) in minima.iter().zip(maxima).enumerate() {
                if min <= max {
                    continue;
                }
                let row = first_row + u64::from(self.row(index));
                let what = match min.partial_cmp(max) {
                    None => {
                        format!("the minimum is {min:?} and the maximum {max:?}: NaN is no limit")
                    }
                    Some(_) => format!("the minimum {min:?} is above the maximum {max:?}"),
                };
                let remedy = match columns.are_of_image(schema) && axis == 1 {
                    true => {
                        "; if y grows downwards, as in images, exchange the columns top and bottom"
                    }
                    false => "",
                };
                return exec_err!(
                    "box_overlap: row {row} of the partition of {} is no box: along {} {what}{remedy}",
                    columns.describe(schema),
                    ["x", "y", "z"][axis]
                );
            }
        }
        Ok(())
    }
}

type Rows<T> = (ScalarBuffer<T>, usize, Option<NullBuffer>);

fn list_of_boxes<T: ArrowCoordinate>(array: &ArrayRef) -> Result<Rows<T>> {
    let Some(list) = array.as_fixed_size_list_opt() else {
        return exec_err!("box_overlap: a column of boxes is {}", array.data_type());
    };
    let width = list.value_length() as usize;
    let values = list.values().as_primitive::<T::Arrow>();
    let nulls = NullBuffer::union(list.nulls(), complete(values.nulls(), width).as_ref());
    Ok((values.values().clone(), width, nulls))
}

/// Returns which boxes have no null among their numbers.
fn complete(numbers: Option<&NullBuffer>, width: usize) -> Option<NullBuffer> {
    let numbers = numbers.filter(|nulls| nulls.null_count() > 0)?;
    let complete = |row: usize| (row * width..(row + 1) * width).all(|i| numbers.is_valid(i));
    let rows = numbers.len() / width;
    Some(NullBuffer::from_iter((0..rows).map(complete)))
}

fn interleaved<T: ArrowCoordinate>(columns: &BoxColumns, batch: &RecordBatch) -> Result<Rows<T>> {
    let width = columns.columns.len();
    let converted = columns.columns.iter().map(|&place| {
        let column = batch.column(place);
        match *column.data_type() == T::Arrow::DATA_TYPE {
            true => Ok(Arc::clone(column)),
            // Of several types, or of none of the library's.
            false => to_float64(column, batch.schema_ref().field(place).name())
                .map_err(|error| error.context(format!("{NAME}: {}", columns.table))),
        }
    });
    let converted = converted.collect::<Result<Vec<_>>>()?;
    let columns: Vec<_> = converted
        .iter()
        .map(|column| column.as_primitive::<T::Arrow>())
        .collect();
    let mut numbers = vec![T::default(); columns[0].len() * width];
    for (offset, column) in columns.iter().enumerate() {
        let places = numbers.iter_mut().skip(offset).step_by(width);
        for (place, &number) in places.zip(column.values()) {
            *place = number;
        }
    }
    let nulls = columns
        .iter()
        .fold(None, |nulls: Option<NullBuffer>, column| {
            NullBuffer::union(nulls.as_ref(), column.nulls())
        });
    Ok((numbers.into(), width, nulls))
}

#[cfg(test)]
mod tests;

//! The function `sketch_distance`.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeListArray, PrimitiveArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

const NAME: &str = "sketch_distance";

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct SketchDistanceFunction {
    signature: Signature,
}

impl SketchDistanceFunction {
    pub fn new() -> SketchDistanceFunction {
        SketchDistanceFunction {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for SketchDistanceFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [a, b] = types else {
            return plan_err!("{NAME} takes 2 arguments, and there are {}", types.len());
        };
        let null = list_of(DataType::Float32, 1);
        let both = match (a, b) {
            (DataType::Null, DataType::Null) => [&null, &null],
            (DataType::Null, other) | (other, DataType::Null) => [other, other],
            _ => [a, b],
        };
        let ((one, length), (other, other_length)) = (numbers(both[0])?, numbers(both[1])?);
        if length != other_length {
            return plan_err!(
                "{NAME}: one argument has {length} numbers, the other {other_length}: both need the \
                 same dimension"
            );
        }
        let is_double = [one, other].contains(&DataType::Float64);
        let element = if is_double {
            DataType::Float64
        } else {
            DataType::Float32
        };
        Ok(vec![list_of(element, length); 2])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(numbers(&types[0])?.0)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [a, b] = &arguments.args[..] else {
            return internal_err!("{NAME}: {} arguments", arguments.args.len());
        };
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let distances: ArrayRef = match arguments.return_type() {
            DataType::Float32 => Arc::new(distances::<Float32Type>(a, b, |sum| sum as f32)?),
            _ => Arc::new(distances::<Float64Type>(a, b, |sum| sum)?),
        };
        Ok(match is_scalar(a) && is_scalar(b) {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&distances, 0)?),
            false => ColumnarValue::Array(distances),
        })
    }
}

fn list_of(element: DataType, length: i32) -> DataType {
    DataType::FixedSizeList(Arc::new(Field::new_list_field(element, true)), length)
}

/// Returns the type and the number of a list's numbers.
fn numbers(list: &DataType) -> Result<(DataType, i32)> {
    match list {
        DataType::FixedSizeList(item, length)
            if matches!(item.data_type(), DataType::Float32 | DataType::Float64) =>
        {
            Ok((item.data_type().clone(), *length))
        }
        _ => plan_err!(
            "{NAME}: an argument has the type {list}, and not FixedSizeList of Float32 or Float64: \
             arrow_cast(list, 'FixedSizeList(96, Float32)') converts a list of 96 numbers"
        ),
    }
}

/// Returns the distance of each pair of rows; a scalar has the same list in all rows.
fn distances<T: ArrowPrimitiveType>(
    a: &ColumnarValue,
    b: &ColumnarValue,
    round: impl Fn(f64) -> T::Native,
) -> Result<PrimitiveArray<T>>
where
    T::Native: Into<f64>,
{
    let (a, b) = (Lists::new(a)?, Lists::new(b)?);
    let rows = if a.is_scalar {
        b.lists.len()
    } else {
        a.lists.len()
    };
    let distance = |row: usize| {
        let (x, y) = (a.get::<T>(row)?, b.get::<T>(row)?);
        let squares = x.iter().zip(y).map(|(&x, &y)| {
            let difference: f64 = x.into() - y.into();
            difference * difference
        });
        Some(round(squares.sum::<f64>().sqrt()))
    };
    Ok((0..rows).map(distance).collect())
}

/// An argument.
struct Lists {
    lists: FixedSizeListArray,
    is_scalar: bool,
}

impl Lists {
    fn new(value: &ColumnarValue) -> Result<Lists> {
        let (array, is_scalar) = match value {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array()?, true),
        };
        Ok(Lists {
            lists: array.as_fixed_size_list().clone(),
            is_scalar,
        })
    }

    /// Returns the numbers of a row, or `None` if it is null or has a null in it.
    fn get<T: ArrowPrimitiveType>(&self, row: usize) -> Option<&[T::Native]> {
        let row = if self.is_scalar { 0 } else { row };
        let length = self.lists.value_length() as usize;
        let numbers = self.lists.values().as_primitive::<T>();
        let has_null = || match numbers.nulls() {
            Some(nulls) => nulls.slice(row * length, length).null_count() > 0,
            None => false,
        };
        let is_known = self.lists.is_valid(row) && !has_null();
        is_known.then(|| &numbers.values()[row * length..][..length])
    }
}

//! Numbers as `Float64`, if that holds each of them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, UInt64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

const NAME: &str = "exact_float64";

/// Returns the function `exact_float64`, which converts numbers to `Float64`, and refuses integers
/// that it would round. Plans call it for their arguments.
pub(crate) fn exact_float64() -> ScalarUDF {
    ScalarUDF::new_from_impl(ExactFunction {
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactFunction {
    signature: Signature,
}

impl ScalarUDFImpl for ExactFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [number] if number.is_numeric() || number.is_null() => Ok(types.to_vec()),
            _ => plan_err!("{NAME} takes a number, and not {types:?}"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let column = arguments.arg_fields[0].name().clone();
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        Ok(ColumnarValue::Array(to_float64(&arrays[0], &column)?))
    }
}

/// Converts the numbers of a column to `Float64`.
///
/// # Errors
/// If `Float64` would round an integer, which is then named.
pub(crate) fn to_float64(numbers: &ArrayRef, column: &str) -> Result<ArrayRef> {
    let is_rounded = |&number: &i128| number as f64 as i128 != number;
    let rounded = match numbers.data_type() {
        DataType::Float64 => return Ok(Arc::clone(numbers)),
        DataType::Int64 => {
            let numbers = numbers.as_primitive::<Int64Type>().iter().flatten();
            numbers.map(i128::from).find(is_rounded)
        }
        DataType::UInt64 => {
            let numbers = numbers.as_primitive::<UInt64Type>().iter().flatten();
            numbers.map(i128::from).find(is_rounded)
        }
        _ => None,
    };
    match rounded {
        Some(number) => exec_err!(
            "column {column:?} has the integer {number}, which Float64 would round: cast the column to \
             Float64 in a view if that is meant"
        ),
        None => Ok(cast(numbers, &DataType::Float64)?),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int32Array, Int64Array, NullArray, UInt64Array};

    use super::*;

    #[test]
    fn numbers_are_converted_or_refused() {
        const EDGE: i64 = 1 << 53;
        let exact: [ArrayRef; 4] = [
            Arc::new(Int64Array::from(vec![
                Some(-EDGE),
                None,
                Some(EDGE + 2),
                Some(i64::MIN),
            ])),
            Arc::new(UInt64Array::from(vec![0, 1 << 63])),
            Arc::new(Int32Array::from(vec![i32::MAX])),
            Arc::new(NullArray::new(2)),
        ];
        for numbers in exact {
            let found = to_float64(&numbers, "x").unwrap();
            assert_eq!(found.data_type(), &DataType::Float64);
            assert_eq!(found.null_count(), numbers.logical_null_count());
        }
        let rounded: [(ArrayRef, &str); 3] = [
            (
                Arc::new(Int64Array::from(vec![1, EDGE + 1])),
                "9007199254740993",
            ),
            (
                Arc::new(Int64Array::from(vec![i64::MAX])),
                "9223372036854775807",
            ),
            (
                Arc::new(UInt64Array::from(vec![u64::MAX])),
                "18446744073709551615",
            ),
        ];
        for (numbers, number) in rounded {
            let error = to_float64(&numbers, "x").unwrap_err().strip_backtrace();
            let said = format!("column \"x\" has the integer {number}, which Float64 would round");
            assert!(error.contains(&said), "{error}");
        }
    }
}

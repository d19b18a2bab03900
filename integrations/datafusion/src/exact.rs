//! Numbers as `Float64`, if that holds each of them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, PrimitiveArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    ArrowNativeType, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, Int64Type, UInt64Type,
};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use files::points::value::{MAX_EXACT, is_exact, is_rounded};

const NAME: &str = "exact_float64";

/// Returns the function `exact_float64`, which converts numbers to `Float64`, and refuses numbers from
/// 2⁵³ on that it would round. Plans call it for their arguments.
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

/// Converts the numbers of a column to `Float64`. Decimals below 2⁵³ become the nearest `Float64`, as
/// their texts in a CSV file do.
///
/// # Errors
/// If `Float64` would round an integer, or a decimal from 2⁵³ on, which is then named.
pub(crate) fn to_float64(numbers: &ArrayRef, column: &str) -> Result<ArrayRef> {
    let is_inexact = |&number: &i128| !is_exact(number);
    let refuse = |number: String| {
        exec_err!(
            "column {column:?} has the {number}, which Float64 would round: cast the column to Float64 in a \
             view if that is meant"
        )
    };
    macro_rules! decimals {
        ($type:ty) => {
            from_decimals(numbers.as_primitive::<$type>())
                .or_else(|decimal| refuse(format!("decimal {decimal}")))
        };
    }
    let rounded = match numbers.data_type() {
        DataType::Float64 => return Ok(Arc::clone(numbers)),
        DataType::Decimal32(..) => return decimals!(Decimal32Type),
        DataType::Decimal64(..) => return decimals!(Decimal64Type),
        DataType::Decimal128(..) => return decimals!(Decimal128Type),
        DataType::Decimal256(..) => return decimals!(Decimal256Type),
        DataType::Int64 => {
            let numbers = numbers.as_primitive::<Int64Type>().iter().flatten();
            numbers.map(i128::from).find(is_inexact)
        }
        DataType::UInt64 => {
            let numbers = numbers.as_primitive::<UInt64Type>().iter().flatten();
            numbers.map(i128::from).find(is_inexact)
        }
        _ => None,
    };
    match rounded {
        Some(number) => refuse(format!("integer {number}")),
        None => Ok(cast(numbers, &DataType::Float64)?),
    }
}

/// Returns the nearest `Float64` of each decimal, or the first that is 2⁵³ or more and rounded.
fn from_decimals<T: DecimalType>(decimals: &PrimitiveArray<T>) -> Result<ArrayRef, String> {
    let scale = i32::from(decimals.scale());
    let power = (0..=22).contains(&scale).then(|| 10f64.powi(scale));
    let numbers = (0..decimals.len()).map(|row| {
        if decimals.is_null(row) {
            return Ok(None);
        }
        // The nearest, since both the digits and the power of ten are exact.
        if let (Some(digits), Some(power)) = (decimals.value(row).to_i64(), power)
            && digits.unsigned_abs() <= MAX_EXACT as u64
        {
            return Ok(Some(digits as f64 / power));
        }
        let text = decimals.value_as_string(row);
        let number = text.parse::<f64>().map_err(|_| text.clone())?;
        match is_rounded(text.as_bytes(), number) {
            true => Err(text),
            false => Ok(Some(number)),
        }
    });
    let numbers = numbers.collect::<Result<Float64Array, _>>()?;
    Ok(Arc::new(numbers))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{
        Decimal128Array, Int32Array, Int64Array, NullArray, UInt64Array,
    };
    use datafusion::arrow::datatypes::Float64Type;

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
        let decimal = |digits: i128, scale| -> ArrayRef {
            let digits = Decimal128Array::from(vec![None, Some(digits)]);
            Arc::new(digits.with_precision_and_scale(38, scale).unwrap())
        };
        // The digits of 1/3 are more than an `i64` has.
        let third = 333_333_333_333_333_333_333_333_333_333;
        for (decimals, number) in [
            (decimal(1, 1), 0.1),
            (decimal(-1_234_567, 3), -1234.567),
            (decimal(third, 30), 1.0 / 3.0),
            (
                decimal(12_345_678_901_234_567_890, 20),
                "0.12345678901234567890".parse().unwrap(),
            ),
            (decimal(i128::from(EDGE + 2) * 1000, 3), (EDGE + 2) as f64),
            (decimal(5, -3), 5000.0),
            (
                cast(&decimal(15, 1), &DataType::Decimal32(9, 1)).unwrap(),
                1.5,
            ),
            (
                cast(&decimal(15, 1), &DataType::Decimal64(18, 1)).unwrap(),
                1.5,
            ),
            (
                cast(&decimal(15, 1), &DataType::Decimal256(76, 40)).unwrap(),
                1.5,
            ),
        ] {
            let found = to_float64(&decimals, "x").unwrap();
            let expected = Float64Array::from(vec![None, Some(number)]);
            assert_eq!(found.as_primitive::<Float64Type>(), &expected);
        }
        let wide = cast(
            &decimal(i128::from(EDGE + 1), 0),
            &DataType::Decimal256(76, 40),
        )
        .unwrap();
        let all_digits = decimal(10i128.pow(38) - 1, 0);
        for (decimals, number) in [
            (decimal(i128::from(EDGE + 1), 0), "9007199254740993"),
            (
                decimal(i128::from(EDGE) * 100 + 5, 2),
                "9007199254740992.05",
            ),
            (
                wide,
                "9007199254740993.0000000000000000000000000000000000000000",
            ),
            (all_digits, "99999999999999999999999999999999999999"),
        ] {
            let error = to_float64(&decimals, "x").unwrap_err().strip_backtrace();
            let said = format!("column \"x\" has the decimal {number}, which Float64 would round");
            assert!(error.contains(&said), "{error}");
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

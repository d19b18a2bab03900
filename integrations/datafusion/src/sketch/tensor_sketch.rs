//! The function `tensor_sketch`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, FixedSizeListArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float32Type};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use files::sequences::{Needed, Short};
use gridstride::ndarray::Array2;
use gridstride::tensor_sketch::Sequences;

use super::letters;
use super::parameters::{NAME, Parameters};
use crate::arrow::into_list;
use crate::config::{self, GridstrideConfig};
use crate::error::external;

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct TensorSketchFunction {
    signature: Signature,
}

impl TensorSketchFunction {
    pub fn new() -> TensorSketchFunction {
        TensorSketchFunction {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for TensorSketchFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if !(4..=6).contains(&types.len()) {
            return plan_err!(
                "{NAME} takes 4 to 6 arguments, and there are {}: \
                 {NAME}(sequence, dim, tuple, seed[, alphabet[, options]])",
                types.len()
            );
        }
        let sequence = match &types[0] {
            DataType::Null => DataType::Utf8,
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            other => other.clone(),
        };
        if !letters::is_sequence(&sequence) {
            return plan_err!(
                "{NAME}: argument 1, sequence, has the type {}, and not text or bytes",
                types[0]
            );
        }
        // Literals keep their types: a cast around them would hide their values.
        Ok([&[sequence], &types[1..]].concat())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("{NAME}: the type depends on the values of arguments")
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> Result<FieldRef> {
        let parameters =
            Parameters::parse(arguments.scalar_arguments.get(1..).unwrap_or_default())?;
        let item = Arc::new(Field::new_list_field(DataType::Float32, true));
        let list = DataType::FixedSizeList(item, parameters.dim as i32);
        let is_nullable = arguments.arg_fields[0].is_nullable();
        Ok(Arc::new(Field::new(NAME, list, is_nullable)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let literals = arguments.args[1..].iter().map(|argument| match argument {
            ColumnarValue::Scalar(value) => Some(value),
            ColumnarValue::Array(_) => None,
        });
        let parameters = Parameters::parse(&literals.collect::<Vec<_>>())?;
        let sketch = |column: &ArrayRef| sketch(column, &parameters, &arguments.config_options);
        Ok(match &arguments.args[0] {
            ColumnarValue::Array(column) => ColumnarValue::Array(Arc::new(sketch(column)?)),
            ColumnarValue::Scalar(value) => {
                let sketches = sketch(&value.to_array()?)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&sketches, 0)?)
            }
        })
    }
}

/// Sketches the rows of a column in one call of the library.
fn sketch(
    column: &ArrayRef,
    parameters: &Parameters,
    options: &ConfigOptions,
) -> Result<FixedSizeListArray> {
    let device = config::open(GridstrideConfig::of(options).device).map_err(external(NAME))?;
    let sequences = letters::encode(column, parameters)?;
    let nulls = column.logical_nulls();
    warn_of_short(&sequences, nulls.as_ref(), parameters.tuple);
    let turn = config::turn(&device);
    let sketches = parameters.sketcher()?.sketch(&device, &sequences);
    drop(turn);
    let sketches = sketches.map_err(external(NAME))?;
    Ok(match nulls {
        Some(nulls) if nulls.null_count() > 0 => scatter(&sketches, nulls),
        _ => into_list::<Float32Type>(sketches, None),
    })
}

/// Says in the log which sequences have no tuple.
fn warn_of_short(sequences: &Sequences, nulls: Option<&NullBuffer>, tuple: usize) {
    let row = |index: usize| match nulls {
        Some(nulls) => nulls.valid_indices().nth(index).unwrap_or(index),
        None => index,
    };
    let short = Short::of(sequences.lengths(), tuple, |index| {
        format!("row {} of a batch", row(index))
    });
    if let Some(sentence) = short.sentence(Needed::Tuple(tuple), sequences.len() as u64) {
        log::warn!("{NAME}: {sentence}");
    }
}

/// Puts the sketches of the rows that are not null in their places.
fn scatter(sketches: &Array2<f32>, nulls: NullBuffer) -> FixedSizeListArray {
    let mut all = Array2::zeros((nulls.len(), sketches.ncols()));
    for (row, sketch) in nulls.valid_indices().zip(sketches.rows()) {
        all.row_mut(row).assign(&sketch);
    }
    into_list::<Float32Type>(all, Some(nulls))
}

//! Errors of the library in those of the engine.

use datafusion::common::{DataFusionError, Result, plan_err};
use gridstride::Choice;

/// An error of the library, with the name of the operator or function that called it.
///
/// It is inside a [`DataFusionError::External`]: downcast to read the library's error.
#[derive(Debug, thiserror::Error)]
#[error("{operator}: {error}")]
pub struct OperatorError {
    /// The operator's name in EXPLAIN, or the function's name in SQL.
    pub operator: &'static str,
    /// The library's error.
    pub error: gridstride::Error,
}

/// Returns the engine's error for an error of the library in an operator.
pub(crate) fn external(
    operator: &'static str,
) -> impl Fn(gridstride::Error) -> DataFusionError + Copy {
    move |error| DataFusionError::External(Box::new(OperatorError { operator, error }))
}

/// Returns the value of an option that a text names. `function` is for the message.
pub(crate) fn choice<C: Choice>(function: &str, text: &str) -> Result<C> {
    match C::of_name(text) {
        Some(value) => Ok(value),
        None => plan_err!("{function}: {}", C::refusal(text)),
    }
}

/// Returns the sentence of an error about an argument, without the name of the library's function.
pub(crate) fn message(error: gridstride::Error) -> String {
    match error {
        gridstride::Error::InvalidInput { message, .. } => message,
        other => other.to_string(),
    }
}

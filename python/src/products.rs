//! Code of products of host arrays and of device arrays.

use numpy::PyArrayDescr;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::number::Number;

pub const MATMUL: &str = "matmul";

/// The dtypes of factors.
pub const DTYPES: [&str; 4] = ["float32", "float64", "float16", "bfloat16"];

/// Calls a function with the numbers of axes of a product's factors. A matrix beside a batch is a batch
/// of one.
macro_rules! by_axes {
    ($operation:expr, $product:ident, $compute:ident::<$t:ty, $c:ty>($py:expr)) => {{
        use gridstride::ndarray::{Ix1, Ix2, Ix3};

        match ($product.a.axes(), $product.b.axes()) {
            (3, 2) => $product.b.batch_of_one()?,
            (2, 3) => $product.a.batch_of_one()?,
            _ => (),
        }
        match ($product.a.axes(), $product.b.axes()) {
            (2, 2) => $compute::<$t, $c, Ix2, Ix2>($py, $product),
            (2, 1) => $compute::<$t, $c, Ix2, Ix1>($py, $product),
            (1, 2) => $compute::<$t, $c, Ix1, Ix2>($py, $product),
            (3, 3) => $compute::<$t, $c, Ix3, Ix3>($py, $product),
            (of_a, of_b) => Err(pyo3::exceptions::PyValueError::new_err(format!(
                "{}: a has {of_a} axes and b has {of_b}: possible are matrices, batches of matrices with 3 \
                 axes, and a matrix and a vector",
                $operation
            ))),
        }
    }};
}
pub(crate) use by_axes;

/// Fails if the `dtype` of the result is not `C`, the dtype of `out` if there is one.
pub fn require_dtype<T: Number, C: Number>(
    dtype: Option<&Bound<'_, PyArrayDescr>>,
    has_out: bool,
) -> PyResult<()> {
    let Some(dtype) = dtype else {
        return Ok(());
    };
    if C::is(dtype) {
        return Ok(());
    }
    let message = match has_out {
        true => format!(
            "{MATMUL}: dtype is {dtype}, but out has the dtype {}",
            C::NAME
        ),
        false if T::NAME == C::NAME => {
            format!(
                "{MATMUL}: the dtype of the result is {dtype}, but has to be {}",
                C::NAME
            )
        }
        false => format!(
            "{MATMUL}: the dtype of the result is {dtype}, but possible for factors of {} are {} and {}",
            T::NAME,
            C::NAME,
            T::NAME
        ),
    };
    Err(PyTypeError::new_err(message))
}

/// Returns the number of multiplications in a product of factors with these shapes.
pub fn multiplications(a: &[usize], b: &[usize]) -> f64 {
    let elements = |shape: &[usize]| shape.iter().product::<usize>() as f64;
    let rows = a.iter().rev().nth(1).copied().unwrap_or(1);
    let columns = if b.len() > 1 { b[b.len() - 1] } else { 1 };
    // One of the factors has all matrices of the batch.
    (elements(a) * columns as f64).max(elements(b) * rows as f64)
}

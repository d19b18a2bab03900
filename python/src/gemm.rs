//! Products that are added to a matrix.

use gridstride::Device;
use gridstride::half::{bf16, f16};
use gridstride::matmul::{MatMul, MatrixDimension, ResultIn, Scalar};
use gridstride::ndarray::{Dimension, Ix1, Ix2, Ix3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{Argument, Input, Memory, Number, Outcome, Output, by_dtype};
use crate::call::call;
use crate::device::Devices;
use crate::error::choice;
use crate::matmul::multiplications;

const GEMM: &str = "gemm";

/// The matrices and options of a call.
struct Product<'a, 'py> {
    a: Argument<'py>,
    b: Argument<'py>,
    /// Written.
    c: &'a Bound<'py, PyAny>,
    alpha: f64,
    beta: f64,
    options: MatMul,
    devices: Vec<Device>,
}

#[pyfunction]
#[pyo3(signature = (a, b, c, *, alpha, beta, precision, device))]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub fn gemm(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    c: &Bound<'_, PyAny>,
    alpha: f64,
    beta: f64,
    precision: &str,
    device: Option<Devices>,
) -> PyResult<Py<PyAny>> {
    let product = Product {
        a: Argument::new(GEMM, "a", a)?,
        b: Argument::new(GEMM, "b", b)?,
        c,
        alpha,
        beta,
        options: MatMul::new().precision(choice(GEMM, precision)?),
        devices: Devices::of(py, device),
    };
    by_dtype!(
        product.a,
        [f32, f64, f16, bf16],
        with_factors_of(py, product)
    )
}

/// Chooses the dtype of C: that of the factors, or that of the sums.
fn with_factors_of<T>(py: Python<'_>, product: Product<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar<Sum: Number> + ResultIn<T>,
{
    let c = Argument::new(GEMM, "c", product.c)?;
    if c.has::<T>() {
        return with_result_of::<T, T>(py, product);
    }
    if c.has::<T::Sum>() {
        return with_result_of::<T, T::Sum>(py, product);
    }
    Err(c.wrong_dtype(&[<T as Number>::NAME, <T::Sum as Number>::NAME]))
}

fn with_result_of<T, C>(py: Python<'_>, product: Product<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar + ResultIn<C>,
    C: Number + gridstride::Number,
{
    let (a, b, out) = (&product.a, &product.b, Memory::of_out(Some(product.c)));
    let out = out.as_ref();
    match (a.axes(), b.axes()) {
        (2, 2) => compute::<T, C, Ix2, Ix2>(py, a.input(out)?, b.input(out)?, product),
        (2, 1) => compute::<T, C, Ix2, Ix1>(py, a.input(out)?, b.input(out)?, product),
        (1, 2) => compute::<T, C, Ix1, Ix2>(py, a.input(out)?, b.input(out)?, product),
        (3, 3) => compute::<T, C, Ix3, Ix3>(py, a.input(out)?, b.input(out)?, product),
        (3, 2) => {
            let b = b.input::<T, Ix2>(out)?.batch_of_one();
            compute::<T, C, Ix3, Ix3>(py, a.input(out)?, b, product)
        }
        (2, 3) => {
            let a = a.input::<T, Ix2>(out)?.batch_of_one();
            compute::<T, C, Ix3, Ix3>(py, a, b.input(out)?, product)
        }
        (axes_of_a, axes_of_b) => Err(PyValueError::new_err(format!(
            "{GEMM}: a has {axes_of_a} axes and b has {axes_of_b}: possible are matrices, batches of \
             matrices with 3 axes, and a matrix and a vector"
        ))),
    }
}

fn compute<T, C, DA, DB>(
    py: Python<'_>,
    a: Input<T, DA>,
    b: Input<T, DB>,
    product: Product<'_, '_>,
) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar + ResultIn<C>,
    C: Number + gridstride::Number,
    DA: MatrixDimension<DB, Product: 'static> + 'static,
    DB: Dimension + 'static,
{
    let (options, devices) = (product.options, product.devices);
    let [alpha, beta] = [product.alpha, product.beta].map(gridstride::Number::from_f64);
    let c = Output::<C, DA::Product>::new(GEMM, Some(product.c))?;
    let operations = multiplications(a.view().shape(), b.view().shape());
    let outcome = call(py, GEMM, operations, move || {
        Outcome::of(
            c,
            |c| options.gemm(&devices, alpha, a.view(), b.view(), beta, c),
            || unreachable!("C is an array"),
        )
    })?;
    Ok(outcome.into_array(py))
}

//! Products that are added to a matrix.

use gridstride::Device;
use gridstride::half::{bf16, f16};
use gridstride::matmul::{MatMul, MatrixDimension, ResultIn, Scalar};
use gridstride::ndarray::Dimension;
use numpy::{Element, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{Argument, Memory, Outcome, Output, promote};
use crate::call::call;
use crate::column::Name;
use crate::conversion::on_host;
use crate::device::Devices;
use crate::error::choice;
use crate::matrices::matrix;
use crate::number::{Number, by_dtype};
use crate::objects::numpy;
use crate::products::{DTYPES, by_axes, multiplications};
use crate::scalar;

const GEMM: &str = "gemm";

/// The matrices and options of a call.
struct GemmCall<'a, 'py> {
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
#[pyo3(signature = (a, b, c, *, alpha, beta, trans_a, trans_b, overwrite_c, precision, device))]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub fn gemm<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    c: Option<&Bound<'py, PyAny>>,
    alpha: &Bound<'py, PyAny>,
    beta: &Bound<'py, PyAny>,
    trans_a: &Bound<'py, PyAny>,
    trans_b: &Bound<'py, PyAny>,
    overwrite_c: bool,
    precision: &str,
    device: Option<Devices>,
) -> PyResult<Py<PyAny>> {
    let options = MatMul::new().precision(choice(GEMM, precision)?);
    let alpha = scalar::float(GEMM, "alpha", alpha, "a number")?;
    let beta = scalar::float(GEMM, "beta", beta, "a number")?;
    if let Ok(number) = a.extract::<f64>()
        && a.getattr_opt("ndim")?
            .is_none_or(|axes| axes.eq(0).unwrap_or(false))
    {
        return Err(PyTypeError::new_err(format!(
            "{GEMM}: a is the number {number}: scipy's gemm begins with alpha, and this one with the factors: call \
             gemm(a, b, alpha={number})"
        )));
    }
    let mut a = factor("a", a, ("trans_a", trans_a))?;
    let mut b = factor("b", b, ("trans_b", trans_b))?;
    promote(&mut [&mut a, &mut b], &DTYPES)?;
    let shape = product_shape(a.shape(), b.shape());
    let (c, beta) = match c {
        None => {
            let dtype = match a.dtype().itemsize() {
                2 => f32::get_dtype(py),
                _ => a.dtype(),
            };
            let zeros = numpy(py)?.call_method1("zeros", (PyTuple::new(py, &shape)?, dtype))?;
            (zeros, 0.0)
        }
        Some(c) if overwrite_c => (c.clone(), beta),
        Some(c) => {
            let c = on_host(GEMM, "c", c)?;
            (c.call_method1("copy", ("C",))?, beta)
        }
    };
    if let Ok(c) = c.cast::<PyUntypedArray>()
        && c.shape() != shape
    {
        return Err(PyValueError::new_err(format!(
            "{GEMM}: the product has the shape {}, but c has the shape {}",
            PyTuple::new(py, &shape)?,
            PyTuple::new(py, c.shape())?
        )));
    }
    let product = GemmCall {
        a,
        b,
        c: &c,
        alpha,
        beta,
        options,
        devices: Devices::of(py, device),
    };
    by_dtype!(
        product.a,
        [f32, f64, f16, bf16],
        with_factors_of(py, product)
    )
}

/// Takes a factor, and exchanges its axes if the argument `trans_a` or `trans_b` says so.
fn factor<'py>(
    name: &'static str,
    factor: &Bound<'py, PyAny>,
    (flag, is_transposed): (&str, &Bound<'py, PyAny>),
) -> PyResult<Argument<'py>> {
    let name = Name {
        operation: GEMM,
        argument: name,
    };
    let mut factor = matrix(name, factor, &DTYPES)?;
    match is_transposed.extract::<bool>() {
        Ok(true) => factor.transposed()?,
        Ok(false) => (),
        Err(_) => {
            let message = format!(
                "{GEMM}: {flag} is {}, but has to be a bool",
                is_transposed.repr()?
            );
            return Err(PyTypeError::new_err(message));
        }
    }
    Ok(factor)
}

/// Returns the shape of a product. The library checks whether the factors fit.
fn product_shape(a: &[usize], b: &[usize]) -> Vec<usize> {
    let batch = |shape: &[usize]| shape[..shape.len().saturating_sub(2)].first().copied();
    let batch = match (batch(a), batch(b)) {
        (Some(1), Some(of_b)) => Some(of_b),
        (of_a, of_b) => of_a.or(of_b),
    };
    let rows = a.len().checked_sub(2).map(|axis| a[axis]);
    let columns = if b.len() > 1 { b.last().copied() } else { None };
    [batch, rows, columns].into_iter().flatten().collect()
}

/// Returns the factor of the product or of C, which the dtype must have.
fn in_range<S: gridstride::Number>(name: &str, number: f64) -> PyResult<S> {
    let scalar = S::from_f64(number);
    if number.is_finite() && !scalar.to_f64().is_finite() {
        return Err(PyValueError::new_err(format!(
            "{GEMM}: {name} is {number:e}, which is beyond the range of {}, the type of the sums",
            S::NAME
        )));
    }
    Ok(scalar)
}

/// Chooses the dtype of C: that of the factors, or that of the sums.
fn with_factors_of<T>(py: Python<'_>, product: GemmCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar<Sum: Number> + ResultIn<T>,
{
    let Ok(array) = product.c.cast::<PyUntypedArray>() else {
        let type_name = product.c.get_type().name()?;
        let message = format!("{GEMM}: c is a {type_name}, not a numpy array");
        return Err(PyTypeError::new_err(message));
    };
    let c = Argument::new(GEMM, "c", array.as_any())?;
    if c.has::<T>() {
        return with_result_of::<T, T>(py, product);
    }
    if c.has::<T::Sum>() {
        return with_result_of::<T, T::Sum>(py, product);
    }
    Err(c.wrong_dtype(&[<T as Number>::NAME, <T::Sum as Number>::NAME]))
}

fn with_result_of<T, C>(py: Python<'_>, mut product: GemmCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar + ResultIn<C>,
    C: Number + gridstride::Number,
{
    by_axes!(GEMM, product, compute::<T, C>(py))
}

fn compute<T, C, DA, DB>(py: Python<'_>, product: GemmCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar + ResultIn<C>,
    C: Number + gridstride::Number,
    DA: MatrixDimension<DB, Product: 'static> + 'static,
    DB: Dimension + 'static,
{
    let memory = Memory::of_out(Some(product.c));
    let a = product.a.input::<T, DA>(memory.as_ref())?;
    let b = product.b.input::<T, DB>(memory.as_ref())?;
    let (options, devices) = (product.options, product.devices);
    let alpha = in_range("alpha", product.alpha)?;
    let beta = in_range("beta", product.beta)?;
    let c = Output::<C, DA::Product>::named(GEMM, "c", product.c)?;
    let operations = multiplications(a.view().shape(), b.view().shape());
    let outcome = call(py, GEMM, operations, move || {
        Outcome::of(
            Some(c),
            |c| options.gemm(&devices, alpha, a.view(), b.view(), beta, c),
            || unreachable!("C is an array"),
        )
    })?;
    Ok(outcome.into_array(py))
}

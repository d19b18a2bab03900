//! Products of matrices.

use gridstride::Device;
use gridstride::half::{bf16, f16};
use gridstride::matmul::{MatMul, MatrixDimension, ResultIn, Scalar};
use gridstride::ndarray::Dimension;
use numpy::PyArrayDescr;
use pyo3::prelude::*;

use crate::array::{Argument, Memory, Outcome, Output, promote};
use crate::call::call;
use crate::column::Name;
use crate::device::Devices;
use crate::error::choice;
use crate::matrices::matrix;
use crate::number::{Number, by_dtype};
use crate::products::{DTYPES, MATMUL, by_axes, multiplications, require_dtype};
use crate::resident::{self, resident};

/// The factors and options of a product.
struct MatMulCall<'a, 'py> {
    a: Argument<'py>,
    b: Argument<'py>,
    /// The dtype of the result.
    dtype: Option<Bound<'py, PyArrayDescr>>,
    out: Option<&'a Bound<'py, PyAny>>,
    options: MatMul,
    devices: Vec<Device>,
}

#[pyfunction]
#[pyo3(signature = (a, b, *, precision, dtype, out, device, stream))]
#[expect(clippy::too_many_arguments, reason = "Python has names for them")]
pub fn matmul<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    precision: &str,
    dtype: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    device: Option<Devices>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let options = MatMul::new().precision(choice(MATMUL, precision)?);
    let dtype = dtype.map(|dtype| PyArrayDescr::new(py, dtype));
    let dtype = dtype.transpose()?;
    let arguments = [("a", Some(a)), ("b", Some(b)), ("out", out)];
    if let Some((place, [a, b, resident_out])) =
        resident(py, MATMUL, arguments, device.as_ref(), stream)?
    {
        let product = resident::matmul::DeviceMatMulCall {
            place,
            a: a.expect("given"),
            b: b.expect("given"),
            dtype,
            out: resident_out.zip(out),
            options,
        };
        return resident::matmul::matmul(py, product);
    }
    let [a, b] = [("a", a), ("b", b)].map(|(argument, factor)| {
        let operation = MATMUL;
        matrix(
            Name {
                operation,
                argument,
            },
            factor,
            &DTYPES,
        )
    });
    let (mut a, mut b) = (a?, b?);
    promote(&mut [&mut a, &mut b], &DTYPES)?;
    let product = MatMulCall {
        a,
        b,
        dtype,
        out,
        options,
        devices: Devices::of(py, device),
    };
    by_dtype!(
        product.a,
        [f32, f64, f16, bf16],
        with_factors_of(py, product)
    )
}

/// Chooses the dtype of the result: that of `out`, or the `dtype`, or that of the sums.
fn with_factors_of<T>(py: Python<'_>, product: MatMulCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar<Sum: Number> + ResultIn<T>,
{
    let is_factors = |dtype: &Bound<'_, PyArrayDescr>| <T as Number>::is(dtype);
    let of_out = product.out.map(|out| out.getattr("dtype"));
    let is_factors = match of_out {
        Some(Ok(dtype)) => dtype.cast::<PyArrayDescr>().is_ok_and(is_factors),
        _ => product.dtype.as_ref().is_some_and(is_factors),
    };
    match is_factors {
        true => with_result_of::<T, T>(py, product),
        false => with_result_of::<T, T::Sum>(py, product),
    }
}

fn with_result_of<T, C>(py: Python<'_>, mut product: MatMulCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar + ResultIn<C>,
    C: Number + gridstride::Number,
{
    require_dtype::<T, C>(product.dtype.as_ref(), product.out.is_some())?;
    by_axes!(MATMUL, product, compute::<T, C>(py))
}

fn compute<T, C, DA, DB>(py: Python<'_>, product: MatMulCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Scalar + ResultIn<C>,
    C: Number + gridstride::Number,
    DA: MatrixDimension<DB, Product: 'static> + 'static,
    DB: Dimension + 'static,
{
    let memory = Memory::of_out(product.out);
    let a = product.a.input::<T, DA>(memory.as_ref())?;
    let b = product.b.input::<T, DB>(memory.as_ref())?;
    let (options, devices) = (product.options, product.devices);
    let out = Output::<C, DA::Product>::new(MATMUL, product.out)?;
    let operations = multiplications(a.view().shape(), b.view().shape());
    let outcome = call(py, MATMUL, operations, move || {
        Outcome::of(
            out,
            |out| options.matmul_into(&devices, a.view(), b.view(), out),
            || options.matmul_as(&devices, a.view(), b.view()),
        )
    })?;
    Ok(outcome.into_array(py))
}

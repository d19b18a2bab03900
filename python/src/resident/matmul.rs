//! Products of arrays in the memory of a device.

use gridstride::device::Element;
use gridstride::half::{bf16, f16};
use gridstride::matmul::{MatMul, MatrixDimension, ResultIn, Scalar};
use gridstride::ndarray::Dimension;
use numpy::PyArrayDescr;
use pyo3::prelude::*;

use super::{DeviceArgument, Out, Place};
use crate::number::{Number, by_dtype};
use crate::products::{by_axes, multiplications, require_dtype};

/// The factors and options of a product.
pub struct DeviceMatMulCall<'a, 'py> {
    pub place: Place,
    pub a: DeviceArgument,
    pub b: DeviceArgument,
    /// The dtype of the result.
    pub dtype: Option<Bound<'py, PyArrayDescr>>,
    /// The array to write the result to, and its object.
    pub out: Out<'a, 'py>,
    pub options: MatMul,
}

pub fn matmul(py: Python<'_>, product: DeviceMatMulCall<'_, '_>) -> PyResult<Py<PyAny>> {
    by_dtype!(
        product.a,
        [f32, f64, f16, bf16],
        with_factors_of(py, product)
    )
}

/// Chooses the dtype of the result: that of `out`, or the `dtype`, or that of the sums.
fn with_factors_of<T>(py: Python<'_>, product: DeviceMatMulCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Element + Scalar<Sum: Number + Element> + ResultIn<T>,
{
    let is_factors = match &product.out {
        Some((out, _)) => out.has::<T>(),
        None => (product.dtype.as_ref()).is_some_and(|dtype| <T as Number>::is(dtype)),
    };
    match is_factors {
        true => with_result_of::<T, T>(py, product),
        false => with_result_of::<T, T::Sum>(py, product),
    }
}

fn with_result_of<T, C>(
    py: Python<'_>,
    mut product: DeviceMatMulCall<'_, '_>,
) -> PyResult<Py<PyAny>>
where
    T: Number + Element + Scalar + ResultIn<C>,
    C: Number + Element + gridstride::Number,
{
    require_dtype::<T, C>(product.dtype.as_ref(), product.out.is_some())?;
    by_axes!("matmul", product, compute::<T, C>(py))
}

fn compute<T, C, DA, DB>(py: Python<'_>, product: DeviceMatMulCall<'_, '_>) -> PyResult<Py<PyAny>>
where
    T: Number + Element + Scalar + ResultIn<C>,
    C: Number + Element + gridstride::Number,
    DA: MatrixDimension<DB, Product: 'static> + 'static,
    DB: Dimension + 'static,
{
    let DeviceMatMulCall {
        place,
        a,
        b,
        out,
        options,
        ..
    } = product;
    let operations = multiplications(a.shape(), b.shape());
    if let Some((out, _)) = &out {
        out.require_output(&[&a, &b])?;
    }
    let (a, b) = (a.elements::<T, DA>()?, b.elements::<T, DB>()?);
    place.write::<C, DA::Product>(py, operations, out, move |c| match c {
        Some(c) => options
            .matmul_device_into(a.view()?, b.view()?, c)
            .map(|()| None),
        None => options.matmul_device_as(a.view()?, b.view()?).map(Some),
    })
}

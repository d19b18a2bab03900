//! Products of host arrays: their copies to a device and back.

use gridstride_runtime::device::assign;
use gridstride_runtime::{Device, Result};
use ndarray::ArrayView3;
use num_traits::Zero;

use super::factor::OnDevice;
use super::kernels::{HasKernels, OutputOf};
use super::{overlapped, run};
use crate::element::HostProduct;
use crate::input::{DeviceProduct, Sizes};
use crate::options::MatMul;

/// Computes a partition of a product of host arrays, with the kernel for the `whole` product.
pub fn host<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    device: &Device,
    whole: Sizes,
    product: HostProduct<T, C>,
) -> Result<()> {
    match overlapped::Plan::new(device, &product) {
        Some(plan) => overlapped::host(options, device, whole, product, &plan),
        None => in_sequence(options, device, whole, product),
    }
}

/// Computes a product as [`host`], whose copies and kernels run one after the other.
pub fn in_sequence<T: HasKernels, C: OutputOf<T>>(
    options: MatMul,
    device: &Device,
    whole: Sizes,
    product: HostProduct<T, C>,
) -> Result<()> {
    let sizes = product.sizes();
    let (beta, mut c) = (product.beta, product.c);
    let a = OnDevice::upload(device, product.a)?;
    let b = OnDevice::upload(device, product.b)?;
    let mut result = match beta.is_zero() {
        true => device.alloc(c.len())?,
        false => device.upload(&c)?.into_buffer(),
    };
    let on_device = DeviceProduct {
        operation: product.operation,
        device,
        alpha: product.alpha,
        a: a.matrices(),
        b: b.matrices(),
        beta,
        c: &mut result,
        start_of_c: 0,
        sizes,
    };
    run(options, on_device, whole)?;
    match c.as_slice_mut() {
        Some(c) => result.copy_to(c),
        None => {
            let result = result.to_vec()?;
            let result = ArrayView3::from_shape(c.dim(), &result).expect("the shape of C");
            assign(c, &result);
            Ok(())
        }
    }
}

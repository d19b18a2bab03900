//! From the type of the elements and the kind of the device to the implementation.

use half::{bf16, f16};
use ndarray::ArrayViewMut3;

use super::input::{DeviceProduct, Product};
use super::{MatMul, Scalar, cpu, gpu};
use crate::device::DeviceKind;
use crate::{Device, Result, partition};

/// The implementations for a type of elements. They are compiled here, once for each type, and not in each crate that
/// multiplies.
pub trait Dispatch: Sized {
    /// Computes a product of arrays of the host, whose shapes fit, on a set of devices.
    fn host(options: MatMul, devices: &[Device], product: Product<Self>) -> Result<()>
    where
        Self: Scalar;

    /// Computes a product of arrays in the memory of C's device, whose shapes fit.
    fn device(options: MatMul, product: DeviceProduct<Self>) -> Result<()>
    where
        Self: Scalar;
}

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(options: MatMul, devices: &[Device], product: Product<$type>) -> Result<()> {
                let whole = product.sizes();
                let work = |device: &Device, part: &mut Product<$type>| match device.kind() {
                    DeviceKind::Cpu => cpu::gemm(part.reborrow()),
                    _ => gpu::host(options, device, whole, part.reborrow()),
                };
                partition::run(devices, product.operation, product, work).map(|_| ())
            }

            fn device(options: MatMul, product: DeviceProduct<$type>) -> Result<()> {
                match product.c.device().kind() {
                    DeviceKind::Cpu => device_on_cpu(product),
                    _ => gpu::device(options, product),
                }
            }
        }
    )*};
}
dispatch! { f32 f64 f16 bf16 }

/// Computes a product in buffers of the CPU, which are copied.
fn device_on_cpu<T: cpu::CpuScalar>(product: DeviceProduct<T>) -> Result<()> {
    let DeviceProduct { a, b, c, sizes, .. } = product;
    let (a_elements, b_elements, mut elements) =
        (a.elements.to_vec()?, b.elements.to_vec()?, c.to_vec()?);
    let shape = (sizes.batch, sizes.m, sizes.n);
    cpu::gemm(Product {
        operation: product.operation,
        alpha: product.alpha,
        a: a.host_view(&a_elements),
        b: b.host_view(&b_elements),
        beta: product.beta,
        c: ArrayViewMut3::from_shape(shape, &mut elements).expect("the shape of C"),
    })?;
    c.copy_from(&elements)
}

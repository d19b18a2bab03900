//! Dispatch by element type and kind of device.

use half::{bf16, f16};
use ndarray::ArrayViewMut3;

use super::element::{Dispatch, HostProduct, ResidentProduct};
use super::input::{DeviceProduct, Product};
use super::options::MatMul;
use super::{cpu, gpu};
use crate::device::DeviceKind;
use crate::{Device, Result, partition};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(options: MatMul, devices: &[Device], product: HostProduct<$type>) -> Result<()> {
                let whole = product.sizes();
                let work = |device: &Device, product: &mut HostProduct<$type>| match device.kind() {
                    DeviceKind::Cpu => cpu::gemm(product.reborrow()),
                    _ => gpu::host(options, device, whole, product.reborrow()),
                };
                partition::run(devices, product.operation, product, work).map(|_| ())
            }

            fn device(options: MatMul, product: ResidentProduct<$type>) -> Result<()> {
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
fn device_on_cpu<T: cpu::CpuScalar>(product: ResidentProduct<T>) -> Result<()> {
    let DeviceProduct { a, b, c, sizes, .. } = product;
    let (a_elements, b_elements) = (a.elements.to_vec()?, b.elements.to_vec()?);
    let mut elements = c.to_vec()?;
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

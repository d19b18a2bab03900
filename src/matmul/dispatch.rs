//! Dispatch by element type and kind of device.

use half::{bf16, f16};
use ndarray::ArrayViewMut3;

use super::element::{Dispatch, HostProduct, ResidentProduct};
use super::input::{DeviceProduct, Product};
use super::options::MatMul;
use super::{cpu, gpu};
use crate::device::DeviceKind;
use crate::{Device, Number, Result, partition};

macro_rules! dispatch {
    ($($type:ident to $c:ident by $cpu:ident;)*) => {$(
        impl Dispatch<$c> for $type {
            fn host(
                options: MatMul,
                devices: &[Device],
                product: HostProduct<$type, $c>,
            ) -> Result<()> {
                let whole = product.sizes();
                let work = |device: &Device, product: &mut HostProduct<$type, $c>| match device.kind() {
                    DeviceKind::Cpu => cpu::$cpu(product.reborrow()),
                    _ => gpu::host(options, device, whole, product.reborrow()),
                };
                partition::run(devices, product.operation, product, work).map(|_| ())
            }

            fn device(options: MatMul, product: ResidentProduct<$type, $c>) -> Result<()> {
                match product.c.device().kind() {
                    DeviceKind::Cpu => device_on_cpu(product, cpu::$cpu),
                    _ => gpu::device(options, product),
                }
            }
        }
    )*};
}
dispatch! {
    f32 to f32 by gemm;
    f64 to f64 by gemm;
    f16 to f32 by gemm;
    bf16 to f32 by gemm;
    f16 to f16 by rounded_gemm;
    bf16 to bf16 by rounded_gemm;
}

/// Computes a product in buffers of the CPU, which are copied.
fn device_on_cpu<T: cpu::CpuScalar, C: Number>(
    product: ResidentProduct<T, C>,
    gemm: impl FnOnce(HostProduct<T, C>) -> Result<()>,
) -> Result<()> {
    let DeviceProduct { a, b, c, sizes, .. } = product;
    let (a_elements, b_elements) = (a.elements.to_vec()?, b.elements.to_vec()?);
    let mut elements = c.to_vec()?;
    let shape = (sizes.batch, sizes.m, sizes.n);
    gemm(Product {
        operation: product.operation,
        alpha: product.alpha,
        a: a.host_view(&a_elements),
        b: b.host_view(&b_elements),
        beta: product.beta,
        c: ArrayViewMut3::from_shape(shape, &mut elements).expect("the shape of C"),
    })?;
    c.copy_from(&elements)
}

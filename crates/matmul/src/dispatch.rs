//! Dispatch by element type and kind of device, and on a GPU by kind of host memory.

use std::slice;

use gridstride_runtime::device::{Buffer, DeviceKind};
use gridstride_runtime::{Device, Result, partition};
use half::{bf16, f16, slice::HalfFloatSliceExt};
use matmul_kernels::{f32_of_f64, f64_of_f32};

use super::element::{CastTo, Dispatch, HostProduct, ResidentProduct};
use super::options::MatMul;
use super::{cpu, gpu, input};

macro_rules! dispatch {
    ($($type:ident to $c:ident by $cpu:ident;)*) => {$(
        impl Dispatch<$c> for $type {
            fn host(
                options: MatMul,
                devices: &[Device],
                product: HostProduct<$type, $c>,
            ) -> Result<()> {
                let (operation, whole) = (product.operation, product.sizes());
                if !whole.reads_factors(product.alpha) {
                    cpu::scale(product.beta, product.c);
                    return Ok(());
                }
                input::require_instructions(devices, options.instructions)?;
                let parts = partition::run(devices, operation, product, |device, product| {
                    let product: HostProduct<$type, $c> = product.reborrow();
                    match device.kind() {
                        DeviceKind::Cpu => cpu::$cpu(product),
                        _ => {
                            product.sizes().require_kernels(operation)?;
                            match gpu::Panels::new(device, &product) {
                                Some(panels) => {
                                    gpu::in_panels(options, device, whole, product, &panels)
                                }
                                None => gpu::host(options, device, whole, product),
                            }
                        }
                    }
                });
                parts.map(|_| ())
            }

            fn device(options: MatMul, product: ResidentProduct<$type, $c>) -> Result<()> {
                let device = product.device;
                match device.kind() {
                    DeviceKind::Cpu => {
                        let (a, b, mut c) = product.download()?;
                        let copies = product.of_copies(&a, &b, &mut c);
                        Self::host(options, slice::from_ref(device), copies)?;
                        product.c.copy_from(&c)
                    }
                    _ if !product.sizes.reads_factors(product.alpha) => {
                        gpu::scale::<$type, $c>(product)
                    }
                    _ => {
                        input::require_instructions(slice::from_ref(device), options.instructions)?;
                        product.sizes.require_kernels(product.operation)?;
                        gpu::device(options, product)
                    }
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

macro_rules! casts {
    ($($from:ty => $to:ty: $kernel:ident, $on_cpu:expr;)*) => {$(
        impl CastTo<$to> for $from {
            fn cast_buffer(from: &Buffer<$from>) -> Result<Buffer<$to>> {
                match from.device().kind() {
                    DeviceKind::Cpu => {
                        let converted = cpu::cast(&from.to_vec()?, $on_cpu)?;
                        from.device().buffer_from(&converted)
                    }
                    _ => gpu::cast(from, &matmul_kernels::$kernel),
                }
            }
        }
    )*};
}
casts! {
    f32 => f16: cast_f32_to_f16, |from, to| to.convert_from_f32_slice(from);
    f32 => bf16: cast_f32_to_bf16, |from, to| to.convert_from_f32_slice(from);
    f16 => f32: cast_f16_to_f32, |from, to| from.convert_to_f32_slice(to);
    bf16 => f32: cast_bf16_to_f32, |from, to| from.convert_to_f32_slice(to);
    f32 => f64: cast_f32_to_f64, |from, to| cpu::each(from, to, |x| f64::from_bits(f64_of_f32(x.to_bits())));
    f64 => f32: cast_f64_to_f32, |from, to| cpu::each(from, to, |x| f32::from_bits(f32_of_f64(x.to_bits())));
}

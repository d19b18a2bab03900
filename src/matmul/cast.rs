//! Conversion of arrays on a device from one type of numbers to another.

use half::{bf16, f16, slice::HalfFloatSliceExt};
use matmul_kernels::{f32_of_f64, f64_of_f32};
use ndarray::Dimension;

use crate::device::{Buffer, DeviceArray, DeviceKind, Element, zeroed_lazily};
use crate::error::During;
use crate::{Number, Result, parallel};

/// A type of numbers whose arrays [`DeviceArray::cast`] converts to arrays of `U`: `f32` to `f16`,
/// `bf16` and `f64`, and back.
pub trait CastTo<U: Number>: Number {
    /// Converts the elements.
    #[doc(hidden)]
    fn cast_buffer(from: &Buffer<Self>) -> Result<Buffer<U>>;
}

impl<T: Number, D: Dimension> DeviceArray<T, D> {
    /// Converts each element to another type of numbers, on the array's device: the `f32` product
    /// of `f16` or `bf16` matrices becomes a factor of the next product.
    ///
    /// Each number is rounded to the nearest number of the new type, ties to even, and to ±∞ beyond
    /// the largest. Conversion to a wider type is exact. NaN remains NaN, becomes quiet, and keeps
    /// its sign and the upper bits of its payload. The bits are the same on every device.
    ///
    /// On a GPU the work is ordered on the stream of the array's handle, by default the device's
    /// main stream, and may still run when the call returns. There is no direct conversion between
    /// `f64` and 16 bits; two casts round twice.
    ///
    /// # Errors
    /// - [`Error::Allocation`](crate::Error::Allocation) if the memory does not suffice.
    /// - On GPUs, [`Error::Driver`](crate::Error::Driver) if the driver fails and
    ///   [`Error::Load`](crate::Error::Load) if it rejects the kernels.
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
    /// use half::f16;
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = device.upload(&array![[1.0f32, 2.0], [3.0, 4.0]])?.cast::<f16>()?;
    /// let square = MatMul::new().matmul_device(&a, &a)?.cast::<f16>()?;
    /// let cube = MatMul::new().matmul_device(&square, &a)?;
    /// assert_eq!(cube.download()?, array![[37.0, 54.0], [81.0, 118.0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn cast<U: Number>(&self) -> Result<DeviceArray<U, D>>
    where
        T: CastTo<U>,
    {
        let buffer = T::cast_buffer(self.buffer()).during("cast")?;
        DeviceArray::from_buffer(buffer, self.raw_dim())
    }
}

macro_rules! casts {
    ($($from:ty => $to:ty: $kernel:ident, $on_cpu:expr;)*) => {$(
        impl CastTo<$to> for $from {
            fn cast_buffer(from: &Buffer<$from>) -> Result<Buffer<$to>> {
                match from.device().kind() {
                    DeviceKind::Cpu => cast_on_cpu(from, $on_cpu),
                    _ => super::gpu::cast(from, &matmul_kernels::$kernel),
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
    f32 => f64: cast_f32_to_f64, |from, to| each(from, to, |x: f32| f64::from_bits(f64_of_f32(x.to_bits())));
    f64 => f32: cast_f64_to_f32, |from, to| each(from, to, |x: f64| f32::from_bits(f32_of_f64(x.to_bits())));
}

/// Elements that a task of the CPU converts.
const CONVERTED_BY_A_THREAD: usize = 1 << 15;

fn cast_on_cpu<T: Element, U: Element>(
    from: &Buffer<T>,
    convert: impl Fn(&[T], &mut [U]) + Sync,
) -> Result<Buffer<U>> {
    let elements = from.to_vec()?;
    let mut converted = zeroed_lazily(elements.len())?;
    let chunks = converted.chunks_mut(CONVERTED_BY_A_THREAD);
    let chunks = chunks.zip(elements.chunks(CONVERTED_BY_A_THREAD));
    parallel::each(chunks, |(to, from)| convert(from, to));
    from.device().buffer_from(&converted)
}

fn each<T: Copy, U>(from: &[T], to: &mut [U], convert: impl Fn(T) -> U) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = convert(from);
    }
}

//! The element types that the CPU multiplies, and the types in which it sums.

use crate::element::{Scalar, Sum};
use gemm_common::Parallelism;
use gridstride_runtime::Result;
use gridstride_runtime::device::{Element, zeroed};
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel;
use half::{bf16, f16};
use ndarray::prelude::*;

/// A type of elements of A and B that the CPU multiplies.
pub trait CpuScalar: Scalar<Sum: CpuSum> {
    /// Returns a block of a matrix in the type of the sums: the block itself, or an exact copy in
    /// `room`, which grows if necessary. `threads`: whether all threads copy.
    fn widened<'a>(
        block: ArrayView2<'a, Self>,
        room: &'a mut Vec<Self::Sum>,
        threads: bool,
    ) -> Result<ArrayView2<'a, Self::Sum>>;
}

/// A type of elements of C, for sums of type `S`.
pub trait CpuResult<S>: Element {
    /// Returns the element in the type of the sums, which is exact.
    fn wide(self) -> S;

    /// Returns the nearest element, ties to even.
    fn rounded(sum: S) -> Self;
}

/// A type of elements that the crates `gemm-f32` and `gemm-f64` multiply.
pub trait CpuSum: Sum + CpuResult<Self> {
    /// Computes C = alpha·A·B + beta·C. No size is 0. The kernels are fastest if the columns of C
    /// are contiguous and no stride of C is negative.
    fn multiply(
        alpha: Self,
        a: ArrayView2<'_, Self>,
        b: ArrayView2<'_, Self>,
        beta: Self,
        c: ArrayViewMut2<'_, Self>,
        parallelism: Parallelism,
    );
}

macro_rules! with_kernels {
    ($type:ty, $kernel:path) => {
        impl CpuSum for $type {
            fn multiply(
                alpha: $type,
                a: ArrayView2<'_, $type>,
                b: ArrayView2<'_, $type>,
                beta: $type,
                mut c: ArrayViewMut2<'_, $type>,
                parallelism: Parallelism,
            ) {
                let ((m, k), n) = (a.dim(), c.ncols());
                assert!(b.dim() == (k, n) && c.nrows() == m, "the shapes do not fit");
                // SAFETY: the views reach all elements that their strides lead to within the
                // shapes, which fit as just checked, and C is borrowed for this call only, so it
                // overlaps neither A nor B. The crate chooses a kernel that this processor can run.
                unsafe {
                    $kernel()(
                        m,
                        n,
                        k,
                        c.as_mut_ptr(),
                        c.stride_of(Axis(1)),
                        c.stride_of(Axis(0)),
                        // Whether to read C.
                        beta != 0.0,
                        a.as_ptr(),
                        a.stride_of(Axis(1)),
                        a.stride_of(Axis(0)),
                        b.as_ptr(),
                        b.stride_of(Axis(1)),
                        b.stride_of(Axis(0)),
                        // The kernel's alpha is the factor of C.
                        beta,
                        alpha,
                        // Whether to conjugate C, A and B.
                        false,
                        false,
                        false,
                        parallelism,
                    );
                }
            }
        }

        impl CpuScalar for $type {
            fn widened<'a>(
                block: ArrayView2<'a, $type>,
                _room: &'a mut Vec<$type>,
                _threads: bool,
            ) -> Result<ArrayView2<'a, $type>> {
                Ok(block)
            }
        }

        impl CpuResult<$type> for $type {
            fn wide(self) -> $type {
                self
            }

            fn rounded(sum: $type) -> $type {
                sum
            }
        }
    };
}

with_kernels!(f32, gemm_f32::gemm::f32::get_gemm_fn);
with_kernels!(f64, gemm_f64::gemm::f64::get_gemm_fn);

macro_rules! half_precision {
    ($type:ty, $convert:expr) => {
        impl CpuScalar for $type {
            fn widened<'a>(
                block: ArrayView2<'a, $type>,
                room: &'a mut Vec<f32>,
                threads: bool,
            ) -> Result<ArrayView2<'a, f32>> {
                widened(block, room, threads, $convert)
            }
        }

        impl CpuResult<f32> for $type {
            fn wide(self) -> f32 {
                self.to_f32()
            }

            fn rounded(sum: f32) -> $type {
                <$type>::from_f32(sum)
            }
        }
    };
}

half_precision!(f16, f32_of_f16);
half_precision!(bf16, f32_of_bf16);

/// Converts without branches, so that the compiler can use vectors of any length.
#[inline(always)]
fn f32_of_f16(number: f16) -> f32 {
    let bits = u32::from(number.to_bits());
    let (sign, rest) = ((bits & 0x8000) << 16, bits & 0x7fff);
    // The exponent's bias is 15 in f16 and 127 in f32: 112 more, except for the largest exponent,
    // of infinities and NaN, which must stay the largest. Adding 224 and multiplying by 2⁻¹¹² does
    // both.
    let normal = f32::from_bits((rest << 13) + (224 << 23)) * f32::from_bits((127 - 112) << 23);
    // Numbers below 2⁻¹⁴ are multiples of 2⁻²⁴, which is the last place of f32 from 1/2 to 1.
    let subnormal = f32::from_bits(rest | 126 << 23) - 0.5;
    let absolute = if rest < 1 << 10 { subnormal } else { normal };
    f32::from_bits(sign | absolute.to_bits())
}

#[inline(always)]
fn f32_of_bf16(number: bf16) -> f32 {
    f32::from_bits(u32::from(number.to_bits()) << 16)
}

fn widened<'a, T: Element>(
    block: ArrayView2<'a, T>,
    room: &'a mut Vec<f32>,
    threads: bool,
    convert: impl Fn(T) -> f32 + Copy + Sync,
) -> Result<ArrayView2<'a, f32>> {
    if room.len() < block.len() {
        // Frees the old memory first.
        *room = Vec::new();
        *room = zeroed(block.len())?;
    }
    let room = &mut room[..block.len()];
    // Lines along the contiguous axis, which is contiguous in the copy too.
    let [rows, columns] =
        [Axis(0), Axis(1)].map(|axis| (block.len_of(axis), block.stride_of(axis)));
    let by_columns = rows.0 != 1 && (columns.0 == 1 || rows.1.abs() < columns.1.abs());
    let lines = if by_columns {
        block.reversed_axes()
    } else {
        block
    };
    let isa = Isa::detect();
    let convert = |source: ArrayView1<'_, T>, target: &mut [f32]| match source.to_slice() {
        Some(source) => isa.run(
            #[inline(always)]
            || {
                for (target, &source) in target.iter_mut().zip(source) {
                    *target = convert(source);
                }
            },
        ),
        None => {
            for (target, source) in target.iter_mut().zip(source) {
                *target = convert(*source);
            }
        }
    };
    let each_line = |target: &mut [f32], lines: ArrayView2<'_, T>| {
        for (target, source) in target
            .chunks_exact_mut(lines.ncols())
            .zip(lines.outer_iter())
        {
            convert(source, target);
        }
    };
    if threads {
        let count = (CONVERTED_BY_A_THREAD / lines.ncols()).max(1);
        let targets = room.chunks_mut(count * lines.ncols());
        let chunks = targets.zip(lines.axis_chunks_iter(Axis(0), count));
        parallel::each(chunks, |(target, lines)| each_line(target, lines));
    } else {
        each_line(room, lines);
    }
    let copy = ArrayView2::from_shape(lines.dim(), room).expect("as long as the block");
    Ok(if by_columns {
        copy.reversed_axes()
    } else {
        copy
    })
}

/// Numbers that a task converts.
const CONVERTED_BY_A_THREAD: usize = 1 << 14;

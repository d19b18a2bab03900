//! The numbers that matrices can have, and those that their products are summed up in.

use crate::Result;
use crate::device::{Element, zeroed};
use crate::matmul::element::{Scalar, Sum};
use crate::parallel;
use gemm_common::Parallelism;
use half::{bf16, f16};
use ndarray::prelude::*;

/// A type of elements of A and B that the CPU multiplies.
pub trait CpuScalar: Scalar<Sum: CpuSum> {
    /// A block of a matrix in the type of the sums, the values exactly the same: itself, or a copy in
    /// `room`, which is made larger where it does not suffice. `threads`: whether all threads copy.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation) if there is no memory for the copy.
    fn widened<'a>(
        block: ArrayView2<'a, Self>,
        room: &'a mut Vec<Self::Sum>,
        threads: bool,
    ) -> Result<ArrayView2<'a, Self::Sum>>;
}

/// A type of elements for which there are kernels.
pub trait CpuSum: Sum {
    /// The kernel for this processor.
    fn kernel() -> Kernel<Self>;
}

/// `c = c's factor · c + factor · a · b`, of m × n from m × k and k × n. A matrix is a pointer and the
/// distances of its columns and of its rows; after `c` comes whether it is read, then `a`, `b`, the
/// factors, and whether each matrix is conjugated.
pub type Kernel<S> = unsafe fn(
    usize,
    usize,
    usize,
    *mut S,
    isize,
    isize,
    bool,
    *const S,
    isize,
    isize,
    *const S,
    isize,
    isize,
    S,
    S,
    bool,
    bool,
    bool,
    Parallelism,
);

macro_rules! with_kernels {
    ($type:ty, $kernel:path) => {
        impl CpuSum for $type {
            fn kernel() -> Kernel<$type> {
                $kernel()
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
    };
}

with_kernels!(f32, gemm_f32::gemm::f32::get_gemm_fn);
with_kernels!(f64, gemm_f64::gemm::f64::get_gemm_fn);

macro_rules! of_16_bits {
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
    };
}

of_16_bits!(f16, f32_of_f16);
of_16_bits!(bf16, f32_of_bf16);

/// Without branches, for vectors of them; `half`'s own converts eight at a time or one.
#[inline(always)]
fn f32_of_f16(number: f16) -> f32 {
    let bits = u32::from(number.to_bits());
    let (sign, rest) = ((bits & 0x8000) << 16, bits & 0x7fff);
    // The exponent's bits are counted from 15 there and from 127 here: 112 more, but for the largest, of
    // infinities and NaN, which has to become the largest. Adding 224 and multiplying by 2⁻¹¹² does both.
    let normal = f32::from_bits((rest << 13) + (224 << 23)) * f32::from_bits((127 - 112) << 23);
    // Below 2⁻¹⁴ they are multiples of 2⁻²⁴, the last place of the numbers from 1/2 to 1.
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
        // The old one first, so that not both are there.
        *room = Vec::new();
        *room = zeroed(block.len())?;
    }
    let room = &mut room[..block.len()];
    // Line after line along the axis that is contiguous, which stays the contiguous one.
    let [rows, columns] =
        [Axis(0), Axis(1)].map(|axis| (block.len_of(axis), block.stride_of(axis)));
    let by_columns = rows.0 != 1 && (columns.0 == 1 || rows.1.abs() < columns.1.abs());
    let lines = if by_columns {
        block.reversed_axes()
    } else {
        block
    };
    let arch = pulp::Arch::new();
    let convert = |source: ArrayView1<'_, T>, target: &mut [f32]| match source.to_slice() {
        // Compiled for the vectors of this processor.
        Some(source) => arch.dispatch(Line {
            source,
            target,
            convert,
        }),
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

/// Numbers that a thread converts in one go.
const CONVERTED_BY_A_THREAD: usize = 1 << 14;

/// A line to convert.
struct Line<'a, T, F> {
    source: &'a [T],
    target: &'a mut [f32],
    convert: F,
}

impl<T: Copy, F: Fn(T) -> f32> pulp::NullaryFnOnce for Line<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (target, &source) in self.target.iter_mut().zip(self.source) {
            *target = (self.convert)(source);
        }
    }
}

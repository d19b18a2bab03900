//! Conversions between types of numbers, element by element: results of one product become factors
//! of the next.
//!
//! Kernels take and return bits, and do not compute with NaN, so that every device returns the same
//! bits. A number rounds to the nearest of the narrower type, ties to even, and beyond the largest
//! to infinity. NaN keeps its sign and the upper bits of its payload, and becomes quiet, as x86 and
//! the crate `half` have it.
//!
//! The kernels are memory-bound. A thread reads or writes 16 bytes of the wider type at a time,
//! neighbouring threads neighbouring ones, and has four such pieces on their way.

use cuda_std::prelude::*;

use crate::product::{read, write};

/// Threads of a block.
pub const CAST_THREADS: u32 = 256;

/// Pieces that a thread has on their way.
const PIECES: usize = 4;

/// Elements that a block converts at a time, of types of which the wider one has `wide_bytes`.
pub const fn cast_block_elements(wide_bytes: usize) -> usize {
    PIECES * CAST_THREADS as usize * (16 / wide_bytes)
}

/// Bits of an `f32` below its sign.
const MAGNITUDE: u32 = 0x7fff_ffff;
/// The bits of infinity.
const INFINITY: u32 = 0x7f80_0000;
/// The bit that NaN has if it is quiet.
const QUIET: u32 = 0x0040_0000;

/// The bits of the nearest `f16` to the `f32` with these bits.
#[inline(always)]
pub fn f16_of_f32(bits: u32) -> u16 {
    let (sign, magnitude) = ((bits >> 16) & 0x8000, bits & MAGNITUDE);
    let rounded = if magnitude > INFINITY {
        // The payload's upper bits.
        0x7e00 | (magnitude >> 13) & 0x03ff
    } else if magnitude >= 65520f32.to_bits() {
        // Halfway between the largest number and what would be the next.
        0x7c00
    } else if magnitude >= (1.0f32 / 16384.0).to_bits() {
        // Exponents are smaller by 112. A half is added at the last place that stays; a tie goes up
        // only to an even number, and a carry into the exponent is right.
        let odd = (magnitude >> 13) & 1;
        (magnitude - (112 << 23) + 0x0fff + odd) >> 13
    } else {
        // Multiples of 2⁻²⁴, the last place of the numbers from 1/2 to 1: the addition rounds.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits()
    };
    (sign | rounded) as u16
}

/// The bits of the nearest `bf16` to the `f32` with these bits.
#[inline(always)]
pub fn bf16_of_f32(bits: u32) -> u16 {
    let rounded = if bits & MAGNITUDE > INFINITY {
        bits | QUIET
    } else {
        // As above; the largest numbers carry into infinity.
        bits + 0x7fff + ((bits >> 16) & 1)
    };
    (rounded >> 16) as u16
}

/// The bits of the `f32` that equals the `f16` with these bits.
#[inline(always)]
pub fn f32_of_f16(bits: u16) -> u32 {
    let bits = bits as u32;
    let quiet = if bits & 0x7fff > 0x7c00 { QUIET } else { 0 };
    crate::pack::value_of_f16(bits).to_bits() | quiet
}

/// The bits of the `f32` that equals the `bf16` with these bits.
#[inline(always)]
pub fn f32_of_bf16(bits: u16) -> u32 {
    let wide = (bits as u32) << 16;
    let quiet = if wide & MAGNITUDE > INFINITY {
        QUIET
    } else {
        0
    };
    wide | quiet
}

/// The bits of the `f64` that equals the `f32` with these bits.
#[inline(always)]
pub fn f64_of_f32(bits: u32) -> u64 {
    if bits & MAGNITUDE > INFINITY {
        let sign = (bits & !MAGNITUDE) as u64;
        let exponent_and_payload = (bits & MAGNITUDE | QUIET) as u64;
        return sign << 32 | 0x7ff0_0000_0000_0000 | exponent_and_payload << 29;
    }
    (f32::from_bits(bits) as f64).to_bits()
}

/// The bits of the nearest `f32` to the `f64` with these bits.
#[inline(always)]
pub fn f32_of_f64(bits: u64) -> u32 {
    let magnitude = bits & (u64::MAX >> 1);
    if magnitude > f64::INFINITY.to_bits() {
        let sign = (bits >> 32) as u32 & !MAGNITUDE;
        return sign | INFINITY | QUIET | (magnitude >> 29) as u32 & 0x007f_ffff;
    }
    (f64::from_bits(bits) as f32).to_bits()
}

/// Converts all elements, `WIDTH` of which are a piece.
///
/// # Safety
/// The contract of the kernels: `from` and `to` have one length, and begin at multiples of 16
/// bytes.
#[inline(always)]
unsafe fn cast<T: Copy + Default, U: Copy, const WIDTH: usize>(
    from: DeviceSlice<T>,
    to: DeviceSliceMut<U>,
    convert: impl Fn(T) -> U + Copy,
) {
    let pieces = to.len() / WIDTH;
    let threads = CAST_THREADS as usize;
    let mut first =
        thread::block_idx_x() as usize * PIECES * threads + thread::thread_idx_x() as usize;
    while first < pieces {
        let mut values = [[T::default(); WIDTH]; PIECES];
        unrolled! { i in [0 1 2 3] {
            let piece = first + i * threads;
            if piece < pieces {
                // SAFETY: both slices have the piece, here and below, and buffers are aligned.
                unsafe {
                    from.address(piece * WIDTH + WIDTH - 1);
                    values[i] = read(from.address(piece * WIDTH));
                }
            }
        }}
        unrolled! { i in [0 1 2 3] {
            let piece = first + i * threads;
            if piece < pieces {
                // SAFETY: `to` has the piece, at a multiple of its size since the buffer is
                // aligned. The piece is this thread's alone.
                unsafe {
                    to.address(piece * WIDTH + WIDTH - 1);
                    write(to.address(piece * WIDTH), values[i].map(convert));
                }
            }
        }}
        first += thread::grid_dim_x() as usize * PIECES * threads;
    }
    // The elements behind the last whole piece.
    let index = pieces * WIDTH + thread::global_index();
    if index < to.len() {
        // SAFETY: below the lengths.
        unsafe { to.set(index, convert(from.at(index))) };
    }
}

macro_rules! kernels {
    ($($name:ident: $from:ty, $to:ty, $width:literal, $convert:ident;)*) => {$(
        #[doc = concat!("Converts each element, bits of a number, by [`", stringify!($convert), "`]: for any launch in the x direction.")]
        ///
        /// # Safety
        /// Both slices are equally long, begin at multiples of 16 bytes, and do not overlap; a
        /// block has [`CAST_THREADS`] threads.
        #[kernel(block = 256)]
        pub unsafe fn $name(from: DeviceSlice<$from>, to: DeviceSliceMut<$to>) {
            // SAFETY: `cast` asks what this kernel asks: slices of one length, from multiples of 16
            // bytes on and apart from each other, and `CAST_THREADS` threads in a block.
            unsafe { cast::<$from, $to, $width>(from, to, $convert) }
        }
    )*};
}

kernels! {
    cast_f32_to_f16: u32, u16, 4, f16_of_f32;
    cast_f32_to_bf16: u32, u16, 4, bf16_of_f32;
    cast_f16_to_f32: u16, u32, 4, f32_of_f16;
    cast_bf16_to_f32: u16, u32, 4, f32_of_bf16;
    cast_f32_to_f64: u32, u64, 2, f64_of_f32;
    cast_f64_to_f32: u64, u32, 2, f32_of_f64;
}

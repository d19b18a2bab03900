//! Pairs of 16-bit numbers, for compute capability 8.0.
//!
//! Each `f32` is rounded to the nearest number of 16 bits, ties to even, and beyond the largest to
//! infinity; NaN becomes the NaN with the bits `0x7fff`.

/// Rounds both numbers to f16: the first one is in the lower half of the result.
#[inline(always)]
pub fn f16_pair(first: f32, second: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let pair: u32;
        // SAFETY: a conversion.
        unsafe {
            core::arch::asm!(
                "cvt.rn.f16x2.f32 {pair}, {second}, {first};",
                pair = out(reg32) pair, first = in(reg32) first, second = in(reg32) second,
                options(pure, nomem),
            )
        };
        pair
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        f16(first) | f16(second) << 16
    }
}

/// Rounds both numbers to bf16: the first one is in the lower half of the result.
#[inline(always)]
pub fn bf16_pair(first: f32, second: f32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let pair: u32;
        // SAFETY: a conversion.
        unsafe {
            core::arch::asm!(
                "cvt.rn.bf16x2.f32 {pair}, {second}, {first};",
                pair = out(reg32) pair, first = in(reg32) first, second = in(reg32) second,
                options(pure, nomem),
            )
        };
        pair
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        bf16(first) | bf16(second) << 16
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn f16(number: f32) -> u32 {
    let (sign, magnitude) = (number.to_bits() >> 16 & 0x8000, number.abs());
    let rounded = match magnitude {
        _ if number.is_nan() => return 0x7fff,
        // Halfway between the largest number and what would be the next.
        _ if magnitude >= 65520.0 => 0x7c00,
        // Multiples of 2⁻²⁴, the last place of the numbers from 1/2 to 1: the addition rounds.
        _ if magnitude < 1.0 / 16384.0 => (magnitude + 0.5).to_bits() - 0.5f32.to_bits(),
        // Exponents are smaller by 112.
        _ => to_nearest(magnitude.to_bits() - (112 << 23), 13),
    };
    sign | rounded
}

#[cfg(not(target_arch = "nvptx64"))]
fn bf16(number: f32) -> u32 {
    match number.is_nan() {
        true => 0x7fff,
        false => to_nearest(number.to_bits(), 16),
    }
}

/// Removes the last `count` bits, to the nearest, ties to even.
#[cfg(not(target_arch = "nvptx64"))]
fn to_nearest(bits: u32, count: u32) -> u32 {
    let is_odd = bits >> count & 1;
    (bits + (1 << (count - 1)) - 1 + is_odd) >> count
}

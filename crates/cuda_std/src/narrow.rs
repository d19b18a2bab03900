//! Numbers of 16 bits from `f32` and to `f32`.
//!
//! The functions of pairs are for compute capability 8.0. Each `f32` is rounded to the nearest
//! number of 16 bits, ties to even, and beyond the largest to infinity; NaN becomes the NaN with the
//! bits `0x7fff`.

/// Rounds both numbers to f16: the first one is in the lower half of the result.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
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
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
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

/// The number with these bits of an f16. NaN becomes any NaN.
///
/// ```
/// assert_eq!(cuda_std::narrow::f16_value(0x3e00), 1.5);
/// ```
#[inline(always)]
pub fn f16_value(bits: u16) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let value: f32;
        // SAFETY: a conversion.
        unsafe {
            core::arch::asm!(
                "cvt.f32.f16 {value}, {bits};",
                value = out(reg32) value, bits = in(reg16) bits,
                options(pure, nomem),
            )
        };
        value
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // The bits where an f32 has them make a number that is 2¹¹² times too small, as the
        // exponents of f32 are larger by 112 for the same number; that goes for subnormal ones
        // too, and the product is exact.
        let magnitude = u32::from(bits & 0x7fff) << 13;
        let magnitude = match bits & 0x7c00 == 0x7c00 {
            true => magnitude | 0x7f80_0000,
            false => (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits(),
        };
        f32::from_bits(magnitude | u32::from(bits & 0x8000) << 16)
    }
}

/// The number with these bits of a bf16. NaN keeps its bits.
///
/// ```
/// assert_eq!(cuda_std::narrow::bf16_value(0x3fc0), 1.5);
/// ```
#[inline(always)]
pub fn bf16_value(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
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

//! The numbers that matrix instructions take, from their bits; every conversion is exact.

/// Numbers of a matrix instruction, one after the other in words, as f64.
pub(crate) type Unpack = fn(words: &[u32], numbers: &mut [f64]);

/// Numbers of 64 bits, the lower word first.
pub(crate) fn f64s(words: &[u32], numbers: &mut [f64]) {
    for (number, word) in numbers.iter_mut().zip(words.chunks_exact(2)) {
        *number = f64::from_bits(u64::from(word[1]) << 32 | u64::from(word[0]));
    }
}

/// Numbers of 32 bits.
pub(crate) fn f32s(words: &[u32], numbers: &mut [f64]) {
    for (number, &word) in numbers.iter_mut().zip(words) {
        *number = f32::from_bits(word).into();
    }
}

/// Numbers of 32 bits of which the upper 19 are taken.
pub(crate) fn tf32s(words: &[u32], numbers: &mut [f64]) {
    for (number, &word) in numbers.iter_mut().zip(words) {
        *number = f32::from_bits(word & 0xffff_e000).into();
    }
}

/// Pairs of f16, the lower half first.
pub(crate) fn f16s(words: &[u32], numbers: &mut [f64]) {
    pairs(words, numbers, f16);
}

/// Pairs of bf16, the lower half first.
pub(crate) fn bf16s(words: &[u32], numbers: &mut [f64]) {
    // It is the upper half of an f32.
    pairs(words, numbers, |half| f32::from_bits(half << 16).into());
}

fn pairs(words: &[u32], numbers: &mut [f64], number_of: impl Fn(u32) -> f64) {
    for (pair, &word) in numbers.chunks_exact_mut(2).zip(words) {
        pair[0] = number_of(word & 0xffff);
        pair[1] = number_of(word >> 16);
    }
}

/// The f16 of those bits: a sign, five bits of exponent and ten of fraction.
fn f16(bits: u32) -> f64 {
    /// The smallest positive f16.
    const SMALLEST: f64 = 1.0 / (1 << 24) as f64;
    let (exponent, fraction) = (bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f64::from(fraction) * SMALLEST,
        0x1f if fraction == 0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (u64::from(fraction | 0x400) << (exponent - 1)) as f64 * SMALLEST,
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked<const N: usize>(unpack: Unpack, words: &[u32]) -> [f64; N] {
        let mut numbers = [0.0; N];
        unpack(words, &mut numbers);
        numbers
    }

    #[test]
    fn numbers_are_those_of_their_bits() {
        let one_third = 0x3555_3c00;
        assert_eq!(unpacked(f16s, &[one_third]), [1.0, 1365.0 / 4096.0]);
        assert_eq!(unpacked(f16s, &[0x7bff_c000]), [-2.0, 65504.0]);
        // The smallest one, and the greatest and the least of those with fewer digits and with all.
        assert_eq!(
            unpacked(f16s, &[0x8001_0001]),
            [2f64.powi(-24), -(2f64.powi(-24))]
        );
        assert_eq!(
            unpacked(f16s, &[0x0400_03ff]),
            [1023.0 * 2f64.powi(-24), 2f64.powi(-14)]
        );
        let [infinite, nan] = unpacked(f16s, &[0x7e00_fc00]);
        assert!(infinite == f64::NEG_INFINITY && nan.is_nan());
        let [negative_zero, _] = unpacked(f16s, &[0x8000]);
        assert!(negative_zero == 0.0 && negative_zero.is_sign_negative());
        assert_eq!(unpacked(bf16s, &[0xc040_3f80]), [1.0, -3.0]);
        assert_eq!(unpacked(tf32s, &[0x3f80_3fff]), [1.0 + 2f64.powi(-10)]);
        assert_eq!(unpacked(f32s, &[0x3f80_0001]), [1.0 + 2f64.powi(-23)]);
        assert_eq!(unpacked(f64s, &[1, 0x3ff0_0000]), [1.0 + f64::EPSILON]);
    }
}

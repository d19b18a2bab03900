//! Short decimal numbers, which nearly all numbers in files are. Longer ones are left to fast-float2.

/// Digits whose number, and whose power of ten, are exact in an `f64`.
const DIGITS: usize = 15;

/// Parses a number as -12.5, of up to 15 digits, to the nearest `f64`. `None` for any other text,
/// right or wrong.
///
/// Both the digits and the power of ten are exact, so that the quotient is rounded once, and the
/// result is that of `str::parse`, in a fraction of its time (Clinger, How to Read Floating Point
/// Numbers Accurately, 1990).
pub fn parse(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; DIGITS + 1] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // One of them may be the point.
    if digits.len() > DIGITS + 1 {
        return None;
    }
    let (mut number, mut point) = (0u64, None);
    for (place, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(place),
            _ => return None,
        }
    }
    let count = digits.len() - usize::from(point.is_some());
    if !(1..=DIGITS).contains(&count) {
        return None;
    }
    let fraction = point.map_or(0, |point| count - point);
    let number = number as f64 / POWERS[fraction];
    Some(if is_negative { -number } else { number })
}

/// As [`parse`], to the nearest `f32`.
pub fn parse_f32(text: &[u8]) -> Option<f32> {
    nearest_f32(parse(text)?)
}

/// Returns the `f32` that is nearest to the number of up to 15 digits of which this `f64` is the
/// nearest; `None` if the `f64` does not tell.
pub fn nearest_f32(number: f64) -> Option<f32> {
    // The exact number is on the same side of all numbers halfway between two `f32` as the nearest
    // `f64`, unless that is such a number. None of 15 digits is out of range or subnormal.
    const BELOW: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
    let is_halfway = number.to_bits() & ((1 << BELOW) - 1) == 1 << (BELOW - 1);
    (!is_halfway).then_some(number as f32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{parse, parse_f32};

    /// Compares with the standard library, down to the sign of zero.
    fn check(text: &str) {
        if let Some(number) = parse(text.as_bytes()) {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(number.to_bits(), expected.to_bits(), "{text}");
        }
        if let Some(number) = parse_f32(text.as_bytes()) {
            let expected: f32 = text.parse().unwrap();
            assert_eq!(number.to_bits(), expected.to_bits(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn as_the_standard_library(text in "[-+]?[0-9]{0,10}[.]?[0-9]{0,10}[.e ]?") {
            check(&text);
        }

        /// Numbers halfway between two f32, and their neighbours.
        #[test]
        fn near_the_middle(bits in 0x3f80_0000u32..0x4b80_0000, tail in "[0-9]{0,6}") {
            let [low, high] = [bits, bits + 1].map(|bits| f64::from(f32::from_bits(bits)));
            let middle = (low + high) / 2.0;
            for text in [format!("{middle}"), format!("{middle}{tail}"), format!("-{middle:.9}")] {
                check(&text);
            }
        }
    }

    #[test]
    fn short_numbers_are_parsed() {
        for text in [
            "0",
            "-0",
            "0.",
            ".5",
            "-12.25",
            "999999999999999",
            "0.00000000000001",
        ] {
            assert!(parse(text.as_bytes()).is_some(), "{text}");
            check(text);
        }
        for text in [
            "",
            "-",
            ".",
            "-.",
            "1e3",
            "+1",
            "1.2.3",
            "1 ",
            "0x1",
            "inf",
            "1000000000000000",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        // 2²⁴ + 1 is halfway.
        assert_eq!(parse_f32(b"16777217"), None);
    }
}

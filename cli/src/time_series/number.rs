//! Numbers as text.

use std::fmt;

/// Displays a number in the fewest digits that read back the same, with an exponent where that is
/// shorter by far.
pub struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Number(number) = self;
        match number.abs() {
            // NaN and infinity are in neither range.
            size if (1e-5..1e16).contains(&size) || size == 0.0 => write!(f, "{number}"),
            size if size.is_finite() => write!(f, "{number:e}"),
            _ => write!(f, "{number}"),
        }
    }
}

/// Adds what [`Number`] displays to a text, in a fraction of the time.
pub fn push(text: &mut Vec<u8>, number: f64) {
    if !number.is_finite() || may_be_halfway(number) {
        return text.extend_from_slice(Number(number).to_string().as_bytes());
    }
    let mut buffer = ryu::Buffer::new();
    let digits = buffer.format_finite(number);
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    text.extend_from_slice(digits.as_bytes());
}

/// Whether a finite number may be halfway between two texts of the fewest digits: ryu then takes
/// the even digit, the standard library the one further from zero.
///
/// Two such texts have 16 digits or more, since numbers are further apart in fewer, and the number
/// itself has a digit more. It has a decimal place for each binary one.
fn may_be_halfway(number: f64) -> bool {
    const EXPONENT: u64 = 0x7ff;
    let exponent = number.to_bits() >> 52 & EXPONENT;
    if number == 0.0 {
        return false;
    }
    if exponent == 0 {
        // Subnormal numbers are further apart.
        return true;
    }
    let fraction = number.to_bits() << 12;
    // The number is between 2^high and 2^(high + 1), and a multiple of 2^low.
    let high = exponent as i32 - 1023;
    let low = high - (64 - fraction.trailing_zeros().min(64) as i32);
    if low >= 0 {
        return high >= 53;
    }
    // 1233 / 4096 is log10(2) from below; there may be one more.
    let digits = ((high * 1233) >> 12) + 1 - low;
    (16..=18).contains(&digits)
}

/// A number in 7 significant digits at most, for reading.
pub fn rounded(number: f64) -> String {
    let rounded = format!("{number:.6e}").parse().unwrap_or(number);
    Number(rounded).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Number, push};

    #[track_caller]
    fn check(number: f64) {
        let mut text = Vec::new();
        push(&mut text, number);
        assert_eq!(String::from_utf8(text).unwrap(), Number(number).to_string());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50_000))]

        #[test]
        fn as_displayed(bits: u64, number in -1e20..1e20, whole: i32, digits in -9..9i32) {
            check(f64::from_bits(bits));
            check(number);
            check(f64::from(whole));
            check(f64::from(whole) * 10f64.powi(digits));
        }

        /// Few binary digits, which are halfway now and then.
        #[test]
        fn short_binary_numbers(digits in 0..1u64 << 53, bits in 0..53, exponent in -80..20) {
            check((digits >> bits) as f64 * 2f64.powi(exponent));
        }
    }

    /// Numbers halfway between the shortest texts, and numbers at which exponents begin.
    #[test]
    fn special_numbers() {
        for exponent in -1074..1024 {
            let power = 2f64.powi(exponent);
            [power, power.next_down(), power.next_up(), -power]
                .into_iter()
                .for_each(check);
        }
        for exponent in -330..310 {
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            [power, power.next_down(), power.next_up(), -power]
                .into_iter()
                .for_each(check);
        }
        [
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
        ]
        .into_iter()
        .for_each(check);
    }
}

//! Values as text.

pub use gridstride::time_series::{MAX_EXACT, is_rounded};

use crate::decimal;

/// A NaN that stands for the value of a cell without one. Compare bits with it.
pub const MISSING: f64 = f64::from_bits(0x7ff8_0000_4e55_4c4c);

/// Returns whether a value is [`MISSING`], not another NaN.
pub fn is_missing(value: f64) -> bool {
    value.to_bits() == MISSING.to_bits()
}

/// Returns whether `f64` holds an integer exactly.
///
/// ```
/// use files::points::value::is_exact;
///
/// assert!(is_exact(-(1 << 53)) && is_exact(i128::MIN));
/// assert!(!is_exact((1 << 53) + 1) && !is_exact(i128::MAX));
/// ```
pub fn is_exact(integer: i128) -> bool {
    let size = integer.unsigned_abs();
    let bits = u128::BITS.saturating_sub(size.leading_zeros() + size.trailing_zeros());
    bits <= f64::MANTISSA_DIGITS
}

/// Parses a value. An empty text is [`MISSING`].
///
/// # Errors
/// The rest of a sentence that begins with the text.
pub fn parse(text: &[u8]) -> Result<f64, &'static str> {
    if let Some(number) = decimal::parse(text) {
        return Ok(number);
    }
    if text.is_empty() {
        return Ok(MISSING);
    }
    let has_digits = || text.iter().any(u8::is_ascii_digit);
    match fast_float2::parse::<f64, _>(text) {
        // Infinity may be meant.
        Ok(number) if number.is_infinite() && has_digits() => Err("is out of the range of f64"),
        Ok(number) => Ok(number),
        Err(_) => Err("is not a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_2_53_are_the_same_in_all_spellings() {
        for (text, is_other) in [
            ("9007199254740993", true),
            ("9007199254740993.0", true),
            ("9007199254740992.5", true),
            ("+9.007199254740993e15", true),
            ("9007199254740.993E3", true),
            ("0.009007199254740993e18", true),
            ("90071992547409930e-1", true),
            ("12345678901234567890", true),
            ("9007199254740992", false),
            ("-9007199254740992.000", false),
            ("9.007199254740994e15", false),
            ("00900719925474099400e-2", false),
            ("1e22", false),
            // 1e23 and Avogadro's number are no f64, but what programs write for one.
            ("1e23", false),
            ("6.02214076e+23", false),
            ("6.022140760000000000001e23", true),
            ("100000000000000000000000", true),
            ("inf", false),
            ("9007199254740991", false),
        ] {
            let value = parse(text.as_bytes()).unwrap();
            assert_eq!(is_rounded(text.as_bytes(), value), is_other, "{text}");
        }
    }
}

//! Values as text.

use crate::decimal;

/// A NaN that stands for the value of a cell without one. Compare bits with it.
pub const MISSING: f64 = f64::from_bits(0x7ff8_0000_4e55_4c4c);

/// Whole numbers below are exact: 2⁵³.
pub const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;

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

/// Returns whether `f64` rounds the number that is written in a text, and at least [`EXACT`] in size.
/// Numbers with an exponent count as exact.
///
/// ```
/// use files::points::value::is_rounded;
///
/// assert!(is_rounded(b"9007199254740993"));
/// assert!(is_rounded(b"-9007199254740994.5"));
/// assert!(!is_rounded(b"9007199254740994.0"));
/// assert!(!is_rounded(b"9e300"));
/// ```
pub fn is_rounded(text: &[u8]) -> bool {
    let text = str::from_utf8(text).unwrap_or_default();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut all = whole.bytes().chain(fraction.bytes());
    if !all.all(|digit| digit.is_ascii_digit()) {
        return false;
    }
    match whole.parse::<i128>() {
        Ok(number) => !is_exact(number) || fraction.bytes().any(|digit| digit != b'0'),
        // Of more digits than these, nearly none is exact.
        Err(_) => true,
    }
}

/// Parses a value. An empty text is [`MISSING`].
///
/// # Errors
/// What is wrong with the text, to follow the text in a sentence.
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

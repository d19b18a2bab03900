//! Values as text.

use crate::decimal;

/// A value, or what is wrong with the text.
pub fn parse(text: &[u8]) -> Result<f64, &'static str> {
    if let Some(number) = decimal::parse(text) {
        return Ok(number);
    }
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    let has_digits = || text.iter().any(u8::is_ascii_digit);
    // What is not UTF-8 is no number either.
    match str::from_utf8(text).unwrap_or_default().parse::<f64>() {
        // Infinity may be meant.
        Ok(number) if number.is_infinite() && has_digits() => Err("is out of the range of f64"),
        Ok(number) => Ok(number),
        Err(_) => Err("is not a number"),
    }
}

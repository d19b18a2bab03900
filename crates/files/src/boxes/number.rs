//! Coordinates as text.

use std::num::IntErrorKind;

use gridstride::box_overlap::Coordinate;

use crate::decimal;
use crate::points::value;

/// A type of coordinates.
pub trait Number: Coordinate {
    /// Parses the nearest number of this type, and tells whether that is another number than the
    /// text says: of f32, another than the nearest f64, and of both, another one from 2⁵³ on.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the text.
    fn parse(text: &[u8]) -> Result<(Self, bool), &'static str>;
}

const NO_NUMBER: &str = "is not a number";

/// The text, or an empty one: what is not UTF-8 is no number either.
fn utf8(text: &[u8]) -> &str {
    str::from_utf8(text).unwrap_or_default()
}

/// Checks a number that was parsed from a text.
fn checked<T: Coordinate>(
    number: Result<T, fast_float2::Error>,
    text: &[u8],
    out_of_range: &'static str,
) -> Result<T, &'static str> {
    let number = number.map_err(|_| NO_NUMBER)?;
    match number.to_f64() {
        found if found.is_nan() => Err(NO_NUMBER),
        // Infinity may be meant.
        found if found.is_infinite() && text.iter().any(u8::is_ascii_digit) => Err(out_of_range),
        _ => Ok(number),
    }
}

impl Number for f64 {
    fn parse(text: &[u8]) -> Result<(f64, bool), &'static str> {
        if let Some(number) = decimal::parse(text) {
            return Ok((number, false));
        }
        let number: f64 = checked(fast_float2::parse(text), text, "is out of the range of f64")?;
        Ok((number, value::is_rounded(text, number)))
    }
}

impl Number for f32 {
    fn parse(text: &[u8]) -> Result<(f32, bool), &'static str> {
        if let Some(number) = decimal::parse(text)
            && let Some(rounded) = decimal::nearest_f32(number)
        {
            return Ok((rounded, f64::from(rounded) != number));
        }
        let number: f32 = checked(fast_float2::parse(text), text, "is out of the range of f32")?;
        let is_rounded = fast_float2::parse::<f64, _>(text)
            .is_ok_and(|double| double != f64::from(number) || value::is_rounded(text, double));
        Ok((number, is_rounded))
    }
}

impl Number for i32 {
    fn parse(text: &[u8]) -> Result<(i32, bool), &'static str> {
        let text = utf8(text);
        // Whole numbers may be written as 5.0.
        let is_zero = |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|c| c == b'0');
        let whole = match text.split_once('.') {
            Some((whole, fraction)) if is_zero(fraction) => whole,
            _ => text,
        };
        let number = whole.parse::<i32>().map_err(|error| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "is out of the range of i32",
            _ if text.parse::<f64>().is_ok_and(|number| !number.is_nan()) => {
                "is not written as a whole number"
            }
            _ => NO_NUMBER,
        })?;
        Ok((number, false))
    }
}

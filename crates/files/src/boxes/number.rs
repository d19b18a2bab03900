//! Coordinates as text.

use std::num::IntErrorKind;

use gridstride::box_overlap::Coordinate;

use crate::decimal;

/// A type of coordinates.
pub trait Number: Coordinate {
    /// Parses the nearest number of this type.
    ///
    /// # Errors
    /// What is wrong with the text, to follow the text in a sentence.
    fn parse(text: &[u8]) -> Result<Self, &'static str>;
}

const NO_NUMBER: &str = "is not a number";

/// The text, or an empty one: what is not UTF-8 is no number either.
fn utf8(text: &[u8]) -> &str {
    str::from_utf8(text).unwrap_or_default()
}

macro_rules! float {
    ($($type:ident $short:path;)*) => {$(
        impl Number for $type {
            fn parse(text: &[u8]) -> Result<$type, &'static str> {
                if let Some(number) = $short(text) {
                    return Ok(number);
                }
                match fast_float2::parse::<$type, _>(text) {
                    Ok(number) if number.is_finite() => Ok(number),
                    Ok(number) if number.is_nan() => Err(NO_NUMBER),
                    // Infinity may be meant.
                    Ok(number) if !text.iter().any(u8::is_ascii_digit) => Ok(number),
                    Ok(_) => Err(concat!("is out of the range of ", stringify!($type))),
                    Err(_) => Err(NO_NUMBER),
                }
            }
        }
    )*};
}
float! {
    f32 decimal::parse_f32;
    f64 decimal::parse;
}

impl Number for i32 {
    fn parse(text: &[u8]) -> Result<i32, &'static str> {
        let text = utf8(text);
        // Whole numbers may be written as 5.0.
        let is_zero = |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|c| c == b'0');
        let whole = match text.split_once('.') {
            Some((whole, fraction)) if is_zero(fraction) => whole,
            _ => text,
        };
        whole.parse::<i32>().map_err(|error| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "is out of the range of i32",
            _ if text.parse::<f64>().is_ok_and(|number| !number.is_nan()) => {
                "is not written as a whole number"
            }
            _ => NO_NUMBER,
        })
    }
}

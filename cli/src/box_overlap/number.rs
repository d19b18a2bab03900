//! Coordinates as text.

use std::num::IntErrorKind;

use gridstride::box_overlap::Coordinate;

pub trait Number: Coordinate {
    /// The number of this type that is nearest to what the text says, or what is wrong with it.
    fn parse(text: &str) -> Result<Self, &'static str>;
}

const NO_NUMBER: &str = "is no number";

macro_rules! float {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn parse(text: &str) -> Result<$type, &'static str> {
                match text.parse::<$type>() {
                    Ok(number) if number.is_finite() => Ok(number),
                    Ok(number) if number.is_nan() => Err(NO_NUMBER),
                    // Infinity may be meant.
                    Ok(number) if !text.contains(|c: char| c.is_ascii_digit()) => Ok(number),
                    Ok(_) => Err(concat!("is out of the range of ", stringify!($type))),
                    Err(_) => Err(NO_NUMBER),
                }
            }
        }
    )*};
}
float! { f32 f64 }

impl Number for i32 {
    fn parse(text: &str) -> Result<i32, &'static str> {
        text.parse::<i32>().map_err(|error| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "is out of the range of i32",
            _ if text.parse::<f64>().is_ok_and(|number| !number.is_nan()) => "is no whole number",
            _ => NO_NUMBER,
        })
    }
}

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

/// A number in 7 significant digits at most, for reading.
pub fn rounded(number: f64) -> String {
    let rounded = format!("{number:.6e}").parse().unwrap_or(number);
    Number(rounded).to_string()
}

//! Short descriptions of long slices.

use std::fmt;

/// The most elements that are formatted.
const SHOWN: usize = 16;

/// Formats a slice for `Debug`: all elements if they are few, else the first and the number of all.
/// Printing a large array would take megabytes, as a panic with its message would.
pub struct Short<'a, T>(pub &'a [T]);

impl<T: fmt::Debug> fmt::Debug for Short<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        let mut list = f.debug_list();
        list.entries(&self.0[..count.min(SHOWN)]);
        if count > SHOWN {
            list.entry(&format_args!("… {count} in all"));
        }
        list.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_slices_are_shortened() {
        assert_eq!(format!("{:?}", Short(&[1, 2])), "[1, 2]");
        let text = format!("{:?}", Short(&[7; 1_000_000]));
        assert!(text.starts_with("[7, 7, "), "{text}");
        assert!(text.ends_with("7, … 1000000 in all]"), "{text}");
        assert!(text.len() < 100, "{text}");
    }
}

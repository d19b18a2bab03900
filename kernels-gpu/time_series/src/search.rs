//! Searches among what is in order.

use core::ops::Range;

/// The first index of a range for which `is_before` does not hold, or its end: it holds for all up
/// to some index.
#[inline(always)]
pub fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let Range {
        start: mut low,
        end: mut high,
    } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
